# SPDX-License-Identifier: GPL-2.0-or-later
"""Dashboard and alert rules ask only for metrics and labels that there are."""

import json
import pathlib
import re

import pytest
import yaml

pytestmark = pytest.mark.lite_only("no Kubernetes in it")

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRAPE_LABELS = {"slurm_cluster"}  # added by the scrape configuration


def known_metrics():
    names = set(re.findall(r"^\| `(\w+)` \|", (TOP / "docs/metrics.md").read_text(), re.M))
    own = set(re.findall(r'"(sunk_syncer_\w+)"', (TOP / "src/syncer/numbers.c").read_text()))
    assert len(names) == 72 and len(own) > 8
    return names | own | {f"{name}_{part}" for name in own for part in ("bucket", "sum", "count")}


def check(expression, known):
    used = set(re.findall(r"\b(?:slurm|sunk)_\w+", re.sub(r'"[^"]*"', "", expression))) - SCRAPE_LABELS
    assert used and used <= known, f"{expression}: {used - known}"


def test_the_dashboard_asks_for_metrics_that_there_are():
    board = json.loads((TOP / "deploy/grafana/sunk-slurm.json").read_text())
    known = known_metrics()
    panels = [p for p in board["panels"] if p["type"] != "row"]
    assert len(panels) > 15 and len({p["id"] for p in board["panels"]}) == len(board["panels"])
    for panel in panels:
        for target in panel["targets"]:
            check(target["expr"], known)
    # the two pages: the cluster, and one node
    assert [p["title"] for p in board["panels"] if p["type"] == "row"] == ["Cluster", "Node $node"]


def test_the_alerts_ask_for_metrics_that_there_are():
    rules = [r for g in yaml.safe_load((TOP / "deploy/prometheus/sunk-alerts.yaml").read_text())["groups"] for r in g["rules"]]
    known = known_metrics()
    assert len({r["alert"] for r in rules}) == len(rules) > 8
    for rule in rules:
        check(rule["expr"], known)
        assert rule["labels"]["severity"] in ("warning", "critical") and rule["annotations"]["summary"]
