# SPDX-License-Identifier: GPL-2.0-or-later
"""The roles of the charts are what the daemons need, and nothing else: each daemon runs as the service account of its chart while all that it
does happens once; the API's audit log then says what it asked for."""

import subprocess
import urllib.request

import pytest
from lite_server import BUILD, node
from rights import asked, granted, refused, requests
from provisioner import Provisioner
from test_scheduler_volumes import claim, storage_class, volume, with_claim
from world import DEV, PREFIX, REAL

NS = "slurm"
ACCOUNTS = {"operator": "sunk-operator", "syncer": "slurm-syncer", "scheduler": "slurm-scheduler", "login": "slurm-login"}
# Rights that no daemon asks for in here, and why they are there.
UNSEEN = {
    ("sunk.coreweave.com", "nodesets/finalizers", "update"): "wanted by an admission plugin, for blockOwnerDeletion",
    ("events.k8s.io", "events", "patch"): "repeated events are counted into one, a minute later",
}
WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--accounts", "--cpus", "16"), "nodes": 2}

pytestmark = pytest.mark.skipif(
    subprocess.run([DEV / "helm", "--path"], capture_output=True, check=False).returncode != 0, reason="no helm: dev/helm --make builds one"
)


@pytest.fixture(name="volumes", scope="module")
def made_volumes(world):
    made = Provisioner(world) if REAL else None
    yield
    if made:
        made.close()


def log(world):
    return world.dir / "log/audit.jsonl"


def rendered(world):
    return (world.dir / "accounts/accounts.yaml").read_text()


def run_pods(world, space):
    """A Pod that runs and ends, one with a volume, one that Slurm ends, one that is refused."""
    claim(space, "data")
    done = with_claim(space, "done", "data", "exit 0")
    storage_class(world, "static", "kubernetes.io/no-provisioner")
    volume(world, "static-1", "static", "k1")
    claim(space, "here", "static")
    with_claim(space, "on-a-disk", "here", "exit 0").job_ends("COMPLETED")
    refused_one = space.pod("refused", grace=1000)
    world.until("a Pod that cannot be has an event", refused_one.events)
    done.job_ends("COMPLETED")
    ended = space.pod("ended").running()
    world.scancel(ended.job_id())
    ended.vanishes()


def look_around(world, space):
    """What a person in the login Pod does."""
    program, config = BUILD / "src/cmd/sunk", ("--kubeconfig", world.dir / "accounts/login.kubeconfig")
    pod = space.pod("looked-at").running()
    world.run(program, "status", *config)
    world.run(program, "explain", "pod", f"{space.ns}/looked-at", *config)
    world.run(program, "explain", "node", pod.node(), *config)
    world.run(program, "explain", "job", pod.job_id(), *config)


def drain_and_reboot(world):
    """A drain that crosses over, a cordon that does, and a reboot through the hook API."""
    world.scontrol("update", "nodename=n1", "state=drain", "reason=by hand")
    node_of = "/api/v1/nodes/k1"
    world.until(
        "the Node says so", lambda: world.call("GET", node_of).json["metadata"].get("annotations", {}).get(PREFIX + "drain") == "by hand"
    )
    world.resume("n1")
    world.change_node("k1", spec={"unschedulable": True})
    world.until("Slurm hears of the cordon", lambda: "k8s: cordon" in world.node_reason("n1"))
    world.change_node("k1", spec={"unschedulable": False})
    world.until("and of its end", lambda: not world.is_drained("n1"))
    words = world.kill_part("syncer")
    at = words[words.index("--hook-listen") + 1]
    world.start_part("syncer", world.dir / "syncer", "--node-permissions")
    token = (world.dir / "hook-token").read_text().strip()
    request = urllib.request.Request(f"http://{at}/v1/nodes/n1/reboot", data=b"", headers={"Authorization": f"Bearer {token}"})

    def rebooted():
        try:
            with urllib.request.urlopen(request, timeout=10) as r:
                return r.status == 200
        except OSError:
            return False

    world.until("the reboot is asked for", rebooted)


def grow_and_shrink(world):
    """A NodeSet on Nodes that nobody runs: made, shrunk and deleted."""
    for name, address in (("x1", "10.1.2.3"), ("x2", "10.1.2.4")):
        one = node(name, rbac="yes")
        one["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
        assert world.call("POST", "/api/v1/nodes", one).status == 201
    spec = {"nodeSelector": {"rbac": "yes"}, "template": {"spec": {"containers": [{"name": "slurmd", "image": "slurmd"}]}}}
    path = f"/apis/sunk.coreweave.com/v1alpha1/namespaces/{NS}/nodesets"
    body = {"apiVersion": "sunk.coreweave.com/v1alpha1", "kind": "NodeSet", "metadata": {"name": "x", "namespace": NS}, "spec": spec}
    made = world.call("POST", path, body)
    assert made.status == 201, made.text

    def pods():
        found = world.call("GET", f"/api/v1/namespaces/{NS}/pods?labelSelector={PREFIX}nodeset%3Dx").json["items"]
        return {p["metadata"]["name"]: p for p in found}

    def nobody_ran():
        """What is marked for deletion goes: nothing can have run there."""
        for name, pod in pods().items():
            if PREFIX + "pending-deletion" in pod["metadata"].get("annotations", {}):
                world.kubectl("annotate", "--overwrite", "pod", "-n", NS, name, PREFIX + "force-delete=", ok=None)
            if "deletionTimestamp" in pod["metadata"]:
                world.call("DELETE", f"/api/v1/namespaces/{NS}/pods/{name}?gracePeriodSeconds=0")
        return True

    world.until("both Nodes have a Pod", lambda: len(pods()) == 2)
    world.kubectl("scale", "-n", NS, "nset/x", "--replicas=1")
    world.until("one goes", lambda: nobody_ran() and len(pods()) == 1)
    world.kubectl("delete", "-n", NS, "nset", "x", "--wait=false")
    world.until("all is gone", lambda: nobody_ran() and not pods() and world.call("GET", f"{path}/x").status == 404)


def test_the_roles_of_the_charts_are_what_the_daemons_ask_for(world, space, volumes):
    run_pods(world, space)
    look_around(world, space)
    drain_and_reboot(world)
    grow_and_shrink(world)
    for part, account in ACCOUNTS.items():
        assert not refused(log(world), NS, account), f"{part} may not do what it wants to"
        rights, used = granted(rendered(world), NS, account), asked(log(world), NS, account)
        assert used <= rights, f"{part}: {used - rights}"
        assert rights - used <= set(UNSEEN), f"{part} may do what it never does: {rights - used - set(UNSEEN)}"
        assert rights and used


def test_leases_are_held_to_their_names(world):
    leases = {p: {e["objectRef"].get("name") for e in requests(log(world), NS, a) if e["objectRef"]["resource"] == "leases"} for p, a in ACCOUNTS.items() if p != "login"}
    for part, names in leases.items():
        others = set().union(*(n for p, n in leases.items() if p != part)) - {None}
        assert len(names - {None}) == 1, names
        for name in others:
            r = world.run("kubectl", "--kubeconfig", world.dir / f"accounts/{part}.kubeconfig", "get", "lease", "-n", NS, name, ok=False)
            assert "forbidden" in r.lower(), r


def test_a_missing_right_is_said_and_not_forgotten(world, space):
    """The test above can fail: without the right to bind, Pods wait, the daemon says why, and goes on when it has it."""
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/slurm-slurm-scheduler-pods"
    before = world.call("GET", role).json
    rules = [r for r in before["rules"] if r["resources"] != ["pods/binding"]]
    assert world.call("PUT", role, {**before, "rules": rules, "metadata": {"name": before["metadata"]["name"]}}).status == 200
    pod = space.pod("unbound")
    world.until("it was refused", lambda: ("", "pods/binding", "create") in refused(log(world), NS, "slurm-scheduler"))
    assert pod.node() is None
    world.until("it says so", lambda: "forbidden" in world.tail("log/scheduler.log").lower() or "forbidden" in str(pod.get()).lower())
    assert world.call("PUT", role, {**before, "metadata": {"name": before["metadata"]["name"]}}).status == 200
    pod.running()
