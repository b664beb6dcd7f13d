# SPDX-License-Identifier: GPL-2.0-or-later
"""How Pods and their jobs end each other, in every direction, and that nothing is given away before it is free."""

import time

import pytest
from world import DRAINED, ENDING, KILL_WAIT, STUBBORN, Space, hold

WORLD = {"options": ("--cpus", "16", "--conf", "MinJobAge=300")}


@pytest.fixture(name="slow", scope="module", autouse=True)
def what_takes_its_time(world):
    """Slurm looks at time limits in minutes, and a stray job is not cancelled in haste: this goes on while the other tests run."""
    space = Space(world, "slow")
    space.limited = space.pod("limited", annotations={"timeout": "1", "required-nodes": "n4"}, activeDeadlineSeconds=1000)
    uid = "00000000-dead-beef-0000-000000000000"
    space.orphan = space.sbatch("sleep 1000", "--mem=64", "-w", "n4", "-J", "slow.ghost", "--extra", f"slow/ghost/{uid}")
    space.twin = space.pod("twin", annotations={"required-nodes": "n4"}).running()
    extra = f"slow/twin/{space.twin.uid}"
    space.second = space.sbatch("sleep 1000", "--mem=64", "-w", "n4", "-J", "slow.twin", "--extra", extra)
    yield space
    space.clean()


# ---- the Pod goes, then its job ----


def test_a_pod_deleted_while_pending_takes_its_job_along(world, space):
    pod = space.pod("held", annotations={"priority": "0"})
    job_id = pod.submitted()
    pod.delete()
    world.until("the job is cancelled", lambda: world.job_state(job_id) == "CANCELLED")


def test_a_job_is_never_released_while_its_pod_is_still_terminating(world, space):
    """slurm-bridge #16: double allocation."""
    pod = space.pod("leaves", STUBBORN, cpu="16", grace=2, annotations={"required-nodes": "n1"}).running()
    follower = space.sbatch("sleep 1000", "-w", "n1", "-n", "16", "--mem=64")
    job_id = pod.job_id()
    pod.delete()
    hold(world, pod, "the job ended", lambda: world.job_state(job_id) not in ENDING)
    world.until("the next job runs", lambda: world.job_state(follower) == "RUNNING")
    assert pod.gone()


def test_a_pod_force_deleted_ends_its_job(world, space):
    pod = space.pod("forced").running()
    pod.delete(grace=0)
    world.until("the job is over", lambda: not pod.live_jobs())
    assert pod.jobs()[-1]["JobState"] != "COMPLETED", pod.jobs()  # nobody saw the Pod succeed


# ---- the job goes, then its Pod ----


def test_scancel_never_leaves_the_pod_running(world, space):
    """slurm-bridge #6. And the job stays until the Pod is gone."""
    pod = space.pod("cancelled", STUBBORN, grace=2).running()
    job_id = int(pod.job_id())
    world.scancel(job_id)
    world.until("the job is ending", lambda: world.job_state(job_id) != "RUNNING")
    hold(world, pod, "the job ended", lambda: world.job_state(job_id) not in ENDING)
    pod.vanishes()
    assert world.job_state(job_id) == "CANCELLED"
    assert any("Cancelled" in e or "Terminated" in e for e in pod.events()), pod.events()


def test_scancel_of_a_pending_job_deletes_the_pod(world, space):
    pod = space.pod("pending", annotations={"priority": "0"})
    job_id = pod.submitted()
    world.scancel(job_id)
    pod.vanishes()
    assert any(f"Slurm job {job_id} was cancelled in Slurm" in m for m in pod.events("Cancelled"))
    assert len(pod.jobs()) == 1


# ---- preemption ----


def test_a_job_of_higher_priority_preempts_a_pod_and_waits_until_it_is_gone(world, space):
    pod = space.pod("preempted", STUBBORN, cpu="16", grace=2, annotations={"partition": "low", "required-nodes": "n1"}).running()
    space.sbatch("true", "-p", "high", "-d", f"afterok:{pod.job_id()}", "--mem=64")  # before it in the queue, and not the one
    high = space.sbatch("sleep 1000", "-p", "high", "-w", "n1", "-n", "16", "--mem=64", "-J", "train")
    hold(world, pod, "the job runs", lambda: world.job_state(high) == "RUNNING")
    pod.vanishes()
    assert pod.jobs()[-1]["JobState"] == "PREEMPTED"
    pod.says("Preempted", f"by Slurm job {high} (train of root)")
    assert len(pod.events("Preempted")) == 1, pod.events()


def test_a_pod_of_higher_priority_preempts_a_job(world, space):
    low = space.sbatch("sleep 1000", "-p", "low", "-w", "n1", "-n", "16", "--mem=64")
    world.until("the job runs", lambda: world.job_state(low) == "RUNNING")
    pod = space.pod("important", cpu="16", annotations={"partition": "high", "required-nodes": "n1"})
    pod.running()
    assert world.job_state(low) == "PREEMPTED" and pod.node() == "k1"


def test_a_pod_of_higher_priority_preempts_a_pod(world, space):
    low = space.pod("low", STUBBORN, cpu="16", grace=2, annotations={"partition": "low", "required-nodes": "n1"}).running()
    high = space.pod("high", cpu="16", annotations={"partition": "high", "required-nodes": "n1"})
    hold(world, low, "the better Pod is bound", high.node)
    low.vanishes()
    high.running()


def test_the_gpus_of_a_preempted_pod_that_is_not_ready_are_not_given_away(world, space):
    """slurm-bridge #36: a Pod that was not Ready was kept, and its GPUs handed out again."""
    probe = {"readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}}
    body = space.manifest("unready", STUBBORN, gpus=8, grace=2, annotations={"partition": "low", "required-nodes": "n1"})
    body["spec"]["containers"][0].update(probe)
    pod = space.create(body).running()
    high = space.sbatch("sleep 1000", "-p", "high", "-w", "n1", "--gres=gpu:8", "--mem=64")
    hold(world, pod, "the job has the GPUs", lambda: world.job_state(high) == "RUNNING")


# ---- nodes that fail ----


def test_a_pod_whose_node_failed_in_slurm_says_so_and_goes(world, space):
    pod = space.pod("failed", STUBBORN, cpu="16", grace=2, annotations={"required-nodes": "n2"}).running()
    try:
        world.scontrol("update", "nodename=n2", "state=down", "reason=broken fan")
        world.until("the Pod says that it has no job", lambda: pod.gone() or pod.condition("SlurmJobLive"), 5)
        assert pod.condition("SlurmJobLive")["status"] == "False"
        assert pod.events("NodeFailed"), pod.events()
        pod.vanishes()
    finally:
        world.resume("n2")


def test_killwait_exceeded_drains_the_node_until_the_pod_is_gone_and_no_drain_of_others_is_touched(world, space):
    """slurm-operator #3: the controller undid admins' drains."""
    pods = [space.pod(f"stuck-{n}", annotations={"required-nodes": n}).running() for n in ("n1", "n2")]
    jobs = [int(p.job_id()) for p in pods]
    agent = world.pid("agent")
    world.scontrol("update", "nodename=n2", "state=drain", "reason=broken fan")
    world.halt(agent)  # a kubelet that is away
    try:
        began = time.monotonic()
        world.scancel(*jobs)
        world.until("the node is drained", lambda: world.is_drained("n1"), KILL_WAIT + 10)
        assert world.node_reason("n1") == DRAINED
        assert time.monotonic() - began > KILL_WAIT / 2
        assert pods[0].says("Drained")
        world.until("Slurm killed the jobs", lambda: all(world.job_state(j) not in ENDING for j in jobs), 40)
        assert not any(p.gone() for p in pods)
        world.never("the drain is lifted while the Pod is there", lambda: not world.is_drained("n1"))
    finally:
        world.go_on(agent)
    for pod in pods:
        pod.vanishes()
    world.until("the drain is lifted", lambda: not world.is_drained("n1"))
    assert world.is_drained("n2") and world.node_reason("n2") == "broken fan"
    world.resume("n2")


def test_a_dead_kubelet_holds_the_job_until_the_pod_is_force_deleted(world, space):
    """slurm-bridge #49: Terminating for ever, and the job never ended."""
    pod = space.pod("dead", annotations={"required-nodes": "n1"}).running()
    job_id = pod.job_id()
    agent = world.pid("agent")
    world.halt(agent)
    try:
        pod.delete()
        world.never("the job ends before the Pod", lambda: world.job_state(job_id) != "RUNNING", 3)
        pod.delete(grace=0)
        world.until("the job is over", lambda: world.job_state(job_id) not in ENDING)
    finally:
        world.go_on(agent)


# ---- people who change things ----


def test_a_job_requeued_by_an_admin_does_not_leave_its_pod_without_one(world, space):
    pod = space.pod("requeued", STUBBORN, grace=2).running()
    job_id = pod.job_id()
    world.scontrol("update", f"jobid={job_id}", "requeue=1")
    world.scontrol("requeue", job_id)
    pod.vanishes()
    assert pod.events("Requeued"), pod.events()
    world.until("no job is left", lambda: not pod.live_jobs(), 40)


def test_a_suspended_job_does_not_leave_its_pod_on_cpus_of_others(world, space):
    pod = space.pod("suspended").running()
    world.scontrol("suspend", pod.job_id())
    pod.vanishes()
    assert pod.events("Suspended"), pod.events()
    world.until("no job is left", lambda: not pod.live_jobs(), 40)
    world.until("no node is held", lambda: not any(world.is_drained(f"n{i}") for i in range(1, 5)))


def test_a_job_id_that_someone_changed_is_put_right(world, space):
    pending, running = space.pod("pending", annotations={"priority": "0"}), space.pod("running").running()
    for pod in (pending, running):
        job_id = pod.submitted()
        for value in ("999999", None, "nonsense"):
            pod.annotate(job_id=value)
            world.until("it is as it was", lambda p=pod, j=job_id: p.job_id() == str(j))
        assert [int(j["JobId"]) for j in pod.live_jobs()] == [job_id]
    assert running.phase() == "Running"


def test_a_pod_recreated_under_its_name_gets_a_job_of_its_own(world, space):
    first = space.pod("again", annotations={"priority": "0"})
    old = first.submitted()
    first.delete()
    second = space.pod("again").running()
    assert second.uid != first.uid and int(second.job_id()) != old
    world.until("the old job is gone", lambda: not first.live_jobs())
    second.delete()
    second.vanishes()
    third = space.pod("again").running()
    world.until("only one job is left", lambda: not second.live_jobs() and len(third.live_jobs()) == 1)
    assert third.phase() == "Running"


# ---- others are not held up ----


def test_waiting_pods_starve_nobody(world, space):
    """slurm-bridge #45."""
    for i in range(30):
        space.pod(f"waits{i}", cpu="16", gpus=8, annotations={"required-nodes": "n1", "partition": "low"})
    for i in range(10):
        space.pod(f"never{i}", nodeSelector={"no": "where"})
    pod = space.pod("quick", "exit 0", annotations={"required-nodes": "n2"})
    pod.job_ends("COMPLETED")


def test_a_change_in_slurm_wakes_waiting_pods(world, space):
    """slurm-bridge #51."""
    world.scontrol("update", "nodename=n1", "state=drain", "reason=later")
    try:
        pod = space.pod("waits", annotations={"required-nodes": "n1"})
        pod.submitted()
        world.until("it waits", lambda: pod.unscheduled()[1])
    finally:
        world.resume("n1")
    pod.running(deadline=15)


def test_a_node_without_slurmd_is_no_place_for_pods(world, space):
    """slurm-bridge #52: control-plane nodes. Nothing about them reaches Slurm."""
    control = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "control"}, "spec": {}}
    assert world.call("POST", "/api/v1/nodes", control).status == 201
    try:
        pod = space.pod("elsewhere").running()
        assert pod.job()["ExcNodeList"] == "(null)" and pod.node() != "control"
    finally:
        world.call("DELETE", "/api/v1/nodes/control")


def test_duplicate_conditions_stop_nobody(world, space):
    """slurm-operator #146."""
    pod = space.pod("twice", annotations={"priority": "0"})
    pod.submitted()
    double = [{"type": "PodScheduled", "status": "False", "reason": "x"}, {"type": "PodScheduled", "status": "True", "reason": "y"}]
    world.call("PATCH", pod.path + "/status", {"status": {"conditions": double}}, "application/merge-patch+json")
    world.scontrol("release", pod.job_id())
    pod.running()


def test_gpu_pods_that_share_a_node_never_share_a_gpu(world, space):
    """SUNK's support pages: `exclusive: ok` on GPU Pods."""
    pods = [space.pod(f"gpu{i}", gpus=8, annotations={"exclusive": "ok", "required-nodes": "n1"}) for i in range(2)]
    world.until("one runs", lambda: any(p.phase() == "Running" for p in pods))
    world.until("one waits", lambda: any("Resources" in p.unscheduled()[1] for p in pods))
    assert sum(p.node() is not None for p in pods) == 1


# ---- what took its time ----


def test_an_orphan_is_cancelled(world, slow):
    """A job whose Pod was never there: the rest of a crash. Not at once: our view may be the older one."""
    world.until("it is cancelled", lambda: world.job_state(slow.orphan) == "CANCELLED", 60)
    assert world.metrics()["sunk_scheduler_orphans_cancelled_total"] >= 1


def test_a_second_job_with_the_pods_name_in_it_is_cancelled(world, slow):
    """At most one live job per Pod, wherever it came from."""
    world.until("the other one is cancelled", lambda: world.job_state(slow.second) == "CANCELLED", 60)
    assert slow.twin.phase() == "Running" and slow.twin.job()["JobState"] == "RUNNING"


def test_a_time_limit_ends_the_pod(world, slow):
    slow.limited.vanishes(120)
    assert slow.limited.job_ends("TIMEOUT")["TimeLimit"] == "00:01:00"
    assert any("time limit" in m for m in slow.limited.events("TimedOut")), slow.limited.events()
