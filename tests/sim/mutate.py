#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The test of the simulation: each of these deliberately broken schedulers, syncers and operators must be caught by it.

usage: mutate.py [--record | --quick] BUILD [NAME]
  --record: write down which seeds found them
  --quick: look for what those seeds do not find any more with a few others only; most must be caught all the same. For every run of the tests

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
SECONDS = 60  # for one of the runs; about what ./dev/test gives them. Ten times that for --record, wherever that runs
QUICK_SEEDS = 60
QUICK_LEAST = 40  # of some sixty
POLICY = "src/policy/placeholder.c"

# name; file, what is there, what is put there instead; and so on, where one thing is held twice and only both together break it
MUTATIONS = [
    ("submit without having seen all jobs", POLICY, "	if (!v->jobs_known) {\n		step(d, STEP_LIST_JOBS, NULL);\n		return;\n	}\n	if (ended", "	if (ended"),
    ("a lost answer to a submission means that nothing happened", "src/scheduler/effects.c", "		if (r->maybe_done) {\n			e->doubt_since", "		if (false) {\n			e->doubt_since"),
    ("bind before the script has started", POLICY, "	if (!job_has_started(j)) {\n		unscheduled", "	if (false) {\n		unscheduled"),
    ("a mark of an earlier run counts", POLICY, "	       ((j->mark == EXTRA_STARTED && j->mark_restarts == j->restarts) ||\n", "	       (j->mark == EXTRA_STARTED ||\n"),
    ("a late `started` of an earlier run counts", "src/scheduler/hooks.c", "	if (j->p.state == JOB_RUNNING && ask->run == j->p.restarts)\n		j->p.hook_restarts = ask->run;", "	if (j->p.state == JOB_RUNNING)\n		j->p.hook_restarts = j->p.restarts;"),
    ("what we give up is marked where scripts write", "src/scheduler/jobs.c", "	j->p.released |= claim.released;", "	j->p.released |= claim.released && claim.id.mark == EXTRA_PLAIN;"),
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
    ("a binding that the watch does not show yet is none", "src/scheduler/scheduler.c", "	pod = as_bound(s, e, pod, &copy);\n", "	(void)as_bound;\n	(void)copy;\n"),
    ("a new leader trusts its old stores", "src/scheduler/scheduler.c", "		s->o.kube->ops->refresh(s->o.kube);\n", "		(void)0;\n"),
    ("a cancel goes to whoever has the number", "src/scheduler/effects.c", "	else if (!same)\n		end(x, 0);\n", ""),
    ("the later answer wins, whenever it was asked for", "src/scheduler/jobs.c", "		if (j->known_at > r->asked) {\n			passed_over = true;\n			continue;\n", "		if (false) {\n			passed_over = true;\n			continue;\n"),
    ("preempted Pods are left to run", POLICY, "	if (job_is_ending(j) || v->terminate) {\n		if", "	if (job_is_ending(j) || v->terminate) {\n		return;\n		if"),
    ("a suspended job keeps its Pod", POLICY, "	/* Requeued or suspended: Slurm gives the resources away while the Pod uses them. */\n", "	return;\n"),
    ("every ended job deletes its Pod", POLICY, "	if (meant && v->rules->on_cancel == ON_CANCEL_DELETE) {", "	if (true) {"),
    # volumes
    ("nobody looks again when the volumes are known", "src/scheduler/volumes.c", "		s->volumes_awaited = true;\n", ""),
    ("a claim gets a second volume while the watch is slow", "src/scheduler/volumes.c", "	if (!g || !str_eq(g->version, v->meta.resource_version))\n		return v;\n", "	if (true)\n		return v;\n"),
    ("a volume is given by an old view of it", "src/scheduler/effects.c", "	                                          .name = is->meta.name,\n	                                          .uid = is->meta.uid,\n	                                          .resource_version = is->meta.resource_version }));", "	                                          .name = is->meta.name,\n	                                          .uid = is->meta.uid }));"),
    ("a Pod is bound before its claims are", "src/scheduler/places.c", "	if (misfit == FIT_OK && pod->n_volumes && !volumes_are_ready(e, pod, volumes, &place, j->p.id, now))\n		return;\n", "	(void)volumes_are_ready;\n"),
    # locks and drains
    ("unlock by news of before the prolog", "src/policy/lock.c", "snapshot_asked > last_call && snapshot_asked > began;", "snapshot_asked > began;"),
    ("a node that a new controller has not heard of yet runs nothing", "src/policy/slurm_conditions.c", "NODEF_COMPLETING || given;", "NODEF_COMPLETING || (given && false);"),
    ("unlock while a job runs", "src/policy/lock.c", "	return !busy && snapshot_asked", "	return snapshot_asked"),
    # (the operator does nothing before it has listed the Pods, and the decision says so once more: either is enough)
    ("locks are decided before the Pods are known", "src/policy/lock.c", "	if (!v->pods_are_fresh)\n		return take(LOCK_REST", "	if (false)\n		return take(LOCK_REST",
     "src/operator/operator.c", "	if (!store_synced(op->pods) || !store_synced(op->nodes))\n		return usec_add", "	if (!store_synced(op->nodes))\n		return usec_add"),
    ("a normal lock is enough for a strict request", "src/policy/lock.c", "	enum lock_state want = level == LEVEL_STRICT ? LOCK_LOCKED_STRICT : LOCK_LOCKED;\n\n	return", "	enum lock_state want = LOCK_LOCKED;\n\n	return"),
    ("locked without a look at who is there", "src/policy/lock.c", "	if (v->n_blockers == 0) {", "	if (true) {"),
    ("locked before every earlier Pod was seen", "src/policy/lock.c", "is_locked(v->node.state) ? v->node.state : LOCK_PENDING;\n\n		return take(LOCK_SHOW", "is_locked(v->node.state) ? v->node.state : v->n_blockers ? LOCK_PENDING : want;\n\n		return take(LOCK_SHOW"),
    # What the Node says of its lock (lock.c: "upgrade") could only be wrong by this; with it, that the Pod has to say the same is one of the rows of
    # policy/test_lock.c, and nothing that can be seen here.
    ("an operator that leads again trusts its old stores", "src/operator/operator.c", "		op->o.kube->ops->refresh(op->o.kube);\n", "		(void)0;\n"),
    ("a taint taken off by hand is not put back", "src/policy/lock.c", "	if (!v->node.taint || v->node.state_for != v->pod.epoch", "	if (v->node.state_for != v->pod.epoch"),
    ("the taint goes and the Pod still says locked", "src/policy/lock.c", "	if (v->pod_there && v->pod.state != LOCK_FALSE)\n", "	if (false)\n"),
    ("a Pod that outlived its job is not in the way", "src/policy/lock.c", "COND_FALSE ? BLOCK_NO_JOB : BLOCK_NOT;", "COND_FALSE ? BLOCK_NOT : BLOCK_NOT;"),
    ("who tolerates the lock for a while is not waited for", "src/policy/lock.c", " || (t->has_seconds && !for_a_while))\n", ")\n"),
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
    ("a Pod is given up whatever runs there", "src/policy/nodeset_plan.c", "	if (note(p, ANNOTATION_LOCK_REQUEST))\n		return BUSY;\n", "	if (true)\n		return SAFE;\n"),
    ("an update takes all at once", "src/policy/nodeset_plan.c", "p->n_rows && away < may; i++)", "p->n_rows; i++)"),
    ("what may stay stays marked", "src/policy/nodeset_plan.c", "		else if (r->marked)\n			step(p, NODESET_UNMARK, r);\n", ""),
    ("a node leaves Slurm by what watches show", "src/policy/cleanup.c", "	else if (v->no_pod <= d.missing || v->now > usec_add(v->no_pod, CLEANUP_JUST_NOW))\n		d.ask_pod = true;\n", ""),
    ("a cordon is not told", "src/policy/mirror.c", "	if (node->unschedulable)\n", "	if (false)\n"),
]


# Which seed found it last, and in which world: tried first, so that all of them fit into every run of the tests. When the code or the simulation changes it may
# find nothing any more: then it is looked for as if there were none.
KILLERS = Path(__file__).with_name("killers.txt")


def killers():
    """{name: (seed, flags)}"""
    found = {}
    for line in KILLERS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, seed, flags = line.split(" | ")
            found[name] = int(seed), flags.split()
    return found


def write_killers(found):
    head = [line for line in KILLERS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [f"{name} | {seed} | {' '.join(flags)}".rstrip() for name, (seed, flags) in found.items()]
    KILLERS.write_text("\n".join(head + rows) + "\n", encoding="utf-8")


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
    texts = {}
    for path, old, new in zip(mutation[1::3], mutation[2::3], mutation[3::3], strict=True):
        text = texts.get(path) or Path(path).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"what it replaces is {text.count(old)} times in {path}")
        texts[path] = text.replace(old, new)
    program = work / str(number)
    link_it = redirected(link, "-o", str(program))
    for path, text in texts.items():
        source, thing = (work / f"{number}-{Path(path).stem}{end}" for end in (".c", ".o"))
        source.write_text(text, encoding="utf-8")
        compile_it = [w for w in redirected(compiles[path], "-o", str(thing))[:-1] if w != "-Werror" and not w.startswith("-O") and w != "-g"]
        for flag in ("-MF", "-MQ"):
            compile_it = redirected(compile_it, flag, str(thing) + ".d")
        subprocess.run(compile_it + [str(source), "-w"], cwd=build, check=True)
        link_it.insert(link_it.index(str(program)) + 1, str(thing))
    subprocess.run(link_it, cwd=build, check=True)
    return program


ALONE = (["--alone", "--faults", "random"], ["--alone", "--faults", "all"])
WHOLE = (["--faults", "random"], ["--faults", "all"])


# Where a few faults together say more than many.
FEW = {
    "a cancel goes to whoever has the number": "--alone --faults ctld-amnesia,slurm-slow",
    "a late `started` of an earlier run counts": "--alone --faults requeue,hook",
    "a job that was resumed leaves its Pod lost": "--alone --faults suspend,kube-fail,watch-slow",
    "an operator that leads again trusts its old stores": "--faults partition,watch-slow,cancel",
    "a node whose Pod is gone is not drained": "--faults nodeset,force,cordon",
    "a cordon is not told": "--faults cordon",
    "a Pod is given up whatever runs there": "--faults nodeset",
    "an update takes all at once": "--faults nodeset",
    "what may stay stays marked": "--faults nodeset",
    "a node leaves Slurm by what watches show": "--faults nodeset,watch-slow,watch-drop",
    "nobody looks again when the volumes are known": "--alone --faults volumes,partition",
    "a claim gets a second volume while the watch is slow": "--alone --faults volumes,watch-slow",
    "a volume is given by an old view of it": "--alone --faults volumes,watch-slow",
    "a Pod is bound before its claims are": "--alone --faults volumes",
}


def runs_for(mutation):
    """In which worlds it must be caught: the scheduler's in one of its own, which is faster."""
    ours = ("src/scheduler/", "src/policy/hold.c", POLICY)
    runs = ALONE if mutation[1].startswith(ours) else WHOLE
    return ((FEW[mutation[0]].split(),) if mutation[0] in FEW else ()) + runs


def first_broken(program, args, seed, seeds, until):
    """(seed, what was said) of the first one that breaks from `seed` on, or None."""
    r = subprocess.run([program, *args, "--seed", str(seed), "--seeds", str(seeds), "--seconds", str(max(1, int(until - time.monotonic())))], capture_output=True, text=True)
    found = re.search(r"^seed (\d+) broke after .*$", r.stdout, re.M)
    if found:
        return int(found[1]), found[0]
    if r.returncode:
        raise ValueError(f"ended with {r.returncode} and named no seed")
    return None


def caught(program, unbroken, runs, seeds, seconds):
    """(seed, flags, what the simulation says to it), and None when it finds nothing that it does not find without the mutation."""
    for args in runs:
        seed, until = 1, time.monotonic() + seconds
        while seed <= seeds and time.monotonic() < until:
            found = first_broken(program, args, seed, seeds + 1 - seed, until)
            if not found:
                break
            if not first_broken(unbroken, args, found[0], 1, until + seconds):
                return found[0], args, found[1]
            print(f"    (seed {found[0]} of {' '.join(args)} breaks without any mutation)")
            seed = found[0] + 1
    return None


def caught_again(program, unbroken, killer):
    """The same by the seed that found it last."""
    if not killer:
        return None
    seed, args = killer
    until = time.monotonic() + SECONDS
    found = first_broken(program, args, seed, 1, until)
    return (seed, args, found[1]) if found and not first_broken(unbroken, args, seed, 1, until) else None


def main():
    words = [w for w in sys.argv[1:] if w not in ("--record", "--quick")]
    record, quick = "--record" in sys.argv, "--quick" in sys.argv
    build, only = Path(words[0]).resolve(), words[1] if len(words) > 1 else ""
    chosen = [m for m in MUTATIONS if only in m[0]]
    compiles, link = commands(build)
    known, now = killers(), {}
    bad = stale = 0
    with tempfile.TemporaryDirectory() as work:
        for number, mutation in enumerate(chosen):
            start, name = time.monotonic(), mutation[0]
            unbroken = build / "tests/sim/sunk-sim"
            try:
                program = make(build, Path(work), number, mutation, compiles, link)
                said = caught_again(program, unbroken, known.get(name))
                stale += not said
                said = said or caught(program, unbroken, runs_for(mutation), QUICK_SEEDS if quick else SEEDS, 10 * SECONDS if record else SECONDS)
                reason = "nothing was found"
                program.unlink()
            except (ValueError, subprocess.CalledProcessError) as e:
                said, reason = None, str(e)
            bad += said is None
            if said:
                now[name] = said[:2]
                reason = said[2]
            name = re.sub(r"\W+", "_", name)
            print(f"[{'       OK' if said else '  SKIPPED' if quick and reason == 'nothing was found' else '  FAILED'} ] {name}")
            print(f"    {reason} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(chosen)} mutations, {bad} not caught; {stale} were looked for (--record writes down which seeds found them)")
    if record:
        write_killers({m[0]: now.get(m[0]) or known[m[0]] for m in MUTATIONS if m[0] in now or m[0] in known})
    if quick:
        return 1 if len(now) < QUICK_LEAST else 0
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
