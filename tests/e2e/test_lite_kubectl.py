# SPDX-License-Identifier: GPL-2.0-or-later
"""Every verb of real kubectl that makes sense without a node agent, against sunk-lite."""

import json
import os
import re
import select
import stat
import time

import pytest
from lite_server import DEADLINE, Lite, node, pod, wait_for

pytestmark = pytest.mark.lite_only("tests lite itself")

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A Widget is a small thing.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1, "description": "How large it is."},
                                    "replicas": {"type": "integer"},
                                    "colour": {"type": "string", "default": "grey", "enum": ["grey", "red"]},
                                    "parts": {
                                        "type": "array",
                                        "description": "What it is made of.",
                                        "items": {
                                            "type": "object",
                                            "properties": {"weight": {"type": "number", "description": "Its weight."}},
                                        },
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}},
                            },
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def lite():
    server = Lite("--node-grace", "0")
    try:
        server.kubectl("create", "-f", "-", stdin=node("n1", zone="a"))
        server.kubectl("create", "-f", "-", stdin=node("n2", zone="b"))
        server.kubectl("create", "-f", "-", stdin=CRD)
        server.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", f"--timeout={DEADLINE}s")
        yield server
    finally:
        server.close()


@pytest.fixture
def ns(lite, request):
    name = "t-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:50].strip("-")
    lite.kubectl("create", "namespace", name)
    wait_for("the namespace's service account", lambda: lite.kubectl("get", "sa", "-n", name, "-o", "name").strip())
    yield name
    lite.kubectl("delete", "namespace", name, "--wait=false")


def run_pods(lite, ns, selector):
    """Stands in for a kubelet: what is bound becomes ready."""
    for p in lite.get("pods", "-n", ns, "-l", selector)["items"]:
        if p["spec"].get("nodeName") and p["status"].get("phase") == "Pending" and "deletionTimestamp" not in p["metadata"]:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}]}
            lite.call(
                "PATCH",
                f"/api/v1/namespaces/{ns}/pods/{p['metadata']['name']}/status",
                {"status": status},
                "application/strategic-merge-patch+json",
            )
        elif "deletionTimestamp" in p["metadata"]:
            lite.call("DELETE", f"/api/v1/namespaces/{ns}/pods/{p['metadata']['name']}?gracePeriodSeconds=0")


def lines_until(process, count):
    """The next lines of a running kubectl, as they come."""
    fd, end = process.stdout.fileno(), time.monotonic() + DEADLINE
    text = getattr(process, "rest", "")
    while text.count("\n") < count and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            text += os.read(fd, 65536).decode()
    *lines, process.rest = text.split("\n", count)
    return lines


# ---- get ----


def test_get_shows_the_columns_of_a_real_server(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns))
    head, row = lite.kubectl("get", "pods", "-n", ns).splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["p", "0/1", "Pending", "0"]
    wide = lite.kubectl("get", "pods", "-n", ns, "-o", "wide").splitlines()[0]
    assert wide.split()[5:] == ["IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"]
    assert lite.kubectl("get", "nodes").splitlines()[0].split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]


def test_get_gives_yaml_and_json_and_jsonpath(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns))
    assert "  name: p\n" in lite.kubectl("get", "pod", "p", "-n", ns, "-o", "yaml")
    assert lite.get("pod", "p", "-n", ns)["spec"]["schedulerName"] == "default-scheduler"
    assert lite.kubectl("get", "pod", "p", "-n", ns, "-o", "jsonpath={.spec.containers[0].image}") == "busybox"
    assert lite.kubectl("get", "pod", "p", "-n", ns, "-o", "name").strip() == "pod/p"


def test_get_of_what_is_not_there_says_so(lite, ns):
    assert 'Error from server (NotFound): pods "nope" not found' in lite.kubectl("get", "pod", "nope", "-n", ns, ok=False)
    assert "the server doesn't have a resource type \"gadgets\"" in lite.kubectl("get", "gadgets", ok=False)


def test_get_watches(lite, ns):
    watch = lite.kubectl_start("get", "configmaps", "-n", ns, "-w", "-o", "name")
    try:
        assert lines_until(watch, 1) == ["configmap/kube-root-ca.crt"]
        lite.kubectl("create", "configmap", "c", "-n", ns, "--from-literal=a=b")
        lite.kubectl("delete", "configmap", "c", "-n", ns)
        assert lines_until(watch, 2) == ["configmap/c", "configmap/c"]
    finally:
        watch.kill()
        watch.wait()


def test_get_watches_in_columns_and_as_objects(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns, schedulerName="nobody"))
    table = lite.kubectl_start("get", "pods", "-n", ns, "-w", "-o", "wide")
    objects = lite.kubectl_start("get", "pods", "-n", ns, "--watch-only", "-o", "json")
    try:
        head, row = lines_until(table, 2)
        assert head.split()[:3] == ["NAME", "READY", "STATUS"] and row.split()[:3] == ["p", "0/1", "Pending"]
        lite.kubectl("label", "pod", "p", "-n", ns, "seen=yes")
        assert lines_until(table, 1)[0].split()[:3] == ["p", "0/1", "Pending"]
        lines = []
        while lines[-1:] != ["}"]:
            lines += lines_until(objects, 1)
        assert json.loads("\n".join(lines))["metadata"]["labels"]["seen"] == "yes"
    finally:
        for watch in (table, objects):
            watch.kill()
            watch.wait()


def test_get_selects_by_labels_and_fields(lite, ns):
    for name in ("a", "b"):
        p = pod(name, ns)
        p["metadata"]["labels"] = {"which": name}
        lite.kubectl("create", "-f", "-", stdin=p)
    assert lite.kubectl("get", "pods", "-n", ns, "-l", "which in (b,c)", "-o", "name").split() == ["pod/b"]
    assert lite.kubectl("get", "pods", "-n", ns, "--field-selector", "metadata.name!=b", "-o", "name").split() == ["pod/a"]
    assert "field label not supported" in lite.kubectl("get", "pods", "--field-selector", "spec.foo=1", ok=False)
    many = lite.kubectl("get", "pods", "-n", ns, "--chunk-size=1", "-o", "name").split()
    assert many == ["pod/a", "pod/b"]


# ---- describe, explain, api-resources ----


def test_describe_shows_object_and_events(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns))
    text = wait_for("the scheduler's event", lambda: re.search("Successfully assigned", lite.kubectl("describe", "pod", "p", "-n", ns)))
    assert text
    assert "Taints:" in lite.kubectl("describe", "node", "n1")


def test_api_resources_lists_built_ins_and_custom_ones(lite):
    text = lite.kubectl("api-resources")
    assert re.search(r"^pods +po +v1 +true +Pod$", text, re.M)
    assert re.search(r"^widgets +wd +example.com/v1 +true +Widget$", text, re.M)
    assert "example.com/v1" in lite.kubectl("api-versions").split()


def test_explain_knows_a_custom_resource(lite):
    text = lite.kubectl("explain", "widget.spec.size")
    assert "How large it is." in text and "<integer>" in text
    assert "A Widget is a small thing." in lite.kubectl("explain", "wd")
    spec = lite.kubectl("explain", "widget.spec")
    assert re.search(r"^  size\t<integer> -required-\n    How large it is\.$", spec, re.M), spec
    assert re.search(r"^  parts\t<\[\]Object>\n    What it is made of\.$", spec, re.M), spec
    assert "Its weight." in lite.kubectl("explain", "widget.spec.parts.weight")
    assert re.search(r"^    parts\t<\[\]Object>\n      weight\t<number>$", lite.kubectl("explain", "widget", "--recursive"), re.M)
    assert re.search(r"ENUM:\n    grey\n    red\n", lite.kubectl("explain", "widget.spec.colour"))
    assert 'field "bogus" does not exist' in lite.kubectl("explain", "widget.spec.bogus", ok=False)
    assert "FIELD: image" in lite.kubectl("explain", "pod.spec.containers.image")


# ---- create, apply ----


def test_create_makes_what_kubectl_makes_itself(lite, ns):
    lite.kubectl("create", "configmap", "c", "-n", ns, "--from-literal=a=b")
    lite.kubectl("create", "secret", "generic", "s", "-n", ns, "--from-literal=a=b")
    lite.kubectl("create", "serviceaccount", "sa", "-n", ns)
    lite.kubectl("create", "job", "j", "-n", ns, "--image=x", "--", "true")
    lite.kubectl("create", "pdb", "b", "-n", ns, "--selector=app=x", "--min-available=1")
    lite.kubectl("create", "role", "r", "-n", ns, "--verb=get", "--resource=pods")
    lite.kubectl("create", "rolebinding", "rb", "-n", ns, "--role=r", f"--serviceaccount={ns}:sa")
    lite.kubectl("run", "p", "-n", ns, "--image=busybox", "--", "sleep", "1")
    assert lite.get("secret", "s", "-n", ns)["data"] == {"a": "Yg=="}
    assert lite.get("pod", "p", "-n", ns)["spec"]["containers"][0]["args"] == ["sleep", "1"]
    assert 'configmaps "c" already exists' in lite.kubectl("create", "configmap", "c", "-n", ns, ok=False)


def test_bad_input_is_refused_as_a_real_server_does(lite, ns):
    bad = pod("Bad_Name", ns)
    assert 'The Pod "Bad_Name" is invalid' in lite.kubectl("create", "-f", "-", stdin=bad, ok=False)
    typo = pod("p", ns, bogus=1)
    assert 'unknown field "spec.bogus"' in lite.kubectl("create", "-f", "-", stdin=typo, ok=False)
    unknown = {"apiVersion": "v9", "kind": "Thing", "metadata": {"name": "x"}}
    assert "no matches for kind" in lite.kubectl("create", "-f", "-", stdin=unknown, ok=False)
    assert "error" in lite.kubectl("create", "-f", "-", stdin="a: [b", ok=False)
    small = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": ns}, "spec": {"size": 0}}
    assert "spec.size" in lite.kubectl("create", "-f", "-", stdin=small, ok=False)


def test_a_dry_run_leaves_nothing(lite, ns):
    lite.kubectl("create", "--dry-run=server", "-f", "-", stdin=pod("p", ns))
    assert lite.get("pods", "-n", ns)["items"] == []


def test_apply_by_the_client_keeps_what_others_set(lite, ns):
    c = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": ns}, "data": {"a": "1", "b": "1"}}
    assert "created" in lite.kubectl("apply", "-f", "-", stdin=c)
    lite.kubectl("patch", "configmap", "c", "-n", ns, "--type=merge", "-p", '{"data":{"other":"x"}}')
    c["data"] = {"a": "2"}
    assert "configured" in lite.kubectl("apply", "-f", "-", stdin=c)
    assert lite.get("configmap", "c", "-n", ns)["data"] == {"a": "2", "other": "x"}
    assert "unchanged" in lite.kubectl("apply", "-f", "-", stdin=c)


def test_apply_by_the_server_knows_owners_of_fields(lite, ns):
    c = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": ns}, "data": {"a": "1", "b": "1"}}
    lite.kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=c)
    c["data"] = {"a": "2"}
    conflict = lite.kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=c, ok=False)
    assert 'conflict with "one": .data.a' in conflict
    lite.kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", stdin=c)
    assert lite.get("configmap", "c", "-n", ns)["data"] == {"a": "2", "b": "1"}
    c["data"] = {}
    lite.kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=c)
    assert lite.get("configmap", "c", "-n", ns)["data"] == {"a": "2"}


def test_apply_works_on_workloads_and_custom_resources(lite, ns):
    w = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": ns}, "spec": {"size": 3}}
    lite.kubectl("apply", "-f", "-", stdin=w)
    w["spec"]["size"] = 4
    lite.kubectl("apply", "-f", "-", stdin=w)
    got = lite.get("widget", "w", "-n", ns)
    assert got["spec"] == {"size": 4, "colour": "grey"} and got["metadata"]["generation"] == 2
    assert lite.kubectl("get", "wd", "-n", ns).split()[:3] == ["NAME", "SIZE", "w"]
    d = deployment("d", ns)
    lite.kubectl("apply", "-f", "-", stdin=d)
    d["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    assert "configured" in lite.kubectl("apply", "-f", "-", stdin=d)


# ---- changing ----


def test_patch_takes_its_three_kinds(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns))
    lite.kubectl("patch", "pod", "p", "-n", ns, "-p", '{"spec":{"containers":[{"name":"c","image":"two"}]}}')
    lite.kubectl("patch", "pod", "p", "-n", ns, "--type=merge", "-p", '{"metadata":{"labels":{"m":"1"}}}')
    lite.kubectl("patch", "pod", "p", "-n", ns, "--type=json", "-p", '[{"op":"add","path":"/metadata/labels/j","value":"1"}]')
    got = lite.get("pod", "p", "-n", ns)
    assert got["spec"]["containers"][0]["image"] == "two"
    assert got["metadata"]["labels"] == {"app": "x", "m": "1", "j": "1"}
    refused = lite.kubectl("patch", "pod", "p", "-n", ns, "--type=merge", "-p", '{"spec":{"schedulerName":"z"}}', ok=False)
    assert "pod updates may not change fields other than" in refused
    lite.kubectl("patch", "pod", "p", "-n", ns, "--subresource=status", "-p", '{"status":{"message":"hi"}}')
    assert lite.get("pod", "p", "-n", ns)["status"]["message"] == "hi"


def test_edit_goes_through_an_editor(lite, ns, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/a: b/a: changed/' \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    lite.kubectl("create", "configmap", "c", "-n", ns, "--from-literal=a=b")
    assert "configmap/c edited" in lite.kubectl("edit", "configmap", "c", "-n", ns, EDITOR=str(editor))
    assert lite.get("configmap", "c", "-n", ns)["data"] == {"a": "changed"}


def test_replace_notices_that_it_is_late(lite, ns):
    lite.kubectl("create", "configmap", "c", "-n", ns, "--from-literal=a=b")
    old = lite.get("configmap", "c", "-n", ns)
    lite.kubectl("annotate", "configmap", "c", "-n", ns, "x=1")
    old["data"] = {"a": "late"}
    text = lite.kubectl("replace", "-f", "-", stdin=old, ok=False)
    assert "the object has been modified; please apply your changes to the latest version and try again" in text


def test_label_and_annotate(lite, ns):
    lite.kubectl("create", "configmap", "c", "-n", ns)
    lite.kubectl("label", "configmap", "c", "-n", ns, "a=1", "b=2")
    lite.kubectl("annotate", "configmap", "c", "-n", ns, "note=hello")
    lite.kubectl("label", "configmap", "c", "-n", ns, "a-")
    got = lite.get("configmap", "c", "-n", ns)["metadata"]
    assert got["labels"] == {"b": "2"} and got["annotations"] == {"note": "hello"}
    assert "already has a value" in lite.kubectl("label", "configmap", "c", "-n", ns, "b=3", ok=False)


# ---- nodes ----


def test_taints_come_and_go(lite):
    lite.kubectl("taint", "node", "n2", "k=v:NoSchedule")
    assert {"key": "k", "value": "v", "effect": "NoSchedule"} in lite.get("node", "n2")["spec"]["taints"]
    lite.kubectl("taint", "node", "n2", "k-")
    assert "taints" not in lite.get("node", "n2")["spec"]


def test_a_cordoned_node_gets_no_pods(lite, ns):
    lite.kubectl("cordon", "n2")
    try:
        wait_for("the taint of a cordon", lambda: "taints" in lite.get("node", "n2")["spec"])
        assert "SchedulingDisabled" in lite.kubectl("get", "node", "n2")
        for i in range(3):
            lite.kubectl("create", "-f", "-", stdin=pod(f"p{i}", ns))
        got = wait_for(
            "all are placed",
            lambda: [n for n in lite.kubectl("get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.nodeName}").split()]
            if lite.kubectl("get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.nodeName}").count("n") == 3
            else None,
        )
        assert got == ["n1"] * 3
    finally:
        lite.kubectl("uncordon", "n2")
    wait_for("the taint is gone", lambda: "taints" not in lite.get("node", "n2")["spec"])


def test_drain_evicts_and_honours_budgets(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=node("d1", drain="yes"))
    try:
        wait_for("the node is ready", lambda: "taints" not in lite.get("node", "d1")["spec"])
        p = pod("p", ns, nodeSelector={"drain": "yes"}, terminationGracePeriodSeconds=1)
        lite.kubectl("create", "-f", "-", stdin=p)
        wait_for("it is placed", lambda: lite.get("pod", "p", "-n", ns)["spec"].get("nodeName"))
        run_pods(lite, ns, "app=x")
        lite.kubectl("create", "pdb", "b", "-n", ns, "--selector=app=x", "--min-available=1")
        wait_for("the budget counts", lambda: lite.get("pdb", "b", "-n", ns)["status"].get("currentHealthy") == 1)
        held = lite.kubectl("drain", "d1", "--force", "--ignore-daemonsets", "--timeout=2s", ok=False)
        assert "Cannot evict pod as it would violate the pod's disruption budget." in held
        assert "deletionTimestamp" not in lite.get("pod", "p", "-n", ns)["metadata"]
        lite.kubectl("delete", "pdb", "b", "-n", ns)
        drain = lite.kubectl_start("drain", "d1", "--force", "--ignore-daemonsets", f"--timeout={DEADLINE}s")
        try:
            gone = wait_for("it is evicted", lambda: lite.get("pod", "p", "-n", ns)["metadata"].get("deletionTimestamp"))
            assert gone
            kinds = [c["type"] for c in lite.get("pod", "p", "-n", ns)["status"]["conditions"]]
            assert "DisruptionTarget" in kinds
            run_pods(lite, ns, "app=x")
            assert drain.wait(DEADLINE) == 0
            assert "node/d1 drained" in drain.stdout.read()
        finally:
            drain.kill()
            drain.wait()
    finally:
        lite.kubectl("delete", "node", "d1")


# ---- workloads ----


def deployment(name, ns, replicas=2, image="one"):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": ns},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0},
            },
        },
    }


def test_scale_and_rollout_status(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=deployment("d", ns))

    def settled(image, count):
        run_pods(lite, ns, "app=d")
        pods = lite.get("pods", "-n", ns, "-l", "app=d")["items"]
        status = lite.get("deployment", "d", "-n", ns).get("status", {})
        return (
            len(pods) == count
            and all(p["spec"]["containers"][0]["image"] == image for p in pods)
            and status.get("availableReplicas", 0) == count
            and status.get("updatedReplicas", 0) == count
        )

    wait_for("two run", lambda: settled("one", 2))
    assert "successfully rolled out" in lite.kubectl("rollout", "status", "deployment/d", "-n", ns, "--timeout=20s")
    lite.kubectl("scale", "deployment/d", "-n", ns, "--replicas=4")
    wait_for("four run", lambda: settled("one", 4))
    lite.kubectl("scale", "deployment/d", "-n", ns, "--replicas=1")
    wait_for("one runs", lambda: settled("one", 1))
    lite.kubectl("set", "image", "deployment/d", "-n", ns, "c=two")
    wait_for("the new image runs", lambda: settled("two", 1))
    assert "successfully rolled out" in lite.kubectl("rollout", "status", "deployment/d", "-n", ns, "--timeout=20s")
    history = lite.kubectl("rollout", "history", "deployment/d", "-n", ns)
    assert re.search(r"^1 ", history, re.M) and re.search(r"^2 ", history, re.M)
    lite.kubectl("rollout", "undo", "deployment/d", "-n", ns)
    wait_for("the old image runs again", lambda: settled("one", 1))
    lite.kubectl("rollout", "restart", "deployment/d", "-n", ns)


def test_scale_of_a_custom_resource(lite, ns):
    w = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": ns}, "spec": {"size": 3}}
    lite.kubectl("create", "-f", "-", stdin=w)
    lite.kubectl("scale", "widget/w", "-n", ns, "--replicas=5")
    assert lite.get("widget", "w", "-n", ns)["spec"]["replicas"] == 5


def test_wait_sees_conditions_and_deletion(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns))
    waiting = lite.kubectl_start("wait", "--for=condition=Ready", "pod/p", "-n", ns, f"--timeout={DEADLINE}s")
    try:
        wait_for("it is placed", lambda: lite.get("pod", "p", "-n", ns)["spec"].get("nodeName"))
        run_pods(lite, ns, "app=x")
        assert waiting.wait(DEADLINE) == 0
    finally:
        waiting.kill()
        waiting.wait()
    lite.kubectl("delete", "pod", "p", "-n", ns, "--now", "--wait=false")
    waiting = lite.kubectl_start("wait", "--for=delete", "pod/p", "-n", ns, f"--timeout={DEADLINE}s")
    try:
        run_pods(lite, ns, "app=x")
        assert waiting.wait(DEADLINE) == 0
    finally:
        waiting.kill()
        waiting.wait()


def test_delete_takes_one_many_and_all(lite, ns):
    for name in ("a", "b", "c"):
        lite.kubectl("create", "configmap", name, "-n", ns)
        lite.kubectl("label", "configmap", name, "-n", ns, f"g={'x' if name == 'c' else 'y'}")
    lite.kubectl("delete", "configmap", "a", "-n", ns)
    lite.kubectl("delete", "configmap", "-n", ns, "-l", "g=x")
    left = lite.kubectl("get", "configmap", "-n", ns, "-o", "name").split()
    assert left == ["configmap/b", "configmap/kube-root-ca.crt"]
    lite.kubectl("delete", "configmap", "--all", "-n", ns)
    wait_for("only the server's own comes back", lambda: lite.kubectl("get", "configmap", "-n", ns, "-o", "name").split() == ["configmap/kube-root-ca.crt"])
    assert "NotFound" in lite.kubectl("delete", "configmap", "a", "-n", ns, ok=False)


def test_delete_follows_the_cascade_asked_for(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=deployment("d", ns, replicas=1))
    pods = lambda: lite.kubectl("get", "pods", "-n", ns, "-o", "name").split()  # noqa: E731
    sets = lambda: lite.kubectl("get", "rs", "-n", ns, "-o", "name").split()  # noqa: E731
    wait_for("the Pod", lambda: len(pods()) == 1)
    lite.kubectl("delete", "deployment", "d", "-n", ns, "--cascade=orphan")
    rs = lite.get("rs", "-n", ns)["items"]
    assert len(rs) == 1 and "ownerReferences" not in rs[0]["metadata"]
    lite.kubectl("delete", "rs", "--all", "-n", ns, "--cascade=foreground", "--wait=false")
    run_pods(lite, ns, "app=d")
    wait_for("both are gone", lambda: (run_pods(lite, ns, "app=d") or True) and pods() == [] and sets() == [])


def test_a_namespace_takes_everything_with_it(lite):
    lite.kubectl("create", "namespace", "gone")
    wait_for("its service account", lambda: lite.kubectl("get", "sa", "-n", "gone", "-o", "name").strip())
    lite.kubectl("create", "-f", "-", stdin=pod("p", "gone", schedulerName="nobody"))
    lite.kubectl("create", "-f", "-", stdin={"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "gone"}, "spec": {"size": 1}})
    lite.kubectl("delete", "namespace", "gone", f"--timeout={DEADLINE}s")
    assert "NotFound" in lite.kubectl("get", "namespace", "gone", ok=False)
    assert "this namespace may not be deleted" in lite.kubectl("delete", "namespace", "default", ok=False)


def test_events_are_listed(lite, ns):
    lite.kubectl("create", "-f", "-", stdin=pod("p", ns, nodeSelector={"no": "such"}))
    text = wait_for("the event", lambda: re.search(r"FailedScheduling +Pod/p +0/\d nodes are available: .*", lite.kubectl("events", "-n", ns)))
    assert "didn't match Pod's node affinity/selector" in text.group(0)
    assert "FailedScheduling" in lite.kubectl("get", "events.events.k8s.io", "-n", ns)


# ---- who may ----


def test_auth_can_i(lite, ns):
    assert lite.kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    assert "kubernetes-admin" in lite.kubectl("auth", "whoami")
    assert "*.*" in lite.kubectl("auth", "can-i", "--list")


def test_auth_can_i_as_somebody_else(lite, ns):
    joe, account = "--as=joe", f"--as=system:serviceaccount:{ns}:default"
    lite.kubectl("create", "role", "reader", "-n", ns, "--verb=get,list", "--resource=pods")
    lite.kubectl("create", "rolebinding", "joe", "-n", ns, "--role=reader", "--user=joe")
    lite.kubectl("create", "rolebinding", "accounts", "-n", ns, "--role=reader", f"--group=system:serviceaccounts:{ns}")
    lite.kubectl("create", "rolebinding", "crew", "-n", ns, "--role=reader", "--group=crew")
    for who in ([joe], [account], ["--as=ann", "--as-group=others", "--as-group=crew"]):
        assert lite.kubectl("auth", "can-i", "list", "pods", "-n", ns, *who).strip() == "yes"
        assert "no" in lite.kubectl("auth", "can-i", "delete", "pods", "-n", ns, *who, ok=False)
        assert "no" in lite.kubectl("auth", "can-i", "list", "pods", "-n", "default", *who, ok=False)
    lite.kubectl("get", "pods", "-n", ns, joe)
    assert 'User "joe" cannot list resource "nodes"' in lite.kubectl("get", "nodes", joe, ok=False)
    assert "joe" in lite.kubectl("auth", "whoami", joe)


def test_the_kubeconfig_is_for_the_owner_only(lite):
    for name in ("kubeconfig", "token", "ca.key"):
        assert stat.S_IMODE((lite.data / name).stat().st_mode) == 0o600
    assert lite.token not in json.dumps(lite.process.args)


def test_version_and_cluster_info(lite):
    assert "Server Version: v1." in lite.kubectl("version")
    assert lite.kubectl("get", "--raw", "/readyz") == "ok"
    assert "is running at" in lite.kubectl("cluster-info")


def test_deleting_a_definition_takes_its_objects(lite):
    crd = json.loads(json.dumps(CRD).replace("widget", "gizmo").replace("Widget", "Gizmo").replace('"wd"', '"gz"'))
    lite.kubectl("create", "-f", "-", stdin=crd)
    lite.kubectl("wait", "--for=condition=Established", "crd/gizmos.example.com", f"--timeout={DEADLINE}s")
    g = {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "g", "namespace": "default"}, "spec": {"size": 1}}
    lite.kubectl("create", "-f", "-", stdin=g)
    lite.kubectl("delete", "crd", "gizmos.example.com", f"--timeout={DEADLINE}s")
    assert "NotFound" in lite.kubectl("get", "gizmos", ok=False)
    assert lite.call("GET", "/apis/example.com/v1/gizmos").status == 404
