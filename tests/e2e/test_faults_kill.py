# SPDX-License-Identifier: GPL-2.0-or-later
"""Our daemons are killed at random moments, again and again, under load; nothing is lost (checker.py)."""

import os
import random
import threading
import time

import pytest
from load import LEASE, OPTIONS, PARTS, SEED, grows, settle

WORLD = {"options": OPTIONS, "nodes": 4}
ROUNDS = int(os.environ.get("SUNK_KILL_ROUNDS", "50"))  # of each
AT_WORK_S = 1.5  # at most, from when it leads

pytestmark = pytest.mark.real_only


def killer(world, part, dice):
    """Kills one daemon again and again: now and then before it leads, mostly some time after that."""
    log = world.dir / f"log/{part}.log"
    for _ in range(ROUNDS):
        size = log.stat().st_size
        world.start_part(part, world.dir / part, *LEASE.split())
        if dice.random() < 0.8:
            world.until(f"{part} leads", lambda s=size: b"we lead" in log.read_bytes()[s:])
        time.sleep(dice.uniform(0, AT_WORK_S))
        world.kill_part(part)
    world.start_part(part, world.dir / part, *LEASE.split())


def test_daemons_killed_at_any_moment(world, load):
    """Each by itself, so that any of them is away while any other is at work."""
    failures = []

    def run(part, dice):
        try:
            killer(world, part, dice)
        except BaseException as e:  # pylint: disable=broad-except
            failures.append(e)

    threads = [threading.Thread(target=run, args=(part, random.Random(f"{SEED} {part}"))) for part in PARTS]
    for part in PARTS:
        world.kill_part(part)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    grows(load)
    settle(world, load)
