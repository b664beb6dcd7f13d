# SPDX-License-Identifier: GPL-2.0-or-later
"""The controllers of sunk-lite, with the test in the kubelet's place."""

import signal
import time

import pytest
from lite_server import Lite, node, wait_for

pytestmark = pytest.mark.lite_only("tests lite itself")

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
def lite():
    server = Lite("--node-grace", "0")
    try:
        yield server
    finally:
        server.close()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def pod(name, cpu=None, **spec):
    container = {"name": "c", "image": "x"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }


def template(name, **spec):
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "x"}], "terminationGracePeriodSeconds": 0, **spec},
    }


def make(lite, path, body):
    r = lite.call("POST", path, body)
    assert r.status == 201, r.text
    return r.json


def make_node(lite, name, **more):
    make(lite, NODES, node(name, **more))
    wait_for(f"{name} takes Pods", lambda: "taints" not in get(lite, f"{NODES}/{name}")["spec"])


def get(lite, path):
    r = lite.call("GET", path)
    return r.json if r.status == 200 else None


def items(lite, path):
    return lite.call("GET", path).json["items"]


def set_phase(lite, p, phase="Running", ready="True"):
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": now()}]}
    name = p["metadata"]["name"]
    assert lite.call("PATCH", f"{PODS}/{name}/status", {"status": status}, STRATEGIC).status == 200


def bound(lite, name):
    return wait_for(f"{name} is placed", lambda: (get(lite, f"{PODS}/{name}") or {}).get("spec", {}).get("nodeName"))


def condition(obj, kind):
    return next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == kind), None)


def events(lite, reason):
    return [e for e in items(lite, "/api/v1/namespaces/default/events") if e["reason"] == reason]


# ---- the scheduler ----


def test_pods_go_where_they_fit_and_say_why_not(lite):
    make(lite, PODS, pod("early"))
    wait_for("it says so", lambda: condition(get(lite, f"{PODS}/early"), "PodScheduled"))
    c = condition(get(lite, f"{PODS}/early"), "PodScheduled")
    assert (c["status"], c["reason"], c["message"]) == ("False", "Unschedulable", "no nodes available to schedule pods")
    make_node(lite, "n1", cpu="4", zone="a")
    assert bound(lite, "early") == "n1"
    make(lite, PODS, pod("big", cpu="3"))
    assert bound(lite, "big") == "n1"
    make(lite, PODS, pod("second", cpu="2"))
    wait_for("it does not fit", lambda: events(lite, "FailedScheduling"))
    message = wait_for("the reason", lambda: condition(get(lite, f"{PODS}/second"), "PodScheduled"))["message"]
    assert message == "0/1 nodes are available: 1 Insufficient cpu."
    make_node(lite, "n2", cpu="4", zone="b")
    assert bound(lite, "second") == "n2"
    assert any(e["message"] == "Successfully assigned default/second to n2" for e in events(lite, "Scheduled"))


def test_pods_that_ask_for_nothing_are_spread(lite):
    for name in ("n1", "n2", "n3"):
        make_node(lite, name)
    for i in range(9):
        make(lite, PODS, pod(f"p{i}"))
    wait_for("all are placed", lambda: all(bound(lite, f"p{i}") for i in range(9)))
    where = [bound(lite, f"p{i}") for i in range(9)]
    assert sorted(where.count(n) for n in ("n1", "n2", "n3")) == [3, 3, 3], where


def test_room_that_becomes_free_is_used(lite):
    make_node(lite, "n1", cpu="2")
    make(lite, PODS, pod("first", cpu="2"))
    bound(lite, "first")
    make(lite, PODS, pod("waiting", cpu="2"))
    wait_for("it waits", lambda: condition(get(lite, f"{PODS}/waiting"), "PodScheduled"))
    set_phase(lite, get(lite, f"{PODS}/first"), "Succeeded", "False")
    assert bound(lite, "waiting") == "n1"


def test_selectors_affinity_and_taints_are_honoured(lite):
    make_node(lite, "n1", zone="a")
    make_node(lite, "n2", zone="b")
    make(lite, PODS, pod("by-selector", nodeSelector={"zone": "b"}))
    assert bound(lite, "by-selector") == "n2"
    terms = [{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["b"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    make(lite, PODS, pod("by-affinity", affinity=affinity))
    assert bound(lite, "by-affinity") == "n1"
    lite.call("PATCH", f"{NODES}/n1", {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}, MERGE)
    make(lite, PODS, pod("avoids"))
    assert bound(lite, "avoids") == "n2"
    make(lite, PODS, pod("tolerates", nodeSelector={"zone": "a"}, tolerations=[{"key": "k", "operator": "Exists"}]))
    assert bound(lite, "tolerates") == "n1"
    make(lite, PODS, pod("refused", nodeSelector={"zone": "a"}))
    wait_for("it says so", lambda: condition(get(lite, f"{PODS}/refused"), "PodScheduled"))
    message = condition(get(lite, f"{PODS}/refused"), "PodScheduled")["message"]
    assert "1 node(s) had untolerated taint {k: v}" in message
    assert "1 node(s) didn't match Pod's node affinity/selector" in message


def test_foreign_and_gated_pods_are_left_alone(lite):
    make_node(lite, "n1")
    make(lite, PODS, pod("foreign", schedulerName="other"))
    make(lite, PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    make(lite, PODS, pod("ordinary"))
    bound(lite, "ordinary")
    assert "nodeName" not in get(lite, f"{PODS}/foreign")["spec"]
    assert condition(get(lite, f"{PODS}/gated"), "PodScheduled")["reason"] == "SchedulingGated"
    lite.call("PATCH", f"{PODS}/gated", [{"op": "remove", "path": "/spec/schedulingGates"}], "application/json-patch+json")
    assert bound(lite, "gated") == "n1"


def test_a_priority_class_gives_its_number(lite):
    c = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    make(lite, "/apis/scheduling.k8s.io/v1/priorityclasses", c)
    assert make(lite, PODS, pod("p", priorityClassName="high"))["spec"]["priority"] == 1000
    r = lite.call("POST", PODS, pod("q", priorityClassName="none"))
    assert r.status == 403 and "no PriorityClass with name none was found" in r.json["message"]


# ---- taints and nodes ----


def test_no_execute_taints_evict_by_tolerations(lite):
    make_node(lite, "n1")
    make(lite, PODS, pod("leaves"))
    make(lite, PODS, pod("stays", tolerations=[{"key": "out", "operator": "Exists"}]))
    make(lite, PODS, pod("lingers", tolerations=[{"key": "out", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}]))
    for name in ("leaves", "stays", "lingers"):
        bound(lite, name)
        set_phase(lite, get(lite, f"{PODS}/{name}"))
    start = time.monotonic()
    lite.call("PATCH", f"{NODES}/n1", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}}, MERGE)
    gone = wait_for("one leaves", lambda: "deletionTimestamp" in get(lite, f"{PODS}/leaves")["metadata"] and get(lite, f"{PODS}/leaves"))
    assert condition(gone, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    assert "deletionTimestamp" not in get(lite, f"{PODS}/lingers")["metadata"]
    wait_for("one follows", lambda: "deletionTimestamp" in get(lite, f"{PODS}/lingers")["metadata"])
    assert time.monotonic() - start > 1
    assert "deletionTimestamp" not in get(lite, f"{PODS}/stays")["metadata"]
    assert events(lite, "TaintManagerEviction")


def test_a_taint_taken_back_in_time_evicts_nobody(lite):
    make_node(lite, "n1")
    brief = {"operator": "Exists", "effect": "NoExecute"}
    forgiven = [{"key": "out", "tolerationSeconds": 2, **brief}, {"key": "w", **brief}]
    make(lite, PODS, pod("forgiven", tolerations=forgiven))
    make(lite, PODS, pod("witness", tolerations=[{"key": "out", **brief}, {"key": "w", "tolerationSeconds": 3, **brief}]))
    bound(lite, "forgiven")
    bound(lite, "witness")
    for key in ("out", "w"):  # the second takes the place of the first
        lite.call("PATCH", f"{NODES}/n1", {"spec": {"taints": [{"key": key, "effect": "NoExecute"}]}}, MERGE)
    wait_for("a later one left", lambda: "deletionTimestamp" in get(lite, f"{PODS}/witness")["metadata"])
    assert "deletionTimestamp" not in get(lite, f"{PODS}/forgiven")["metadata"]


def test_a_silent_node_becomes_unreachable_and_comes_back():
    lite = Lite("--node-grace", "1500ms")
    try:
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n1"}, "spec": {"holderIdentity": "n1"}}

        def renew():
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 1000 % 1000000:06d}Z"
            body = {"spec": {"renewTime": stamp}}
            return lite.call("PATCH", f"{leases}/n1", body, MERGE).status == 200

        make(lite, NODES, node("n1"))
        make(lite, leases, lease)
        make(lite, PODS, pod("p"))
        bound(lite, "p")
        set_phase(lite, get(lite, f"{PODS}/p"))
        end = time.monotonic() + 3
        while time.monotonic() < end:  # twice the grace
            assert renew()
            assert condition(get(lite, f"{NODES}/n1"), "Ready")["status"] == "True"
            time.sleep(0.2)
        wait_for("silence is noticed", lambda: condition(get(lite, f"{NODES}/n1"), "Ready")["status"] == "Unknown")
        wait_for("it is tainted", lambda: len(get(lite, f"{NODES}/n1")["spec"].get("taints", [])) == 2)
        taints = {(t["key"], t["effect"]) for t in get(lite, f"{NODES}/n1")["spec"]["taints"]}
        assert taints == {("node.kubernetes.io/unreachable", e) for e in ("NoSchedule", "NoExecute")}
        wait_for("its Pod is not ready", lambda: condition(get(lite, f"{PODS}/p"), "Ready")["status"] == "False")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        lite.call("PATCH", f"{NODES}/n1/status", {"status": {"conditions": [ready]}}, STRATEGIC)
        wait_for("the taints go", lambda: renew() and "taints" not in get(lite, f"{NODES}/n1")["spec"])
    finally:
        lite.close()


# ---- workloads ----


def test_a_replicaset_replaces_what_it_loses(lite):
    make_node(lite, "n1")
    rs = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "r"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "r"}}, "template": template("r")},
    }
    make(lite, "/apis/apps/v1/namespaces/default/replicasets", rs)
    alive = lambda: [p for p in items(lite, PODS + "?labelSelector=app%3Dr") if "deletionTimestamp" not in p["metadata"]]  # noqa: E731
    first = wait_for("two Pods", lambda: len(alive()) == 2 and alive())
    names = {p["metadata"]["name"] for p in first}
    lite.call("DELETE", f"{PODS}/{first[0]['metadata']['name']}?gracePeriodSeconds=0")
    wait_for("a new one", lambda: len(alive()) == 2 and {p["metadata"]["name"] for p in alive()} != names)
    for p in alive():
        bound(lite, p["metadata"]["name"])
        set_phase(lite, p)
    status = lambda: get(lite, "/apis/apps/v1/namespaces/default/replicasets/r")["status"]  # noqa: E731
    wait_for("both are counted", lambda: status().get("availableReplicas") == 2)
    set_phase(lite, alive()[0], "Failed", "False")
    wait_for("the failed one is replaced", lambda: len([p for p in alive() if p["status"]["phase"] != "Failed"]) == 2)
    owner = alive()[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("ReplicaSet", "r", True)


def test_a_rolling_update_never_goes_below_what_it_may(lite):
    make_node(lite, "n1")
    d = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 4,
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            "selector": {"matchLabels": {"app": "d"}},
            "template": template("d"),
        },
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    make(lite, path, d)
    lowest, most = 99, 0

    def step(image):
        nonlocal lowest, most
        pods = [p for p in items(lite, PODS + "?labelSelector=app%3Dd")]
        for p in pods:
            if "deletionTimestamp" in p["metadata"]:
                lite.call("DELETE", f"{PODS}/{p['metadata']['name']}?gracePeriodSeconds=0")
            elif p["spec"].get("nodeName") and p["status"]["phase"] == "Pending":
                set_phase(lite, p)
        live = [p for p in pods if "deletionTimestamp" not in p["metadata"]]
        ready = [p for p in live if (condition(p, "Ready") or {}).get("status") == "True"]
        lowest, most = min(lowest, len(ready)), max(most, len(live))
        right = [p for p in ready if p["spec"]["containers"][0]["image"] == image]
        return len(right) == 4 and len(live) == 4 and get(lite, f"{path}/d")["status"].get("availableReplicas") == 4

    wait_for("it runs", lambda: step("x"))
    lowest, most = 99, 0
    change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}}
    assert lite.call("PATCH", f"{path}/d", change, STRATEGIC).status == 200
    wait_for("it runs anew", lambda: step("y"))
    assert lowest >= 3 and most <= 5
    done = get(lite, f"{path}/d")
    assert condition(done, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


def test_a_daemonset_is_on_every_node_that_takes_it(lite):
    make_node(lite, "n1", role="yes")
    make_node(lite, "n2", role="yes")
    make_node(lite, "n3")
    ds = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": template("d", nodeSelector={"role": "yes"})},
    }
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    make(lite, path, ds)
    where = lambda: sorted(p["spec"].get("nodeName", "?") for p in items(lite, PODS) if "deletionTimestamp" not in p["metadata"])  # noqa: E731
    wait_for("one on each", lambda: where() == ["n1", "n2"])
    make_node(lite, "n4", role="yes")
    wait_for("the new node has one", lambda: where() == ["n1", "n2", "n4"])
    lite.call("PATCH", f"{NODES}/n1", {"metadata": {"labels": {"role": "no"}}}, MERGE)
    wait_for("it leaves a node that is no longer for it", lambda: where() == ["n2", "n4"])
    for p in items(lite, PODS):
        set_phase(lite, p)
    status = lambda: get(lite, f"{path}/d")["status"]  # noqa: E731
    wait_for("they count", lambda: (status().get("numberReady"), status().get("desiredNumberScheduled")) == (2, 2))
    lite.call("PATCH", f"{path}/d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}}, STRATEGIC)

    def rolled():
        for p in items(lite, PODS):
            if "deletionTimestamp" in p["metadata"]:
                lite.call("DELETE", f"{PODS}/{p['metadata']['name']}?gracePeriodSeconds=0")
            elif p["spec"].get("nodeName") and p["status"]["phase"] == "Pending":
                set_phase(lite, p)
        return status().get("updatedNumberScheduled") == 2 and status().get("numberReady") == 2

    wait_for("all are new", rolled)


def job(name, **spec):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}, **spec},
    }


JOBS = "/apis/batch/v1/namespaces/default/jobs"


def pods_of_job(lite, name):
    return [p for p in items(lite, PODS + f"?labelSelector=job-name%3D{name}") if "deletionTimestamp" not in p["metadata"]]


def test_a_job_completes(lite):
    make_node(lite, "n1")
    make(lite, JOBS, job("j", completions=3, parallelism=2))
    done = set()
    while len(done) < 3:
        pods = wait_for("a Pod runs", lambda: [p for p in pods_of_job(lite, "j") if p["metadata"]["name"] not in done])
        assert len([p for p in pods if p["status"]["phase"] == "Pending"]) <= 2
        set_phase(lite, pods[0], "Succeeded", "False")
        done.add(pods[0]["metadata"]["name"])
    wait_for("it is complete", lambda: condition(get(lite, f"{JOBS}/j"), "Complete"))
    status = get(lite, f"{JOBS}/j")["status"]
    assert status["succeeded"] == 3 and "completionTime" in status and "active" not in status


def test_a_job_gives_up(lite):
    make_node(lite, "n1")
    make(lite, JOBS, job("j", backoffLimit=0))
    pods = wait_for("its Pod", lambda: pods_of_job(lite, "j"))
    set_phase(lite, pods[0], "Failed", "False")
    failed = wait_for("it gives up", lambda: condition(get(lite, f"{JOBS}/j"), "Failed"))
    assert failed["reason"] == "BackoffLimitExceeded"


def test_a_finished_job_goes_when_its_time_is_over(lite):
    make_node(lite, "n1")
    make(lite, JOBS, job("j", ttlSecondsAfterFinished=1))
    pods = wait_for("its Pod", lambda: pods_of_job(lite, "j"))
    set_phase(lite, pods[0], "Succeeded", "False")
    wait_for("it is gone", lambda: get(lite, f"{JOBS}/j") is None)
    wait_for("its Pod too", lambda: items(lite, PODS) == [])


# ---- owners ----


MAPS = "/api/v1/namespaces/default/configmaps"


def config(name, owner=None, **ref):
    c = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    if owner:
        c["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], **ref}
        ]
    return c


def test_what_an_owner_leaves_goes_with_it(lite):
    a = make(lite, MAPS, config("a"))
    b = make(lite, MAPS, config("b", a))
    make(lite, MAPS, config("c", b))
    lite.call("DELETE", f"{MAPS}/a")
    wait_for("all are gone", lambda: not get(lite, f"{MAPS}/b") and not get(lite, f"{MAPS}/c"))


def test_an_owner_of_another_life_is_no_owner(lite):
    a = make(lite, MAPS, config("a"))
    lite.call("DELETE", f"{MAPS}/a")
    make(lite, MAPS, config("a"))
    make(lite, MAPS, config("b", a))
    wait_for("it is gone", lambda: not get(lite, f"{MAPS}/b"))
    assert get(lite, f"{MAPS}/a")


def test_one_of_two_owners_is_enough(lite):
    a, x = make(lite, MAPS, config("a")), make(lite, MAPS, config("x"))
    b = config("b", a)
    b["metadata"]["ownerReferences"] += config("b", x)["metadata"]["ownerReferences"]
    make(lite, MAPS, b)
    lite.call("DELETE", f"{MAPS}/a")
    wait_for("one reference is dropped", lambda: len(get(lite, f"{MAPS}/b")["metadata"]["ownerReferences"]) == 1)
    assert get(lite, f"{MAPS}/b")["metadata"]["ownerReferences"][0]["name"] == "x"


def test_foreground_waits_for_those_that_block(lite):
    a = make(lite, MAPS, config("a"))
    b = config("b", a, blockOwnerDeletion=True)
    b["metadata"]["finalizers"] = ["example.com/hold"]
    make(lite, MAPS, b)
    r = lite.call("DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"})
    assert r.json["metadata"]["finalizers"] == ["foregroundDeletion"]
    wait_for("the dependent is told", lambda: "deletionTimestamp" in get(lite, f"{MAPS}/b")["metadata"])
    assert get(lite, f"{MAPS}/a")
    lite.call("PATCH", f"{MAPS}/b", {"metadata": {"finalizers": None}}, MERGE)
    wait_for("both are gone", lambda: not get(lite, f"{MAPS}/a") and not get(lite, f"{MAPS}/b"))


def test_orphans_stay(lite):
    a = make(lite, MAPS, config("a"))
    make(lite, MAPS, config("b", a))
    lite.call("DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"})
    wait_for("the owner is gone", lambda: not get(lite, f"{MAPS}/a"))
    assert "ownerReferences" not in get(lite, f"{MAPS}/b")["metadata"]


def test_controllers_take_up_their_work_after_a_restart(lite):
    make_node(lite, "n1")
    a = make(lite, MAPS, config("a"))
    make(lite, MAPS, config("b", a))
    lite.restart(signal.SIGTERM, "--no-controllers")
    lite.call("DELETE", f"{MAPS}/a")
    make(lite, PODS, pod("p"))
    assert get(lite, f"{MAPS}/b")
    lite.restart()
    assert bound(lite, "p") == "n1"
    wait_for("what the owner left", lambda: not get(lite, f"{MAPS}/b"))


# ---- budgets ----


def test_a_budget_counts_and_an_eviction_spends_it(lite):
    make_node(lite, "n1")
    for name in ("a", "b"):
        make(lite, PODS, pod(name))
        bound(lite, name)
        set_phase(lite, get(lite, f"{PODS}/{name}"))
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}}
    make(lite, path, {**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}})
    status = lambda: get(lite, f"{path}/x")["status"]  # noqa: E731
    wait_for("one may go", lambda: status().get("disruptionsAllowed") == 1)
    assert (status()["currentHealthy"], status()["desiredHealthy"], status()["expectedPods"]) == (2, 1, 2)
    evict = lambda n: lite.call("POST", f"{PODS}/{n}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": n}})  # noqa: E731
    assert evict("a").status == 201
    r = evict("b")
    assert r.status == 429 and r.json["details"]["causes"][0]["reason"] == "DisruptionBudget"
    lite.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    wait_for("the one left counts alone", lambda: (status().get("currentHealthy"), status().get("expectedPods")) == (1, 1))
    assert evict("b").status == 429


# ---- Pods without a node ----


def test_a_scheduled_pod_waits_for_its_kubelet(lite):
    make_node(lite, "n1")
    make(lite, PODS, pod("p", terminationGracePeriodSeconds=30))
    bound(lite, "p")
    r = lite.call("DELETE", f"{PODS}/p")
    assert r.status == 200 and r.json["metadata"]["deletionGracePeriodSeconds"] == 30
    assert lite.call("DELETE", f"{PODS}/p?gracePeriodSeconds=10").json["metadata"]["deletionGracePeriodSeconds"] == 10
    assert lite.call("DELETE", f"{PODS}/p?gracePeriodSeconds=20").json["metadata"]["deletionGracePeriodSeconds"] == 10
    assert lite.call("DELETE", f"{PODS}/p?gracePeriodSeconds=0").status == 200
    assert get(lite, f"{PODS}/p") is None
