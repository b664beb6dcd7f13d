#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The test of the simulation: each of these deliberately broken schedulers, syncers and operators must be caught by it.

usage: mutate.py [--few] BUILD [NAME]      --few: those that are found soon, for every run of the tests; else all of them

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
SECONDS = 60  # for one of the two runs; about what ./dev/test gives them
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
    ("the job is cancelled when the Pod is deleted, not when it is gone", POLICY, "		if (!pod->meta.deletion && v->bind_unsure)\n			step(d, STEP_BIND, j); /* the same", "		if (pod->meta.deletion || job_has_started(j))\n			step(d, STEP_CANCEL, j);\n		else if (!pod->meta.deletion && v->bind_unsure)\n			step(d, STEP_BIND, j); /* the same"),
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
    ("the later answer wins, whenever it was asked for", "src/scheduler/jobs.c", "		if (j->known_at > r->asked) {\n			passed_over = true;\n			continue;\n", "		if (false) {\n			passed_over = true;\n			continue;\n"),
    ("preempted Pods are left to run", POLICY, "	if (job_is_ending(j) || v->terminate) {\n		if", "	if (job_is_ending(j) || v->terminate) {\n		return;\n		if"),
    ("a suspended job keeps its Pod", POLICY, "	/* Requeued or suspended: Slurm gives the resources away while the Pod uses them. */\n", "	return;\n"),
    ("every ended job deletes its Pod", POLICY, "	if (meant && v->rules->on_cancel == ON_CANCEL_DELETE) {", "	if (true) {"),
    # locks and drains
    ("unlock by news of before the prolog", "src/policy/lock.c", "snapshot_asked > last_call && snapshot_asked > began;", "snapshot_asked > began;"),
    ("a node that a new controller has not heard of yet runs nothing", "src/policy/slurm_conditions.c", "NODEF_COMPLETING || given;", "NODEF_COMPLETING || (given && false);"),
    ("unlock while a job runs", "src/policy/lock.c", "	return !busy && snapshot_asked", "	return snapshot_asked"),
    ("locked by an old view of the Pods", "src/policy/lock.c", "	if (!v->pods_are_fresh)\n		return take(LOCK_REST", "	if (false)\n		return take(LOCK_REST"),
    ("a normal lock is enough for a strict request", "src/policy/lock.c", "	enum lock_state want = level == LEVEL_STRICT ? LOCK_LOCKED_STRICT : LOCK_LOCKED;\n\n	return", "	enum lock_state want = LOCK_LOCKED;\n\n	return"),
    ("locked without a look at who is there", "src/policy/lock.c", "	if (v->n_blockers == 0) {", "	if (true) {"),
    ("locked before every earlier Pod was seen", "src/policy/lock.c", "is_locked(v->node.state) ? v->node.state : LOCK_PENDING;\n\n		return take(LOCK_SHOW", "is_locked(v->node.state) ? v->node.state : v->n_blockers ? LOCK_PENDING : want;\n\n		return take(LOCK_SHOW"),
    ("an upgrade by the Node's word alone, by old views", "src/policy/lock.c", " && is_locked(v->pod.state);", ";"),
    ("a taint taken off by hand is not put back", "src/policy/lock.c", "	if (!v->node.taint || v->node.state_for != v->pod.epoch", "	if (v->node.state_for != v->pod.epoch"),
    ("the taint goes and the Pod still says locked", "src/policy/lock.c", "	if (v->pod_there && v->pod.state != LOCK_FALSE)\n", "	if (false)\n"),
    ("a Pod that outlived its job is not in the way", "src/policy/lock.c", "COND_FALSE ? BLOCK_NO_JOB : BLOCK_NOT;", "COND_FALSE ? BLOCK_NOT : BLOCK_NOT;"),
    ("who tolerates the lock for a while is not waited for", "src/policy/lock.c", " || t->has_seconds)\n", ")\n"),
    ("strays are not in the way", "src/policy/lock.c", "	return BLOCK_STRAY;", "	return BLOCK_NOT;"),
    ("strict is forgotten", "src/syncer/hooks.c", "ask->strict ? LEVEL_STRICT : LEVEL_NORMAL", "ask->strict ? LEVEL_NORMAL : LEVEL_NORMAL"),
    ("a lock of another leadership counts", "src/policy/lock_ask.c", "	if (!v->own_epoch || v->own_epoch != w.epoch)\n		return LEVEL_NONE;\n", ""),
    ("a lock counts while its request is being withdrawn", "src/syncer/effects.c", "		e->own_epoch = 0; /* from now", "		(void)0; /* from now"),
    ("requests are never withdrawn", "src/policy/lock_ask.c", "		d.act = LOCK_ASK_WITHDRAW;", "		d.act = LOCK_ASK_KEEP;"),
    ("the prefix of a drain is not looked at", "src/policy/drain.c", "	if (!str_starts(str_or(n->reason, \"\"), DRAIN_PREFIX))\n		return DRAIN_FOREIGN;\n", ""),
    ("the scheduler's drain is taken for the syncer's", "src/policy/drain.c", "? DRAIN_SCHEDULER : DRAIN_OURS;", "? DRAIN_OURS : DRAIN_OURS;"),
    ("a node is drained blindly, whatever a person did meanwhile", "src/policy/drain.c", "	c->expect = true;\n	c->expect_drained", "	c->expect = false;\n	c->expect_drained"),
    ("drains of ours are never lifted", "src/policy/drain.c", "		d.act = DRAIN_LIFT;", "		d.act = DRAIN_KEEP;"),
    ("a node whose Pod is gone is not drained", "src/policy/drain.c", "	case PRESENCE_GONE:\n", "	case PRESENCE_GONE:\n		return false;\n"),
    ("an undrain without a verification", "src/policy/undrain.c", "|| !verified_since(v->pod, n->reason_set))", "|| (false && !verified_since(v->pod, n->reason_set)))"),
    ("a verification of before the drain lifts it", "src/policy/undrain.c", " && drained && c->changed >= usec_add(drained, USEC_SEC);", ";"),
    # NodeSets
    ("a Pod is given up without its node being idle", "src/policy/nodeset_plan.c", "	if (!drain || is_true(p, CONDITION_RUNNING))\n		return BUSY;\n", "	if (true)\n		return SAFE;\n"),
    ("a Pod is given up although a prolog has asked for its lock", "src/policy/nodeset_plan.c", "	if (note(p, ANNOTATION_LOCK_REQUEST))\n		return BUSY;\n", ""),
    ("a Pod is deleted whatever became of it since it was read", "src/operator/nodesets.c", "	if (s->forced)\n", "	if (true)\n"),
    ("a Pod is deleted by what Slurm said before it was marked", "src/policy/slurm_conditions.c", "	return v->marked && v->node_asked > v->marked;", "	return true;"),
    ("an update takes all at once", "src/policy/nodeset_plan.c", "p->n_rows && away < may; i++)", "p->n_rows; i++)"),
    ("a Pod that is being deleted is locked for", "src/syncer/hooks.c", "	if (!pod || pod->meta.deletion)\n		return !is_to_come(e, slurmd_uid);\n", "	if (!pod)\n		return !is_to_come(e, slurmd_uid);\n"),
    ("what may stay stays marked", "src/policy/nodeset_plan.c", "		else if (r->marked)\n			step(p, NODESET_UNMARK, r);\n", ""),
    ("a node leaves Slurm while its Pod is there", "src/policy/cleanup.c", " || v->pod || !v->ours", " || !v->ours"),
    ("a cordon is not told", "src/policy/mirror.c", "	if (node->unschedulable)\n", "	if (false)\n"),
]


# Found within some dozens of seeds each: the test of the simulation that is part of all tests.
FEW_SEEDS = 400
SOON = {
    "submit without having seen all jobs",
    "bind before the script has started",
    "the job is cancelled when the Pod is deleted, not when it is gone",
    "a Pod whose job is lost is left alone",
    "any drain is lifted",
    "a placeholder is told to go while its Pod is there",
    "a new leader trusts its old stores",
    "the later answer wins, whenever it was asked for",
    "preempted Pods are left to run",
    "unlock by news of before the prolog",
    "unlock while a job runs",
    "locked without a look at who is there",
    "the prefix of a drain is not looked at",
    "drains of ours are never lifted",
}


# Not caught yet, and told as that. Each is a thing that the simulation does not prove.
OPEN = {
    "an upgrade by the Node's word alone, by old views": "it takes an old leader and an old view at once; seed 955 once did",
    "a node whose Pod is gone is not drained": "the model makes NodeSet Pods again within seconds, and misses slurmd within minutes: nobody has to drain",
}


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


ALONE = (["--alone"], ["--alone", "--faults", "all"])
WHOLE = ([], ["--faults", "all"])


# Where a few faults together say more than many.
FEW = {
    "a cancel goes to whoever has the number": "ctld-amnesia,slurm-slow",
    "a late `started` of an earlier run counts": "requeue,hook",
    "an upgrade by the Node's word alone, by old views": "late,partition,crash,watch-slow,kube-slow,cancel",
    "a node whose Pod is gone is not drained": "nodeset,cordon",
    "a cordon is not told": "cordon",
}


def runs_for(mutation):
    """In which worlds it must be caught: the scheduler's in one of its own, which is faster."""
    ours = ("src/scheduler/", "src/policy/hold.c", POLICY)
    runs = ALONE if mutation[1].startswith(ours) else WHOLE
    return (([*runs[0], "--faults", FEW[mutation[0]]],) if mutation[0] in FEW else ()) + runs


def first_broken(program, args, seed, seeds, until):
    """(seed, what was said) of the first one that breaks from `seed` on, or None."""
    r = subprocess.run([program, *args, "--seed", str(seed), "--seeds", str(seeds), "--seconds", str(max(1, int(until - time.monotonic())))], capture_output=True, text=True)
    found = re.search(r"^seed (\d+) broke after .*$", r.stdout, re.M)
    if found:
        return int(found[1]), found[0]
    if r.returncode:
        raise ValueError(f"ended with {r.returncode} and named no seed")
    return None


def caught(program, unbroken, runs, seeds):
    """What the simulation says to it, and None when it finds nothing that it does not find without the mutation."""
    for args in runs:
        seed, until = 1, time.monotonic() + SECONDS
        while seed <= seeds and time.monotonic() < until:
            found = first_broken(program, args, seed, seeds + 1 - seed, until)
            if not found:
                break
            if not first_broken(unbroken, args, found[0], 1, until + SECONDS):
                return found[1]
            print(f"    (seed {found[0]} of {' '.join(args) or 'random faults'} breaks without any mutation)")
            seed = found[0] + 1
    return None


def main():
    words = [w for w in sys.argv[1:] if w != "--few"]
    few = len(words) < len(sys.argv) - 1
    build, only = Path(words[0]).resolve(), words[1] if len(words) > 1 else ""
    chosen = [m for m in MUTATIONS if only in m[0] and (not few or m[0] in SOON)]
    compiles, link = commands(build)
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        for number, mutation in enumerate(chosen):
            start = time.monotonic()
            try:
                program = make(build, Path(work), number, mutation, compiles, link)
                said = caught(program, build / "tests/sim/sunk-sim", runs_for(mutation), FEW_SEEDS if few else SEEDS)
                reason = "nothing was found"
            except (ValueError, subprocess.CalledProcessError) as e:
                said, reason = None, str(e)
            gap = OPEN.get(mutation[0]) if said is None and reason == "nothing was found" else None
            bad += said is None and not gap
            name = re.sub(r"\W+", "_", mutation[0])
            print(f"[{'       OK' if said else '  SKIPPED' if gap else '  FAILED'} ] {name}")
            print(f"    {said or gap or reason} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(chosen)} mutations, {bad} not caught")
    return 1 if bad or not chosen or (few and len(chosen) != len(SOON)) else 0


if __name__ == "__main__":
    sys.exit(main())
