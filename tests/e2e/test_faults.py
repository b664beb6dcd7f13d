# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts are killed at random moments under load, with everything in its place. Each test ends with "nothing lost" (checker.py)."""

import json
import os
import random
import signal
import time
import urllib.request

import pytest
from checker import nothing_lost
from load import Load
from world import REAL

LEASE = "--lease-duration=2s --renew-deadline=1500ms --retry-period=300ms"
WORLD = {
    "options": ("--parts", "scheduler,syncer,operator", "--cpus", "16", "--conf", "MinJobAge=300", "--conf", "MessageTimeout=10", "--scheduler-flags", LEASE),
    "nodes": 4,
}
FOREIGN = {"n4": "broken fan: leave it alone"}
PARTS = ("scheduler", "syncer", "operator")
SEED = int(os.environ.get("SUNK_SEED", random.randrange(1 << 30)))
ROUNDS = int(os.environ.get("SUNK_KILL_ROUNDS", 50))

pytestmark = pytest.mark.skipif(not REAL, reason="on a real control plane only")


@pytest.fixture
def load(world, space):
    print(f"SUNK_SEED={SEED}")
    world.scontrol("update", "nodename=n4", "state=drain", f"reason={FOREIGN['n4']}")
    made = Load(space, SEED)
    yield made
    made.stop()
    world.resume("n4")


def settle(world, load):
    load.stop()
    load.all_succeed()
    nothing_lost(world, FOREIGN)


def grows(load, by=4, deadline=60):
    """The load goes on: so many Pods more are over."""
    had = len(load.pods)
    load.world.until("the load goes on", lambda: len(load.pods) >= had + by, deadline)


def ready(world):
    def is_ready():
        try:
            return world.call("GET", "/readyz", timeout=3).status == 200
        except OSError:
            return False

    world.until("the API server is ready", is_ready, 60)


def test_daemons_killed_at_any_moment(world, load):
    dice = random.Random(SEED)
    for _ in range(ROUNDS):
        for part in dice.sample(PARTS, 3):
            time.sleep(dice.uniform(0, 0.4))
            world.kill_part(part)
            world.start_part(part)
        time.sleep(dice.uniform(0, 2.5))
    grows(load)
    settle(world, load)


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
