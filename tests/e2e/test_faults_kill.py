# SPDX-License-Identifier: GPL-2.0-or-later
"""Our daemons are killed at random moments, again and again, under load; nothing is lost (checker.py)."""

import os
import random
import time

import pytest
from load import LEASE, OPTIONS, PARTS, SEED, grows, settle
from world import REAL

WORLD = {"options": OPTIONS, "nodes": 4}
ROUNDS = int(os.environ.get("SUNK_KILL_ROUNDS", "50"))

pytestmark = pytest.mark.skipif(not REAL, reason="on a real control plane only")


def test_daemons_killed_at_any_moment(world, load):
    dice = random.Random(SEED)
    for _ in range(ROUNDS):
        for part in dice.sample(PARTS, 3):
            time.sleep(dice.uniform(0, 0.4))
            world.kill_part(part)
            world.start_part(part, world.dir / part, *LEASE.split())
        time.sleep(dice.uniform(0, 6))  # a lease must run out before anybody acts again: mostly they get that far
    grows(load)
    settle(world, load)
