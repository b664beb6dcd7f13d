# SPDX-License-Identifier: GPL-2.0-or-later
"""`sunk scheduler` as a daemon, and `sunk explain`: pages, metrics, leaders that come and go, sides that are away."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

import pytest
from lite_server import wait_for

TOP = pathlib.Path(__file__).resolve().parents[2]
DEV = TOP / "dev"
POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default"},
    "spec": {"schedulerName": "slurm-slurm", "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
             "containers": [{"name": "c", "image": "none", "command": ["sleep", "1000"],
                             "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]},
}


def run(*command, ok=True, **more):
    got = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, check=False, **more)
    assert not ok or got.returncode == 0, f"{command}: {got.stdout}\n{got.stderr}"
    return got


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:  # not there (yet)
        return 0, str(e)


class Cluster:
    def __init__(self, directory):
        self.dir = directory
        run(DEV / "up", "--nodes", "2", "--cpus", "4", "--dir", directory)
        env = dict(re.findall(r"export (\w+)='?([^'\n]*)'?", (directory / "env").read_text()))
        self.url = env["SUNK_SCHEDULER_METRICS"].removesuffix("/metrics")
        self.more = []

    def do(self, *command, **more):
        return run(DEV / "in", "--dir", self.dir, *command, **more)

    def pod(self, name, **spec):
        pod = {**POD, "metadata": {**POD["metadata"], "name": name}, "spec": {**POD["spec"], **spec}}
        self.do("kubectl", "apply", "-f", "-", input=json.dumps(pod))

    def node_of(self, name):
        return self.do("kubectl", "get", "pod", name, "-o", "jsonpath={.spec.nodeName}").stdout

    def explain(self, name, ok=True):
        return json.loads(self.do("sunk", "explain", "pod", name, "-o", "json", ok=ok).stdout)

    def scheduler(self, *flags):
        """One more, beside those that run."""
        where = self.dir / f"listen-{len(self.more)}"
        with open(self.dir / "log" / f"scheduler-{len(self.more)}.log", "wb") as log:
            p = subprocess.Popen([self.dir / "scheduler", "--listen=127.0.0.1:0", "--hook-listen=127.0.0.1:0", "--doorbell-port=0",
                                  f"--listen-file={where}", *flags], stderr=log, stdin=subprocess.DEVNULL)
        self.more.append(p)
        wait_for("it listens", where.exists)
        return p, dict(line.split() for line in where.read_text().splitlines())["http"]

    def first(self):
        return int((self.dir / "run" / "scheduler.proc").read_text().split()[0])

    def down(self):
        for p in self.more:
            if p.poll() is None:
                p.kill()
                p.wait()
        run(DEV / "down", "--dir", self.dir)


@pytest.fixture(name="cluster", scope="module")
def one_cluster():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sk-"))
    c = None
    try:
        c = Cluster(directory / "c")
        yield c
    finally:
        if c or (directory / "c" / "cluster").exists():
            c.down() if c else run(DEV / "down", "--dir", directory / "c")
        shutil.rmtree(directory, ignore_errors=True)


def families(text):
    """The families of a text, as strictly as Prometheus reads it: name → (type, {series: value})."""
    found, name = {}, None
    for line in text.splitlines():
        if m := re.fullmatch(r"# HELP ([a-zA-Z_:][\w:]*) (.*)", line):
            name = m[1]
            assert name not in found, f"{name} comes twice"
            found[name] = [None, {}]
        elif m := re.fullmatch(r"# TYPE (\S+) (counter|gauge|histogram)", line):
            assert m[1] == name and found[name][0] is None
            found[name][0] = m[2]
        else:
            m = re.fullmatch(r'([a-zA-Z_:][\w:]*)((?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (\S+)', line)
            assert m, f"not a sample: {line}"
            base = re.sub(r"_(bucket|sum|count)$", "", m[1]) if found[name][0] == "histogram" else m[1]
            assert base == name and m[1] + m[2] not in found[name][1], line
            found[name][1][m[1] + m[2]] = float(m[3])
    return found


def test_metrics_are_as_prometheus_reads_them(cluster):
    status, text = get(cluster.url + "/metrics")
    assert status == 200
    got = families(text)
    assert all(f[1] for f in got.values())
    for name, (kind, series) in got.items():
        assert (kind == "counter") == name.endswith("_total"), name
        if kind == "histogram":
            for key, value in series.items():
                if 'le="+Inf"' in key:
                    plain = re.sub(r',?le="\+Inf"', "", key).replace("{}", "").replace("_bucket", "_count")
                    assert series[plain] == value
    for name in ("sunk_build_info", "sunk_leader", "sunk_ready", "sunk_slurm_request_seconds", "sunk_kube_objects",
                 "sunk_kube_watches_total", "sunk_process_resident_memory_bytes", "sunk_process_cpu_seconds_total", "sunk_step_seconds"):
        assert name in got, name
    assert got["sunk_leader"][1] == {"sunk_leader": 1}
    assert set(got["sunk_ready"][1].values()) == {1}


def test_the_docs_have_all_metrics_and_all_flags(cluster):
    docs = (TOP / "docs" / "running.md").read_text()
    missing = [name for name in families(get(cluster.url + "/metrics")[1]) if f"`{name}`" not in docs]
    assert missing == []
    flags = cluster.do("sunk", "scheduler", "--help").stdout.split("\n\n", 2)[2].rstrip()
    assert re.search(r"scheduler --help: begin -->\n```\n(.*?)\n```", docs, re.S)[1] == flags


def test_another_takes_over_at_once_when_the_leader_is_told_to_end(cluster):
    second, url = cluster.scheduler()
    wait_for("the second is ready", lambda: get(url + "/readyz")[0] == 200)
    waiting = json.loads(get(url + "/readyz?verbose")[1])
    assert not waiting["leader"] and waiting["holder"].startswith("scheduler_")
    os.kill(cluster.first(), signal.SIGTERM)
    wait_for("the second leads", lambda: json.loads(get(url + "/readyz?verbose")[1])["leader"], deadline=10)  # a lease lasts 15 s
    cluster.pod("taken-over")
    wait_for("the Pod is bound", lambda: cluster.node_of("taken-over"))
    third, url = cluster.scheduler()
    second.kill()  # a leader that just vanishes
    second.wait()
    wait_for("the third leads", lambda: json.loads(get(url + "/readyz?verbose")[1])["leader"], deadline=40)
    cluster.url = url
    cluster.pod("taken-over-again")
    wait_for("the Pod is bound", lambda: cluster.node_of("taken-over-again"))
    assert third.poll() is None


def test_a_log_that_nobody_reads_any_more_ends_nobody(cluster):
    where = cluster.dir / "listen-unread"
    p = subprocess.Popen([cluster.dir / "scheduler", "--listen=127.0.0.1:0", "--hook-listen=127.0.0.1:0", "--doorbell-port=0",
                          f"--listen-file={where}"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    cluster.more.append(p)
    p.stderr.close()  # it is about to say that it starts, and goes on saying what it does
    wait_for("it listens", where.exists)
    p.terminate()
    assert p.wait(30) == 0


def test_without_slurm_it_says_so_and_goes_on(cluster):
    slurm = cluster.dir / "slurm"
    assert get(cluster.url + "/readyz") == (200, "ok\n")
    run(DEV / "slurm", "end", slurm, "slurmctld")
    status, text = wait_for("it notices", lambda: (a := get(cluster.url + "/readyz"))[0] == 503 and a, deadline=60)
    assert text.startswith("slurm: ")
    assert get(cluster.url + "/healthz") == (200, "ok\n")
    cluster.pod("patient")
    got = cluster.explain("patient")
    assert got["state"] == "unknown" and "sunk check" in got["toDo"][0]
    run(DEV / "slurm", "run", slurm, "slurmctld")
    wait_for("it is ready again", lambda: get(cluster.url + "/readyz")[0] == 200, deadline=60)
    wait_for("the Pod is bound", lambda: cluster.node_of("patient"), deadline=60)


def test_explain_tells_what_a_pod_waits_for(cluster):
    cluster.pod("runs")
    cluster.pod("foreign", schedulerName="default-scheduler")
    cluster.pod("refused", terminationGracePeriodSeconds=60)
    cluster.pod("large", containers=[{**POD["spec"]["containers"][0], "resources": {"requests": {"cpu": "4", "memory": "64Mi"}}}])
    wait_for("it runs", lambda: cluster.explain("runs")["state"] == "running")
    assert cluster.explain("foreign")["state"] == "foreign"
    refused = cluster.explain("default/refused")
    assert refused["state"] == "refused" and "KillWait" in refused["toDo"][0]
    large = wait_for("it waits", lambda: (e := cluster.explain("large"))["state"] == "queued" and e)
    assert "waits in Slurm's queue as job" in large["summary"]
    text = cluster.do("sunk", "explain", "pod", "-n", "default", "large").stdout
    assert "Waits for   " in text and "Job         " in text
    absent = cluster.do("sunk", "explain", "pod", "nobody", ok=False)
    assert absent.returncode == 1 and "There is no Pod default/nobody." in absent.stdout
    bad = cluster.do("sunk", "explain", "pod", "a/../b", ok=False)
    assert bad.returncode == 1 and "cannot be the name" in bad.stderr


@pytest.mark.parametrize("flags,want", [
    (["--hook-secret-file="], "--hook-secret-file is needed"),
    (["--hook-secret-file=/nonexistent"], "--hook-secret-file /nonexistent: No such file"),
    (["--hook-secret-file=/dev/null"], "has 0 bytes, at least 16 are needed"),
    (["--hook-program=sunk-hook"], "an absolute path"),
    (["--hook-program=/x; reboot"], "an absolute path"),
    (["--hook-cert=/etc/hostname"], "--hook-cert and --hook-key only go together"),
    (["--hook-url=ftp://x"], "neither http:// nor https://"),
    (["--hook-listen=nowhere"], "--hook-listen: 'nowhere' is no ADDRESS:PORT"),
    (["--scheduler-name=No Name"], "--scheduler-name 'No Name': only small letters"),
    (["--scope=cluster", "--namespaces=a"], "do not go together"),
    (["--poll-min=1m", "--poll-max=1s"], "--poll-min is more than --poll-max"),
    (["--lease-duration=5s"], "renew"),
])
def test_settings_that_cannot_be_are_refused_with_a_reason(cluster, flags, want):
    got = run(cluster.dir / "scheduler", "--listen=127.0.0.1:0", "--hook-listen=127.0.0.1:0", "--doorbell-port=0", *flags, ok=False)
    assert got.returncode in (1, 2) and want in got.stderr


def test_a_config_file_is_read_and_its_mistakes_have_a_line(cluster):
    path = cluster.dir / "sunk.yaml"
    path.write_text("scheduler:\n  gpuTypes: {H100: h100}\n  nmae: x\n")
    got = run(cluster.dir / "scheduler", f"--config={path}", ok=False)
    assert got.returncode == 2 and f"{path}:3: scheduler.nmae: there is no such setting" in got.stderr
    path.write_text("scheduler:\n  scope: {type: namespace, namespaces: [a, b]}\n  gpuTypes: {H100: h100}\n  name: other\nslurm: {poolSize: 2}\n")
    # the account of the chart may only use the lease of its own scheduler
    p, url = cluster.scheduler(f"--config={path}", f"--kubeconfig={cluster.dir}/kube/kubeconfig")
    wait_for("it leads what nobody else does", lambda: json.loads(get(url + "/readyz?verbose")[1])["leader"])
    p.terminate()
    assert p.wait(timeout=30) == 0
