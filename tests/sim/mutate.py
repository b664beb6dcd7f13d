#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The test of the simulation: each of these deliberately broken schedulers must be caught by it.

usage: mutate.py BUILD [NAME]

A mutation is one replacement in one source file. The file is compiled as the build does, beside it, and linked before the
libraries into a sunk-sim of its own. A text that is not there exactly once is an error: the list must follow the code.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEEDS = 3000
SECONDS = 20  # for one of the two runs
POLICY = "src/policy/placeholder.c"

# name, file, what is there, what is put there instead
MUTATIONS = [
    ("submit without having seen all jobs", POLICY, "	if (!v->jobs_known) {\n		step(d, STEP_LIST_JOBS, NULL);\n		return;\n	}\n	if (ended", "	if (ended"),
    ("a lost answer to a submission means that nothing happened", "src/scheduler/effects.c", "		if (r->maybe_done) {\n			e->doubt_since", "		if (false) {\n			e->doubt_since"),
    ("bind before the script has started", POLICY, "	if (!job_has_started(j)) {\n		unscheduled", "	if (false) {\n		unscheduled"),
    ("a mark of an earlier run counts", POLICY, "	       ((j->mark == EXTRA_STARTED && j->mark_restarts == j->restarts) ||\n", "	       (j->mark == EXTRA_STARTED ||\n"),
    ("a late `started` of an earlier run counts", "src/scheduler/hooks.c", "		if (j->p.state == JOB_RUNNING && ask->run == j->p.restarts)\n			j->p.hook_restarts = ask->run;", "		if (j->p.state == JOB_RUNNING)\n			j->p.hook_restarts = j->p.restarts;"),
    ("what we give up is marked where scripts write", "src/scheduler/jobs.c", "	j->p.released |= str_eq(job->admin_comment, RELEASED_MARK);", "	j->p.released |= str_eq(job->admin_comment, RELEASED_MARK) && id.mark == EXTRA_PLAIN;"),
    ("a job that was resumed leaves its Pod lost", POLICY, "		d->live = !pod->meta.deletion;\n", ""),
    ("jobs of Pods that are gone stay", POLICY, "		if (v->now >= due) {\n			step(d, STEP_CANCEL, j);\n			return;\n		}\n		d->again = MIN_OF(d->again, due);\n	}\n}\n\n/* The Pod has finished", "		d->again = MIN_OF(d->again, due);\n	}\n}\n\n/* The Pod has finished"),
    ("the job is cancelled when the Pod is deleted, not when it is gone", POLICY, "	if (j->state == JOB_RUNNING) {\n		if (!pod->meta.deletion && v->bind_unsure)", "	if (j->state == JOB_RUNNING) {\n		if (pod->meta.deletion || job_has_started(j))\n			step(d, STEP_CANCEL, j);\n		else if (!pod->meta.deletion && v->bind_unsure)"),
    ("a Pod whose job is lost is left alone", POLICY, "		d->lost = true;\n		if (j)\n			tell_end", "		if (true)\n			return;\n		if (j)\n			tell_end"),
    ("a lost Pod does not hold its node", "src/scheduler/places.c", "	if (d->lost && on && !e->hold_node) {", "	if (false && d->lost && on) {"),
    ("any drain is lifted", "src/policy/hold.c", "	return drained && str_eq(node->reason, our_reason) ? HOLD_LIFT", "	return drained ? HOLD_LIFT"),
    ("a drain is set over another one", "src/policy/hold.c", "		return drained ? HOLD_LEAVE : HOLD_DRAIN;", "		return HOLD_DRAIN;"),
    ("a drain is written blindly, whatever came in between", "src/scheduler/places.c", ".expect = true,", ".expect = false,"),
    ("our drain is never lifted", "src/policy/hold.c", "? HOLD_LIFT : HOLD_LEAVE", "? HOLD_LEAVE : HOLD_LEAVE"),
    ("what we end ourselves is not marked", POLICY, "	if (j->released)\n		return false; /* we did that ourselves */\n", ""),
    ("a placeholder is told to go while its Pod is there", "src/scheduler/hooks.c", "	bool unbound = pod && !pod->node_name;", "	bool unbound = pod != NULL;"),
    ("a binding that the watch does not show yet is none", "src/scheduler/scheduler.c", "	pod = as_bound(e, pod, &copy);\n", "	(void)as_bound;\n	(void)copy;\n"),
    ("a new leader trusts its old stores", "src/scheduler/scheduler.c", "		s->o.kube->ops->refresh(s->o.kube);\n", "		(void)0;\n"),
    ("a cancel goes to whoever has the number", "src/scheduler/effects.c", "	else if (!same)\n		end(x, 0);\n", ""),
    ("the later answer wins, whenever it was asked for", "src/scheduler/jobs.c", "		if (j->known_at > r->asked)\n			continue;\n", ""),
    ("preempted Pods are left to run", POLICY, "	if (job_is_ending(j) || v->terminate) {\n		if", "	if (job_is_ending(j) || v->terminate) {\n		return;\n		if"),
    ("a suspended job keeps its Pod", POLICY, "	/* Requeued or suspended: Slurm gives the resources away while the Pod uses them. */\n", "	return;\n"),
    ("every ended job deletes its Pod", POLICY, "	if (meant && v->rules->on_cancel == ON_CANCEL_DELETE) {", "	if (true) {"),
]


# Not caught within the budget, and known to be so. Not good: each is a thing the simulation does not prove.
OPEN = {}


def commands(build):
    """(compile command by source file, link command) of sunk-sim."""
    out = subprocess.run(["ninja", "-C", build, "-t", "commands", "tests/sim/sunk-sim"], check=True, capture_output=True, text=True)
    compiles, link = {}, None
    for line in out.stdout.splitlines():
        source = re.search(r" -c (\S+\.c)$", line)
        if source:
            compiles[source[1].removeprefix("../")] = shlex.split(line)
        elif " -o tests/sim/sunk-sim " in line:
            link = shlex.split(line)
    return compiles, link


def redirected(words, flag, value):
    at = words.index(flag)
    return words[: at + 1] + [value] + words[at + 2 :]


def make(build, work, number, mutation, compiles, link):
    """The broken program."""
    _, path, old, new = mutation
    text = Path(path).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"what it replaces is {text.count(old)} times in {path}")
    source, thing, program = (work / f"{number}{end}" for end in (".c", ".o", ""))
    source.write_text(text.replace(old, new), encoding="utf-8")
    compile_it = [w for w in redirected(compiles[path], "-o", str(thing))[:-1] if w != "-Werror"]
    for flag in ("-MF", "-MQ"):
        compile_it = redirected(compile_it, flag, str(thing) + ".d")
    subprocess.run(compile_it + [str(source), "-w"], cwd=build, check=True)
    link_it = redirected(link, "-o", str(program))
    link_it.insert(link_it.index(str(program)) + 1, str(thing))
    subprocess.run(link_it, cwd=build, check=True)
    return program


RUNS = ([], ["--faults", "all"])


def first_broken(program, args, seed, until):
    """(seed, what was said) of the first one that breaks from `seed` on, or None."""
    r = subprocess.run([program, *args, "--seed", str(seed), "--seeds", str(SEEDS + 1 - seed), "--seconds", str(max(1, int(until - time.monotonic())))], capture_output=True, text=True)
    found = re.search(r"^seed (\d+) broke after .*$", r.stdout, re.M)
    if found:
        return int(found[1]), found[0]
    if r.returncode:
        raise ValueError(f"ended with {r.returncode} and named no seed")
    return None


def broken_anyway(program):
    """For each run the seeds that break without any mutation: they say nothing about one."""
    known = []
    for args in RUNS:
        r = subprocess.run([program, *args, "--seeds", str(SEEDS), "--all"], capture_output=True, text=True)
        known.append({int(n) for n in re.findall(r"^seed (\d+) broke", r.stdout, re.M)})
    return known


def caught(program, known):
    """What the simulation says to it, and None when it finds nothing that it does not find anyway."""
    for args, anyway in zip(RUNS, known):
        seed, until = 1, time.monotonic() + SECONDS
        while seed <= SEEDS and time.monotonic() < until:
            found = first_broken(program, args, seed, until)
            if not found:
                break
            if found[0] not in anyway:
                return found[1]
            seed = found[0] + 1
    return None


def main():
    build = Path(sys.argv[1]).resolve()
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    compiles, link = commands(build)
    bad = n = 0
    known = broken_anyway(build / "tests/sim/sunk-sim")
    for args, seeds in zip(RUNS, known):
        print(f"without any mutation, {' '.join(args) or 'random faults'}: {len(seeds)} of {SEEDS} seeds break {sorted(seeds) or ''}")
    with tempfile.TemporaryDirectory() as work:
        for number, mutation in enumerate(MUTATIONS):
            if only not in mutation[0]:
                continue
            n += 1
            start = time.monotonic()
            try:
                said = caught(make(build, Path(work), number, mutation, compiles, link), known)
            except (ValueError, subprocess.CalledProcessError) as e:
                said, reason = None, str(e)
            else:
                reason = "nothing was found"
            known_gap = OPEN.get(mutation[0]) if said is None and reason == "nothing was found" else None
            bad += said is None and not known_gap
            name = re.sub(r"\W+", "_", mutation[0])
            print(f"[{'       OK' if said else '  SKIPPED' if known_gap else '  FAILED'} ] {name}")
            print(f"    {said or known_gap or reason} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{n} mutations, {bad} not caught")
    return 1 if bad or not n else 0


if __name__ == "__main__":
    sys.exit(main())
