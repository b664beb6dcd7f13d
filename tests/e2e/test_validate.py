# SPDX-License-Identifier: GPL-2.0-or-later
"""sunk validate: what a Pod would become, or everything that is wrong with it, whatever one gives it."""

import json
import os
import pathlib
import subprocess

import pytest

import lite_server

pytestmark = pytest.mark.lite_only("no Kubernetes in it but for reading")

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
SUNK = BUILD / "src" / "cmd" / "sunk"
PREFIX = "sunk.coreweave.com/"


def sunk(*args, stdin=b"", timeout=60):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    got = subprocess.run([SUNK, "validate", *map(str, args)], input=stdin, capture_output=True, timeout=timeout, check=False)
    got.out, got.err = got.stdout.decode(), got.stderr.decode()  # must be UTF-8, always
    assert got.returncode in (0, 1, 2), got
    return got


def look(objects, *args):
    """The items of the JSON that it prints about these objects."""
    text = "\n---\n".join(json.dumps(o) for o in objects)
    got = sunk("-f", "-", "-o", "json", *args, stdin=text)
    return got.returncode, json.loads(got.out)["items"]


def pod(annotations=None, **spec):
    container = {"name": "main", "resources": {"requests": {"cpu": "1500m", "memory": "1000001Ki"}}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "ml",
                         "annotations": {PREFIX + k: v for k, v in (annotations or {}).items()}},
            "spec": {"schedulerName": "tenant-slurm", "terminationGracePeriodSeconds": 10, "containers": [container], **spec}}


def problems(item, level="error"):
    return [p["field"] + ": " + p["text"] for p in item["problems"] if p["level"] == level]


def test_every_annotation_is_shown_as_the_field_it_becomes():
    said = {"account": "research", "comment": "A \"job\"; $(reboot) `id` 100% ü", "constraints": "h100&ib", "prefer": "nvme",
            "partition": "a,b", "qos": "high", "reservation": "res", "exclusive": "user", "excluded-nodes": "n2,n1,n3",
            "required-nodes": "n7", "priority": "100", "user-id": "1001", "group-id": "1002", "current-working-dir": "/w",
            "timeout": "123"}
    status, [item] = look([pod(said)])
    assert status == 0 and item["ok"] and not item["problems"]
    assert item["job"] == {
        "name": "ml.web", "partition": "a,b", "account": "research", "qos": "high", "reservation": "res", "tresPerNode": None,
        "constraints": "h100&ib", "prefer": "nvme", "requiredNodes": "n7", "excludedNodes": "n[1-3]", "workDir": "/w",
        "comment": said["comment"], "cpus": 2, "memoryMiB": 977, "timeLimitMinutes": 123, "priority": 100, "exclusive": "user",
        "userId": 1001, "groupId": 1002}


def test_the_table_for_people_has_what_the_json_has(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(json.dumps(pod({"partition": "inference", "timeout": "5"})))
    got = sunk("-f", path)
    assert got.returncode == 0, got
    lines = [" ".join(line.split()) for line in got.out.splitlines()]
    assert lines[0] == f"{path}, document 1: Pod ml/web would be submitted as"
    for want in ("job name ml.web", "CPUs 2", "memory 977 MiB", "partition inference", "time limit 5 minutes", "directory /",
                 "user id the scheduler's own"):
        assert want in lines


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "Job", "DaemonSet", "ReplicationController"])
def test_templates_are_looked_at_like_pods(kind):
    template = pod({"qos": "high"})
    del template["metadata"]["namespace"], template["metadata"]["name"]
    owner = {"kind": kind, "metadata": {"name": "web", "namespace": "ns"}, "spec": {"template": template}}
    status, [item] = look([owner])
    assert status == 0 and item["kind"] == kind and item["job"]["qos"] == "high"
    assert item["job"]["name"] == "ns.web-*"


def test_cron_jobs_lists_and_things_without_pods():
    cron = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": pod()}}}}
    service = {"kind": "Service", "metadata": {"name": "s"}}
    status, items = look([{"kind": "List", "items": [pod(), service, cron]}])
    assert status == 0
    assert [i["kind"] for i in items] == ["Pod", "CronJob"]
    assert sunk("-f", "-", stdin=json.dumps(service)).returncode == 2
    broken = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": "x"}}
    status, [item] = look([broken])
    assert status == 1 and "without a Pod template" in problems(item)[0]


def test_several_files_and_documents_are_all_looked_at(tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.json"
    bad = pod({"priority": "soon"})
    one.write_text("# comment\n---\n" + json.dumps(pod()) + "\n---\n---\n" + json.dumps(bad) + "\n...\n")
    two.write_text(json.dumps(pod(), indent="\t"))
    got = sunk("-f", one, "-f", two, "-o", "json")
    assert got.returncode == 1
    assert [(i["document"], i["ok"]) for i in json.loads(got.out)["items"]] == [(1, True), (3, False), (1, True)]
    assert len([line for line in sunk("-f", one).out.splitlines() if "document" in line]) == 2


def test_gpus_get_their_type_from_the_label_and_the_flags():
    gpus = pod(nodeSelector={"gpu.nvidia.com/model": "H100"},
               containers=[{"name": "m", "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 2}}}])
    assert look([gpus])[1][0]["job"]["tresPerNode"] == "gres:gpu:2"
    assert look([gpus], "--gpu-types", "H100=h100,A100=a100")[1][0]["job"]["tresPerNode"] == "gres:gpu:h100:2"
    assert look([gpus], "--gpu-types=H100=h100", "--gpu-type-label=x")[1][0]["job"]["tresPerNode"] == "gres:gpu:2"
    assert look([gpus], "--gpu-resource", "amd.com/gpu")[1][0]["job"]["tresPerNode"] is None


def test_the_grace_period_is_held_against_kill_wait():
    late = pod(terminationGracePeriodSeconds=25)
    status, [item] = look([late])
    assert status == 1
    assert problems(item) == ["spec.terminationGracePeriodSeconds: termination grace period must be less than Slurm KillWait - 5s: "
                              "it is 25s, KillWait is 30s; set it to 24 or less"]
    assert look([late], "--slurm-kill-wait", "31s")[0] == 0
    unset = pod()
    del unset["spec"]["terminationGracePeriodSeconds"]
    assert "it is 30s (the default)" in problems(look([unset])[1][0])[0]


def test_pinned_cpus_are_refused_or_warned_of():
    amounts = {"cpu": 2, "memory": "1Gi"}
    pinned = pod(containers=[{"name": "m", "resources": {"requests": amounts, "limits": amounts}}])
    status, [item] = look([pinned])
    assert status == 1 and "limits.cpu" in problems(item)[0]
    status, [item] = look([pinned], "--allow-static-cpu")
    assert status == 0 and "limits.cpu" in problems(item, "warning")[0]


def test_another_schedulers_pod_is_warned_of():
    assert problems(look([pod()], "--scheduler-name", "tenant-slurm")[1][0], "warning") == []
    assert "'tenant-slurm'" in problems(look([pod()], "--scheduler-name", "other")[1][0], "warning")[0]
    assert "Kubernetes itself" in problems(look([pod(schedulerName=None)])[1][0], "warning")[0]


@pytest.mark.parametrize("annotations,want", [
    ({"comment": "x" * 65536}, "longer than 1024 bytes"),
    ({"excluded-nodes": "n" * 70000}, "longer than 65536 bytes"),
    ({"comment": "a\nb"}, "control characters in it: 'a\\nb'"),
    ({"comment": "\x1b[2J\x07"}, "control characters"),
    ({"partition": "a\u0085b"}, "control characters"),
    ({"priority": "-1"}, "between 0 and 4294967293"),
    ({"priority": "9" * 400}, "between 0 and 4294967293"),
    ({"priority": "1e3"}, "must be a whole number"),
    ({"user-id": "4294967295"}, "between 0 and 4294967293"),
    ({"timeout": "0"}, "between 1 and 527040"),
    ({"exclusive": "maybe"}, "none, user or ok"),
    ({"required-nodes": "n1;reboot"}, "is not allowed"),
    ({"required-nodes": "$(hostname)"}, "is not allowed"),
    ({"required-nodes": "n[1-999999999]"}, "more than 100000 names"),
    ({"current-working-dir": "../etc"}, "must be an absolute path"),
])
def test_bad_annotations_are_told_on_one_line_each(annotations, want):
    status, [item] = look([pod(annotations)])
    assert status == 1
    [problem] = problems(item)
    assert want in problem and len(problem) < 400 and problem.isprintable()
    got = sunk("-f", "-", stdin=json.dumps(pod(annotations)))
    assert got.returncode == 1 and len(got.out.splitlines()) == 2
    assert all(line.isprintable() for line in got.out.splitlines())


def test_all_problems_are_told_at_once():
    bad = pod({"priority": "soon", "exclusive": "x", "partion": "y"}, containers=[{"name": "m"}], terminationGracePeriodSeconds=60)
    status, [item] = look([bad])
    assert status == 1
    assert len(problems(item)) == 5
    assert "did you mean sunk.coreweave.com/partition?" in problems(item, "warning")[0]


@pytest.mark.parametrize("cpu,want", [("0", "no cpu"), ("1000000", "1000000 CPUs, Slurm counts at most 65533"),
                                      ("1e30", "more cpu than can be counted"), (-1, "no cpu")])
def test_absurd_requests_are_told_with_words(cpu, want):
    status, [item] = look([pod(containers=[{"name": "m", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}])])
    assert status == 1 and want in problems(item)[0]


@pytest.mark.parametrize("text,want", [
    (b"", "no Pod"),
    (b"\xff\xfe\x00", "stdin:"),
    (b"a: [", "stdin:"),
    (b"kind: Pod\nmetadata: &a {name: x}\n", "anchors"),
    (b"[1, 2, 3]", "no Pod"),
    (b"just text", "no Pod"),
    (b"a: " + b"[" * 1000, "nested deeper"),
    (b"x" * (2 << 20), "larger than 1024 KiB"),
    (b"{" * 100000, "a key must be"),
], ids=range(9))
def test_what_is_no_manifest_is_said_and_ends_with_2(text, want):
    got = sunk("-f", "-", stdin=text)
    assert got.returncode == 2
    assert want in got.err and len(got.err.splitlines()) == 1


@pytest.mark.parametrize("object_,want", [
    ({"kind": "Pod"}, "without a spec"),
    ({"kind": "Pod", "metadata": 7, "spec": {}}, ""),
    ({"kind": "Pod", "metadata": {"name": 7}, "spec": {}}, "metadata.name"),
    ({"kind": "Pod", "metadata": {"name": "x", "annotations": {PREFIX + "priority": 7}}, "spec": {}}, "expected a string"),
    ({"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": {}}}, "spec.containers"),
    ({"kind": "Pod", "metadata": {"name": "x" * 300}, "spec": {}}, "longer than"),
    ({"kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}, "cpu"),
])
def test_what_is_no_pod_is_told_with_its_field(object_, want):
    status, [item] = look([object_])
    assert status == 1 and want in " ".join(problems(item))


def test_depth_is_no_danger():
    deep = b'{"kind": "Pod", "metadata": {"name": "x"}, "spec": ' + b'{"a":' * 100000 + b"1" + b"}" * 100001
    got = sunk("-f", "-", stdin=deep)
    assert got.returncode == 1 and "asks for no cpu" in got.out


def test_flags_that_make_no_sense_are_named(tmp_path):
    for args, want in ((("-f",), "needs a value"), ((), "which file"), (("pod.yaml",), "'pod.yaml'"), (("--nope",), "--nope"),
                       (("-f", tmp_path / "none.yaml"), "none.yaml: No such file"), (("-f", tmp_path), str(tmp_path)),
                       (("-f", "-", "-o", "xml"), "output"), (("-f", "-", "--slurm-kill-wait", "x"), "slurm-kill-wait")):
        got = sunk(*args)
        assert got.returncode == 2 and want in got.err, got
    assert "usage: sunk validate" in sunk("--help").out


# ---- --cluster


@pytest.fixture(scope="module", name="cluster")
def make_cluster():
    """Four Nodes with slurmd on them: one of each kind, one of them cordoned, one gone; and a Node that Slurm does not have."""
    lite = lite_server.Lite()
    for n in range(1, 4):
        node = lite_server.node(f"k{n}", zone="a" if n < 3 else "b")
        node["spec"] = {"unschedulable": n == 2}
        lite.kubectl("create", "-f", "-", stdin=node)
    lite.kubectl("create", "-f", "-", stdin=lite_server.node("plain", zone="a"))
    lite.kubectl("create", "namespace", "slurm")
    lite.kubectl("create", "namespace", "ml")
    for n in range(1, 5):
        slurmd = lite_server.pod(f"n{n}", "slurm", nodeName=f"k{n}", tolerations=[{"operator": "Exists"}])
        slurmd["metadata"]["labels"] = {PREFIX + "nodeset": "main"}
        lite.kubectl("create", "-f", "-", stdin=slurmd)
    lite.kubectl("create", "-f", "-", stdin=lite_server.pod("other", "slurm", nodeName="plain"))
    waiting = lite_server.pod("n9", "slurm", schedulerName="nobody")
    waiting["metadata"]["labels"] = {PREFIX + "nodeset": "main"}
    lite.kubectl("create", "-f", "-", stdin=waiting)
    yield lite
    lite.close()


def live(lite, *args):
    return ("--cluster", "--kubeconfig", lite.data / "kubeconfig", *args)


def nodes(item):
    return {n["slurmNode"]: n["why"] for n in item["nodes"]["items"]}


def test_the_live_cluster_tells_where_a_pod_may_run(cluster):
    status, [item] = look([pod({"excluded-nodes": "n9"}, nodeSelector={"zone": "a"})], *live(cluster))
    assert status == 0 and item["nodes"]["feasible"] == 1
    why = nodes(item)
    assert list(why) == ["n1", "n2", "n3", "n4"] and why["n1"] is None
    assert "zone" in why["n3"]
    assert item["job"]["excludedNodes"] == "n[2-4,9]"
    assert item["nodes"]["summary"].startswith("1 of 4 nodes")
    got = sunk("-f", "-", *live(cluster), stdin=json.dumps(pod(nodeSelector={"zone": "a"})))
    assert got.returncode == 0 and "1 of 4 nodes" in got.out and f"n3: {why['n3']}" in got.out


def test_nodeset_pods_of_other_namespaces_are_left_out_when_asked_for(cluster):
    stray = lite_server.pod("n7", "ml", nodeName="plain")
    stray["metadata"]["labels"] = {PREFIX + "nodeset": "main"}
    cluster.kubectl("create", "-f", "-", stdin=stray)
    try:
        _, [item] = look([pod()], *live(cluster))
        assert list(nodes(item)) == ["n1", "n2", "n3", "n4", "n7"]
        _, [item] = look([pod()], *live(cluster, "--nodeset-namespace", "slurm"))
        assert list(nodes(item)) == ["n1", "n2", "n3", "n4"]
    finally:
        cluster.kubectl("delete", "pod", "n7", "-n", "ml", "--grace-period=0", "--force")


def test_a_pod_that_fits_nowhere_is_a_failure(cluster):
    status, [item] = look([pod(nodeSelector={"zone": "c"})], *live(cluster))
    assert status == 1 and item["nodes"]["feasible"] == 0 and all(nodes(item).values())
    assert item["ok"] is False and item["nodes"]["waitsFor"] is None
    got = sunk("-f", "-", *live(cluster), stdin=json.dumps(pod(nodeSelector={"zone": "c"})))
    assert got.returncode == 1 and "ml/web would not be submitted now" in got.out and "none of 4 nodes is feasible" in got.out


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "ml"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def test_a_pod_waits_for_claims_that_are_not_there_or_not_bound(cluster):
    cluster.kubectl("create", "-f", "-", stdin=claim("late", storageClassName="nobody-makes-these"))
    wants = {"absent": "claim absent does not exist", "late": "claim late is not bound: there is no storage class nobody-makes-these"}
    for name, why in wants.items():
        wanting = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": name}}])
        status, [item] = look([wanting], *live(cluster))
        assert status == 1 and item["ok"] is False and item["nodes"]["feasible"] == 2 and item["nodes"]["waitsFor"] == why, item
        got = sunk("-f", "-", *live(cluster), stdin=json.dumps(wanting))
        assert got.returncode == 1 and "would not be submitted now" in got.out and why in got.out
    own = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}}
    status, [item] = look([pod(volumes=[own])], *live(cluster))
    assert status == 0 and item["ok"] and item["nodes"]["waitsFor"] is None, "its claim is made with it"


def test_a_bound_volume_says_where_a_pod_may_run(cluster):
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}}
    cluster.kubectl("create", "-f", "-", stdin={
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nodeAffinity": affinity,
                 "local": {"path": "/x"}}})
    cluster.kubectl("create", "-f", "-", stdin={
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk"}})
    lite_server.wait_for("the claim is bound", lambda: cluster.get("pvc", "data", "-n", "ml")["status"].get("phase") == "Bound")
    claims = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    status, [item, plain] = look([claims, pod()], *live(cluster))
    assert status == 0 and item["nodes"]["volumesNotLookedAt"] is None
    assert nodes(item)["n3"] is None and nodes(item)["n1"]
    assert nodes(plain)["n1"] is None


def test_a_cluster_that_does_not_answer_is_named(tmp_path, cluster):
    good = (cluster.data / "kubeconfig").read_text()
    gone = tmp_path / "gone"
    gone.write_text(good.replace(cluster.url, "https://127.0.0.1:1"))
    gone.chmod(0o600)
    for path, want in ((tmp_path / "none", "none"), (gone, "127.0.0.1:1")):
        got = sunk("-f", "-", "--cluster", "--kubeconfig", path, stdin=json.dumps(pod()))
        assert got.returncode == 2 and want in got.err and len(got.err.splitlines()) == 1, got
