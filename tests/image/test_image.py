# SPDX-License-Identifier: GPL-2.0-or-later
"""The images that dev/image built (SUNK_IMAGES: where): what is in them, what is not, and a Slurm cluster of the chart that runs from them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/charts"))
import helm  # noqa: E402
from pod import DEADLINE, Net, Objects, Pod  # noqa: E402

IMAGES = Path(os.environ.get("SUNK_IMAGES", TOP / "build-image"))
BOTH = pytest.mark.parametrize("name", ["sunk", "sunk-slurm"])
pytestmark = pytest.mark.skipif(not (IMAGES / "sunk-slurm.oci.tar").exists(), reason="no images: dev/image builds them")


class Image:
    def __init__(self, name):
        self.archive = tarfile.open(IMAGES / f"{name}.oci.tar")
        index = self.json("index.json")
        (entry,) = index["manifests"]
        self.manifest = self.blob(entry)
        self.config = self.blob(self.manifest["config"])

    def json(self, path):
        return json.load(self.archive.extractfile(path))

    def blob(self, described):
        return self.json("blobs/sha256/" + described["digest"].removeprefix("sha256:"))

    def layers(self):
        for layer in self.manifest["layers"]:
            yield tarfile.open(fileobj=self.archive.extractfile("blobs/sha256/" + layer["digest"].removeprefix("sha256:")), mode="r:gz")

    def members(self):
        found = {}
        for layer in self.layers():
            found.update({m.name.removeprefix("./"): m for m in layer})
        return found

    def unpack(self, to):
        for layer in self.layers():
            layer.extractall(to, numeric_owner=True, filter="fully_trusted")


@BOTH
def test_nothing_is_setuid_and_no_key_is_in_it(name):
    members = Image(name).members()
    assert [m.name for m in members.values() if m.isfile() and m.mode & 0o6000] == []
    secrets = [n for n in members if re.search(r"munge\.key$|\.pem$|_key$|machine-id$", n) and not n.startswith(("usr/share/", "etc/ssl/certs", "usr/lib/ssl/cert.pem"))]
    assert secrets == []
    writable = [n for n, m in members.items() if m.isfile() and m.mode & 0o002]
    assert writable == []


@BOTH
def test_how_it_was_made_is_not_told(name):
    members = Image(name).members()
    assert not [n for n in members if n.startswith(("etc/apt", "var/lib/apt", "var/cache/apt", "etc/resolv.conf"))]
    assert not [n for n in members if n.startswith(("usr/share/doc/", "usr/share/man/"))]


def test_programs_are_there_and_users_have_the_charts_numbers():
    for name, programs in (("sunk", ()), ("sunk-slurm", ("slurmctld", "slurmd", "slurmdbd", "munged", "scontrol", "srun", "sbatch", "sacctmgr"))):
        image = Image(name)
        members = image.members()
        for program in ("sunk", "sunk-hook", *programs):
            assert any(f"usr/{d}/{program}" in members for d in ("bin", "sbin")), f"{name}: {program}"
        assert "usr/share/sunk/slurm/prolog.sh" in members
        passwd = ""
        for layer in image.layers():
            for m in layer:
                if m.name.removeprefix("./") == "etc/passwd":
                    passwd = layer.extractfile(m).read().decode()
        ids = dict(re.findall(r"^(\w+):x:(\d+):", passwd, re.M))
        assert (ids["munge"], ids["slurm"], ids["sunk"]) == ("401", "64030", "65532")
    assert Image("sunk").config["config"]["User"] == "65532:65532"
    assert Image("sunk").config["config"]["Entrypoint"] == ["/usr/bin/sunk"]
    assert Image("sunk-slurm").config["config"]["User"] == "64030:64030"


@BOTH
def test_the_list_of_packages_is_whole(name):
    sbom = json.loads((IMAGES / f"{name}.spdx.json").read_text())
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["dataLicense"] == "CC0-1.0"
    names = {p["name"] for p in sbom["packages"]}
    assert {"sunk", "libc6", "libslurm42t64"} <= names
    ids = [p["SPDXID"] for p in sbom["packages"]]
    assert len(set(ids)) == len(ids)
    assert {r["relatedSpdxElement"] for r in sbom["relationships"]} <= set(ids)
    for wanted in (TOP / "image/packages.sunk").read_text().splitlines():
        assert wanted.startswith("#") or wanted in names, wanted


HOOK = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        n = int(self.headers.get("Content-Length") or 0)
        print(self.path, self.headers.get("Authorization"), self.rfile.read(n).decode(), flush=True)
        self.send_response(200); self.send_header("Content-Type", "application/json"); self.end_headers()
        self.wfile.write(b'{"lock":"locked"}')
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8090), H).serve_forever()
"""


@pytest.fixture(name="directory")
def one_directory():
    path = Path(tempfile.mkdtemp(prefix="si-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    mounted = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(path) in line]
    assert not mounted, mounted
    shutil.rmtree(path)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root: mounts and users")
def test_a_slurm_cluster_of_the_chart_runs_from_the_image(directory):
    rootfs = directory / "rootfs"
    rootfs.mkdir()
    Image("sunk-slurm").unpack(rootfs)
    # the rendered cluster, with nodes that are smaller than this machine may be
    docs = helm.template("slurm", "--set", "nodeSets.compute.nodeConfig=CPUs=2 RealMemory=500")
    objects, net, pods, hook = Objects(docs), Net(), [], None
    hosts = [f"slurm-{part}{suffix}" for part in ("slurmctld", "syncer") for suffix in ("", ".tenant.svc")]

    def pod(kind, name, pod_name):
        p = Pod(directory, rootfs, net, objects, pod_name, helm.of(docs, kind, name)["spec"]["template"]["spec"], hosts)
        pods.append(p)
        return p

    try:
        with open(directory / "hook.log", "wb") as log:
            hook = subprocess.Popen(net.inside(sys.executable, "-c", HOOK), stdout=log)
        controller = pod("StatefulSet", "slurm-slurmctld", "slurm-slurmctld-0")
        controller.claim("state")
        controller.up().ready("slurmctld", "startupProbe")
        slurmd = pod("NodeSet", "compute", "compute-000-001").up()
        login = pod("Deployment", "slurm-login", "slurm-login-1").up()

        def until(what, check):
            end = time.monotonic() + DEADLINE
            while not check():
                assert time.monotonic() < end, f"{what}\n" + "\n".join(p.logs() for p in pods)
                time.sleep(0.2)

        until("the node is idle", lambda: "idle" in login.run("login", "sinfo", "-h", "-p", "compute", "-o", "%T").stdout)
        r = login.run("login", "srun", "--mem=100", "sh", "-c", "hostname; id -u; touch /tmp/ok && ! touch /usr/no 2>/dev/null && echo read-only")
        assert r.stdout.split() == ["compute-000-001", "0", "read-only"], f"{r.stdout}{r.stderr}\n{slurmd.logs()}\n{controller.logs()}"
        token = objects.secrets["slurm-hook-token"]["token"].decode()
        calls = (directory / "hook.log").read_text()
        assert re.search(rf"/v1/nodes/compute-000-001/pre-hook Bearer {token} ", calls), calls
        # as whom they run
        uids = {c: Path(f"/proc/{p.running[c].pid}/status").read_text() for p, c in ((controller, "slurmctld"), (slurmd, "munged"))}
        assert re.search(r"^Uid:\s+64030\s", uids["slurmctld"], re.M) and re.search(r"^CapBnd:\s+0+$", uids["slurmctld"], re.M)
        assert re.search(r"^Uid:\s+401\s", uids["munged"], re.M) and re.search(r"^NoNewPrivs:\s+1$", uids["munged"], re.M)
        assert login.run("login", "sunk", "version").returncode == 0
    finally:
        for p in reversed(pods):
            p.close()
        if hook:
            hook.kill()
            hook.wait()
        net.close()
