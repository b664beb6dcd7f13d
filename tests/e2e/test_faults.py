# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of the control plane are killed, forget and fail under load, with everything in its place. Each test ends with "nothing lost"
(checker.py). test_faults_slurm.py does that to Slurm, test_faults_kill.py to our own daemons."""

import calendar
import json
import os
import re
import subprocess
import time
import urllib.request

import pytest
from between import SOURCE, Between
from checker import disagreements
from load import FOREIGN, LEASE, OPTIONS, PARTS, grows, settle
from rights import requests

WORLD = {"options": OPTIONS, "nodes": 4}
pytestmark = pytest.mark.real_only


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


def expired(world):
    """Of the syncer: the others list all anew when they lead again, and may do so before their watches tell them to."""
    return sum(v for k, v in world.metrics("syncer").items() if k.startswith("sunk_kube_watches_expired_total"))


def test_history_that_is_gone(world, load):
    """Everybody sleeps while the world goes on; etcd forgets what was, the API server as well: every watch is too old."""
    grows(load, 2)
    before = expired(world)
    pids = [world.pid(part) for part in PARTS]
    for pid in pids:
        world.halt(pid)

    def restart_server():
        world.kill_part("kube-apiserver")
        world.start_part("kube-apiserver")
        ready(world)

    restart_server()  # what was on its way to them is all that they will hear of the rest
    grows(load, 4)
    etcd = (world.dir / "kube/etcd-url").read_text().strip()

    def ask(path, **body):
        with urllib.request.urlopen(urllib.request.Request(etcd + path, data=json.dumps(body).encode()), timeout=10) as r:
            return json.load(r)

    revision = ask("/v3/kv/range", key="Lw==")["header"]["revision"]
    ask("/v3/kv/compaction", revision=revision, physical=True)
    restart_server()
    for pid in pids:
        world.go_on(pid)
    world.until("the syncer was told 410", lambda: expired(world) > before)
    grows(load)
    settle(world, load)


@pytest.fixture
def between(world):
    """All of our daemons go through it, and are started again as they were afterwards."""
    made = Between(world)
    yield made
    made.close()
    for part in PARTS:
        restart(world, part)


def restart(world, part, lease=LEASE):
    """Waits until it leads."""
    log = world.dir / f"log/{part}.log"
    size = log.stat().st_size
    world.kill_part(part)
    world.start_part(part, world.dir / part, *lease.split())
    world.until(f"{part} leads", lambda: b"we lead" in log.read_bytes()[size:])


def test_half_a_minute_of_429_and_of_500(world, load, between):
    for part in PARTS:
        between.lead_through(part)
        restart(world, part)
    pids = [world.pid(part) for part in PARTS]
    for code in (429, 500):
        grows(load, 2)
        had = between.answered
        between.answer(code)
        time.sleep(30)
        between.answer(None)
        assert between.answered > had
        grows(load)
    assert [world.pid(part) for part in PARTS] == pids
    settle(world, load)


# ---- two leaders ----


def said_at(log, text):
    """When the last line with this text was written; None when there is none."""
    found = [line for line in log.read_text(errors="replace").splitlines() if text in line]
    when = found and re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z", found[-1])
    return calendar.timegm(time.strptime(when[1], "%Y-%m-%dT%H:%M:%S")) + float(when[2] or 0) if when else None


def acts(world, source):
    """When the scheduler at this address changed something, by the API server's own log. Not its lease."""
    for e in requests(world.dir / "log/audit.jsonl", "slurm", "slurm-scheduler"):
        if e["verb"] not in ("get", "list", "watch") and e["objectRef"]["resource"] != "leases" and e["sourceIPs"] == [source]:
            at = e["requestReceivedTimestamp"]
            yield calendar.timegm(time.strptime(at[:19], "%Y-%m-%dT%H:%M:%S")) + float(at[19:-1])


LONGER_S = 6  # a busy machine takes nobody's lease away before the cut
LONGER = f"--lease-duration={LONGER_S}s --renew-deadline=5s --retry-period=500ms"


def test_a_leader_that_is_cut_off_stops_before_the_next_one_begins(world, load, between):
    between.lead_through("scheduler")
    restart(world, "scheduler", LONGER)
    [direct] = between.before.values()
    config = world.dir / "accounts/second.kubeconfig"
    config.write_text(direct)
    second = world.dir / "log/second.log"
    earlier = len(list(acts(world, "127.0.0.1")))
    free = ("--listen=127.0.0.1:0", "--hook-listen=127.0.0.1:0", "--doorbell-port=0")
    with open(second, "wb") as log:
        p = subprocess.Popen(
            [world.dir / "scheduler", *LONGER.split(), "--kubeconfig", config, *free],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "POD_NAME": "second"},
        )  # fmt: skip
    try:
        world.until("it sees who leads", lambda: said_at(second, "the leader is"))
        grows(load)
        assert list(acts(world, SOURCE)) and len(list(acts(world, "127.0.0.1"))) == earlier
        cut = time.time()
        between.be_deaf(True)
        first = world.dir / "log/scheduler.log"
        ended = world.until("the first leads no more", lambda: (at := said_at(first, "we do not lead any more")) and at > cut and at)
        begun = world.until("the second leads", lambda: said_at(second, "we lead"))
        world.until("and acts", lambda: len(list(acts(world, "127.0.0.1"))) > earlier)
        assert cut < ended < begun, (cut, ended, begun)
        assert begun < cut + LONGER_S + 10, "so long lasts a lease, and the machine may be busy"
        grows(load)
        between.be_deaf(False)
        world.until("the first sees who leads", lambda: (said_at(first, "the leader is") or 0) > begun)
        grows(load)
        late = [at for at in acts(world, SOURCE) if at > ended]
        assert not late, f"the first acted {late[0] - ended} s after its end"
        settle(world, load)
    finally:
        p.kill()
        p.wait()


# ---- the checker itself ----


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
