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
from pod import DEADLINE, Net, Objects, Pod, stop  # noqa: E402

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
        for program in ("sunk", "sunk-hook", "sunk-hook-tls", *programs):
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
    assert {"sunk", "libc6", "libslurm42t64", "libllhttp-dev"} <= names
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


class Database:
    """Debian's MariaDB with the chart's arguments, and what MariaDB's own image does at its first start: the database, and a user with the
    Secret's password. As the user that the chart says."""

    def __init__(self, directory, net, spec, password):
        self.dir, self.net = directory / "mariadb", net
        (self.container,) = spec["containers"]
        env = {e["name"]: e["value"] for e in self.container["env"]}
        uid = spec["securityContext"]["runAsUser"]
        self.as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        self.dir.mkdir()
        os.chown(self.dir, uid, uid)
        subprocess.run([*self.as_user, "mariadb-install-db", "--no-defaults", f"--datadir={self.dir}/data", "--skip-test-db", "--auth-root-authentication-method=normal"], check=True, capture_output=True, timeout=DEADLINE)
        with open(directory / "mariadb.log", "wb") as log:
            self.process = subprocess.Popen(
                net.inside(*self.as_user, "mariadbd", "--no-defaults", f"--datadir={self.dir}/data", f"--socket={self.dir}/s", "--bind-address=127.0.0.1", *self.container["args"]),
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + DEADLINE
        while not (self.dir / "s").exists():
            assert self.process.poll() is None and time.monotonic() < end, (directory / "mariadb.log").read_text()
            time.sleep(0.1)
        self.sql(f"CREATE DATABASE {env['MARIADB_DATABASE']}; CREATE USER '{env['MARIADB_USER']}'@'%' IDENTIFIED BY '{password}'; "
                 f"GRANT ALL ON {env['MARIADB_DATABASE']}.* TO '{env['MARIADB_USER']}'@'%'")  # fmt: skip

    def sql(self, text):
        r = subprocess.run(self.net.inside("mariadb", "--no-defaults", f"--socket={self.dir}/s", "-N"), input=text, capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert r.returncode == 0, r.stderr
        return r.stdout

    def close(self):
        stop(self.process)


class Cluster:
    """The rendered cluster with accounting, run from the image; nodes are smaller than this machine may be."""

    def __init__(self, directory):
        self.directory, self.rootfs, self.pods, self.hook, self.database = directory, directory / "rootfs", [], None, None
        self.rootfs.mkdir()
        Image("sunk-slurm").unpack(self.rootfs)
        self.docs = helm.template("slurm", "-f", helm.VALUES["accounting"], "--set", "nodeSets.compute.nodeConfig=CPUs=2 RealMemory=500")
        self.objects, self.net = Objects(self.docs), Net()
        self.password = self.objects.secrets["slurm-database"]["password"].decode()

    def pod(self, kind, name, pod_name):
        hosts = [f"slurm-{part}{suffix}" for part in ("slurmctld", "syncer", "slurmdbd", "mariadb") for suffix in ("", ".tenant.svc")]
        p = Pod(self.directory, self.rootfs, self.net, self.objects, pod_name, helm.of(self.docs, kind, name)["spec"]["template"]["spec"], hosts)
        self.pods.append(p)
        return p

    def up(self):
        with open(self.directory / "hook.log", "wb") as log:
            self.hook = subprocess.Popen(self.net.inside(sys.executable, "-c", HOOK), stdout=log)
        self.database = Database(self.directory, self.net, helm.of(self.docs, "StatefulSet", "slurm-mariadb")["spec"]["template"]["spec"], self.password)
        self.slurmdbd = self.pod("Deployment", "slurm-slurmdbd", "slurm-slurmdbd-1").up()
        self.controller = self.pod("StatefulSet", "slurm-slurmctld", "slurm-slurmctld-0")
        self.controller.claim("state")
        self.controller.up().ready("slurmctld", "startupProbe")
        self.slurmd = self.pod("NodeSet", "compute", "compute-000-001").up()
        self.login = self.pod("Deployment", "slurm-login", "slurm-login-1").up()
        self.until("the node is idle", lambda: "idle" in self.run("sinfo", "-h", "-p", "compute", "-o", "%T"))
        return self

    def run(self, *argv):
        return self.login.run("login", *argv).stdout

    def until(self, what, check):
        end = time.monotonic() + DEADLINE
        while not check():
            assert time.monotonic() < end, f"{what}\n" + "\n".join(p.logs() for p in self.pods)
            time.sleep(0.2)

    def close(self):
        for p in reversed(self.pods):
            p.close()
        if self.database:
            self.database.close()
        if self.hook:
            self.hook.kill()
            self.hook.wait()
        left = self.net.others()
        self.net.close()
        assert left == [], "these outlived their containers"


@pytest.fixture(name="cluster", scope="module")
def one_cluster():
    if os.getuid() != 0:
        pytest.skip("needs root: mounts and users")
    path = Path(tempfile.mkdtemp(prefix="si-", dir="/tmp"))
    path.chmod(0o755)
    c = Cluster(path)
    try:
        yield c.up()
    finally:
        c.close()
        mounted = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(path) in line]
        assert not mounted, mounted
        shutil.rmtree(path)


def test_a_slurm_cluster_of_the_chart_runs_from_the_image(cluster):
    r = cluster.login.run("login", "srun", "--mem=100", "sh", "-c", "hostname; id -u; touch /tmp/ok && ! touch /usr/no 2>/dev/null && echo read-only")
    assert r.stdout.split() == ["compute-000-001", "0", "read-only"], f"{r.stdout}{r.stderr}\n{cluster.slurmd.logs()}\n{cluster.controller.logs()}"
    token = cluster.objects.secrets["slurm-hook-token"]["token"].decode()
    calls = (cluster.directory / "hook.log").read_text()
    assert re.search(rf"/v1/nodes/compute-000-001/pre-hook(\?\S*)? Bearer {token} ", calls), calls
    # as whom they run
    for status, uid in ((cluster.controller.status("slurmctld"), 64030), (cluster.slurmdbd.status("slurmdbd"), 64030), (cluster.slurmd.status("munged"), 401)):
        assert re.search(rf"^Uid:\s+{uid}\s", status, re.M) and re.search(r"^NoNewPrivs:\s+1$", status, re.M), status
        assert re.search(r"^CapBnd:\s+0+$", status, re.M), status
    assert cluster.login.run("login", "sunk", "version").returncode == 0


def test_slurmdbd_of_the_chart_keeps_accounts_in_mariadb(cluster):
    cluster.until("slurmctld is registered", lambda: re.fullmatch(r"lab\|127\.0\.0\.1\|6817\|", cluster.run("sacctmgr", "-nP", "show", "cluster", "format=Cluster,ControlHost,ControlPort").strip() + "|"))
    job = cluster.run("sbatch", "--parsable", "--mem=100", "-o", "/dev/null", "-D", "/", "--wrap", "exit 3").strip()
    cluster.until("the job is in the books", lambda: f"{job}|FAILED|3:0" in cluster.run("sacct", "-nPX", "-j", job, "-o", "JobID,State,ExitCode"))
    assert f"{job}\t" in cluster.database.sql("SELECT id_job, exit_code FROM slurm_acct_db.lab_job_table")
    assert "Adding" in cluster.run("sacctmgr", "-i", "add", "account", "physics")
    assert "physics" in cluster.run("sacctmgr", "-nP", "show", "account", "format=Account")


def test_the_databases_password_is_shown_to_nobody(cluster):
    pid, password = cluster.slurmdbd.running["slurmdbd"].pid, cluster.password.encode()
    for proc in Path("/proc").iterdir():
        try:
            assert not proc.name.isdigit() or password not in (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes(), proc
        except OSError:
            pass
    conf = cluster.slurmdbd.volumes["run"] / "slurmdbd.conf"
    assert password in conf.read_bytes() and (conf.stat().st_mode & 0o777, conf.stat().st_uid) == (0o600, 64030)
    assert cluster.slurmdbd.running["slurmdbd"].pid == pid  # it did not start anew
    holders = {p for p in cluster.directory.rglob("*") if p.is_file() and p.stat().st_size < 100_000 and password in p.read_bytes()}
    open_to_all = [p for p in holders if p.stat().st_mode & 0o004]
    assert conf in holders and open_to_all == []
    shown = [m for m in cluster.objects.maps.values() if cluster.password in str(m)]
    assert shown == [] and cluster.password not in (cluster.directory / "mariadb.log").read_text()
