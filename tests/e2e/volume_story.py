# SPDX-License-Identifier: GPL-2.0-or-later
"""What a control plane makes of a claim that waits for its first consumer and of volumes that are there: each step as claim and volume look
after it. tests/kube-samples/31-volume-story.jsonl is what kube-controller-manager 1.36 did; lite must do the same."""

import json

from world import MERGE, TOP

SAMPLE = TOP / "tests/kube-samples/31-volume-story.jsonl"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
BOUND_BY = "pv.kubernetes.io/bound-by-controller"


class Story:
    def __init__(self, space):
        self.world, self.ns, self.told = space.world, space.ns, []
        self.claims = f"/api/v1/namespaces/{space.ns}/persistentvolumeclaims"

    def call(self, method, path, body=None, kind="application/json"):
        r = self.world.call(method, path, body, kind)
        assert r.status in (200, 201), r.text
        return r.json

    def make_class(self, name, mode):
        self.call("POST", CLASSES, {"metadata": {"name": name}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode})

    def make_volume(self, name, cls, annotations=None, **more):
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["story"]}
        spec = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "hostPath": {"path": "/tmp"},
                "storageClassName": cls, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}, **more}  # fmt: skip
        self.call("POST", VOLUMES, {"metadata": {"name": name, "annotations": annotations or {}}, "spec": spec})

    def make_claim(self, name, cls):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": cls}
        self.call("POST", self.claims, {"metadata": {"name": name}, "spec": spec})

    def claim(self, name):
        return self.call("GET", f"{self.claims}/{name}")

    def volume(self, name):
        return self.call("GET", f"{VOLUMES}/{name}")

    def phase(self, got):
        return got.get("status", {}).get("phase")

    def shape(self, got):
        """Without what differs from one run to the next."""
        ref = dict(got["spec"].get("claimRef", {}))
        for key, value in (("uid", "UID"), ("resourceVersion", "VERSION"), ("namespace", "NAMESPACE")):
            if key in ref:
                ref[key] = value
        status = {k: v for k, v in got["status"].items() if k != "lastPhaseTransitionTime"}
        return {"annotations": got["metadata"].get("annotations", {}), "volumeName": got["spec"].get("volumeName"), "claimRef": ref, "status": status}

    def tell(self, step, claim, *volumes):
        self.told.append({"step": step, "claim": self.shape(self.claim(claim)), **{v: self.shape(self.volume(v)) for v in volumes}})

    def run(self):
        until = self.world.until
        self.make_class("story", "WaitForFirstConsumer")
        self.make_class("story-now", "Immediate")
        self.make_volume("story-1", "story")
        self.make_claim("data", "story")
        until("the volume is there", lambda: self.phase(self.volume("story-1")) == "Available")
        until("the claim is there", lambda: self.phase(self.claim("data")) == "Pending")
        self.tell("a claim waits for its first consumer", "data", "story-1")
        selected = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "story"}}}
        self.call("PATCH", f"{self.claims}/data", selected, MERGE)
        self.make_volume("story-2", "story-now")
        self.make_claim("other", "story-now")
        until("the controller has been here", lambda: self.phase(self.claim("other")) == "Bound" and self.phase(self.volume("story-2")) == "Bound")
        self.tell("a claim that need not wait", "other", "story-2")
        self.tell("a node's name alone binds nothing", "data", "story-1")
        selected["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = None
        self.call("PATCH", f"{self.claims}/data", selected, MERGE)
        meta = self.claim("data")["metadata"]
        ref = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": self.ns, "name": "data", "uid": meta["uid"],
               "resourceVersion": meta["resourceVersion"]}  # fmt: skip
        given = {"metadata": {"annotations": {BOUND_BY: "yes"}}, "spec": {"claimRef": ref}}
        self.call("PATCH", f"{VOLUMES}/story-1", given, MERGE)
        until("both are bound", lambda: self.phase(self.claim("data")) == "Bound" and self.phase(self.volume("story-1")) == "Bound")
        self.tell("given by a scheduler", "data", "story-1")
        self.make_volume("story-3", "story", {BOUND_BY: "yes"}, claimRef=ref)
        until("it is taken back", lambda: "claimRef" not in self.volume("story-3")["spec"] and self.phase(self.volume("story-3")) == "Available")
        self.tell("a second one for the same claim", "data", "story-1", "story-3")
        return self.told


def recorded():
    return [json.loads(line) for line in SAMPLE.read_text().splitlines()]
