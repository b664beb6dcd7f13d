# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/operating.md tells people to type exists: values, objects, verbs, scripts, files."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import helm
import pytest
import yaml

pytestmark = pytest.mark.skipif(helm.missing(), reason="no helm: dev/helm --make builds one")

PAGE = (helm.TOP / "docs/operating.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.S | re.M)
COMMANDS = [
    line.split(" # ")[0].strip()
    for text in [*(b for kind, b in BLOCKS if not kind), *("\n".join(re.findall(r"`([^`\n]+)`", PAGE)),)]
    for line in text.splitlines()
    if re.match(r"(helm|kubectl|sunk|dev/|scontrol|skopeo)", line)
]
SUNK = Path(os.environ.get("SUNK_BUILD", helm.TOP / "build")) / "src/cmd/sunk"


@pytest.fixture(name="values", scope="module")
def values_file(tmp_path_factory):
    (text,) = (b for kind, b in BLOCKS if kind == "yaml")
    path = tmp_path_factory.mktemp("docs") / "my-values.yaml"
    path.write_text(text)
    return path


def words(command):
    return shlex.split(command, comments=True)


def test_there_are_commands():
    assert len(COMMANDS) > 20 and any("helm upgrade slurm" in c for c in COMMANDS)


def test_helm_takes_every_install_and_upgrade(values):
    seen = 0
    for command in COMMANDS:
        if not command.startswith(("helm install", "helm upgrade")) or "charts/" not in command:
            continue
        _, _, release, chart, *rest = words(command)
        rest = [str(values) if w == "my-values.yaml" else w for w in rest if w not in ("--create-namespace", "--reuse-values")]
        r = helm.run("template", release, helm.TOP / chart, *rest)
        assert r.returncode == 0, f"{command}\n{r.stderr}"
        seen += 1
    assert seen >= 4


def test_every_object_that_is_named_is_rendered(values):
    docs = [*helm.sunk(), *helm.template("slurm", "-f", values)]
    names = {f"{d['kind'].lower()}/{d['metadata']['name']}" for d in docs}
    named = {m for c in COMMANDS for m in re.findall(r"\b((?:deployment|statefulset|nodeset)/[a-z0-9-]+)", c)}
    assert named and named <= names, named - names
    for c in COMMANDS:
        for container in re.findall(r"exec deployment/slurm-login -c (\S+)", c):
            spec = helm.of(docs, "Deployment", "slurm-login")["spec"]["template"]["spec"]
            assert container in {x["name"] for x in helm.containers(spec)}


def test_every_value_that_is_named_exists():
    values = yaml.safe_load((helm.CHARTS / "slurm/values.yaml").read_text())
    values["rbac"]["namespaces"] = yaml.safe_load((helm.CHARTS / "sunk/values.yaml").read_text())["rbac"]["namespaces"]
    roots = "|".join(values)
    for path in set(re.findall(rf"`((?:{roots})(?:\.\w+)+)`", PAGE)):
        at = values
        for word in path.split("."):
            if at is values["nodeSets"]:
                at = values["nodeSetDefaults"] | {"replicas": 1}
                continue
            assert word in at, f"{path}: there is no such value"
            at = at[word]


def test_every_verb_and_script_exists():
    for command in COMMANDS:
        first, *rest = words(command)
        if first.startswith("dev/"):
            r = subprocess.run([helm.TOP / first, "--help"], capture_output=True, text=True, timeout=30, check=False)
            assert r.returncode == 0, command
            for flag in (w for w in rest if w.startswith("--")):
                assert flag in r.stdout, command
        elif first == "sunk" and rest:
            r = subprocess.run([SUNK, rest[0], "--help"], capture_output=True, text=True, timeout=30, check=False)
            assert r.returncode == 0, f"{command}: {r.stderr}"


def test_every_file_that_is_named_exists():
    for path in re.findall(r"\]\((?!http)([^)#]+)", PAGE):
        assert (helm.TOP / "docs" / path).exists(), path
    for path in re.findall(r"(?:^|[\s`])((?:charts|tests|image|dev)/[\w./-]+)", PAGE):
        assert (helm.TOP / path.rstrip(".")).exists(), path
