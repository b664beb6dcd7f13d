# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of the Pod Scheduler that change what becomes of Pods. One scheduler after the other, in the same small cluster."""

import os
import ssl
import subprocess
import urllib.request

import pytest
from world import STUBBORN, Space

LEASE = "--lease-duration=3s --renew-deadline=2s --retry-period=500ms"
ANY_SLURM = pytest.mark.any_slurm("a setting about Pods")
WORLD = {"options": ("--cpus", "16", "--conf", "MinJobAge=300", "--scheduler-flags", LEASE), "nodes": 1}
GUARANTEED = {"resources": {"requests": {"cpu": "2", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "64Mi"}}}


@pytest.fixture(name="settings")
def other_settings(world):
    """Starts the scheduler anew with more flags, and waits until it leads; as it was before afterwards."""

    def leads():
        try:
            return world.metrics().get("sunk_leader")
        except OSError:
            return False

    def restart(*flags):
        world.restart_scheduler(*flags)
        world.until("the scheduler leads", leads)

    yield restart
    restart()


@ANY_SLURM
def test_overhead_of_a_pod_is_part_of_its_job(world, space):
    made = world.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"}, "handler": "none",
        "overhead": {"podFixed": {"cpu": "1500m", "memory": "100Mi"}}})  # fmt: skip
    assert made.status in (201, 404, 409), made.text  # a real API server wants to know it
    pod = space.pod("heavy", cpu="2", memory="50Mi", overhead={"cpu": "1500m", "memory": "100Mi"},
                    **({"runtimeClassName": "heavy"} if made.status != 404 else {}))  # fmt: skip
    job = world.job(pod.submitted())
    assert (job["NumCPUs"], job["MinMemoryNode"]) == ("4", "150M"), job  # 3.5 CPUs


@ANY_SLURM
def test_pods_of_other_namespaces_are_left_alone_in_namespace_scope(world, space, settings):
    other = Space(world, "elsewhere")
    try:
        settings("--scope=namespace", f"--namespaces=unused,{space.ns}")
        theirs, ours = other.pod("theirs"), space.pod("ours").running()
        assert theirs.jobs() == [] and theirs.unscheduled() == ("", "") and theirs.events() == []
        settings("--scope=cluster")
        theirs.running()
        settings(f"--namespaces={space.ns}")  # a running Pod that is not ours any more stays as it is, with its job
        space.pod("again", "exit 0").job_ends("COMPLETED")
        assert theirs.phase() == "Running" and theirs.job()["JobState"] == "RUNNING"
        assert ours.phase() == "Running"
    finally:
        settings()
        other.clean()


@ANY_SLURM
def test_static_cpu_is_only_warned_of_when_allowed(world, space, settings):
    refused = space.pod("refused", more=GUARANTEED)
    assert "pin them" in refused.says("ValidationFailed")
    settings("--allow-static-cpu")
    refused.running()  # looked at again by the new one
    allowed = space.pod("allowed", more=GUARANTEED).running()
    assert "pin them" in allowed.says("ValidationWarning") and not allowed.events("ValidationFailed")


def test_the_distance_to_killwait_is_a_setting(world, space, settings):
    settings("--termination-offset=7s")  # KillWait is 8
    late = space.pod("late", grace=1)
    assert "must be less than Slurm KillWait - 7s" in late.says("ValidationFailed")
    space.pod("fits", "exit 0", grace=0).job_ends("COMPLETED")


def test_a_killwait_that_is_not_slurms_is_warned_of_and_counts(world, space, settings):
    """A person's number wins, but they hear of the other."""
    settings("--slurm-kill-wait=20s")  # KillWait is 8
    world.until("it says so", lambda: "--slurm-kill-wait is 20 s, but Slurm's KillWait is 8 s" in world.tail("log/scheduler.log"))
    space.pod("fits", "exit 0", grace=14).job_ends("COMPLETED")
    assert "KillWait is 20s" in space.pod("late", grace=15).says("ValidationFailed")


def test_a_scheduler_with_tls_is_called_by_its_placeholders(world, space, settings):
    pki = world.dir / "pki"
    pki.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key", "-out",
                    "cert", "-subj", "/CN=hook", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"],
                   cwd=pki, check=True, capture_output=True)  # fmt: skip
    os.chmod(pki, 0o755)
    os.chmod(pki / "cert", 0o644)  # any user's job reads it
    settings("--hook-cert", pki / "cert", "--hook-key", pki / "key", "--hook-ca-file", pki / "cert")
    url = f"https://{world.hook_address}/healthz"
    context = ssl.create_default_context(cafile=str(pki / "cert"))

    def answers():
        try:
            with urllib.request.urlopen(url, context=context, timeout=5) as r:
                return r.status == 200
        except OSError:
            return False

    world.until("it speaks https", answers)
    pod = space.pod("private", STUBBORN, grace=2, annotations={"user-id": "65534", "group-id": "65534"}).running()
    job = pod.job_id()
    world.until("the placeholder told that it started, and waits", lambda: world.metrics().get("sunk_scheduler_hook_parked"))
    world.scancel(job)
    pod.vanishes()
    assert pod.job_ends("CANCELLED")
    calls = {k: v for k, v in world.metrics().items() if "hook_requests" in k}
    assert calls.get('sunk_scheduler_hook_requests_total{hook="started",code="200"}'), calls  # parked until the Pod was gone
    assert calls.get('sunk_scheduler_hook_requests_total{hook="terminate",code="200"}') == 1, calls
