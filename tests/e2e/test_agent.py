# SPDX-License-Identifier: GPL-2.0-or-later
"""The node agent with a real kubectl: Pods as processes, their logs, their ends; an agent that comes and goes."""

import datetime
import os
import re
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from lite_server import BUILD, DEADLINE, Lite, wait_for

pytestmark = pytest.mark.lite_only("tests lite's node agent")


class World:
    """An API server and an agent with Nodes k1 and k2. Every container carries a mark in its environment."""

    def __init__(self):
        self.lite = Lite("--node-grace", "0")
        self.pods = self.lite.dir / "pods"
        self.mark = "SUNK_TEST_MARK=" + uuid.uuid4().hex
        self.agent = None
        self.start_agent()

    def start_agent(self):
        data = self.lite.data
        with open(self.lite.dir / "agent.log", "ab") as log:
            self.agent = subprocess.Popen(
                [
                    BUILD / "lite" / "agent" / "sunk-lite-agent",
                    *("--kubeconfig", data / "kubeconfig", "--dir", self.pods, "--nodes", "k[1-2]"),
                    *("--cpu", "4", "--memory", "8Gi", "--log-token-file", data / "agent-token"),
                ],
                stdout=log,
                stderr=log,
            )

    def stop_agent(self, how=signal.SIGTERM):
        os.kill(self.agent.pid, how)
        self.agent.wait(DEADLINE)

    def close(self):
        try:
            self.lite.kubectl("delete", "pods", "-A", "--all", "--now", "--wait=false")
            wait_for("all Pods are gone", lambda: not self.lite.get("pods", "-A")["items"])
            self.stop_agent()
            wait_for("no process is left", lambda: not self.processes() and not self.shims())
        finally:
            if self.agent.poll() is None:
                self.stop_agent(signal.SIGKILL)
            for pid in self.processes() + self.shims():
                os.kill(pid, signal.SIGKILL)
            self.lite.close()

    # ---- processes ----

    def processes(self, more=None):
        """Pids of container processes: by the mark, and by another text in their environment."""
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                parts = environ.read_bytes().split(b"\0")
            except OSError:
                continue
            if self.mark.encode() in parts and (more is None or more.encode() in parts):
                found.append(int(environ.parent.name))
        return found

    def shims(self):
        found = []
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                parts = cmdline.read_bytes().split(b"\0")
            except OSError:
                continue
            if len(parts) > 2 and parts[1] == b"shim" and parts[2].startswith(bytes(self.pods)):
                found.append(int(cmdline.parent.name))
        return found


@pytest.fixture(scope="module")
def world():
    w = World()
    try:
        wait_for(
            "two Nodes are ready",
            lambda: len(nodes_of(w)) == 2 and re.findall(r"k[12]\s+Ready", w.lite.kubectl("get", "nodes")),
        )
        yield w
    finally:
        print((w.lite.dir / "agent.log").read_text()[-4000:])
        w.close()


def nodes_of(w):
    return [n for n in w.lite.get("nodes")["items"] if n["status"].get("daemonEndpoints")]


class Pods:
    """The Pods of one test, in a namespace of its own."""

    def __init__(self, world, ns):
        self.world, self.lite, self.ns = world, world.lite, ns

    def k(self, *args, **more):
        return self.lite.kubectl("-n", self.ns, *args, **more)

    def mount(self, name, **more):
        """A mount of a volume, at a place that is removed with the world."""
        return {"name": name, "mountPath": f"{self.lite.dir}/mnt/{name}", **more}

    def container(self, name, script, **more):
        key, value = self.world.mark.split("=")
        place = {"name": "V", "value": self.mount("v")["mountPath"]}
        env = [{"name": key, "value": value}, place, *more.pop("env", [])]
        return {"name": name, "image": "none", "command": ["sh", "-c", script], "env": env, **more}

    def make(self, name, *containers, node="k1", **spec):
        containers = [self.container("c", c) if isinstance(c, str) else c for c in containers]
        spec = {"restartPolicy": "Never", "nodeName": node, "terminationGracePeriodSeconds": 5, **spec}
        spec["containers"] = containers
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        self.k("create", "-f", "-", stdin=body)

    def get(self, name):
        return self.lite.get("-n", self.ns, "pod", name)

    def until(self, name, what, check):
        last = {}

        def look():
            nonlocal last
            last = self.get(name)
            return check(last)

        try:
            wait_for(what, look)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{last.get('status')}") from None
        return last

    def phase(self, name, phase):
        return self.until(name, f"{name} is {phase}", lambda p: p["status"].get("phase") == phase)

    def ready(self, name):
        self.k("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={DEADLINE}s")

    def logs(self, name, *args):
        return self.k("logs", name, *args)

    def said(self, name, text, *args):
        wait_for(f"{name} says {text}", lambda: text in self.k("logs", name, *args, ok=None))

    def volume(self, name, volume):
        """Where an emptyDir really is."""
        return self.world.pods / self.get(name)["metadata"]["uid"] / "volumes" / volume


@pytest.fixture
def pods(world, request):
    ns = "t-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:50].strip("-")
    world.lite.kubectl("create", "namespace", ns)
    yield Pods(world, ns)
    world.lite.kubectl("-n", ns, "delete", "pods", "--all", "--now", "--wait=false")


def terminated(pod, name="c", init=False):
    for status in pod["status"]["initContainerStatuses" if init else "containerStatuses"]:
        if status["name"] == name:
            return status["state"].get("terminated")
    return None


# ---- logs ----


def test_logs_show_what_was_written(pods):
    pods.make("p", "for i in 1 2 3; do echo line $i; done; echo wrong >&2")
    pods.phase("p", "Succeeded")
    assert pods.logs("p") == "line 1\nline 2\nline 3\nwrong\n"
    assert pods.logs("p", "--tail=2") == "line 3\nwrong\n"
    assert pods.logs("p", "--tail=0") == ""
    assert pods.logs("p", "--tail=100").count("\n") == 4
    assert pods.logs("p", "--limit-bytes=8") == "line 1\nl"
    assert pods.logs("p", "--since=1h").count("\n") == 4
    assert pods.logs("p", "-f").count("\n") == 4  # it is over: nothing to wait for


def test_logs_carry_the_times_of_their_lines(pods):
    pods.make("p", "echo one; sleep 3; echo two; printf end")
    pods.phase("p", "Succeeded")
    lines = [line.split(" ", 1) for line in pods.logs("p", "--timestamps").split("\n")]
    assert [text for _, text in lines] == ["one", "two", "end"]
    times = [datetime.datetime.fromisoformat(t) for t, _ in lines]
    now = datetime.datetime.now(datetime.timezone.utc)
    assert times == sorted(times) and abs((now - times[0]).total_seconds()) < DEADLINE
    assert 2.5 < (times[1] - times[0]).total_seconds() < DEADLINE
    assert pods.logs("p", "--since-time=" + lines[1][0]) == "two\nend"
    age = int((now - times[0]).total_seconds()) - 1  # between the first line and the second
    assert pods.logs("p", f"--since={age}s") == "two\nend"
    assert pods.logs("p", "--timestamps", "--tail=1") == " ".join(lines[2])


def test_logs_of_all_that_a_selector_names(pods):
    for name in ("a", "b"):
        pods.make(name, pods.container("x", f"echo x of {name}"), pods.container("y", f"echo y of {name}"))
        pods.k("label", "pod", name, "group=g")
        pods.phase(name, "Succeeded")
    got = pods.k("logs", "-l", "group=g", "--all-containers", "--prefix")
    assert sorted(got.splitlines()) == [f"[pod/{p}/{c}] {c} of {p}" for p in "ab" for c in "xy"]


def test_logs_are_followed_until_the_container_ends(pods):
    script = "echo one; while [ ! -e $V/go ]; do sleep 0.05; done; echo two"
    main = pods.container("c", script, volumeMounts=[pods.mount("v")])
    pods.make("p", main, node="k2", volumes=[{"name": "v", "emptyDir": {}}])
    pods.said("p", "one")
    follower = pods.lite.kubectl_start("-n", pods.ns, "logs", "-f", "p")
    try:
        assert follower.stdout.readline() == "one\n"
        (pods.volume("p", "v") / "go").touch()
        assert follower.stdout.readline() == "two\n"
        assert follower.wait(DEADLINE) == 0
    finally:
        follower.kill()
        follower.wait()


def test_a_follower_that_leaves_and_one_whose_pod_is_deleted(pods):
    pods.make("p", "echo up; exec sleep 1000")
    pods.said("p", "up")
    first = pods.lite.kubectl_start("-n", pods.ns, "logs", "-f", "p")
    assert first.stdout.readline() == "up\n"
    first.kill()
    first.wait()
    second = pods.lite.kubectl_start("-n", pods.ns, "logs", "-f", "p")
    assert second.stdout.readline() == "up\n"
    pods.k("delete", "pod", "p", "--now")
    assert second.wait(DEADLINE) == 0


def test_logs_of_one_of_several_containers(pods):
    pods.make("p", pods.container("a", "echo from a"), pods.container("b", "echo from b"))
    pods.phase("p", "Succeeded")
    assert pods.logs("p", "-c", "b") == "from b\n"
    answer = pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/p/log")
    assert answer.status == 400
    assert answer.json["message"] == "a container name must be specified for pod p, choose one of: [a b]"
    answer = pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/p/log?container=x")
    assert (answer.status, answer.json["message"]) == (400, "container x is not valid for pod p")
    assert pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/nope/log").status == 404
    answer = pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/p/log?container=a&tailLines=-1")
    assert answer.status == 422, answer.text


def test_logs_of_a_container_that_waits_are_refused_as_the_kubelet_does(pods):
    key = [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "missing", "key": "k"}}}]
    pods.make("p", pods.container("c", "true", env=key))
    pods.until("p", "it waits", lambda p: "CreateContainerConfigError" in str(p["status"]))
    answer = pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/p/log")
    assert answer.status == 400
    assert answer.json["message"] == 'container "c" in pod "p" is waiting to start: CreateContainerConfigError'


def test_logs_need_the_right_to_read_them_and_the_agents_port_needs_its_token(pods):
    pods.make("p", "echo secret")
    pods.phase("p", "Succeeded")
    assert pods.lite.call("GET", f"/api/v1/namespaces/{pods.ns}/pods/p/log", token="").status in (401, 403)
    port = nodes_of(pods.world)[0]["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    url = f"https://127.0.0.1:{port}/containerLogs/{pods.ns}/p/c"
    curl = ["curl", "-sk", "-w", "%{http_code}"]
    assert subprocess.run([*curl, url], capture_output=True, text=True).stdout.endswith("401")
    wrong = "Authorization: Bearer " + "0" * 64
    assert subprocess.run([*curl, "-H", wrong, url], capture_output=True, text=True).stdout.endswith("401")
    token = pods.lite.data / "agent-token"
    assert token.stat().st_mode & 0o777 == 0o600
    right = "Authorization: Bearer " + token.read_text()
    assert subprocess.run([*curl, "-H", right, url], capture_output=True, text=True).stdout == "secret\n200"


def test_a_large_log_and_a_slow_reader_do_not_fill_the_server(pods):
    pods.make("p", "yes $(head -c 999 /dev/zero | tr '\\0' x) | head -c 40000000")
    pods.phase("p", "Succeeded")
    reader = pods.lite.kubectl_start("-n", pods.ns, "logs", "p")
    try:
        first = reader.stdout.read(1)
        time.sleep(1)  # being slow is the point
        status = Path(f"/proc/{pods.lite.process.pid}/status").read_text()
        assert int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) < 60000
        assert len(first + reader.stdout.read()) == 40000000
    finally:
        reader.kill()
        reader.wait()


def test_the_run_before_has_a_log_of_its_own(pods):
    volume = {"volumes": [{"name": "v", "emptyDir": {}}]}
    script = "if [ -e $V/mark ]; then echo second; exec sleep 1000; fi; touch $V/mark; echo first; exit 7"
    pods.make("p", pods.container("c", script, volumeMounts=[pods.mount("v")]), restartPolicy="Always", **volume)
    pods.said("p", "second")
    assert pods.logs("p") == "second\n"
    assert pods.logs("p", "--previous") == "first\n"
    status = pods.get("p")["status"]["containerStatuses"][0]
    assert (status["restartCount"], status["lastState"]["terminated"]["exitCode"]) == (1, 7)
    pods.make("q", "exec sleep 1000")
    pods.ready("q")
    assert 'previous terminated container "c" in pod "q" not found' in pods.k("logs", "q", "--previous", ok=False)


# ---- ends ----


@pytest.mark.parametrize(
    "script, phase, code, reason",
    [
        ("exit 0", "Succeeded", 0, "Completed"),
        ("exit 3", "Failed", 3, "Error"),
        ("kill -9 $$$$", "Failed", 137, "Error"),  # $$ is Kubernetes' way to write $
    ],
)
def test_exit_codes_become_phases(pods, script, phase, code, reason):
    pods.make("p", script)
    end = terminated(pods.phase("p", phase))
    assert (end["exitCode"], end["reason"]) == (code, reason)


def test_a_command_that_is_not_there_is_a_start_error(pods):
    pods.make("p", {**pods.container("c", ""), "command": ["/no/such/program"]})
    end = terminated(pods.phase("p", "Failed"))
    assert end["reason"] == "StartError" and "/no/such/program" in end["message"], end


def test_on_failure_runs_again_until_it_succeeds(pods):
    volume = {"volumes": [{"name": "v", "emptyDir": {}}]}
    script = "[ -e $V/mark ] && exit 0; touch $V/mark; exit 3"
    pods.make("p", pods.container("c", script, volumeMounts=[pods.mount("v")]), restartPolicy="OnFailure", **volume)
    done = pods.phase("p", "Succeeded")
    assert done["status"]["containerStatuses"][0]["restartCount"] == 1


def test_always_crashing_backs_off(pods):
    pods.make("p", "echo dead; exit 1", restartPolicy="Always")
    crashed = pods.until("p", "it backs off", lambda p: "CrashLoopBackOff" in str(p["status"]))
    assert crashed["status"]["phase"] == "Running"
    assert pods.logs("p") == "dead\n"
    assert pods.logs("p", "--previous") == "dead\n"
    assert "CrashLoopBackOff" in pods.k("get", "pod", "p")


def test_init_containers_run_first_and_in_order(pods):
    inits = [
        pods.container("i1", "sleep 0.2; echo 1 >>$V/order", volumeMounts=[pods.mount("v")]),
        pods.container("i2", "echo 2 >>$V/order; echo init says", volumeMounts=[pods.mount("v")]),
    ]
    main = pods.container("c", "cat $V/order", volumeMounts=[pods.mount("v")])
    pods.make("p", main, initContainers=inits, volumes=[{"name": "v", "emptyDir": {}}])
    pods.phase("p", "Succeeded")
    assert pods.logs("p") == "1\n2\n"
    assert pods.logs("p", "-c", "i2") == "init says\n"


def test_a_failed_init_container_fails_the_pod(pods):
    pods.make("p", "echo never", initContainers=[pods.container("i", "exit 4")])
    failed = pods.phase("p", "Failed")
    assert terminated(failed, "i", init=True)["exitCode"] == 4
    assert not (terminated(failed) or {}).get("startedAt")


def test_a_sidecar_stays_while_the_pod_runs_and_then_ends(pods):
    script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    sidecar = pods.container("s", script, restartPolicy="Always")
    pods.make("p", "sleep 0.5; echo main", initContainers=[sidecar])
    pods.phase("p", "Succeeded")
    said = pods.logs("p", "-c", "s").split()
    assert [word for word in said if word != "Terminated"] == ["up", "bye"]  # the shell tells of its sleep, if one ran


# ---- Events ----


def events_of(pods, name):
    items = pods.lite.get("-n", pods.ns, "events", "--field-selector", f"involvedObject.name={name}")["items"]
    return {e["reason"]: e for e in items}


def test_events_tell_of_starts_and_ends(pods):
    pods.make("p", "echo up; exec sleep 1000")
    pods.said("p", "up")
    wait_for("the start is told", lambda: {"Pulled", "Created", "Started"} <= set(events_of(pods, "p")))
    started = events_of(pods, "p")["Started"]
    assert started["message"] == "Started container c" and started["type"] == "Normal"
    assert started["involvedObject"]["uid"] == pods.get("p")["metadata"]["uid"]
    assert re.search(r"Normal +Started +\S+ +kubelet +Started container c", pods.k("describe", "pod", "p"))
    pods.k("delete", "pod", "p", "--now")
    wait_for("the end is told", lambda: events_of(pods, "p").get("Killing", {}).get("message") == "Stopping container c")


def test_events_tell_why_not(pods):
    pods.make("crash", "exit 1", restartPolicy="Always")
    pods.make("large", pods.container("c", "true", resources={"requests": {"cpu": "99"}}))
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "missing", "key": "a"}}}]
    pods.make("waits", pods.container("c", "true", env=env))
    pods.make("long", "exec sleep 1000", activeDeadlineSeconds=1)
    for name, reason, text in [
        ("crash", "BackOff", "Back-off restarting failed container c in pod crash_"),
        ("large", "OutOfcpu", "Node didn't have enough resource: cpu"),
        ("waits", "Failed", "missing"),
        ("long", "DeadlineExceeded", "longer than the specified deadline"),
    ]:
        wait_for(f"{name}: {reason}", lambda n=name, r=reason, t=text: t in events_of(pods, n).get(r, {}).get("message", ""))
    assert "BackOff" in pods.k("events", "--for=pod/crash", "--types=Warning")


# ---- what containers see ----


def test_environment_with_field_refs_config_maps_and_secrets(pods):
    pods.k("create", "configmap", "cm", "--from-literal=a=1", "--from-literal=b=2")
    pods.k("create", "secret", "generic", "s", "--from-literal=pw=geheim")
    field = lambda path: {"valueFrom": {"fieldRef": {"fieldPath": path}}}  # noqa: E731
    env = [
        {"name": "NAME", **field("metadata.name")},
        {"name": "NODE", **field("spec.nodeName")},
        {"name": "NS", **field("metadata.namespace")},
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "a"}}},
        {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "s", "key": "pw"}}},
        {"name": "BOTH", "value": "$(NAME)-$(A)"},
    ]
    script = "echo $NAME $NODE $NS $A $PW $BOTH $X_b"
    all_of = [{"prefix": "X_", "configMapRef": {"name": "cm"}}]
    pods.make("p", pods.container("c", script, env=env, envFrom=all_of), node="k2")
    pods.phase("p", "Succeeded")
    assert pods.logs("p") == f"p k2 {pods.ns} 1 geheim p-1 2\n"


def test_mounted_config_maps_secrets_and_directories(pods):
    pods.k("create", "configmap", "cm", "--from-literal=file=text")
    pods.k("create", "secret", "generic", "s", "--from-literal=pw=geheim")
    mounts = [
        pods.mount("cm"),
        pods.mount("s", readOnly=True),
        pods.mount("e"),
    ]
    volumes = [
        {"name": "cm", "configMap": {"name": "cm"}},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "e", "emptyDir": {}},
    ]
    here = f"{pods.lite.dir}/mnt"
    script = f"cat {here}/cm/file {here}/s/pw; echo x >{here}/e/x && cat x; pwd; touch {here}/s/y || echo read-only"
    pods.make("p", pods.container("c", script, volumeMounts=mounts, workingDir=f"{here}/e"), volumes=volumes)
    pods.phase("p", "Succeeded")
    said = pods.logs("p")
    assert said.startswith(f"textgeheimx\n{here}/e\n") and said.endswith("read-only\n"), said
    assert not Path(f"{here}/e/x").exists()  # nobody else sees the mount


def test_a_config_map_that_comes_later_is_waited_for(pods):
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "a"}}}]
    pods.make("p", pods.container("c", "echo $A", env=env))
    pods.until("p", "it waits", lambda p: "CreateContainerConfigError" in str(p["status"]))
    pods.k("create", "configmap", "late", "--from-literal=a=here")
    pods.phase("p", "Succeeded")
    assert pods.logs("p") == "here\n"


def test_readiness_follows_the_probe(pods):
    probe = {"exec": {"command": ["sh", "-c", "test -e $V/ready"]}, "periodSeconds": 1, "failureThreshold": 1}
    mounts = [pods.mount("v")]
    script = "sleep 1; touch $V/ready; sleep 2; rm $V/ready; exec sleep 1000"
    main = pods.container("c", script, readinessProbe=probe, volumeMounts=mounts)
    pods.make("p", main, volumes=[{"name": "v", "emptyDir": {}}])
    is_ready = lambda p: p["status"]["containerStatuses"][0]["ready"]  # noqa: E731
    running = pods.phase("p", "Running")
    assert not is_ready(running)
    pods.until("p", "it is ready", is_ready)
    pods.until("p", "it is no longer ready", lambda p: not is_ready(p))


def test_a_ready_pod_that_others_call_not_ready_is_called_ready_again(pods):
    """As the controllers do when a Node was silent for a while."""
    pods.make("p", pods.container("c", "exec sleep 1000"))

    def ready(p):
        return next((c["status"] for c in p["status"].get("conditions", []) if c["type"] == "Ready"), None)

    pods.until("p", "it is ready", lambda p: ready(p) == "True")
    change = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "NodeNotReady"}]}}
    said = pods.lite.call("PATCH", f"/api/v1/namespaces/{pods.ns}/pods/p/status", change, "application/strategic-merge-patch+json")
    assert said.status == 200 and ready(said.json) == "False", said.text
    pods.until("p", "it is ready again", lambda p: ready(p) == "True")


# ---- deletion ----


def test_delete_gives_time_to_clean_up(pods):
    mark = {"name": "WHO", "value": pods.ns}
    script = "trap 'sleep 0.5; echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    pods.make("p", pods.container("c", script, env=[mark]))
    pods.said("p", "up")
    follower = pods.lite.kubectl_start("-n", pods.ns, "logs", "-f", "p")
    pods.k("delete", "pod", "p")
    assert follower.communicate(timeout=DEADLINE)[0].split()[-1] == "bye"
    assert not pods.world.processes(f"WHO={pods.ns}")


def test_a_deaf_container_is_killed_when_its_time_is_up(pods):
    mark = {"name": "WHO", "value": pods.ns}
    script = "trap '' TERM; echo up; (setsid sleep 1000 &); while :; do sleep 0.05; done"
    pods.make("p", pods.container("c", script, env=[mark]))
    pods.said("p", "up")
    begin = time.monotonic()
    pods.k("delete", "pod", "p", "--grace-period=2")
    assert time.monotonic() - begin > 1.8
    assert not pods.world.processes(f"WHO={pods.ns}")


def test_force_delete_kills_at_once(pods):
    mark = {"name": "WHO", "value": pods.ns}
    deaf = pods.container("c", "trap '' TERM; echo up; while :; do sleep 0.05; done", env=[mark])
    pods.make("p", deaf, terminationGracePeriodSeconds=600)
    pods.said("p", "up")
    uid = pods.get("p")["metadata"]["uid"]
    pods.k("delete", "pod", "p", "--force", "--grace-period=0")
    wait_for("its processes are gone", lambda: not pods.world.processes(f"WHO={pods.ns}"))
    wait_for("its directory is gone", lambda: not (pods.world.pods / uid).exists())


def test_what_does_not_fit_is_rejected(pods):
    request = {"resources": {"requests": {"cpu": "5"}}}
    pods.make("p", pods.container("c", "true", **request))
    failed = pods.phase("p", "Failed")
    assert failed["status"]["reason"] == "OutOfcpu"
    assert "Node didn't have enough resource: cpu" in failed["status"]["message"]
    assert "OutOfcpu" in pods.k("get", "pod", "p")


def test_a_deadline_ends_the_pod(pods):
    pods.make("p", "exec sleep 1000", activeDeadlineSeconds=1)
    failed = pods.phase("p", "Failed")
    assert failed["status"]["reason"] == "DeadlineExceeded"


# ---- an agent that comes and goes ----


def test_an_agent_that_was_killed_picks_up_where_things_are(pods):
    world = pods.world
    mark = {"name": "WHO", "value": pods.ns}
    wait = "while [ ! -e $V/go ]; do sleep 0.05; done; "
    mounts = [pods.mount("v")]
    volume = {"volumes": [{"name": "v", "emptyDir": {}}]}
    pods.make("stays", pods.container("c", "echo up; exec sleep 1000", env=[mark]))
    pods.make("ends", pods.container("c", f"echo up; {wait} exit 9", volumeMounts=mounts), **volume)
    pods.make("goes", pods.container("c", "echo up; exec sleep 1000", env=[{"name": "WHO", "value": "goes"}]))
    for name in ("stays", "ends", "goes"):
        pods.said(name, "up")
    before = world.processes(f"WHO={pods.ns}")
    uid = pods.get("goes")["metadata"]["uid"]
    ends = world.pods / pods.get("ends")["metadata"]["uid"]
    world.stop_agent(signal.SIGKILL)
    try:
        assert world.processes(f"WHO={pods.ns}") == before
        pods.k("delete", "pod", "goes", "--force", "--grace-period=0")
        (ends / "volumes" / "v" / "go").touch()
        wait_for("its shim wrote the end", lambda: '"ended":true' in (ends / "state.json").read_text())
    finally:
        world.start_agent()
    assert terminated(pods.phase("ends", "Failed"))["exitCode"] == 9
    wait_for("no process of what was deleted meanwhile", lambda: not world.processes("WHO=goes"))
    wait_for("its directory is gone", lambda: not (world.pods / uid).exists())
    assert world.processes(f"WHO={pods.ns}") == before
    stays = pods.phase("stays", "Running")
    assert stays["status"]["containerStatuses"][0]["restartCount"] == 0
    pods.said("stays", "up")  # from the new agent's port
    pods.k("delete", "pod", "stays", "--now")
    assert not world.processes(f"WHO={pods.ns}")


def test_pods_outlive_an_agent_that_is_stopped_and_told_to_end_meanwhile(pods):
    world = pods.world
    pods.make("p", pods.container("c", "echo up; exec sleep 1000", env=[{"name": "WHO", "value": pods.ns}]))
    pods.said("p", "up")
    world.stop_agent()
    try:
        pods.k("delete", "pod", "p", "--wait=false")
        assert pods.get("p")["metadata"]["deletionTimestamp"]
        assert world.processes(f"WHO={pods.ns}")
    finally:
        world.start_agent()
    wait_for("the Pod is gone", lambda: not pods.lite.get("-n", pods.ns, "pods")["items"])
    assert not world.processes(f"WHO={pods.ns}")
