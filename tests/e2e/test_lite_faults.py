# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults on command, and what survives when the process does not."""

import json
import os
import pathlib
import random
import signal
import socket
import ssl
import threading
import time
import urllib.error

import pytest
from lite_server import DEADLINE, Lite, pod, wait_for

pytestmark = pytest.mark.lite_only("tests lite itself")

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


@pytest.fixture
def lite():
    server = Lite("--node-grace", "0")
    yield server
    server.close()


def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def make(lite, name="c"):
    r = lite.call("POST", MAPS, config(name))
    assert r.status == 201, r.text
    return r.json


# ---- calls ----


def test_latency_makes_calls_late_and_others_not(lite):
    make(lite)
    lite.fault("latency", "--seconds", "0.5", "--verb", "get", "--resource", "configmaps")
    start = time.monotonic()
    assert lite.call("GET", MAPS + "/c").status == 200
    assert time.monotonic() - start >= 0.5
    start = time.monotonic()
    lite.call("GET", "/api/v1/nodes")
    assert time.monotonic() - start < 0.5
    lite.fault("--clear")


@pytest.mark.parametrize("code", [409, 429, 500, 503, 504])
def test_errors_hit_the_verb_and_resource_named(lite, code):
    make(lite)
    lite.fault("error", "--code", str(code), "--verb", "patch", "--resource", "configmaps", "--count", "2")
    for _ in range(2):
        r = lite.call("PATCH", MAPS + "/c", {"data": {"a": "1"}}, MERGE)
        assert r.status == code
        if code == 429:
            assert r.headers["Retry-After"] == "1" and r.headers["Content-Type"].startswith("text/plain")
        else:
            assert r.json["kind"] == "Status" and r.json["code"] == code
    assert lite.call("GET", MAPS + "/c").json.get("data") is None
    assert lite.call("PATCH", MAPS + "/c", {"data": {"a": "1"}}, MERGE).status == 200


def test_a_share_of_calls_is_hit_and_a_seed_repeats_it(lite):
    make(lite)
    runs = []
    for _ in range(2):
        lite.fault("error", "--share", "0.3", "--verb", "get", "--resource", "configmaps", "--seed", "7")
        runs.append([lite.call("GET", MAPS + "/c").status for _ in range(60)])
        lite.fault("--clear")
    assert runs[0] == runs[1]
    assert 5 < runs[0].count(500) < 40


def test_a_lost_answer_comes_after_the_effect(lite):
    lite.fault("lose-answer", "--verb", "create", "--resource", "configmaps", "--count", "1")
    with pytest.raises((urllib.error.URLError, ConnectionError, OSError)):
        lite.call("POST", MAPS, config("lost"))
    assert lite.call("GET", MAPS + "/lost").status == 200


def test_bad_rules_are_refused_with_the_reason(lite):
    assert "is none of latency" in lite.fault("earthquake", ok=False)
    assert "share" in lite.fault("error", "--share", "7", ok=False)
    r = lite.call("POST", "/lite/faults", {"rules": [{"kind": "error", "verb": "get", "colour": "red"}]})
    assert r.status == 400 and "'colour' is no part of a rule" in r.json["message"]
    assert json.loads(lite.fault("--list"))["rules"] == []
    assert lite.call("GET", "/lite/faults", token="").status == 403


# ---- watches ----


def open_watch(lite, path=MAPS, query=""):
    watch = lite.stream(f"{path}?watch=true&timeoutSeconds=20{query}")
    first = json.loads(watch.readline())
    assert first["type"] == "ADDED"
    return watch


def next_change(watch):
    """The next change of our object; the namespace has one of the server's own."""
    while True:
        line = watch.readline()
        if not line:
            return None
        event = json.loads(line)
        if event["type"] in ("ERROR", "BOOKMARK") or event["object"]["metadata"]["name"] == "c":
            return event


def test_a_dropped_watch_ends_in_the_middle(lite):
    make(lite)
    with open_watch(lite, query="&fieldSelector=metadata.name%3Dc") as watch:
        lite.fault("drop-watch", "--resource", "configmaps")
        with pytest.raises(Exception):  # noqa: B017  the body is cut off
            assert watch.read() is None


def test_an_expired_watch_is_told_so(lite):
    make(lite)
    with open_watch(lite, query="&fieldSelector=metadata.name%3Dc") as watch:
        lite.fault("expire-watch")
        event = json.loads(watch.readline())
        assert event["type"] == "ERROR" and event["object"]["code"] == 410
        assert watch.readline() == b""


def test_a_stalled_watch_goes_on_and_loses_nothing(lite):
    make(lite)
    with open_watch(lite, query="&fieldSelector=metadata.name%3Dc") as watch:
        lite.fault("stall-watch", "--seconds", "1")
        start = time.monotonic()
        for i in range(3):
            lite.call("PATCH", MAPS + "/c", {"data": {"n": str(i)}}, MERGE)
        seen = [next_change(watch)["object"]["data"]["n"] for _ in range(3)]
        assert seen == ["0", "1", "2"]
        assert time.monotonic() - start > 0.7


def test_faults_also_hit_watches_to_come(lite):
    make(lite)
    lite.fault("expire-watch", "--resource", "configmaps", "--for", "60")
    with lite.stream(f"{MAPS}?watch=true&timeoutSeconds=5") as watch:
        assert json.loads(watch.readline())["type"] == "ERROR"
    lite.fault("--clear")
    with open_watch(lite):
        pass


# ---- clients ----


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_client_that_stalls_in_its_handshake_does_not_cost_a_core(lite):
    hello = ssl.MemoryBIO()
    tls = lite.context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    with socket.create_connection(("127.0.0.1", int(lite.url.rsplit(":", 1)[1]))) as s:
        s.sendall(hello.read())
        assert s.recv(1)  # the server has answered, and waits now
        before = cpu_seconds(lite.process.pid)
        time.sleep(1)
        assert cpu_seconds(lite.process.pid) - before < 0.5
        assert lite.call("GET", "/readyz").text == "ok"


# ---- restarts ----


def test_a_restart_on_command_keeps_address_and_state(lite):
    make(lite)
    url = lite.url
    lite.fault("restart", "--seconds", "0.3")

    def back():
        try:
            return lite.call("GET", MAPS + "/c", timeout=2).status == 200
        except OSError:
            return False

    wait_for("it is back", back)
    assert (lite.data / "ready").read_text().strip() == url
    assert lite.process.poll() is None


def test_state_survives_a_restart(lite):
    before = make(lite)
    lite.call("POST", "/api/v1/namespaces/default/pods", pod("p", schedulerName="x"))
    lite.restart()
    after = lite.call("GET", MAPS + "/c").json
    assert after == before
    assert lite.call("GET", "/api/v1/namespaces/default/pods/p").status == 200
    rv = int(lite.call("GET", MAPS).json["metadata"]["resourceVersion"])
    assert rv >= int(before["metadata"]["resourceVersion"])


def test_without_a_journal_a_restart_begins_empty():
    lite = Lite("--no-journal")
    try:
        make(lite)
        lite.restart()
        assert lite.call("GET", MAPS + "/c").status == 404
    finally:
        lite.close()


@pytest.mark.parametrize("sync", [(), ("--sync",)], ids=["kernel", "disk"])
def test_what_was_answered_survives_a_kill_at_any_moment(sync):
    lite = Lite("--no-controllers", *sync)
    try:
        answered, seen, rng = {}, {}, random.Random(7)
        for round_ in range(4):
            stop = threading.Event()

            def write(worker):
                n = 0
                while not stop.is_set():
                    name = f"c{worker}"
                    try:
                        body = config(name, round=str(round_), n=str(n))
                        r = lite.call("PUT", f"{MAPS}/{name}", body, timeout=5)
                        if r.status == 404:
                            r = lite.call("POST", MAPS, body, timeout=5)
                        if r.status in (200, 201):
                            answered[name] = r.json
                    except OSError:
                        return
                    n += 1

            def watch():
                try:
                    with lite.stream(f"{MAPS}?watch=true") as stream:
                        for line in stream:
                            event = json.loads(line)["object"]
                            seen[event["metadata"]["name"]] = int(event["metadata"]["resourceVersion"])
                except (OSError, ValueError, Exception):  # noqa: B014  it is killed
                    return

            threads = [threading.Thread(target=write, args=(i,)) for i in range(3)] + [threading.Thread(target=watch)]
            for t in threads:
                t.start()
            time.sleep(rng.uniform(0.2, 0.6))  # a kill at some moment, not at an event
            lite.stop(signal.SIGKILL)
            stop.set()
            for t in threads:
                t.join(DEADLINE)
            lite.start()
            for name, obj in answered.items():
                now = lite.call("GET", f"{MAPS}/{name}").json
                assert int(now["metadata"]["resourceVersion"]) >= int(obj["metadata"]["resourceVersion"])
                assert (int(now["data"]["round"]), int(now["data"]["n"])) >= (int(obj["data"]["round"]), int(obj["data"]["n"]))
            newest = int(lite.call("GET", MAPS).json["metadata"]["resourceVersion"])
            assert all(rv <= newest for rv in seen.values())
        assert answered and seen
    finally:
        lite.close()


def test_a_torn_journal_is_cut_and_reported(lite):
    make(lite)
    lite.stop()
    with open(lite.data / "journal", "ab") as f:
        f.write(b"\x50\x00\x00\x00half a record")
    lite.start()
    assert lite.call("GET", MAPS + "/c").status == 200
    assert "bytes cut off" in lite.tail()


def test_two_servers_do_not_share_a_directory(lite):
    import subprocess

    from lite_server import program

    r = subprocess.run([program(), "serve", "--dir", str(lite.data)], capture_output=True, text=True, timeout=20)
    assert r.returncode == 1 and "is in use by another server" in r.stderr
    assert lite.call("GET", "/readyz").text == "ok"
