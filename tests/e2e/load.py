# SPDX-License-Identifier: GPL-2.0-or-later
"""Load for a cluster: Pods and jobs that come, end, are deleted and cancelled at random, from a thread of its own.

A side that is away only makes it wait. It writes down what it did to each Pod, so that one can say afterwards which must have
succeeded: those that nobody deleted or cancelled.
"""

import os
import random
import threading
import time

from checker import nothing_lost
from world import Pod, manifest

PODS_AT_ONCE = 6
JOBS_AT_ONCE = 3
SPARED = ("0", "3", "6", "9")  # Pods whose names end so are let live
SEED = int(os.environ.get("SUNK_SEED", random.randrange(1 << 30)))
PARTS = ("scheduler", "syncer", "operator")
FOREIGN = {"n4": "broken fan: leave it alone"}  # drained by somebody else, all the time

# for dev/up: who is killed is soon replaced
LEASE = "--lease-duration=2s --renew-deadline=1500ms --retry-period=300ms"
OPTIONS = ("--parts", ",".join(PARTS), "--cpus", "16", "--conf", "MinJobAge=300", "--conf", "MessageTimeout=10", "--scheduler-flags", LEASE)


class Load:
    def __init__(self, space, seed):
        self.space, self.world, self.random = space, space.world, random.Random(seed)
        self.pods, self.harmed, self.jobs = [], set(), []
        self.excuses = ()
        self.n = 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ending.wait(self.random.uniform(0.02, 0.3)):
            try:
                self._step()
            except (AssertionError, OSError, ValueError):  # a side is away: later
                time.sleep(0.1)

    def _live(self):
        r = self.world.call("GET", f"/api/v1/namespaces/{self.space.ns}/pods", timeout=5)
        assert r.status == 200, r.text
        return {p["metadata"]["uid"]: p for p in r.json["items"] if p["status"].get("phase") in ("Pending", "Running")}

    def _step(self):
        dice = self.random.random()
        live = self._live()
        if dice < 0.55:
            if len(live) < PODS_AT_ONCE:
                self._pod()
            return
        if dice < 0.75 and len(self._queue()) < JOBS_AT_ONCE:
            script = f"sleep {self.random.uniform(0, 2):.2f}"
            options = self.random.choice((("-n", "1"), ("-n", "4"), ("-N", "2"), ("--exclusive",)))
            self.jobs.append(self.space.sbatch(script, "--mem", "64", "-J", "load", *options))
            return
        live = {u: p for u, p in live.items() if not p["metadata"]["name"].endswith(SPARED)}
        if not live:
            return
        if dice < 0.85:
            uid = self.random.choice(sorted(live))
            self.harmed.add(uid)
            name = live[uid]["metadata"]["name"]
            self.world.call("DELETE", f"/api/v1/namespaces/{self.space.ns}/pods/{name}", timeout=5)
        elif dice < 0.92:
            uid = self.random.choice(sorted(live))
            pod = next((p for p in self.pods if p.uid == uid), None)
            job_id = pod and pod.job_id()
            if job_id:
                self.harmed.add(uid)
                self.world.run("scancel", job_id, ok=None)

    def _queue(self):
        return self.world.run("squeue", "-h", "-n", "load", "-o", "%i", timeout=15).split()

    def _pod(self):
        self.n += 1
        script = self.random.choice(("exit 0", "sleep 0.5", "sleep 1", "sleep 3"))
        cpu = self.random.choice(("1", "2", "8"))
        r = self.world.call(
            "POST", f"/api/v1/namespaces/{self.space.ns}/pods",
            manifest(self.world, self.space.ns, f"load-{self.n}", script, cpu=cpu), timeout=10,
        )  # fmt: skip
        if r.status == 201:
            self.pods.append(Pod(self.world, r.json))

    def stop(self):
        self.ending.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    def excuse(self, *reasons):
        """Pods that have such an event need not have succeeded."""
        self.excuses = reasons

    def unharmed(self):
        harmed = set(self.harmed)
        if self.excuses:
            r = self.world.call("GET", f"/api/v1/namespaces/{self.space.ns}/events")
            harmed |= {e["involvedObject"].get("uid") for e in r.json["items"] if e["reason"] in self.excuses}
        return [p for p in self.pods if p.uid not in harmed]

    def all_succeed(self, deadline=120):
        """What nobody deleted or cancelled has done its work."""
        def succeeded():
            r = self.world.call("GET", f"/api/v1/namespaces/{self.space.ns}/pods")
            phases = {p["metadata"]["uid"]: p["status"].get("phase") for p in r.json["items"]}
            missing = [f"{p.name} {phases.get(p.uid)}" for p in self.unharmed() if phases.get(p.uid) != "Succeeded"]
            assert not missing, f"did not: {missing}"
            return True

        assert self.unharmed(), "there was no load"
        self.world.until("Pods that nobody harmed succeed", succeeded, deadline)


def grows(load, by=4, deadline=60):
    """The load goes on: so many Pods more are there."""
    had = len(load.pods)
    load.world.until("the load goes on", lambda: len(load.pods) >= had + by, deadline)


def settle(world, load):
    load.stop()
    load.all_succeed()
    nothing_lost(world, FOREIGN)
