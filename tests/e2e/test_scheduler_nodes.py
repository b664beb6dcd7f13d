# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes that go away under a Pod, before it is bound and after. The order counts: the last test leaves a node behind that is of no more use."""

from world import DRAINED, ENDING, KILL_WAIT, STUBBORN

WORLD = {"nodes": 2, "options": ("--cpus", "16", "--conf", "MinJobAge=300")}
COLLECTED = 120  # Kubernetes waits 40 s before it removes Pods of a Node that is gone, and looks only now and then


def test_a_node_that_goes_while_the_job_starts_is_never_bound_to(world, space):
    """The last look before binding: Slurm still has the node, Kubernetes does not. The job ends, and the Pod goes elsewhere."""
    prolog, go = world.dir / "slurm/etc/nothing.sh", world.dir / "go"
    before, node, made = prolog.read_text(), None, None
    try:
        prolog.write_text("#!/bin/sh\nwhile [ -e /proc/$PPID ] && [ ! -e %s ]; do sleep 0.1; done\n" % go)
        pod = space.pod("moves")
        job = pod.submitted()
        world.until("the job is in its prolog", lambda: world.job(job)["Reason"] == "Prolog")
        name = world.job(job)["NodeList"]
        node = world.call("GET", f"/api/v1/nodes/k{name[1:]}").json
        assert world.call("DELETE", f"/api/v1/nodes/k{name[1:]}").status == 200
        go.touch()
        prolog.write_text(before)
        told = pod.says("NodeRefused", f"Slurm chose {name}")
        assert f"Kubernetes Node k{name[1:]} is gone" in told, told
        world.until("the job is given back", lambda: world.job_state(job) == "CANCELLED")
        assert pod.running().node() == ({"k1", "k2"} - {f"k{name[1:]}"}).pop()
        assert pod.submitted() != job and len(pod.live_jobs()) == 1
    finally:
        go.touch()
        prolog.write_text(before)
        if node:  # before Kubernetes removes the Pod of its slurmd
            kept = {k: node["metadata"][k] for k in ("name", "labels") if k in node["metadata"]}
            made = world.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": kept, "status": node["status"]})
            status = {"status": {k: node["status"][k] for k in ("capacity", "allocatable", "conditions")}}
            world.call("PATCH", f"/api/v1/nodes/{kept['name']}/status", status, "application/strategic-merge-patch+json")
    assert made.status == 201, made.text
    space.pod("back", annotations={"required-nodes": name}).running()


def test_a_dead_node_is_held_by_its_job_until_it_is_gone_and_the_drain_says_so(world, space):
    """The kubelet is away, the Pods may run on. What Slurm takes back is drained as long as its Pod is there; the other job stays."""
    taken, kept = (space.pod(name, STUBBORN, annotations={"required-nodes": "n2"}).running() for name in ("taken", "kept"))
    jobs = [int(p.job_id()) for p in (taken, kept)]
    agent = world.pid("agent")
    world.halt(agent)
    try:
        kept.delete()
        world.scancel(jobs[0])
        world.until("the node is drained", lambda: world.is_drained("n2"), KILL_WAIT + 10)
        assert world.node_reason("n2") == DRAINED
        assert taken.says("Drained")
        world.until("Slurm killed the job", lambda: world.job_state(jobs[0]) not in ENDING, 40)
        world.never("it is given away", lambda: not world.is_drained("n2") or world.job_state(jobs[1]) != "RUNNING")
        taken.delete(grace=0)
        world.never("it is given away, with the other Pod there", lambda: not world.is_drained("n2") or world.job_state(jobs[1]) != "RUNNING")
        assert not kept.gone()
        assert world.call("DELETE", "/api/v1/nodes/k2").status == 200
        world.until("the Pod is removed", lambda: world.job_state(jobs[1]) != "RUNNING" or kept.gone(), COLLECTED)
        assert kept.gone(), "the job ended before its Pod"
        world.until("the job ends", lambda: world.job_state(jobs[1]) not in ENDING)
    finally:
        world.go_on(agent)
