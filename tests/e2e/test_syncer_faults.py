# SPDX-License-Identifier: GPL-2.0-or-later
"""The syncer when things go wrong: what users of other operators reported about drains, input that nobody expects, and a slurmctld that hangs,
or comes back without its state. Never a wrong drain, never a lost one. (A person's drain that stays, drains that change, and a slurmctld
that restarts are in test_syncer.py.)"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from test_syncer import BUILD, PREFIX, World, wait_for

pytestmark = [pytest.mark.skipif(not shutil.which("slurmctld"), reason="no Slurm here"),
              pytest.mark.lite_only("its faults are lite's, and its Pods are made from a file")]
ANY_SLURM = pytest.mark.any_slurm("about the API and the hook")
NODES = ("n1", "n2", "n3", "n4")


@pytest.fixture(name="world", scope="module")
def one_world():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sf-"))
    # nodes are pinged every 4 s: one that does not answer is seen soon
    world = World(directory / "w", "--conf", "SlurmdTimeout=12", "--conf", "MessageTimeout=4")
    yield world
    world.close()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(autouse=True)
def show_logs(world, worlds):
    worlds.append(world.dir)


def fault(world, *args):
    world.sh(str(BUILD / "lite/sunk-lite"), "fault", "--dir", str(world.dir / "kube"), *args)


def drains(world):
    return {n: world.drained(n) for n in NODES if world.drained(n)}


def effects(world, effect, outcome="ok"):
    return world.metrics()["sunk_syncer_effects_total"].get((effect, outcome), 0)


def pid_of(world, key, node=""):
    """Of slurmctld or slurmd, as slurm.conf says where it is written."""
    conf = pathlib.Path(world.env["SLURM_CONF"]).read_text()
    return int(pathlib.Path(re.search(rf"{key}PidFile=(\S+)", conf)[1].replace("%n", node)).read_text())


# ---- what users of others reported ----


def test_answers_that_race_leave_no_node_drained(world):
    """slurm-operator 249: a patch that lost a race, and the node stayed drained."""
    fault(world, "error", "--code", "409", "--verb", "patch", "--resource", "pods", "--share", "0.5", "--seed", "3")
    fault(world, "lose-answer", "--verb", "patch", "--resource", "pods", "--share", "0.2", "--seed", "4")
    try:
        for turn in range(2):
            for name in NODES:
                world.sh("kubectl", "annotate", "--overwrite", "pod", "-n", "slurm", name, f"{PREFIX}cordon=turn {turn}", check=False)
            wait_for(lambda: all(world.annotations(n).get(PREFIX + "cordon") or world.annotate(n, check=False, cordon="again") for n in NODES))
            wait_for(lambda: len(drains(world)) == 4)
            wait_for(lambda: all(PREFIX + "cordon" not in world.annotations(n) or world.annotate(n, check=False, cordon=None) for n in NODES))
            wait_for(lambda: not drains(world), 60)
    finally:
        fault(world, "--clear")
    wait_for(lambda: all(world.condition(n, "SlurmDrain").get("status") == "False" for n in NODES))


def test_a_look_that_fails_is_no_answer(world):
    """slurm-operator 79: a failed look-up was taken for an answer. Here Pods cannot be listed: none is taken to be gone."""
    before = effects(world, "drain")
    fault(world, "error", "--code", "500", "--verb", "list", "--resource", "pods")
    fault(world, "expire-watch", "--resource", "pods")
    try:
        failures = "sunk_kube_list_failures_total"
        wait_for(lambda: sum(world.metrics()[failures].values()) > 0)
        assert not drains(world)
        world.stop()  # one that starts now has seen no Pod at all
        world.start(ready=False)
        wait_for(lambda: sum(world.metrics()[failures].values()) > 0)
        assert world.get(world.urls["http"] + "/readyz")[0] == 503
        assert not drains(world)
    finally:
        fault(world, "--clear")
    wait_for(lambda: world.get(world.urls["http"] + "/readyz")[0] == 200)
    assert not drains(world) and effects(world, "drain") <= before


@ANY_SLURM
def test_a_condition_that_is_there_twice_stops_nobody(world):
    """slurm-operator 146: duplicate conditions halted the controller."""
    pod = world.pod("n1")
    pod["status"]["conditions"] += [{"type": "SlurmDrain", "status": "Unknown", "lastTransitionTime": "2020-01-01T00:00:00Z"}] * 2
    world.sh("kubectl", "replace", "--raw", "/api/v1/namespaces/slurm/pods/n1/status", "-f", "-", check=False, stdin=json.dumps(pod))
    world.annotate("n1", cordon="twice")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: twice")
    wait_for(lambda: any(c["type"] == "SlurmDrain" and c["status"] == "True" for c in world.pod("n1")["status"]["conditions"]))
    world.annotate("n1", cordon=None)
    wait_for(lambda: world.drained("n1") is None)
    wait_for(lambda: [c["status"] for c in world.pod("n1")["status"]["conditions"] if c["type"] == "SlurmDrain"][:1] == ["False"])


def test_nothing_is_undrained_before_slurmd_answers(world):
    """soperator 2807: a node was undrained before it was up, jobs landed there and failed."""
    world.annotate("n4", cordon="repair")
    wait_for(lambda: world.drained("n4") == "k8s: cordon: repair")
    slurmd = pid_of(world, "Slurmd", "n4")
    os.kill(slurmd, signal.SIGSTOP)
    try:
        wait_for(lambda: re.search(r"\*|NOT_RESPONDING|DOWN", world.node("n4")[0]), 60)
        wait_for(lambda: world.condition("n4", "SlurmNotResponding").get("status") == "True")
        world.annotate("n4", cordon=None)
        world.annotate("n3", cordon="seen")
        wait_for(lambda: world.drained("n3"))  # it has seen both
        assert "DRAIN" in world.node("n4")[0]
        job = world.sh("sbatch", "--parsable", "-o", "/dev/null", "-w", "n4", "--wrap", "true").strip()
        world.annotate("n3", cordon=None)
        wait_for(lambda: world.drained("n3") is None)
        assert "DRAIN" in world.node("n4")[0] and "PENDING" in world.sh("squeue", "-h", "-j", job, "-o", "%T")
    finally:
        os.kill(slurmd, signal.SIGCONT)
    wait_for(lambda: world.drained("n4") is None and "IDLE" in world.node("n4")[0], 60)
    wait_for(lambda: "COMPLETED" in world.sh("scontrol", "show", "job", job), 60)
    wait_for(lambda: world.condition("n4", "SlurmNotResponding").get("status") == "False")


@ANY_SLURM
def test_a_token_that_is_replaced_is_used(world):
    """slurm-operator 240: credentials were silently no longer refreshed."""
    tokens = {}
    everything = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "everything"},
                  "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    world.sh("kubectl", "create", "-f", "-", stdin=json.dumps(everything))
    world.sh("kubectl", "create", "clusterrolebinding", "syncers", "--clusterrole=everything", "--serviceaccount=slurm:one",
             "--serviceaccount=slurm:two")
    for name in ("one", "two"):
        world.sh("kubectl", "create", "serviceaccount", name, "-n", "slurm")
        tokens[name] = world.sh("kubectl", "create", "token", name, "-n", "slurm").strip()
    token = world.dir / "kube-token"
    token.write_text(tokens["one"])
    config = json.loads(world.sh("kubectl", "config", "view", "--raw", "-o", "json"))
    for user in config["users"]:
        user["user"] = {"tokenFile": str(token)}
    path = world.dir / "rotating.kubeconfig"
    path.write_text(json.dumps(config))
    world.stop()
    world.start("--kubeconfig", path)
    world.annotate("n1", cordon="first")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: first")
    token.write_text(tokens["two"])
    world.sh("kubectl", "delete", "serviceaccount", "one", "-n", "slurm")  # its token is worth nothing now
    world.annotate("n1", cordon="second")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: second", 60)
    wait_for(lambda: world.condition("n1", "SlurmDrain").get("message") == "k8s: cordon: second", 60)
    world.stop()
    world.start()
    world.annotate("n1", cordon=None)
    wait_for(lambda: not drains(world), 60)


# ---- input that nobody expects ----


def extra(world, name):
    got = re.search(r"Extra=(.*)", world.sh("scontrol", "show", "node", name))
    return got[1] if got else ""


def test_an_extra_of_any_kind_stops_nobody(world):
    deep = '{"mine":' + "[" * 3000 + "]" * 3000 + "}"
    for name, text in zip(NODES, (deep, "[1,2]", "{" * 2000, '{"a":1}x')):
        world.sh("scontrol", "update", f"nodename={name}", f"extra={text}")
    wait_for(lambda: '"k8s"' in extra(world, "n1") and all(extra(world, f"n{i}").startswith(f'{{"k8s":{{"node":"k{i}"') for i in (2, 3, 4)))
    assert extra(world, "n1").startswith('{"mine":[[[[')
    # a megabyte: more than one argument can have, so scontrol reads it
    huge = '{"big":"' + "x" * (1 << 20) + '"}'
    world.sh("scontrol", stdin=f"update nodename=n2 extra={huge}\nquit\n")
    wait_for(lambda: len(extra(world, "n2")) > 1 << 20)
    world.annotate("n2", cordon="all the same")
    world.annotate("n1", cordon="too")
    wait_for(lambda: drains(world) == {"n1": "k8s: cordon: too", "n2": "k8s: cordon: all the same"})
    assert len(extra(world, "n2")) > 1 << 20  # it is left as it is
    world.sh("scontrol", "update", "nodename=n2", "extra=")
    wait_for(lambda: extra(world, "n2").startswith('{"k8s":{"node":"k2"'))
    for name in ("n1", "n2"):
        world.annotate(name, cordon=None)
    wait_for(lambda: not drains(world))


def test_reasons_of_any_kind_cross_over(world):
    world.annotate("n1", cordon="two\nlines\tand \"quotes\", 'both' \\ $(x) \u2028 \u202e end")
    wait_for(lambda: (world.drained("n1") or "").startswith("k8s: cordon: two"))
    assert "\n" not in world.drained("n1") and "\"quotes\", 'both'" in world.drained("n1")
    world.annotate("n1", cordon="y" * 5000)
    wait_for(lambda: (world.drained("n1") or "").startswith("k8s: cordon: yyy"))
    assert len(world.drained("n1")) < 600
    seen = effects(world, "drain") + effects(world, "reword")
    world.annotate("n2", cordon="one more")
    wait_for(lambda: world.drained("n2"))
    assert effects(world, "drain") + effects(world, "reword") <= seen + 1  # what was cut is not written again and again
    for name in ("n1", "n2"):
        world.annotate(name, cordon=None)
    # the other way: bytes that are no text
    reason = b"reason=\xff\xfe caf\xc3\xa9 \"q\"\x01"
    subprocess.run([b"scontrol", b"update", b"nodename=n3", b"state=drain", reason], env=world.env, check=True, timeout=30)
    wait_for(lambda: "caf\u00e9 \"q\"" in world.condition("n3", "SlurmDrain").get("message", ""))
    assert world.condition("n3", "SlurmDrain")["status"] == "True"
    world.sh("scontrol", "update", "nodename=n3", "state=undrain")
    wait_for(lambda: not drains(world))


def test_nodes_whose_names_are_no_dns_names_are_left_alone(world):
    made = world.sh("scontrol", "create", "NodeName=Bad_Node.x", "CPUs=1", "State=CLOUD", check=False)
    if "Bad_Node.x" not in world.sh("scontrol", "show", "node"):
        pytest.skip(f"this slurmctld takes no such node: {made}")
    wait_for(lambda: any(k[0] == "Bad_Node.x" for k in world.metrics()["slurm_node_state"]))
    wait_for(lambda: world.metrics()["sunk_syncer_nodes_without_pod"][()] == 1)
    assert world.hook("Bad_Node.x")[0] in (404, 409)
    assert "k8s" not in extra(world, "Bad_Node.x") and not drains(world)
    world.sh("scontrol", "delete", "NodeName=Bad_Node.x")
    wait_for(lambda: world.metrics()["slurm_nodes_total"][()] == 4)


@ANY_SLURM
def test_ten_thousand_connections_stop_nobody(world):
    """Some say nothing, some garbage, some half a request; a prolog is served all the same, and they cost little."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11000:
        pytest.skip(f"at most {hard} open files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (11000, hard))
    host, port = re.match(r"http://([^:]+):(\d+)", world.urls["syncer-hook"]).groups()
    words = (b"", b"\x00\xff garbage \r\n\r\n", b"POST /v1/nodes/n1/pre-hook HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
             b"POST /v1/nodes/n1/pre-hook HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n")
    many = []
    try:
        for i in range(10000):
            s = socket.create_connection((host, int(port)), timeout=30)
            if words[i % len(words)]:
                s.sendall(words[i % len(words)])
            many.append(s)
        assert world.hook("nowhere")[0] == 404 and world.hook("n1", token="wrong")[0] == 401
        assert world.hook("n1", body=b"\x00" * 100)[0] == 400 and world.hook("n1", body=b"{" * 5000)[0] == 413
        world.annotate("n1", cordon="meanwhile")
        wait_for(lambda: world.drained("n1") == "k8s: cordon: meanwhile")
        with open(f"/proc/{world.syncer.pid}/status", encoding="utf-8") as f:
            assert int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) < 200 * 1024
    finally:
        for s in many:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    world.annotate("n1", cordon=None)
    wait_for(lambda: world.drained("n1") is None)


# ---- a slurmctld that is not well ----


def test_a_controller_that_hangs_is_waited_for(world):
    controller = pid_of(world, "Slurmctld")
    age = ("nodes",)
    os.kill(controller, signal.SIGSTOP)
    try:
        world.annotate("n1", cordon="while it hangs")
        start = time.monotonic()
        wait_for(lambda: world.metrics()["sunk_syncer_snapshot_age_seconds"][age] > 3)  # shown as old …
        assert world.metrics()["slurm_nodes_total"][()] == 4  # … and not as zero
        assert world.get(world.urls["http"] + "/healthz")[0] == 200 and time.monotonic() - start < 30
    finally:
        os.kill(controller, signal.SIGCONT)
    wait_for(lambda: world.drained("n1") == "k8s: cordon: while it hangs", 60)
    wait_for(lambda: world.metrics()["sunk_syncer_snapshot_age_seconds"][age] < 3)
    world.annotate("n1", cordon=None)
    wait_for(lambda: not drains(world), 60)


def test_a_controller_without_its_state_gets_its_drains_again(world):
    """slurmctld -c knows nothing of before: nodes are new, drains are gone. What Kubernetes wants comes back by itself."""
    world.annotate("n1", cordon="still")
    wait_for(lambda: world.drained("n1") == "k8s: cordon: still")
    controller = pid_of(world, "Slurmctld")
    os.kill(controller, signal.SIGTERM)
    wait_for(lambda: not pathlib.Path(f"/proc/{controller}").exists())
    wait_for(lambda: world.sh("kubectl", "get", "pods", "-n", "slurm", "-o", "name"))
    anew = subprocess.Popen(["slurmctld", "-D", "-c", "-f", world.env["SLURM_CONF"]], env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: "is UP" in world.sh("scontrol", "ping", check=False), 60)
        # nodes that made themselves known by registering do so again when slurmd starts anew
        world.sh("kubectl", "delete", "pods", "-n", "slurm", "--all", "--grace-period=1")
        wait_for(lambda: not world.sh("kubectl", "get", "pods", "-n", "slurm", "-o", "name"))
        world.sh("kubectl", "apply", "-f", str(world.dir / "slurmd-pods.yaml"))
        world.annotate("n1", cordon="still")
        wait_for(lambda: "NodeName=n1" in world.sh("scontrol", "show", "node", "n1", check=False), 60)
        wait_for(lambda: world.drained("n1") == "k8s: cordon: still", 60)
        world.annotate("n1", cordon=None)
        wait_for(lambda: all("IDLE" in world.node(n)[0] and not world.drained(n) for n in NODES), 60)
    finally:
        anew.terminate()
        anew.wait()
