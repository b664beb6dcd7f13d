# SPDX-License-Identifier: GPL-2.0-or-later
"""NodeSets on real Slurm: growing, shrinking, updating and losing Nodes under load, and no job ends because of it.

dev/up's own NodeSet "main" is what is tested: slurmd Pods n1 … n4 on Nodes k1 … k4.
"""

import json
import re
import time

import pytest
from world import MERGE, PREFIX

ANY_SLURM = pytest.mark.any_slurm("about the NodeSet alone")
SCHEDULING = "SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5,nohold_on_prolog_fail"  # the last as the chart has it
WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--cpus", "4", "--conf", "SlurmdTimeout=10", "--conf", SCHEDULING), "nodes": 4}
SETS = "/apis/sunk.coreweave.com/v1alpha1/namespaces/slurm/nodesets"
SLICES = "/apis/sunk.coreweave.com/v1alpha1/namespaces/slurm/nodeslices"
PENDING = PREFIX + "pending-deletion"
ALL = {"n1", "n2", "n3", "n4"}


def nodeset(world, name="main"):
    return world.call("GET", f"{SETS}/{name}").json


def change(world, spec, name="main"):
    r = world.call("PATCH", f"{SETS}/{name}", {"spec": spec}, MERGE)
    assert r.status == 200, r.text


def scale(world, n):
    world.kubectl("scale", "nset/main", "-n", "slurm", f"--replicas={n}")


def pods(world):
    r = world.call("GET", f"/api/v1/namespaces/slurm/pods?labelSelector={PREFIX}nodeset%3Dmain")
    return {p["metadata"]["name"]: p for p in r.json["items"]}


def condition(pod, kind):
    return next((c["status"] for c in pod["status"].get("conditions", []) if c["type"] == kind), None)


def ready(world):
    return {n for n, p in pods(world).items() if condition(p, "Ready") == "True" and "deletionTimestamp" not in p["metadata"]}


def marked(world):
    return {n for n, p in pods(world).items() if PENDING in p["metadata"].get("annotations", {})}


def uids(world):
    return {n: p["metadata"]["uid"] for n, p in pods(world).items()}


def slurm_nodes(world, *states):
    out = world.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %t", *(["-t", ",".join(states)] if states else []))
    return {line.split()[0] for line in out.splitlines() if states == () or not line.endswith("*")}


def listed(world):
    return {n for s in world.call("GET", SLICES).json["items"] for n in s["nodes"]}


def reason(world, name="main"):
    """Of the condition Ready: what it waits for, and its sentence."""
    c = next(iter(nodeset(world, name).get("status", {}).get("conditions", [])), {})
    return c.get("reason", ""), c.get("message", "")


def at_rest(world):
    return ready(world) == ALL and slurm_nodes(world, "idle") == ALL and reason(world)[0] == "AsWanted" and not marked(world)


@pytest.fixture(autouse=True)
def four_again(world):
    yield
    if world.call("GET", f"{SETS}/main").status == 404:
        world.kubectl("apply", "-f", world.dir / "nodeset.yaml")
    if any(world.call("GET", f"/api/v1/nodes/{k}").status == 404 for k in ("k3", "k4")):
        world.start_part("agent", *world.kill_part("agent"))  # registers its Nodes again
    change(world, {"replicas": None})
    world.until("all four are back", lambda: at_rest(world), 60)


class Job:
    """One that runs until it is told to end, and ends well."""

    def __init__(self, space, node, *options):
        self.world, self.node = space.world, node
        self.end = space.world.dir / f"end-{space.ns}-{node}"
        self.id = space.sbatch(f"until [ -e {self.end} ]; do sleep 0.1; done", "-w", node, "--mem", "100", "--no-requeue", *options)

    def runs(self):
        return self.world.job_state(self.id) == "RUNNING"

    def started(self):
        self.world.until(f"the Pod of {self.node} knows of its job", lambda: condition(pods(self.world)[self.node], "SlurmRunning") == "True")
        assert self.runs()
        return self

    def past_its_prolog(self):
        self.started()
        self.world.until("its prolog has its lock", lambda: pods(self.world)[self.node]["metadata"].get("annotations", {}).get(PREFIX + "lock") == "locked")
        self.world.launches_are_over()
        return self

    def ends_well(self):
        self.end.touch()
        self.world.until(f"the job on {self.node} is over", lambda: self.world.job_state(self.id) == "COMPLETED")


def test_the_cluster_is_one_nodeset(world):
    world.until("all is as wanted", lambda: at_rest(world))
    for name, pod in pods(world).items():
        assert pod["spec"]["nodeName"] == name.replace("n", "k")
        assert [o["kind"] for o in pod["metadata"]["ownerReferences"]] == ["NodeSet"]
    assert listed(world) == ALL
    status = nodeset(world)["status"]
    counts = {"desired": 4, "feasible": 4, "current": 4, "ready": 4, "updated": 4, "drained": 0, "misscheduled": 0, "unavailable": 0, "leaving": 0}
    assert {k: status[k] for k in counts} == counts
    assert "4 Pods are ready" in world.kubectl("get", "nset", "-n", "slurm", "-o", "wide")
    assert "does not exist" in world.kubectl("get", "--raw", f"{SETS}/main/scale", ok=False)  # it says of no number that it wants it
    assert "never end a job" in re.sub(r"\s+", " ", world.kubectl("explain", "nodeset"))
    assert "maxUnavailable" in world.kubectl("explain", "nodeset.spec.updateStrategy")
    got = world.metrics("operator")
    assert {k: got[f'kube_sunk_nodeset_{k}{{namespace="slurm",nodeset="main"}}'] for k in counts} == counts


def test_shrinking_under_load_gives_up_idle_nodes_first_and_ends_no_job(world, space):
    jobs = {n: Job(space, n) for n in ("n1", "n2")}
    for job in jobs.values():
        job.started()
    scale(world, 2)
    assert json.loads(world.kubectl("get", "--raw", f"{SETS}/main/scale"))["status"]["selector"] == PREFIX + "nodeset=main"
    world.until("the idle ones have left Slurm", lambda: slurm_nodes(world) == {"n1", "n2"})
    assert set(pods(world)) == listed(world) == {"n1", "n2"} and not marked(world)
    scale(world, 1)
    (going,) = world.until("one more is to go", lambda: marked(world))
    (staying,) = jobs.keys() - {going}
    world.until("it drains", lambda: world.node_reason(going) == "k8s: pod pending deletion")
    world.until("the NodeSet says what it waits for", lambda: reason(world)[0] == "WaitingForJobs" and nodeset(world)["status"]["leaving"] == 1)
    world.never("its job or its Pod is gone", lambda: not jobs[going].runs() or going not in ready(world))
    scale(world, 2)
    world.until("it may stay after all", lambda: not marked(world) and not world.is_drained(going))
    scale(world, 1)
    world.until("it may not", lambda: marked(world) == {going} and world.is_drained(going))
    jobs[going].ends_well()
    world.until("it has left Slurm", lambda: slurm_nodes(world) == {staying} and set(pods(world)) == {staying})
    assert jobs[staying].runs()
    jobs[staying].ends_well()


def test_an_update_under_load_takes_one_at_a_time_and_ends_no_job(world, space):
    job = Job(space, "n1").started()
    before = uids(world)
    template = nodeset(world)["spec"]["template"]
    template["spec"]["containers"][0]["env"].append({"name": "REVISION", "value": "2"})
    change(world, {"template": template})
    fewest, end = 4, time.monotonic() + 60
    while sum(uids(world).get(n) not in (None, uid) for n, uid in before.items()) < 3 or len(ready(world)) < 4:
        fewest = min(fewest, len(ready(world)))
        assert job.runs() and uids(world)["n1"] == before["n1"], world.story()
        assert time.monotonic() < end, world.story()
    assert fewest == 3
    world.until("the last one waits for its job", lambda: marked(world) == {"n1"} and reason(world)[0] == "WaitingForJobs")
    world.never("its job is gone", lambda: not job.runs())
    job.ends_well()
    world.until("all are of the new template", lambda: at_rest(world) and nodeset(world)["status"]["updated"] == 4, 60)
    assert uids(world)["n1"] != before["n1"]


def events(world, why, name="main"):
    """Texts of the events about a NodeSet, as they are now."""
    items = world.call("GET", "/api/v1/namespaces/slurm/events?limit=500").json["items"]
    return [e.get("message", "") for e in items if e["reason"] == why and e["involvedObject"]["kind"] == "NodeSet" and e["involvedObject"]["name"] == name]


def test_a_node_that_is_deleted_while_a_job_runs_there(world, space):
    job = Job(space, "n4").started()
    world.kubectl("delete", "node", "k4")
    world.until("its Slurm node drains", lambda: world.node_reason("n4") == "k8s: pod pending deletion")
    assert marked(world) == {"n4"}
    assert pods(world)["n4"]["metadata"]["annotations"][PENDING] == "its Node is gone"
    what = "Node k4 is gone while Slurm node n4 may run a job"
    world.until("the condition says what to do", lambda: reason(world)[0] == "NodeGone" and what in reason(world)[1] and "restart its kubelet" in reason(world)[1], 10)
    world.until("so does an event", lambda: any(what in text for text in events(world, "NodeGone")), 10)
    world.never("the job is gone", lambda: not job.runs())
    # as it said: the Node is back before Kubernetes has given the Pod up, and all stays
    before = uids(world)["n4"]
    world.start_part("agent", *world.kill_part("agent"))
    world.until("it may stay after all", lambda: not marked(world) and not world.is_drained("n4") and reason(world)[0] == "AsWanted")
    assert job.runs() and uids(world)["n4"] == before
    world.kubectl("delete", "node", "k4")
    world.until("it is to go again", lambda: marked(world) == {"n4"} and world.is_drained("n4"))
    job.ends_well()
    world.until("the Slurm node is gone", lambda: slurm_nodes(world) == listed(world) == {"n1", "n2", "n3"})
    world.until("three are all that there can be", lambda: nodeset(world)["status"]["desired"] == 3 and reason(world)[0] == "AsWanted")


def test_a_drain_of_a_persons_outlives_an_update_and_is_told_when_it_goes_with_its_node(world):
    world.scontrol("update", "nodename=n3", "state=drain", "reason=bad gpu")
    world.until("its Pod knows", lambda: condition(pods(world)["n3"], "SlurmDrain") == "True")
    before, template = uids(world), nodeset(world)["spec"]["template"]
    template["spec"]["containers"][0]["env"].append({"name": "AGAIN", "value": "1"})
    change(world, {"template": template, "updateStrategy": {"maxUnavailable": "100%"}})
    world.until("all Pods are new", lambda: ready(world) == ALL and not set(uids(world).values()) & set(before.values()), 60)
    change(world, {"updateStrategy": {"maxUnavailable": 1}})
    world.until("the others are back", lambda: not any(world.is_drained(n) for n in ALL - {"n3"}))
    assert world.node_reason("n3") == "bad gpu" and world.is_drained("n3") and not events(world, "DrainForgotten")
    world.kubectl("delete", "node", "k3")
    world.until("it has left Slurm", lambda: slurm_nodes(world) == {"n1", "n2", "n4"})
    world.until("what was lost is told", lambda: any("'bad gpu'. When Node k3 is not to be used, cordon it" in t for t in events(world, "DrainForgotten")))
    assert len(events(world, "DrainForgotten")) == 1  # nothing is said of drains that are ours
    world.start_part("agent", *world.kill_part("agent"))


def test_a_node_that_is_down_is_given_up_and_no_lock_keeps_it(world, space):
    """Nobody drains it, and its slurmd does not answer; Slurm has given its job up with it."""
    job = Job(space, "n4").past_its_prolog()
    world.launches_are_over()
    slurmd = int((world.dir / "slurm/run/slurmd.n4.pid").read_text())
    world.halt(slurmd)
    try:
        world.scontrol("update", "nodename=n4", "state=down", "reason=Not responding")  # as Slurm says itself, after a minute or more
        world.until("its job is given up with it", lambda: world.job_state(job.id) == "NODE_FAIL")
        assert "DOWN" in world.node("n4")["State"] and not world.is_drained("n4")
        scale(world, 0)
        world.until("all have left", lambda: not pods(world) and not slurm_nodes(world), 60)
    finally:
        world.go_on(slurmd)
        job.end.touch()  # its processes, where nobody ended them


def test_old_news_of_a_node_that_was_down_end_no_job_that_came_since(world, space):
    """The syncer saw it down, and said so; it came back (ReturnToService=2) and has a job now. The next look at Slurm is still to come."""
    job = Job(space, "n4").past_its_prolog()
    assert pods(world)["n4"]["metadata"]["annotations"][PREFIX + "lock-request"] == "normal"
    world.kill_part("syncer")
    scale(world, 0)
    world.until("it is to go", lambda: "n4" in marked(world))
    news = {"SlurmRunning": ("False", "Idle"), "SlurmDrain": ("False", "DownForDeletion")}
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status = {"conditions": [{"type": k, "status": s, "reason": r, "lastTransitionTime": now} for k, (s, r) in news.items()]}
    r = world.call("PATCH", "/api/v1/namespaces/slurm/pods/n4/status", {"status": status}, "application/strategic-merge-patch+json")
    assert r.status == 200, r.text
    world.never("its Pod or its job goes", lambda: "deletionTimestamp" in pods(world)["n4"]["metadata"] or not job.runs())
    world.start_part("syncer")
    world.until("it is drained, now that it is up", lambda: world.node_reason("n4") == "k8s: pod pending deletion" and set(pods(world)) == {"n4"}, 60)
    assert job.runs()
    job.ends_well()
    world.until("it is gone when its job is", lambda: not pods(world) and not slurm_nodes(world))


def test_a_job_that_comes_to_a_pod_that_is_being_deleted_goes_elsewhere_and_leaves_no_drain(world, space):
    """Its prolog is at work when the Pod is deleted: it is refused at once, and what comes after it is not drained for that."""
    come, go = (world.dir / f"{what}-{space.ns}" for what in ("come", "go"))
    wait = world.dir / "scripts/prolog.d/10-wait"
    wait.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME = n4 ] || exit 0\ntouch {come}\nuntil [ -e {go} ]; do sleep 0.05; done\n")
    wait.chmod(0o755)
    agent = world.pid("agent")
    try:
        job = space.sbatch("true", "-w", "n4", "--mem", "100")
        world.until("its prolog runs", come.exists)
        before = uids(world)["n4"]
        world.halt(agent)
        world.kubectl("delete", "pod", "-n", "slurm", "n4", "--wait=false")
        began = time.monotonic()
        go.touch()
        world.until("the job waits again, and for nobody's release", lambda: world.run("squeue", "-h", "-j", job, "-o", "%T %r").strip() == "PENDING BeginTime")
        assert time.monotonic() - began < 60  # not for a lock that nobody gives
        log = (world.dir / "slurm/log/slurmd.n4.log").read_text()
        assert f"sunk-hook prolog: node n4 is not free for job {job}: the node is going away: its Pod is deleted" in log
        assert world.node_reason("n4") == "k8s: pod pending deletion"
    finally:
        go.touch()
        wait.unlink()
        world.go_on(agent)
    world.scancel(job)
    world.until("the next Pod of that name serves", lambda: uids(world).get("n4") not in (None, before) and at_rest(world), 60)


def test_no_round_of_scaling_and_updating_ends_a_job(world, space):
    """Jobs on all nodes, and more that wait; the NodeSet shrinks, grows and is updated the whole time."""
    jobs = [space.sbatch("sleep 2; echo done", "-n1", "-c", "2", "--mem", "50", "--no-requeue") for _ in range(16)]
    for i in range(3):
        scale(world, 1 + i % 2)
        template = nodeset(world)["spec"]["template"]
        env = [e for e in template["spec"]["containers"][0]["env"] if e["name"] != "ROUND"]
        template["spec"]["containers"][0]["env"] = [*env, {"name": "ROUND", "value": str(i)}]
        change(world, {"template": template})
        world.until("something goes", lambda: marked(world) or len(pods(world)) < 4)
        scale(world, 3 + i % 2)
        world.until("something comes", lambda: len(ready(world)) >= 2, 60)
    change(world, {"replicas": None})
    world.until("all jobs are over", lambda: all(world.job_state(j) not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING") for j in jobs), 120)
    assert {world.job_state(j) for j in jobs} == {"COMPLETED"}, world.story()


def test_by_force_a_pod_goes_although_a_job_runs(world, space):
    job = Job(space, "n4").started()
    scale(world, 0)
    world.until("only the busy one is left", lambda: set(pods(world)) == {"n4"} == slurm_nodes(world))
    assert job.runs()
    world.kubectl("annotate", "pod", "-n", "slurm", "n4", PREFIX + "force-delete=")
    world.until("its Pod is gone", lambda: not pods(world))
    world.until("Slurm has lost the job, and then the node", lambda: world.job_state(job.id) == "NODE_FAIL" and not slurm_nodes(world), 60)


def test_orphans_go_on_and_are_adopted_again(world, space):
    job = Job(space, "n2").started()
    before, spec = uids(world), nodeset(world)["spec"]
    world.kubectl("delete", "nset", "main", "-n", "slurm", "--cascade=orphan")
    world.until("nobody owns the Pods", lambda: not any("ownerReferences" in p["metadata"] for p in pods(world).values()))
    assert uids(world) == before and slurm_nodes(world) == ALL
    assert world.call("POST", SETS, {**other("main"), "spec": spec}).status == 201
    world.until("they are owned again", lambda: all("ownerReferences" in p["metadata"] for p in pods(world).values()))
    world.until("all is as it was", lambda: nodeset(world).get("status", {}).get("ready") == 4)
    assert uids(world) == before and job.runs()
    job.ends_well()


def test_a_nodeset_that_is_deleted_waits_for_its_jobs(world, space):
    job = Job(space, "n3").started()
    world.kubectl("delete", "nset", "main", "-n", "slurm", "--wait=false")
    world.until("only the busy one is left", lambda: slurm_nodes(world) == set(pods(world)) == {"n3"})
    world.never("the job or the NodeSet is gone", lambda: not job.runs() or "metadata" not in nodeset(world))
    job.ends_well()
    world.until("all is gone", lambda: world.call("GET", f"{SETS}/main").status == 404 and not pods(world) and not slurm_nodes(world))


def other(name, **spec):
    template = {"spec": {"containers": [{"name": "slurmd", "image": "slurmd", "command": ["sleep", "1000"]}]}}
    return {
        "apiVersion": "sunk.coreweave.com/v1alpha1",
        "kind": "NodeSet",
        "metadata": {"name": name, "namespace": "slurm"},
        "spec": {"template": template, **spec},
    }


NOWHERE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "moon", "operator": "In", "values": ["full"]}]}]
        }
    }
}


@pytest.mark.parametrize("name, spec, why, words", [
    ("taken", {}, "NodesTaken", "4 that fit have a Pod of another NodeSet"),
    ("nowhere", {"affinity": NOWHERE}, "NoFeasibleNode", "no Node fits: look at affinity"),
    ("huge", {"replicas": 100000, "nodeSelector": {"moon": "full"}}, "NoFeasibleNode", "no Node fits"),
])  # fmt: skip
@ANY_SLURM
def test_what_cannot_be_is_said_with_what_to_do(world, name, spec, why, words):
    try:
        r = world.call("POST", SETS, other(name, **spec))
        assert r.status == 201, r.text
        world.until("the condition says so", lambda: reason(world, name)[0] == why and words in reason(world, name)[1])
        world.until("an event says so", lambda: words in world.kubectl("get", "events", "-n", "slurm", "--field-selector", f"reason={why}"))
        assert set(pods(world)) == ALL
    finally:
        world.kubectl("delete", "nset", "-n", "slurm", name)


def test_too_many_replicas_are_refused_or_waited_for(world):
    assert "spec.replicas" in world.kubectl("scale", "nset/main", "-n", "slurm", "--replicas=1000000", ok=False)
    scale(world, 100000)
    world.until("it says so", lambda: reason(world) == ("NotEnoughNodes", "100000 Pods are wanted, but only 4 Nodes fit"))
    assert set(pods(world)) == ALL
