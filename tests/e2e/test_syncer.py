# SPDX-License-Identifier: GPL-2.0-or-later
"""`sunk syncer` between a real Slurm and the small Kubernetes: drains cross over both ways, prologs wait, metrics are what Slurm says."""

import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

import pytest
from lite_server import wait_for as wait_for_what

TOP = pathlib.Path(__file__).resolve().parents[2]
DEV = TOP / "dev"
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
TOKEN = "a-token-that-nobody-guesses"
PREFIX = "sunk.coreweave.com/"

pytestmark = pytest.mark.skipif(not shutil.which("slurmctld"), reason="no Slurm here")


def wait_for(check, deadline=30):
    return wait_for_what("it", check, deadline)


class World:
    """A cluster with a syncer."""

    def __init__(self, directory, *options):
        self.dir = directory
        subprocess.run([DEV / "up", "--no-sunk", "--nodes", "4", "--dir", directory, *options], check=True, capture_output=True, timeout=180)
        env = (directory / "env").read_text()
        self.env = dict(os.environ, **dict(re.findall(r"export (KUBECONFIG|SLURM_CONF)='([^']*)'", env)))
        own = directory / "accounts/syncer.kubeconfig"  # a real control plane knows the syncer as a service account
        self.config = own if own.exists() else self.env["KUBECONFIG"]
        (directory / "token").write_text(TOKEN + "\n")
        self.syncer = None
        try:
            self.sh("kubectl", "apply", "-f", str(TOP / "charts/sunk/crds"))  # it looks at NodeSlices, too
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self, *flags, ready=True):
        listening = self.dir / "syncer.urls"
        listening.unlink(missing_ok=True)
        log = open(self.dir / "log" / "syncer.log", "ab")
        self.syncer = subprocess.Popen(
            [BUILD / "src/cmd/sunk", "syncer", "--kubeconfig", self.config, "--slurm-conf", self.env["SLURM_CONF"],
             "--listen", "127.0.0.1:0", "--hook-listen", "127.0.0.1:0", "--hook-token-file", self.dir / "token",
             "--metrics-interval", "200ms", "--hook-timeout", "20s", "--listen-file", listening, *flags],
            env=dict(self.env, POD_NAMESPACE="slurm", POD_NAME="syncer"), stdout=log, stderr=log)
        log.close()
        wait_for(lambda: listening.exists() and "syncer-hook" in listening.read_text())
        self.urls = dict(re.findall(r"^(\S+) (http\S+)$", listening.read_text(), re.M))
        wait_for(lambda: not ready or self.get(self.urls["http"] + "/readyz")[0] == 200)

    def stop(self):
        self.syncer.terminate()
        assert self.syncer.wait(30) == 0

    def close(self):
        if self.syncer and self.syncer.poll() is None:
            self.syncer.kill()
            self.syncer.wait()
        subprocess.run([DEV / "down", "--dir", self.dir], capture_output=True, timeout=120, check=False)

    def sh(self, *command, check=True, stdin=None):
        got = subprocess.run(command, env=self.env, input=stdin, capture_output=True, text=True, errors="replace", timeout=60, check=False)
        assert not check or got.returncode == 0, f"{command}: {got.stdout}{got.stderr}"
        return got.stdout

    @staticmethod
    def get(url, data=None, token=None, timeout=60):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(url, data=data, headers=headers, method="GET" if data is None else "POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError:
            return 0, ""

    def hook(self, node, what="pre-hook", body=b"", token=TOKEN):
        return self.get(f"{self.urls['syncer-hook']}/v1/nodes/{node}/{what}", body, token)

    def metrics(self):
        status, text = self.get(self.urls["http"] + "/metrics")
        assert status == 200
        found = collections.defaultdict(dict)
        for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M):
            found[name][tuple(v for _, v in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))] = float(value)
        return found

    def node(self, name):
        """State and reason, as a person sees them."""
        text = self.sh("scontrol", "show", "node", name)
        reason = re.search(r"Reason=(.*) \[", text)
        state = re.search(r"State=(\S+)", text)[1]
        return state, reason[1] if reason and "DRAIN" in state else None

    def drained(self, name):
        return self.node(name)[1]

    def pod(self, name):
        return json.loads(self.sh("kubectl", "get", "pod", "-n", "slurm", name, "-o", "json"))

    def condition(self, name, kind):
        return next((c for c in self.pod(name)["status"].get("conditions", []) if c["type"] == kind), {})

    def annotations(self, name):
        return self.pod(name)["metadata"].get("annotations", {})

    def annotate(self, name, check=True, **notes):
        pairs = [f"{PREFIX}{k.replace('_', '-')}" + ("-" if v is None else f"={v}") for k, v in notes.items()]
        self.sh("kubectl", "annotate", "--overwrite", "pod", "-n", "slurm", name, *pairs, check=check)


@pytest.fixture(name="world", scope="module")
def one_world():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sy-"))
    world = World(directory / "w")
    yield world
    world.close()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(autouse=True)
def show_logs(world, worlds):
    worlds.append(world.dir)


def test_a_cordon_crosses_over_and_goes_again(world):
    world.annotate("n1", cordon="it's \"hot\", $(reboot)")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: it's \"hot\", $(reboot)")
    wait_for(lambda: world.condition("n1", "SlurmDrain").get("status") == "True")
    assert world.condition("n1", "SlurmDrain")["message"] == "k8s: cordon: it's \"hot\", $(reboot)"
    world.annotate("n1", cordon="fan")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: fan")
    # removed too early: once more
    world.sh("scontrol", "update", "nodename=n1", "state=resume")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: fan")
    world.annotate("n1", cordon=None)
    wait_for(lambda: world.drained("n1") is None)
    wait_for(lambda: world.condition("n1", "SlurmDrain").get("status") == "False")
    labels = world.pod("n1")["metadata"]["labels"]
    assert labels[PREFIX + "drain"] == "false" and labels[PREFIX + "running"] == "false"


def test_a_pod_that_is_not_ready_drains_its_node_and_a_cordon_goes_before_it(world):
    agent = int((world.dir / "run/agent.proc").read_text().split()[0])
    os.kill(agent, signal.SIGSTOP)  # or it would say at once what is true
    try:
        patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        world.sh("kubectl", "patch", "pod", "-n", "slurm", "n3", "--subresource=status", "--type=strategic", "-p", json.dumps(patch))
        wait_for(lambda: world.drained("n3") == "k8s: pod not ready")
        world.annotate("n3", cordon="disk")
        wait_for(lambda: world.drained("n3") == "k8s: cordon: disk")
        world.annotate("n3", cordon=None)
        wait_for(lambda: world.drained("n3") == "k8s: pod not ready")
    finally:
        os.kill(agent, signal.SIGCONT)
    wait_for(lambda: world.drained("n3") is None)


def test_a_pod_knows_whether_a_job_runs_on_its_node(world):
    def labels():
        return {k[len(PREFIX):]: v for k, v in world.pod("n2")["metadata"]["labels"].items() if k.startswith(PREFIX)}

    wait_for(lambda: world.condition("n2", "SlurmRunning").get("status") == "False")
    drain = world.condition("n2", "SlurmDrain")
    job = world.sh("sbatch", "--parsable", "-o", "/dev/null", "-w", "n2", "--wrap", "sleep 600").strip()
    wait_for(lambda: world.condition("n2", "SlurmRunning").get("status") == "True")
    wait_for(lambda: labels().get("running") == "true")
    since = world.condition("n2", "SlurmRunning")["lastTransitionTime"]
    assert world.condition("n2", "SlurmDrain") == drain  # when it became so does not change because another one does
    world.sh("scontrol", "update", "nodename=n2", "state=drain", "reason=after this job")
    wait_for(lambda: world.condition("n2", "SlurmDrain").get("message") == "after this job")
    wait_for(lambda: labels() | {"drain": "true", "not_responding": "false"} == labels())
    assert world.condition("n2", "SlurmRunning")["lastTransitionTime"] == since
    world.sh("scontrol", "update", "nodename=n2", "state=undrain")
    world.sh("scancel", job)
    wait_for(lambda: world.condition("n2", "SlurmRunning").get("status") == "False")
    wait_for(lambda: labels() | {"drain": "false", "running": "false"} == labels())
    kinds = [c["type"] for c in world.pod("n2")["status"]["conditions"]]
    assert len(kinds) == len(set(kinds)) and "Ready" in kinds  # others' are kept, none is there twice


def test_a_persons_drain_is_theirs(world):
    world.sh("scontrol", "update", "nodename=n2", "state=drain", "reason=bad gpu")
    wait_for(lambda: world.condition("n2", "SlurmDrain").get("message") == "bad gpu")
    before = world.metrics()["sunk_syncer_effects_total"].get(("drain", "ok"), 0)
    world.annotate("n2", cordon="x")
    world.annotate("n1", cordon="x")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: x")  # it has seen both
    assert world.drained("n2") == "bad gpu"
    assert world.metrics()["sunk_syncer_effects_total"][("drain", "ok")] == before + 1
    # over ours: theirs from then on, also when the condition goes
    world.sh("scontrol", "update", "nodename=n1", "state=drain", "reason=mine")
    wait_for(lambda: world.condition("n1", "SlurmDrain").get("message") == "mine")
    for name in ("n1", "n2"):
        world.annotate(name, cordon=None)
    world.annotate("n3", cordon="seen")
    wait_for(lambda: world.drained("n3") == "k8s: cordon: seen")
    assert world.drained("n1") == "mine" and world.drained("n2") == "bad gpu"
    world.annotate("n3", cordon=None)
    for name in ("n1", "n2"):
        world.sh("scontrol", "update", f"nodename={name}", "state=undrain")
    wait_for(lambda: all(world.drained(n) is None for n in ("n1", "n2", "n3")))


def test_verification_lifts_a_failed_prologs_drain(world):
    world.sh("scontrol", "update", "nodename=n2", "state=drain", "reason=prolog pre-hook failed (sunk:verify-undrain)")
    wait_for(lambda: "verify-undrain" in world.condition("n2", "SlurmDrain").get("message", ""))

    def verify(when):
        patch = {"status": {"conditions": [{"type": "HPCVerification", "status": "True", "lastTransitionTime": when}]}}
        world.sh("kubectl", "patch", "pod", "-n", "slurm", "n2", "--subresource=status", "--type=strategic", "-p", json.dumps(patch))

    verify("2020-01-01T00:00:00Z")
    world.annotate("n1", cordon="seen")
    wait_for(lambda: world.drained("n1"))
    assert "verify-undrain" in world.drained("n2")  # older than the drain: nothing
    verify("2099-01-01T00:00:00Z")
    wait_for(lambda: world.drained("n2") is None)
    world.annotate("n1", cordon=None)
    wait_for(lambda: world.drained("n1") is None)
    assert [c["type"] for c in world.pod("n2")["status"]["conditions"]].count("SlurmDrain") == 1


def test_the_node_remembers_its_pod_and_users_keys_survive(world):
    def extra(name):
        got = re.search(r"Extra=(.*)", world.sh("scontrol", "show", "node", name))
        return got[1] if got else ""

    # at rest: Slurm cannot be told "only if it still is", so a write at the very moment of another may be lost
    wait_for(lambda: '"k8s"' in extra("n3") and "cordon" not in extra("n3"))
    world.sh("scontrol", "update", "nodename=n3", 'extra={"rack":"a7","n":12345678901234567890}')
    wait_for(lambda: '"k8s"' in extra("n3"))
    assert extra("n3").startswith('{"rack":"a7","n":12345678901234567890,"k8s":{')
    world.sh("scontrol", "update", "nodename=n3", "extra=no json")
    wait_for(lambda: extra("n3").startswith('{"k8s":{"node":"k3","namespace":"slurm","pod":"n3"'))
    assert "Comment=k3" in world.sh("scontrol", "show", "node", "n3")
    world.annotate("n3", features="h100,ib")
    wait_for(lambda: "AvailableFeatures=dyn,h100,ib" in world.sh("scontrol", "show", "node", "n3"))
    world.annotate("n3", features=None)
    wait_for(lambda: re.search(r"AvailableFeatures=dyn$", world.sh("scontrol", "show", "node", "n3"), re.M))


def test_a_pod_that_goes_while_nobody_looks_leaves_its_node_drained(world):
    world.annotate("n4", cordon="old")
    wait_for(lambda: world.drained("n4") == "k8s: cordon: old" and "cordonReason" in world.sh("scontrol", "show", "node", "n4"))
    world.stop()
    world.sh("kubectl", "delete", "pod", "-n", "slurm", "n4", "--grace-period=1")
    wait_for(lambda: not world.sh("kubectl", "get", "pod", "-n", "slurm", "n4", check=False))
    world.start()
    state = world.node("n4")[0]
    if "DOWN" not in state:  # Slurm has not noticed yet
        wait_for(lambda: world.drained("n4") == "k8s: pod terminated: cordon: old" or "DOWN" in world.node("n4")[0])
    wait_for(lambda: world.metrics()["sunk_syncer_nodes_without_pod"][()] == 1)
    world.sh("kubectl", "apply", "-f", str(world.dir / "slurmd-pods.yaml"))
    wait_for(lambda: world.drained("n4") is None and "IDLE" in world.node("n4")[0], 60)
    wait_for(lambda: world.metrics()["sunk_syncer_nodes_joined"][()] == 4)


def test_a_prolog_waits_for_the_lock(world):
    got = []
    threads = [threading.Thread(target=lambda: got.append(world.hook("n1", body=b'{"jobId":1}'))) for _ in range(20)]
    for t in threads:
        t.start()
    wait_for(lambda: world.pod("n1")["metadata"]["annotations"].get(PREFIX + "lock-request") == "normal")
    wait_for(lambda: world.metrics()["sunk_syncer_hook_parked"][()] == 20)
    assert not got
    epoch = world.pod("n1")["metadata"]["annotations"][PREFIX + "lock-epoch"]
    world.annotate("n1", lock="locked", lock_for=epoch)
    for t in threads:
        t.join(30)
    assert got == [(200, '{"lock":"locked"}')] * 20
    # nothing runs there: the request goes, and the next prolog makes a new one
    wait_for(lambda: PREFIX + "lock-request" not in world.pod("n1")["metadata"]["annotations"])
    assert world.hook("n1", token="wrong")[0] == 401
    assert world.hook("n1", body=b"garbage")[0] == 400
    assert world.hook("nowhere")[0] == 404
    assert world.hook("n1", "reboot")[0] == 403


# ---- metrics ----

STATES = {"canceled": "CANCELLED", "completed": "COMPLETED", "completing": "COMPLETING", "configuring": "CONFIGURING", "failed": "FAILED",
          "node_fail": "NODE_FAIL", "pending": "PENDING", "preempted": "PREEMPTED", "running": "RUNNING", "suspended": "SUSPENDED",
          "timeout": "TIMEOUT"}
NODE_STATES = {"alloc": ("allocated",), "comp": ("completing",), "down": ("down",), "drain": ("drained", "draining"), "err": ("error",),
               "fail": ("fail", "failing"), "idle": ("idle", "planned"), "maint": ("maint",), "mix": ("mixed",), "resv": ("reserved",)}


def slurm_says(world):
    """The same numbers from Slurm's own tools."""
    want = collections.defaultdict(dict)
    queue = [line.split("|") for line in world.sh("squeue", "-h", "-a", "-r", "-t", "all", "-o", "%T|%P|%a|%u|%r").splitlines()]
    for name, state in STATES.items():
        want[f"slurm_queue_{name}"][()] = sum(q[0] == state for q in queue)
    want["slurm_queue_pending_dependency"][()] = sum(q[0] == "PENDING" and q[4] == "Dependency" for q in queue)
    for name in ("pending", "running", "suspended"):
        for q in queue:
            # squeue shows "(null)" where there is no account
            key = (q[1], "" if q[2] == "(null)" else q[2], q[3])
            want[f"slurm_jobs_{name}"].setdefault(key, 0)
            want[f"slurm_jobs_{name}"][key] += q[0] == name.upper()
    seen = {}
    for line in world.sh("sinfo", "-h", "-N", "-a", "-o", "%N|%P|%T|%C").splitlines():
        node, partition, state, cpus = line.split("|")
        state = re.sub(r"[^a-z_].*", "", state)
        alloc, idle, _, total = map(float, cpus.split("/"))
        seen[node] = state
        want["slurm_node_state"][(node, partition.rstrip("*"), state)] = 1
        for name, value in (("alloc", alloc), ("idle", idle), ("total", total)):
            want[f"slurm_node_cpu_{name}"][(node,)] = value
            by = want[f"slurm_partition_cpu_{name}"]
            by[(partition.rstrip("*"),)] = by.get((partition.rstrip("*"),), 0) + value
    for name, words in NODE_STATES.items():
        want[f"slurm_nodes_{name}"][()] = sum(s in words for s in seen.values())
    want["slurm_nodes_total"][()] = len(seen)
    for text in re.split(r"\n(?=NodeName=)", world.sh("scontrol", "-d", "show", "node")):
        name = re.search(r"NodeName=(\S+)", text)
        if not name:
            continue
        gpus, used = (float(re.search(rf"{key}=gpu:(?:[a-z]\w*:)?(\d+)", text)[1]) for key in ("Gres", "GresUsed"))
        off = seen[name[1]] in ("drained", "draining", "down")  # nothing is to be had there
        amounts = {"mem_total": float(re.search(r"RealMemory=(\d+)", text)[1]), "mem_alloc": float(re.search(r"AllocMem=(\d+)", text)[1]),
                   "gpu_total": gpus, "gpu_alloc": used, "gpu_idle": 0 if off else gpus - used}
        for what, value in amounts.items():
            want[f"slurm_node_{what}"][(name[1],)] = value
            for partition in re.search(r"Partitions=(\S+)", text)[1].split(","):
                by = want[f"slurm_partition_{what}"]
                by[(partition,)] = by.get((partition,), 0) + value
    want["slurm_nodes_not_responding"][()] = sum("NOT_RESPONDING" in line for line in world.sh("scontrol", "-o", "show", "node").splitlines())
    for line in world.sh("squeue", "-h", "-a", "-t", "all", "-O", "JobID:|,JobArrayID:|,StateCompact:|,State:|,Partition:|,Account:|,UserName:|,Name:300").splitlines():
        job, array, _, state, partition, account, user, name = (w.strip() for w in line.split("|", 7))
        tasks = re.search(r"_\[([\d,-]+)", array)  # those that wait together are one
        n = sum(int(b or a) - int(a) + 1 for a, b in re.findall(r"(\d+)(?:-(\d+))?", tasks[1])) if tasks else 1
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        want["slurm_job_state"][(partition, "" if account == "(null)" else account, user, job, escaped, state.lower())] = n
    for line in world.sh("squeue", "-h", "-a", "-t", "running", "-o", "%A|%N|%C|%P|%u|%M|%b").splitlines():
        job, node, cpus, partition, user, _, gres = line.split("|")
        want["slurm_job_cpus_allocated"][(partition, "", user, job, node)] = float(cpus)
        asked = re.search(r"gpu:(\d+)", gres)
        if asked:
            want["slurm_job_gpus_allocated"][(partition, "", user, job, node)] = float(asked[1])
    return want


SDIAG = {  # what sdiag calls it, and how much of ours it is
    "slurm_scheduler_backfill_cycle_last_seconds": (r"Backfilling stats.*?\tLast cycle:\s*(\d+)", 1e-6),
    "slurm_scheduler_backfill_cycle_mean_seconds": (r"Backfilling stats.*?\tMean cycle:\s*(\d+)", 1e-6),
    "slurm_scheduler_backfill_depth_mean": (r"\tDepth Mean:\s*(\d+)", 1),
    "slurm_scheduler_backfilled_jobs_total": (r"Total backfilled jobs \(since last slurm start\):\s*(\d+)", 1),
    "slurm_scheduler_backfilled_jobs_cycle_total": (r"Total backfilled jobs \(since last stats cycle start\):\s*(\d+)", 1),
    "slurm_scheduler_backfilled_jobs_heterogeneous_total": (r"Total backfilled heterogeneous job components:\s*(\d+)", 1),
    "slurm_scheduler_cycle_last_seconds": (r"Main schedule statistics.*?\tLast cycle:\s*(\d+)", 1e-6),
    "slurm_scheduler_cycle_mean_seconds": (r"Main schedule statistics.*?\tMean cycle:\s*(\d+)", 1e-6),
    "slurm_scheduler_cycles_per_minute": (r"\tCycles per minute:\s*(\d+)", 1),
    "slurm_scheduler_cycle_mean_depth": (r"\tMean depth cycle:\s*(\d+)", 1),
    "slurm_scheduler_queue": (r"Main schedule statistics.*?\tLast queue length:\s*(\d+)", 1),
    "slurm_scheduler_dbd_queue": (r"DBD Agent queue size:\s*(\d+)", 1),
    "slurm_scheduler_threads": (r"Server thread count:\s*(\d+)", 1),
    "slurm_scheduler_jobs_submitted": (r"Jobs submitted:\s*(\d+)", 1),
    "slurm_scheduler_jobs_started": (r"Jobs started:\s*(\d+)", 1),
    "slurm_scheduler_jobs_completed": (r"Jobs completed:\s*(\d+)", 1),
    "slurm_scheduler_jobs_failed": (r"Jobs failed:\s*(\d+)", 1),
    "slurm_scheduler_jobs_cancelled": (r"Jobs canceled:\s*(\d+)", 1),
    "slurm_scheduler_jobs_pending": (r"Jobs pending:\s*(\d+)", 1),
    "slurm_scheduler_jobs_running": (r"Jobs running:\s*(\d+)", 1),
}
ELSEWHERE = {"slurm_job_uptime_seconds", "slurm_controller_rpc_count", "slurm_controller_rpc_mean_duration_seconds"}  # they move: see below


def sdiag_says(world, got):
    """What differs from sdiag, each on its own: they change at times of their own."""
    text = world.sh("sdiag")
    differ = []
    for name, (pattern, unit) in SDIAG.items():
        found = re.search(pattern, text, re.S)
        value = float(found[1]) * unit if found else 0  # sdiag leaves out what never was
        # cycles per minute is made anew by every request for it, from how long slurmctld is up: it never stands still
        loose = max(5, value * 0.6) if name == "slurm_scheduler_cycles_per_minute" else 1e-9
        if abs(got[name].get((), -1) - value) > loose:
            differ.append((name, value, got[name].get(())))
    return differ


def test_metrics_are_what_slurms_own_tools_say(world):
    def submit(*args):
        return world.sh("sbatch", "--parsable", "-o", "/dev/null", *args).strip()

    world.sh("scontrol", "update", "nodename=n4", "state=drain", "reason=for the numbers")
    first = submit("-w", "n1", "-c", "3", "--mem=100", "--gres=gpu:2", "--wrap", "sleep 600")
    submit("-w", "n2", "--exclusive", "--mem=0", "-p", "high", "--wrap", "sleep 600")
    submit("-w", "n4", "--array=1-7", "--wrap", "sleep 600")
    submit("-w", "n3", "--array=1-3", "-c", "2", "--mem=10", "-J", 'a "name" with\\things', "--wrap", "sleep 600")
    submit("-d", f"afterok:{first}", "--wrap", "true")
    failed = submit("-w", "n3", "--mem=10", "--wrap", "exit 3")
    cancelled = submit("-H", "--wrap", "true")
    world.sh("scancel", cancelled)
    wait_for(lambda: len(world.sh("squeue", "-h", "-r", "-t", "running", "-o", "%A").split()) == 5)
    wait_for(lambda: "JobState=FAILED" in world.sh("scontrol", "show", "job", failed))
    differences = []

    def agree():
        want, got = slurm_says(world), world.metrics()
        differences[:] = [(name, key, value, got[name].get(key)) for name, series in want.items() for key, value in series.items()
                          if got[name].get(key) != value]
        return not differences

    try:
        wait_for(agree, 30)
    except AssertionError:
        raise AssertionError(f"(metric, labels, Slurm, ours): {differences}") from None
    got = world.metrics()
    assert sum(got["slurm_job_gpus_allocated"].values()) == 2 + 8  # a job alone on its node has all of it
    assert got["slurm_partition_gpu_alloc"][("main",)] == 2 + 8 and got["slurm_partition_gpu_idle"][("main",)] == 6 + 8
    assert any(k[4] == 'a \\"name\\" with\\\\things' and k[5] == "running" for k in got["slurm_job_state"])
    assert [v for k, v in got["slurm_job_state"].items() if k[5] == "pending" and v > 1] == [7]  # tasks that wait together
    still = set(SDIAG)  # each of them agrees at some time: those that move do so between two looks

    def sdiag_agrees():
        differ = sdiag_says(world, world.metrics())
        still.intersection_update(name for name, _, _ in differ)
        return not still

    try:
        wait_for(sdiag_agrees, 60)
    except AssertionError:
        raise AssertionError(f"sdiag says otherwise: {[d for d in sdiag_says(world, world.metrics()) if d[0] in still]}") from None
    table = re.findall(r"^\| `(slurm_\w+)` \|", (TOP / "docs/metrics.md").read_text(), re.M)
    assert len(table) == 70 and set(table) - set(slurm_says(world)) - set(SDIAG) == ELSEWHERE  # nothing of it was left out
    got = world.metrics()
    sdiag = world.sh("sdiag")
    counts = {k: (float(n), float(ave)) for k, n, ave in re.findall(r"^\t(\w+)\s*\( *\d+\) count:(\d+)\s+ave_time:(\d+)", sdiag, re.M)}
    assert sum(k[0] in counts for k in got["slurm_controller_rpc_count"]) >= 5
    assert all(v <= counts[k[0]][0] for k, v in got["slurm_controller_rpc_count"].items() if k[0] in counts)
    means = {k[0]: v for k, v in got["slurm_controller_rpc_mean_duration_seconds"].items()}
    assert any(abs(means[k] * 1e6 - ave) <= max(5, ave * 0.2) for k, (_, ave) in counts.items() if k in means)
    uptime = [v for k, v in got["slurm_job_uptime_seconds"].items() if k[3] == first]
    assert len(uptime) == 1 and 0 <= uptime[0] < 300
    world.sh("scancel", "-u", "root")
    world.sh("scontrol", "update", "nodename=n4", "state=undrain")
    wait_for(lambda: world.metrics()["slurm_nodes_idle"][()] == 4, 60)


def test_a_scrape_asks_slurm_nothing(world):
    """As slurmctld counts it. The syncer looks by itself so rarely here that it never does."""
    world.stop()
    world.start("--poll-min", "30m", "--poll-max", "30m", "--metrics-interval", "30m")

    def asked():
        return {k: int(n) for k, n in re.findall(r"^\t(REQUEST_\w+)\s*\( *\d+\) count:(\d+)", world.sh("sdiag"), re.M)}

    def quiet():
        before, after = asked(), asked()
        return {k for k, n in after.items() if n != before.get(k)} == {"REQUEST_STATS_INFO"}  # sdiag's own

    def has_read():
        return {verb for (verb, outcome), n in world.metrics()["sunk_slurm_requests_total"].items() if outcome == "ok" and n}

    try:
        wait_for(lambda: {"load_jobs", "load_nodes", "load_partitions", "load_stats"} <= has_read())
        wait_for(quiet)
        before = asked()
        for _ in range(50):
            assert world.metrics()["slurm_nodes_total"][()] == 4
        after = asked()
        assert {k: n - before.get(k, 0) for k, n in after.items() if n != before.get(k)} == {"REQUEST_STATS_INFO": 1}
    finally:
        world.stop()
        world.start()


def test_a_controller_that_goes_and_comes_back_loses_no_drain(world):
    conf = world.env["SLURM_CONF"]
    world.annotate("n1", cordon="before")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: before")
    pid = int(pathlib.Path(re.search(r"SlurmctldPidFile=(\S+)", pathlib.Path(conf).read_text())[1]).read_text())
    os.kill(pid, 15)
    wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    world.annotate("n2", cordon="while away")
    wait_for(lambda: world.get(world.urls["http"] + "/metrics")[0] == 200)
    controller = subprocess.Popen(["slurmctld", "-D", "-f", conf], env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: "DRAIN" in world.sh("scontrol", "show", "node", "n2", check=False), 90)
        assert world.drained("n1") == "k8s: cordon: before" and world.drained("n2") == "k8s: cordon: while away"
        for name in ("n1", "n2"):
            world.annotate(name, cordon=None)
        wait_for(lambda: world.drained("n1") is None and world.drained("n2") is None, 60)
    finally:
        controller.terminate()
        controller.wait()
