# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the control plane and of Slurm are killed under load, with everything in its place. Each test ends with "nothing lost"
(checker.py). test_faults_kill.py does that to our own daemons."""

import json
import os
import signal
import time
import urllib.request

import pytest
from checker import disagreements
from load import FOREIGN, OPTIONS, PARTS, grows, settle
from world import REAL

WORLD = {"options": OPTIONS, "nodes": 4}
pytestmark = pytest.mark.skipif(not REAL, reason="on a real control plane only")


def ready(world):
    def is_ready():
        try:
            return world.call("GET", "/readyz", timeout=3).status == 200
        except OSError:
            return False

    world.until("the API server is ready", is_ready, 60)


@pytest.mark.parametrize("part", ["kube-apiserver", "etcd"])
def test_the_control_plane_killed_under_load(world, load, part):
    for _ in range(3):
        grows(load, 2)
        world.kill_part(part)
        world.start_part(part)
        ready(world)
    grows(load)
    settle(world, load)


def test_history_that_is_gone(world, load):
    """Everybody sleeps while the world goes on; etcd forgets what was, the API server as well: every watch is too old."""
    grows(load, 2)
    pids = [world.pid(part) for part in PARTS]
    for pid in pids:
        world.halt(pid)
    grows(load, 4)
    etcd = (world.dir / "kube/etcd-url").read_text().strip()

    def ask(path, **body):
        with urllib.request.urlopen(urllib.request.Request(etcd + path, data=json.dumps(body).encode()), timeout=10) as r:
            return json.load(r)

    revision = ask("/v3/kv/range", key="Lw==")["header"]["revision"]
    ask("/v3/kv/compaction", revision=revision, physical=True)
    world.kill_part("kube-apiserver")
    world.start_part("kube-apiserver")
    ready(world)
    for pid in pids:
        world.go_on(pid)
    grows(load)
    settle(world, load)


def test_slurmctld_killed_and_munged_away(world, load):
    grows(load, 2)
    for part in ("slurmctld", "munged"):
        pid = int(world.run(world.dev / "slurm", "pid", world.dir / "slurm", part))
        os.kill(pid, signal.SIGKILL)
        time.sleep(3)
        world.slurm_part("end", part)
        world.slurm_part("run", part)
        world.until("slurmctld answers", world.slurm_answers, 60)
        grows(load)
    settle(world, load)


def test_a_minute_without_slurmctld(world, load):
    grows(load, 2)
    world.slurm_part("end", "slurmctld")
    time.sleep(60)
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers, 60)
    grows(load)
    settle(world, load)


def test_the_checker_sees_what_is_lost(world, load):
    """Whoever would put it right is asleep."""
    grows(load)
    settle(world, load)
    pod, spare = load.space.pod("victim").running(), load.space.pod("spare").running()
    pids = [world.pid(part) for part in PARTS]
    for pid in pids:
        world.halt(pid)
    try:
        pod.delete(0)
        world.until("the Pod is gone", pod.gone)
        spare.annotate(job_id="4711")
        world.scontrol("update", "nodename=n4", "state=drain", "reason=mine")
        world.call("PATCH", f"/api/v1/nodes/{spare.node()}", {"spec": {"taints": None}}, "application/merge-patch+json")
        found = "\n".join(disagreements(world, FOREIGN))
        for said in ("live for a Pod that does not", "says job 4711", "n4 was drained with 'broken fan", "tainted is False"):
            assert said in found, found
    finally:
        for pid in pids:
            world.go_on(pid)
