#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a prolog waits for its node: pre-hook call to answer, with syncer, operator, a real slurmctld and the small Kubernetes; on idle nodes one
after the other, on a node that is locked already, and on all of them at once. Prints only."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
HOLLOW, ONE_BY_ONE, LOCKED = 200, 100, 200


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


def measure(directory):
    subprocess.run(
        [TOP / "dev/up", "--parts", "syncer,operator", "--nodes", "1", "--hollow-nodes", str(HOLLOW), "--dir", directory],
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
    before, used = writes(), {part: usage(directory, part)[0] for part in ("syncer", "operator", "kube")}
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(HOLLOW) as pool:
        spans = list(pool.map(ask, [f"hn{i + 1}" for i in range(HOLLOW)]))
    whole = time.monotonic() - begin
    show(f"{HOLLOW} nodes at once", spans)
    print(f"  all locked after {whole:.2f} s; asked again {len(again)} times {again[:1]}")
    unlocked()
    print(f"  writes by the operator per node, until it was unlocked again: {(writes() - before) / HOLLOW:.1f}")
    for part, cpu in used.items():
        now, rss = usage(directory, part)
        print(f"  {part}: {now - cpu:.2f} s of CPU, {rss:.0f} MiB")


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
