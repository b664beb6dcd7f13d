# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock of a node when things go wrong: parts that are killed, hands that meddle, Pods that do not go.

Every job that a test starts looks at its Node by itself: what counts is what is true when its first process runs."""

import contextlib
import os
import pathlib
import re
import tempfile
import time

import pytest
from world import PREFIX

WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--cpus", "16"), "nodes": 3}
REASON = "prolog pre-hook failed (sunk:verify-undrain)"
TAINT = PREFIX + "lock"
# A container that takes its time to leave.
SLOW = "trap 'sleep 2; exit 0' TERM; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"
TOLERATES = [{"key": TAINT, "operator": "Exists", "effect": "NoExecute"}]
# What a job finds: the taint of its Node, how often it was started, and which of the Pods named are still there.
LOOK = """
echo start >>{out}
kubectl get node k${{SLURMD_NODENAME#n}} -o 'jsonpath=taints={{.spec.taints[*].key}}' >>{out} && echo >>{out}
kubectl get pods -n {ns} --field-selector spec.nodeName=k${{SLURMD_NODENAME#n}} -o 'jsonpath=pods={{.items[*].metadata.name}}' >>{out}
echo >>{out}
{then}
"""


class Locks:
    """What the tests of this file look at and do."""

    def __init__(self, world, space):
        self.w, self.space = world, space
        self.outs = {}
        self.nodes = ["k1", "k2", "k3"]

    def job(self, node="n1", then="sleep 1000", *options):
        fd, name = tempfile.mkstemp(dir=self.w.dir, prefix="look-")
        os.close(fd)
        out = pathlib.Path(name)
        out.chmod(0o666)
        job_id = self.space.sbatch(LOOK.format(out=out, ns=self.space.ns, then=then), "-w", node, "-n", "1", "--mem", "100", *options)
        self.outs[job_id] = out
        return job_id

    def found(self, job_id):
        """What the job found when it began: None as long as it has not looked."""
        text = self.outs[job_id].read_text()
        return None if "pods=" not in text or not text.endswith("\n") else text

    def started(self, job_id, deadline=40):
        """Waits for the job's first look, and checks what must hold in every start."""
        text = self.w.until(f"job {job_id} runs", lambda: self.found(job_id), deadline)
        assert text.count("start\n") == 1, text
        assert re.search(rf"^taints=.*{TAINT}", text, re.M), text
        return text.partition("pods=")[2].split()

    def not_started(self, job_id):
        return "start" not in self.outs[job_id].read_text()

    def node(self, name="k1"):
        return self.w.call("GET", f"/api/v1/nodes/{name}").json

    def taints(self, name="k1"):
        return [t for t in self.node(name)["spec"].get("taints", []) if t["key"] == TAINT]

    def lock(self, name="k1"):
        return self.node(name)["metadata"].get("annotations", {}).get(PREFIX + "lock")

    def pod_notes(self, name="n1"):
        notes = self.w.call("GET", f"/api/v1/namespaces/slurm/pods/{name}").json["metadata"].get("annotations", {})
        return {k.removeprefix(PREFIX): v for k, v in notes.items()}

    def locked(self, name="k1", state="locked"):
        self.w.until(f"{name} is {state}", lambda: self.lock(name) == state and self.taints(name))

    def is_free(self, name="k1"):
        notes = self.node(name)["metadata"].get("annotations", {})
        pod = self.pod_notes(name.replace("k", "n"))
        left = [k for k in notes if k.startswith(PREFIX + "lock")] + [k for k in ("lock", "lock-for", "lock-request") if k in pod]
        return not self.taints(name) and not left

    def freed(self, *names, deadline=30):
        for name in names:
            self.w.until(f"{name} is unlocked", lambda n=name: self.is_free(n), deadline)

    def events(self, reason, name="k1"):
        items = self.w.call("GET", "/api/v1/events?limit=500").json["items"]
        about = [e for e in items if e["involvedObject"]["kind"] == "Node" and e["involvedObject"]["name"] == name]
        return [e.get("message", "") for e in about if e["reason"] == reason]

    def condition(self, kind, name="k1"):
        return next((c for c in self.node(name)["status"]["conditions"] if c["type"] == kind), {"status": "absent"})

    def stray(self, name, script="sleep 1000", node="k1", metadata=None, **more):
        """A Pod that has nothing to do with Slurm, on a Node."""
        body = self.space.manifest(name, script, nodeName=node, **more)
        body["spec"]["schedulerName"] = "default-scheduler"
        body["metadata"].update(metadata or {})
        return self.space.create(body).running()

    @contextlib.contextmanager
    def hook_flags(self, *flags):
        """The prolog's hook has more flags meanwhile."""
        script = self.w.dir / "scripts/prolog.d/50-sunk"
        before = script.read_text()
        script.write_text(before.replace(" prolog\n", f" prolog {' '.join(flags)}\n"))
        try:
            yield
        finally:
            script.write_text(before)


@pytest.fixture
def locks(world, space):
    k = Locks(world, space)
    yield k
    space.clean()
    names = ["n" + n[1:] for n in k.nodes]
    world.resume(*(n for n in names if world.is_drained(n)))
    k.freed(*k.nodes)


# ---- locking and unlocking ----


def test_a_node_is_unlocked_right_after_the_last_job(world, locks):
    first, second = locks.job(), locks.job()
    locks.started(first)
    locks.started(second)
    world.scancel(first)
    world.until("the first is over", lambda: world.job_state(first) == "CANCELLED")
    world.never("unlocked while a job runs", lambda: not locks.taints())
    world.scancel(second)
    world.until("the second is over", lambda: world.job_state(second) == "CANCELLED" and "IDLE" in world.node("n1")["State"])
    began = time.monotonic()
    locks.freed("k1", deadline=10)
    print(f"unlocked {time.monotonic() - began:.3f} s after the last job")


def test_daemonset_and_tolerating_pods_stay_in_a_normal_lock(world, locks, space):
    pod = space.manifest("x", nodeSelector={"kubernetes.io/hostname": "k1"}, tolerations=[{"operator": "Exists"}], restartPolicy="Always")
    pod["spec"].pop("schedulerName")
    daemon = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "daemon", "namespace": space.ns},
        "spec": {
            "selector": {"matchLabels": {"app": "daemon"}},
            "template": {"metadata": {"labels": {"app": "daemon"}}, "spec": pod["spec"]},
        },
    }
    path = f"/apis/apps/v1/namespaces/{space.ns}/daemonsets"
    r = world.call("POST", path, daemon)
    assert r.status == 201, r.text
    try:
        world.until("it runs", lambda: world.call("GET", path + "/daemon").json.get("status", {}).get("numberReady") == 1)
        tolerant = locks.stray("tolerant", tolerations=TOLERATES)
        plain = locks.stray("plain")
        found = sorted(locks.started(locks.job()))
        assert len(found) == 2 and found[0].startswith("daemon-") and found[1] == "tolerant"
        assert plain.gone() and not tolerant.gone()
    finally:
        world.call("DELETE", path + "/daemon")


# ---- what does not leave ----


def test_a_pod_that_does_not_go_drains_the_node_and_is_named(world, locks, space):
    world.kill_part("syncer")
    world.start_part("syncer", world.dir / "syncer", "--hook-timeout", "4s")
    try:
        locks.stray("stubborn", STUBBORN, grace=300)
        job_id = locks.job()
        who = f"Pod {space.ns}/stubborn does not tolerate the lock and has not left yet"
        world.until("the Pod is named on the NodeSet Pod", lambda: who in locks.pod_notes().get("lock-blocked-by", ""))
        world.until("and in an event", lambda: any(who in m for m in locks.events("LockBlocked")))
        world.until("the node is drained", lambda: world.is_drained("n1"))
        assert world.node_reason("n1") == REASON
        assert locks.not_started(job_id)
        logs = [p for p in (world.dir / "slurm/log").glob("slurmd*n1*")] + [p for p in (world.dir / "pods").rglob("*") if p.is_file()]

        def logged():
            return any(
                re.search(rf"node n1 is not free for job {job_id}: .*{re.escape(who)}", p.read_text(errors="replace")) for p in logs
            )

        world.until("slurmd's log names it", logged)
        world.never("the job starts after all", lambda: not locks.not_started(job_id))
    finally:
        world.kill_part("syncer")
        world.start_part("syncer")


# ---- hands ----


def test_a_taint_that_is_removed_by_hand_is_put_back(world, locks):
    job_id = locks.job()
    locks.started(job_id)
    locks.locked()
    rest = [t for t in locks.node()["spec"].get("taints", []) if t["key"] != TAINT]
    world.change_node("k1", spec={"taints": rest})
    world.until("the taint is back", locks.taints)
    world.until("and it is told", lambda: locks.events("LockRestored"))
    assert world.job_state(job_id) == "RUNNING"
    locks.locked()


@pytest.mark.parametrize("value", ["pending", None], ids=["pending", "gone"])
def test_an_annotation_that_is_edited_by_hand_is_put_back(world, locks, value):
    node = {"pending": "k2", None: "k3"}[value]
    locks.started(locks.job(node.replace("k", "n")))
    locks.locked(node)
    world.change_node(node, metadata={"annotations": {PREFIX + "lock": value}})
    locks.locked(node)
    world.until("and it is told", lambda: locks.events("LockRestored", node))


# ---- faults ----


def restart_kube(world):
    world.start_part("kube", *world.kill_part("kube"))
    world.until("the API answers", lambda: answers(world))


def answers(world):
    try:
        return world.call("GET", "/api/v1/nodes/k1", timeout=5).status == 200
    except OSError:
        return False


def restart(world, part):
    if part == "kube":
        restart_kube(world)
    elif part == "slurmctld":
        # not kill -9: a slurmctld that saved no state forgets the job and gives its number to another
        world.slurm_part("end", part)
        world.slurm_part("run", part)
        world.until("slurmctld answers", world.slurm_answers)
    else:
        world.kill_part(part)
        world.start_part(part)


PARTS = ["operator", "syncer", "kube", "slurmctld"]


@pytest.mark.parametrize("part", PARTS)
def test_a_crash_while_a_node_is_being_locked_starts_the_job_once_on_a_locked_node(world, locks, part):
    slow = locks.stray("slow", SLOW, grace=20)
    job_id = locks.job(then="true")
    world.until("the taint is there", locks.taints)
    restart(world, part)
    assert locks.started(job_id, 60) == []
    assert slow.gone()
    world.until("the job is over", lambda: world.job_state(job_id) == "COMPLETED")
    locks.freed("k1")


@pytest.mark.parametrize("part", PARTS)
def test_a_crash_while_a_node_is_being_unlocked_leaves_nothing_locked(world, locks, part):
    first = locks.job()
    locks.started(first)
    world.scancel(first)
    restart(world, part)
    locks.freed("k1")
    second = locks.job(then="true")
    locks.started(second, 60)
    locks.freed("k1")


def test_a_node_that_is_deleted_while_it_is_being_locked_starts_nothing(world, locks):
    """Last, for that Node does not come back."""
    locks.nodes.remove("k3")
    locks.stray("slow", SLOW, node="k3", grace=20)
    with locks.hook_flags("--timeout", "6s"):
        job_id = locks.job("n3", "true", "--no-requeue")
        world.until("the taint is there", lambda: locks.taints("k3"))
        world.kubectl("delete", "node", "k3", "--wait=false")
        world.until("the node is drained", lambda: world.is_drained("n3"))
    assert world.node_reason("n3") == REASON
    assert locks.not_started(job_id)
