# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole cluster for tests of the daemons: real Slurm, `lite`, its node agent and `sunk scheduler`, as dev/up starts them. With
SUNK_KUBE=real the Kubernetes is a real one: the same tests, but for those that need lite's own faults.

Everything is looked at from outside, as a person would (scontrol, the Kubernetes API, kubectl); everything is waited for with a
deadline, and what was missing is shown together with the ends of all logs.
"""

import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from lite_server import BUILD, Answer, pause

REAL = os.environ.get("SUNK_KUBE") == "real"
TOP = Path(__file__).resolve().parents[2]
DEV = TOP / "dev"
DEADLINE = 30  # seconds; what takes longer has failed
PREFIX = "sunk.coreweave.com/"
MERGE = "application/merge-patch+json"
KILL_WAIT = 8  # so a Pod's grace may be 2 at most
DRAINED = "k8s: pod deletion timeout"
ENDING = ("RUNNING", "COMPLETING")  # states of a job that holds its node
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"  # takes its whole grace period

_KEY = re.compile(r"(?:^|\s)([A-Z][A-Za-z/:_]*)=")


def fields(line):
    """One record of `scontrol -o`: values may hold blanks, keys begin with a capital letter."""
    marks = list(_KEY.finditer(line))
    ends = [m.start() for m in marks[1:]] + [len(line)]
    return {m.group(1): line[m.end() : end].strip() for m, end in zip(marks, ends)}


class World:
    def __init__(self, options=(), nodes=4, kill_wait=KILL_WAIT, parts="scheduler"):
        self.dir = Path(tempfile.mkdtemp(prefix="sw-", dir="/tmp"))
        self.dir.chmod(0o755)  # jobs run as other users, too
        self.up = False
        self.stopped = set()  # processes under SIGSTOP
        self.children = []
        self.kept = threading.local()  # connections to the API
        try:
            self._start("--nodes", nodes, "--kill-wait", kill_wait, "--parts", parts, *options)
        except BaseException:
            self.close()
            raise

    dev = DEV

    def _start(self, *options):
        up = subprocess.run(
            [DEV / "up", "--dir", self.dir, *map(str, options)], capture_output=True, text=True, timeout=240, check=False
        )
        assert up.returncode == 0, up.stdout + up.stderr
        self.up = True
        kube = self.dir / "kube"
        self.url = (kube / "ready").read_text().strip()
        self.token = (kube / "token").read_text().strip()
        self.context = ssl.create_default_context(cafile=str(kube / "ca.crt"))
        self.env = {
            **os.environ,
            "HOME": str(self.dir),
            "LC_ALL": "C.UTF-8",
            "KUBECONFIG": str(kube / "kubeconfig"),
            "SLURM_CONF": str(self.dir / "slurm/etc/slurm.conf"),
        }
        if REAL:  # kubectl of the server's version
            self.env["PATH"] = os.environ["KUBE_BIN_DIR"] + ":" + os.environ["PATH"]
        exports = dict(re.findall(r"^export ([A-Z_]+)='?([^'\n]*)'?$", (self.dir / "env").read_text(), re.M))
        self.scheduler_name = exports["SUNK_SCHEDULER_NAME"]
        self.metrics_urls = {k[5:-8].lower(): v for k, v in exports.items() if k.endswith("_METRICS")}  # by part: SUNK_PART_METRICS
        words = Path(f"/proc/{self.pid('scheduler')}/cmdline").read_text(encoding="utf-8").split("\0")
        self.hook_address = words[words.index("--hook-listen") + 1]

    def close(self):
        for pid in list(self.stopped):
            self.go_on(pid)
        if self.up or (self.dir / "cluster").exists():
            subprocess.run([DEV / "down", "--dir", self.dir], capture_output=True, timeout=120, check=False)
        for child in self.children:
            child.wait(DEADLINE)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- waiting ----

    def until(self, what, check, deadline=DEADLINE):
        """Calls check() until it gives something true, and gives that back."""
        begun = time.monotonic()
        while True:
            looked = time.monotonic()
            try:
                last = check()
            except AssertionError as e:
                last = None
                if time.monotonic() > begun + deadline:
                    raise AssertionError(f"not within {deadline} s: {what}\n{e}\n{self.story()}") from e
            if last:
                return last
            if time.monotonic() > begun + deadline:
                raise AssertionError(f"not within {deadline} s: {what}; last: {last!r}\n{self.story()}")
            pause(begun, looked)

    def never(self, what, check, span=1.5):
        """Watches for a while that something does not happen: only for what would happen at once if it were wrong."""
        end = time.monotonic() + span
        while time.monotonic() < end:
            got = check()
            assert not got, f"{what}: {got!r}\n{self.story()}"
            time.sleep(0.05)

    def story(self):
        """What a person would look at."""
        parts = [
            "---- jobs\n" + "\n".join(self.run("squeue", "-h", "-t", "all", "-o", "%i %j %T %r %N %B", ok=None).splitlines()[:25]),
            "---- nodes\n" + self.run("sinfo", "-N", "-p", "main", "-o", "%N %T %E", ok=None),
            "---- Pods\n" + self.kubectl("get", "pods", "-A", "-o", "wide", ok=None),
            "---- events\n" + "\n".join(self.kubectl("get", "events", "-A", ok=None).splitlines()[-25:]),
        ]
        logs = ("log/scheduler.log", "log/syncer.log", "log/operator.log", "log/all.log", "slurm/log/slurmctld.log", "log/agent.log",
                "log/kube.log", "log/kube-apiserver.log")  # fmt: skip
        for log in logs:
            parts.append(f"---- {log}\n{self.tail(log)}")
        return "\n".join(parts)

    def tail(self, name, lines=40):
        path = self.dir / name
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(none)"

    # ---- commands ----

    def run(self, *command, ok=True, stdin=None, timeout=60):
        r = subprocess.run(
            [str(c) for c in command],
            input=stdin, capture_output=True, text=True, errors="replace", timeout=timeout, env=self.env, check=False,
        )  # fmt: skip
        if ok is not None:
            assert (r.returncode == 0) == ok, f"{command}: {r.stdout}{r.stderr}"
        return r.stdout if ok else r.stdout + r.stderr

    def kubectl(self, *args, **more):
        return self.run("kubectl", *args, **more)

    def scontrol(self, *args, **more):
        return self.run("scontrol", *args, **more)

    # ---- Slurm ----

    def jobs(self):
        return [fields(line) for line in self.scontrol("-o", "show", "job").splitlines() if line.startswith("JobId=")]

    def job(self, job_id):
        """One job, or None when Slurm does not know it."""
        out = self.scontrol("-o", "show", "job", job_id, ok=None)
        return fields(out) if out.startswith("JobId=") else None

    def job_state(self, job_id):
        job = self.job(job_id)
        return job["JobState"] if job else None

    def node(self, name):
        return fields(" ".join(self.scontrol("-o", "show", "node", name).split("\n")))

    def launches_are_over(self):
        """Waits for it: an answer of slurmd's to a launch that is counted later is a sign of life, and a node that is down is up again."""
        self.until("Slurm has done with its launches", lambda: re.search(r"^Agent count: +0$", self.run("sdiag"), re.M))

    def node_reason(self, name):
        return self.run("sinfo", "-h", "-n", name, "-p", "main", "-o", "%E").strip()

    def is_drained(self, name):
        return "DRAIN" in self.node(name)["State"]

    def sbatch(self, script, *options):
        out = self.run("sbatch", "--parsable", "-o", "/dev/null", "-D", "/", *options, "--wrap", script)
        return int(out.split(";")[0])

    def scancel(self, *job_ids):
        self.run("scancel", *job_ids)

    def slurm_part(self, action, part):
        self.run(DEV / "slurm", action, self.dir / "slurm", part, timeout=120)

    def slurm_answers(self):
        return "is UP" in self.scontrol("ping", ok=None)

    def resume(self, *names):
        for name in names:
            self.scontrol("update", f"nodename={name}", "state=resume", ok=None)
        self.until("the nodes are back", lambda: not any(s in self.node(n)["State"] for n in names for s in ("DOWN", "DRAIN")))

    # ---- Kubernetes ----

    def call(self, method, path, body=None, content_type="application/json", timeout=30):
        if method == "GET" and body is None:
            answer = self.look(path, timeout)
            if answer:
                return answer
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        if data is not None:
            request.add_header("Content-Type", content_type)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=timeout) as r:
                return Answer(r.status, r.headers, r.read().decode())
        except urllib.error.HTTPError as e:
            with e:
                return Answer(e.code, e.headers, e.read().decode())

    def look(self, path, timeout):
        """A GET over a connection that stays: most calls are looks, and most of the work of one was to connect. None when it broke."""
        kept = self.kept.__dict__
        try:
            if kept.get("url") != self.url:
                kept.update(url=self.url, http=http.client.HTTPSConnection(urllib.parse.urlparse(self.url).netloc, context=self.context))
            kept["http"].timeout = timeout
            if kept["http"].sock:
                kept["http"].sock.settimeout(timeout)
            kept["http"].request("GET", path, headers={"Authorization": "Bearer " + self.token})
            r = kept["http"].getresponse()
            return Answer(r.status, r.headers, r.read().decode())
        except (OSError, http.client.HTTPException) as e:
            if "http" in kept:
                kept.pop("http").close()
            kept.clear()
            if isinstance(e, TimeoutError):
                raise
            return None

    def change_node(self, name, **spec):
        r = self.call("PATCH", f"/api/v1/nodes/{name}", spec, MERGE)
        assert r.status == 200, r.text

    def fault(self, kind, *args):
        """A fault on command; only lite can do that."""
        if REAL and kind == "--clear":
            return ""
        return self.run(BUILD / "lite" / "sunk-lite", "fault", "--dir", self.dir / "kube", kind, *args)

    # ---- processes ----

    def pid(self, part):
        pid, start = (self.dir / f"run/{part}.proc").read_text().split()
        assert started(pid) == start, f"{part} is not running"
        return int(pid)

    def halt(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.stopped.add(pid)

    def go_on(self, pid):
        self.stopped.discard(pid)
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def kill_part(self, part, how=signal.SIGKILL):
        """Gives back how it was started."""
        pid = self.pid(part)
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
        os.kill(pid, how)
        self.until(f"{part} is gone", lambda: not alive(pid))
        return words

    def start_part(self, part, *command):
        """By default as dev/up did, where it left a script for that."""
        with open(self.dir / f"log/{part}.log", "ab") as log:
            child = subprocess.Popen(
                [str(c) for c in command] or [self.dir / part],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.children.append(child)
        (self.dir / f"run/{part}.proc").write_text(f"{child.pid} {started(child.pid)}\n")

    def kill_scheduler(self, how=signal.SIGKILL):
        self.kill_part("scheduler", how)

    def start_scheduler(self, *flags):
        """As dev/up did, with more flags."""
        self.start_part("scheduler", self.dir / "scheduler", *flags)

    def restart_scheduler(self, *flags, how=signal.SIGKILL):
        self.kill_scheduler(how)
        self.start_scheduler(*flags)

    def metrics(self, part="scheduler"):
        with urllib.request.urlopen(self.metrics_urls[part], timeout=10) as r:
            lines = r.read().decode().splitlines()
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}


def started(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[19]


def alive(pid):
    """A dead one whose threads are still on their way out holds its ports."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


class Pod:
    """A Pod that a test made: the same one (its uid), also when another of its name comes."""

    def __init__(self, world, made):
        self.world, self.made = world, made
        self.ns, self.name, self.uid = (made["metadata"][k] for k in ("namespace", "name", "uid"))
        self.path = f"/api/v1/namespaces/{self.ns}/pods/{self.name}"

    def get(self):
        """As it is now; None when it is gone."""
        r = self.world.call("GET", self.path)
        return r.json if r.status == 200 and r.json["metadata"]["uid"] == self.uid else None

    def gone(self):
        return self.get() is None

    def node(self):
        got = self.get()
        return got and got["spec"].get("nodeName")

    def phase(self):
        got = self.get()
        return got and got["status"].get("phase")

    def annotation(self, name):
        got = self.get()
        return got and got["metadata"].get("annotations", {}).get(PREFIX + name)

    def condition(self, kind):
        got = self.get()
        return next((c for c in (got or {"status": {}})["status"].get("conditions", []) if c["type"] == kind), None)

    def unscheduled(self):
        """(reason, message) of PodScheduled=False, or ("", "")."""
        c = self.condition("PodScheduled")
        return (c.get("reason", ""), c.get("message", "")) if c and c["status"] == "False" else ("", "")

    def events(self, reason=None):
        """Texts of its events, or "reason: text" of all."""
        path = f"/api/v1/namespaces/{self.ns}/events?limit=500"
        items = [e for e in self.world.call("GET", path).json["items"] if e["involvedObject"].get("uid") == self.uid]
        if reason is None:
            return [f"{e['reason']}: {e.get('message', '')}" for e in items]
        return [e.get("message", "") for e in items if e["reason"] == reason]

    def jobs(self):
        """All of Slurm's jobs that stand for it, ended ones too, the oldest first."""
        return sorted((j for j in self.world.jobs() if self.uid in j.get("Extra", "")), key=lambda j: int(j["JobId"]))

    def live_jobs(self):
        return [j for j in self.jobs() if j["JobState"] in ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING")]

    def job_id(self):
        return self.annotation("job-id")

    def job(self):
        job_id = self.job_id()
        return self.world.job(job_id) if job_id else None

    def patch(self, change):
        r = self.world.call("PATCH", self.path, change, MERGE)
        assert r.status == 200, r.text
        return r.json

    def annotate(self, **annotations):
        """None removes one; "_" stands for "-"."""
        return self.patch({"metadata": {"annotations": {PREFIX + k.replace("_", "-"): v for k, v in annotations.items()}}})

    def delete(self, grace=None):
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        r = self.world.call("DELETE", self.path + query)
        assert r.status in (200, 202), r.text

    # ---- waiting ----

    def submitted(self):
        """Its job's id, as the Pod says."""
        return int(self.world.until(f"{self.name} has a job", self.job_id))

    def running(self, deadline=DEADLINE):
        self.world.until(f"{self.name} runs", lambda: self.phase() == "Running", deadline)
        return self

    def vanishes(self, deadline=DEADLINE):
        self.world.until(f"{self.name} is gone", self.gone, deadline)

    def says(self, reason, text="", deadline=DEADLINE):
        """Waits for an event; gives its text."""
        return self.world.until(
            f"{self.name} has an event {reason} with '{text}'; it has {self.events()}",
            lambda: next((m for m in self.events(reason) if text in m), None),
            deadline,
        )

    def job_ends(self, state, deadline=DEADLINE):
        """Waits for the end of its latest job."""
        return self.world.until(
            f"the job of {self.name} is {state}",
            lambda: next((j for j in self.jobs()[-1:] if j["JobState"] == state), None),
            deadline,
        )


def manifest(world, ns, name, script="sleep 1000", cpu="1", memory="64Mi", annotations=None, grace=1, gpus=None, more=None, **spec):
    """A Pod for the scheduler. `more` goes into its one container."""
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v is not None}
    container = {"name": "c", "image": "none", "command": ["sh", "-c", script], "resources": {"requests": requests}}
    if gpus:
        container["resources"]["requests"]["nvidia.com/gpu"] = gpus
        container["resources"]["limits"] = {"nvidia.com/gpu": gpus}
    container.update(more or {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": ns,
            "annotations": {(k if "/" in k else PREFIX + k): v for k, v in (annotations or {}).items()},
        },
        "spec": {
            "schedulerName": world.scheduler_name,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": grace,
            "containers": [container],
            **spec,
        },
    }


class Space:
    """A namespace for one test, and what it makes there."""

    def __init__(self, world, ns):
        self.world, self.ns = world, ns
        self.batch = []
        r = world.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
        assert r.status == 201, r.text
        # without it no Pod is taken; a real server's controllers make it a moment later. After a restart of the server they are
        # away for longer: client-go asks again after half a minute, and that may be twice
        path = f"/api/v1/namespaces/{ns}/serviceaccounts/default"
        world.until(f"{ns} has a service account", lambda: world.call("GET", path).status == 200, 3 * DEADLINE)

    def send(self, body):
        return self.world.call("POST", f"/api/v1/namespaces/{self.ns}/pods", body)

    def manifest(self, name, script="sleep 1000", **more):
        return manifest(self.world, self.ns, name, script, **more)

    def pod(self, name, script="sleep 1000", **more):
        return self.create(self.manifest(name, script, **more))

    def create(self, body):
        r = self.send(body)
        assert r.status == 201, r.text
        return Pod(self.world, r.json)

    def sbatch(self, script, *options):
        job_id = self.world.sbatch(script, *options)
        self.batch.append(job_id)
        return job_id

    def clean(self):
        """Everything it made goes; the next test finds empty nodes."""
        w = self.world
        if self.batch:
            w.run("scancel", *self.batch, ok=None)
        w.call("DELETE", f"/api/v1/namespaces/{self.ns}/pods?gracePeriodSeconds=0")
        w.call("DELETE", f"/api/v1/namespaces/{self.ns}")

        def rest():
            live = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")
            mine = [j for j in w.jobs() if int(j["JobId"]) in self.batch or j.get("Extra", "").startswith(self.ns + "/")]
            return [j["JobId"] for j in mine if j["JobState"] in live]

        w.until(f"the jobs of {self.ns} are over", lambda: not rest())


def hold(world, pod, what, has_it, deadline=30):
    """Waits until has_it(), and checks at every look that the Pod was gone before."""
    end = time.monotonic() + deadline
    while not has_it():
        assert time.monotonic() < end, f"not within {deadline} s: {what}\n{world.story()}"
        time.sleep(0.02)
    assert pod.gone() or pod.phase() in ("Succeeded", "Failed"), f"{what}, and the Pod is still there\n{world.story()}"
