# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person, or someone worse, may send: Pods that cannot be, annotations meant for a shell, and calls of the hook API."""

import hashlib
import hmac
import http.client
import json
import socket
import time
from urllib.parse import urlparse

import pytest
from world import Pod

REFUSED = pytest.mark.any_slurm("refused before Slurm hears of it")
HOOK_ALONE = pytest.mark.any_slurm("the hook API alone")
WORLD = {"options": ("--cpus", "16"), "nodes": 2}

# ---- validation ----


def refused(world, pod, *wants):
    """It says all of this, at once, and has no job."""
    world.until(
        f"{pod.name} is refused with {wants}",
        lambda: pod.unscheduled()[0] == "ValidationFailed" and all(w in pod.unscheduled()[1] for w in wants),
    )
    told = pod.says("ValidationFailed")
    assert all(w in told for w in wants), told
    assert pod.jobs() == [] and pod.job_id() is None and pod.node() is None


@REFUSED
def test_all_problems_are_told_at_once_and_no_job_is_submitted(world, space):
    pod = space.pod("wrong", cpu=None, memory=None, grace=30, annotations={"priority": "high", "exclusive": "maybe", "timeout": "-1"})
    refused(world, pod, "cpu", "memory", "termination grace period must be less than Slurm KillWait - 5s", "30", "priority", "exclusive",
            "timeout")  # fmt: skip
    text = world.kubectl("describe", "pod", "wrong", "-n", space.ns)
    assert "Warning" in text and "ValidationFailed" in text
    world.never("a second event for the same", lambda: len(pod.events()) > 1)


def test_a_pod_that_was_put_right_goes_on(world, space):
    pod = space.pod("mended", annotations={"priority": "high"})
    refused(world, pod, "priority")
    pod.annotate(priority="7")
    pod.running()
    assert pod.job()["Priority"] == "7"


@REFUSED
def test_the_grace_period_leaves_slurm_five_seconds(world, space):
    """KillWait is 8 here, as the controller says: 2 is fine, 3 is not."""
    fits, late = space.pod("fits", grace=2), space.pod("late", grace=3)
    refused(world, late, "termination grace period must be less than Slurm KillWait - 5s", "3", "8")
    fits.running()


@REFUSED
def test_static_cpu_pinning_is_refused_before_it_drains_a_node(world, space):
    """SUNK's support pages: Guaranteed Pods with whole CPUs are pinned by the kubelet, and Slurm's jobs with them."""
    amounts = {"cpu": "2", "memory": "64Mi"}
    pod = space.pod("pinned", more={"resources": {"requests": amounts, "limits": amounts}})
    refused(world, pod, "cpu")
    assert "Guaranteed" in pod.unscheduled()[1] or "static" in pod.unscheduled()[1]


@REFUSED
@pytest.mark.parametrize("value", ["yes", "TRUE", "1", "exclusive"])
def test_invalid_exclusive_values_are_refused(world, space, value):
    """SUNK's support pages: they were passed on."""
    refused(world, space.pod("bad", annotations={"exclusive": value}), "exclusive", "none")


BAD = [
    ("account", "a\nb"),
    ("comment", "bell\x07"),
    ("comment", "escape\x1b[2J"),
    ("comment", "c1\u0085"),
    ("comment", "nul\u0000"),
    ("priority", "7\u0000"),
    ("comment", "x" * 65536),
    ("qos", "tab\tbed"),
    ("partition", "p" * 1000),
    ("excluded-nodes", "n[1-"),
    ("excluded-nodes", "n[1-4294967296]"),
    ("excluded-nodes", "n1;reboot"),
    ("required-nodes", "n[3-1]"),
    ("required-nodes", "n1 n2"),
    ("priority", "-1"),
    ("priority", "4294967295"),
    ("priority", "99999999999999999999999"),
    ("priority", "1e3"),
    ("priority", " 7"),
    ("user-id", "-1"),
    ("user-id", "4294967295"),
    ("group-id", "0x10"),
    ("timeout", "0"),
    ("timeout", "1:00"),
    ("current-working-dir", "relative/path"),
    ("current-working-dir", "/with\nnewline"),
]


@REFUSED
def test_what_cannot_be_passed_on_is_refused_by_name(world, space):
    pods = [(space.pod(f"bad{i}", annotations={key: value}), key) for i, (key, value) in enumerate(BAD)]
    for pod, key in pods:
        refused(world, pod, key)
        message = pod.unscheduled()[1]
        assert len(message) < 1100 and message.isprintable(), message


SHELL = ["$(touch {0})", "`touch {0}`", "'; touch {0}; '", '"; touch {0}; "', "%s%n%p %%", "a && touch {0}", "| touch {0}", "$HOME \\ \\x41", "ü – 数"]


def test_nothing_that_a_pod_says_reaches_a_shell(world, space):
    """Comments and paths with everything that a shell, printf or a hostlist would take for its own."""
    trap = world.dir / "trap"
    values = [s.format(trap) for s in SHELL]
    pods = [(space.pod(f"odd{i}", "exit 0", annotations={"comment": v}), v) for i, v in enumerate(values)]
    for pod, value in pods:
        assert world.job(pod.submitted())["Comment"] == value
    for pod, _ in pods:
        pod.job_ends("COMPLETED")
    assert not trap.exists()


@REFUSED
def test_unknown_keys_under_the_prefix_are_a_warning_only(world, space):
    pod = space.pod("typo", annotations={"partitoin": "high", "example.com/other": "x" * 2000})
    assert "partitoin" in pod.says("ValidationWarning")
    pod.running()


@REFUSED
def test_bytes_that_are_no_utf8_are_replaced_before_we_see_them(world, space):
    body = json.dumps(space.manifest("bytes", "exit 0", annotations={"comment": "@@"})).encode().replace(b"@@", b"\xff\xfe")
    connection = http.client.HTTPSConnection(urlparse(world.url).netloc, context=world.context, timeout=30)
    connection.request("POST", f"/api/v1/namespaces/{space.ns}/pods", body,
                       {"Authorization": "Bearer " + world.token, "Content-Type": "application/json"})  # fmt: skip
    answer = connection.getresponse()
    made = json.loads(answer.read())
    connection.close()
    assert answer.status == 201 and made["metadata"]["annotations"]["sunk.coreweave.com/comment"] == "\ufffd\ufffd"
    assert Pod(world, made).job_ends("COMPLETED")["Comment"] == "\ufffd\ufffd"
    assert space.pod("after", "exit 0").job_ends("COMPLETED")


def test_impossible_amounts_are_told_and_harm_nobody(world, space):
    refused(world, space.pod("million", cpu="1000000"), "1000000 CPUs")
    refused(world, space.pod("memory", memory="9Ei"), "memory")
    refused(world, space.pod("zero", cpu="0", memory="0"), "cpu", "memory")
    large = space.pod("large", cpu="1000")
    world.until("it fits nowhere", lambda: "none of 2 nodes" in large.unscheduled()[1])
    assert large.jobs() == []
    assert space.pod("after", "exit 0").job_ends("COMPLETED")


def test_what_slurm_refuses_is_told_in_its_own_words(world, space):
    """The partition's name is Slurm's to judge. A better one is taken at once."""
    pod = space.pod("nowhere", annotations={"partition": "nosuch"})
    world.until("Slurm's words are on the Pod", lambda: "partition" in pod.unscheduled()[1].lower())
    assert "nvalid partition" in pod.says("SubmitFailed")
    pod.annotate(partition="high")
    pod.running(deadline=10)


def test_a_user_slurm_does_not_know_is_told_on_the_pod(world, space):
    pod = space.pod("stranger", annotations={"user-id": "54321"})
    world.until("it says why", lambda: pod.unscheduled()[1], 20)
    world.until("the held job is told", lambda: "JobHeldAdmin" in pod.unscheduled()[1] or "user" in pod.unscheduled()[1].lower(), 20)
    assert pod.node() is None


# ---- the hook API ----


class Hook:
    def __init__(self, world):
        self.world = world
        self.place = urlparse("http://" + world.hook_address)
        self.secret = (world.dir / "hook-secret").read_bytes().rstrip(b"\n")

    def token(self, pod):
        return hmac.new(self.secret, pod.uid.encode(), hashlib.sha256).hexdigest()

    def call(self, method, job, verb, uid, token, body=b"", timeout=10):
        c = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=timeout)
        headers = {} if token is None else {"Authorization": "Bearer " + token}
        try:
            c.request(method, f"/v1/jobs/{job}/{verb}?uid={uid}", body, headers)
            return c.getresponse().status
        finally:
            c.close()


VERBS = [("POST", "started"), ("GET", "wait"), ("POST", "terminate"), ("POST", "drain")]


@pytest.fixture(name="hook")
def hook_of(world):
    return Hook(world)


@HOOK_ALONE
def test_a_token_opens_its_own_job_and_nothing_else(world, space, hook):
    mine, other = space.pod("mine").running(), space.pod("other").running()
    token, job, theirs = hook.token(mine), mine.job_id(), other.job_id()
    assert hook.call("POST", job, "started", mine.uid, token) == 200  # it is the right one
    for method, verb in VERBS:
        assert hook.call(method, theirs, verb, other.uid, token) == 401
        assert hook.call(method, theirs, verb, mine.uid, token) == 403
        assert hook.call(method, job, verb, mine.uid, None) == 401
        assert hook.call(method, job, verb, mine.uid, "0" * 64) == 401
        assert hook.call(method, job, verb, mine.uid, token[:-1]) == 401
        assert hook.call(method, 999999, verb, mine.uid, token) == 404
    assert mine.phase() == other.phase() == "Running"
    assert not world.is_drained("n1") and not world.is_drained("n2")


def test_a_job_of_someone_else_cannot_be_claimed(world, space, hook):
    """A plain job, even one that writes a Pod's name into its own extra, gets nothing through that Pod's token."""
    pod = space.pod("victim").running()
    plain = space.sbatch("sleep 1000", "--mem=64")
    fake = space.sbatch("sleep 1000", "--mem=64", "--extra", f"{space.ns}/victim/{pod.uid}: started")
    for method, verb in VERBS:
        assert hook.call(method, plain, verb, pod.uid, hook.token(pod)) in (403, 404)
    # its extra is a lie: its name is not the Pod's
    assert hook.call("POST", fake, "terminate", pod.uid, hook.token(pod)) in (403, 404)
    world.never("the Pod suffers", lambda: pod.phase() != "Running" or world.job_state(fake) == "CANCELLED", 1)


def test_nobody_takes_a_pods_place_with_a_job_of_his_own(world, space):
    """Name and extra of a job are its owner's to choose: a small job that says what the Pod's says does not get the Pod to run."""
    pod = space.pod("victim", cpu="4", annotations={"priority": "0"})
    job = pod.submitted()
    forged = space.sbatch("sleep 1000", "-n1", "--mem=64", "--uid=65534", "--gid=65534", "-J", f"{space.ns}.victim",
                          "--extra", f"{space.ns}/victim/{pod.uid}: started")  # fmt: skip
    world.until("it runs", lambda: world.job_state(forged) == "RUNNING")
    world.never("it counts", lambda: pod.node() or pod.job_id() != str(job) or world.job_state(forged) != "RUNNING", 3)
    world.scontrol("release", job)
    pod.running()
    assert pod.job_id() == str(job) and world.job_state(forged) == "RUNNING"
    world.scancel(forged)
    world.never("the Pod suffers", lambda: pod.phase() != "Running", 1)


def test_a_job_with_another_name_and_extra_is_still_the_pods(world, space):
    """A person, or a plugin, renames jobs or uses their extra: no second job, no lost Pod."""
    waits, runs = space.pod("waits", annotations={"priority": "0"}), space.pod("runs").running()
    for pod in (waits, runs):
        job = pod.submitted()
        world.scontrol("update", f"JobId={job}", "JobName=renamed", "Extra=mine")
    world.until("its extra is as it was", lambda: world.job(waits.job_id())["Extra"] == f"{space.ns}/waits/{waits.uid}")
    world.restart_scheduler()
    world.never("a Pod suffers", lambda: runs.phase() != "Running" or len(waits.live_jobs()) != 1, 3)
    world.scontrol("release", waits.job_id())
    waits.running()
    world.scancel(runs.job_id())
    runs.vanishes()


@HOOK_ALONE
def test_garbage_is_answered_and_forgotten(world, space, hook):
    pod = space.pod("calm").running()
    token, job = hook.token(pod), pod.job_id()
    assert hook.call("POST", job, "started", pod.uid, token, b"\x00\xff" * 100) in (400, 413)
    try:
        assert hook.call("POST", job, "started", pod.uid, token, b"x" * 10_000_000) in (400, 413)
    except (BrokenPipeError, ConnectionResetError):
        pass  # it did not even listen to the end
    assert hook.call("DELETE", job, "wait", pod.uid, token) == 405
    assert hook.call("GET", "-1", "wait", pod.uid, token) in (400, 404)
    assert hook.call("GET", "99999999999999", "wait", pod.uid, token) in (400, 404)
    assert hook.call("GET", job, "wait", "u" * 5000, token) in (400, 401, 414)
    assert hook.call("GET", job, "nosuch", pod.uid, token) == 404
    with socket.create_connection((hook.place.hostname, hook.place.port), timeout=10) as s:
        s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" * 50)
    assert space.pod("after", "exit 0").job_ends("COMPLETED")


@HOOK_ALONE
def test_slow_callers_hold_up_nobody(world, space, hook):
    """Bodies that never come, on many connections; the others are served meanwhile."""
    pod = space.pod("calm").running()
    slow = []
    try:
        for _ in range(40):
            s = socket.create_connection((hook.place.hostname, hook.place.port), timeout=10)
            s.sendall(f"POST /v1/jobs/{pod.job_id()}/started?uid={pod.uid} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
            slow.append(s)
        began = time.monotonic()
        assert space.pod("after", "exit 0").job_ends("COMPLETED")
        assert hook.call("POST", pod.job_id(), "started", pod.uid, hook.token(pod)) == 200
        assert time.monotonic() - began < 20
    finally:
        for s in slow:
            s.close()
