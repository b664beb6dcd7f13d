# SPDX-License-Identifier: GPL-2.0-or-later
"""`sunk-hook placeholder` as a real batch job of a real Slurm; the scheduler's hook is played here."""

import contextlib
import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
SLURM = TOP / "dev" / "slurm"
PATIENCE_S = 60
KILL_WAIT_S = 8
TOKEN = "0123456789abcdef" * 4
UID = "0f4b3c1e-5f0a-4c57-9d5e-3a1b2c3d4e5f"
POD = f"team/web-0/{UID}"

pytestmark = [pytest.mark.lite_only("no Kubernetes in it"), pytest.mark.skipif(not shutil.which("slurmctld"), reason="no Slurm here")]


def wait_for(what, seen, patience=PATIENCE_S):
    end = time.monotonic() + patience
    while True:
        got = seen()
        if got:
            return got
        assert time.monotonic() < end, f"not within {patience} s: {what}"
        time.sleep(0.03)


class Call:
    """A call that a placeholder made; it waits for answer()."""

    def __init__(self, job, name, run):
        self.job, self.name, self.run, self.at = job, name, run, time.monotonic()
        self.status, self.body = None, b""
        self.answered = threading.Event()

    def answer(self, status=200, body=b"{}"):
        self.status, self.body = status, body
        self.answered.set()


class Hook:
    """The hook API: keeps the calls in their order. They are answered by the test."""

    def __init__(self, tls=None):
        self.calls, self.lock, self.ending = [], threading.Lock(), False
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.serve(self)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a placeholder that gave a call up

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "server.pem", tls / "server.key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, request):
        at = urllib.parse.urlsplit(request.path)
        m = re.fullmatch(r"/v1/jobs/([0-9]+)/(started|wait|terminate|drain)", at.path)
        query = dict(urllib.parse.parse_qsl(at.query))
        assert m and query["uid"] == UID, request.path
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        assert request.command == ("GET" if m[2] == "wait" else "POST")
        assert query.get("seconds") == ("300" if m[2] in ("started", "wait") else None)
        call = Call(int(m[1]), m[2], int(query["run"]))
        with self.lock:
            self.calls.append(call)
        while not call.answered.wait(1) and not self.ending:
            pass
        request.send_response(call.status or 503)
        request.send_header("Content-Length", str(len(call.body)))
        request.end_headers()
        request.wfile.write(call.body)

    def find(self, job, name, n=0):
        with self.lock:
            found = [c for c in self.calls if c.job == job and c.name == name]
        return found[n] if len(found) > n else None

    def wait_for(self, job, name, n=0, patience=PATIENCE_S):
        return wait_for(f"call {name} number {n} of job {job}", lambda: self.find(job, name, n), patience)

    def close(self):
        self.ending = True
        self.server.shutdown()


class Cluster:
    def __init__(self, directory):
        self.dir, self.work = directory / "c", directory / "w"
        self.work.mkdir(mode=0o777)
        os.chmod(directory, 0o755)
        os.chmod(self.work, 0o1777)
        self.hook_program = directory / "sunk-hook"
        for program in (self.hook_program, directory / "sunk-hook-tls"):
            shutil.copy(BUILD / "src" / "hook" / program.name, program)
            os.chmod(program, 0o755)
        self.env = {**os.environ, "SLURM_CONF": str(self.dir / "etc" / "slurm.conf")}
        self.slurm("start", "--nodes", "2", "--kill-wait", KILL_WAIT_S, "--conf", "MinJobAge=300")

    def slurm(self, verb, *args):
        subprocess.run([SLURM, verb, self.dir, *map(str, args)], check=True, timeout=120)

    def run(self, *command, ok=True, **more):
        got = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=90, check=False,
                             **{"env": self.env, **more})
        assert not ok or got.returncode == 0, f"{command}: {got.stdout}{got.stderr}"
        return got.stdout

    def submit(self, hook, *args, pod=POD, **more):
        """A placeholder with nothing in its environment but what a placeholder needs."""
        env = {"PATH": "/usr/bin:/bin", "SUNK_POD": pod, "SUNK_HOOK_URL": hook.url, "SUNK_HOOK_TOKEN": TOKEN,
               "SUNK_KILL_WAIT": str(KILL_WAIT_S), **more}
        script = f"#!/bin/sh\nexec {self.hook_program} placeholder\n"
        return int(self.run("sbatch", "--parsable", "--no-requeue", "--chdir=/", "-J", "team.web-0", f"--extra={pod}",
                            "-o", self.work / "%j.out", *args, input=script,
                            env={**env, "SLURM_CONF": self.env["SLURM_CONF"]}))

    def job(self, job):
        """scontrol's fields; nothing when the controller is away."""
        text = self.run("scontrol", "-o", "show", "job", job, ok=False)
        fields = dict(re.findall(r"(\w+)=(\S*)", text))
        extra = re.search(r"Extra=(.*?) (?:\w+=|$)", text)
        return {**fields, "Extra": extra[1].strip() if extra else None} if text else {}

    def wait_state(self, job, *states):
        return wait_for(f"job {job} {states}, it is {self.job(job).get('JobState')}",
                        lambda: self.job(job).get("JobState") in states)

    def said(self, job):
        path = self.work / f"{job}.out"
        return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module", name="cluster")
def make_cluster():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sk-ph-"))
    c = None
    try:
        c = Cluster(directory)
        yield c
    finally:
        subprocess.run([SLURM, "stop", directory / "c"], check=False, timeout=120)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(name="hook")
def make_hook(cluster):
    hook = Hook()
    yield hook
    for name in ("started", "wait", "terminate", "drain"):  # of a test that failed
        with contextlib.suppress(Exception):
            for job in {c.job for c in hook.calls if c.name == name}:
                cluster.run("scancel", "-f", "-s", "KILL", job, ok=False)
    hook.close()


@pytest.fixture(scope="module", name="pki")
def make_pki(cluster):
    """Two certificates for 127.0.0.1, each its own CA: the server's and a stranger's. Readable by any user."""
    for name in ("server", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-days", "2"], cwd=cluster.work, check=True, capture_output=True)
        os.chmod(cluster.work / f"{name}.pem", 0o644)
    return cluster.work


def processes(cluster):
    """pids of live processes that run this test's sunk-hook, or were started by it."""
    found = []
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(proc / "exe").startswith(str(cluster.hook_program)):
                found.append(int(proc.name))
    return found


AS = {"root": [], "another user": ["--uid=65534", "--gid=65534"]}  # nobody; sbatch 26.05 does not take that name


@pytest.mark.parametrize("user", AS)
@pytest.mark.parametrize(("code", "state"), [(0, "COMPLETED"), (7, "FAILED")])
def test_a_job_is_marked_waits_and_ends_with_its_pods_exit_code(cluster, hook, user, code, state):
    job = cluster.submit(hook, *AS[user])
    parked = hook.wait_for(job, "started")
    wait_for("the mark", lambda: cluster.job(job)["Extra"] == f"{POD}: started")
    assert cluster.job(job)["JobState"] == "RUNNING"
    parked.answer(200, b'{"phase":"Failed","exitCode":%d}' % code)
    cluster.wait_state(job, state)
    assert cluster.job(job)["ExitCode"] == f"{code}:0"
    assert cluster.said(job) == ""
    assert [c.name for c in hook.calls if c.job == job] == ["started"]


def test_the_job_of_a_pod_that_is_over_at_once_is_marked_too(cluster, hook):
    job = cluster.submit(hook)
    hook.wait_for(job, "started").answer(200, b'{"phase":"Failed","exitCode":5}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "5:0"
    assert cluster.job(job)["Extra"] == f"{POD}: started"
    assert cluster.said(job) == ""


@pytest.mark.parametrize("first", [(204, b""), (200, b"{}")], ids=["longer than a call", "an older scheduler"])
def test_a_pod_that_is_not_over_when_started_is_answered_is_waited_for(cluster, hook, first):
    job = cluster.submit(hook)
    hook.wait_for(job, "started").answer(*first)
    hook.wait_for(job, "wait").answer(204, b"")
    wait = hook.wait_for(job, "wait", 1)
    wait_for("the mark", lambda: cluster.job(job)["Extra"] == f"{POD}: started")
    wait.answer(200, b'{"phase":"Failed","exitCode":9}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "9:0"
    assert [c.name for c in hook.calls if c.job == job] == ["started", "wait", "wait"]


def test_the_token_is_not_to_be_seen_on_the_node(cluster, hook):
    job = cluster.submit(hook, *AS["another user"])
    parked = hook.wait_for(job, "started")
    (pid,) = processes(cluster)
    shown = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    assert b"SUNK_POD=" in shown and TOKEN.encode() not in shown
    assert TOKEN.encode() not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    parked.answer(200, b'{"phase":"Gone"}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "143:0"


@pytest.mark.parametrize("user", AS)
def test_a_cancelled_job_ends_only_when_its_pod_is_gone(cluster, hook, user):
    job = cluster.submit(hook, *AS[user])
    hook.wait_for(job, "started")
    asked = time.monotonic()
    cluster.run("scancel", job)
    terminate = hook.wait_for(job, "terminate")
    print(f"scancel to terminate: {(terminate.at - asked) * 1000:.0f} ms")
    end = time.monotonic() + 1  # not a number of looks: on a busy machine those outlast KillWait
    while time.monotonic() < end:
        assert cluster.job(job)["JobState"] == "COMPLETING"
        time.sleep(0.05)
    terminate.answer(200, b'{"phase":"Gone"}')
    cluster.wait_state(job, "CANCELLED")
    assert not hook.find(job, "drain")
    assert cluster.job(job)["ExitCode"] == "143:0"


def test_signals_that_do_not_end_a_job_do_not_end_its_placeholder(cluster, hook):
    job = cluster.submit(hook)
    parked = hook.wait_for(job, "started")
    for name in ("USR1", "USR2", "QUIT", "ALRM", "TSTP"):
        cluster.run("scancel", f"--signal={name}", "--batch", job)
    parked.answer(200, b'{"phase":"Failed","exitCode":8}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "8:0"
    assert [c.name for c in hook.calls if c.job == job] == ["started"]


def test_a_pod_that_does_not_go_has_its_node_drained_before_the_kill(cluster, hook):
    job = cluster.submit(hook, *AS["another user"])
    hook.wait_for(job, "started")
    cluster.run("scancel", job)
    terminate = hook.wait_for(job, "terminate")
    drain = hook.wait_for(job, "drain")
    assert cluster.job(job)["JobState"] == "COMPLETING"
    drain.answer()
    cluster.wait_state(job, "CANCELLED")
    assert cluster.job(job)["ExitCode"] == "0:9"
    assert not terminate.answered.is_set()
    wait_for("no process left", lambda: not processes(cluster))


def test_nothing_is_lost_when_the_controller_restarts(cluster, hook):
    job = cluster.submit(hook)
    parked = hook.wait_for(job, "started")
    cluster.slurm("end", "slurmctld")  # the mark may or may not have been made
    cluster.slurm("run", "slurmctld")
    wait_for("the mark", lambda: cluster.job(job).get("Extra") == f"{POD}: started")
    parked.answer(200, b'{"phase":"Failed","exitCode":3}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "3:0"


def test_a_pod_that_ends_while_the_controller_is_away_still_ends_its_job(cluster, hook):
    job = cluster.submit(hook, *AS["another user"])
    parked = hook.wait_for(job, "started")
    wait_for("the mark", lambda: cluster.job(job)["Extra"] == f"{POD}: started")
    cluster.slurm("end", "slurmctld")
    parked.answer(200, b'{"phase":"Failed","exitCode":4}')
    wait_for("no process left", lambda: not processes(cluster))
    cluster.slurm("run", "slurmctld")
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "4:0"


def test_a_mark_that_cannot_be_made_while_the_controller_is_away_holds_no_jobs_end(cluster, hook, tmp_path):
    """scontrol is held up until the controller has gone."""
    go = tmp_path / "go"
    (tmp_path / "scontrol").write_text(f'#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.02; done\nexec /usr/bin/scontrol "$@"\n')
    (tmp_path / "scontrol").chmod(0o755)
    job = cluster.submit(hook, PATH=f"{tmp_path}:/usr/bin:/bin")
    parked = hook.wait_for(job, "started")
    cluster.slurm("end", "slurmctld")
    go.touch()
    parked.answer(200, b'{"phase":"Failed","exitCode":4}')
    wait_for("no process left", lambda: not processes(cluster), KILL_WAIT_S)
    cluster.slurm("run", "slurmctld")
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "4:0"
    assert cluster.job(job)["Extra"] == POD


def test_a_requeued_job_says_which_run_it_is(cluster, hook):
    job = cluster.submit(hook)
    hook.wait_for(job, "started")
    wait_for("the mark", lambda: cluster.job(job)["Extra"] == f"{POD}: started")
    first = cluster.job(job)["NodeList"]
    cluster.run("scontrol", "update", f"JobId={job}", "Requeue=1")
    cluster.run("scontrol", "requeue", job)
    terminate = hook.wait_for(job, "terminate")
    assert terminate.run == 0
    terminate.answer(200, b'{"phase":"Gone"}')
    wait_for("it waits for its second run", lambda: cluster.job(job)["Reason"] == "BeginTime")
    # elsewhere: a slurmd refuses a job that it ended in the same second ("Job credential revoked"), which is why Slurm waits two minutes
    cluster.run("scontrol", "update", f"JobId={job}", f"ExcNodeList={first}", "StartTime=now")
    second = hook.wait_for(job, "started", 1)
    assert second.run == 1
    wait_for("the mark of the second run", lambda: cluster.job(job)["Extra"] == f"{POD}: started 1")
    second.answer(200, b'{"phase":"Succeeded","exitCode":0}')
    cluster.wait_state(job, "COMPLETED")


def test_a_preempted_job_waits_for_its_pod_too(cluster, hook):
    job = cluster.submit(hook, "-p", "low", "-w", "n1", "--exclusive")
    hook.wait_for(job, "started")
    other = int(cluster.run("sbatch", "--parsable", "-p", "high", "-w", "n1", "--exclusive", "-o", "/dev/null", "--wrap", "true"))
    terminate = hook.wait_for(job, "terminate")
    assert cluster.job(other)["JobState"] == "PENDING"
    terminate.answer(200, b'{"phase":"Gone"}')
    cluster.wait_state(job, "PREEMPTED")
    cluster.wait_state(other, "COMPLETED")


def test_a_hook_with_tls_is_believed_when_its_ca_is_the_one_given(cluster, pki):
    hook = Hook(tls=pki)
    job = cluster.submit(hook, *AS["another user"], SUNK_HOOK_CA=str(pki / "server.pem"))
    hook.wait_for(job, "started").answer(200, b'{"phase":"Failed","exitCode":6}')
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "6:0"
    job = cluster.submit(hook, *AS["another user"], SUNK_HOOK_CA=str(pki / "other.pem"))
    wait_for("its complaint", lambda: "does not answer" in cluster.said(job))
    assert not hook.find(job, "started")
    assert cluster.job(job)["JobState"] == "RUNNING"
    cluster.run("scancel", job)
    cluster.wait_state(job, "CANCELLED")  # killed: there was nobody to ask
    said = cluster.said(job)
    assert said.count("does not answer") == 1 and said.count("told to drain the node") == 1 and "certificate" in said
    hook.close()


def test_https_without_the_program_for_it_is_told(cluster, tmp_path):
    alone = tmp_path / "sunk-hook"
    shutil.copy(cluster.hook_program, alone)
    for args, env in ((("ping", "--url", "https://127.0.0.1:1"), {}), (("placeholder",), {"SUNK_HOOK_URL": "https://127.0.0.1:1"})):
        got = subprocess.run([alone, *args], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert (got.returncode, got.stdout) == (1, "")
        assert got.stderr == f"sunk-hook: https needs {alone}-tls, which cannot be run: No such file or directory\n"


def test_a_wrong_environment_is_told_in_the_jobs_output(cluster, hook):
    job = cluster.submit(hook, pod="no-pod")
    cluster.wait_state(job, "FAILED")
    assert cluster.job(job)["ExitCode"] == "2:0"
    assert cluster.said(job) == "sunk-hook placeholder: SUNK_POD is not <namespace>/<name>/<uid>\n"
    assert not hook.calls
