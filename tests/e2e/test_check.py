# SPDX-License-Identifier: GPL-2.0-or-later
"""sunk check against a world in which everything can be wrong: it says what, where, and stays up until it is right."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import signal
import ssl
import subprocess
import threading
import time

import pytest

pytestmark = pytest.mark.lite_only("no Kubernetes in it but pretended ones")

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SUNK_BUILD", TOP / "build"))
SUNK = BUILD / "src" / "cmd" / "sunk"
PATIENCE_S = 30


def check(*args, timeout=60):
    return subprocess.run([SUNK, "check", *map(str, args)], capture_output=True, text=True, timeout=timeout, check=False)


class Watch:
    """`sunk check --watch`, whose lines are waited for."""

    def __init__(self, *args):
        self.lines = []
        self.process = subprocess.Popen([SUNK, "check", "--watch", "--every", "200ms", "--timeout", "5s", *map(str, args)],
                                        stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def wait_for(self, text, after=0):
        """The index behind the first line from `after` on that has the text."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for i, line in enumerate(self.lines[after:], after):
                if text in line:
                    return i + 1
            assert self.process.poll() is None, f"it ended; it said: {self.lines}"
            time.sleep(0.02)
        raise AssertionError(f"nothing with {text!r} after {after} in {self.lines}")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) in (0, 1)


# ---- Kubernetes


@pytest.fixture(scope="session", name="pki")
def make_pki(tmp_path_factory):
    """A CA, a server certificate for 127.0.0.1, and another CA that signed nothing here."""
    d = tmp_path_factory.mktemp("pki")

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=d, check=True, capture_output=True)

    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=server")
    (d / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-out", "server.pem", "-days", "2", "-extfile",
            "ext")
    return d


@contextlib.contextmanager
def api_server(pki, answer):
    """An HTTPS server that gives answer(path, headers) → (status, content type, body) or writes for itself."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            result = answer(self)
            if result is None:
                self.close_connection = True
                return
            status, kind, body = result
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "server.pem", pki / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def healthy(request):
    if request.path == "/version":
        return 200, "application/json", b'{"gitVersion":"v1.36.0"}'
    if request.headers.get("Authorization") != "Bearer good":
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized",
                "code": 401}
        return 401, "application/json", json.dumps(body).encode()
    return 200, "application/json", b'{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[]}'


def kubeconfig(path, server, ca, token="good", extra=""):
    ca_data = base64.b64encode(pathlib.Path(ca).read_bytes()).decode()
    path.write_text(f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "{server}", certificate-authority-data: "{ca_data}"}}}}]
users: [{{name: u, user: {{token: "{token}"}}}}]
{extra}""")
    path.chmod(0o600)
    return path


def test_a_healthy_api_server_is_named_with_its_version(pki, tmp_path):
    with api_server(pki, healthy) as url:
        got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "ca.pem"))
    assert got.returncode == 0, got
    assert "v1.36.0" in got.stdout and url in got.stdout


def test_a_wrong_ca_is_said_plainly(pki, tmp_path):
    with api_server(pki, healthy) as url:
        got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "other.pem"))
    assert got.returncode == 1
    assert "certificate" in got.stdout and url in got.stdout


def test_an_expired_token_is_said_plainly_and_never_shown(pki, tmp_path):
    with api_server(pki, healthy) as url:
        got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "ca.pem", token="s3cr3t-old"))
    assert got.returncode == 1
    assert "nauthorized" in got.stdout or "401" in got.stdout
    assert "s3cr3t-old" not in got.stdout + got.stderr


def test_an_html_answer_is_no_kubernetes(pki, tmp_path):
    def page(_request):
        return 200, "text/html", b"<html><body>Welcome</body></html>"

    with api_server(pki, page) as url:
        got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "ca.pem"))
    assert got.returncode == 1
    assert "text/html" in got.stdout or "not JSON" in got.stdout, got.stdout


def test_a_body_without_end_is_cut_off(pki, tmp_path):
    def endless(request):
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        with contextlib.suppress(OSError):
            while True:
                request.wfile.write(b" " * 65536)

    with api_server(pki, endless) as url:
        got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "ca.pem"))
    assert got.returncode == 1
    assert "larger than" in got.stdout, got.stdout


def test_nobody_listening_names_the_address(pki, tmp_path):
    with api_server(pki, healthy) as url:
        pass
    got = check("--only", "kubernetes", "--kubeconfig", kubeconfig(tmp_path / "kc", url, pki / "ca.pem"))
    assert got.returncode == 1
    assert url in got.stdout and "refused" in got.stdout


@pytest.mark.parametrize("text,want", [
    ("apiVersion: [", ":"),
    ("<html>", "kc"),
    ("current-context: x\ncontexts: []\n", '"x"'),
    ("\x00\x01", "kc"),
])
def test_a_broken_kubeconfig_is_named_with_what_is_wrong(tmp_path, text, want):
    path = tmp_path / "kc"
    path.write_text(text)
    path.chmod(0o600)
    got = check("--only", "kubernetes", "--kubeconfig", path)
    assert got.returncode == 1
    assert str(path) in got.stdout and want in got.stdout
    assert len(got.stdout.splitlines()) == 1


def test_it_stays_up_and_sees_a_kubeconfig_repaired(pki, tmp_path):
    path = tmp_path / "kc"
    with api_server(pki, healthy) as url:
        watch = Watch("--only", "kubernetes", "--kubeconfig", path)
        at = watch.wait_for("FAILS")
        assert str(path) in watch.lines[at - 1]
        kubeconfig(path, url, pki / "ca.pem")
        watch.wait_for("ok", at)
        watch.close()


# ---- Slurm


@pytest.fixture(name="slurm")
def start_slurm(tmp_path_factory, worlds):
    d = tmp_path_factory.mktemp("s")
    subprocess.run([TOP / "dev" / "slurm", "start", d, "--nodes", "1"], check=True)
    worlds.append(d)
    yield d
    subprocess.run([TOP / "dev" / "slurm", "stop", d], check=True)


def part(d, verb, name):
    subprocess.run([TOP / "dev" / "slurm", verb, d, name], check=True)


def test_a_missing_slurm_conf_is_named(tmp_path):
    got = check("--only", "slurm", "--slurm-conf", tmp_path / "slurm.conf")
    assert got.returncode == 1
    assert f"{tmp_path}/slurm.conf" in got.stdout and "No such file" in got.stdout


def test_it_stays_up_through_everything_that_can_happen_to_slurm(slurm):
    conf = slurm / "etc" / "slurm.conf"
    good = conf.read_text()
    watch = Watch("--only", "slurm", "--slurm-conf", conf)
    at = watch.wait_for("ok")
    assert "cluster lab" in watch.lines[at - 1]

    part(slurm, "end", "munged")
    at = watch.wait_for("munged", at)
    part(slurm, "run", "munged")
    at = watch.wait_for("ok", at)

    part(slurm, "end", "slurmctld")
    at = watch.wait_for("FAILS", at)
    part(slurm, "run", "slurmctld")
    at = watch.wait_for("ok", at)

    for text in (good[: good.index("SlurmctldHost") + 9], "this is = no configuration\n", ""):
        conf.write_text(text)
        at = watch.wait_for("FAILS", at)
        assert str(conf) in watch.lines[at - 1], watch.lines
        conf.write_text(good)
        at = watch.wait_for("ok", at)
    watch.close()
