#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The syncer between a real slurmctld and the small Kubernetes, with 1,000 hollow nodes: how long a cordon takes to become a drain, what
looking at Slurm costs slurmctld (beside the same time without us), and what 5,000 waiting prologs cost. Prints only."""

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
import tempfile
import time
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
HOLLOW, CORDONS, PROLOGS, LOCKED = 1000, 200, 5000, 50
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


class Bench:
    def __init__(self, directory):
        self.dir = directory
        subprocess.run([TOP / "dev/up", "--no-sunk", "--nodes", "1", "--hollow-nodes", str(HOLLOW), "--dir", directory], check=True,
                       capture_output=True)
        self.env = dict(os.environ, **dict(re.findall(r"export (KUBECONFIG|SLURM_CONF)='([^']*)'", (directory / "env").read_text())))
        self.kube = (directory / "kube/ready").read_text().strip()
        self.kube_token = (directory / "kube/token").read_text().strip()
        self.tls = ssl.create_default_context(cafile=str(directory / "kube/ca.crt"))
        conf = pathlib.Path(self.env["SLURM_CONF"]).read_text()
        self.slurmctld = int(pathlib.Path(re.search(r"SlurmctldPidFile=(\S+)", conf)[1]).read_text())
        (directory / "token").write_text(TOKEN)
        self.log = directory / "log/syncer.log"
        urls = directory / "urls"
        with open(self.log, "wb") as log:
            self.syncer = subprocess.Popen(
                [BUILD / "src/cmd/sunk", "syncer", "--kubeconfig", self.env["KUBECONFIG"], "--slurm-conf", self.env["SLURM_CONF"], "--listen",
                 "127.0.0.1:0", "--hook-listen", "127.0.0.1:0", "--hook-token-file", directory / "token", "--hook-timeout", "300s",
                 "--listen-file", urls], env=dict(self.env, POD_NAMESPACE="slurm", POD_NAME="bench"), stdout=log, stderr=log)
        while not urls.exists():
            time.sleep(0.05)
        self.urls = dict(re.findall(r"^(\S+) (http\S+)$", urls.read_text(), re.M))

    def close(self):
        self.syncer.send_signal(signal.SIGCONT)
        self.syncer.terminate()
        self.syncer.wait()
        subprocess.run([TOP / "dev/down", "--dir", self.dir], check=False, capture_output=True)

    def metric(self, name):
        text = urllib.request.urlopen(self.urls["http"] + "/metrics").read().decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0

    def annotate(self, pod, **notes):
        data = {"metadata": {"annotations": {NOTE + k.replace("_", "-"): v for k, v in notes.items()}}}
        request = urllib.request.Request(f"{self.kube}/api/v1/namespaces/slurm/pods/{pod}", method="PATCH", data=json.dumps(data).encode(),
                                         headers={"Authorization": "Bearer " + self.kube_token, "Content-Type": "application/merge-patch+json"})
        return json.loads(urllib.request.urlopen(request, context=self.tls).read())["metadata"].get("annotations", {})

    def settle(self):
        start, last, since = time.monotonic(), -1, time.monotonic()
        while time.monotonic() - start < 120:
            done = self.metric('sunk_syncer_effects_total{effect="pod",outcome="ok"}') + self.metric('sunk_syncer_effects_total{effect="words",outcome="ok"}')
            if done != last:
                last, since = done, time.monotonic()
            if done >= 2 * HOLLOW or (done > HOLLOW and time.monotonic() - since > 10):
                break
            time.sleep(0.1)
        print(f"{HOLLOW + 1} new nodes: all told of each other after {since - start:.1f} s, syncer {rss_mb(self.syncer.pid):.0f} MB")

    def cost(self):
        with_us = share(self.slurmctld, 30)
        interval = self.metric('sunk_syncer_poll_interval_seconds{part="nodes"}')
        self.syncer.send_signal(signal.SIGSTOP)
        without = share(self.slurmctld, 6)
        self.syncer.send_signal(signal.SIGCONT)
        print(f"nodes read every {interval:.2f} s: slurmctld {with_us:.2f} % of a core; without us {without:.2f} %")
        time.sleep(2)

    def cordons(self):
        sent, took = {}, []
        for i in range(1, CORDONS + 1):
            sent[f"hn{i}"] = time.time()
            self.annotate(f"hn{i}", cordon="bench")
        time.sleep(3)
        for when, node in re.findall(r"^(\S+)Z info .*node (hn\d+): drained: k8s: cordon: bench", self.log.read_text(), re.M):
            took.append((datetime.datetime.fromisoformat(when + "+00:00").timestamp() - sent[node]) * 1000)
        took.sort()
        print(f"cordon to drain, {len(took)} of {CORDONS}: p50 {took[len(took) // 2]:.0f} ms, p99 {took[int(len(took) * 0.99) - 1]:.0f} ms")

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


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bs-"))
    bench = Bench(directory / "w")
    try:
        for step in (bench.settle, bench.cost, bench.cordons, bench.prologs):
            step()
    finally:
        bench.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
