# SPDX-License-Identifier: GPL-2.0-or-later
"""The scheduler's main ways with syncer and operator beside it: every placeholder's prolog takes a strict lock first, drains go both
ways, and nobody undoes what another did. Last, all three in one process."""

import pytest
from world import DRAINED, ENDING, KILL_WAIT, PREFIX, STUBBORN, hold

LEASE = "--lease-duration=3s --renew-deadline=2s --retry-period=500ms"
WORLD = {
    "options": ("--parts", "scheduler,syncer,operator", "--cpus", "16", "--conf", "MinJobAge=300", "--scheduler-flags", LEASE),
    "nodes": 2,
}
LOCK = PREFIX + "lock"
PARTS = ("scheduler", "syncer", "operator")


def lock(world, node):
    return world.call("GET", f"/api/v1/nodes/{node}").json["metadata"].get("annotations", {}).get(LOCK)


def unlocked(world, node):
    world.until(f"{node} is unlocked", lambda: not lock(world, node))


def test_a_pod_runs_under_a_strict_lock_and_ends_with_its_exit_code(world, space):
    pod = space.pod("runs", "while [ ! -e $DONE ]; do sleep 0.05; done; exit 3", annotations={"required-nodes": "n1"},
                    more={"env": [{"name": "DONE", "value": str(world.dir / "done")}]}).running()  # fmt: skip
    assert lock(world, "k1") == "locked_strict"
    (world.dir / "done").touch()
    assert pod.job_ends("FAILED")["ExitCode"] == "3:0"
    unlocked(world, "k1")


def test_a_deleted_pod_ends_its_job_and_then_the_lock(world, space):
    pod = space.pod("deleted", STUBBORN, grace=2, annotations={"required-nodes": "n1"}).running()
    job = pod.job_id()
    pod.delete()
    hold(world, pod, "the job ended", lambda: world.job_state(job) not in ENDING)
    unlocked(world, "k1")
    assert not world.is_drained("n1")


def test_scancel_deletes_the_pod_and_says_so(world, space):
    pod = space.pod("cancelled", STUBBORN, grace=2, annotations={"required-nodes": "n1"}).running()
    job = pod.job_id()
    world.scancel(job)
    hold(world, pod, "the job ended", lambda: world.job_state(job) not in ENDING)
    pod.vanishes()
    assert len(pod.events("Cancelled")) == 1, pod.events()
    assert not world.is_drained("n1")


def test_a_job_preempts_a_pod_and_a_pod_a_job(world, space):
    pod = space.pod("low", STUBBORN, cpu="16", grace=2, annotations={"partition": "low", "required-nodes": "n1"}).running()
    high = space.sbatch("sleep 1000", "-p", "high", "-w", "n1", "-n", "16", "--mem=64", "-J", "train")
    hold(world, pod, "the job runs", lambda: world.job_state(high) == "RUNNING")
    pod.says("Preempted", f"by Slurm job {high} (train of root)")
    assert len(pod.events("Preempted")) == 1, pod.events()
    low = space.sbatch("sleep 1000", "-p", "low", "-w", "n2", "-n", "16", "--mem=64")
    world.until("the job runs", lambda: world.job_state(low) == "RUNNING")
    space.pod("high", cpu="16", annotations={"partition": "high", "required-nodes": "n2"}).running()
    assert world.job_state(low) == "PREEMPTED"


def test_a_pod_that_does_not_go_holds_its_node_and_the_syncer_leaves_the_drain_alone(world, space):
    pod = space.pod("stuck", annotations={"required-nodes": "n1"}).running()
    agent = world.pid("agent")
    world.halt(agent)
    try:
        world.scancel(pod.job_id())
        world.until("the node is drained", lambda: world.node_reason("n1") == DRAINED, KILL_WAIT + 10)
        assert pod.says("Drained")
        held = ("pgrep", "-f", f"{world.dir}/bin/sunk-hook epilog")
        world.until("Slurm killed the script, and the epilog holds the node", lambda: world.run(*held, ok=None), KILL_WAIT + 20)
        world.never("the drain changes, or the node is let go", lambda: world.node_reason("n1") != DRAINED or not pod.live_jobs())
    finally:
        world.go_on(agent)
    pod.vanishes()
    world.until("the drain is lifted", lambda: not world.is_drained("n1"))
    unlocked(world, "k1")


@pytest.fixture(name="all_in_one")
def one_process(world):
    """`sunk all` with the flags of the three; a flag that scheduler and syncer share gets the part's name."""
    words = {part: world.kill_part(part) for part in PARTS}
    sunk = words["scheduler"][0]
    flags, seen = [], set()
    for part in PARTS:
        rest = [w for word in words[part][2:] for w in (word.split("=", 1) if word.startswith("--") else [word])]
        for flag, value in zip(rest[::2], rest[1::2]):
            if flag in ("--hook-listen", "--hook-cert", "--hook-key", "--release", "--poll-min", "--poll-max", "--nodeset-namespace"):
                flag = f"--{part}-{flag[2:]}"
            elif flag in seen:
                continue
            elif flag == "--kubeconfig":  # one who may do all that the three may
                value = world.dir / "kube/kubeconfig"
            seen.add(flag)
            flags += [flag, value]
    world.start_part("all", sunk, "all", *flags, "--scheduler-name", world.scheduler_name)
    yield
    world.kill_part("all")
    for part in PARTS:
        world.start_part(part)


def test_all_three_run_in_one_process(world, space, all_in_one):
    pod = space.pod("runs", STUBBORN, grace=2, annotations={"required-nodes": "n1"}).running()
    assert lock(world, "k1") == "locked_strict"
    plain = space.sbatch("sleep 1000", "-w", "n2", "-n", "1", "--mem=64")
    world.until("a plain job's prolog takes its lock", lambda: lock(world, "k2") == "locked")
    assert world.job_state(plain) == "RUNNING"
    world.change_node("k2", spec={"unschedulable": True})
    world.until("the cordon crosses over", lambda: world.node_reason("n2").startswith("k8s: cordon"))
    world.change_node("k2", spec={"unschedulable": None})
    world.until("and back", lambda: not world.is_drained("n2"))
    world.scancel(pod.job_id(), plain)
    pod.vanishes()
    unlocked(world, "k1")
    unlocked(world, "k2")
    metrics = world.metrics()
    assert any(k.startswith("sunk_scheduler_") for k in metrics) and any(k.startswith("slurm_") for k in metrics)
