# SPDX-License-Identifier: GPL-2.0-or-later
"""Pods with claims on real Slurm: what a Kubernetes scheduler owes them, a Slurm job waits for or brings about."""

import pytest

WORLD = {"options": ("--cpus", "4")}
PROVISIONED = pytest.mark.lite_only("nobody makes volumes in a real control plane without a CSI driver")
SELECTED = "volume.kubernetes.io/selected-node"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"


def make(world, path, body):
    r = world.call("POST", path, body)
    assert r.status == 201, r.text
    return r.json


def storage_class(world, name, provisioner="example.com/any", mode="WaitForFirstConsumer"):
    make(world, CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode})


def claim(space, name, cls=None):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if cls:
        spec["storageClassName"] = cls
    make(space.world, f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})


def get_claim(space, name):
    r = space.world.call("GET", f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims/{name}")
    return r.json if r.status == 200 else None


def volume(world, name, cls, node=None):
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(world.dir)},
        "storageClassName": cls,
    }
    if node:
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    make(world, VOLUMES, {"metadata": {"name": name}, "spec": spec})


def with_claim(space, name, claim_name, script="sleep 1000", **more):
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/mnt"}]}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}]
    return space.pod(name, script, more=mounts, **{"volumes": volumes, **more})


@PROVISIONED
def test_a_claim_that_waits_for_a_consumer_hears_where_it_will_be(world, space):
    claim(space, "data")  # of the default class
    first = with_claim(space, "first", "data", "echo kept > /mnt/file")
    world.until("it wrote", lambda: first.phase() == "Succeeded")
    node = first.node()
    assert get_claim(space, "data")["metadata"]["annotations"][SELECTED] == node
    assert len(first.jobs()) == 1
    second = with_claim(space, "second", "data", "test $(cat /mnt/file) = kept && sleep 1000")
    second.running()
    assert second.node() == node
    others = [n for n in ("n1", "n2", "n3", "n4") if "k" + n[1:] != node]
    assert world.run("scontrol", "show", "hostnames", second.job()["ExcNodeList"]).split() == others


@PROVISIONED
def test_a_pod_whose_claim_is_missing_waits_without_a_job(world, space):
    pod = with_claim(space, "early", "late")
    world.until("it says which", lambda: "claim late does not exist" in pod.unscheduled()[1])
    assert not pod.jobs()
    claim(space, "late")
    pod.running()


def test_a_pod_waits_for_claims_that_are_bound_without_it(world, space):
    storage_class(world, "by-hand", "kubernetes.io/no-provisioner", "Immediate")
    claim(space, "data", "by-hand")
    pod = with_claim(space, "waits", "data")
    world.until("it says why", lambda: "claim data is not bound" in pod.unscheduled()[1])
    assert not pod.jobs()
    volume(world, "by-hand-1", "by-hand", "k3")
    pod.running()
    assert pod.node() == "k3"


@pytest.mark.lite_only("a real control plane leaves such a claim to the scheduler, and ours does not bind it yet")
def test_a_claim_that_is_bound_elsewhere_takes_the_pod_there(world, space):
    """Nobody makes volumes of this class: the claim gets one that is there, wherever that is."""
    storage_class(world, "static", "kubernetes.io/no-provisioner")
    volume(world, "static-1", "static", "k4")
    claim(space, "data", "static")
    pod = with_claim(space, "follows", "data")
    pod.running()
    assert pod.node() == "k4"
    assert len(pod.live_jobs()) == 1
    chosen_first = get_claim(space, "data")["metadata"]["annotations"][SELECTED]
    assert len(pod.jobs()) == (1 if chosen_first == "k4" else 2)  # the first one was given back


@PROVISIONED
def test_an_ephemeral_volume_works_like_a_claim(world, space):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    pod = with_claim(space, "scratch", None, "echo x > /mnt/file && sleep 1000", volumes=volumes)
    pod.running()
    assert get_claim(space, "scratch-v")["metadata"]["annotations"][SELECTED] == pod.node()


@PROVISIONED
def test_a_claim_deleted_while_the_pod_waits_is_waited_for_again(world, space):
    blockers = [space.sbatch("sleep 1000", "-w", f"n{i}", "--exclusive") for i in (1, 2, 3, 4)]
    for job_id in blockers:
        world.until("the nodes are full", lambda job_id=job_id: world.job_state(job_id) == "RUNNING")
    claim(space, "data")
    pod = with_claim(space, "patient", "data")
    pod.submitted()
    r = world.call("DELETE", f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims/data")
    assert r.status == 200, r.text
    world.run("scancel", *blockers)
    world.until("it says so", lambda: "claim data does not exist" in pod.unscheduled()[1])
    assert pod.node() is None
    claim(space, "data")
    pod.running()
