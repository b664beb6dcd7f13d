# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing lost: what must hold over both sides whenever a cluster has come to rest, whatever happened to it before.

 - every live Pod of the scheduler has exactly one live job, and says its id; every live job of a Pod has that Pod
 - a Node is locked exactly when a job holds its Slurm node, and taint and annotation say the same
 - drains that somebody else set are as they were
"""

import time

from world import PREFIX

LOCK = PREFIX + "lock"
LIVE = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")
HOLDING = ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")


def uid_of(job):
    """The Pod that a job stands for; None for a job of somebody else. Extra is namespace/name/uid, and more."""
    words = job.get("Extra", "").split("/")
    return words[2][:36] if len(words) >= 3 else None


def pods_and_jobs(world, pods, jobs):
    wrong = []
    mine = {p["metadata"]["uid"]: p for p in pods if p["spec"].get("schedulerName") == world.scheduler_name}
    live = {u: p for u, p in mine.items() if p["status"].get("phase") in ("Pending", "Running") and "deletionTimestamp" not in p["metadata"]}
    by_uid = {}
    for job in jobs:
        if job["JobState"] in LIVE and uid_of(job):
            by_uid.setdefault(uid_of(job), []).append(job["JobId"])
    for uid, pod in live.items():
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        ids = by_uid.get(uid, [])
        if len(ids) != 1:
            wrong.append(f"Pod {name} has the live jobs {ids}")
        elif pod["metadata"].get("annotations", {}).get(PREFIX + "job-id") != ids[0]:
            wrong.append(f"Pod {name} says job {pod['metadata'].get('annotations', {}).get(PREFIX + 'job-id')}, and its job is {ids[0]}")
    wrong += [f"jobs {ids} live for a Pod that does not: {uid}" for uid, ids in by_uid.items() if uid not in live]
    return wrong


def locks(world, nodes, pods, jobs):
    """Slurm nodes are joined to Nodes by the Pods that run slurmd."""
    wrong = []
    on = {p["metadata"]["name"]: p["spec"].get("nodeName") for p in pods if PREFIX + "nodeset" in p["metadata"].get("labels", {})}
    held = set()
    for job in jobs:
        if job["JobState"] in HOLDING and job.get("NodeList", "(null)") not in ("(null)", ""):
            held |= set(world.run("scontrol", "show", "hostnames", job["NodeList"]).split())
    for slurm_node, name in on.items():
        node = next((n for n in nodes if n["metadata"]["name"] == name), None)
        if node is None:
            continue
        tainted = any(t["key"] == LOCK for t in node["spec"].get("taints", []))
        says = node["metadata"].get("annotations", {}).get(LOCK)
        if bool(says) != tainted:
            wrong.append(f"Node {name}: the annotation says {says}, tainted is {tainted}")
        if tainted != (slurm_node in held):
            wrong.append(f"Node {name} is {'locked' if tainted else 'not locked'}, and jobs on {slurm_node}: {slurm_node in held}")
    return wrong


def disagreements(world, drains=None, locking=True):
    """What is wrong now, a line each. `drains` are foreign ones: Slurm node -> reason."""
    jobs = world.jobs()
    pods, nodes = (world.call("GET", f"/api/v1/{what}").json["items"] for what in ("pods", "nodes"))
    wrong = pods_and_jobs(world, pods, jobs)
    if locking:
        wrong += locks(world, nodes, pods, jobs)
    for name, reason in (drains or {}).items():
        if not world.is_drained(name) or world.node_reason(name) != reason:
            wrong.append(f"{name} was drained with '{reason}': {world.node(name)['State']} '{world.node_reason(name)}'")
    return wrong


def nothing_lost(world, drains=None, locking=True, deadline=90):
    """Waits until both sides agree, and goes on to."""
    end = time.monotonic() + deadline
    good = 0
    while good < 3:
        try:
            wrong = disagreements(world, drains, locking)
        except (AssertionError, OSError, KeyError) as e:  # a side is away
            wrong = [str(e)[-500:]]
        good = 0 if wrong else good + 1
        assert time.monotonic() < end, f"not agreed within {deadline} s:\n" + "\n".join(wrong[:20]) + "\n" + world.story()
        time.sleep(0.3 if wrong else 0.1)
