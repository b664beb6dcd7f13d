# SPDX-License-Identifier: GPL-2.0-or-later
"""What the charts render to: names that fit together, tight Pods, rights that are narrow, bad values refused in words."""

import json
import re
import shutil
import subprocess

import helm
import pytest
import yaml
from helm import NS, of, refusal

pytestmark = pytest.mark.skipif(helm.missing(), reason="no helm: dev/helm --make builds one")

ALL = {"defaults": None, **{name: name for name in helm.VALUES}}
SLURM = pytest.mark.parametrize("values", ALL.values(), ids=ALL)
YOURS = {"acct-db", "my-munge", "my-token", "syncer-tls", "scheduler-tls", "hook-ca"}  # Secrets that the values name


def everything():
    return [("sunk", helm.sunk()), *((name, helm.slurm(values)) for name, values in ALL.items())]


def test_helm_finds_nothing_to_complain_about():
    for chart in ("sunk", "slurm"):
        for values in [[], *([["-f", f] for f in helm.VALUES.values()] if chart == "slurm" else [])]:
            r = helm.run("lint", "--strict", helm.CHARTS / chart, *values)
            assert r.returncode == 0, r.stdout + r.stderr
            assert "WARNING" not in r.stdout, r.stdout


def test_every_pod_is_as_tight_as_it_can_be():
    # slurmd becomes the jobs' users; login becomes its users; the scheduler's own user is that of jobs without one
    roots = re.compile(r"NodeSet |Deployment slurm-(login|scheduler)$")
    for values, docs in everything():
        for name, _, spec in helm.pods(docs):
            where = f"{values}: {name}"
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, where
            assert spec["enableServiceLinks"] is False, where
            is_root = not spec["securityContext"].get("runAsNonRoot")
            assert is_root == bool(roots.match(name)), where
            for c in helm.containers(spec):
                context = c["securityContext"]
                if values == "gpu" and name == "NodeSet h100" and c["name"] == "slurmd":
                    assert context == {"privileged": True}, where  # as asked for, and nothing that contradicts it
                    continue
                assert context["allowPrivilegeEscalation"] is False, f"{where}: {c['name']}"
                assert context["readOnlyRootFilesystem"] is True, f"{where}: {c['name']}"
                assert context["capabilities"]["drop"] == ["ALL"], f"{where}: {c['name']}"
                assert c["resources"]["requests"], f"{where}: {c['name']}"
                assert c.get("livenessProbe") or c.get("readinessProbe"), f"{where}: {c['name']}"
            if "serviceAccountName" not in spec:
                assert spec["automountServiceAccountToken"] is False, where


def test_names_that_are_used_are_there():
    for values, docs in everything():
        for name, _, spec in helm.pods(docs):
            where = f"{values}: {name}"
            if "serviceAccountName" in spec:
                assert spec["serviceAccountName"] in of(docs, "ServiceAccount"), where
            volumes = {v["name"]: v for v in spec.get("volumes", [])}
            claimed = set()
            for d in docs:
                if name == f"{d['kind']} {d['metadata']['name']}":
                    claimed = {c["metadata"]["name"] for c in d["spec"].get("volumeClaimTemplates", [])}
            for c in helm.containers(spec):
                assert len({m["mountPath"] for m in c["volumeMounts"]}) == len(c["volumeMounts"]), where
                for mount in c["volumeMounts"]:
                    assert mount["name"] in volumes or mount["name"] in claimed, f"{where}: {mount}"
            used = {m["name"] for c in helm.containers(spec) for m in c["volumeMounts"]}
            assert set(volumes) <= used, f"{where}: nobody mounts {set(volumes) - used}"
            for volume in volumes.values():
                for source in [volume, *volume.get("projected", {}).get("sources", [])]:
                    if "configMap" in source:
                        there = of(docs, "ConfigMap", source["configMap"]["name"])["data"]
                        assert {i["key"] for i in source["configMap"].get("items", [])} <= set(there), where
                    if "secret" in source:
                        assert source["secret"]["secretName"] in of(docs, "Secret") or source["secret"]["secretName"] in YOURS, where


def test_selectors_find_their_pods():
    for values, docs in everything():
        labels = [(name, pod, {p["name"] for c in helm.containers(spec) for p in c.get("ports", [])}) for name, pod, spec in helm.pods(docs)]

        def found(selector):
            words = selector.get("matchLabels", {}).items()
            ranges = [(e["key"], e["values"]) for e in selector.get("matchExpressions", [])]
            return [(n, ports) for n, pod, ports in labels if words <= pod.items() and all(pod.get(k) in v for k, v in ranges)]

        for d in docs:
            where = f"{values}: {d['kind']} {d['metadata']['name']}"
            if d["kind"] in ("Deployment", "StatefulSet"):
                assert [n for n, _ in found(d["spec"]["selector"])] == [f"{d['kind']} {d['metadata']['name']}"], where
            elif d["kind"] == "Service":
                (one,) = found({"matchLabels": d["spec"]["selector"]})
                assert {p["targetPort"] for p in d["spec"]["ports"]} <= one[1], where
            elif d["kind"] == "PodDisruptionBudget":
                assert len(found(d["spec"]["selector"])) == 1, where
            elif d["kind"] == "PodMonitor":
                assert all({e["port"] for e in d["spec"]["podMetricsEndpoints"]} <= ports for _, ports in found(d["spec"]["selector"])), where
            elif d["kind"] == "NetworkPolicy":
                assert found(d["spec"]["podSelector"]), where
                for rule in d["spec"]["ingress"]:
                    for peer in rule.get("from", []):
                        assert "podSelector" not in peer or found(peer["podSelector"]), f"{where}: nobody is {peer}"


def test_every_object_has_the_labels_that_helm_and_people_look_for():
    for values, docs in everything():
        names = [(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in docs]
        assert len(set(names)) == len(names), values
        for d in docs:
            labels = d["metadata"]["labels"]
            assert labels["app.kubernetes.io/managed-by"] == "Helm" and labels["app.kubernetes.io/instance"], f"{values}: {d['metadata']}"
            assert all(len(v) <= 63 for v in labels.values())
            if "Cluster" not in d["kind"]:
                assert d["metadata"]["namespace"], f"{values}: {d['kind']} {d['metadata']['name']}"


def test_a_long_release_name_still_gives_names_that_fit():
    docs = helm.template("slurm", "-f", helm.VALUES["accounting"], release="a-release-with-a-name-of-fifty-three-characters-12345")
    for d in docs:
        assert len(d["metadata"]["name"]) <= 63
    assert len({(d["kind"], d["metadata"]["name"]) for d in docs}) == len(docs)


def test_a_chart_version_alone_replaces_no_slurmd(tmp_path):
    """What is in a NodeSet's template decides whether slurmds are drained and replaced."""
    shutil.copytree(helm.CHARTS / "slurm", tmp_path / "slurm")
    chart = tmp_path / "slurm/Chart.yaml"
    chart.write_text(re.sub(r"^version: .*", "version: 9.9.9", chart.read_text(), flags=re.M))
    r = helm.run("template", "slurm", tmp_path / "slurm", "--namespace", NS)
    new = of([d for d in yaml.safe_load_all(r.stdout) if d], "NodeSet", "compute")
    assert new["spec"] == of(helm.slurm(), "NodeSet", "compute")["spec"]


# ---- what users read of the Pod Scheduler ----


def arguments(docs, part):
    return of(docs, "Deployment", f"slurm-{part}")["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_scheduler_is_off_unless_asked_for():
    assert not [d for d in helm.slurm() if "scheduler" in d["metadata"]["name"]]


def test_name_and_kill_wait_of_the_scheduler_can_be_looked_up_on_its_pod():
    assert "--scheduler-name=tenant-slurm" in arguments(helm.slurm("scheduler"), "scheduler")
    assert "--slurm-kill-wait=30s" in arguments(helm.slurm("scheduler"), "scheduler")
    assert "--scheduler-name=gpu-slurm" in arguments(helm.slurm("gpu"), "scheduler")
    assert "--slurm-kill-wait=60s" in arguments(helm.slurm("gpu"), "scheduler")
    assert "KillWait=60\n" in of(helm.slurm("gpu"), "ConfigMap", "slurm-conf")["data"]["slurm.conf"]


def bound_in(docs, role):
    """Namespaces where a ClusterRole holds; None: everywhere."""
    bindings = [d for d in docs if d["kind"].endswith("RoleBinding") and d["roleRef"]["name"] == role]
    return {d["metadata"].get("namespace") for d in bindings}


def test_the_scheduler_changes_pods_only_in_its_scope():
    role = f"{NS}-slurm-scheduler-pods"
    assert bound_in(helm.slurm("scheduler"), role) == {"training", "inference"}
    assert bound_in(helm.slurm("gpu"), role) == {None}
    assert bound_in(helm.template("slurm", "--set", "scheduler.enabled=true"), role) == {NS}
    listed = helm.template("slurm", "--set", "scheduler.enabled=true,scheduler.scope.namespaces={a,b,a}")
    assert bound_in(listed, role) == {"a", "b"}


def test_syncer_and_scheduler_believe_nodeset_pods_of_their_own_namespace():
    docs = helm.slurm("scheduler")
    for part, key in (("syncer", "namespace"), ("scheduler", "nodesetNamespace")):
        assert yaml.safe_load(of(docs, "ConfigMap", f"slurm-{part}")["data"][f"{part}.yaml"])[part][key] == NS


def test_the_syncer_has_a_right_on_nodes_only_when_it_may_reboot_them():
    assert not of(helm.slurm(), "ClusterRole")
    rules = of(helm.slurm("gpu"), "ClusterRole", f"{NS}-slurm-syncer-nodes")["rules"]
    assert rules == [{"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]}]


def test_clean_up_of_slurm_nodes_can_be_turned_off_and_takes_its_right_along():
    off = helm.template("slurm", "--set", "syncer.config.syncer.slurmNodeCleanUp=false")
    for docs, on in ((helm.slurm(), True), (off, False)):
        settings = yaml.safe_load(of(docs, "ConfigMap", "slurm-syncer")["data"]["syncer.yaml"])
        assert settings["syncer"]["slurmNodeCleanUp"] is on
        assert ("nodeslices" in str(of(docs, "Role", "slurm-syncer")["rules"])) is on


def test_the_operator_can_be_held_to_namespaces():
    role = "sunk-operator-nodesets"
    assert bound_in(helm.sunk(), role) == {None}
    assert bound_in(helm.sunk("--set", "rbac.namespaces={tenant,lab}"), role) == {"tenant", "lab"}


def test_metrics_carry_the_clusters_name():
    endpoint = of(helm.slurm("accounting"), "PodMonitor", "slurm")["spec"]["podMetricsEndpoints"][0]
    assert endpoint["relabelings"] == [{"targetLabel": "slurm_cluster", "replacement": "lab"}]


def test_files_of_the_tree_are_in_the_chart_as_they_are():
    docs = helm.slurm("accounting")
    scripts = of(docs, "ConfigMap", "slurm-scripts")["data"]
    for key, path in (("prolog.sh", "prolog.sh"), ("epilog-50-sunk", "epilog.d/50-sunk")):
        assert scripts[key].rstrip() == (helm.TOP / "share/slurm" / path).read_text().rstrip()
    board = of(docs, "ConfigMap", "slurm-dashboard")["data"]["sunk-slurm.json"]
    assert json.loads(board) == json.loads((helm.TOP / "deploy/grafana/sunk-slurm.json").read_text())
    assert of(docs, "PrometheusRule", "slurm")["spec"]["groups"]


def test_secrets_of_yours_are_used_and_none_is_made():
    assert not of(helm.slurm("external-database"), "Secret")
    made = of(helm.slurm("accounting"), "Secret")
    assert set(made) == {"slurm-munge", "slurm-hook-token", "slurm-database"}


def test_the_hook_secret_is_never_on_compute_nodes():
    """Who has it could end anybody's Pod."""
    for values, docs in everything():
        for name, _, spec in helm.pods(docs):
            if name.startswith("NodeSet"):
                assert "hook-secret" not in json.dumps(spec), values
            if "scheduler" not in name:
                assert "hook-secret" not in json.dumps(spec), f"{values}: {name}"


# ---- what cannot be is refused, and the message says what ----

REFUSED = {
    "scheduler.scope.type=all": "'/scheduler/scope/type': value must be one of 'cluster', 'namespace'",
    "scheduler.scope.namespaces=Not_A_Name": "/scheduler/scope/namespaces",
    "scheduler.scope.namespaces={a,B}": "/scheduler/scope/namespaces",
    "scheduler.name=Big": "/scheduler/name",
    "slurm.killWait=5": "'/slurm/killWait': minimum: got 5, want 7",
    "slurm.killWait=long": "'/slurm/killWait': got string, want integer",
    "syncr.enabled=true": "additional properties 'syncr' not allowed",
    "syncer.hooksAPI.timeout=soon": "/syncer/hooksAPI/timeout",
    "syncer.logLevel=loud": "'/syncer/logLevel': value must be one of",
    "syncer.replicas=-1": "/syncer/replicas",
    "nodeSets.compute.replica=3": "additional properties 'replica' not allowed",
    "nodeSets.Compute.enabled=true": "Compute",
    "nodeSets.compute.updateStrategy.maxUnavailable=200%": "maxUnavailable",
    "slurm.config.bad-key=1": "'bad-key' does not match",
    "slurm.prolog.50-sunk=x": "/slurm/prolog",
    "image.digest=sha256:12": "/image/digest",
    "slurmctld.persistence.size=big": "/slurmctld/persistence/size",
    "scheduler.enabled=true,scheduler.scope.type=cluster,scheduler.scope.namespaces=a": "has no meaning with scheduler.scope.type cluster",
    "scheduler.enabled=true,syncer.enabled=false": "scheduler.enabled needs syncer.enabled",
    "accounting.enabled=true,accounting.mariadb.enabled=false": "accounting.external.host is needed",
    "accounting.enabled=true,accounting.mariadb.enabled=false,accounting.external.host=db": "accounting.existingSecret",
    "partitions.all.nodeSets={none}": "there is no NodeSet 'none'",
    "partitions.compute.nodeSets={compute}": "partition compute is there twice",
}


@pytest.mark.parametrize("values", REFUSED)
def test_values_that_cannot_be_are_refused(values):
    said = refusal("slurm", "--set", values)
    assert REFUSED[values] in said, said


def test_the_operators_values_are_checked_too():
    assert "/operator/replicas" in refusal("sunk", "--set", "operator.replicas=many")
    assert "additional properties 'operater' not allowed" in refusal("sunk", "--set", "operater.replicas=1")
    assert "serviceAccount.name is needed" in refusal("sunk", "--set", "serviceAccount.create=false")


def test_the_schema_knows_every_value():
    """A value without a place in the schema would be refused; one in the schema without a default would be a surprise."""
    for chart in ("sunk", "slurm"):
        values = yaml.safe_load((helm.CHARTS / chart / "values.yaml").read_text())
        schema = json.loads((helm.CHARTS / chart / "values.schema.json").read_text())

        def walk(node, given, path):
            node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
            if node.get("additionalProperties") is not False:
                return
            missing = set(node["properties"]) - set(given) - {"global", "replicas", "claims", "limits", "requests"}
            assert not missing or path.endswith("resources"), f"{chart}: {path}: values.yaml does not tell of {missing}"
            for key, value in given.items():
                if isinstance(value, dict):
                    walk(node["properties"][key], value, f"{path}.{key}")

        walk(schema, values, "")


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool here")
def test_prometheus_takes_the_rules_as_they_are_rendered(tmp_path):
    rule = helm.of(helm.slurm("accounting"), "PrometheusRule", "slurm")

    def check(spec):
        (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
        return subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yaml"], capture_output=True, text=True, timeout=60, check=False)

    got = check(rule["spec"])
    assert got.returncode == 0 and "SUCCESS" in got.stdout, got.stdout + got.stderr
    broken = yaml.safe_load(yaml.safe_dump(rule["spec"]))
    broken["groups"][0]["rules"][0]["expr"] = "sum(("
    assert check(broken).returncode != 0
