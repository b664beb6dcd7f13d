# SPDX-License-Identifier: GPL-2.0-or-later
"""A test that fails shows the ends of the logs of its world: of every directory in `worlds`. All of them are kept where SUNK_KEEP says.
And worlds of tests that share one: one for a module, a namespace of its own for each test in it."""

import os
import re
import time
from pathlib import Path

import lite_server
import load as loads
import pytest
from world import REAL, Space, World

os.environ.setdefault("SUNK_PARTS", "scheduler")  # dev/up in tests starts more only where a test asks for it

LINES = 40  # of each log
LINE_MAX = 400  # characters
LOGS = 12  # the ones that were written last
KEEP = os.environ.get("SUNK_KEEP")
KEEP_MAX = 8 << 20  # bytes of one log: its end
BEGUN = pytest.StashKey[float]()
WORLDS = pytest.StashKey[list]()


@pytest.fixture
def worlds(request):
    """Directories whose logs are shown when this test fails. A Lite is there by itself."""
    return request.node.stash.setdefault(WORLDS, [])


def logs_below(directory, *more):
    """The logs in a world that goes on, the last one last: files may vanish while one looks. `more` are suffixes."""
    found = {}
    for path in Path(directory).rglob("*"):
        try:
            stat = path.stat()
        except OSError:
            continue
        if path.is_file() and (path.suffix in (".log", ".out", *more) or path.name == "log") and stat.st_size:
            found[path] = stat.st_mtime
    return sorted(found.items(), key=lambda item: item[1])


def keep(test, directory):
    """The logs of a world in which a test failed: the world is gone when somebody wants to know why."""
    to = Path(KEEP) / re.sub(r"[^\w.-]+", "_", test)
    for log, _ in logs_below(directory, ".jsonl"):
        copy = to / log.relative_to(directory)
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with open(log, "rb") as f:
                f.seek(max(0, os.fstat(f.fileno()).st_size - KEEP_MAX))
                copy.write_bytes(f.read(KEEP_MAX))
        except OSError:
            continue


def pytest_configure(config):
    config.addinivalue_line("markers", "lite_only(reason): says nothing about a real control plane")
    config.addinivalue_line("markers", "any_slurm(reason): says nothing about a version of Slurm; not asked of every one")
    config.addinivalue_line("markers", "real_only: needs the parts of a real control plane")


def pytest_collection_modifyitems(config, items):
    """Left out, not skipped: nobody need wonder about them. The runner tells how many."""
    other = "lite_only" if REAL else "real_only"
    out = [item for item in items if item.get_closest_marker(other)]
    items[:] = [item for item in items if not item.get_closest_marker(other)]
    if out:
        config.hook.pytest_deselected(items=out)


# Modules that take long, in seconds: begun first, so that nobody waits for one at the end. Others count by their tests.
SECONDS = {
    "test_faults.py": 300,
    "test_faults_slurm.py": 180,
    "test_faults_kill.py": 160,
    "test_locking_faults.py": 200,
    "test_scheduler_end.py": 130,
    "test_scheduler_crash.py": 130,
    "test_scheduler_flow.py": 100,
    "test_nodeset_slurm.py": 100,
    "test_scheduler_nodes.py": 100,
    "test_syncer.py": 100,
}
SECONDS_PER_TEST = 3


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class LongestFirst(LoadScopeScheduling):
        def _assign_work_unit(self, node):
            longest = max(self.workqueue, key=lambda scope: SECONDS.get(Path(scope).name, SECONDS_PER_TEST * len(self.workqueue[scope])))
            self.workqueue.move_to_end(longest, last=False)
            super()._assign_work_unit(node)

    return LongestFirst(config, log)


def pytest_runtest_setup(item):
    item.stash[BEGUN] = time.time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        alive = [lite.dir for lite in lite_server.ALIVE]
        for directory in dict.fromkeys([*item.stash.get(WORLDS, []), *alive]):
            if KEEP:
                keep(item.name, directory)
            for log, written in logs_below(directory)[-LOGS:]:
                if written >= item.stash.get(BEGUN, 0) - 1:
                    try:
                        text = [line[:LINE_MAX] for line in log.read_text(errors="replace").splitlines()[-LINES:]]
                    except OSError:
                        continue
                    # under this name a section also gets into junit's file
                    report.sections.append(("Captured stdout of the world", "\n".join([f"--- the last lines of {log}", *text, ""])))
    return report


@pytest.fixture(scope="module")
def world(request):
    """The module's WORLD: options for World()."""
    w = World(**getattr(request.module, "WORLD", {}))
    yield w
    w.close()


@pytest.fixture
def space(world, worlds, request):
    worlds.append(world.dir)
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_")).strip("-")[:36].strip("-")
    world.spaces = getattr(world, "spaces", 0) + 1  # a namespace takes a while to go
    s = Space(world, f"{name}-{world.spaces}")
    yield s
    s.clean()


@pytest.fixture
def load(world, space):
    """Pods and jobs that come and go, beside a node that somebody else drained."""
    print(f"SUNK_SEED={loads.SEED}")
    [(name, reason)] = loads.FOREIGN.items()
    world.scontrol("update", f"nodename={name}", "state=drain", f"reason={reason}")
    made = loads.Load(space, loads.SEED)
    yield made
    made.stop()
    world.resume(name)
