# SPDX-License-Identifier: GPL-2.0-or-later
"""helm, as the tests of the charts use it: what a chart renders to, as objects."""

import functools
import subprocess
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
CHARTS = TOP / "charts"
VALUES = {p.stem: p for p in sorted((Path(__file__).parent / "values").glob("*.yaml"))}
NS, RELEASE = "tenant", "slurm"


def run(*args):
    return subprocess.run([TOP / "dev/helm", *map(str, args)], capture_output=True, text=True, timeout=120, check=False)


def missing():
    return run("--path").returncode != 0


def template(chart, *args, release=RELEASE, ns=NS):
    r = run("template", release, CHARTS / chart, "--namespace", ns, *args)
    assert r.returncode == 0, r.stderr
    return [d for d in yaml.safe_load_all(r.stdout) if d]


@functools.cache
def slurm(values=None):
    """The chart slurm with one of the files in values/, or with its defaults."""
    return template("slurm", *(["-f", VALUES[values]] if values else []))


@functools.cache
def sunk(*args):
    return template("sunk", *args, release="sunk", ns="sunk-system")


def refusal(chart, *args):
    """What helm says to values that cannot be."""
    r = run("template", RELEASE, CHARTS / chart, "--namespace", NS, *args)
    assert r.returncode != 0, f"{args} was taken"
    return r.stderr


def of(docs, kind, name=None):
    """The objects of a kind; one of them by its name."""
    found = {d["metadata"]["name"]: d for d in docs if d["kind"] == kind}
    return found if name is None else found[name]


def pods(docs):
    """(name, labels, spec) of every Pod that comes of it."""
    for d in docs:
        template_of = d.get("spec", {}).get("template")
        if d["kind"] in ("Deployment", "StatefulSet", "NodeSet"):
            yield f"{d['kind']} {d['metadata']['name']}", template_of["metadata"].get("labels", {}), template_of["spec"]


def containers(spec):
    return [*spec.get("initContainers", []), *spec["containers"]]
