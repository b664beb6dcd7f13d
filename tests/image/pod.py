# SPDX-License-Identifier: GPL-2.0-or-later
"""A Pod of a rendered chart, run from an unpacked image: its commands, environment, users, capabilities, volumes and read-only root as a kubelet would
have them, in mount namespaces of their own. All Pods of a test share one network namespace, where every Service is 127.0.0.1."""

import base64
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

DEADLINE = 60


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Net:
    """A network of its own, with nothing in it but loopback; an address more, as resolvers want one that is not 127.0.0.1."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && ip addr add 192.0.2.1/32 dev lo && echo up && exec sleep infinity"], stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"up\n"

    def inside(self, *command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *map(str, command)]

    def others(self):
        """Processes in there, but for the one that holds it."""
        mine = os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(pid) != self.holder.pid and os.stat(f"/proc/{pid}/ns/net").st_ino == mine:
                    found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
            except OSError:
                pass
        return found

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Objects:
    """ConfigMaps and Secrets by name, as rendered."""

    def __init__(self, docs):
        self.maps = {d["metadata"]["name"]: d.get("data", {}) for d in docs if d["kind"] == "ConfigMap"}
        self.secrets = {
            d["metadata"]["name"]: {k: base64.b64decode(v) for k, v in d["data"].items()} for d in docs if d["kind"] == "Secret"
        }

    def files(self, source):
        """(path, bytes, mode) of a volume's source."""
        if "configMap" in source:
            data, of = self.maps[source["configMap"]["name"]], source["configMap"]
        else:
            data, of = self.secrets[source["secret"].get("secretName") or source["secret"]["name"]], source["secret"]
        items = of.get("items") or [{"key": k, "path": k} for k in data]
        for i in items:
            value = data[i["key"]]
            yield i["path"], value if isinstance(value, bytes) else value.encode(), i.get("mode", of.get("defaultMode", 0o644))


class Pod:
    def __init__(self, directory, rootfs, net, objects, name, spec, hosts):
        self.dir, self.rootfs, self.net, self.name, self.spec = directory / name, rootfs, net, name, spec
        self.dir.mkdir()
        (self.dir / "hosts").write_text("".join(f"127.0.0.1 {h}\n" for h in ["localhost", name, *hosts]))
        (Path(rootfs) / "etc/hosts").touch()  # as a runtime would make it
        self.volumes = {v["name"]: self._volume(v, objects) for v in spec.get("volumes", [])}
        self.running = {}

    def _volume(self, volume, objects):
        path = self.dir / "volumes" / volume["name"]
        path.mkdir(parents=True)
        group = self.spec["securityContext"].get("fsGroup", 0)
        sources = volume.get("projected", {}).get("sources") or [volume]
        for source in sources:
            if "downwardAPI" in source:
                continue  # no API server has this Pod: it has no uid
            if not source.keys() & {"configMap", "secret"}:
                path.chmod(0o777)  # an empty directory
                return path
            for name, data, mode in objects.files(source):
                file = path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                file.chmod(mode | 0o040 if group else mode)
                os.chown(file, 0, group)
        return path

    def claim(self, name):
        """A volume that a StatefulSet's claim would bring."""
        path = self.dir / "volumes" / name
        path.mkdir(parents=True)
        os.chown(path, 0, self.spec["securityContext"].get("fsGroup", 0))
        path.chmod(0o2775)
        self.volumes[name] = path

    def container(self, name):
        return next(c for c in [*self.spec.get("initContainers", []), *self.spec["containers"]] if c["name"] == name)

    def _environment(self, container):
        facts = {"metadata.name": self.name, "metadata.namespace": "tenant", "status.podIP": "127.0.0.1"}
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        for e in container.get("env", []):
            env[e["name"]] = e["value"] if "value" in e else facts[e["valueFrom"]["fieldRef"]["fieldPath"]]
        return env

    def command(self, name, argv=None):
        """What runs a container, or something else inside of it."""
        c = self.container(name)
        env = self._environment(c)
        argv = [re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], w) for w in argv or [*c.get("command", []), *c.get("args", [])]]
        context = {**self.spec["securityContext"], **c.get("securityContext", {})}
        caps = "".join(f",+{cap.lower()}" for cap in context.get("capabilities", {}).get("add", []))
        root = self.dir / f"root-{name}"
        root.mkdir(exist_ok=True)
        steps = [f"hostname {shlex.quote(self.name)}", f"mount --bind {self.rootfs} {root}", f"mount -o remount,ro,bind {root}"]
        steps += [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev", f"mount --bind {self.dir}/hosts {root}/etc/hosts"]
        for m in c["volumeMounts"]:
            (Path(self.rootfs) / m["mountPath"].lstrip("/")).mkdir(parents=True, exist_ok=True)
            steps.append(f"mount --bind {self.volumes[m['name']]} {root}{m['mountPath']}")
            if m.get("readOnly"):
                steps.append(f"mount -o remount,ro,bind {root}{m['mountPath']}")
        user, group = context.get("runAsUser", 0), context.get("runAsGroup", 0)
        groups = f"--groups={context['fsGroup']}" if "fsGroup" in context else "--clear-groups"
        limits = [f"--reuid={user}", f"--regid={group}", groups, f"--bounding-set=-all{caps}", "--inh-caps=-all", "--no-new-privs"]
        words = ["env", "-i", *(f"{k}={v}" for k, v in env.items()), *argv]
        steps.append("exec chroot " + shlex.join([str(root), "setpriv", *limits, *words]))
        # processes of its own, too: what a container started (a step of a job) ends with it
        return self.net.inside("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-euc", "\n".join(steps))

    def status(self, name):
        """/proc/PID/status of a container's first process."""
        (child,) = Path(f"/proc/{self.running[name].pid}/task/{self.running[name].pid}/children").read_text().split()
        return Path(f"/proc/{child}/status").read_text()

    def start(self, name):
        log = open(self.dir / f"{name}.log", "ab")
        self.running[name] = subprocess.Popen(self.command(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        log.close()

    def run(self, name, *argv):
        return subprocess.run(self.command(name, [*argv]), capture_output=True, text=True, timeout=DEADLINE, check=False)

    def ready(self, name, probe):
        """Waits until a probe's command succeeds in there."""
        argv = self.container(name)[probe]["exec"]["command"]
        end = time.monotonic() + DEADLINE
        while True:
            r = self.run(name, *argv)
            if r.returncode == 0:
                return
            assert self.running[name].poll() is None and time.monotonic() < end, f"{self.name}/{name}: {r.stdout}{r.stderr}\n{self.logs()}"
            time.sleep(0.1)

    def up(self):
        self.start("munged")
        self.ready("munged", "startupProbe")
        for c in self.spec["containers"]:
            self.start(c["name"])
        return self

    def logs(self):
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in sorted(self.dir.glob("*.log")))

    def close(self):
        for process in reversed(self.running.values()):
            stop(process)
