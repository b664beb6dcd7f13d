# SPDX-License-Identifier: GPL-2.0-or-later
"""What a CSI driver is elsewhere: on a real control plane, claims of the default class get a volume on the Node that the scheduler chose for
them. (lite does so by itself.)"""

import threading

CLASS = "standard"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SELECTED = "volume.kubernetes.io/selected-node"


class Provisioner:
    def __init__(self, world):
        self.world = world
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        body = {"metadata": {"name": CLASS, "annotations": default}, "provisioner": "example.com/test", "volumeBindingMode": "WaitForFirstConsumer"}
        r = world.call("POST", CLASSES, body)
        assert r.status in (201, 409), r.text
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self):
        self.ending.set()
        self.thread.join(30)

    def _run(self):
        while not self.ending.wait(0.1):
            try:
                claims = self.world.call("GET", "/api/v1/persistentvolumeclaims").json.get("items", [])
                for claim in claims:
                    self._provide(claim)
            except OSError:  # the server is away
                pass

    def _provide(self, claim):
        meta, spec = claim["metadata"], claim["spec"]
        node = meta.get("annotations", {}).get(SELECTED)
        if not node or spec.get("volumeName") or spec.get("storageClassName") != CLASS:
            return
        path = self.world.dir / "volumes" / meta["uid"]
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        volume = {
            "metadata": {"name": "pvc-" + meta["uid"]},
            "spec": {
                "capacity": spec["resources"]["requests"],
                "accessModes": spec["accessModes"],
                "hostPath": {"path": str(path)},
                "storageClassName": CLASS,
                "claimRef": {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            },
        }
        self.world.call("POST", "/api/v1/persistentvolumes", volume)  # there already: 409
