# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of Slurm are killed, go away and forget under load, with everything in its place. Each test ends with "nothing lost" (checker.py)."""

import os
import random
import shutil
import signal
import time

import pytest
from load import FOREIGN, OPTIONS, SEED, grows, settle
from test_scheduler_crash import slurmd_of

BATCH_START_TIMEOUT_S = 3
MESSAGE_TIMEOUT_S = 10  # of load.OPTIONS
AGAIN_S = 180  # what slurmctld could not tell a slurmd it tries again, a minute later and once more
WORLD = {"options": (*OPTIONS, "--conf", f"BatchStartTimeout={BATCH_START_TIMEOUT_S}"), "nodes": 4}
pytestmark = pytest.mark.real_only


def test_restarts_of_slurmctld_and_munged_away(world, load):
    grows(load, 2)
    for _ in range(2):
        world.slurm_part("end", "slurmctld")
        world.slurm_part("run", "slurmctld")
        world.until("slurmctld answers", world.slurm_answers, 60)
        grows(load, 2)
    os.kill(int(world.run(world.dev / "slurm", "pid", world.dir / "slurm", "munged")), signal.SIGKILL)
    time.sleep(5)
    world.slurm_part("end", "munged")
    world.slurm_part("run", "munged")
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


def test_slurmds_killed(world, load):
    """Pods whose node Slurm gave up have no allocation any more, and go; all others know nothing of it."""
    dice = random.Random(SEED)
    for name in dice.sample(("n1", "n2", "n3") * 2, 5):  # each twice at most: a kubelet waits longer each time before it starts one again
        grows(load, 2, AGAIN_S)
        os.kill(slurmd_of(world, name)[0], signal.SIGKILL)
        world.until("all have a slurmd", lambda: all(slurmd_of(world, n) for n in ("n1", "n2", "n3")))
    grows(load, deadline=AGAIN_S)
    load.stop()
    # A job that it was about to start is nowhere now; Slurm notices when a node registers, which it does again some minutes later, or
    # now. But not while the job may still be on its way; and a slurmctld that reads its state again takes all jobs for young.
    time.sleep(BATCH_START_TIMEOUT_S + MESSAGE_TIMEOUT_S + 1)
    for name in ("n1", "n2", "n3"):
        os.kill(slurmd_of(world, name)[0], signal.SIGHUP)
    load.excuse("NodeFailed", "JobLost")
    settle(world, load)


def test_a_slurmctld_that_comes_back_with_nothing(world, load):
    """Nodes, jobs, drains: all is lost. Last, for the ids of its jobs are others then."""
    grows(load)
    world.slurm_part("end", "slurmctld")
    shutil.rmtree(world.dir / "slurm/state")
    (world.dir / "slurm/state").mkdir()
    with open(world.dir / "slurm/etc/slurm.conf", "a", encoding="utf-8") as conf:
        conf.write("FirstJobId=10000\n")  # else numbers are given again that slurmds still know, and they refuse such jobs
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers)
    names = ("n1", "n2", "n3", "n4")
    for name in names:  # dynamic nodes register when they start; their NodeSet makes them again
        world.call("DELETE", f"/api/v1/namespaces/slurm/pods/{name}?gracePeriodSeconds=0")
    world.until("the nodes are back", lambda: set(world.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N", ok=None).split()) >= set(names), 60)
    [(name, reason)] = FOREIGN.items()
    world.scontrol("update", f"nodename={name}", "state=drain", f"reason={reason}")
    grows(load)
    load.excuse("NodeFailed", "JobLost")
    settle(world, load)
