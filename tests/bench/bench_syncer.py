#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The syncer between a real slurmctld and the small Kubernetes. With 1,000 hollow nodes: how long a cordon takes to become a drain and a drain to
become a condition, what looking at Slurm costs slurmctld (beside the same time without us), and what 5,000 waiting prologs cost. With 100
nodes: memory. With 5,000 nodes and 50,000 jobs: memory, and scrapes. Prints only.

usage: bench_syncer.py [middle] [small] [large]      (default: all)"""

import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
HOLLOW, CORDONS, DRAINS, PROLOGS, LOCKED = 1000, 200, 40, 5000, 50
SMALL, LARGE, JOBS = 99, 4999, 50000
TOKEN = "x" * 32
NOTE = "sunk.coreweave.com/"


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def share(pid, seconds):
    before, start = cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(pid) - before) / (time.monotonic() - start) * 100


def quantiles(took):
    took = sorted(took)
    return f"p50 {took[len(took) // 2]:.0f} ms, p99 {took[max(0, int(len(took) * 0.99) - 1)]:.0f} ms, at worst {took[-1]:.0f} ms"


class Bench:
    def __init__(self, directory, hollow, *options):
        self.dir, self.hollow, self.syncer, self.operator = directory, hollow, None, None
        subprocess.run([TOP / "dev/up", "--no-sunk", "--nodes", "1", "--hollow-nodes", str(hollow), "--dir", directory, *options], check=True,
                       capture_output=True)
        self.env = dict(os.environ, **dict(re.findall(r"export (KUBECONFIG|SLURM_CONF)='([^']*)'", (directory / "env").read_text())))
        self.kube = (directory / "kube/ready").read_text().strip()
        self.kube_token = (directory / "kube/token").read_text().strip()
        self.tls = ssl.create_default_context(cafile=str(directory / "kube/ca.crt"))
        conf = pathlib.Path(self.env["SLURM_CONF"]).read_text()
        self.slurmctld = int(pathlib.Path(re.search(r"SlurmctldPidFile=(\S+)", conf)[1]).read_text())
        (directory / "token").write_text(TOKEN)
        self.log = directory / "log/syncer.log"

    def start(self):
        directory, urls = self.dir, self.dir / "urls"
        with open(self.log, "wb") as log:
            self.syncer = subprocess.Popen(
                [BUILD / "src/cmd/sunk", "syncer", "--kubeconfig", self.env["KUBECONFIG"], "--slurm-conf", self.env["SLURM_CONF"], "--listen",
                 "127.0.0.1:0", "--hook-listen", "127.0.0.1:0", "--hook-token-file", directory / "token", "--hook-timeout", "300s",
                 "--listen-file", urls], env=dict(self.env, POD_NAMESPACE="slurm", POD_NAME="bench"), stdout=log, stderr=log)
        while not urls.exists():
            time.sleep(0.05)
        self.urls = dict(re.findall(r"^(\S+) (http\S+)$", urls.read_text(), re.M))

    def start_operator(self):
        """And waits until it has told every Node what its Slurm node is."""
        urls = self.dir / "operator.urls"
        with open(self.dir / "log/operator.log", "wb") as out:
            self.operator = subprocess.Popen(
                [BUILD / "src/cmd/sunk", "operator", "--kubeconfig", self.env["KUBECONFIG"], "--listen", "127.0.0.1:0", "--listen-file", urls],
                env=dict(self.env, POD_NAMESPACE="slurm", POD_NAME="bench"), stdout=out, stderr=out)
        while not urls.exists():
            time.sleep(0.05)
        url = re.search(r"(http\S+)", urls.read_text())[1]
        done, last, since = 0, -1, time.monotonic()
        while done < self.hollow or time.monotonic() - since < 2:
            with urllib.request.urlopen(url + "/metrics") as answer:
                done = sum(float(v) for v in re.findall(r"^sunk_kube_effects_total\{.*\} (\S+)$", answer.read().decode(), re.M))
            if done != last:
                last, since = done, time.monotonic()
            time.sleep(0.1)

    def stop_operator(self):
        if self.operator:
            self.operator.terminate()
            self.operator.wait()
            self.operator = None

    def close(self):
        self.stop_operator()
        if self.syncer:
            self.syncer.send_signal(signal.SIGCONT)
            self.syncer.terminate()
            self.syncer.wait()
        subprocess.run([TOP / "dev/down", "--dir", self.dir], check=False, capture_output=True)

    def metric(self, name):
        text = urllib.request.urlopen(self.urls["http"] + "/metrics").read().decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0

    def ask_kube(self, path, method="GET", data=None):
        request = urllib.request.Request(self.kube + path, method=method, data=None if data is None else json.dumps(data).encode(),
                                         headers={"Authorization": "Bearer " + self.kube_token, "Content-Type": "application/merge-patch+json"})
        return urllib.request.urlopen(request, context=self.tls)

    def annotate(self, pod, **notes):
        data = {"metadata": {"annotations": {NOTE + k.replace("_", "-"): v for k, v in notes.items()}}}
        with self.ask_kube(f"/api/v1/namespaces/slurm/pods/{pod}", "PATCH", data) as answer:
            return json.loads(answer.read())["metadata"].get("annotations", {})

    def settle(self):
        start, last, since = time.monotonic(), -1, time.monotonic()
        while time.monotonic() - start < 120:
            done = self.metric('sunk_syncer_effects_total{effect="pod",outcome="ok"}') + self.metric('sunk_syncer_effects_total{effect="words",outcome="ok"}')
            if done != last:
                last, since = done, time.monotonic()
            if done >= 2 * self.hollow or (done > self.hollow and time.monotonic() - since > 10):
                break
            time.sleep(0.1)
        print(f"{self.hollow + 1} new nodes: all told of each other after {since - start:.1f} s, syncer {rss_mb(self.syncer.pid):.0f} MB")

    def cost(self):
        with_us = share(self.slurmctld, 30)
        interval = self.metric('sunk_syncer_poll_interval_seconds{part="nodes"}')
        self.syncer.send_signal(signal.SIGSTOP)
        without = share(self.slurmctld, 6)
        self.syncer.send_signal(signal.SIGCONT)
        print(f"nodes read every {interval:.2f} s: slurmctld {with_us:.2f} % of a core; without us {without:.2f} %")
        time.sleep(2)

    def cordons(self):
        """As kubectl cordon does it: the Node; the operator tells its Pod, the syncer tells Slurm."""
        self.start_operator()
        sent = {}
        for i in range(1, CORDONS + 1):
            sent[f"hn{i}"] = time.time()
            self.ask_kube(f"/api/v1/nodes/hk{i}", "PATCH", {"spec": {"unschedulable": True}}).close()
            time.sleep(0.02)
        time.sleep(3)
        self.stop_operator()  # the prologs' locks are made by hand
        took = [(datetime.datetime.fromisoformat(when + "+00:00").timestamp() - sent[node]) * 1000
                for when, node in re.findall(r"^(\S+)Z info .*node (hn\d+): drained: k8s: cordon: ", self.log.read_text(), re.M) if node in sent]
        print(f"cordon of a Node to drain, {len(took)} of {CORDONS}: {quantiles(took)}")

    def drains(self):
        """As scontrol does it, at any time between two looks."""
        seen, names = {}, [f"hn{i + 600}" for i in range(DRAINS)]

        def watch():
            with self.ask_kube("/api/v1/namespaces/slurm/pods?watch=1&timeoutSeconds=100") as stream:
                for line in stream:
                    pod = json.loads(line)["object"]
                    if any(c["type"] == "SlurmDrain" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", [])):
                        seen.setdefault(pod["metadata"]["name"], time.monotonic())

        threading.Thread(target=watch, daemon=True).start()
        time.sleep(2)
        sent = {}
        for i, name in enumerate(names):
            subprocess.run(["scontrol", "update", f"nodename={name}", "state=drain", "reason=bench"], env=self.env, check=True)
            sent[name] = time.monotonic()
            time.sleep(0.3 + i % 7 * 0.05)
        time.sleep(3)
        interval = self.metric('sunk_syncer_poll_interval_seconds{part="nodes"}')
        took = [(seen[n] - sent[n]) * 1000 for n in names if n in seen]
        print(f"scontrol drain to condition of the Pod, {len(took)} of {DRAINS}, nodes read every {interval * 1000:.0f} ms: {quantiles(took)}")

    def prologs(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (PROLOGS + 1000,) * 2)
        host, port = re.match(r"http://([^:]+):(\d+)", self.urls["syncer-hook"]).groups()
        before, waiting, nodes = rss_mb(self.syncer.pid), [], [f"hn{i + 300}" for i in range(LOCKED)]
        for i in range(PROLOGS):
            s = socket.create_connection((host, int(port)))
            s.sendall(f"POST /v1/nodes/{nodes[i % LOCKED]}/pre-hook HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
                      "Connection: close\r\nContent-Length: 0\r\n\r\n".encode())
            waiting.append(s)
        while self.metric("sunk_syncer_hook_parked") < PROLOGS:
            time.sleep(0.1)
        cost = rss_mb(self.syncer.pid) - before
        epochs = {n: self.annotate(n)[NOTE + "lock-epoch"] for n in nodes}
        for n in nodes:
            self.annotate(n, lock="locked", lock_for=epochs[n])
        start = time.monotonic()
        assert all(s.recv(12) == b"HTTP/1.1 200" for s in waiting)
        print(f"{PROLOGS} prologs wait: {cost:.0f} MB; all go on {(time.monotonic() - start) * 1000:.0f} ms after the last of {LOCKED} locks")


    def memory(self):
        print(f"{self.hollow + 1} nodes: syncer {rss_mb(self.syncer.pid):.1f} MB")

    def jobs(self):
        """Tasks of an array are one record until some of them are touched: then each of those is its own."""
        def run(*command):
            return subprocess.run(command, env=self.env, check=True, capture_output=True, text=True).stdout

        array = run("sbatch", "--parsable", "-H", "-p", "hollow", "-o", "/dev/null", f"--array=0-{JOBS - 1}", "--wrap", "true").strip()
        run("scontrol", "update", f"jobid={array}_[0-{JOBS - 2}]", "comment=split")

    def scrapes(self):
        def told():
            text = urllib.request.urlopen(self.urls["http"] + "/metrics").read().decode()
            return text.count("\nslurm_job_state{"), text

        end = time.monotonic() + 90
        while told()[0] < JOBS * 0.95 and time.monotonic() < end:
            time.sleep(1)
        took, asked = [], None
        for _ in range(10):
            start = time.monotonic()
            n, text = told()
            took.append((time.monotonic() - start) * 1000)
        asked = sum(float(v) for v in re.findall(r"^sunk_slurm_requests_total\{.*\} (\S+)$", text, re.M))
        for _ in range(10):
            text = told()[1]
        more = sum(float(v) for v in re.findall(r"^sunk_slurm_requests_total\{.*\} (\S+)$", text, re.M)) - asked
        print(f"{self.hollow + 1} nodes, {n} jobs: a scrape of {len(text) / 1e6:.1f} MB over HTTP {quantiles(took)}; "
              f"syncer {rss_mb(self.syncer.pid):.0f} MB; {more:.0f} requests to Slurm during ten scrapes (those of its own interval)")


def middle(directory):
    bench = Bench(directory, HOLLOW)
    return bench, [bench.start, bench.settle, bench.cost, bench.drains, bench.cordons, bench.prologs]


def small(directory):
    bench = Bench(directory, SMALL)
    return bench, [bench.start, bench.settle, bench.memory]


def large(directory):
    bench = Bench(directory, LARGE, "--conf", f"MaxJobCount={JOBS + 5000}", "--conf", f"MaxArraySize={JOBS + 1}")
    return bench, [bench.jobs, bench.start, bench.settle, bench.scrapes]


def main():
    known = {f.__name__: f for f in (middle, small, large)}
    for name in sys.argv[1:] or known:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="bs-"))
        bench, steps = known[name](directory / "w")
        try:
            for step in steps:
                step()
                sys.stdout.flush()
        finally:
            bench.close()
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
