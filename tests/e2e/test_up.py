# SPDX-License-Identifier: GPL-2.0-or-later
"""dev/up, dev/in, dev/env and dev/down: whole clusters that come, work side by side, and go without a trace."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from lite_server import wait_for

ANY_SLURM = pytest.mark.any_slurm("about dev/up alone")
TOP = pathlib.Path(__file__).resolve().parents[2]
DEV = TOP / "dev"
NO_KUBE = pytest.mark.lite_only("it is not about Kubernetes")


def run(*command, env=None, timeout=120, ok=True):
    got = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, check=False,
                         env={**os.environ, **(env or {})})
    assert not ok or got.returncode == 0, f"{command}: {got.stdout}\n{got.stderr}"
    return got


def dev_in(directory, *command, **more):
    return run(DEV / "in", "--dir", directory, *command, **more).stdout


def processes_of(directory):
    """Command lines of live processes that mention the directory."""
    found = []
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in line and "pytest" not in line:
            found.append(line)
    return found


@pytest.fixture(name="directory")
def short_directory(worlds):
    d = pathlib.Path(tempfile.mkdtemp(prefix="sk-"))
    worlds.append(d)
    yield d
    for cluster in d.glob("*/cluster"):  # a test that failed
        run(DEV / "down", "--dir", cluster.parent)
    shutil.rmtree(d, ignore_errors=True)


def test_two_clusters_side_by_side_work_and_leave_nothing(directory):
    first, second = directory / "a", directory / "b"
    for d in (first, second):
        out = run(DEV / "up", "--nodes", "2", "--dir", d)
        assert "ready after" in out.stderr
    for d in (first, second):
        nodes = json.loads(dev_in(d, "kubectl", "get", "nodes", "-o", "json"))
        assert sorted(n["metadata"]["name"] for n in nodes["items"]) == ["k1", "k2"]
        assert dev_in(d, "sinfo", "-h", "-N", "-p", "main", "-o", "%N %t %G").split("\n")[:2] == ["n1 idle gpu:8", "n2 idle gpu:8"]
        # the join: Pod name = Slurm node name, on its Node
        pods = json.loads(dev_in(d, "kubectl", "get", "pods", "-n", "slurm", "-o", "json", "-l", "sunk.coreweave.com/nodeset"))["items"]
        assert {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods} == {"n1": "k1", "n2": "k2"}
        assert dev_in(d, "srun", "-w", "n2", "sh", "-c", "echo $SLURMD_NODENAME") == "n2\n"
    again = run(DEV / "up", "--dir", first, ok=False)
    assert again.returncode != 0 and "already" in again.stderr
    for d in (first, second):
        run(DEV / "down", "--dir", d)
    assert processes_of(directory) == []
    assert list(directory.iterdir()) == []


def test_env_gives_a_shell_the_right_tools(directory):
    run(DEV / "up", "--nodes", "1", "--gpus-per-node", "0", "--dir", directory / "c")
    script = f'eval "$({DEV}/env --dir {directory}/c)"; cd /tmp; kubectl get nodes -o name; sinfo -h -N -p main -o %N'
    assert run("sh", "-c", script).stdout.split() == ["node/k1", "n1"]


@NO_KUBE
@pytest.mark.parametrize("args,want", [
    (["--nodes", "x"], "not a number"),
    (["--nodes", "0"], "at least 1"),
    (["--memory", "99999999999999999999"], "too large"),
    (["--bogus", "1"], "unknown option"),
    (["--kube", "/no/such/kubeconfig"], "kubeconfig"),
    (["--slurm", "17.02"], "24.11 or 26.05"),
    (["--preempt", "qos"], "needs --accounting"),
    (["--preempt", "luck"], "partition_prio or qos"),
    (["--conf", "nonsense"], "KEY=VALUE"),
])
@ANY_SLURM
def test_bad_options_are_refused_before_anything_starts(directory, args, want):
    got = run(DEV / "up", "--dir", directory / "d", *args, ok=False)
    assert got.returncode != 0
    assert want in got.stderr
    assert not (directory / "d").exists()


def state_of(directory, job):
    return dev_in(directory, "sacct", "-n", "-X", "-P", "-j", job, "-o", "state").strip()


@ANY_SLURM
def test_a_real_control_plane_that_is_not_whole_is_refused(directory):
    (directory / "bin").mkdir()
    (directory / "bin" / "kube-apiserver").write_text("#!/bin/sh\n")
    (directory / "bin" / "kube-apiserver").chmod(0o755)
    got = run(DEV / "up", "--kube", "real", "--dir", directory / "d", env={"KUBE_BIN_DIR": str(directory / "bin")}, ok=False)
    assert got.returncode != 0 and "has no kube-controller-manager" in got.stderr
    assert not (directory / "d").exists()


@NO_KUBE
def test_accounting_keeps_jobs_and_a_qos_preempts(directory):
    d = directory / "c"
    run(DEV / "up", "--nodes", "1", "--accounting", "--preempt", "qos", "--kill-wait", "2", "--conf", "MinJobAge=300", "--dir", d)
    qos = dev_in(d, "sacctmgr", "-n", "-P", "show", "qos", "format=name,preempt").split()
    assert sorted(qos) == ["high|low,normal", "low|", "normal|low"]
    submit = ["sbatch", "--parsable", "--exclusive", "-o", "/dev/null"]
    low = dev_in(d, *submit, "--qos=low", "--wrap", "sleep 1000").strip()
    wait_for("the low job runs", lambda: state_of(d, low) == "RUNNING")
    high = dev_in(d, *submit, "--qos=high", "--gres=gpu:2", "--wrap", "true").strip()
    wait_for("the high job is over", lambda: state_of(d, high) == "COMPLETED")
    assert state_of(d, low) == "PREEMPTED"
    row = dev_in(d, "sacct", "-n", "-X", "-P", "-j", high, "-o", "account,qos,reqtres").strip()
    assert row.startswith("lab|high|") and "gres/gpu=2" in row
    run(DEV / "down", "--dir", d)
    assert processes_of(directory) == []


def test_hollow_nodes_are_joined_on_both_sides(directory):
    d = directory / "c"
    run(DEV / "up", "--nodes", "1", "--hollow-nodes", "200", "--dir", d)
    slurm = dev_in(d, "sinfo", "-h", "-N", "-p", "hollow", "-t", "idle", "-o", "%N %G").split("\n")[:-1]
    assert sorted(slurm) == sorted(f"hn{i} gpu:8" for i in range(1, 201))
    pods = json.loads(dev_in(d, "kubectl", "get", "pods", "-n", "slurm", "-o", "json", "-l", "sunk.coreweave.com/nodeset=hollow"))
    joined = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods["items"] if p["status"]["phase"] == "Running"}
    assert joined == {f"hn{i}": f"hk{i}" for i in range(1, 201)}
    nodes = json.loads(dev_in(d, "kubectl", "get", "nodes", "-o", "json"))["items"]
    assert {n["metadata"]["name"] for n in nodes} == {"k1", *joined.values()}
    assert dev_in(d, "srun", "sh", "-c", "echo $SLURMD_NODENAME") == "n1\n"  # real jobs go to real nodes
    run(DEV / "down", "--dir", d)
    assert processes_of(directory) == []


@ANY_SLURM
@NO_KUBE
@pytest.mark.parametrize("program, options", [("munged", []), ("slurmctld", []), ("mariadbd", ["--accounting"]), ("slurmdbd", ["--accounting"])])
def test_a_part_that_cannot_start_is_named_with_its_log(directory, program, options):
    fake = directory / "bin" / program
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho '{program}: fatal: the dog ate it'\nexit 1\n")
    fake.chmod(0o755)
    got = run(DEV / "up", "--nodes", "1", "--dir", directory / "e", *options, ok=False,
              env={"PATH": f"{fake.parent}:{os.environ['PATH']}", "TMPDIR": str(directory)})
    assert got.returncode != 0
    assert f"Slurm: {program} failed" in got.stderr and "the dog ate it" in got.stderr
    assert processes_of(directory / "e") == []
    assert not (directory / "e").exists()


@ANY_SLURM
def test_down_without_a_cluster_says_so(directory):
    got = run(DEV / "down", "--dir", directory, ok=False)
    assert got.returncode != 0 and "no cluster" in got.stderr
