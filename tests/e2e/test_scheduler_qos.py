# SPDX-License-Identifier: GPL-2.0-or-later
"""With accounting: QOS reach the job and preempt both ways; types of GPUs; metrics."""

from world import STUBBORN, hold

TYPES = "--gpu-types=H100=h100 --gpu-types=A100=a100"
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


def test_the_exit_code_is_in_sacct(world, space):
    pod = space.pod("three", "exit 3")
    job = pod.job_ends("FAILED")["JobId"]

    def row():
        return world.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "state,exitcode,jobname").strip()

    world.until("sacct has it", lambda: row() == f"FAILED|3:0|{space.ns}.three")


def test_the_type_of_gpus_follows_the_label_that_the_pod_selects(world, space):
    pod = space.pod("typed", gpus=2, nodeSelector={"gpu.nvidia.com/model": "H100"}, annotations={"priority": "0"})
    world.until("Slurm heard of the type", lambda: (pod.job() or {}).get("TresPerNode", "").endswith("gpu:h100:2"))


def test_metrics_tell_what_was_done(world, space):
    before = world.metrics()
    space.pod("counted", "exit 0").job_ends("COMPLETED")
    after = world.metrics()
    for name in ("sunk_scheduler_jobs_submitted_total", "sunk_scheduler_pods_bound_total", "sunk_scheduler_bind_seconds_count",
                 "sunk_scheduler_submit_seconds_count"):  # fmt: skip
        assert after[name] == before[name] + 1, name
