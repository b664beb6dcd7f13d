# SPDX-License-Identifier: GPL-2.0-or-later
"""The scenes that the simulation's model of Kubernetes is held against (tests/sim/traces/kube), played anew: lite does what was recorded,
and, with SUNK_KUBE=real, so does the Kubernetes of today."""

import sys

import pytest
from lite_server import REAL, ROOT

sys.path.insert(0, str(ROOT / "tests" / "sim"))
from record_kube import SCENES, Stage  # noqa: E402

SLOW = "# Slow."  # takes a minute: not on lite, which has its own tests of that
PLAYED = [p for p in SCENES if REAL or SLOW not in p.read_text()]


@pytest.fixture(scope="module")
def stage():
    s = Stage()
    yield s
    s.close()


@pytest.mark.parametrize("path", PLAYED, ids=[p.stem for p in PLAYED])
def test_a_scene_is_as_it_was_recorded(stage, path):
    ok, text = stage.play(path, "--compare")
    assert ok, text
