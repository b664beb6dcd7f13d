# SPDX-License-Identifier: GPL-2.0-or-later
"""helm installs, upgrades and removes the charts on an API server that checks what it is given, CRDs included."""

import base64
import os
import sys

import helm
import pytest
import yaml

sys.path.insert(0, str(helm.TOP / "tests/e2e"))
from lite_server import Lite  # noqa: E402

pytestmark = pytest.mark.skipif(helm.missing(), reason="no helm: dev/helm --make builds one")

# Kinds that sunk-lite does not serve; the real API server does (tests/e2e/test_charts.py).
FOREIGN = {"NetworkPolicy"}
PROMETHEUS = helm.TOP / "tests/charts/prometheus-crds.yaml"
PLAIN = "networkPolicy.enabled=false,podMonitor.enabled=false,prometheusRule.enabled=false"


@pytest.fixture(name="lite", scope="module")
def one_lite():
    server = Lite("--no-controllers")
    server.kubectl("apply", "-f", str(PROMETHEUS))
    server.kubectl("wait", "--for=condition=Established", "-f", str(PROMETHEUS), "--timeout=30s")
    yield server
    server.close()


def run(lite, *args, ok=True):
    before = dict(os.environ)
    os.environ.update(lite.env())
    try:
        r = helm.run(*args)
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert (r.returncode == 0) == ok, r.stdout + r.stderr
    return r.stdout


@pytest.fixture(name="operator", scope="module")
def installed_operator(lite):
    return run(lite, "install", "sunk", helm.CHARTS / "sunk", "-n", "sunk-system", "--create-namespace", "--set", "networkPolicy.enabled=false")


def test_the_operator_is_installed_with_its_crds_and_says_what_is_next(lite, operator):
    assert "kubectl label node NODE... sunk.coreweave.com/slurm-node=true" in operator
    assert "helm install slurm" in operator
    lite.kubectl("wait", "--for=condition=Established", "crd/nodesets.sunk.coreweave.com", "--timeout=30s")
    assert lite.get("deployment", "-n", "sunk-system", "sunk-operator")["spec"]["replicas"] == 2


@pytest.mark.parametrize("values", [None, *helm.VALUES])
def test_the_api_server_takes_every_object(lite, operator, values):
    docs = [d for d in helm.slurm(values) if d["kind"] not in FOREIGN]
    lite.kubectl("create", "namespace", helm.NS, ok=None)
    for ns in {d["metadata"]["namespace"] for d in docs if "namespace" in d["metadata"]} - {helm.NS}:
        lite.kubectl("create", "namespace", ns, ok=None)
    said = lite.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(docs))
    assert said.count("(server dry run)") == len(docs), said
    assert "nodeset.sunk.coreweave.com/" in said


def test_the_api_server_refuses_a_nodeset_that_cannot_be(lite, operator):
    """The test above can fail: schemas are looked at."""
    docs = [d for d in helm.slurm() if d["kind"] == "NodeSet"]
    bad = yaml.safe_load(yaml.safe_dump(docs[0]))
    bad["spec"]["updateStrategy"]["maxUnavailable"] = "200%"
    lite.kubectl("create", "namespace", helm.NS, ok=None)
    assert "maxUnavailable" in lite.kubectl("apply", "--dry-run=server", "-f", "-", stdin=bad, ok=False)


def secret(lite, name, key):
    return base64.b64decode(lite.get("secret", "-n", "lab", name)["data"][key]).decode()


def test_a_cluster_is_installed_upgraded_with_the_same_keys_and_removed(lite, operator):
    chart = [helm.CHARTS / "slurm", "-n", "lab", "--set", PLAIN]
    notes = run(lite, "install", "slurm", *chart, "--create-namespace")
    assert "kubectl label node NODE... sunk.coreweave.com/slurm-node=true" in notes
    assert "The Pod Scheduler is off" in notes
    key, token = secret(lite, "slurm-munge", "munge.key"), secret(lite, "slurm-hook-token", "token")
    assert len(key) == 128 and len(token) == 43
    before = lite.get("nodeset", "-n", "lab", "compute")
    accounting = ["-f", helm.VALUES["accounting"], "--set", PLAIN, "--set", "scheduler.enabled=true,clusterName=slurm"]
    notes = run(lite, "upgrade", "slurm", *chart, *accounting)
    assert "spec.schedulerName: lab-slurm" in notes and "less than 25" in notes and "They must be in: lab." in notes
    assert (secret(lite, "slurm-munge", "munge.key"), secret(lite, "slurm-hook-token", "token")) == (key, token)
    password = secret(lite, "slurm-database", "password")
    run(lite, "upgrade", "slurm", *chart, *accounting, "--set", "slurm.killWait=40")
    assert secret(lite, "slurm-database", "password") == password
    after = lite.get("nodeset", "-n", "lab", "compute")
    assert after["metadata"]["generation"] == before["metadata"]["generation"], "an upgrade of other parts touched the slurmds"
    run(lite, "uninstall", "slurm", "-n", "lab", "--wait=false")
    left = lite.get("deployments,statefulsets,configmaps,services,roles,rolebindings,serviceaccounts", "-n", "lab")["items"]
    assert [i["metadata"]["name"] for i in left if i["metadata"]["name"] not in ("default", "kube-root-ca.crt")] == []
