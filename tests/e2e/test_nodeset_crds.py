# SPDX-License-Identifier: GPL-2.0-or-later
"""The definitions of NodeSets and NodeSlices, as real kubectl shows them."""

import pytest
from lite_server import DEADLINE, ROOT, Kube, wait_for

CRDS = ROOT / "charts" / "sunk" / "crds"


@pytest.fixture(scope="module")
def lite():
    server = Kube("--node-grace", "0")
    try:
        server.kubectl("apply", "-f", str(CRDS))
        server.kubectl("wait", "--for=condition=Established", "crd", "--all", f"--timeout={DEADLINE}s")
        # a real server shows their schemas some moments later
        wait_for("they are explained", lambda: all(server.kubectl("explain", what, ok=None) for what in ("nodeset", "nodeslice")))
        yield server
    finally:
        server.close()


def nodeset(name, **spec):
    return {
        "apiVersion": "sunk.coreweave.com/v1alpha1",
        "kind": "NodeSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "slurmd", "image": "slurmd"}]}}, **spec},
    }


def nodeslice(name, nodes):
    return {
        "apiVersion": "sunk.coreweave.com/v1alpha1",
        "kind": "NodeSlice",
        "metadata": {"name": name, "namespace": "default"},
        "nodeSet": "main",
        "nodes": nodes,
    }


def test_explain_says_what_a_nodeset_is(lite):
    assert "keeps one Pod that runs slurmd on each Node that fits" in " ".join(lite.kubectl("explain", "nodeset").split())
    assert "every Node that fits" in " ".join(lite.kubectl("explain", "nodeset.spec.replicas").split())
    assert "maxUnavailable" in lite.kubectl("explain", "nset.spec.updateStrategy")
    assert "at most 100" in lite.kubectl("explain", "nslice")


def test_the_least_nodeset_gets_its_defaults_and_keeps_its_template(lite):
    probe = {"tcpSocket": {"port": 6818}}
    lite.kubectl("create", "-f", "-", stdin=nodeset("least"))
    got = lite.get("nset", "least")["spec"]
    assert "replicas" not in got
    assert got["updateStrategy"] == {"type": "RollingUpdate", "maxUnavailable": 1}
    whole = nodeset("whole")
    whole["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe
    lite.kubectl("create", "-f", "-", stdin=whole)
    assert lite.get("nset", "whole")["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] == probe


def test_get_shows_counts_and_scale_sets_replicas(lite):
    lite.kubectl("create", "-f", "-", stdin=nodeset("counted", replicas=2))
    path = "/apis/sunk.coreweave.com/v1alpha1/namespaces/default/nodesets/counted"
    status = {"desired": 2, "feasible": 7, "current": 2, "ready": 1, "drained": 0, "replicas": 2}
    assert lite.call("PATCH", path + "/status", {"status": status}, "application/merge-patch+json").status == 200
    head, row = lite.kubectl("get", "nset", "counted").splitlines()
    assert head.split() == ["NAME", "DESIRED", "FEASIBLE", "CURRENT", "READY", "DRAINED", "AGE"]
    assert row.split()[:6] == ["counted", "2", "7", "2", "1", "0"]
    lite.kubectl("scale", "nodeset/counted", "--replicas=5")
    got = lite.get("nodeset", "counted")
    assert got["spec"]["replicas"] == 5
    assert got["metadata"]["generation"] == 2
    assert lite.call("GET", path + "/scale").json["status"]["replicas"] == 2


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": 1000000}, "spec.replicas"),
        ({"namePrefix": "No_Prefix"}, "spec.namePrefix"),
        ({"features": ["a b"]}, "spec.features"),
        ({"updateStrategy": {"type": "Sudden"}}, "spec.updateStrategy.type"),
        ({"updateStrategy": {"maxUnavailable": "half"}}, "spec.updateStrategy.maxUnavailable"),
        ({"template": {}}, "spec.template.spec"),
        ({"template": {"spec": {"containers": []}}}, "spec.template.spec.containers"),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}, "nodeSelectorTerms"),
    ],
)
def test_what_cannot_be_is_refused_by_name(lite, spec, says):
    assert says in lite.kubectl("create", "-f", "-", stdin=nodeset("bad", **spec), ok=False)


def test_a_slice_holds_a_hundred_names_each_once(lite):
    lite.kubectl("create", "-f", "-", stdin=nodeslice("full", [f"n{i}" for i in range(100)]))
    assert lite.kubectl("get", "nslice").splitlines()[0].split() == ["NAME", "NODESET", "NODES", "AGE"]
    assert "nodes" in lite.kubectl("create", "-f", "-", stdin=nodeslice("more", [f"n{i}" for i in range(101)]), ok=False)
    assert "nodes" in lite.kubectl("create", "-f", "-", stdin=nodeslice("twice", ["n1", "n1"]), ok=False)


def test_names_stay_once_given(lite):
    lite.kubectl("create", "-f", "-", stdin=nodeset("named", namePrefix="gpu"))
    patch = '{"spec":{"namePrefix":"cpu"}}'
    assert "make another NodeSet" in lite.kubectl("patch", "nset", "named", "--type=merge", "-p", patch, ok=False)
