# SPDX-License-Identifier: GPL-2.0-or-later
"""A Pod's way through Slurm: what is submitted for it, when it is bound, how it ends, and what a person can read on the way."""

import re
import time

import pytest
from world import PREFIX

WORLD = {"options": ("--cpus", "16")}
# Slurm stops preferring idle nodes only by itself: none of these tests depends on which node it takes.


def stamp(text):
    """Slurm's word for a moment, in seconds."""
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


# ---- the way of a Pod ----


def test_a_pod_runs_where_and_when_slurm_says(world, space):
    go = world.dir / "walked"
    pod = space.pod("walk", f"until [ -e {go} ]; do sleep 0.1; done")
    job_id = pod.submitted()
    pod.running()
    world.until("the job is marked", lambda: world.job(job_id)["Extra"] == f"{space.ns}/walk/{pod.uid}: started")
    job = world.job(job_id)
    assert job["JobName"] == f"{space.ns}.walk"
    assert job["JobState"] == "RUNNING" and job["NumNodes"] == "1" and job["Requeue"] == "0"
    assert pod.node() == "k" + job["NodeList"][1:]  # the join: slurmd Pod nX runs on Node kX
    assert pod.condition("PodScheduled")["status"] == "True"
    go.touch()
    world.until("the Pod is over", lambda: pod.phase() == "Succeeded")
    assert pod.job_ends("COMPLETED")["ExitCode"] == "0:0"
    assert len(pod.jobs()) == 1


def test_the_job_ends_with_the_pods_exit_code(world, space):
    ended = space.pod("three", "exit 3")
    killed = space.pod("killed", "kill -9 $$$$")  # "$$" is "$" to Kubernetes
    for pod, code in ((ended, "3:0"), (killed, "137:0")):
        job = pod.job_ends("FAILED")
        assert job["ExitCode"] == code, job
        assert pod.phase() == "Failed"


def test_the_pod_may_start_only_after_the_prolog(world, space):
    """Until then the Pod says so, and has no Node."""
    prolog = world.dir / "slurm/etc/nothing.sh"
    before = prolog.read_text()
    try:
        prolog.write_text("#!/bin/sh\nwhile [ -e /proc/$PPID ] && [ ! -e %s/go ]; do sleep 0.1; done\n" % world.dir)
        pod = space.pod("prolog", "exit 0")
        job_id = pod.submitted()
        world.until("the job is in its prolog", lambda: world.job(job_id)["Reason"] == "Prolog")
        world.until("the Pod says so", lambda: "prolog" in pod.unscheduled()[1])
        assert pod.node() is None
        assert ": started" not in world.job(job_id)["Extra"]
    finally:
        (world.dir / "go").touch()
        prolog.write_text(before)
    world.until("the Pod is over", lambda: pod.phase() == "Succeeded")
    assert pod.job_ends("COMPLETED")
    (world.dir / "go").unlink()


def test_events_tell_the_way_in_kubectl_describe(world, space):
    pod = space.pod("told", "sleep 1000")
    job_id = pod.submitted()
    pod.running()
    pod.says("Scheduled")
    text = world.kubectl("describe", "pod", "told", "-n", space.ns)
    assert re.search(rf"Normal\s+Submitted\s.*Slurm job {job_id} stands for this Pod", text), text
    assert re.search(rf"Normal\s+Scheduled\s.*Bound to Node {pod.node()} by Slurm job {job_id}", text), text
    assert re.search(rf"{PREFIX}job-id: {job_id}\b", text), text


def test_a_waiting_pod_says_why_slurm_lets_it_wait(world, space):
    held = space.pod("held", annotations={"priority": "0"})
    full = [space.pod(f"full{i}", cpu="16") for i in range(4)]
    for pod in full:
        pod.running()
    waits = space.pod("waits", cpu="16")
    world.until("the reason is on the Pod", lambda: "pending: Resources" in waits.unscheduled()[1])
    assert waits.unscheduled()[0] == "Unschedulable"
    assert f"Slurm job {waits.job_id()}" in waits.unscheduled()[1]
    world.until("the reason is on the Pod", lambda: "JobHeld" in held.unscheduled()[1])
    assert held.node() is None and waits.node() is None
    assert len(waits.events()) <= 2  # told in the condition, which does not pile up
    full[0].delete()
    waits.running()
    world.scontrol("release", held.job_id())
    full[1].delete()
    held.running()


def test_a_gated_pod_is_left_alone_until_its_gates_are_gone(world, space):
    pod = space.pod("gated", schedulingGates=[{"name": "example.com/quota"}])
    world.never("a job for a gated Pod", pod.jobs)
    pod.patch({"spec": {"schedulingGates": []}})
    pod.running()


def test_pods_of_other_schedulers_are_left_alone(world, space):
    other = space.pod("other", schedulerName="somebody-else")
    ours = space.pod("ours", "exit 0")
    assert ours.job_ends("COMPLETED")
    assert other.jobs() == [] and other.job_id() is None and other.events() == []


def test_the_lock_taint_is_tolerated_for_the_pod(world, space):
    """Else the lock that comes with the job would evict it."""
    own = [{"key": "example.com/own", "operator": "Exists"}]
    pod = space.pod("tolerant", tolerations=own).running()
    got = pod.get()["spec"]["tolerations"]
    assert {"key": PREFIX + "lock", "operator": "Exists", "effect": "NoExecute"} in got
    assert own[0] in got


# ---- annotations ----

ANNOTATIONS = [
    ("account", "research", {"Account": "research"}),
    ("comment", "nightly run, 100% sure", {"Comment": "nightly run, 100% sure"}),
    ("constraints", "dyn", {"Features": "dyn"}),
    ("current-working-dir", "/tmp", {"WorkDir": "/tmp"}),
    ("excluded-nodes", "n[1-2]", {"ExcNodeList": "n[1-2]"}),
    ("exclusive", "none", {"OverSubscribe": "NO"}),
    ("exclusive", "user", {"OverSubscribe": "USER"}),
    ("exclusive", "ok", {"OverSubscribe": "YES"}),
    ("exclusive", "true", {"OverSubscribe": "NO"}),
    ("exclusive", "false", {"OverSubscribe": "OK"}),
    ("group-id", "65534", {"GroupId": "nogroup(65534)"}),
    ("partition", "high", {"Partition": "high"}),
    ("prefer", "dyn", {"Prefer": "dyn"}),
    ("priority", "77", {"Priority": "77"}),
    ("required-nodes", "n2", {"ReqNodeList": "n2"}),
    ("reservation", "table", {"Reservation": "table"}),
    ("timeout", "90", {"TimeLimit": "01:30:00"}),
    ("user-id", "65534", {"UserId": "nobody(65534)"}),
]


def as_before_26_05(job):
    """What `OverSubscribe` alone said is said by two fields since; `NO` of old meant a node of its own."""
    if "Exclusive" not in job:
        return job
    shared = "YES" if job["OverSubscribe"] == "YES" else "OK"
    return {**job, "OverSubscribe": {"NODE": "NO", "USER": "USER", "NO": shared}[job["Exclusive"]]}


def test_every_annotation_reaches_its_field_of_the_job(world, space):
    world.scontrol("create", "reservation=table", "starttime=now", "duration=60", "nodes=n4", "users=root", "flags=flex,ignore_jobs")
    try:
        hold = {"priority": "0"}  # what a job asked for changes when it starts
        pods = [
            (space.pod(f"p{i}-{key}", annotations={**hold, key: value}), key, value, want)
            for i, (key, value, want) in enumerate(ANNOTATIONS)
        ]
        wrong = []
        for pod, key, value, want in pods:
            job = as_before_26_05(world.job(pod.submitted()))
            wrong += [f"{key}={value}: {k}={job.get(k)}" for k, v in want.items() if job.get(k) != v]
            if key == "timeout":
                assert pod.get()["spec"]["activeDeadlineSeconds"] == 5400
        assert not wrong, wrong
        for pod, *_ in pods:
            pod.delete()
            pod.vanishes()
    finally:
        world.until("the reservation can go", lambda: "slurm_delete_reservation" not in world.scontrol("delete", "reservation=table", ok=None)
                    and "table" not in world.scontrol("show", "res", ok=None))


def test_no_annotation_means_the_clusters_defaults(world, space):
    job = world.job(space.pod("plain").submitted())
    want = {"Partition": "main", "ReqNodeList": "(null)", "ExcNodeList": "(null)", "WorkDir": "/", "UserId": "root(0)",
            "TimeLimit": "UNLIMITED", "Features": "(null)", "NumCPUs": "1", "MinMemoryNode": "64M"}  # fmt: skip
    assert {k: job.get(k) for k in want} == want


def test_a_pod_may_have_a_job_of_another_user(world, space):
    """The placeholder needs no privileges."""
    pod = space.pod("nobody", "exit 4", annotations={"user-id": "65534", "group-id": "65534"})
    assert pod.job_ends("FAILED")["ExitCode"] == "4:0"


def test_an_own_deadline_of_the_pod_stays(world, space):
    pod = space.pod("deadline", annotations={"timeout": "90"}, activeDeadlineSeconds=77)
    pod.submitted()
    assert pod.get()["spec"]["activeDeadlineSeconds"] == 77


# ---- resources ----


def test_a_pod_asks_for_what_kubernetes_would_count(world, space):
    """max(containers + sidecars, each init container with the sidecars before it) + overhead; CPUs and MiB rounded up."""

    def part(name, cpu, memory, **more):
        return {"name": name, "image": "none", "command": ["true"], "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}

    body = space.manifest("sum", cpu="1500m", memory="100Mi")
    body["spec"]["containers"].append(part("second", "1", "100Mi"))
    body["spec"]["initContainers"] = [
        part("early", "500m", "900Mi"),
        part("sidecar", "250m", "50Mi", restartPolicy="Always"),
        part("late", "4", "10Mi"),
    ]
    r = space.send(body)
    assert r.status == 201, r.text
    got = world.until("it has a job", lambda: [j for j in world.jobs() if j["JobName"] == f"{space.ns}.sum"])[0]
    # cpu: max(1.5 + 1 + 0.25, 0.5, 0.25 + 4) = 4.25 → 5; memory: max(250, 900, 60) = 900
    assert (got["NumCPUs"], got["MinMemoryNode"]) == ("5", "900M"), got


def test_memory_and_cpu_are_rounded_up(world, space):
    job = world.job(space.pod("crumbs", cpu="1m", memory="1048577").submitted())
    assert (job["NumCPUs"], job["MinMemoryNode"]) == ("1", "2M")


def test_gpus_are_asked_for_and_shared_out_by_slurm(world, space):
    """Several Pods on one machine with GPUs (slurm-bridge #14), and a job beside them (#48)."""
    pods = [space.pod(f"gpu{i}", gpus=4, annotations={"required-nodes": "n1"}) for i in range(3)]
    world.until("two of three run", lambda: sum(p.phase() == "Running" for p in pods) == 2)
    for pod in pods:
        assert "gres" in pod.job()["TresPerNode"] and "gpu:4" in pod.job()["TresPerNode"]
    waits = next(p for p in pods if p.phase() != "Running")
    world.until("the third waits for Resources", lambda: "Resources" in waits.unscheduled()[1])
    beside = space.sbatch("sleep 1000", "-w", "n1", "--mem=64", "-n", "2")
    world.until("a plain job runs beside them", lambda: world.job_state(beside) == "RUNNING")
    next(p for p in pods if p is not waits).delete()
    waits.running()


# ---- bindings only where Kubernetes agrees ----


def test_node_selector_affinity_taints_and_cordons_become_the_exclude_list(world, space):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["k1", "k2"]}]}]}}}  # fmt: skip
    field = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["k4"]}]}]}}}  # fmt: skip
    try:
        world.change_node("k1", spec={"unschedulable": True})
        world.change_node("k2", spec={"taints": [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]})
        tolerates = [{"key": "dedicated", "operator": "Exists"}]
        cases = [
            ("selector", {"nodeSelector": {"kubernetes.io/hostname": "k3"}}, "n[1-2,4]"),
            ("affinity", {"affinity": affinity}, "n[1-2]"),
            ("fields", {"affinity": field}, "n[1-3]"),
            ("plain", {}, "n[1-2]"),
            ("tolerant", {"tolerations": tolerates}, "n1"),
        ]
        pods = [(name, space.pod(name, annotations={"priority": "0"}, **spec), excluded) for name, spec, excluded in cases]
        for name, pod, excluded in pods:
            world.until(f"{name} excludes {excluded}", lambda p=pod, e=excluded: (p.job() or {}).get("ExcNodeList") == e)
            job = pod.job()
            assert job["ReqNodeList"] == "(null)"  # never a broad list of required nodes (slurm-bridge #43)
            world.scontrol("release", job["JobId"])
        for _, pod, _ in pods:
            pod.running()
        assert dict((n, p.node()) for n, p, _ in pods)["selector"] == "k3"
        assert dict((n, p.node()) for n, p, _ in pods)["fields"] == "k4"
    finally:
        world.change_node("k1", spec={"unschedulable": None})
        world.change_node("k2", spec={"taints": None})


def test_the_exclude_list_follows_the_nodes_while_the_job_waits(world, space):
    pod = space.pod("held", annotations={"priority": "0", "excluded-nodes": "n4"})
    job_id = pod.submitted()
    assert world.job(job_id)["ExcNodeList"] == "n4"
    try:
        world.change_node("k2", spec={"unschedulable": True})
        world.until("the cordoned Node is excluded", lambda: world.job(job_id)["ExcNodeList"] == "n[2,4]")
        world.until("the Pod says so", lambda: "unschedulable" in pod.unscheduled()[1] or "cordoned" in pod.unscheduled()[1])
    finally:
        world.change_node("k2", spec={"unschedulable": None})
    world.until("it is not any more", lambda: world.job(job_id)["ExcNodeList"] == "n4")
    assert pod.submitted() == job_id and len(pod.jobs()) == 1


def test_a_pod_that_fits_nowhere_says_so_and_recovers(world, space):
    pod = space.pod("nowhere", nodeSelector={"disktype": "ssd"})
    world.until("it says why", lambda: "none of 4 nodes" in pod.unscheduled()[1] and "disktype=ssd" in pod.unscheduled()[1])
    assert "disktype=ssd" in pod.says("FailedScheduling")
    assert pod.jobs() == []
    try:
        world.change_node("k3", metadata={"labels": {"disktype": "ssd"}})
        pod.running()
        assert pod.node() == "k3"
    finally:
        world.change_node("k3", metadata={"labels": {"disktype": None}})


def test_a_pod_whose_last_node_goes_away_gives_its_job_back(world, space):
    world.change_node("k3", metadata={"labels": {"disktype": "ssd"}})
    pod = space.pod("lastone", nodeSelector={"disktype": "ssd"}, annotations={"priority": "0"})
    first = pod.submitted()
    world.change_node("k3", metadata={"labels": {"disktype": None}})
    world.until("the job is given back", lambda: world.job_state(first) == "CANCELLED")
    assert "none of 4 nodes" in pod.says("FailedScheduling")
    pod.annotate(priority=None)
    try:
        world.change_node("k3", metadata={"labels": {"disktype": "ssd"}})
        pod.running()
        assert pod.submitted() != first and not pod.gone()
    finally:
        world.change_node("k3", metadata={"labels": {"disktype": None}})


def test_a_pod_is_never_bound_into_outofcpu(world, space):
    """SUNK's support pages: OutOfcpu right after bind. A stray Pod that Slurm does not see has the CPUs: another node."""
    stray = space.manifest("stray", cpu="12")
    stray["spec"]["nodeName"] = "k1"
    stray["spec"]["schedulerName"] = "default-scheduler"
    space.stray = space.create(stray).running()
    pod = space.pod("fits", cpu="8", annotations={"prefer": "dyn"})
    pinned = space.pod("pinned", cpu="8", annotations={"required-nodes": "n1"})
    pod.running()
    assert pod.node() != "k1"
    told = pinned.says("NodeRefused")
    assert "n1" in told and "cpu" in told.lower(), told
    world.until("its job ended", lambda: any(j["JobState"] == "CANCELLED" for j in pinned.jobs()))
    assert pinned.node() is None
    assert len(pinned.live_jobs()) <= 1
    space.stray.delete(grace=0)
    pinned.running()  # the node that refused it is not excluded: it is the only one


def test_a_pod_is_never_bound_into_outofmemory(world, space):
    """SUNK's support pages: OutOfmemory right after bind."""
    stray = space.manifest("stray", memory="200000Mi")
    stray["spec"].update(nodeName="k1", schedulerName="default-scheduler")
    stray = space.create(stray).running()
    pod = space.pod("pinned", memory="100000Mi", annotations={"required-nodes": "n1"})
    assert "memory" in pod.says("NodeRefused")
    assert pod.node() is None
    world.until("it was tried again", lambda: len(pod.jobs()) >= 4, 120)
    jobs = pod.jobs()
    pauses = [stamp(b["SubmitTime"]) - stamp(a["EndTime"]) for a, b in zip(jobs[1:], jobs[2:])]
    assert pauses[0] >= 1 and pauses[1] >= 3, pauses  # the first two at once, then after 2 s, 4 s …; Slurm's times are whole seconds
    stray.delete(grace=0)
    pod.running()


def test_a_node_that_is_tainted_while_the_job_starts_is_left(world, space):
    """The last look before binding: what was true when Slurm chose need not be so when the prolog is done."""
    prolog, go = world.dir / "slurm/etc/nothing.sh", world.dir / "go"
    before, chosen = prolog.read_text(), "k1"
    try:
        prolog.write_text("#!/bin/sh\nwhile [ -e /proc/$PPID ] && [ ! -e %s ]; do sleep 0.1; done\n" % go)
        pod = space.pod("moves")
        job = pod.submitted()
        world.until("the job is in its prolog", lambda: world.job(job)["Reason"] == "Prolog")
        chosen = "k" + world.job(job)["NodeList"][1:]
        world.change_node(chosen, spec={"taints": [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]})
        go.touch()
        prolog.write_text(before)
        assert "taint dedicated=ml:NoSchedule is not tolerated" in pod.says("NodeRefused", f"Slurm chose n{chosen[1:]}")
        assert pod.running().node() != chosen
        assert len(pod.live_jobs()) == 1
    finally:
        go.touch()
        prolog.write_text(before)
        world.change_node(chosen, spec={"taints": None})
        go.unlink()


def test_of_several_required_nodes_a_pod_gets_one(world, space):
    pods = [space.pod(f"either{i}", cpu="16", annotations={"required-nodes": "n[3-4]"}).running() for i in range(2)]
    assert {p.node() for p in pods} == {"k3", "k4"}
    third = space.pod("third", cpu="16", annotations={"required-nodes": "n3,n4"})
    job = world.job(third.submitted())
    assert job["ReqNodeList"] == "(null)" and job["ExcNodeList"] == "n[1-2]", job
    free = pods[1].node()
    pods[1].delete(grace=0)
    third.running()
    assert third.node() == free


def test_a_required_node_that_cannot_be_is_told(world, space):
    world.change_node("k4", spec={"unschedulable": True})
    try:
        pod = space.pod("waits", annotations={"required-nodes": "n4"})
        told = pod.says("FailedScheduling")
        assert "3 are not among the required nodes" in told and "1 is cordoned" in told, told
        assert pod.jobs() == []
    finally:
        world.change_node("k4", spec={"unschedulable": None})
    pod.running()


def test_a_taken_host_port_is_respected(world, space):
    port = {"ports": [{"containerPort": 34567, "hostPort": 34567}]}
    stray = space.manifest("stray", more=port)
    stray["spec"].update(nodeName="k1", schedulerName="default-scheduler")
    space.create(stray).running()
    pod = space.pod("port", more=port, annotations={"required-nodes": "n1"})
    assert "port" in pod.says("NodeRefused").lower()
    assert pod.node() is None


def test_a_pod_that_pretends_to_run_slurmd_moves_no_node(space):
    body = space.manifest("n1")  # anybody may make one, in a namespace of theirs
    body["metadata"]["labels"] = {"sunk.coreweave.com/nodeset": "main"}
    body["spec"].update(nodeName="k2", schedulerName="default-scheduler")
    space.create(body).running()
    assert space.pod("web", annotations={"required-nodes": "n1"}).running().node() == "k1"


def test_of_two_that_come_together_one_gets_the_host_port(world, space):
    port = {"ports": [{"containerPort": 34568, "hostPort": 34568}]}
    pods = [space.pod(name, more=port, annotations={"required-nodes": "n1"}) for name in ("one", "two")]
    refused = world.until("one of them is refused", lambda: next((p for p in pods if p.events("NodeRefused")), None))
    (other,) = (p for p in pods if p is not refused)
    other.running()
    assert "34568" in refused.says("NodeRefused")
    assert refused.node() is None
