#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a prolog waits for its node: pre-hook call to answer, with syncer, operator, a real slurmctld and the small Kubernetes; on idle nodes one
after the other, on a node that is locked already, and on all of them at once; what the API server had to write for one; and how long after a real job its node is
unlocked. Prints only."""

import contextlib
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
HOLLOW, ONE_BY_ONE, COUNTED, LOCKED, JOBS = int(os.environ.get("HOLLOW", "1000")), 100, 3, 200, 10
LOCK = "sunk.coreweave.com/lock"
PARTS = ("syncer", "operator", "kube", "agent", "slurmctld")


def metrics(url, name):
    with urllib.request.urlopen(url, timeout=30) as r:
        return sum(float(line.rsplit(" ", 1)[1]) for line in r.read().decode().splitlines() if re.match(name + r"[ {]", line))


def pid_of(directory, part):
    folder = directory / ("slurm/run" if part == "slurmctld" else "run")
    return int((folder / f"{part}.proc").read_text().split()[0])


def usage(directory, part):
    pid = pid_of(directory, part)
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    rss = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), rss


def show(what, spans):
    spans = sorted(spans)
    at = [spans[min(len(spans) - 1, len(spans) * p // 100)] * 1000 for p in (50, 99)]
    print(f"{what}: p50 {at[0]:.1f} ms, p99 {at[1]:.1f} ms ({len(spans)} calls)", flush=True)


def ask_all(url, token, nodes):
    """Asks for all of them at once, with as little work as it takes: this process shares the machine with those it measures."""
    at = urllib.parse.urlparse(url)
    ready, open_ = selectors.DefaultSelector(), {}
    begin = time.monotonic()
    for node in nodes:
        s = socket.create_connection((at.hostname, at.port))
        s.sendall(
            f"POST /v1/nodes/{node}/pre-hook?timeoutMs=100000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 11\r\n\r\n".encode()
            + b'{"jobId":1}'
        )
        open_[s] = time.monotonic()
        ready.register(s, selectors.EVENT_READ)
    spans, failed = [], []
    while open_ and time.monotonic() < begin + 110:
        for key, _ in ready.select(1):
            head = key.fileobj.recv(4096).decode()
            spans.append(time.monotonic() - open_.pop(key.fileobj))
            if not head.startswith("HTTP/1.1 200"):
                failed.append(head.splitlines()[0])
            ready.unregister(key.fileobj)
            key.fileobj.close()
    return time.monotonic() - begin, spans, failed + ["no answer"] * len(open_)


class Kube:
    """As little of a client as it takes."""

    def __init__(self, directory):
        self.directory = directory
        self.url = (directory / "kube/ready").read_text().strip()
        self.token = (directory / "kube/token").read_text().strip()
        self.context = ssl.create_default_context(cafile=str(directory / "kube/ca.crt"))

    def get(self, path):
        request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(request, context=self.context, timeout=30) as r:
            return r.read().decode()

    def locked(self, path="/api/v1/nodes"):
        return self.get(path).count('"key":"' + LOCK + '"')

    def audit(self, log):
        """Started again, and tells from now on who asks for what."""
        proc = self.directory / "run/kube.proc"
        pid = int(proc.read_text().split()[0])
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
        os.kill(pid, signal.SIGTERM)
        await_("the API server ends", lambda: not pathlib.Path(f"/proc/{pid}").exists())
        with open(self.directory / "log/kube.log", "ab") as out:
            child = subprocess.Popen([*words, "--audit-log", str(log)], stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        start = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        proc.write_text(f"{child.pid} {start}\n")
        await_("the API server answers", self.answers)
        return child

    def answers(self):
        try:
            return self.get("/api/v1/nodes/k1")
        except OSError:
            return None


def await_(what, check, deadline=60):
    end = time.monotonic() + deadline
    while not (got := check()):
        if time.monotonic() > end:
            raise SystemExit(f"not within {deadline} s: {what}")
        time.sleep(0.01)
    return got


class Bench:
    def __init__(self, directory):
        self.directory = directory
        exports = dict(re.findall(r"^export ([A-Z_]+)='?([^'\n]*)'?$", (directory / "env").read_text(), re.M))
        self.operator = exports["SUNK_OPERATOR_METRICS"]
        self.env = {**os.environ, "SLURM_CONF": exports["SLURM_CONF"]}
        self.url = re.search(r"SUNK_HOOK_URL=(\S+)", (directory / "scripts/sunk-hook.env").read_text())[1]
        self.token = (directory / "hook-token").read_text().strip()
        self.kube = Kube(directory)

    def slurm(self, *command):
        return subprocess.run(command, env=self.env, check=True, capture_output=True, text=True).stdout.strip()

    def sbatch(self, script):
        return self.slurm("sbatch", "--parsable", "-o", "/dev/null", "-D", "/", "-w", "n1", "--wrap", script)

    def writes(self):
        return metrics(self.operator, "sunk_operator_writes_total")

    def settle(self):
        """What Nodes say of their Slurm nodes has been written."""
        before = -1
        while before != self.writes():
            before = self.writes()
            time.sleep(2)

    def unlocked(self):
        await_("every node is unlocked", lambda: self.kube.locked() == 0 or time.sleep(0.2))

    def ask(self, node):
        request = urllib.request.Request(f"{self.url}/v1/nodes/{node}/pre-hook", data=b'{"jobId":1}', method="POST")
        request.add_header("Authorization", "Bearer " + self.token)
        begin = time.monotonic()
        while True:
            try:
                with urllib.request.urlopen(request, timeout=120) as r:
                    r.read()
                return time.monotonic() - begin
            except urllib.error.HTTPError as e:
                with e:
                    if e.code != 503:
                        raise
                time.sleep(0.05)  # as the hook does

    @contextlib.contextmanager
    def alone(self):
        """With SUNK_BENCH_URGENT=1 what is measured does not wait for what else the machine does."""
        threads = [int(t.name) for part in PARTS for t in pathlib.Path(f"/proc/{pid_of(self.directory, part)}/task").iterdir()] + [0]

        def urgent(policy, priority):
            for t in threads if os.environ.get("SUNK_BENCH_URGENT") else ():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(t, policy, os.sched_param(priority))

        urgent(os.SCHED_RR, 1)
        try:
            yield
        finally:
            urgent(os.SCHED_OTHER, 0)

    def one_by_one(self):
        with self.alone():
            spans = [self.ask(f"hn{i + 1}") for i in range(ONE_BY_ONE)]
        show("idle node, nothing to evict", spans)
        self.unlocked()

    def already(self):
        job = self.sbatch("sleep 600")
        await_("the job runs", lambda: "n1" in self.slurm("squeue", "-h", "-t", "R", "-o", "%N"))
        self.settle()
        before = self.writes()
        with self.alone():
            spans = [self.ask("n1") for _ in range(LOCKED)]
        show("locked already", spans)
        print(f"  writes by the operator meanwhile: {self.writes() - before:.0f}", flush=True)
        self.slurm("scancel", job)
        self.unlocked()

    def unlocks(self):
        """Real jobs with a real prolog and epilog: from the last thing that the job does until the taint is gone."""
        spans, out = [], self.directory / "ended"
        for _ in range(JOBS):
            out.unlink(missing_ok=True)
            self.sbatch(f"date +%s.%N >{out}.new; mv {out}.new {out}")
            await_("the job ends", out.exists)
            await_("the node is unlocked", lambda: self.kube.locked("/api/v1/nodes/k1") == 0)
            spans.append(time.time() - float(out.read_text()))
        show("unlocked after the last job's end", spans)

    def at_once(self, halted):
        """No job can have so many pretended nodes. While slurmctld says nothing, nothing is unlocked, as when one has."""
        controller = pid_of(self.directory, "slurmctld")
        self.settle()
        if halted:
            os.kill(controller, signal.SIGSTOP)
        try:
            before, used, own = self.writes(), {part: usage(self.directory, part)[0] for part in PARTS}, time.process_time()
            with self.alone():
                whole, spans, failed = ask_all(self.url, self.token, [f"hn{i + 1}" for i in range(HOLLOW)])
            used = {part: usage(self.directory, part)[0] - cpu for part, cpu in used.items()}
            used["this program"] = time.process_time() - own
            show(f"{HOLLOW} nodes at once, {'which stay locked' if halted else 'unlocked as soon as they may'}", spans)
            print(f"  all locked after {whole:.2f} s; failed {len(failed)} {failed[:1]}")
            for part, cpu in used.items():
                print(f"  {part}: {cpu:.2f} s of CPU" + (f", {usage(self.directory, part)[1]:.0f} MiB" if part in PARTS else ""))
            print(f"  together {sum(used.values()):.2f} s of {whole * os.cpu_count():.2f} s that {os.cpu_count()} processors have")
            print(f"  writes by the operator per node so far: {(self.writes() - before) / HOLLOW:.1f}", flush=True)
        finally:
            if halted:
                os.kill(controller, signal.SIGCONT)
        self.unlocked()

    def count(self):
        """What the API server was asked to write for one lock, by its own log, until the prolog had its answer."""
        log, counts = self.directory / "audit", []
        server = self.kube.audit(log)
        try:
            self.settle()
            for i in range(COUNTED):
                names = {f"hn{i + 1}", f"hk{i + 1}"}
                begin = log.stat().st_size
                self.ask(f"hn{i + 1}")
                lines = [json.loads(line) for line in log.read_bytes()[begin:].splitlines() if line.endswith(b"}")]
                asked = [e for e in lines if e["verb"] in ("create", "update", "patch", "delete") and e.get("objectRef", {}).get("name") in names]
                counts.append([f"{e['verb']} {'/'.join(filter(None, (e['objectRef']['resource'], e['objectRef'].get('subresource'))))}" for e in asked])
                self.unlocked()
                self.settle()
            needed = [len(c) - c[::-1].index("patch pods") for c in counts]  # the last of a Pod is the lock itself
            print(f"API writes of a lock, by the server's log: {needed}; with those that were there when the answer came: {[len(c) for c in counts]}")
            print(f"  the first: {', '.join(counts[0])}", flush=True)
        finally:
            server.terminate()


def measure(directory):
    subprocess.run(
        [TOP / "dev/up", "--parts", "syncer,operator", "--nodes", "1", "--hollow-nodes", str(HOLLOW), "--dir", directory],
        check=True, capture_output=True,
    )  # fmt: skip
    b = Bench(directory)
    b.settle()
    b.one_by_one()
    b.already()
    b.unlocks()
    for halted in (True, False):
        b.at_once(halted)
    b.count()


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bl-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        measure(directory)
    finally:
        if (directory / "cluster").exists():
            subprocess.run([TOP / "dev/down", "--dir", directory], capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)


main()
