# SPDX-License-Identifier: GPL-2.0-or-later
"""`sunk status`, `sunk explain node` and `sunk explain job` on a real Slurm with everything running; and what Prometheus' own tool says
of the daemons' metrics."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
from lite_server import BUILD
from world import PREFIX, TOP

WORLD = {"options": ("--parts", "scheduler,syncer,operator", "--cpus", "16"), "nodes": 4}
SUNK = BUILD / "src/cmd/sunk"
COLOUR = "\033["


def status(world, *flags, ok=True):
    return json.loads(world.run(SUNK, "status", "-o", "json", *flags, ok=None if not ok else True))


def row(world, name, *flags, ok=True):
    return next((n for n in status(world, *flags, ok=ok)["nodes"] if n["name"] == name), None)


def explain(world, kind, name, *flags):
    return json.loads(world.run(SUNK, "explain", kind, name, "-o", "json", *flags, ok=None))


def explained(world, kind, name, state):
    """Waits until it is in this state; gives the whole explanation."""
    return world.until(f"{kind} {name} is {state}", lambda: (e := explain(world, kind, name))["state"] == state and e)


def plain(space, name, on, script="sleep 1000", grace=1):
    """A Pod that has nothing to do with Slurm."""
    body = space.manifest(name, script, grace=grace, nodeName=on)
    body["spec"].pop("schedulerName")
    body["spec"]["containers"][0]["resources"] = {}
    return space.create(body).running()


def cordon(world, name, why=None):
    world.change_node(name, metadata={"annotations": {"node.coreweave.cloud/cordonReason": why}}, spec={"unschedulable": bool(why) or None})


def test_both_sides_are_shown_side_by_side(world, space):
    job = space.sbatch("sleep 300", "-w", "n1", "--mem", "100")
    pod = space.pod("web", annotations={"required-nodes": "n1"}).running()
    other = plain(space, "other", "k4")
    cordon(world, "k2", "loud fan")
    world.scontrol("update", "nodename=n3", "state=drain", "reason=bad gpu")
    world.until("the cordon has crossed over", lambda: (row(world, "n2") or {}).get("drain"))
    world.until("the job is locked in", lambda: row(world, "n1")["lock"] in ("locked", "locked_strict"))
    all_of_it = status(world)
    rows = {n["name"]: n for n in all_of_it["nodes"]}
    assert list(rows) == ["n1", "n2", "n3", "n4"] and all(r["join"] == "both" for r in rows.values())
    for name, state in (line.split() for line in world.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").splitlines()):
        assert rows[name]["state"] == state.rstrip("*")
    assert {n: r["kubernetesNode"] for n, r in rows.items()} == {f"n{i}": f"k{i}" for i in range(1, 5)}
    assert rows["n1"]["jobs"] == 2 and rows["n1"]["podsPlaced"] == 1 and rows["n1"]["podsOther"] == 0
    assert rows["n4"]["podsOther"] == 1 and rows["n4"]["drain"] is None
    assert rows["n2"]["drain"]["whose"] == "kubernetes" and rows["n2"]["drain"]["reason"] == "k8s: cordon: loud fan" and rows["n2"]["cordoned"]
    assert rows["n3"]["drain"]["whose"] == "person" and rows["n3"]["drain"]["reason"] == "bad gpu" and not rows["n3"]["cordoned"]
    assert all_of_it["slurm"]["jobsRunning"] == 2 and all_of_it["kubernetes"]["podsPlaced"] == 1
    text = world.run(SUNK, "status")
    assert COLOUR not in text and "1 cordoned" in text and "4 run slurmd (4 ready); through Slurm: 1 placed, 0 waiting" in text
    assert re.search(r"^n2 +drained +0 +0 +0 +- +ready +k2, cordoned +kubernetes, \d+s: k8s: cordon: loud fan$", text, re.M)
    assert re.search(r"^n3 .* person, \d+s: bad gpu$", text, re.M)
    world.scancel(job)
    pod.delete()
    other.delete()
    cordon(world, "k2")
    world.resume("n3")
    world.until("n2 is back", lambda: not world.is_drained("n2"))


def test_a_node_says_what_holds_it_and_what_lifts_it(world):
    """What it says is to be done is done, and lifts it."""
    cordon(world, "k2", "loud fan")
    by_slurm = explained(world, "node", "n2", "drained")
    assert re.fullmatch(r"n2 has been drained for \d+s because Node k2 is cordoned: loud fan\.", by_slurm["summary"])
    assert explain(world, "node", "k2")["summary"].startswith("n2 has been drained")  # the other name
    assert by_slurm["toDo"][0] == "`kubectl uncordon k2`"
    world.run(*by_slurm["toDo"][0].strip("`").split())
    explained(world, "node", "n2", "idle")
    cordon(world, "k2")

    world.scontrol("update", "nodename=n3", "state=drain", "reason=it's \"bad\", $(gpu)")
    person = explained(world, "node", "n3", "drained")
    assert "by root: it's \"bad\", $(gpu)." in person["summary"] and "never touches" in person["waitsFor"]
    # the drain of Kubernetes that would follow is foretold
    cordon(world, "k3", "x")
    world.until("it is foretold", lambda: any("drained again by Kubernetes: k8s: cordon: x" in t for t in explain(world, "node", "n3")["toDo"]))
    cordon(world, "k3")
    world.until("it is forgotten", lambda: len(explain(world, "node", "n3")["toDo"]) == 1)
    world.run(*person["toDo"][0].strip("`").split())
    explained(world, "node", "n3", "idle")
    world.scontrol("update", "nodename=n3", "state=drain", "reason=Kill task failed")
    assert "by Slurm itself" in explained(world, "node", "n3", "drained")["summary"]
    world.resume("n3")
    nobody = explain(world, "node", "nobody")
    assert nobody["state"] == "absent"
    assert "is not the name of one node" in world.run(SUNK, "explain", "node", "n[1-2]", ok=False)
    assert "is no job's id" in world.run(SUNK, "explain", "job", "first", ok=False)
    assert explain(world, "job", "4000000")["state"] == "absent"


def test_a_prolog_that_waits_says_for_which_pod(world, space):
    stubborn = plain(space, "stubborn", "k1", "trap '' TERM; while :; do sleep 0.1; done", grace=60)
    job = space.sbatch("sleep 300", "-w", "n1", "--mem", "100")
    node = explained(world, "node", "n1", "locking")
    assert f"1 Pod to go: {space.ns}/stubborn does not tolerate the lock" in node["waitsFor"]
    waits = explained(world, "job", str(job), "starting")
    assert f"Pods to leave k1: {space.ns}/stubborn" in waits["waitsFor"] and waits["toDo"][0].endswith("`sunk explain node n1`")
    assert row(world, "n1")["lockAsked"] == "normal"
    stubborn.delete(0)
    explained(world, "job", str(job), "running")
    busy = explained(world, "node", "n1", "busy")
    assert any(f["about"] == "Lock" and "k1 says locked, and is tainted" in f["text"] for f in busy["facts"])
    held = space.sbatch("true", "-H", "--mem", "100")
    assert explained(world, "job", str(held), "queued")["toDo"] == [f"`scontrol release {held}`"]
    array = space.sbatch("exit 3", "--array", "4-5", "-w", "n4", "--mem", "100")
    assert "exit code 3" in explained(world, "job", f"{array}_5", "failed")["summary"]
    world.scancel(job, held)
    explained(world, "node", "n1", "idle")


def test_nodes_without_pods_and_pods_without_nodes_are_normal(world, space):
    body = space.manifest("n77", grace=1, nodeName="k4")
    body["spec"].pop("schedulerName")
    body["metadata"]["labels"] = {PREFIX + "nodeset": "extra"}
    space.create(body).running()
    world.scontrol("create", "nodename=n88", "cpus=1", "state=future", ok=None)
    got = world.until("the Pod is there", lambda: (r := row(world, "n77")) and r)
    assert got["join"] == "no-slurm-node" and got["state"] is None and got["kubernetesNode"] == "k4"
    assert explain(world, "node", "n77")["state"] == "unregistered"
    ours = ("--nodeset-namespace", "slurm")
    assert row(world, "n77", *ours) is None and row(world, "n1", *ours)["join"] == "both"
    assert explain(world, "node", "n77", *ours)["state"] == "absent"
    if bare := row(world, "n88"):
        assert bare["join"] == "no-pod" and bare["nodesetPod"] is None
        world.scontrol("delete", "nodename=n88")
    text = world.run(SUNK, "status")
    assert "1 Pods without a Slurm node" in text and re.search(r"^n77 +not in Slurm", text, re.M)


def read_only(world):
    """A kubeconfig that may read Pods and Nodes, and nothing else."""
    path = world.dir / "reader.kubeconfig"
    if not path.exists():
        world.kubectl("create", "serviceaccount", "reader", "-n", "default")
        world.kubectl("create", "clusterrole", "look", "--verb=get,list,watch", "--resource=pods,nodes")
        world.kubectl("create", "clusterrolebinding", "look", "--clusterrole=look", "--serviceaccount=default:reader")
        token = world.kubectl("create", "token", "reader", "-n", "default").strip()
        config = json.loads(world.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"] = [{"name": "reader", "user": {"token": token}}]
        for context in config["contexts"]:
            context["context"]["user"] = "reader"
        path.write_text(json.dumps(config))
        path.chmod(0o644)
    return path


def test_reading_is_enough(world):
    assert "no" in world.kubectl("--kubeconfig", read_only(world), "auth", "can-i", "create", "pods", ok=None)
    kubeconfig = read_only(world)
    got = world.run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", SUNK, "status", "--kubeconfig", kubeconfig)
    assert "4 run slurmd (4 ready)" in got and re.search(r"^n1 +idle", got, re.M), got
    got = world.run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", SUNK, "explain", "node", "k1", "--kubeconfig", kubeconfig)
    assert got.startswith("Nothing holds n1: it is idle"), got


def test_what_one_side_cannot_tell_the_other_does(world, tmp_path):
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text(re.sub(r"https://[^\s\"]+", "https://127.0.0.1:1", (world.dir / "kube/kubeconfig").read_text()))
    blind = status(world, "--kubeconfig", nowhere, ok=False)
    assert "127.0.0.1" in blind["kubernetes"]["podsError"] and blind["slurm"]["error"] is None
    assert [(n["name"], n["state"], n["join"]) for n in blind["nodes"]] == [(f"n{i}", "idle", "unknown") for i in range(1, 5)]
    world.run(SUNK, "status", "--kubeconfig", nowhere, ok=False)  # exits with 1
    deaf = status(world, "--slurm-conf", tmp_path / "none.conf", ok=False)
    assert "none.conf" in deaf["slurm"]["error"] and deaf["kubernetes"]["podsError"] is None
    assert [(n["name"], n["state"], n["join"]) for n in deaf["nodes"]] == [(f"n{i}", None, "unknown") for i in range(1, 5)]
    text = world.run(SUNK, "status", "--slurm-conf", tmp_path / "none.conf", ok=False)
    assert text.startswith("Slurm       nodes and jobs cannot be asked for: ") and re.search(r"^n1 +\? +\? +0 +", text, re.M)
    assert explain(world, "node", "n1", "--slurm-conf", tmp_path / "none.conf")["state"] == "unknown"
    assert explain(world, "node", "n1", "--kubeconfig", nowhere, "--timeout", "2s")["state"] == "idle"


def test_watching_shows_what_changes(world):
    child = subprocess.Popen([SUNK, "status", "--watch", "--every", "200ms", "-o", "json"], env=world.env, stdout=subprocess.PIPE, text=True)
    try:
        first = json.loads(child.stdout.readline())
        assert [n["name"] for n in first["nodes"]] == ["n1", "n2", "n3", "n4"] and not any(n["cordoned"] for n in first["nodes"])
        cordon(world, "k2", "look")
        while not (seen := json.loads(child.stdout.readline()))["nodes"][1]["drain"]:
            pass
        assert seen["nodes"][1]["drain"]["reason"] == "k8s: cordon: look"
        cordon(world, "k2")
        while json.loads(child.stdout.readline())["nodes"][1]["drain"]:
            pass
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0
        child.stdout.close()


def on_terminal(world, **env):
    """What a person at a terminal sees."""
    parent, child = pty.openpty()
    run = subprocess.Popen([SUNK, "status"], env={**world.env, "TERM": "xterm", **env}, stdout=child, stdin=subprocess.DEVNULL)
    os.close(child)
    text = b""
    try:
        while more := os.read(parent, 4096):
            text += more
    except OSError:  # the end of a terminal
        pass
    os.close(parent)
    assert run.wait(30) == 0
    return text.decode()


def test_colours_are_for_terminals_only(world):
    assert f"{COLOUR}32midle{COLOUR}0m" in on_terminal(world)
    assert COLOUR not in on_terminal(world, NO_COLOR="1")
    assert COLOUR not in on_terminal(world, TERM="dumb")
    assert COLOUR not in world.run(SUNK, "status")


# ---- Prometheus' own tool ----

needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool here")


def promtool(*args, stdin=None):
    got = subprocess.run(["promtool", *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60, check=False)
    return got.returncode, got.stdout + got.stderr


@needs_promtool
def test_promtool_takes_the_metrics_of_every_daemon(world, space):
    space.sbatch("sleep 300", "-w", "n1", "--mem", "100", "-J", 'a "name"\\with all')
    space.pod("web", annotations={"required-nodes": "n2"}).running()
    urls = dict(re.findall(r"^export SUNK_(\w+)_METRICS='?([^'\n]*)'?$", (world.dir / "env").read_text(), re.M))
    assert set(urls) == {"SCHEDULER", "SYNCER", "OPERATOR"}

    def scrape(part):
        with urllib.request.urlopen(urls[part], timeout=10) as r:
            return r.read().decode()

    world.until("the job is in the metrics", lambda: 'slurm_jobs_running{partition="main"' in scrape("SYNCER"))
    for part in urls:
        text = scrape(part)
        assert promtool("check", "metrics", stdin=text) == (0, ""), part
        assert promtool("check", "metrics", stdin=text + "\nx_total{ 1\n")[0] != 0  # it would tell


@needs_promtool
def test_promtool_takes_the_alert_rules():
    for rules in sorted((TOP / "deploy/prometheus").glob("*.yaml")):
        code, said = promtool("check", "rules", rules)
        assert code == 0 and "SUCCESS" in said, said
