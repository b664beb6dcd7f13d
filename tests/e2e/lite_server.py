# SPDX-License-Identifier: GPL-2.0-or-later
"""A Kubernetes API for a test, and nothing else: a `sunk-lite serve`, started in a directory of its own, always stopped by its pid; or,
with SUNK_KUBE=real, a real control plane (Kube is the one or the other)."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SUNK_BUILD", ROOT / "build"))
DEADLINE = 30  # seconds; what takes longer has failed
REAL = os.environ.get("SUNK_KUBE") == "real"
ALIVE = []  # every one that was not closed yet: the logs of a test that fails


def program():
    for path in (BUILD / "lite" / "sunk-lite", BUILD / "sunk-lite"):
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"no sunk-lite in {BUILD}: build it first (ninja -C build)")


def pause(begun, looked):
    """Between two looks at something that is waited for: short against what was waited already, and not less than the look took. Many wait at
    the same time, and looking is most of what they do."""
    now = time.monotonic()
    time.sleep(min(0.1, max(0.03, (now - begun) / 20, now - looked)))


def wait_for(what, check, deadline=DEADLINE):
    """Calls check() until it gives something true; says what was missing when it never does."""
    begun = time.monotonic()
    while True:
        looked = time.monotonic()
        last = check()
        if last:
            return last
        if time.monotonic() > begun + deadline:
            raise AssertionError(f"not within {deadline} s: {what}; last: {last!r}")
        pause(begun, looked)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.text = status, headers, body

    @property
    def json(self):
        return json.loads(self.text)


class Api:
    """One that runs: `data` holds what it left for clients."""

    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="lite-e2e-"))
        self.home = self.dir / "home"
        self.home.mkdir()
        ALIVE.append(self)

    def close(self):
        self.stop()
        ALIVE.remove(self)
        shutil.rmtree(self.dir, ignore_errors=True)

    def find(self):
        self.url = (self.data / "ready").read_text().strip()
        self.token = (self.data / "token").read_text().strip()
        self.context = ssl.create_default_context(cafile=str(self.data / "ca.crt"))

    # ---- kubectl ----

    def env(self, **more):
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KUBECONFIG": str(self.data / "kubeconfig"),
            "LC_ALL": "C.UTF-8",
            **more,
        }

    def kubectl(self, *args, stdin=None, ok=True, **env):
        if isinstance(stdin, (dict, list)):
            stdin = json.dumps(stdin)
        r = subprocess.run(
            ["kubectl", *args], input=stdin, capture_output=True, text=True, timeout=60, env=self.env(**env)
        )
        if ok is not None:
            assert (r.returncode == 0) == ok, f"kubectl {' '.join(args)}\n{r.stdout}{r.stderr}\nserver: {self.tail()}"
        return r.stdout + r.stderr if ok is False else r.stdout

    def get(self, *args):
        return json.loads(self.kubectl("get", *args, "-o", "json"))

    def kubectl_start(self, *args):
        return subprocess.Popen(
            ["kubectl", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1, env=self.env()
        )

    # ---- plain HTTP ----

    def call(self, method, path, body=None, content_type="application/json", token=None, headers=None, timeout=30):
        if body is not None and not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body)).encode()
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers or {})
        if body is not None:
            request.add_header("Content-Type", content_type)
        if token != "":
            request.add_header("Authorization", "Bearer " + (token or self.token))
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=timeout) as r:
                return Answer(r.status, r.headers, r.read().decode())
        except urllib.error.HTTPError as e:
            with e:
                return Answer(e.code, e.headers, e.read().decode())

    def stream(self, path, timeout=30):
        """An open watch; iterate over its lines."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": "Bearer " + self.token})
        return urllib.request.urlopen(request, context=self.context, timeout=timeout)


class Lite(Api):
    def __init__(self, *flags):
        super().__init__()
        self.data = self.dir / "data"
        self.flags = flags
        self.process = None
        self.start()

    def start(self, *more):
        ready = self.data / "ready"
        ready.unlink(missing_ok=True)  # one that was killed leaves it behind
        self.log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen(
            [program(), "serve", "--dir", str(self.data), *self.flags, *more], stdout=self.log, stderr=self.log
        )
        wait_for("the server is ready\n" + self.tail(), lambda: ready.exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.tail()
        self.find()

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, how)
            self.process.wait(DEADLINE)
            assert how == signal.SIGKILL or self.process.returncode == 0, self.tail()  # sanitizers speak here
        self.log.close()

    def restart(self, how=signal.SIGTERM, *more):
        self.stop(how)
        self.start(*more)

    def tail(self):
        path = self.dir / "log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""

    def fault(self, kind, *args, ok=True):
        r = subprocess.run(
            [program(), "fault", "--dir", str(self.data), kind, *args], capture_output=True, text=True, timeout=60
        )
        assert (r.returncode == 0) == ok, r.stdout + r.stderr
        return r.stdout + r.stderr


class Real(Api):
    def __init__(self, *_):
        super().__init__()
        self.data = self.dir / "c/kube"
        self.run("up", "--kube-only")
        self.find()

    def run(self, script, *flags):
        r = subprocess.run([ROOT / "dev" / script, "--dir", self.dir / "c", *flags], capture_output=True, text=True, timeout=240, check=False)
        assert r.returncode == 0, r.stdout + r.stderr

    def stop(self):
        if (self.dir / "c/cluster").exists():
            self.run("down")

    def tail(self):
        path = self.dir / "c/log/kube-apiserver.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""

    def env(self, **more):
        return super().env(**more) | {"PATH": os.environ["KUBE_BIN_DIR"] + ":" + os.environ["PATH"]}


Kube = Real if REAL else Lite


def pod(name, ns="default", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": ns, "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec},
    }


def node(name, cpu="4", **labels):
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "lastHeartbeatTime": "2026-11-15T20:00:00Z",
                    "lastTransitionTime": "2026-11-15T20:00:00Z",
                }
            ],
        },
    }
