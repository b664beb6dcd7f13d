#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the Pod Scheduler is, on real Slurm with `lite`, beside what the same slurmctld does with plain sbatch jobs in the same run.

Prints one line for each figure: what was measured, beside what, and what is wanted. Asserts nothing. A plain job's time includes that of the
sbatch command, a Pod's that of one request: what both pay for is slurmctld's second.

What runs on other machines elsewhere, each slurmd with its jobs, has a processor of its own, the last one, for plain jobs and for Pods alike; the
controllers' side has the others, and the kubelet with its Pods what both leave. Each figure can be measured in a run of its own: `--burst 500 --single 0 --bound 0 --pods 0`. With SUNK_BENCH_URGENT=1 the controllers' side
(slurmctld, munged, the API server, the scheduler) has real-time priority: as on machines of their own, whatever else this one does.
"""

import argparse
import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from world import PREFIX, World, manifest  # noqa: E402  pylint: disable=wrong-import-position

NS = "default"


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def say(what, got, wanted):
    print(f"{what:<58} {got:<34} wanted: {wanted}", flush=True)


def quantiles(spans):
    return ", ".join(f"p{q * 100:.0f} {quantile(spans, q) * 1000:.0f} ms" for q in (0.5, 0.9, 0.99))


class Listener(threading.Thread):
    """When plain jobs' scripts say a word over a connection of their own: what that takes without any of ours."""

    def __init__(self):
        super().__init__(daemon=True)
        self.heard, self.socket = {}, socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            with self.socket.accept()[0] as c:
                c.settimeout(10)
                with contextlib.suppress(OSError):
                    self.heard[c.recv(64).decode().strip()] = time.time()


class Watch(threading.Thread):
    """When each Pod was bound, by which job, and when its deletion was asked for: as a client sees it."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.bound, self.leaving, self.jobs = world, {}, {}, {}
        request = urllib.request.Request(
            f"{world.url}/api/v1/namespaces/{NS}/pods?watch=true&timeoutSeconds=3000", headers={"Authorization": "Bearer " + world.token}
        )
        self.stream = urllib.request.urlopen(request, context=world.context, timeout=3000)
        self.start()

    def run(self):
        for line in self.stream:
            now = time.time()
            pod = json.loads(line)["object"]
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in self.bound:
                self.jobs[name] = pod["metadata"].get("annotations", {}).get(PREFIX + "job-id")
                self.bound[name] = now
            if pod["metadata"].get("deletionTimestamp"):
                self.leaving.setdefault(name, now)


class Bench:
    def __init__(self, world, counts):
        self.world, self.counts = world, counts
        self.watch = Watch(world)
        where = urllib.parse.urlsplit(world.url)
        self.connection = http.client.HTTPSConnection(where.hostname, where.port, context=world.context, timeout=60)
        nodes = [int(f.read_text()) for f in (world.dir / "slurm/run").glob("slurmd*.pid")]
        assert nodes, "where are the slurmds?"
        slurm = [int((world.dir / f"slurm/run/{part}.pid").read_text()) for part in ("slurmctld", "munged")]
        self.keep_apart(nodes, (*slurm, world.pid("kube"), *self.processes(), os.getpid()), world.pid("agent"))
        self.stamp_scripts()

    @staticmethod
    def keep_apart(slurmds, control, agent):
        """The last processor is the slurmds', the others are the controllers'; what the kubelet does for a Pod that is bound comes after both."""
        cpus = sorted(os.sched_getaffinity(0))
        for pids, where in ((slurmds, cpus[-1:]), (control, cpus[:-1] or cpus)):
            for task in (int(t.name) for pid in pids for t in Path(f"/proc/{pid}/task").iterdir()):
                os.sched_setaffinity(task, where)
        for task in Path(f"/proc/{agent}/task").iterdir():
            os.sched_setscheduler(int(task.name), os.SCHED_IDLE, os.sched_param(0))

    def stamp_scripts(self):
        """Each placeholder script leaves a file when it begins; its time is that of the script's start."""
        hook, self.started = self.world.dir / "bin/sunk-hook", self.world.dir / "started"
        self.started.mkdir()
        self.started.chmod(0o777)
        hook.rename(hook.with_name("sunk-hook.real"))
        hook.write_text(f'#!/bin/sh\n: >{self.started}/$SLURM_JOB_ID\nexec {hook}.real "$@"\n')
        hook.chmod(0o755)

    @contextlib.contextmanager
    def urgent(self):
        """With SUNK_BENCH_URGENT=1 the controllers' side does not wait for what else the machine does."""
        slurm = [int((self.world.dir / f"slurm/run/{part}.pid").read_text()) for part in ("slurmctld", "munged")]
        pids = [*slurm, self.world.pid("kube"), *self.processes(), os.getpid()]

        def set_all(policy, priority):
            for pid in pids if os.environ.get("SUNK_BENCH_URGENT") else ():
                with contextlib.suppress(FileNotFoundError):
                    for task in Path(f"/proc/{pid}/task").iterdir():
                        how = policy | (os.SCHED_RESET_ON_FORK if pid == os.getpid() else 0)
                        with contextlib.suppress(ProcessLookupError):
                            os.sched_setscheduler(int(task.name), how, os.sched_param(priority))

        set_all(os.SCHED_RR, 1)
        try:
            yield
        finally:
            pids += self.processes()  # those that were born meanwhile
            set_all(os.SCHED_OTHER, 0)

    def create(self, name, script, **more):
        body = json.dumps(manifest(self.world, NS, name, script, **more))
        at = time.time()
        headers = {"Authorization": "Bearer " + self.world.token, "Content-Type": "application/json"}
        self.connection.request("POST", f"/api/v1/namespaces/{NS}/pods", body, headers)
        r = self.connection.getresponse()
        text = r.read()
        assert r.status == 201, text
        return at

    def wait(self, what, check, deadline=900):
        end = time.monotonic() + deadline
        while not check():
            assert time.monotonic() < end, what + "\n" + self.world.story()
            time.sleep(0.05)

    def empty(self):
        """No Pod and no job is left."""
        self.world.call("DELETE", f"/api/v1/namespaces/{NS}/pods?gracePeriodSeconds=0")
        self.wait("all jobs end", lambda: not self.world.run("squeue", "-h", "-o", "%i").strip())

    def processes(self):
        """The scheduler, and its Slurm workers."""
        pid = self.world.pid("scheduler")
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def cpu(self):
        """CPU seconds that the scheduler and its workers have used, those that ended included."""
        pids = self.processes()
        ended = sum(map(int, Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[13:15])) / os.sysconf("SC_CLK_TCK")
        tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
        return ended + sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def memory(self):
        """kB of the scheduler and of each of its workers. What they share is counted once (Pss)."""
        rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in self.processes())
        return [int(line.split()[1]) for rollup in rollups for line in rollup if line.startswith("Pss:")]

    def at_rest(self):
        """The scheduler has nothing more to say to anyone."""

        def writes():
            return sum(v for k, v in self.world.metrics().items() if k.startswith(("sunk_kube_effects_total", "sunk_kube_events_total")))

        last, since = writes(), time.monotonic()
        while time.monotonic() < since + 12:  # a condition may change every ten seconds
            time.sleep(0.5)
            if writes() != last:
                last, since = writes(), time.monotonic()

    def one_by_one(self):
        """At the same point of slurmctld's second, by turns: it starts jobs once a second."""
        plain, pods, before, names = [], [], self.world.metrics(), [f"one{i}" for i in range(self.counts.single)]
        for i in range(self.counts.single):
            for kind in ("job", "pod"):
                time.sleep(1.3 - time.time() % 1)
                if kind == "pod":
                    at = self.create(f"one{i}", "exit 0")
                    self.wait("bound", lambda n=f"one{i}": n in self.watch.bound)
                    pods.append(self.watch.bound[f"one{i}"] - at)
                else:
                    stamp = self.world.dir / f"stamp{i}"
                    at = time.time()
                    self.world.sbatch(f"date +%s.%N >{stamp}.new; mv {stamp}.new {stamp}", "--mem=64")
                    self.wait("started", stamp.exists)
                    plain.append(float(stamp.read_text()) - at)
        for q, limit in ((0.5, 30), (0.99, 100)):
            a, b = quantile(pods, q), quantile(plain, q)
            got = f"{(a - b) * 1000:+.0f} ms ({a:.3f} s beside {b:.3f} s)"
            say(f"Pod created → bound, over sbatch → script, p{q * 100:.0f}", got, f"≤ {limit} ms")
        self.bind_latency(before, names, "one by one")
        self.empty()

    def bind_latency(self, before, names, what):
        """Since `before`, from the scheduler's own histogram; and from the first word of the script to what a client sees."""
        m = {k: v - before.get(k, 0) for k, v in self.world.metrics().items()}
        name = "sunk_scheduler_bind_seconds"
        total = m[name + "_count"]
        buckets = sorted((float(k.split('"')[1]), v) for k, v in m.items() if k.startswith(name + "_bucket") and "Inf" not in k)
        for q, limit in ((0.5, 10), (0.99, 50)):
            bound = next((b for b, v in buckets if v >= q * total), float("inf"))
            say(f"`started` told → Pod bound, {what}, p{q * 100:.0f} of {total:.0f}", f"≤ {bound * 1000:g} ms", f"≤ {limit} ms")
        spans = [self.watch.bound[n] - (self.started / self.watch.jobs[n]).stat().st_mtime for n in names]
        say(f"script's first word → Pod bound, seen from outside, {what}", quantiles(spans), "10 ms, 99 of 100 within 50 ms")

    def spent(self, before, n):
        """What was done, for each of n: requests to either side, by the scheduler's own counts."""
        m = {k: v - before.get(k, 0) for k, v in self.world.metrics().items()}
        kinds = ("sunk_kube_effects_total", "sunk_kube_events_total", "sunk_slurm_requests_total",
                 "sunk_scheduler_hook_requests_total")  # fmt: skip
        for k, v in sorted(m.items()):
            if v and k.startswith(kinds):
                print(f"    {v / n:6.2f} {k}", flush=True)

    def burst(self):
        n = self.counts.burst
        marks = self.world.dir / "marks"
        marks.mkdir()
        began = time.time()
        listener, script = Listener(), self.world.dir / "plain.sh"
        script.write_text(f"#!/bin/bash\n: >{marks}/$SLURM_JOB_ID\necho $SLURM_JOB_ID >/dev/tcp/127.0.0.1/{listener.port}\n")
        submit = ["xargs", "-P", "2", "-I", "{}", "sbatch", "-Q", "-o", "/dev/null", "-D", "/", "--mem=64", "-J", "{}", script]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(submit, input="\n".join(f"b{i}" for i in range(n)), text=True, env=self.world.env, check=True)
        use = resource.getrusage(resource.RUSAGE_CHILDREN)
        sbatch = (use.ru_utime + use.ru_stime - used.ru_utime - used.ru_stime) / n * 1000
        self.wait("all have started", lambda: len(os.listdir(marks)) == n)
        plain = n / (time.time() - began)
        self.wait("all have spoken", lambda: len(listener.heard) == n)
        spoken = [at - (marks / job).stat().st_mtime for job, at in listener.heard.items()]
        self.empty()
        cpu, before = self.cpu(), self.world.metrics()
        names = [f"burst{i}" for i in range(n)]
        began = time.time()
        for name in names:
            self.create(name, "exit 0")
        self.wait("all are bound", lambda: all(name in self.watch.bound for name in names))
        ours = n / (max(self.watch.bound[name] for name in names) - began)
        say(f"burst of {n} Pods, beside {n} sbatch", f"{ours / plain:.2f} × ({ours:.1f}/s beside {plain:.1f}/s)", "≥ 0.8 ×")
        self.wait("all are over", lambda: not self.world.run("squeue", "-h", "-o", "%i").strip())
        each = (self.cpu() - cpu) / n * 1000
        say("CPU of the scheduler for a Pod, from creation to end", f"{each:.2f} ms (one sbatch: {sbatch:.2f} ms)", "≤ 2 ms")
        self.bind_latency(before, names, "burst")
        say("a plain script's first word → heard by a listener, burst", quantiles(spoken), "none: what the row above has beside it")
        self.spent(before, n)
        self.empty()

    def waited(self):
        """Pods of which one at a time fits: the last one waits for as long as all others take."""
        before, names = self.world.metrics(), [f"waits{i}" for i in range(self.counts.waited)]
        created = {name: self.create(name, "sleep 0.8", cpu="60", annotations={"required-nodes": "n1"}) for name in names}
        self.wait("all are bound", lambda: all(name in self.watch.bound for name in names))
        longest = max(self.watch.bound[name] - created[name] for name in names)
        self.bind_latency(before, names, f"after waits of 0 to {longest:.0f} s")
        self.empty()

    def cancel(self):
        n = self.counts.bound
        names = [f"bound{i}" for i in range(n)]
        cpu, before = self.cpu(), self.world.metrics()
        for name in names:
            self.create(name, "exec sleep 10000")
        self.wait("all are bound", lambda: all(name in self.watch.bound for name in names))
        say(f"CPU of the scheduler for each of {n} Pods, creation to bound", f"{(self.cpu() - cpu) / n * 1000:.2f} ms", "≤ 2 ms")
        self.spent(before, n)
        ids = self.world.run("squeue", "-h", "-o", "%i %j").split()
        by_name = dict(zip((j.partition(".")[2] for j in ids[1::2]), ids[::2]))
        spans = []
        for name in names[:: max(1, n // 40)]:
            at = time.time()
            self.world.scancel(by_name[name])
            self.wait("it is deleted", lambda x=name: x in self.watch.leaving)
            spans.append(self.watch.leaving[name] - at)
        got = f"p50 {quantile(spans, 0.5) * 1000:.0f} ms, p99 {quantile(spans, 0.99) * 1000:.0f} ms"
        say(f"scancel → Pod deletion requested, {n} bound", got, "p99 ≤ 1000 ms")
        self.empty()

    def idle(self, what):
        began, cpu, before = time.monotonic(), self.cpu(), self.world.metrics()
        time.sleep(self.counts.idle)
        share = (self.cpu() - cpu) / (time.monotonic() - began) * 100
        say(f"CPU with nothing to do, {what}", f"{share:.3f} % of a core", "not measurable")
        self.spent(before, 1)

    def waiting(self):
        """Memory and idle CPU with no Pod, a thousand, and as many as are asked for; one of a hundred is bound."""
        n, made = self.counts.pods, 0
        self.at_rest()
        for upto in (0, *(k for k in (1000,) if k < n), n):
            running = [f"runs{i}" for i in range(made // 100, upto // 100)]
            for name in running:
                self.create(name, "exec sleep 10000")
            self.wait("they are bound", lambda r=running: all(name in self.watch.bound for name in r))
            for i in range(made - made // 100, upto - upto // 100):
                self.create(f"held{i}", "exit 0", annotations={"priority": "0"})
            made = upto
            self.wait("all have jobs", lambda k=upto: self.world.metrics()["sunk_scheduler_jobs"] >= k)
            self.at_rest()
            each = [kb / 1024 for kb in self.memory()]
            got = f"{sum(each):.1f} MB ({' + '.join(f'{mb:.1f}' for mb in each)})"
            say(f"memory with {upto} Pods: its own process + Slurm workers", got, "≤ 40 MB at 10,000")
            self.idle(f"{upto} Pods, {upto - upto // 100} of them waiting")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name, default, what in (
        ("single", 20, "Pods one by one"),
        ("waited", 50, "Pods that wait until the one before them is over"),
        ("burst", 500, "Pods at once"),
        ("bound", 400, "Pods that are bound when jobs are cancelled"),
        ("pods", 10000, "Pods that wait"),
        ("idle", 60, "seconds for which it is watched doing nothing"),
    ):
        p.add_argument("--" + name, type=int, default=default, help=f"{what} ({default}); 0 leaves it out")
    counts = p.parse_args()
    # as many to a node as a kubelet takes
    world = World(("--cpus", "100", "--conf", "MinJobAge=10"), nodes=5, kill_wait=30)
    try:
        bench = Bench(world, counts)
        measures = (bench.one_by_one, bench.waited, bench.burst, bench.cancel, bench.waiting)
        for count, measure in zip((counts.single, counts.waited, counts.burst, counts.bound, counts.pods), measures):
            if count:
                with bench.urgent():
                    measure()
    finally:
        world.close()


if __name__ == "__main__":
    main()
