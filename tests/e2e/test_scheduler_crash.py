# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler or slurmctld is killed, stalls, comes back or forgets: one job per Pod, and both sides agree again."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from world import DRAINED, STUBBORN, hold

# who is killed keeps its lease: others wait for it to run out, here not for long
LEASE = "--lease-duration=3s --renew-deadline=2s --retry-period=500ms"
WORLD = {"options": ("--cpus", "16", "--conf", "MinJobAge=300", "--conf", "MessageTimeout=10", "--conf", "SlurmdTimeout=10", "--scheduler-flags", LEASE)}


ON_COMMAND = pytest.mark.lite_only("a real server does not fail on command; between.py does for it, see test_faults.py")


@pytest.fixture(autouse=True)
def no_fault_stays(world):
    yield
    world.fault("--clear")


def one_job(world, pod, job_id=None):
    """It has exactly one, and never had another."""
    jobs = [int(j["JobId"]) for j in pod.jobs()]
    assert len(jobs) == 1 and (job_id is None or jobs == [job_id]), f"{jobs}, wanted {job_id}\n{world.story()}"
    return jobs[0]


# ---- the scheduler dies ----


@ON_COMMAND
def test_killed_between_submit_and_annotate_the_same_job_is_adopted(world, space):
    """The API takes no change of Pods: the job is there, the Pod does not know. fluence #68: ids were only in memory."""
    world.fault("error", "--code", "503", "--verb", "patch", "--resource", "pods")
    pods = [space.pod(f"torn{i}", "sleep 2") for i in range(3)]
    world.until("they have jobs", lambda: all(p.jobs() for p in pods))
    ids = [one_job(world, p) for p in pods]
    assert all(p.job_id() is None for p in pods)
    world.kill_scheduler()
    world.fault("--clear")
    world.start_scheduler()
    for pod, job_id in zip(pods, ids):
        pod.running()
        assert pod.job_id() == str(job_id)
        one_job(world, pod, job_id)
    for pod in pods:
        pod.job_ends("COMPLETED")


def test_killed_while_slurm_takes_the_job_no_second_one_is_made(world, space):
    """slurmctld holds the submission in its hands when we die; it goes on later."""
    slurmctld = int(world.run(world.dev / "slurm", "pid", world.dir / "slurm", "slurmctld"))
    world.halt(slurmctld)
    try:
        pod = space.pod("lost")
        world.until("it is being submitted", lambda: submits_under_way(world) or None, 5)
        world.kill_scheduler()
    finally:
        world.go_on(slurmctld)
    world.start_scheduler()
    pod.running()
    one_job(world, pod)


def submits_under_way(world):
    """Connections to slurmctld that wait for an answer."""
    port = next(line.split("=")[1] for line in (world.dir / "slurm/etc/slurm.conf").read_text().splitlines() if line.startswith("SlurmctldPort="))
    out = world.run("ss", "-Htn", "dst", f"127.0.0.1:{port.strip()}")
    return len([line for line in out.splitlines() if line.startswith("ESTAB")]) >= 1


@ON_COMMAND
def test_a_lost_answer_of_the_api_makes_no_second_job_and_no_second_binding(world, space):
    """The annotation and the binding happen, but we are not told."""
    world.fault("lose-answer", "--verb", "patch", "--resource", "pods", "--share", "0.5", "--seed", "3")
    world.fault("lose-answer", "--verb", "create", "--resource", "pods/binding", "--share", "0.5", "--seed", "5")
    pods = [space.pod(f"torn{i}", "sleep 1") for i in range(8)]
    for pod in pods:
        pod.job_ends("COMPLETED", 60)
        one_job(world, pod)


@ON_COMMAND
@pytest.mark.parametrize("kind", [("error", "--code", "500"), ("error", "--code", "409"), ("error", "--code", "429")])
def test_an_api_that_fails_often_only_makes_it_slower(world, space, kind):
    pods = [space.pod(f"slow{i}", "sleep 1") for i in range(5)]
    world.fault(*kind, "--share", "0.4", "--seed", "11", "--verb", "patch", "--resource", "pods")
    for pod in pods:
        pod.job_ends("COMPLETED", 60)
        one_job(world, pod)


def test_down_while_the_job_starts_it_binds_afterwards(world, space):
    pod = space.pod("held", "sleep 2", annotations={"priority": "0"})
    job_id = pod.submitted()
    world.kill_scheduler()
    world.scontrol("release", job_id)
    world.until("the script has started", lambda: ": started" in world.job(job_id)["Extra"])
    world.never("bound by nobody", pod.node, 0.5)
    world.start_scheduler()
    pod.job_ends("COMPLETED")
    one_job(world, pod, job_id)


def test_down_while_a_pending_job_is_cancelled_the_pod_goes_afterwards(world, space):
    pod = space.pod("held", annotations={"priority": "0"})
    job_id = pod.submitted()
    world.kill_scheduler()
    world.scancel(job_id)
    world.start_scheduler()
    pod.vanishes()


def test_down_while_a_running_job_is_cancelled_the_job_waits_and_the_pod_goes(world, space):
    """The placeholder asks again until someone answers."""
    pod = space.pod("cancelled").running()
    job_id = int(pod.job_id())
    world.kill_scheduler()
    world.scancel(job_id)
    world.never("the job ends without the Pod", lambda: world.job_state(job_id) not in ("RUNNING", "COMPLETING"), 2)
    world.start_scheduler()
    pod.vanishes()
    world.until("the job is over", lambda: world.job_state(job_id) == "CANCELLED")


def test_down_while_pods_are_deleted_and_finish_their_jobs_end(world, space):
    pending, running, done = space.pod("pending", annotations={"priority": "0"}), space.pod("running").running(), space.pod("done", "sleep 1.5; exit 5").running()
    pending.submitted()
    world.kill_scheduler()
    pending.delete()
    running.delete()
    world.until("both are gone and one is over", lambda: pending.gone() and running.gone() and done.phase() == "Failed")
    world.start_scheduler()
    for pod in (pending, running, done):
        world.until("its job is over", lambda p=pod: not p.live_jobs(), 60)
    assert done.jobs()[0]["ExitCode"] == "5:0"


def test_restarts_at_any_moment_leave_one_job_for_each_pod(world, space):
    pods = []
    for round_ in range(4):
        pods += [space.pod(f"p{round_}-{i}", "sleep 1") for i in range(5)]
        world.restart_scheduler(how=signal.SIGTERM if round_ % 2 else signal.SIGKILL)
    for pod in pods:
        pod.job_ends("COMPLETED", 60)
        one_job(world, pod)


def test_told_to_end_it_ends_at_once_and_cleanly(world, space):
    pod = space.pod("parked").running()  # its placeholder is parked at the hook
    pid = world.pid("scheduler")
    os.kill(pid, signal.SIGTERM)
    world.until("it is gone", lambda: not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read().split(")")[1], 5)
    assert "ended" in world.tail("log/scheduler.log", 3)
    world.start_scheduler()
    world.scancel(pod.job_id())
    pod.vanishes()


def test_resubmit_instead_of_delete_when_asked_for(world, space):
    world.restart_scheduler("--on-job-cancel=resubmit")
    try:
        pod = space.pod("stays", annotations={"priority": "0"})
        first = pod.submitted()
        world.scancel(first)
        world.until("it has another job", lambda: pod.job_id() not in (None, str(first)))
        assert "submitted again" in pod.says("Cancelled")
        assert len(pod.live_jobs()) == 1
    finally:
        world.restart_scheduler()


# ---- slurmd dies ----


def slurmd_of(world, node):
    """Its pid and that of what would start it again."""
    conf = str(world.dir / "slurm/etc/slurm.conf").encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if words[0].endswith(b"slurmd") and conf in words and words[words.index(b"-N") + 1] == node.encode():
            return int(path.parent.name), parent
    raise AssertionError(f"no slurmd of {node}")


def test_a_pod_whose_slurmd_died_goes_before_anything_else_comes(world, space):
    """Slurm gives the node up: the Pod has no allocation any more. When slurmd is back, the node is still held for it."""
    pod = space.pod("orphaned", STUBBORN, cpu="16", grace=2, annotations={"required-nodes": "n3"}).running()
    follower = space.sbatch("sleep 1000", "-w", "n3", "-n", "16", "--mem=64")
    pid, shim = slurmd_of(world, "n3")
    world.halt(shim)
    try:
        os.kill(pid, signal.SIGKILL)
        world.until("the Pod says that it has no job", lambda: pod.condition("SlurmJobLive"), 60)
    finally:
        world.go_on(shim)
    hold(world, pod, "the next job runs", lambda: world.job_state(follower) == "RUNNING", 60)
    assert pod.events("NodeFailed"), pod.events()
    assert not world.is_drained("n3")


def test_a_node_taken_down_by_an_admin_keeps_his_reason_and_is_held_when_it_is_back(world, space):
    pod = space.pod("stays", annotations={"required-nodes": "n3"}).running()
    world.launches_are_over()
    agent, slurmd = world.pid("agent"), slurmd_of(world, "n3")[0]
    world.halt(agent)  # the Pod cannot go
    world.halt(slurmd)  # and the node cannot come back by itself
    try:
        world.scontrol("update", "nodename=n3", "state=down", "reason=broken fan")
        world.until("the Pod says that it has no job", lambda: pod.condition("SlurmJobLive"))
        assert pod.condition("SlurmJobLive")["status"] == "False"

        def overwritten():  # Slurm itself may take the node back, by an answer of slurmd's that was on its way
            node = world.node("n3")
            return "DOWN" in node["State"] and not node["Reason"].startswith("broken fan")

        world.never("his reason is overwritten", overwritten)
        world.go_on(slurmd)
        world.scontrol("update", "nodename=n3", "state=resume", ok=None)  # unless slurmd was faster
        world.until("the node is held", lambda: world.is_drained("n3") and world.node_reason("n3") == DRAINED)
    finally:
        world.go_on(slurmd)
        world.go_on(agent)
    pod.vanishes()
    world.until("the drain is lifted", lambda: not world.is_drained("n3"))


# ---- slurmctld dies ----


def test_a_restart_of_slurmctld_costs_no_pod(world, space):
    """slurm-operator #239 and #79: wedged for an hour; an answer that did not come was taken for "gone"."""
    running, pending = space.pod("running").running(), space.pod("pending", annotations={"priority": "0"})
    ids = [pending.submitted(), running.submitted()]
    world.slurm_part("end", "slurmctld")
    new = space.pod("new", "exit 0")
    world.never("a Pod suffers", lambda: running.phase() != "Running" or pending.gone() or new.gone(), 3)
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers)
    new.job_ends("COMPLETED", 60)
    assert [pending.submitted(), running.submitted()] == ids
    assert running.phase() == "Running"
    world.scontrol("release", ids[0])
    pending.running()
    world.scancel(ids[1])
    running.vanishes()


def test_a_node_deleted_from_slurm_costs_no_pod_at_the_next_restart(world, space):
    """slurm-bridge #43: it was named in the jobs; slurmctld killed them all, and then their healthy Pods."""
    world.change_node("k4", spec={"unschedulable": True})
    filler = space.sbatch("sleep 1000", "-w", "n1", "-n", "16", "--mem=64")
    world.until("the node is full", lambda: world.job_state(filler) == "RUNNING")
    pending = space.pod("pending", cpu="16", annotations={"required-nodes": "n1"})
    running = space.pod("running").running()
    job_id = pending.submitted()
    world.until("it is excluded", lambda: world.job(job_id)["ExcNodeList"] == "n[2-4]")
    assert world.call("DELETE", "/api/v1/namespaces/slurm/pods/n4").status in (200, 202)
    world.until("slurmd is gone", lambda: world.call("GET", "/api/v1/namespaces/slurm/pods/n4").status == 404)
    world.until("Slurm lets the node go", lambda: "n4" not in world.scontrol("delete", "nodename=n4", ok=None) + world.scontrol("show", "nodes", ok=None), 40)
    world.slurm_part("end", "slurmctld")
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers)
    world.until("the job is there", lambda: world.job_state(job_id) == "PENDING")
    world.scancel(filler)
    pending.running(60)
    assert running.phase() == "Running" and len(running.jobs()) == 1
    assert len(pending.live_jobs()) == 1
    world.change_node("k4", spec={"unschedulable": None})


def test_a_slurmctld_that_forgot_everything_costs_no_waiting_pod_and_leaves_none_without_a_job(world, space):
    """Its state is lost; job ids begin at 1 again, and mean others."""
    pending, running = space.pod("pending", annotations={"priority": "0"}), space.pod("running").running()
    pending.submitted()
    world.slurm_part("end", "slurmctld")
    shutil.rmtree(world.dir / "slurm/state")
    (world.dir / "slurm/state").mkdir()
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers)
    for name in ("n1", "n2", "n3"):  # dynamic nodes register when they start
        world.call("DELETE", f"/api/v1/namespaces/slurm/pods/{name}")
    world.until("slurmds are gone", lambda: "n1" not in world.kubectl("get", "pods", "-n", "slurm", ok=None))
    world.kubectl("apply", "-f", world.dir / "slurmd-pods.yaml")
    world.until("the nodes are back", lambda: len(world.run("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N", ok=None).split()) >= 3, 60)
    running.vanishes(60)
    assert running.events("JobLost") or running.events("NodeFailed"), running.events()
    world.until("the waiting one has a job again", lambda: len(pending.live_jobs()) == 1 and pending.job_id() == pending.live_jobs()[0]["JobId"], 60)
    assert space.pod("new", "exit 0").job_ends("COMPLETED", 60)
