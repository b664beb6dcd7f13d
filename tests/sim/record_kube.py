#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records what a Kubernetes does with the scripts in tests/sim/traces/kube, for the model and lite to be held against.

usage: record_kube.py [--compare] [TRACE...]      inside dev/root, from the top of the tree; without names all of them

With SUNK_KUBE=real, and KUBE_BIN_DIR as dev/kube tells it, the Kubernetes is a real one; else it is lite, and nothing is
recorded, only compared. Kubelets are lite's agent. The scenes' language is told in scene.h; sunk-scene plays them.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from lite_server import BUILD, DEADLINE, REAL, Kube, wait_for  # noqa: E402

SCENES = sorted((HERE / "traces" / "kube").glob("*.txt"))
NODES = ("k0", "k1")
PODS = "/api/v1/namespaces/default/pods"
OURS = "sunk.coreweave.com/"


class Stage:
    """A Kubernetes with two Nodes, for scenes one after the other."""

    def __init__(self):
        self.kube = Kube()
        self.agent = None
        try:
            with open(self.kube.dir / "agent.log", "ab") as log:
                flags = ("--kubeconfig", self.kube.data / "kubeconfig", "--dir", self.kube.dir / "pods", "--nodes", "k[0-1]", "--cpu", "16", "--memory", "8Gi")
                self.agent = subprocess.Popen([BUILD / "lite/agent/sunk-lite-agent", *flags], stdout=log, stderr=log)
            wait_for("Nodes are ready", self.nodes_ready, 60)
        except BaseException:
            self.close()
            raise

    def nodes_ready(self):
        nodes = {n["metadata"]["name"]: n for n in self.kube.call("GET", "/api/v1/nodes").json["items"]}
        return all(n in nodes and not nodes[n]["spec"].get("taints") and any(c["type"] == "Ready" and c["status"] == "True" for c in nodes[n]["status"].get("conditions", [])) for n in NODES)

    def close(self):
        if self.agent:
            self.clean()
            self.agent.terminate()
            self.agent.wait(DEADLINE)
        self.kube.close()

    def patch(self, path, body):
        r = self.kube.call("PATCH", path, body, "application/merge-patch+json")
        assert r.status in (200, 404), r.text

    def pods(self):
        return self.kube.call("GET", PODS).json["items"]

    def clean(self):
        """As if nothing had been played yet."""
        for pod in self.pods():
            if pod["metadata"].get("finalizers"):
                self.patch(f"{PODS}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
            self.kube.call("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
        wait_for("no Pod is left", lambda: not self.pods())
        for name in NODES:
            path = f"/api/v1/nodes/{name}"
            node = self.kube.call("GET", path).json
            ours = {field: {k: None for k in node["metadata"].get(field, {}) if k.startswith(OURS)} for field in ("annotations", "labels")}
            self.patch(path, {"metadata": ours, "spec": {"taints": None, "unschedulable": None}})
            kept = [c for c in node["status"]["conditions"] if not c["type"].startswith("Slurm")]
            self.patch(f"{path}/status", {"status": {"conditions": kept}})

    def play(self, path, *flags):
        """(whether it went well, what sunk-scene said)"""
        words = [BUILD / "tests/sim/sunk-scene", "--kubeconfig", self.kube.data / "kubeconfig", "--agent", str(self.agent.pid), *flags, path]
        r = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        self.clean()
        return r.returncode == 0, r.stdout + r.stderr

    def record(self, path):
        ok, text = self.play(path)
        if not ok:
            return ok, text
        version = self.kube.call("GET", "/version").json["gitVersion"]
        kept = [l for l in path.read_text().splitlines() if l.startswith((">", "#")) and not l.startswith("# Kubernetes ")]
        path.write_text("\n".join([*kept, f"# Kubernetes {version.partition('-')[0]} said:", text.rstrip()]) + "\n")
        return True, f"{len(text.splitlines())} lines\n"


def main():
    words = sys.argv[1:]
    compare = "--compare" in words or not REAL
    paths = [Path(w) for w in words if not w.startswith("-")] or SCENES
    bad = 0
    stage = Stage()
    try:
        for path in paths:
            ok, text = stage.play(path, "--compare") if compare else stage.record(path)
            bad += not ok
            print(f"{path.stem}: {'' if ok else 'FAILED '}{text.rstrip()}", flush=True)
    finally:
        stage.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
