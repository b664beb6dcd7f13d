# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients as people have them, against Kubernetes and the scheduler: Debian's Python client, and kubectl of two versions."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from world import PREFIX

WORLD = {"options": ("--cpus", "4"), "nodes": 2}


def kubectls():
    """Debian's, and the one of the real control plane (four minor versions apart)."""
    found = [Path("/usr/bin/kubectl"), Path(os.environ.get("KUBE_BIN_DIR", "/nonexistent")) / "kubectl"]
    return [p for p in found if p.exists()]


@pytest.fixture(params=kubectls(), ids=lambda p: p.parent.name)
def kubectl(request, world):
    def run(*args, stdin=None, ok=True):
        got = subprocess.run([request.param, *args], input=stdin, env=world.env, capture_output=True, text=True, timeout=60, check=False)
        assert not ok or got.returncode == 0, f"{args}: {got.stdout}{got.stderr}"
        return got.stdout

    return run


@pytest.mark.real_only  # which brings its own kubectl
def test_there_are_two_versions_on_a_real_control_plane(world):
    versions = {json.loads(world.run(p, "version", "--client", "-o", "json"))["clientVersion"]["gitVersion"] for p in kubectls()}
    assert len(versions) == 2, versions


def test_kubectl_does_a_days_work(world, space, kubectl):
    ns = ("-n", space.ns)
    body = space.manifest("day", "sleep 1000")
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    kubectl("wait", *ns, "--for=condition=Ready", "pod/day", "--timeout=30s")
    pod = json.loads(kubectl("get", *ns, "pod", "day", "-o", "json"))
    job_id = pod["metadata"]["annotations"][PREFIX + "job-id"]
    assert world.job_state(job_id) == "RUNNING"
    assert pod["spec"]["nodeName"] in kubectl("get", *ns, "pods", "-o", "wide")
    assert "day" in kubectl("describe", *ns, "pod", "day")
    body["metadata"]["labels"] = {"tier": "day"}
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    kubectl("label", *ns, "pod", "day", "tier=night", "--overwrite")
    kubectl("annotate", *ns, "pod", "day", "note=x")
    assert kubectl("get", *ns, "pods", "-l", "tier=night", "-o", "name") == "pod/day\n"
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(body))
    assert kubectl("auth", "can-i", "delete", "pods", *ns) == "yes\n"
    kubectl("explain", "pod.spec.schedulingGates")
    kubectl("delete", *ns, "pod", "day", "--timeout=30s")
    world.until("the job is over", lambda: world.job_state(job_id) not in ("RUNNING", "COMPLETING"))


def test_the_python_client_makes_watches_changes_and_evicts_a_pod(world, space):
    client = pytest.importorskip("kubernetes.client")
    config, watch = pytest.importorskip("kubernetes.config"), pytest.importorskip("kubernetes.watch")
    api_client = config.new_client_from_config(str(world.dir / "kube/kubeconfig"))
    core = client.CoreV1Api(api_client)
    made = core.create_namespaced_pod(space.ns, space.manifest("snake", "sleep 1000"))
    assert made.metadata.uid and made.status.phase == "Pending"
    phases = []
    follow = watch.Watch()
    for event in follow.stream(core.list_namespaced_pod, space.ns, resource_version="0", timeout_seconds=30):
        phases.append(event["object"].status.phase)
        if phases[-1] == "Running":
            follow.stop()
    assert phases[-1] == "Running", phases
    pod = core.patch_namespaced_pod("snake", space.ns, {"metadata": {"labels": {"tier": "python"}}})
    assert pod.metadata.labels == {"tier": "python"}
    job_id = pod.metadata.annotations[PREFIX + "job-id"]
    assert world.job_state(job_id) == "RUNNING"
    assert [n.metadata.name for n in core.list_node(label_selector="kubernetes.io/hostname=k1").items] == ["k1"]
    with pytest.raises(client.exceptions.ApiException) as refused:
        core.read_namespaced_pod("nobody", space.ns)
    assert refused.value.status == 404
    core.create_namespaced_pod_eviction("snake", space.ns, client.V1Eviction(metadata=client.V1ObjectMeta(name="snake")))
    world.until("the job is over", lambda: world.job_state(job_id) not in ("RUNNING", "COMPLETING"))

