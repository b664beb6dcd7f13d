# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts on a real API server: every object is held against its schemas, and both are installed, upgraded and removed. (tests/charts does
so with lite, which lacks some kinds.)"""

import json
import sys

import pytest
import yaml
from world import World

from lite_server import ROOT

sys.path.insert(0, str(ROOT / "tests/charts"))
import helm  # noqa: E402

pytestmark = [
    pytest.mark.real_only,  # tests/charts does it on lite
    pytest.mark.skipif(helm.missing(), reason="no helm: dev/helm --make builds one"),
]
PROMETHEUS = ROOT / "tests/charts/prometheus-crds.yaml"  # the real ones come with Prometheus' operator


@pytest.fixture(scope="module")
def world():
    world = World(nodes=1)
    world.kubectl("apply", "-f", PROMETHEUS)
    world.kubectl("wait", "--for=condition=Established", "-f", PROMETHEUS, "--timeout=30s")
    world.kubectl("cordon", "k1")  # Pods of the charts are made, and run nowhere
    yield world
    world.close()


def takes(world, docs):
    for ns in {d["metadata"].get("namespace") for d in docs} - {None}:
        world.kubectl("create", "namespace", ns, ok=None)
    said = world.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(docs))
    assert said.count("(server dry run)") == len(docs), said


@pytest.mark.parametrize("values", [None, *helm.VALUES])
def test_a_real_server_takes_every_object_of_a_cluster(world, values):
    takes(world, helm.slurm(values))


def test_a_real_server_takes_the_operator_and_the_definitions(world):
    takes(world, helm.sunk("--include-crds"))


def test_it_looks(world):
    broken = [d for d in helm.slurm() if d["kind"] == "NodeSet"]
    broken[0] = {**broken[0], "spec": {**broken[0]["spec"], "replica": 3}}
    with pytest.raises(AssertionError, match="replica"):
        takes(world, broken)


def test_it_looks_at_the_kinds_of_others(world):
    monitor = helm.of(helm.slurm("accounting"), "PodMonitor", "slurm")
    monitor = {**monitor, "spec": {**monitor["spec"], "podMetricEndpoints": []}}
    with pytest.raises(AssertionError, match="podMetricEndpoints"):
        takes(world, [monitor])


def helm_does(world, *args):
    return world.run(helm.TOP / "dev/helm", *args, timeout=120)


def there(world, release, ns):
    """Whether every object of a release is there; kubectl fails else."""
    return world.kubectl("get", "-f", "-", "-n", ns, "-o", "name", stdin=helm_does(world, "get", "manifest", release, "-n", ns)).split()


def may(world, account, verb, what, ns):
    what, _, sub = what.partition("/")
    return world.kubectl("auth", "can-i", verb, what, *([f"--subresource={sub}"] if sub else []), "--as", f"system:serviceaccount:{account}", "-n", ns, ok=None).startswith("yes")


def pods_of(world, ns):
    """Names without what Kubernetes adds."""
    items = world.call("GET", f"/api/v1/namespaces/{ns}/pods").json["items"]
    return {p["metadata"]["labels"]["app.kubernetes.io/component"] for p in items}


def test_both_charts_are_installed_upgraded_and_removed(world):
    said = helm_does(world, "install", "ops", helm.CHARTS / "sunk", "-n", "sunk-system", "--create-namespace")  # dev/up has a sunk-operator
    assert "helm install slurm" in said
    assert "deployment.apps/ops-sunk-operator" in there(world, "ops", "sunk-system")
    world.until("its Pods are made", lambda: pods_of(world, "sunk-system") == {"operator"})
    values = ["-f", helm.VALUES["accounting"], "--set", "scheduler.enabled=true"]
    helm_does(world, "install", "slurm", helm.CHARTS / "slurm", "-n", "lab", "--create-namespace", *values)
    have = there(world, "slurm", "lab")
    for one in ("nodeset.sunk.coreweave.com/compute", "podmonitor.monitoring.coreos.com/slurm", "prometheusrule.monitoring.coreos.com/slurm",
                "networkpolicy.networking.k8s.io/slurm-slurmdbd", "statefulset.apps/slurm-mariadb", "deployment.apps/slurm-slurmdbd"):  # fmt: skip
        assert one in have
    # what a chart says of Pods is looked at only when they are made
    parts = {"slurmctld", "slurmdbd", "mariadb", "login", "syncer", "scheduler"}
    world.until("all Pods are made", lambda: pods_of(world, "lab") == parts)
    failed = [e["message"] for e in world.call("GET", "/api/v1/namespaces/lab/events?limit=500").json["items"] if e["reason"] == "FailedCreate"]
    assert failed == []
    # the roles count
    assert may(world, "lab:slurm-syncer", "patch", "pods/status", "lab") and not may(world, "lab:slurm-syncer", "get", "secrets", "lab")
    assert not may(world, "lab:slurm-syncer", "patch", "nodes/status", "lab") and not may(world, "lab:slurm-syncer", "list", "pods", "default")
    assert may(world, "lab:slurm-scheduler", "create", "pods/binding", "lab") and not may(world, "lab:slurm-scheduler", "create", "pods", "lab")
    assert may(world, "sunk-system:ops-sunk-operator", "create", "pods", "lab") and not may(world, "sunk-system:ops-sunk-operator", "get", "secrets", "lab")
    assert not may(world, "lab:default", "get", "pods", "lab")
    before = {s: world.call("GET", f"/api/v1/namespaces/lab/secrets/slurm-{s}").json["data"] for s in ("munge", "hook-token", "database")}
    generation = world.call("GET", "/apis/sunk.coreweave.com/v1alpha1/namespaces/lab/nodesets/compute").json["metadata"]["generation"]
    helm_does(world, "upgrade", "slurm", helm.CHARTS / "slurm", "-n", "lab", *values, "--set", "slurm.killWait=40")
    assert before == {s: world.call("GET", f"/api/v1/namespaces/lab/secrets/slurm-{s}").json["data"] for s in before}
    after = world.call("GET", "/apis/sunk.coreweave.com/v1alpha1/namespaces/lab/nodesets/compute").json["metadata"]["generation"]
    assert after == generation, "an upgrade of other parts touched the slurmds"
    helm_does(world, "uninstall", "slurm", "-n", "lab")
    helm_does(world, "uninstall", "ops", "-n", "sunk-system")
    kinds = "deployments,statefulsets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,podmonitors,prometheusrules,nodesets"
    left = [i["metadata"]["name"] for i in json.loads(world.kubectl("get", kinds, "-n", "lab", "-o", "json"))["items"]]
    assert [n for n in left if n not in ("default", "kube-root-ca.crt")] == []
