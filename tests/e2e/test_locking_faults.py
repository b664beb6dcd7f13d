# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock of a node when things go wrong: parts that are killed, hands that meddle, Pods that do not go.

Every job that a test starts looks at its Node by itself: what counts is what is true when its first process runs."""

import calendar
import contextlib
import os
import pathlib
import re
import signal
import tempfile
import time

import pytest
from lite_server import BUILD
from world import DRAINED, PREFIX, REAL, alive, started

ANY_SLURM = pytest.mark.any_slurm("hands that meddle in Kubernetes")
WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--cpus", "16"), "nodes": 3}
REASON = "prolog pre-hook failed (sunk:verify-undrain)"
TAINT = PREFIX + "lock"
# A container that takes its time to leave.
SLOW = "trap 'sleep 2; exit 0' TERM; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"
TOLERATES = [{"key": TAINT, "operator": "Exists", "effect": "NoExecute"}]
# What a job finds: the taint of its Node, how often it was started, and which of the Pods named are still there.
LOOK = """
echo start >>{out}
kubectl get node k${{SLURMD_NODENAME#n}} -o 'jsonpath=taints={{.spec.taints[*].key}}' >>{out} && echo >>{out}
kubectl get pods -n {ns} --field-selector spec.nodeName=k${{SLURMD_NODENAME#n}} -o 'jsonpath=pods={{.items[*].metadata.name}}' >>{out}
echo >>{out}
{then}
"""


class Locks:
    """What the tests of this file look at and do."""

    def __init__(self, world, space):
        self.w, self.space = world, space
        self.outs = {}
        self.nodes = ["k1", "k2", "k3"]

    def job(self, node="n1", then="sleep 1000", *options):
        fd, name = tempfile.mkstemp(dir=self.w.dir, prefix="look-")
        os.close(fd)
        out = pathlib.Path(name)
        out.chmod(0o666)
        job_id = self.space.sbatch(LOOK.format(out=out, ns=self.space.ns, then=then), "-w", node, "-n", "1", "--mem", "100", *options)
        self.outs[job_id] = out
        return job_id

    def found(self, job_id):
        """What the job found when it began: None as long as it has not looked."""
        text = self.outs[job_id].read_text()
        return None if "pods=" not in text or not text.endswith("\n") else text

    def started(self, job_id, deadline=40):
        """Waits for the job's first look, and checks what must hold in every start."""
        text = self.w.until(f"job {job_id} runs", lambda: self.found(job_id), deadline)
        assert text.count("start\n") == 1, text
        assert re.search(rf"^taints=.*{TAINT}", text, re.M), text
        return text.partition("pods=")[2].split()

    def not_started(self, job_id):
        return "start" not in self.outs[job_id].read_text()

    def node(self, name="k1"):
        return self.w.call("GET", f"/api/v1/nodes/{name}").json

    def taints(self, name="k1"):
        return [t for t in self.node(name)["spec"].get("taints", []) if t["key"] == TAINT]

    def lock(self, name="k1"):
        return self.node(name)["metadata"].get("annotations", {}).get(PREFIX + "lock")

    def pod_notes(self, name="n1"):
        notes = self.w.call("GET", f"/api/v1/namespaces/slurm/pods/{name}").json["metadata"].get("annotations", {})
        return {k.removeprefix(PREFIX): v for k, v in notes.items()}

    def locked(self, name="k1", state="locked"):
        self.w.until(f"{name} is {state}", lambda: self.lock(name) == state and self.taints(name))

    def is_free(self, name="k1"):
        notes = self.node(name)["metadata"].get("annotations", {})
        pod = self.pod_notes(name.replace("k", "n"))
        left = [k for k in notes if k.startswith(PREFIX + "lock")] + [k for k in ("lock", "lock-for", "lock-request") if k in pod]
        return not self.taints(name) and not left

    def freed(self, *names, deadline=30):
        for name in names:
            self.w.until(f"{name} is unlocked", lambda n=name: self.is_free(n), deadline)

    def events(self, reason, name="k1"):
        items = self.w.call("GET", "/api/v1/events?limit=500").json["items"]
        about = [e for e in items if e["involvedObject"]["kind"] == "Node" and e["involvedObject"]["name"] == name]
        return [e.get("message", "") for e in about if e["reason"] == reason]

    def condition(self, kind, name="k1"):
        return next((c for c in self.node(name)["status"]["conditions"] if c["type"] == kind), {"status": "absent"})

    def stray(self, name, script="sleep 1000", node="k1", metadata=None, **more):
        """A Pod that has nothing to do with Slurm, on a Node."""
        body = self.space.manifest(name, script, nodeName=node, **more)
        body["spec"]["schedulerName"] = "default-scheduler"
        body["metadata"].update(metadata or {})
        return self.space.create(body).running()

    @contextlib.contextmanager
    def hook_flags(self, *flags, verb="prolog"):
        """The prolog's hook has more flags meanwhile."""
        script = self.w.dir / f"scripts/{verb}.d/50-sunk"
        before = script.read_text()
        script.write_text(before.replace(f" {verb}\n", f" {verb} {' '.join(flags)}\n"))
        try:
            yield
        finally:
            script.write_text(before)


@pytest.fixture
def locks(world, space):
    k = Locks(world, space)
    yield k
    space.clean()
    names = ["n" + n[1:] for n in k.nodes]
    world.resume(*(n for n in names if world.is_drained(n)))
    k.freed(*k.nodes)


# ---- locking and unlocking ----


def test_a_node_is_unlocked_right_after_the_last_job(world, locks):
    first, second = locks.job(), locks.job()
    locks.started(first)
    locks.started(second)
    world.scancel(first)
    world.until("the first is over", lambda: world.job_state(first) == "CANCELLED")
    world.never("unlocked while a job runs", lambda: not locks.taints())
    world.scancel(second)
    world.until("the second is over", lambda: world.job_state(second) == "CANCELLED" and "IDLE" in world.node("n1")["State"])
    began = time.monotonic()
    locks.freed("k1", deadline=10)
    print(f"unlocked {time.monotonic() - began:.3f} s after the last job")


@ANY_SLURM
def test_daemonset_and_tolerating_pods_stay_in_a_normal_lock(world, locks, space):
    pod = space.manifest("x", nodeSelector={"kubernetes.io/hostname": "k1"}, tolerations=[{"operator": "Exists"}], restartPolicy="Always")
    pod["spec"].pop("schedulerName")
    daemon = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "daemon", "namespace": space.ns},
        "spec": {
            "selector": {"matchLabels": {"app": "daemon"}},
            "template": {"metadata": {"labels": {"app": "daemon"}}, "spec": pod["spec"]},
        },
    }
    path = f"/apis/apps/v1/namespaces/{space.ns}/daemonsets"
    r = world.call("POST", path, daemon)
    assert r.status == 201, r.text
    try:
        world.until("it runs", lambda: world.call("GET", path + "/daemon").json.get("status", {}).get("numberReady") == 1)
        tolerant = locks.stray("tolerant", tolerations=TOLERATES)
        plain = locks.stray("plain")
        found = sorted(locks.started(locks.job()))
        assert len(found) == 2 and found[0].startswith("daemon-") and found[1] == "tolerant"
        assert plain.gone() and not tolerant.gone()
    finally:
        world.call("DELETE", path + "/daemon")


def test_a_stray_that_comes_while_the_lock_is_pending_goes_before_the_job_starts(world, locks, space):
    slow = locks.stray("slow", SLOW, grace=20)
    job_id = locks.job(then="true")
    world.until("the taint is there", locks.taints)
    assert locks.not_started(job_id)
    body = space.manifest("late", SLOW, nodeName="k1", grace=20)  # bound by one who has not seen the taint
    body["spec"]["schedulerName"] = "default-scheduler"
    late = space.create(body)
    assert locks.started(job_id) == []
    assert slow.gone() and late.gone()


# ---- a NodeSet Pod that is made again ----


def test_a_prolog_asks_for_the_pod_that_its_slurmd_runs_in(world, locks):
    """A watch that is behind shows the Pod before: its lock must not do."""

    def uid():
        pod = world.call("GET", "/api/v1/namespaces/slurm/pods/n2")
        return pod.json["metadata"]["uid"] if pod.status == 200 else None

    before = uid()
    world.kubectl("delete", "pod", "-n", "slurm", "n2", "--wait=false")
    world.until("it is made again", lambda: uid() not in (None, before))
    told = world.dir / "slurm/run/slurmd.n2.uid"
    world.until("its slurmd knows", lambda: told.read_text() == uid())
    world.until("it is idle", lambda: world.node("n2")["State"].startswith("IDLE") and not world.is_drained("n2"))
    first = locks.job("n2")
    locks.started(first)
    assert locks.pod_notes("n2")["lock-request"] == "normal"
    told.write_text("11111111-2222-4333-8444-555555555555")  # as if it ran in a Pod that the syncer does not see, beside one that is locked
    try:
        with locks.hook_flags("--timeout", "3s"):
            second = locks.job("n2", "true", "--no-requeue")
            world.until("the prolog gives up", lambda: world.is_drained("n2") and world.node_reason("n2") == REASON)
    finally:
        told.write_text(uid())
    assert locks.not_started(second)
    said = world.dir / "slurm/log/slurmd.n2.log"  # by slurmd, once the prolog has ended
    world.until("it says why", lambda: "the Pod that slurmd runs in was not seen in time" in said.read_text())
    assert world.job_state(first) == "RUNNING"


# ---- what does not leave ----


def test_a_pod_that_does_not_go_drains_the_node_and_is_named(world, locks, space):
    world.kill_part("syncer")
    revive(world, "syncer", world.dir / "syncer", "--hook-timeout", "4s")
    try:
        locks.stray("stubborn", STUBBORN, grace=300)
        job_id = locks.job()
        who = f"Pod {space.ns}/stubborn does not tolerate the lock and has not left yet"
        world.until("the Pod is named on the NodeSet Pod", lambda: who in locks.pod_notes().get("lock-blocked-by", ""))
        world.until("and in an event", lambda: any(who in m for m in locks.events("LockBlocked")))
        world.until("the node is drained", lambda: world.is_drained("n1"))
        assert world.node_reason("n1") == REASON
        assert locks.not_started(job_id)
        logs = [p for p in (world.dir / "slurm/log").glob("slurmd*n1*")] + [p for p in (world.dir / "pods").rglob("*") if p.is_file()]

        def logged():
            return any(
                re.search(rf"node n1 is not free for job {job_id}: .*{re.escape(who)}", p.read_text(errors="replace")) for p in logs
            )

        world.until("slurmd's log names it", logged)
        world.never("the job starts after all", lambda: not locks.not_started(job_id))
    finally:
        world.kill_part("syncer")
        revive(world, "syncer")


# ---- hands ----


@ANY_SLURM
def test_what_others_wrote_on_a_node_is_left_alone(world, locks):
    taint = {"key": "example.com/theirs", "value": "yes", "effect": "PreferNoSchedule"}
    mark = {"type": "TheirDisk", "status": "False", "reason": "Good", "message": "looked at", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    mine = [t for t in locks.node("k2")["spec"].get("taints", []) if t["key"] != TAINT]
    world.change_node("k2", metadata={"annotations": {"example.com/note": "theirs"}}, spec={"taints": [*mine, taint]})
    r = world.call("PATCH", "/api/v1/nodes/k2/status", {"status": {"conditions": [mark]}}, "application/strategic-merge-patch+json")
    assert r.status == 200, r.text

    def untouched():
        node = locks.node("k2")
        assert [t for t in node["spec"]["taints"] if t["key"] == taint["key"]] == [taint]
        assert node["metadata"]["annotations"]["example.com/note"] == "theirs"
        assert mark.items() <= next(c for c in node["status"]["conditions"] if c["type"] == "TheirDisk").items()

    try:
        job_id = locks.job("n2")
        locks.started(job_id)
        world.until("the Node says that a job runs", lambda: locks.condition("SlurmRunning", "k2")["status"] == "True")
        untouched()
        world.scancel(job_id)
        locks.freed("k2")
        world.until("and that none does", lambda: locks.condition("SlurmRunning", "k2")["status"] == "False")
        untouched()
    finally:
        world.change_node("k2", metadata={"annotations": {"example.com/note": None}}, spec={"taints": mine or None})


@ANY_SLURM
def test_a_taint_that_is_removed_by_hand_is_put_back(world, locks):
    job_id = locks.job()
    locks.started(job_id)
    locks.locked()
    rest = [t for t in locks.node()["spec"].get("taints", []) if t["key"] != TAINT]
    world.change_node("k1", spec={"taints": rest})
    world.until("the taint is back", locks.taints)
    world.until("and it is told", lambda: locks.events("LockRestored"))
    assert world.job_state(job_id) == "RUNNING"
    locks.locked()


@ANY_SLURM
@pytest.mark.parametrize("value", ["pending", None], ids=["pending", "gone"])
def test_an_annotation_that_is_edited_by_hand_is_put_back(world, locks, value):
    node = {"pending": "k2", None: "k3"}[value]
    locks.started(locks.job(node.replace("k", "n")))
    locks.locked(node)
    world.change_node(node, metadata={"annotations": {PREFIX + "lock": value}})
    locks.locked(node)
    world.until("and it is told", lambda: locks.events("LockRestored", node))


# ---- the epilog of placeholder jobs ----


def kill_script(world, job_id):
    """kill -9 of the placeholder itself, as Slurm does at KillWait. A child of it, which is about to become scontrol, may look the same."""
    signs = f"SLURM_JOB_ID={job_id}\0".encode(), str(world.dir).encode()
    mine = {}
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        environ, stat = read(p / "environ"), read(p / "stat")
        if stat and b"sunk-hook\0placeholder" in read(p / "cmdline") and all(sign in environ for sign in signs):
            mine[int(p.name)] = int(stat.rpartition(b")")[2].split()[1])
    [pid] = [pid for pid, parent in mine.items() if parent not in mine]
    os.kill(pid, signal.SIGKILL)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_node_stays_completing_until_the_pod_of_a_killed_placeholder_is_gone(world, locks, space):
    pod = space.pod("outlives", STUBBORN, grace=2, annotations={"required-nodes": "n1"}).running()
    job_id = pod.submitted()
    kill_script(world, job_id)
    looks = 0
    while True:
        state = world.job_state(job_id)  # looked at first: a Pod that is there afterwards was there then
        if pod.gone() or pod.phase() in ("Succeeded", "Failed"):
            break
        looks += state == "COMPLETING"
        assert state in ("RUNNING", "COMPLETING"), world.story()
    assert looks, "never seen completing with its Pod"
    world.until("the job is over", lambda: world.job_state(job_id) == "FAILED")


def test_a_pod_that_outlives_its_placeholder_for_long_drains_the_node(world, locks, space):
    pod = space.pod("outlives", annotations={"required-nodes": "n2"}).running()
    job_id = pod.submitted()
    scheduler = world.pid("scheduler")
    with locks.hook_flags("--timeout", "4s", verb="epilog"):
        world.halt(scheduler)  # nobody deletes the Pod, or drains the node, but the epilog
        try:
            kill_script(world, job_id)
            world.until("the node is drained", lambda: world.is_drained("n2"))
            assert world.node_reason("n2") == DRAINED
            world.until("the job is over", lambda: world.job_state(job_id) == "FAILED")
            assert pod.phase() == "Running"
            log = (world.dir / "slurm/log/slurmd.n2.log").read_text()
            assert re.search(rf"sunk-hook epilog: node n2 is drained: the Pod of job {job_id} .*{space.ns}/outlives", log)
        finally:
            world.go_on(scheduler)
    pod.vanishes()
    world.until("the drain is lifted", lambda: not world.is_drained("n2"))


# ---- faults ----


def revive(world, part, *command):
    """Started again as long as it ends at once: somebody else may have its port for a moment."""
    log = world.dir / f"log/{part}.log"
    for _ in range(20):
        size = log.stat().st_size
        world.start_part(part, *command)
        pid = world.children[-1].pid
        world.until(f"{part} is up", lambda s=size, p=pid: " lead" in log.read_bytes()[s:].decode() or not alive(p))
        if alive(pid):
            return
    raise AssertionError(f"{part} cannot be started\n{world.story()}")


def restart_kube(world):
    part = "kube-apiserver" if REAL else "kube"
    world.start_part(part, *world.kill_part(part))
    world.until("the API answers", lambda: answers(world), 60)


def answers(world):
    try:
        return world.call("GET", "/api/v1/nodes/k1", timeout=5).status == 200
    except OSError:
        return False


def restart(world, part):
    if part == "kube":
        restart_kube(world)
    elif part == "slurmctld":
        # not kill -9: a slurmctld that saved no state forgets the job and gives its number to another
        world.slurm_part("end", part)
        world.slurm_part("run", part)
        world.until("slurmctld answers", world.slurm_answers)
    else:
        world.kill_part(part)
        revive(world, part)


PARTS = ["operator", "syncer", "kube", "slurmctld"]


@pytest.mark.parametrize("part", PARTS)
def test_a_crash_while_a_node_is_being_locked_starts_the_job_once_on_a_locked_node(world, locks, part):
    slow = locks.stray("slow", SLOW, grace=20)
    with locks.hook_flags("--timeout", "2m"):  # a real API server takes its time to come back
        job_id = locks.job(then="true")
        world.until("the taint is there", locks.taints)
        restart(world, part)
        assert locks.started(job_id, 120) == []
    assert slow.gone()
    world.until("the job is over", lambda: world.job_state(job_id) == "COMPLETED")
    locks.freed("k1")


@pytest.mark.parametrize("part", PARTS)
def test_a_crash_while_a_node_is_being_unlocked_leaves_nothing_locked(world, locks, part):
    first = locks.job()
    locks.started(first)
    world.scancel(first)
    restart(world, part)
    locks.freed("k1")
    second = locks.job(then="true")
    locks.started(second, 60)
    locks.freed("k1")


@contextlib.contextmanager
def halted(world, part):
    """Meanwhile it does nothing: what it would do next has not been done."""
    pid = world.pid(part)
    world.halt(pid)
    try:
        yield
    finally:
        world.go_on(pid)  # also when it was killed


@pytest.mark.parametrize("part", PARTS)
def test_a_crash_between_asking_and_doing_starts_the_job_once_and_leaves_nothing_locked(world, locks, part):
    with halted(world, "operator"):
        job_id = locks.job()
        world.until("the lock is asked for", lambda: "lock-request" in locks.pod_notes())
        restart(world, part)
        assert not locks.taints() or part == "operator"
        assert locks.not_started(job_id) or part == "operator"
    locks.started(job_id, 60)
    locks.locked()
    with halted(world, "operator"):
        world.scancel(job_id)
        world.until("the request is withdrawn", lambda: "lock-request" not in locks.pod_notes())
        restart(world, part)
    locks.freed("k1")


def test_clocks_that_differ_by_minutes_change_nothing(world, locks):
    library = BUILD / "tests/e2e/shift_clock.so"
    shifts = {"operator": 600, "syncer": 180}
    try:
        for part, seconds in shifts.items():
            world.kill_part(part)
            env = (f"LD_PRELOAD={library}", f"SHIFT_CLOCK_S={seconds}", "ASAN_OPTIONS=verify_asan_link_order=0")
            revive(world, part, "env", *env, world.dir / part)
        slow = locks.stray("slow", SLOW, grace=20)
        first = locks.job()
        assert locks.started(first) == []
        assert slow.gone()
        log = (world.dir / "log/operator.log").read_text().splitlines()[-1]
        ahead = calendar.timegm(time.strptime(log[:19], "%Y-%m-%dT%H:%M:%S")) - time.time()
        assert 500 < ahead < 700, log  # the shift is real
        world.never("unlocked while a job runs", lambda: not locks.taints())
        world.scancel(first)
        locks.freed("k1")
        locks.started(locks.job(then="true"))
        locks.freed("k1")
    finally:
        for part in shifts:
            world.kill_part(part)
            revive(world, part)


@pytest.mark.parametrize("when", ["locking", "running", "unlocking"])
def test_a_slurmctld_that_forgets_leaves_nothing_locked(world, locks, when):
    """kill -9: it comes back with what it had saved some seconds before, and may know nothing of the job, or not of its end."""
    if when == "locking":
        locks.stray("slow", SLOW, grace=20)
    job_id = locks.job()
    if when == "locking":
        world.until("the taint is there", locks.taints)
    else:
        locks.started(job_id)
    if when == "unlocking":
        world.scancel(job_id)
    pid, start = (world.dir / "slurm/run/slurmctld.proc").read_text().split()
    assert started(pid) == start
    os.kill(int(pid), signal.SIGKILL)
    world.until("it is gone", lambda: not alive(pid))
    world.slurm_part("run", "slurmctld")
    world.until("slurmctld answers", world.slurm_answers)

    def over():  # also those that it takes for running since it forgot their end, such as the last one of the test before
        live = [j["JobId"] for j in world.jobs() if j["JobState"] in ("RUNNING", "COMPLETING", "PENDING")]
        if live:
            world.run("scancel", *live, ok=None)
        return not live

    world.until("it thinks of no job any more", over, 60)
    burnt = []
    while not burnt or burnt[-1] <= job_id:  # it gives numbers again, and slurmd would take the next job for the one before
        burnt.append(world.sbatch("true", "--hold"))
    world.scancel(*burnt)
    locks.freed("k1", deadline=60)
    second = locks.job(then="true")
    locks.started(second, 60)
    locks.freed("k1")


def test_a_node_that_is_deleted_while_it_is_being_locked_starts_nothing(world, locks):
    """Last, for that Node does not come back."""
    locks.nodes.remove("k3")
    locks.stray("slow", SLOW, node="k3", grace=20)
    with locks.hook_flags("--timeout", "6s"):
        job_id = locks.job("n3", "true", "--no-requeue")
        world.until("the taint is there", lambda: locks.taints("k3"))
        world.kubectl("delete", "node", "k3", "--wait=false")
        world.until("the node is drained", lambda: world.is_drained("n3"))
    assert world.node_reason("n3") in (REASON, "k8s: pod pending deletion")  # by the prolog, or by the NodeSet that lost its Node
    assert locks.not_started(job_id)
    world.never("the job starts after all", lambda: not locks.not_started(job_id))
