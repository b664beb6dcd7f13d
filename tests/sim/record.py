#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records what a real Slurm does with the scripts in tests/sim/traces, for the model to be held against.

usage: record.py [TRACE...]        inside dev/root, from the top of the tree; without names all of them

A trace is a file of lines: "> …" is the script, "#" a remark, all others are the record: what the script's jobs and the one node
said of themselves, each time it was something else. The record is written anew; the rest stays. `sunk-sim --play TRACE...` plays the same
scripts on the model and compares (play.c, which also says what is not compared). Prolog and epilog take 0.7 s, so that nothing between
them goes unseen.

  submit NAME [run=S] [exit=N] [limit=MINUTES] [partition=P] [stubborn] [requeue] [hold]
  cancel, requeue, suspend, resume NAME         drain REASON, undrain          prolog fails, prolog works
  slurmd ends, slurmd runs                      controller restarts, controller forgets
  until NAME STATE [REASON]                     also "node" for NAME; STATE "gone": Slurm does not know the job any more
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEADLINE_S = 240  # a time limit and MinJobAge take their time
SHOWN = {"COMPLETING", "DRAIN"}  # of flags beside the state
PROLOG = "#!/bin/sh\nsleep 0.7\ntest ! -e {flag}\n"


class Cluster:
    """One node with one CPU."""

    def __init__(self, top):
        self.dir, self.flag = top / "c", top / "prolog-fails"
        scripts = {}
        for name in ("prolog", "epilog"):
            scripts[name] = top / name
            scripts[name].write_text(PROLOG.format(flag=self.flag if name == "prolog" else "/nonexistent"))
            scripts[name].chmod(0o755)
        top.chmod(0o755)
        subprocess.run(["dev/slurm", "start", self.dir, "--nodes", "1", "--cpus", "1", "--kill-wait", "3", "--conf", "SlurmdTimeout=10", "--conf", "MinJobAge=20", "--prolog", scripts["prolog"], "--epilog", scripts["epilog"]], check=True, stdout=subprocess.DEVNULL)
        env = subprocess.run(["dev/slurm", "env", self.dir], check=True, capture_output=True, text=True).stdout
        self.env = dict(os.environ, **dict(re.findall(r"^export (\w+)='?([^'\n;]*)'?", env, re.M)))

    def run(self, *words):
        return subprocess.run(words, env=self.env, cwd="/tmp", check=True, capture_output=True, text=True).stdout

    def part(self, verb, part):
        subprocess.run(["dev/slurm", verb, self.dir, part], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        subprocess.run(["dev/slurm", "stop", self.dir], check=True, stdout=subprocess.DEVNULL)


def words_of(states, flags):
    """"CANCELLED+COMPLETING" from a list of states, the first of which is the state itself."""
    names = [states[0]] + sorted(s for s in states[1:] if s in flags)
    return "+".join(names)


class Player:
    """Plays one script and writes down what it sees."""

    def __init__(self, cluster):
        self.c, self.jobs, self.now, self.record = cluster, {}, {}, []

    def note(self, who, says):
        if self.now.get(who) != says:
            self.now[who] = says
            self.record.append(f"{who} {says}")

    def look(self):
        jobs = {j["job_id"]: j for j in json.loads(self.c.run("scontrol", "--json", "show", "jobs"))["jobs"]}
        for name, number in self.jobs.items():
            job = jobs.get(number)
            if job:
                self.note(name, f"{words_of(job['job_state'], SHOWN)} reason={job['state_reason']} node={job['nodes'] or '-'} restarts={job['restart_cnt']}")
            else:
                self.note(name, "gone")
        node = json.loads(self.c.run("scontrol", "--json", "show", "node", "n1"))["nodes"][0]
        state = words_of([s for s in node["state"] if s not in ("PLANNED", "DYNAMIC_NORM")], SHOWN)
        self.note("node", f"{state} cpus={node['alloc_cpus']} reason={node['reason'] or '-'}")

    def is_so(self, who, state, reason):
        """RUNNING means that the prolog is over."""
        words = self.now.get(who, "").split()
        said = words[1].removeprefix("reason=") if len(words) > 1 else ""
        return words[:1] == [state] and (said == reason if reason else who == "node" or (state, said) != ("RUNNING", "Prolog"))

    def until(self, who, state, reason=None):
        end = time.monotonic() + DEADLINE_S
        while not self.is_so(who, state, reason):
            if time.monotonic() > end:
                raise TimeoutError(f"{who} is {self.now.get(who)}, not {state}; so far: {self.record}")
            self.look()

    def submit(self, name, options):
        given = dict(o.partition("=")[::2] for o in options)
        script = f"sleep {given.get('run', '1')}; exit {given.get('exit', '0')}"
        if "stubborn" in given:
            script = f"trap '' TERM; i=0; while [ $i -lt {given['run']} ]; do sleep 1; i=$((i+1)); done"
        flags = [f"--{flag}={given[word]}" for word, flag in (("limit", "time"), ("partition", "partition")) if word in given] + ["--hold"] * ("hold" in given)
        out = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "--requeue" if "requeue" in given else "--no-requeue", *flags, "--wrap", script)
        self.jobs[name] = int(out)

    def step(self, line):
        verb, *rest = line.split()
        if verb == "submit":
            self.submit(rest[0], rest[1:])
        elif verb == "until":
            self.until(*rest)
        elif verb == "cancel":
            self.c.run("scancel", str(self.jobs[rest[0]]))
        elif verb in ("suspend", "resume", "requeue"):
            self.c.run("scontrol", verb, str(self.jobs[rest[0]]))
        elif verb == "drain":
            self.c.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=" + " ".join(rest))
        elif verb == "undrain":
            self.c.run("scontrol", "update", "NodeName=n1", "State=UNDRAIN")
        elif verb == "slurmd":
            self.c.part("end" if rest == ["ends"] else "run", "n1")
        elif verb == "controller":
            self.c.part("end", "slurmctld")
            if rest == ["forgets"]:
                shutil.rmtree(self.c.dir / "state")
                (self.c.dir / "state").mkdir()
                self.jobs.clear()  # their numbers are given again
            self.c.part("run", "slurmctld")
        elif verb == "prolog" and rest == ["fails"]:
            self.c.flag.touch()
        elif verb == "prolog":
            self.c.flag.unlink()
        else:
            raise ValueError(f"what is {line!r}?")
        self.look()


def record(cluster, path):
    """The file with a new record."""
    kept = [l for l in path.read_text().splitlines() if l.startswith((">", "#")) and not l.startswith("# Slurm ")]
    player = Player(cluster)
    player.until("node", "IDLE")
    player.record.clear()
    player.now.clear()
    player.look()
    for line in kept:
        if line.startswith(">"):
            player.step(line[1:].strip())
    version = cluster.run("scontrol", "--version").split()[-1].partition("-")[0]
    path.write_text("\n".join(kept + [f"# Slurm {version} said:"] + player.record) + "\n")
    print(f"{path.name}: {len(player.record)} lines", flush=True)


def main():
    paths = [Path(p) for p in sys.argv[1:]] or sorted((HERE / "traces").glob("*.txt"))
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        cluster = Cluster(Path(top))
        try:
            for path in paths:
                record(cluster, path)
        finally:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
