#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a prolog waits for its node: pre-hook call to answer, with syncer, operator, a real slurmctld and the small Kubernetes; on idle nodes one
after the other, on a node that is locked already, and on all of them at once. Prints only."""

import os
import pathlib
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
HOLLOW, ONE_BY_ONE, COUNTED, LOCKED = int(os.environ.get("HOLLOW", "1000")), 100, 5, 200


def metrics(url, name):
    with urllib.request.urlopen(url, timeout=30) as r:
        return sum(float(line.rsplit(" ", 1)[1]) for line in r.read().decode().splitlines() if re.match(name + r"[ {]", line))


def usage(directory, part):
    pid = (directory / f"run/{part}.proc").read_text().split()[0]
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


def measure(directory):
    subprocess.run(
        [TOP / "dev/up", "--parts", "syncer,operator", "--nodes", "1", "--hollow-nodes", str(HOLLOW), "--dir", directory,
         "--conf", "Prolog=/bin/true", "--conf", "Epilog=/bin/true"],
        check=True, capture_output=True,
    )  # fmt: skip
    exports = dict(re.findall(r"^export ([A-Z_]+)='?([^'\n]*)'?$", (directory / "env").read_text(), re.M))
    env = {**os.environ, "SLURM_CONF": exports["SLURM_CONF"]}
    url = re.search(r"SUNK_HOOK_URL=(\S+)", (directory / "scripts/sunk-hook.env").read_text())[1]
    token = (directory / "hook-token").read_text().strip()

    def writes():
        return metrics(exports["SUNK_OPERATOR_METRICS"], "sunk_operator_writes_total")

    again = []

    def ask(node):
        request = urllib.request.Request(f"{url}/v1/nodes/{node}/pre-hook", data=b'{"jobId":1}', method="POST")
        request.add_header("Authorization", "Bearer " + token)
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
                    again.append(e.read().decode())
                time.sleep(0.05)  # as the hook does

    def unlocked():
        end, left = time.monotonic() + 60, None
        while left != 0:
            if time.monotonic() > end:
                raise SystemExit(f"{left} nodes are not unlocked within 60 s")
            taints = subprocess.run(
                ["kubectl", "get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}"],
                env={**env, "KUBECONFIG": exports["KUBECONFIG"]}, check=True, capture_output=True, text=True,
            )  # fmt: skip
            left = taints.stdout.count("sunk.coreweave.com/lock")

    settled = -1
    while settled != writes():  # what Nodes say of their Slurm nodes
        settled = writes()
        time.sleep(3)
    show("idle node, nothing to evict", [ask(f"hn{i + 1}") for i in range(ONE_BY_ONE)])
    unlocked()

    def effects():  # answered so far
        return sum(metrics(exports[f"SUNK_{part}_METRICS"], "sunk_kube_effects_total") for part in ("OPERATOR", "SYNCER"))

    counts = []
    for i in range(COUNTED):
        begin = effects()
        ask(f"hn{i + 1}")
        counts.append(effects() - begin)
        unlocked()
        time.sleep(1)
    print(f"  API writes until the answer (and what was quick enough to follow): {sorted(int(c) for c in counts)}")
    job = subprocess.run(
        ["sbatch", "--parsable", "-o", "/dev/null", "-D", "/", "-w", "n1", "--wrap", "sleep 600"], env=env, check=True, capture_output=True, text=True
    ).stdout.strip()
    ask("n1")  # the job is on its way, or there
    while "n1" not in subprocess.run(["squeue", "-h", "-t", "R", "-o", "%N"], env=env, check=True, capture_output=True, text=True).stdout:
        time.sleep(0.1)
    time.sleep(3)  # the mirrors have been written
    before = writes()
    show("locked already", [ask("n1") for _ in range(LOCKED)])
    print(f"  writes by the operator meanwhile: {writes() - before:.0f}")
    subprocess.run(["scancel", job], env=env, check=True)
    unlocked()
    controller = int((directory / "slurm/run/slurmctld.proc").read_text().split()[0])
    parts = ("syncer", "operator", "kube")
    for halted in (False, True):
        settled = -1
        while settled != writes():
            settled = writes()
            time.sleep(3)
        if halted:  # no job can have so many pretended nodes; but while Slurm says nothing, nothing is unlocked, as when one has
            os.kill(controller, signal.SIGSTOP)
        try:
            before, used = writes(), {part: usage(directory, part)[0] for part in parts}
            whole, spans, failed = ask_all(url, token, [f"hn{i + 1}" for i in range(HOLLOW)])
            show(f"{HOLLOW} nodes at once, {'which stay locked' if halted else 'unlocked as soon as they may'}", spans)
            print(f"  all locked after {whole:.2f} s; failed {len(failed)} {failed[:1]}")
            for part, cpu in used.items():
                now, rss = usage(directory, part)
                print(f"  {part}: {now - cpu:.2f} s of CPU, {rss:.0f} MiB")
            print(f"  writes by the operator per node so far: {(writes() - before) / HOLLOW:.1f}")
        finally:
            if halted:
                os.kill(controller, signal.SIGCONT)
        unlocked()


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
