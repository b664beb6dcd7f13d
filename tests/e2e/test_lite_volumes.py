# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims, volumes and storage classes of sunk-lite with a real kubectl: made, bound, mounted, let go."""

import pytest
from lite_server import Lite, node, wait_for
from test_agent import World

pytestmark = pytest.mark.lite_only("tests lite itself")

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture
def lite():
    server = Lite("--node-grace", "0")
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def world():
    w = World()
    try:
        yield w
    finally:
        w.close()


def claim(name, cls=None, size="1Gi", **spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    if cls is not None:
        spec["storageClassName"] = cls
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def storage_class(name, mode="Immediate", provisioner="example.com/any", **more):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def volume(name, cls="", size="2Gi", **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp"},
            "storageClassName": cls,
            **spec,
        },
    }


def pod_with(name, claim_name, script, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "c",
                    "image": "x",
                    "command": ["sh", "-c", script],
                    "volumeMounts": [{"name": "v", "mountPath": "/mnt"}],
                }
            ],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}],
            **spec,
        },
    }


def apply(lite, *objects):
    for o in objects:
        lite.kubectl("apply", "-f", "-", stdin=o)


def get_claim(lite, name):
    return lite.get("pvc", name)


def phase(lite, kind, name):
    return lite.get(kind, name)["status"]["phase"]


def bound(lite, name):
    return wait_for(f"{name} is bound", lambda: phase(lite, "pvc", name) == "Bound" and get_claim(lite, name))


def test_a_claim_of_an_immediate_class_is_bound_at_once(lite):
    apply(lite, storage_class("now"), claim("a", "now"))
    got = bound(lite, "a")
    name = got["spec"]["volumeName"]
    assert name == "pvc-" + got["metadata"]["uid"]
    assert got["status"]["capacity"] == {"storage": "1Gi"}
    made = lite.get("pv", name)
    assert made["spec"]["claimRef"]["uid"] == got["metadata"]["uid"]
    assert "nodeAffinity" not in made["spec"]
    wait_for("the volume is bound", lambda: phase(lite, "pv", name) == "Bound")
    head, row = (line.split() for line in lite.kubectl("get", "pvc").splitlines())
    assert " ".join(head) == "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE"
    assert row[:6] == ["a", "Bound", name, "1Gi", "RWO", "now"]
    assert "default/a" in lite.kubectl("get", "pv")
    assert "standard (default)" in lite.kubectl("get", "sc")
    assert "ProvisioningSucceeded" in lite.kubectl("describe", "pvc", "a")


def test_a_claim_that_waits_is_bound_where_its_consumer_will_be(lite):
    lite.call("POST", "/api/v1/nodes", node("n1"))
    apply(lite, storage_class("later", "WaitForFirstConsumer"), claim("a", "later"))
    wait_for("it says that it waits", lambda: "WaitForFirstConsumer" in lite.kubectl("get", "events"))
    assert phase(lite, "pvc", "a") == "Pending"
    assert not lite.get("pv")["items"]
    lite.kubectl("annotate", "pvc", "a", f"{SELECTED}=n1")
    name = bound(lite, "a")["spec"]["volumeName"]
    (term,) = lite.get("pv", name)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (expression,) = term.get("matchExpressions") or term["matchFields"]
    assert expression["values"] == ["n1"]


def test_a_node_that_is_gone_is_chosen_no_more(lite):
    apply(lite, storage_class("later", "WaitForFirstConsumer"), claim("a", "later"))
    lite.kubectl("annotate", "pvc", "a", f"{SELECTED}=nowhere")
    wait_for("it is free again", lambda: SELECTED not in get_claim(lite, "a")["metadata"].get("annotations", {}))
    assert phase(lite, "pvc", "a") == "Pending"


def test_a_volume_goes_with_its_claim_or_stays(lite):
    apply(lite, storage_class("keep", reclaimPolicy="Retain"), storage_class("drop"))
    apply(lite, claim("k", "keep"), claim("d", "drop"))
    kept, dropped = (bound(lite, n)["spec"]["volumeName"] for n in "kd")
    lite.kubectl("delete", "pvc", "k", "d")
    wait_for("the volume is gone", lambda: [v["metadata"]["name"] for v in lite.get("pv")["items"]] == [kept])
    wait_for("the other is released", lambda: phase(lite, "pv", kept) == "Released")
    assert dropped != kept


def test_a_claim_without_its_volume_is_lost(lite):
    apply(lite, storage_class("now"), claim("a", "now"))
    lite.kubectl("delete", "pv", bound(lite, "a")["spec"]["volumeName"])
    wait_for("it is lost", lambda: phase(lite, "pvc", "a") == "Lost")


def test_volumes_that_are_there_are_taken(lite):
    none = storage_class("static", provisioner="kubernetes.io/no-provisioner")
    apply(lite, none, volume("small", "static", "1Gi"), volume("large", "static", "10Gi"), claim("a", "static", "5Gi"))
    assert bound(lite, "a")["spec"]["volumeName"] == "large"
    wait_for("the other is free", lambda: phase(lite, "pv", "small") == "Available")
    apply(lite, volume("mine"), claim("b", "", volumeName="mine"))
    assert bound(lite, "b")["spec"]["volumeName"] == "mine"
    apply(lite, claim("c", "static", "5Gi"))  # nothing is left, and nobody makes one
    apply(lite, claim("d", "unknown"))
    wait_for("it says why", lambda: '"unknown" not found' in lite.kubectl("get", "events"))
    assert phase(lite, "pvc", "c") == phase(lite, "pvc", "d") == "Pending"


def on(name):
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}


def test_a_volume_that_is_there_waits_for_the_scheduler_to_give_it(lite):
    """As kube-controller-manager: a claim that waits for its first consumer is not bound without one, not even with a node's name on it."""
    lite.call("POST", "/api/v1/nodes", node("n1", **{"kubernetes.io/hostname": "n1"}))
    apply(lite, storage_class("static", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"), storage_class("now"))
    apply(lite, volume("far", "static", nodeAffinity=on("n2")), volume("near", "static", "3Gi", nodeAffinity=on("n1")), claim("a", "static"))
    wait_for("it says that it waits", lambda: "WaitForFirstConsumer" in lite.kubectl("get", "events"))
    lite.kubectl("annotate", "pvc", "a", f"{SELECTED}=n1")
    apply(lite, claim("b", "now"))
    bound(lite, "b")  # the controller has seen the other one, too
    assert phase(lite, "pvc", "a") == "Pending"
    assert not any("claimRef" in lite.get("pv", name)["spec"] for name in ("far", "near"))
    lite.kubectl("annotate", "pvc", "a", f"{SELECTED}-")
    apply(lite, pod_with("p", "a", "true"))
    assert bound(lite, "a")["spec"]["volumeName"] == "near"
    assert lite.get("pv", "near")["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    wait_for("the Pod has its node", lambda: lite.get("pod", "p")["spec"].get("nodeName") == "n1")


def test_a_second_volume_for_a_claim_is_taken_back(lite):
    apply(lite, storage_class("now"), claim("a", "now"))
    uid = bound(lite, "a")["metadata"]["uid"]
    ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "a", "uid": uid}
    extra = volume("extra", "now", claimRef=ref)
    extra["metadata"]["annotations"] = {"pv.kubernetes.io/bound-by-controller": "yes"}
    apply(lite, extra)
    wait_for("it is free again", lambda: "claimRef" not in lite.get("pv", "extra")["spec"] and phase(lite, "pv", "extra") == "Available")


def test_bad_claims_and_volumes_are_refused(lite):
    r = lite.call("POST", CLAIMS, {"metadata": {"name": "x"}, "spec": {}})
    assert r.status == 422
    assert "spec.accessModes: Required value" in r.json["message"]
    assert "requests[storage]: Required value" in r.json["message"]
    r = lite.call("POST", VOLUMES, {"metadata": {"name": "x"}, "spec": {"accessModes": ["Any"]}})
    assert r.status == 422
    assert "must specify a volume type" in r.json["message"] and 'Unsupported value: "Any"' in r.json["message"]
    r = lite.call("POST", "/apis/storage.k8s.io/v1/storageclasses", storage_class("x", "Sometimes"))
    assert r.status == 422
    apply(lite, storage_class("now"), claim("a", "now"))
    bound(lite, "a")
    out = lite.kubectl("patch", "pvc", "a", "-p", '{"spec":{"volumeName":"other"}}', ok=False)
    assert "immutable" in out


def test_a_pod_waits_for_its_claim_and_says_so(lite):
    lite.call("POST", "/api/v1/nodes", node("n1"))
    apply(lite, pod_with("p", "data", "true"))
    wait_for("it says why", lambda: "claim data does not exist" in lite.kubectl("get", "events"))
    assert "nodeName" not in lite.get("pod", "p")["spec"]
    apply(lite, storage_class("now"), claim("data", "now"))
    wait_for("it has a node", lambda: lite.get("pod", "p")["spec"].get("nodeName") == "n1")


def test_an_ephemeral_volume_comes_and_goes_with_its_pod(world):
    lite = world.lite
    template = {"metadata": {"labels": {"app": "x"}}, "spec": claim("")["spec"]}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    apply(lite, pod_with("p", None, "echo here > /mnt/file; cat /mnt/file", volumes=volumes))
    wait_for("it ran", lambda: phase(lite, "pod", "p") == "Succeeded")
    assert lite.kubectl("logs", "p") == "here\n"
    made = get_claim(lite, "p-v")
    assert made["metadata"]["labels"] == {"app": "x"}
    assert made["metadata"]["ownerReferences"][0]["name"] == "p"
    lite.kubectl("delete", "pod", "p")
    wait_for("claim and volume are gone", lambda: not lite.get("pvc,pv")["items"])


def test_data_outlive_the_pod_and_pull_the_next_one_to_its_node(world):
    lite = world.lite
    apply(lite, claim("data"))  # of the default class, which waits for a consumer
    apply(lite, pod_with("first", "data", "echo kept > /mnt/file", nodeSelector={"kubernetes.io/hostname": "k2"}))
    wait_for("it wrote", lambda: phase(lite, "pod", "first") == "Succeeded")
    name = bound(lite, "data")["spec"]["volumeName"]
    assert (world.pods / "volumes" / name / "file").read_text() == "kept\n"
    lite.kubectl("delete", "pod", "first")
    apply(lite, pod_with("second", "data", "cat /mnt/file"))
    wait_for("it read", lambda: phase(lite, "pod", "second") == "Succeeded")
    assert lite.get("pod", "second")["spec"]["nodeName"] == "k2"
    assert lite.kubectl("logs", "second") == "kept\n"
    apply(lite, pod_with("third", "data", "true", nodeSelector={"kubernetes.io/hostname": "k1"}))
    wait_for("it cannot run", lambda: "volume node affinity conflict" in lite.kubectl("describe", "pod", "third"))
