# SPDX-License-Identifier: GPL-2.0-or-later
"""Node locking with everything in its place: prolog, syncer, operator, Kubernetes' eviction, on real Slurm.

What counts is what a job sees when it starts: it looks at its own Node from inside, and writes down what it found.
"""

import contextlib
import json
import os
import signal
import subprocess

from world import PREFIX, alive, started

WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--cpus", "16"), "nodes": 3}
LOCK = PREFIX + "lock"
MEM = ("--mem", "100")


def node(world, name):
    return world.call("GET", f"/api/v1/nodes/{name}").json


def tainted(world, name):
    return any(t["key"] == LOCK and t["effect"] == "NoExecute" for t in node(world, name)["spec"].get("taints", []))


def lock(world, name):
    return node(world, name)["metadata"].get("annotations", {}).get(LOCK)


def slurmd_pod(world, name):
    return world.call("GET", f"/api/v1/namespaces/slurm/pods/{name}").json


def unlocked(world, name):
    world.until(f"{name} is unlocked", lambda: not tainted(world, name) and not lock(world, name))


def witness(world, name, out, then="sleep 1"):
    """A job's script: writes down its Node and the Pods on it, as they are when it starts."""
    kubectl = f"kubectl --kubeconfig {world.dir}/kube/kubeconfig"
    return f"{{ {kubectl} get node {name} -o json; {kubectl} get pods -A -o json --field-selector spec.nodeName={name}; }} > {out}.new; mv {out}.new {out}; {then}"


def seen(out):
    decoder = json.JSONDecoder()
    text = out.read_text()
    n, end = decoder.raw_decode(text)
    pods, _ = decoder.raw_decode(text[end:].lstrip())
    taints = [t["key"] for t in n["spec"].get("taints", [])]
    return taints, n["metadata"]["annotations"].get(LOCK), [p["metadata"]["name"] for p in pods["items"]]


def plain(space, name, on, script="sleep 1000", grace=5, **spec):
    """A Pod that has nothing to do with Slurm, on a Node."""
    body = space.manifest(name, script, grace=grace, nodeName=on, **spec)
    body["spec"].pop("schedulerName")
    body["spec"]["containers"][0]["resources"] = {}
    return space.create(body).running()


def kill(world, part):
    pid = world.pid(part)
    os.kill(pid, signal.SIGKILL)
    world.until(f"{part} is gone", lambda: not alive(pid))


def start(world, part):
    with open(world.dir / f"log/{part}.log", "ab") as log:
        child = subprocess.Popen([world.dir / part], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    world.children.append(child)
    (world.dir / f"run/{part}.proc").write_text(f"{child.pid} {started(child.pid)}\n")


def leads(world, part):
    """The one that was started last: an older one's lease has to run out first."""
    log = world.dir / f"log/{part}.log"
    world.until(f"{part} leads", lambda: "we lead" in log.read_text().rpartition(" starts\n")[2])


def test_a_job_starts_only_when_kubernetes_has_left_and_the_node_is_free_again_afterwards(world, space):
    slow = plain(space, "slow", "k1", "trap 'sleep 1; exit 0' TERM; sleep 1000 & wait; wait")
    out = world.dir / "seen-1"
    job = space.sbatch(witness(world, "k1", out), "-w", "n1", *MEM)
    world.until("the job is over", lambda: world.job_state(job) == "COMPLETED")
    taints, state, pods = seen(out)
    assert LOCK in taints and state == "locked"
    assert pods == ["n1"]  # the NodeSet Pod, and nobody else
    assert slow.gone()
    unlocked(world, "k1")
    assert slurmd_pod(world, "n1")["metadata"]["annotations"].get(LOCK) is None


def test_two_jobs_on_one_node_share_the_lock_until_the_last_has_ended(world, space):
    first = space.sbatch("sleep 1", "-w", "n1", "-n1", *MEM)
    out = world.dir / "seen-2"
    second = space.sbatch(witness(world, "k1", out, "sleep 3"), "-w", "n1", "-n1", *MEM)
    world.until("the first is over", lambda: world.job_state(first) == "COMPLETED")
    while world.job_state(second) == "RUNNING":
        locked = tainted(world, "k1")
        if world.job_state(second) == "RUNNING":
            assert locked, world.story()
    world.until("the second is over", lambda: world.job_state(second) == "COMPLETED")
    assert seen(out)[1] == "locked"
    unlocked(world, "k1")


def test_a_placeholder_job_locks_strictly_and_its_pod_is_never_evicted(world, space):
    pod = space.pod("ours", annotations={"required-nodes": "n2"}).running()
    assert lock(world, "k2") == "locked_strict" and tainted(world, "k2")
    out = world.dir / "seen-3"
    job = space.sbatch(witness(world, "k2", out), "-w", "n2", *MEM)  # strict is enough for it
    world.until("the job is over", lambda: world.job_state(job) == "COMPLETED")
    assert seen(out)[1] == "locked_strict"
    assert "ours" in seen(out)[2]
    assert pod.phase() == "Running"
    pod.delete()
    pod.vanishes()
    unlocked(world, "k2")


def test_what_tolerates_stays_in_a_normal_lock_and_blocks_a_strict_one(world, space):
    stays = plain(space, "stays", "k3", tolerations=[{"operator": "Exists"}])
    out = world.dir / "seen-4"
    job = space.sbatch(witness(world, "k3", out, "sleep 20"), "-w", "n3", "-n1", *MEM)
    world.until("the job runs", out.exists)
    assert "stays" in seen(out)[2]
    pod = space.pod("strict", annotations={"required-nodes": "n3"})
    job_id = pod.submitted()
    said = world.until(
        "the stray is named",
        lambda: blocked_by(world, "n3"),
    )
    assert f"{space.ns}/stays" in said and "Slurm does not account for it" in said
    assert lock(world, "k3") == "locked"  # while it waits
    assert pod.node() is None and world.job_state(job_id) == "RUNNING"
    stays.delete(grace=0)
    pod.running()
    assert lock(world, "k3") == "locked_strict"
    space.world.scancel(job)


@contextlib.contextmanager
def stuck_pod(world, space, timeout):
    """Meanwhile a Pod on k1 does not go, and prologs wait for it only so long."""
    stuck = plain(space, "stuck", "k1", "trap '' TERM; while :; do sleep 0.1; done", grace=120)
    script = world.dir / "scripts/prolog.d/50-sunk"
    before = script.read_text()
    try:
        script.write_text(before.replace(" prolog\n", f" prolog --timeout {timeout}\n"))
        yield
    finally:
        script.write_text(before)
        stuck.delete(grace=0)
    stuck.vanishes()
    unlocked(world, "k1")


def blocked_by(world, name):
    return slurmd_pod(world, name)["metadata"].get("annotations", {}).get(PREFIX + "lock-blocked-by", "")


def test_a_person_s_drain_survives_a_prolog_that_fails(world, space):
    with stuck_pod(world, space, "4s"):
        job = space.sbatch("true", "-w", "n1", "--no-requeue", *MEM)
        world.until("the prolog waits", lambda: blocked_by(world, "n1"))
        world.scontrol("update", "NodeName=n1", "State=DRAIN", "Reason=ticket 17")
        world.until("the job never ran", lambda: world.job_state(job) == "CANCELLED")
        assert world.node_reason("n1") == "ticket 17"
        assert "it stays theirs" in (world.dir / "slurm/log/slurmd.n1.log").read_text()
    assert world.node_reason("n1") == "ticket 17"
    world.resume("n1")


def test_a_pod_that_does_not_go_keeps_the_job_out_and_drains_the_node(world, space):
    """Contention is worse than a drained node."""
    with stuck_pod(world, space, "6s"):
        job = space.sbatch("true", "-w", "n1", "--no-requeue", *MEM)
        world.until("the Pod is named", lambda: f"{space.ns}/stuck" in blocked_by(world, "n1"))
        world.until("the node is drained", lambda: world.is_drained("n1"))
        assert world.node_reason("n1") == "prolog pre-hook failed (sunk:verify-undrain)"
        world.until("the job never ran", lambda: world.job_state(job) == "CANCELLED")
        log = (world.dir / "slurm/log/slurmd.n1.log").read_text()
        assert "sunk-hook prolog: node n1 is not free for job" in log
        assert f"{space.ns}/stuck" in world.kubectl("get", "events", "-A", "--field-selector", "reason=LockBlocked")
    world.resume("n1")


def test_a_lock_taken_away_by_hand_is_put_back_and_that_is_said(world, space):
    job = space.sbatch("sleep 30", "-w", "n1", *MEM)
    world.until("it is locked", lambda: lock(world, "k1") == "locked")
    world.kubectl("taint", "node", "k1", LOCK + "-")
    world.until("the taint is back", lambda: tainted(world, "k1") and lock(world, "k1") == "locked")
    world.kubectl("annotate", "node", "k1", LOCK + "-")
    world.until("the annotation is back", lambda: lock(world, "k1") == "locked" and tainted(world, "k1"))
    world.kubectl("annotate", "pod", "-n", "slurm", "n1", LOCK + "=false", "--overwrite")
    world.until("the Pod's is back", lambda: slurmd_pod(world, "n1")["metadata"]["annotations"].get(LOCK) == "locked")
    assert "LockRestored" in world.kubectl("get", "events", "-A")
    world.scancel(job)
    unlocked(world, "k1")


def test_a_killed_daemon_in_the_middle_of_a_lock_loses_nothing(world, space):
    for n, part in enumerate(("operator", "syncer")):
        plain(space, f"slow{n}", "k1", "trap 'sleep 2; exit 0' TERM; sleep 1000 & wait; wait")
        out = world.dir / f"seen-kill-{part}"
        job = space.sbatch(witness(world, "k1", out), "-w", "n1", *MEM)
        world.until("the lock is pending", lambda: lock(world, "k1") == "pending")
        kill(world, part)
        start(world, part)
        world.until("the job is over", lambda j=job: world.job_state(j) == "COMPLETED", 60)
        taints, _, pods = seen(out)
        assert LOCK in taints and pods == ["n1"]
        unlocked(world, "k1")


def test_a_killed_daemon_in_the_middle_of_an_unlock_loses_nothing(world, space):
    for part in ("syncer", "operator"):
        begun = world.dir / f"begun-{part}"
        job = space.sbatch(f"touch {begun}; sleep 1", "-w", "n1", *MEM)
        world.until("it runs", begun.exists)  # its prolog needs nobody any more
        assert lock(world, "k1") == "locked"
        kill(world, part)
        world.until("the job is over", lambda j=job: world.job_state(j) == "COMPLETED")
        start(world, part)
        leads(world, part)
        unlocked(world, "k1")
        out = world.dir / f"seen-after-{part}"
        again = space.sbatch(witness(world, "k1", out), "-w", "n1", *MEM)
        world.until("the next one runs locked", lambda j=again: world.job_state(j) == "COMPLETED", 60)
        assert seen(out)[1] == "locked"
        unlocked(world, "k1")


def test_a_job_cancelled_in_its_prolog_leaves_no_lock(world, space):
    slow = plain(space, "slow", "k2", "trap 'sleep 3; exit 0' TERM; sleep 1000 & wait; wait")
    job = space.sbatch("true", "-w", "n2", *MEM)
    world.until("the lock is pending", lambda: lock(world, "k2") == "pending")
    world.scancel(job)
    world.until("the job is over", lambda: world.job_state(job) == "CANCELLED", 60)
    unlocked(world, "k2")
    slow.vanishes()


def test_drains_and_cordons_cross_over_and_never_echo(world, space):
    def condition(kind):
        return next((c for c in node(world, "k3")["status"]["conditions"] if c["type"] == kind), {})

    world.kubectl("annotate", "node", "k3", "node.coreweave.cloud/cordonReason=loud fan")
    world.kubectl("cordon", "k3")
    world.until("Slurm knows", lambda: world.is_drained("n3") and world.node_reason("n3") == "k8s: cordon: loud fan")
    world.until("the Node knows that Slurm drained it", lambda: condition("SlurmDrain").get("status") == "True")
    assert condition("SlurmCordon")["status"] == "False"
    world.kubectl("uncordon", "k3")
    world.until("the drain is gone", lambda: not world.is_drained("n3"))
    world.scontrol("update", "nodename=n3", "state=drain", "reason=bad disk")
    world.until("a drain that began in Slurm is a cordon", lambda: condition("SlurmCordon").get("status") == "True")
    assert condition("SlurmCordon")["message"] == "bad disk"
    assert node(world, "k3")["metadata"]["annotations"][PREFIX + "drain"] == "bad disk"
    assert not node(world, "k3")["spec"].get("unschedulable")
    world.resume("n3")
    world.until("and over when it is lifted", lambda: condition("SlurmCordon").get("status") == "False")
    labels = node(world, "k3")["metadata"]["labels"]
    assert (labels[PREFIX + "nodeset"], labels[PREFIX + "namespace"], labels[PREFIX + "pod"]) == ("main", "slurm", "n3")
