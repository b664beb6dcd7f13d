# SPDX-License-Identifier: GPL-2.0-or-later
"""NodeSets, run by `sunk operator` on a Kubernetes API. The test stands in for kubelet and syncer."""

import functools
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from lite_server import BUILD, DEADLINE, ROOT, Kube, node, wait_for

CRDS = ROOT / "charts" / "sunk" / "crds"
LIKE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Like", "values": ["y*"]}]}]
        }
    }
}
SPARE = """              overProvision:
                type: integer
                format: int32
                minimum: 0
                maximum: 100000
                default: 0
"""
PENDING = "sunk.coreweave.com/pending-deletion"


def nodeset(name, **spec):
    return {
        "apiVersion": "sunk.coreweave.com/v1alpha1",
        "kind": "NodeSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "slurmd", "image": "slurmd"}]}}, **spec},
    }


class Cluster(Kube):
    """Three Nodes and an operator, with the definitions of NodeSets or without."""

    def __init__(self, crds=True):
        super().__init__("--node-grace", "0")
        self.operator = None
        if crds:
            self.install()
        for i in range(1, 4):
            one = node(f"k{i}", gpu="yes", zone=f"z{i}")
            one["status"]["addresses"] = [{"type": "InternalIP", "address": f"10.9.12.{i}"}]
            self.kubectl("create", "-f", "-", stdin=one)
        self.start_operator()

    def start_operator(self):
        with open(self.dir / "operator.log", "wb") as log:
            self.operator = subprocess.Popen(
                [str(BUILD / "src/cmd/sunk"), "operator", "--listen", "127.0.0.1:0", "--listen-file", str(self.dir / "at"), "--log-level=debug"],
                env=self.env(POD_NAMESPACE="default", POD_NAME="operator"),
                stdout=log,
                stderr=log,
            )

    def install(self, definitions=CRDS):
        self.kubectl("apply", "-f", str(definitions))
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", f"--timeout={DEADLINE}s")

    def said(self):
        return (self.dir / "operator.log").read_text()

    def is_ready(self):
        at = self.dir / "at"
        url = at.exists() and next((line.split()[1] for line in at.read_text().splitlines() if line.startswith("http ")), None)
        try:
            return url and urllib.request.urlopen(url + "/readyz", timeout=5).status == 200
        except urllib.error.URLError:
            return False

    def close(self):
        if self.operator and self.operator.poll() is None:
            os.kill(self.operator.pid, signal.SIGTERM)
            self.operator.wait(DEADLINE)
        if self.operator:
            print(self.said()[-4000:])
        super().close()


@pytest.fixture
def lite():
    server = Cluster()
    try:
        yield server
        assert server.operator.poll() is None, server.said()
    finally:
        server.close()


def pods(lite):
    """By name; every bound one runs and is ready, as far as Kubernetes goes."""
    found = {p["metadata"]["name"]: p for p in lite.get("pods", "-l", "sunk.coreweave.com/nodeset")["items"]}
    for name, p in found.items():
        if "deletionTimestamp" in p["metadata"]:
            lite.call("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
        elif p["spec"].get("nodeName") and p["status"].get("phase") == "Pending":
            say(lite, name, phase="Running", Ready="True")
    return found


def say(lite, name, phase=None, **conditions):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status = {"conditions": [{"type": k, "status": v, "lastTransitionTime": now} for k, v in conditions.items()]}
    for c in status["conditions"]:  # as the syncer says of a Pod that is to go
        idle = c["type"] == "SlurmDrain" and c["status"] == "True" and conditions["SlurmRunning"] == "False"
        c["reason"] = "DrainedForDeletion" if idle else "Whatever"
    if phase:
        status["phase"] = phase
    lite.call(
        "PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status}, "application/strategic-merge-patch+json"
    )


def status(lite, name):
    return lite.get("nset", name).get("status", {})


def marked(lite):
    return {n for n, p in pods(lite).items() if PENDING in p["metadata"].get("annotations", {})}


def slice_names(lite):
    return sorted(n for s in lite.get("nslice")["items"] for n in s["nodes"])


def running(lite, *names):
    wait_for("its Pods run", lambda: {n for n, p in pods(lite).items() if p["status"].get("phase") == "Running"} == set(names))


def test_a_nodeset_grows_shrinks_and_updates_without_ending_a_job(lite):
    lite.kubectl("create", "-f", "-", stdin=nodeset("main", nodeSelector={"gpu": "yes"}, features=["dyn"], featureLabels=["zone"]))
    all_three = ["main-012-001", "main-012-002", "main-012-003"]
    running(lite, *all_three)
    wait_for("the status", lambda: status(lite, "main").get("ready") == 3 and slice_names(lite) == all_three)
    one = pods(lite)["main-012-002"]
    assert one["spec"]["nodeName"] == "k2"
    assert one["metadata"]["annotations"]["sunk.coreweave.com/features"] == "dyn,z2"
    assert one["metadata"]["ownerReferences"][0]["kind"] == "NodeSet"
    assert {"key": "sunk.coreweave.com/lock", "operator": "Exists", "effect": "NoExecute"} in one["spec"]["tolerations"]
    assert [c["status"] for c in status(lite, "main")["conditions"]] == ["True"]

    # a job runs on the first two: the third is given up, and only when it is drained
    for name, busy in zip(all_three, ("True", "True", "False")):
        say(lite, name, SlurmRunning=busy, SlurmDrain="False")
    lite.kubectl("scale", "nset/main", "--replicas=1")
    wait_for("two are to go", lambda: len(marked(lite)) == 2 and "main-012-003" in marked(lite))
    wait_for("it says so", lambda: status(lite, "main").get("leaving") == 2)
    assert set(pods(lite)) == set(all_three)
    say(lite, "main-012-003", SlurmRunning="False", SlurmDrain="True")
    wait_for("the idle one is gone", lambda: set(pods(lite)) == set(all_three[:2]))
    wait_for("its name is in no slice", lambda: slice_names(lite) == all_three[:2])
    assert "wait until their Slurm nodes are drained" in str(status(lite, "main")["conditions"])
    say(lite, "main-012-002", SlurmRunning="True", SlurmDrain="True")
    assert set(pods(lite)) == set(all_three[:2])
    say(lite, "main-012-002", SlurmRunning="False", SlurmDrain="True")
    wait_for("the other is gone when its job is", lambda: set(pods(lite)) == {"main-012-001"})

    # an update waits for the job as well
    patch = '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"slurmd:2"}]'
    lite.kubectl("patch", "nset", "main", "--type=json", "-p", patch)
    wait_for("it is to go", lambda: marked(lite) == {"main-012-001"})
    say(lite, "main-012-001", SlurmRunning="False", SlurmDrain="True")
    wait_for("it is made anew", lambda: [p["spec"]["containers"][0]["image"] for p in pods(lite).values()] == ["slurmd:2"])

    # deleting the set waits for its Pods
    (name,) = pods(lite)  # perhaps on another Node: one that was free
    running(lite, name)
    say(lite, name, SlurmRunning="True", SlurmDrain="False")
    lite.kubectl("delete", "nset", "main", "--wait=false")
    wait_for("it is to go", lambda: marked(lite) == {name})
    say(lite, name, SlurmRunning="False", SlurmDrain="True")
    wait_for("all is gone", lambda: not pods(lite) and not lite.get("nset")["items"])


def test_two_nodesets_share_no_node(lite):
    lite.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": [nodeset("a", replicas=2), nodeset("b")]})
    wait_for("every Node has one Pod", lambda: len(pods(lite)) == 3)
    wait_for("all are bound", lambda: sorted(p["spec"].get("nodeName", "") for p in pods(lite).values()) == ["k1", "k2", "k3"])
    assert len({n.split("-", 1)[1] for n in pods(lite)}) == 3


def test_what_cannot_be_is_said(lite):
    lite.kubectl("create", "-f", "-", stdin=nodeset("none", nodeSelector={"gpu": "no"}))
    wait_for("the condition", lambda: "no Node fits" in str(status(lite, "none").get("conditions")))
    wait_for("the event", lambda: "NoFeasibleNode" in lite.kubectl("get", "events"))


def second_name(prefix, node):
    """What a NodeSet takes when PREFIX-012-00N is another's: four letters of the Node's name (FNV-1a)."""
    h = 14695981039346656037
    for byte in node.encode():
        h = (h ^ byte) * 1099511628211 % 2**64
    return f"{prefix}-012-{node.replace('k', '00')}-{h % 2**16:04x}"


def test_names_that_others_have_are_left_to_them_and_said_when_none_is_left(lite):
    taken = ["main-012-001", "main-012-002", second_name("main", "k2")]
    for name in taken:
        lite.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
    lite.kubectl("create", "-f", "-", stdin=nodeset("main"))
    wait_for("two Nodes have one", lambda: set(pods(lite)) == {second_name("main", "k1"), "main-012-003"})
    says(lite, "NameClash", "for 1 Nodes every name is taken by another Pod: give the NodeSet a namePrefix of its own")
    assert len(lite.get("pods")["items"]) == 5


def test_without_the_definitions_the_operator_is_ready_says_so_and_begins_when_they_come():
    bare = Cluster(crds=False)
    try:
        wait_for("it is ready all the same", bare.is_ready)
        wait_for("it says what is missing", lambda: "NodeSets wait for their definitions (charts/sunk/crds)" in bare.said())
        slurmd = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "n1", "annotations": {"sunk.coreweave.com/lock-request": "normal", "sunk.coreweave.com/lock-epoch": "1"},
                         "labels": {"sunk.coreweave.com/nodeset": "main"}},
            "spec": {"nodeName": "k1", "tolerations": [{"operator": "Exists"}], "containers": [{"name": "slurmd", "image": "slurmd"}]},
        }  # fmt: skip
        bare.kubectl("create", "-f", "-", stdin=slurmd)
        wait_for("locks work", lambda: bare.get("node", "k1")["metadata"].get("annotations", {}).get("sunk.coreweave.com/lock") == "locked")
        bare.install()
        bare.kubectl("create", "-f", "-", stdin=nodeset("main"))
        wait_for("NodeSets work", lambda: len(pods(bare)) == 3, 60)
        assert bare.operator.poll() is None
    finally:
        bare.close()


def later(lite, tmp_path, old, new):
    """The definition as a later version may have it."""
    text = (CRDS / "nodesets.yaml").read_text()
    assert text.count(old) == 1
    (tmp_path / "nodesets.yaml").write_text(text.replace(old, new))
    lite.install(tmp_path / "nodesets.yaml")


def patch(lite, *changes):
    """The first is of a definition that the server may not go by yet: then it would refuse or drop it."""
    args = ("patch", "nset", "main", "--type=json", "-p", json.dumps([{"op": "add", "path": path, "value": value} for path, value in changes]))
    path, value = changes[0]

    def is_known():
        got = lite.kubectl(*args, "--dry-run=server", "-o", "json", ok=None)
        return got and functools.reduce(lambda v, key: v[int(key)] if isinstance(v, list) else v.get(key, {}), path[1:].split("/"), json.loads(got)) == value

    wait_for(f"the server knows {path}", is_known)
    lite.kubectl(*args)


IMAGE = "/spec/template/spec/containers/0/image"


def says(lite, reason, *words):
    """The condition and an event, both with what to do."""
    wait_for(f"the condition says {words}", lambda: all(w in str(status(lite, "main").get("conditions")) for w in (reason, *words)))
    wait_for("so does an event", lambda: any(e["reason"] == reason and all(w in e["message"] for w in words) for e in lite.get("events")["items"]))


def three_run(lite, **spec):
    lite.kubectl("create", "-f", "-", stdin=nodeset("main", **spec))
    wait_for("its Pods run", lambda: len(pods(lite)) == 3 and status(lite, "main").get("ready") == 3)
    return {n: p["metadata"]["uid"] for n, p in pods(lite).items()}


def untouched(lite, before):
    wait_for("no Pod is to go", lambda: not marked(lite))  # a watch of the old definition may have shown less for a moment
    now = pods(lite)
    assert {n: p["metadata"]["uid"] for n, p in now.items()} == before
    assert {p["spec"]["containers"][0]["image"] for p in now.values()} == {"slurmd"}


def test_an_update_strategy_of_a_later_version_leaves_pods_as_they_are(lite, tmp_path):
    later(lite, tmp_path, "enum: [RollingUpdate, OnDelete]", "enum: [RollingUpdate, OnDelete, Canary]")
    before = three_run(lite, updateStrategy={"type": "Canary"})
    patch(lite, (IMAGE, "slurmd:2"))
    says(lite, "UnknownUpdateStrategy", "this operator does not know the updateStrategy: upgrade it")
    untouched(lite, before)


@pytest.mark.parametrize(
    ("old", "new", "path", "value", "words"),
    [
        ("              replicas:\n", "              paused: {type: boolean, description: Later.}\n              replicas:\n", "/spec/paused", True, "spec.paused: this operator does not know that"),
        ("                  maxUnavailable:\n", "                  partition: {type: integer, description: Later.}\n                  maxUnavailable:\n", "/spec/updateStrategy/partition", 2, "spec.updateStrategy.partition: "),
        ("enum: [In, NotIn, Exists, DoesNotExist, Gt, Lt]", "enum: [In, NotIn, Exists, DoesNotExist, Gt, Lt, Like]", "/spec/affinity", LIKE, ".matchExpressions[0].operator 'Like': "),
        (SPARE, "              overProvision:\n                x-kubernetes-preserve-unknown-fields: true\n", "/spec/overProvision", {"zone-a": 1}, "spec.overProvision: expected an integer, got an object: "),
    ],
    ids=["field", "field-inside", "word", "type"],
)  # fmt: skip
def test_what_only_a_later_version_knows_is_said_and_takes_no_pod_away(lite, tmp_path, old, new, path, value, words):
    """All at once: what is strange, fewer replicas, another template. Without the first, two Pods would go and the third be updated."""
    before = three_run(lite)
    later(lite, tmp_path, old, new)
    patch(lite, (path, value), (IMAGE, "slurmd:2"), ("/spec/replicas", 1), ("/spec/nodeSelector", {"gpu": "no"}))
    says(lite, "LaterVersion", words, "upgrade the operator (helm upgrade sunk)")
    untouched(lite, before)
    lite.kubectl("patch", "nset", "main", "--type=json", "-p", json.dumps([{"op": "remove", "path": path}, {"op": "add", "path": "/spec/replicas", "value": 1}]))
    wait_for("without it, the rest counts", lambda: len(marked(lite)) >= 2)


def test_every_field_of_the_definition_is_known(lite):
    """Or the operator of this version would call its own definition one of a later version."""
    import yaml

    schema = yaml.safe_load((CRDS / "nodesets.yaml").read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec = {
        "replicas": 3, "overProvision": 1, "namePrefix": "p", "nameLabel": "name", "nodeSelector": {"gpu": "yes"}, "features": ["f"], "featureLabels": ["zone"],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["yes"]}], "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["k9"]}]}]}}},
        "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 3}],
        "updateStrategy": {"type": "OnDelete", "maxUnavailable": "50%"},
    }  # fmt: skip

    def keys(s, path=""):
        for name, sub in s.get("properties", {}).items():
            yield f"{path}.{name}"
            yield from () if name == "template" else keys(sub, f"{path}.{name}")
        if isinstance(s.get("items"), dict):
            yield from keys(s["items"], path)

    def present(value, path=""):
        if isinstance(value, dict):
            for k, v in value.items():
                yield f"{path}.{k}"
                yield from () if k == "template" else present(v, f"{path}.{k}")
        elif isinstance(value, list):
            for v in value:
                yield from present(v, path)

    one = nodeset("main", **spec)
    assert set(keys(schema)) <= set(present(one["spec"])), "give the new field a value above"
    lite.kubectl("create", "-f", "-", stdin=one)
    wait_for("it works", lambda: len(pods(lite)) == 3 and status(lite, "main").get("ready") == 3)
    assert [c["reason"] for c in status(lite, "main")["conditions"]] == ["AsWanted"]


def test_pods_that_a_later_operator_made_are_not_made_anew(lite):
    before = three_run(lite)
    lite.kubectl("label", "pod", "--all", "--overwrite", "sunk.coreweave.com/revision=v2-00112233")
    says(lite, "LaterVersion", "3 Pods were made by another version of the operator", "upgrade this operator")
    untouched(lite, before)


def test_definitions_that_no_longer_serve_our_version_take_nothing_away(lite, tmp_path):
    before = three_run(lite)

    def serve(wanted):
        for name in ("nodesets", "nodeslices"):
            text = (CRDS / f"{name}.yaml").read_text()
            head, one = text.split("  versions:\n")
            assert one.count("served: true") == one.count("storage: true") == one.count("name: v1alpha1") == 1
            off = one.replace("served: true", "served: false").replace("storage: true", "storage: false")
            versions = "".join((one if v == wanted else off).replace("name: v1alpha1", f"name: {v}") for v in ("v1alpha1", "v1beta1"))
            (tmp_path / f"{name}.yaml").write_text(f"{head}  versions:\n{versions}")
            lite.install(tmp_path / f"{name}.yaml")

    serve("v1beta1")
    assert lite.call("GET", "/apis/sunk.coreweave.com/v1alpha1/nodesets").status == 404
    os.kill(lite.operator.pid, signal.SIGTERM)
    lite.operator.wait(DEADLINE)
    lite.start_operator()
    wait_for("it is ready for the rest", lite.is_ready)
    wait_for("it says what to do", lambda: "upgrade sunk when they are of a later version" in lite.said())
    assert {n: p["metadata"]["uid"] for n, p in pods(lite).items()} == before and not marked(lite)
    assert "was previously a storage version" in lite.kubectl("apply", "-f", str(CRDS), ok=False)
    serve("v1alpha1")
    lite.kubectl("patch", "nset", "main", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    wait_for("it goes on with ours", lambda: len(marked(lite)) == 2, 60)
