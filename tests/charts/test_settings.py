# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemons really start with what the charts give them: arguments and settings files, taken from the rendered objects as they are. Only
where files and ports are on this machine is said on top of it."""

import os
import socket
import subprocess
import time
from pathlib import Path

import helm
import pytest
from helm import of

pytestmark = pytest.mark.skipif(helm.missing(), reason="no helm: dev/helm --make builds one")

SUNK = Path(os.environ.get("SUNK_BUILD", helm.TOP / "build")) / "src/cmd/sunk"
DEADLINE = 30
NOWHERE = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
CASES = [("operator", "defaults"), *((p, v) for p in ("syncer", "scheduler") for v in ("defaults", "gpu", "scheduler"))]


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def rendered(part, values):
    """(arguments, settings file's name, its text)"""
    if part == "operator":
        docs, name = helm.sunk("--set", "operator.cluster=lab"), "sunk-operator"
    else:
        docs, name = helm.slurm(None if values == "defaults" else values), f"slurm-{part}"
        if name not in of(docs, "Deployment"):
            return None
    container = of(docs, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]
    ((file, text),) = of(docs, "ConfigMap", name)["data"].items()
    assert container["command"] == ["sunk", part]
    return container["args"], file, text


def lay_out(directory, text):
    """The files that settings name, below a directory; the settings, with their paths moved there."""
    for name in ("hook-token/token", "hook-secret/secret", "scheduler-ca/ca.crt"):
        path = directory / "etc/sunk" / name
        path.parent.mkdir(parents=True)
        path.write_text("x" * 64)
    tls = directory / "etc/sunk/tls"
    tls.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x", "-days", "2",
         "-keyout", tls / "tls.key", "-out", tls / "tls.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    return text.replace("/etc/sunk/", f"{directory}/etc/sunk/")


@pytest.mark.parametrize("part,values", [c for c in CASES if c != ("scheduler", "defaults")])
def test_a_daemon_starts_with_its_charts_settings(part, values, tmp_path):
    got = rendered(part, values)
    if got is None:
        pytest.fail(f"{part} is not rendered with {values}")
    args, file, text = got
    (tmp_path / file).write_text(lay_out(tmp_path, text))
    (tmp_path / "kubeconfig").write_text(NOWHERE % closed_port())
    listening = tmp_path / "urls"
    more = ["--kubeconfig", tmp_path / "kubeconfig", "--listen", "127.0.0.1:0", "--listen-file", listening]
    if part != "operator":
        more += ["--hook-listen", "127.0.0.1:0"]
    if part == "scheduler":
        more += ["--doorbell-address", "127.0.0.1", "--doorbell-port", "0"]
    words = [a.replace("/etc/sunk/config", str(tmp_path)).replace("/etc/sunk", str(tmp_path)) for a in args]
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen(
            [str(a) for a in (SUNK, part, *words, *more)], stdout=log, stderr=log,
            env={**os.environ, "POD_NAME": "p", "POD_NAMESPACE": helm.NS, "POD_IP": "127.0.0.1"},
        )  # fmt: skip
    try:
        end = time.monotonic() + DEADLINE
        while not listening.exists():
            assert daemon.poll() is None, f"{words}\n{(tmp_path / file).read_text()}\n{(tmp_path / 'log').read_text()}"
            assert time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.02)
        assert daemon.poll() is None, (tmp_path / "log").read_text()
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


def test_a_setting_that_no_daemon_knows_is_refused_by_it(tmp_path):
    """What the test above would say: `config` goes through to the daemon, which knows what it can read."""
    docs = helm.template("slurm", "--set", "syncer.config.syncer.pollInterwal=5s")
    file = tmp_path / "syncer.yaml"
    file.write_text(lay_out(tmp_path, of(docs, "ConfigMap", "slurm-syncer")["data"]["syncer.yaml"]))
    r = subprocess.run([SUNK, "syncer", "--config", file], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert r.returncode == 2 and "syncer.pollInterwal" in r.stderr, r.stderr
