# SPDX-License-Identifier: GPL-2.0-or-later
"""With accounting: QOS reach the job and preempt both ways; types of GPUs; metrics."""

from lite_server import BUILD
from world import MERGE, STUBBORN, hold

TYPES = (
    "--gpu-types=H100=h100 --gpu-types=A100=a100 --gpu-types=nvidia.com/mig-1g.10gb=1g.10gb"
    " --gpu-resource=nvidia.com/gpu --gpu-resource=nvidia.com/mig-1g.10gb"
)
WORLD = {"options": ("--cpus", "16", "--accounting", "--preempt", "qos", "--conf", "MinJobAge=300", "--scheduler-flags", TYPES), "nodes": 2}


def test_a_job_of_a_better_qos_preempts_a_pod_and_waits_until_it_is_gone(world, space):
    pod = space.pod("low", STUBBORN, cpu="16", grace=2, annotations={"qos": "low", "required-nodes": "n1"}).running()
    assert pod.job()["QOS"] == "low"
    high = space.sbatch("sleep 1000", "--qos=high", "-w", "n1", "-n", "16", "--mem=64", "-J", "train")
    hold(world, pod, "the job runs", lambda: world.job_state(high) == "RUNNING")
    pod.says("Preempted", f"by Slurm job {high}")


def test_a_pod_of_a_better_qos_preempts_a_job(world, space):
    low = space.sbatch("sleep 1000", "--qos=low", "-w", "n1", "-n", "16", "--mem=64")
    world.until("the job runs", lambda: world.job_state(low) == "RUNNING")
    pod = space.pod("high", cpu="16", annotations={"qos": "high", "required-nodes": "n1"}).running()
    assert world.job_state(low) == "PREEMPTED" and pod.job()["QOS"] == "high"


def by_user(world, uid, *command):
    return world.run("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command)


def test_a_cancelled_pods_event_names_who_cancelled_its_job(world, space):
    """Only accounting keeps that, and has it a little later."""
    running = space.pod("running", annotations={"user-id": "1", "group-id": "1"}).running()
    pending = space.pod("pending", annotations={"priority": "0"})
    job = running.job_id()
    by_user(world, 1, "scancel", job)
    world.run("scancel", pending.submitted())
    running.says("Cancelled", f"Slurm job {job} was cancelled by user daemon (uid 1); the Pod is deleted")
    pending.says("Cancelled", "was cancelled by user root (uid 0); the Pod has not run yet and is deleted")
    running.vanishes()
    world.until("its job is cancelled", lambda: world.job_state(job) == "CANCELLED")
    told = world.run(BUILD / "src/cmd/sunk", "explain", "pod", f"{space.ns}/running", ok=None)  # it is gone: no success
    assert f"{job} is cancelled by user daemon (uid 1)" in told


def test_the_exit_code_is_in_sacct(world, space):
    pod = space.pod("three", "exit 3")
    job = pod.job_ends("FAILED")["JobId"]

    def row():
        return world.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "state,exitcode,jobname").strip()

    world.until("sacct has it", lambda: row() == f"FAILED|3:0|{space.ns}.three")


def test_the_type_of_gpus_follows_the_label_that_the_pod_selects(world, space):
    pod = space.pod("typed", gpus=2, nodeSelector={"gpu.nvidia.com/model": "H100"}, annotations={"priority": "0"})
    world.until("Slurm heard of the type", lambda: (pod.job() or {}).get("TresPerNode", "").endswith("gpu:h100:2"))


def test_a_slice_of_a_gpu_is_asked_for_by_its_type(world, space):
    slices = {"cpu": "1", "memory": "64Mi", "nvidia.com/mig-1g.10gb": "2"}
    more = {"resources": {"requests": slices, "limits": {"nvidia.com/mig-1g.10gb": "2"}}}
    there = {"nvidia.com/mig-1g.10gb": "4"}
    r = world.call("PATCH", "/api/v1/nodes/k1/status", {"status": {"capacity": there, "allocatable": there}}, MERGE)
    assert r.status == 200, r.text
    pod = space.pod("slices", more=more, annotations={"priority": "0"})
    world.until("Slurm heard of them", lambda: (pod.job() or {}).get("TresPerNode", "").endswith("gpu:1g.10gb:2"))


def test_metrics_tell_what_was_done(world, space):
    before = world.metrics()
    space.pod("counted", "exit 0").job_ends("COMPLETED")
    after = world.metrics()
    started, wait = (f'sunk_scheduler_hook_requests_total{{hook="{hook}",code="200"}}' for hook in ("started", "wait"))
    assert after[started] > before.get(started, 0)
    assert after.get(wait, 0) == before.get(wait, 0)  # one call lasts from the job's start to the Pod's end
    for name in ("sunk_scheduler_jobs_submitted_total", "sunk_scheduler_pods_bound_total", "sunk_scheduler_bind_seconds_count",
                 "sunk_scheduler_submit_seconds_count"):  # fmt: skip
        assert after[name] == before[name] + 1, name
    pod = space.pod("ended").running()
    states = {k: v for k, v in world.metrics().items() if k.startswith("sunk_scheduler_pods{")}
    assert sum(states.values()) >= 1, states
    world.scancel(pod.job_id())
    pod.vanishes()
    assert world.metrics()["sunk_scheduler_teardown_seconds_count"] == after["sunk_scheduler_teardown_seconds_count"] + 1
