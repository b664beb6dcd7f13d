# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests recorded from a real API server (tests/kube-samples), replayed in their order: sunk-lite answers the same.

Compared: status, the headers that matter, and the whole body. What must differ is made equal first: uids,
resourceVersions, times, generated names.
"""

import base64
import json
import re
import shlex

import pytest
from lite_server import ROOT, Lite, wait_for

pytestmark = pytest.mark.lite_only("tests lite itself")

SAMPLES = ROOT / "tests" / "kube-samples"
NS = "s1794766553"
HEADERS = ("Content-Type", "Retry-After", "Warning", "X-Content-Type-Options")

# Recorded, but not replayed here, and why.
LEFT_OUT = {
    "01-alpn-h2": "HTTP/2",
    "02-http11": "says which version it is",
    "02b-client-cert": "client certificates are not taken",
    "06g-list-rv0": "the recording is cut off",
    "07": "watches have tests of their own",
    "08": "so have expired histories",
    "14-apf-429-http2": "HTTP/2",
    "16": "answers are not compressed",
    "17b": "tokens of service accounts are not signed",
    "19": "lists what is served",
    "20": "names the parts of that server",
}


class Sample:
    def __init__(self, path):
        self.name = path.stem
        head, _, body = path.read_text().partition("--- body")
        self.body = body.split("\n", 1)[1] if body else ""
        lines = head.splitlines()
        self.words = shlex.split(lines[0])
        answer = [line[2:] for line in lines if line.startswith("< ")]
        self.status = int(answer[0].split()[1])
        self.headers = dict(line.split(": ", 1) for line in answer[1:] if ": " in line)

    def request(self):
        """Method, path, headers and body of the recorded curl command."""
        method, headers, data, query, url, i = None, {}, None, [], None, 1
        while i < len(self.words):
            w = self.words[i]
            if w == "-X":
                method, i = self.words[i + 1], i + 1
            elif w == "-H":
                key, _, value = self.words[i + 1].partition(":")
                headers[key.strip()], i = value.strip(), i + 1
            elif w in ("-d", "--data-binary"):
                data, i = self.words[i + 1], i + 1
            elif w == "--data-urlencode":
                query, i = [*query, self.words[i + 1]], i + 1
            elif w in ("--cacert", "-m"):
                i += 1
            elif w.startswith("https://"):
                url = re.sub(r"^https://[^/]+", "", w)
            i += 1
        if query:
            from urllib.parse import quote_plus

            url += "?" + "&".join(f"{q.split('=', 1)[0]}={quote_plus(q.split('=', 1)[1])}" for q in query)
        if data == "@.big":
            data = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"x": "y" * (3 << 20)}})
        return method or ("POST" if data is not None else "GET"), url, headers, data


def left_out(name):
    return any(name == k or (len(k) < 5 and name.startswith(k)) for k in LEFT_OUT)


ALL = [s for s in (Sample(p) for p in sorted(SAMPLES.glob("[01]*.txt")) if not left_out(p.stem) and p.stem[0] in "01")]
ALL += [Sample(SAMPLES / name) for name in ("22-dryrun-create.txt", "23-scale-without-replicas-500.txt")]


def scrub(value, key=None):
    """Makes equal what must differ."""
    if isinstance(value, dict):
        return {k: scrub(v, k) for k, v in value.items()}
    if key == "managedFields":  # ordered by time, and the replay is done within a second
        return sorted((scrub(v) for v in value), key=json.dumps)
    if isinstance(value, list):
        return [scrub(v) for v in value]
    if not isinstance(value, str):
        return value
    if key == "continue":
        token = json.loads(base64.urlsafe_b64decode(value + "=="))
        return "after " + re.sub(r"gen-[a-z0-9]{5}", "gen-XXXXX", token["start"])
    if key == "resourceVersion":
        return "RV"
    value = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", "UID", value)
    value = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", "TIME", value)
    value = re.sub(r"Too large resource version: (\d+), current: \d+", r"Too large resource version: \1, current: RV", value)
    value = re.sub(r"gen-[a-z0-9]{5}", "gen-XXXXX", value)
    return value.split("\n@@")[0]  # the real one adds a diff of its own structs


def pod(name, **more):
    spec = {"schedulerName": "foo", "terminationGracePeriodSeconds": 5}
    spec["containers"] = [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "x"}}, "spec": {**spec, **more}}


class World:
    """The server, and what the recording did between the samples."""

    def __init__(self, tmp):
        tokens = tmp / "tokens"
        tokens.write_text("nobody-token,nobody,1\n")
        tokens.chmod(0o600)
        self.lite = Lite("--no-controllers", "--tokens", str(tokens))
        self.rename = {}  # uid, resourceVersion or continue token of the recording → ours
        self.answers = {}

    def post(self, path, body):
        r = self.lite.call("POST", path, body, headers={"User-Agent": "curl/7.88.1"})
        assert r.status < 300, r.text

    def patch(self, path, body):
        r = self.lite.call("PATCH", path, body, "application/merge-patch+json", headers={"User-Agent": "curl/7.88.1"})
        assert r.status < 300, r.text

    def before(self, name):
        pods, budget = f"/api/v1/namespaces/{NS}/pods", f"/apis/policy/v1/namespaces/{NS}/poddisruptionbudgets/pdb"
        counts = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        if name == "05-create-pod-201":
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self.post(f"/api/v1/namespaces/{NS}/serviceaccounts", account)
        elif name == "05c-generateName":
            for i in range(2, 7):
                self.post(pods, pod(f"p{i}"))
        elif name.startswith("11f"):
            self.patch(pods + "/p3", {"metadata": {"finalizers": ["example.com/hold"]}})
            self.lite.call("DELETE", pods + "/p3")
        elif name.startswith("11h"):
            self.post(pods, pod("gated", schedulingGates=[{"name": "example.com/gate"}]))
        elif name.startswith("13d"):
            self.patch(budget + "/status", {"status": {**counts, "disruptionsAllowed": 0}})
        elif name.startswith("13e"):
            self.patch(budget + "/status", {"status": {**counts, "currentHealthy": 2, "disruptionsAllowed": 1}})
        elif name.startswith("14"):
            self.lite.fault("error", "--code", "429", "--resource", "pods", "--count", "1")
        elif name.startswith("23"):
            self.lite.kubectl("apply", "-f", str(ROOT / "charts/sunk/crds"))
            self.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "slurm"}})
            kind, template = "sunk.coreweave.com/v1alpha1", {"spec": {"containers": [{"name": "c", "image": "x"}]}}
            body = {"apiVersion": kind, "kind": "NodeSet", "metadata": {"name": "main"}, "spec": {"template": template}}
            self.post(f"/apis/{kind}/namespaces/slurm/nodesets", body)

    def learn(self, sample, answer):
        try:
            theirs, ours = json.loads(sample.body), json.loads(answer.text)
        except ValueError:
            return
        for path in (("metadata", "uid"), ("metadata", "resourceVersion"), ("metadata", "continue")):
            a, b = theirs, ours
            for key in path:
                a, b = (a or {}).get(key), (b or {}).get(key)
            if a and b and a != "0":
                self.rename[a] = b

    def replay(self, sample):
        self.before(sample.name)
        if sample.words[-1].endswith("free") or not any(w.startswith("https://") for w in sample.words):
            method, path, headers, data = "GET", f"/api/v1/namespaces/{NS}/pods", {}, None
        else:
            method, path, headers, data = sample.request()
        for old, new in self.rename.items():
            path = path.replace(f"continue={old}", f"continue={new}")
            if data and len(old) > 8:
                data = data.replace(old, new)
            elif data:
                data = data.replace(f'"resourceVersion":"{old}"', f'"resourceVersion":"{new}"')
        token = ""
        if "Authorization" in headers:
            token = headers.pop("Authorization").removeprefix("Bearer ")
            if sample.name in ("03c-rbac-403", "17c-selfsubjectaccessreview"):
                token = "nobody-token"
            elif token == "TOKEN":
                token = None
        elif sample.name.startswith("14"):
            token = None
        kind = headers.pop("Content-Type", "application/json")
        headers.setdefault("User-Agent", "curl/7.88.1")
        answer = self.lite.call(method, path, data, kind, token, headers)
        self.learn(sample, answer)
        self.answers[sample.name] = answer


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    w = World(tmp_path_factory.mktemp("samples"))
    try:
        for sample in ALL:
            w.replay(sample)
        yield w
    finally:
        w.lite.close()


@pytest.mark.parametrize("sample", ALL, ids=lambda s: s.name)
def test_the_answer_is_the_recorded_one(world, sample):
    answer = world.answers[sample.name]
    assert answer.status == sample.status, answer.text
    assert {h: answer.headers[h] for h in HEADERS if h in answer.headers} == {
        h: sample.headers[h] for h in HEADERS if h in sample.headers
    }
    try:
        want = json.loads(sample.body)
    except ValueError:
        assert answer.text.strip() == sample.body.strip()
        return
    assert scrub(answer.json) == scrub(want)


# ---- what the recording could only show once in a while ----


@pytest.fixture
def lite():
    server = Lite("--no-controllers")
    yield server
    server.close()


def configmaps(lite, n):
    for i in range(1, n + 1):
        c = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}}
        assert lite.call("POST", "/api/v1/namespaces/default/configmaps", c).status == 201


PATH = "/api/v1/namespaces/default/configmaps"


def test_pages_show_one_moment(lite):
    configmaps(lite, 5)
    first = lite.call("GET", PATH + "?limit=2").json
    lite.call("DELETE", PATH + "/c3")
    lite.call("POST", PATH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c35"}})
    lite.call("PATCH", PATH + "/c4", {"data": {"late": "1"}}, "application/merge-patch+json")
    rest = lite.call("GET", PATH + "?limit=10&continue=" + first["metadata"]["continue"]).json
    assert [i["metadata"]["name"] for i in first["items"] + rest["items"]] == ["c1", "c2", "c3", "c4", "c5"]
    assert "data" not in rest["items"][1]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_forgotten_history_is_told_as_recorded(lite):
    configmaps(lite, 5)
    first = lite.call("GET", PATH + "?limit=2").json
    rv = first["metadata"]["resourceVersion"]
    lite.call("PATCH", PATH + "/c1", {"data": {"n": "1"}}, "application/merge-patch+json")
    lite.fault("compact")
    want = Sample(SAMPLES / "08-410-continue-expired.txt")
    got = lite.call("GET", PATH + "?limit=2&continue=" + first["metadata"]["continue"])
    assert got.status == 410
    token = got.json["metadata"].pop("continue")
    expected = json.loads(want.body)
    body = got.json
    body["metadata"].pop("continue")
    expected["metadata"].pop("continue")
    assert body == expected
    rest = lite.call("GET", PATH + "?limit=2&continue=" + token).json
    assert [i["metadata"]["name"] for i in rest["items"]] == ["c3", "c4"]
    exact = lite.call("GET", f"{PATH}?limit=2&resourceVersion={rv}&resourceVersionMatch=Exact")
    assert exact.json == json.loads(Sample(SAMPLES / "08b-410-list-exact.txt").body)
    with lite.stream(f"{PATH}?watch=true&resourceVersion={rv}&timeoutSeconds=4") as watch:
        lines = watch.read().decode().splitlines()
    event = json.loads(lines[0])
    assert len(lines) == 1 and event["type"] == "ERROR"
    assert re.fullmatch(r"too old resource version: \d+ \(\d+\)", event["object"].pop("message"))
    want = json.loads(Sample(SAMPLES / "08c-410-watch-in-stream-h1.txt").body)["object"]
    want.pop("message")
    assert event["object"] == want


def test_a_watch_tells_bookmarks_and_initial_events(lite):
    configmaps(lite, 2)
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=3"
    with lite.stream(f"{PATH}?{query}") as watch:
        events = [json.loads(line) for line in watch.read().decode().splitlines()]
    assert [e["type"] for e in events] == ["ADDED", "ADDED", "BOOKMARK", "BOOKMARK"]
    assert events[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert "annotations" not in events[3]["object"]["metadata"]
    bad = lite.call("GET", f"{PATH}?watch=true&sendInitialEvents=true")
    assert bad.status == 422


def test_a_selected_object_that_leaves_the_selection_is_told_as_deleted(lite):
    configmaps(lite, 1)
    lite.call("PATCH", PATH + "/c1", {"metadata": {"labels": {"a": "1"}}}, "application/merge-patch+json")
    with lite.stream(f"{PATH}?watch=true&labelSelector=a%3D1&timeoutSeconds=2") as watch:
        assert json.loads(watch.readline())["type"] == "ADDED"
        lite.call("PATCH", PATH + "/c1", {"metadata": {"labels": {"a": "2"}}}, "application/merge-patch+json")
        gone = json.loads(watch.readline())
        assert gone["type"] == "DELETED" and gone["object"]["metadata"]["labels"] == {"a": "1"}
        lite.call("PATCH", PATH + "/c1", {"metadata": {"labels": {"a": "1"}}}, "application/merge-patch+json")
        back = json.loads(watch.readline())
        assert back["type"] == "ADDED" and int(back["object"]["metadata"]["resourceVersion"]) > int(
            gone["object"]["metadata"]["resourceVersion"]
        )


def test_a_watch_goes_on_over_a_restart(lite):
    configmaps(lite, 1)
    rv = lite.call("GET", PATH).json["metadata"]["resourceVersion"]
    lite.call("PATCH", PATH + "/c1", {"data": {"n": "1"}}, "application/merge-patch+json")
    lite.restart()
    with lite.stream(f"{PATH}?watch=true&resourceVersion={rv}&timeoutSeconds=5") as watch:
        event = json.loads(watch.readline())
    assert event["type"] == "MODIFIED" and event["object"]["data"] == {"n": "1"}


def test_a_watch_from_the_future_is_silent(lite):
    configmaps(lite, 1)
    with lite.stream(f"{PATH}?watch=true&resourceVersion=999999999&timeoutSeconds=1") as watch:
        lite.call("PATCH", PATH + "/c1", {"data": {"n": "1"}}, "application/merge-patch+json")
        assert watch.read() == b""


def test_thousands_of_watches_are_served(lite):
    import socket

    configmaps(lite, 1)
    host, port = re.fullmatch(r"https://(.+):(\d+)", lite.url).groups()
    request = f"GET {PATH}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {lite.token}\r\n\r\n".encode()
    open_ones = []
    try:
        for _ in range(500):
            s = lite.context.wrap_socket(socket.create_connection((host, int(port))), server_hostname="localhost")
            s.sendall(request)
            open_ones.append(s)
        for s in open_ones:
            s.settimeout(20)
            assert b"200 OK" in s.recv(65536)
        lite.call("PATCH", PATH + "/c1", {"data": {"to": "all"}}, "application/merge-patch+json")
        for s in open_ones:
            text = b""
            while b'"to":"all"' not in text:
                piece = s.recv(65536)
                assert piece
                text += piece
    finally:
        for s in open_ones:
            s.close()
    wait_for("all have left", lambda: lite.call("GET", PATH).status == 200)
