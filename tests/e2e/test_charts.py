# SPDX-License-Identifier: GPL-2.0-or-later
"""What the charts render to, held against a real API server's schemas. (tests/charts does so with lite, which lacks some kinds.)"""

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
OF_OTHERS = {"PodMonitor", "PrometheusRule"}  # their definitions come with Prometheus' operator


@pytest.fixture(scope="module")
def world():
    world = World(nodes=1)
    yield world
    world.close()


def takes(world, docs):
    docs = [d for d in docs if d["kind"] not in OF_OTHERS]
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
