# SPDX-License-Identifier: GPL-2.0-or-later
"""Pods with claims on real Slurm: what a Kubernetes scheduler owes them, a Slurm job waits for or brings about."""

import json

import pytest
from volume_story import Story, recorded
from world import MERGE, REAL

WORLD = {"options": ("--cpus", "4")}
ANY_SLURM = pytest.mark.any_slurm("between claims and volumes; that a job waits for them is in the others")
PROVISIONED = pytest.mark.lite_only("nobody makes volumes in a real control plane without a CSI driver")
BOUND_BY = "pv.kubernetes.io/bound-by-controller"
SELECTED = "volume.kubernetes.io/selected-node"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"


def make(world, path, body):
    r = world.call("POST", path, body)
    assert r.status == 201, r.text
    return r.json


def storage_class(world, name, provisioner="example.com/any", mode="WaitForFirstConsumer"):
    make(world, CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode})


def claim(space, name, cls=None, size="1Gi"):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if cls:
        spec["storageClassName"] = cls
    make(space.world, f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})


def get_claim(space, name):
    r = space.world.call("GET", f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims/{name}")
    return r.json if r.status == 200 else None


def get_volume(world, name):
    return world.call("GET", f"{VOLUMES}/{name}").json


def volume(world, name, cls, node=None, size="1Gi", **more):
    spec = {
        **more,
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(world.dir)},
        "storageClassName": cls,
    }
    if node:
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    make(world, VOLUMES, {"metadata": {"name": name}, "spec": spec})
    world.until("a controller has seen it", lambda: get_volume(world, name).get("status", {}).get("phase") in ("Available", "Bound"))


def given(world, cls):
    """Which claims the volumes of a class are given to."""
    volumes = [v for v in world.call("GET", VOLUMES).json["items"] if v["spec"]["storageClassName"] == cls]
    refs = {v["metadata"]["name"]: v["spec"].get("claimRef", {}) for v in volumes}
    return {name: ref["name"] for name, ref in refs.items() if ref.get("uid")}


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


@ANY_SLURM
@PROVISIONED
def test_a_pod_whose_claim_is_missing_waits_without_a_job(world, space):
    pod = with_claim(space, "early", "late")
    world.until("it says which", lambda: "claim late does not exist" in pod.unscheduled()[1])
    assert not pod.jobs()
    claim(space, "late")
    pod.running()


@ANY_SLURM
def test_a_pod_waits_for_claims_that_are_bound_without_it(world, space):
    storage_class(world, "by-hand", "kubernetes.io/no-provisioner", "Immediate")
    claim(space, "data", "by-hand")
    pod = with_claim(space, "waits", "data")
    world.until("it says why", lambda: "claim data is not bound" in pod.unscheduled()[1])
    assert not pod.jobs()
    volume(world, "by-hand-1", "by-hand", "k3")
    pod.running()
    assert pod.node() == "k3"


@ANY_SLURM
def test_a_claim_that_waits_gets_a_volume_that_is_there(world, space):
    """Nobody makes volumes of this class: the scheduler gives it the smallest one that the node can reach, and a controller does the rest.
    Nodes that reach none are kept from the job to begin with."""
    storage_class(world, "static", "kubernetes.io/no-provisioner")
    for name, node, size in (("large", "k4", "9Gi"), ("right", "k4", "3Gi"), ("small", "k1", "1Gi")):
        volume(world, f"static-{name}", "static", node, size)
    claim(space, "data", "static", "2Gi")
    pod = with_claim(space, "follows", "data").running()
    assert pod.node() == "k4"
    assert len(pod.jobs()) == 1
    assert world.run("scontrol", "show", "hostnames", pod.job()["ExcNodeList"]).split() == ["n1", "n2", "n3"]
    assert given(world, "static") == {"static-right": "data"}
    got = get_claim(space, "data")
    assert got["spec"]["volumeName"] == "static-right" and got["status"]["phase"] == "Bound"
    assert SELECTED not in got["metadata"].get("annotations", {})
    assert get_volume(world, "static-right")["metadata"]["annotations"][BOUND_BY] == "yes"


def test_a_pod_without_a_volume_to_be_had_says_so_and_gets_the_next_one(world, space):
    storage_class(world, "scarce", "kubernetes.io/no-provisioner")
    volume(world, "scarce-small", "scarce", "k1", "1Gi")
    claim(space, "data", "scarce", "2Gi")
    pod = with_claim(space, "waits", "data")
    world.until("it says so", lambda: "none of 4 nodes is feasible" in pod.unscheduled()[1] and "claim data" in pod.unscheduled()[1])
    assert not pod.jobs()
    volume(world, "scarce-enough", "scarce", "k2", "2Gi")
    assert pod.running().node() == "k2"
    assert given(world, "scarce") == {"scarce-enough": "data"}


@ANY_SLURM
def test_no_volume_is_given_twice_to_pods_that_start_together(world, space):
    storage_class(world, "pairs", "kubernetes.io/no-provisioner")
    for i in (1, 2, 3, 4):
        volume(world, f"pairs-{i}", "pairs", f"k{1 + i % 2}")
    pods = {}
    for i in (1, 2, 3, 4):
        claim(space, f"data-{i}", "pairs")
        pods[i] = with_claim(space, f"one-{i}", f"data-{i}", cpu="100m")
    for pod in pods.values():
        pod.running()
    assert sorted(given(world, "pairs").values()) == [f"data-{i}" for i in (1, 2, 3, 4)]
    for i, pod in pods.items():
        name = get_claim(space, f"data-{i}")["spec"]["volumeName"]
        assert given(world, "pairs")[name] == f"data-{i}"
        assert pod.node() == "k2" if name in ("pairs-1", "pairs-3") else "k1"


@ANY_SLURM
def test_a_volume_that_a_person_promised_to_the_claim_is_the_one(world, space):
    storage_class(world, "promised", "kubernetes.io/no-provisioner")
    volume(world, "promised-free", "promised", "k1")
    volume(world, "promised-own", "promised", "k3", "5Gi", claimRef={"namespace": space.ns, "name": "data"})
    claim(space, "data", "promised")
    pod = with_claim(space, "goes", "data").running()
    assert pod.node() == "k3"
    assert given(world, "promised") == {"promised-own": "data"}
    assert BOUND_BY not in get_volume(world, "promised-own")["metadata"].get("annotations", {})


@ANY_SLURM
def test_a_scheduler_that_dies_between_two_volumes_leaves_no_claim_with_two(world, space):
    storage_class(world, "crash", "kubernetes.io/no-provisioner")
    for i in (1, 2, 3):
        for node in ("k2", "k3"):
            volume(world, f"crash-{node}-{i}", "crash", node)
    names = ["a", "b", "c"]
    for name in names:
        claim(space, name, "crash")
    mounts = {"volumeMounts": [{"name": n, "mountPath": f"/mnt/{n}"} for n in names]}
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]
    pod = space.pod("three", more=mounts, volumes=volumes)
    pod.submitted()
    world.until("one is given", lambda: given(world, "crash"))
    world.kill_part("scheduler")
    assert pod.node() is None or len(given(world, "crash")) == 3
    world.start_part("scheduler")
    pod.running()
    assert sorted(given(world, "crash").values()) == names
    assert len({name[:8] for name in given(world, "crash")}) == 1
    assert len(pod.live_jobs()) == 1


@pytest.mark.skipif(not REAL, reason="lite makes every volume that it is asked for")
def test_a_node_where_the_volume_cannot_be_made_is_left(world, space):
    """A provisioner says so by taking the node's name off the claim; holding the node and asking again would go on for ever."""
    storage_class(world, "picky", "example.com/picky")
    claim(space, "data", "picky")
    pod = with_claim(space, "moves", "data")

    def selected():
        return get_claim(space, "data")["metadata"].get("annotations", {}).get(SELECTED)

    first = world.until("it has a node", selected)
    path = f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims/data"
    assert world.call("PATCH", path, {"metadata": {"annotations": {SELECTED: None}}}, MERGE).status == 200
    assert "storage class picky cannot make the volume of claim data there" in pod.says("NodeRefused")
    world.until("it has another one", lambda: selected() not in (None, first))
    assert pod.node() is None and len(pod.live_jobs()) == 1


@ANY_SLURM
def test_claims_and_volumes_are_bound_as_by_kube_controller_manager(space):
    """The world that the tests above run in: lite does what was recorded, and a real control plane still does."""
    told = Story(space).run()
    for got, want in zip(told, recorded(), strict=True):
        assert got == want, json.dumps(told)


@ANY_SLURM
@PROVISIONED
def test_an_ephemeral_volume_works_like_a_claim(world, space):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    pod = with_claim(space, "scratch", None, "echo x > /mnt/file && sleep 1000", volumes=volumes)
    pod.running()
    assert get_claim(space, "scratch-v")["metadata"]["annotations"][SELECTED] == pod.node()


@ANY_SLURM
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
