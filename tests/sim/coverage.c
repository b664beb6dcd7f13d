/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which decisions were ever made. The linker puts these functions in front of the real ones (--wrap), so that nothing in the
 * product knows of it. What is in the table and was never seen is a thing that the runs so far prove nothing about.
 */
#include "tests/sim/coverage.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/drain.h"
#include "policy/hold.h"
#include "policy/lock.h"
#include "policy/lock_ask.h"
#include "policy/placeholder.h"
#include "policy/undrain.h"

struct outcome {
	const char *name;
	bool whole; /* only with syncer and operator */
	uint64_t times;
};

enum {
	O_STEP = 0,
	O_EVENT = O_STEP + STEPS,
	EVENTS = 17,
	O_FLAG = O_EVENT + EVENTS,
	O_HOLD = O_FLAG + 3,
	O_LOCK = O_HOLD + 3,
	O_BLOCK = O_LOCK + 9,
	O_ASK = O_BLOCK + 4,
	O_DRAIN = O_ASK + 6,
	O_REASON = O_DRAIN + 4,
	O_UNDRAIN = O_REASON + 5,
	OUTCOMES = O_UNDRAIN + 3,
};

static struct outcome outcomes[OUTCOMES] = {
	[O_STEP + STEP_REST] = { "Pod: rest" },
	[O_STEP + STEP_LIST_JOBS] = { "Pod: list jobs" },
	[O_STEP + STEP_PLACE] = { "Pod: place" },
	[O_STEP + STEP_SUBMIT] = { "Pod: submit" },
	[O_STEP + STEP_ADOPT] = { "Pod: adopt" },
	[O_STEP + STEP_IDENTIFY] = { "Pod: write its name into its job" },
	[O_STEP + STEP_EXCLUDE] = { "Pod: exclude" },
	[O_STEP + STEP_TAKE_VOLUME] = { "Pod: give its claim a volume" },
	[O_STEP + STEP_SELECT_NODE] = { "Pod: select a node for its claim" },
	[O_STEP + STEP_BIND] = { "Pod: bind" },
	[O_STEP + STEP_RELEASE] = { "Pod: release" },
	[O_STEP + STEP_CANCEL] = { "Pod: cancel" },
	[O_STEP + STEP_DELETE] = { "Pod: delete" },
	[O_EVENT] = { "Preempted" },
	{ "TimedOut" },
	{ "LaunchFailed" },
	{ "Cancelled" },
	{ "NodeFailed" },
	{ "JobEnded" },
	{ "DuplicateJob" },
	{ "WrongNode" },
	{ "JobLost" },
	{ "Terminated" },
	{ "Suspended" },
	{ "Requeued" },
	{ "SubmitFailed" },
	{ "FailedScheduling" },
	{ "NodeRefused" },
	{ "ValidationFailed" },
	{ "Submitted" },
	[O_FLAG] = { "Pod: it lost its job" },
	{ "Pod: its job lives" },
	{ "Pod: avoid that node" },
	[O_HOLD] = { "hold: leave the node" },
	{ "hold: drain" },
	{ "hold: lift" },
	[O_LOCK + LOCK_REST] = { "lock: rest", true },
	[O_LOCK + LOCK_TAINT] = { "lock: taint, pending", true },
	[O_LOCK + LOCK_SHOW] = { "lock: show pending", true },
	[O_LOCK + LOCK_CONFIRM] = { "lock: confirm", true },
	[O_LOCK + LOCK_HIDE] = { "lock: hide", true },
	[O_LOCK + LOCK_UNTAINT] = { "lock: take the taint off", true },
	{ "lock: taint, stays locked", true },
	{ "lock: show locked", true },
	{ "lock: show locked_strict", true },
	[O_BLOCK + BLOCK_NOT] = { "blocker: not in the way", true },
	[O_BLOCK + BLOCK_EVICTED] = { "blocker: is evicted", true },
	[O_BLOCK + BLOCK_NO_JOB] = { "blocker: outlived its job", true },
	[O_BLOCK + BLOCK_STRAY] = { "blocker: stray", true },
	[O_ASK + LOCK_ASK_KEEP] = { "ask: keep", true },
	[O_ASK + LOCK_ASK_REQUEST] = { "ask: request", true },
	[O_ASK + LOCK_ASK_WITHDRAW] = { "ask: withdraw", true },
	{ "ask: more than was asked for", true },
	{ "ask: normal is held", true },
	{ "ask: strict is held", true },
	[O_DRAIN + DRAIN_KEEP] = { "drain: keep", true },
	[O_DRAIN + DRAIN_SET] = { "drain: set", true },
	[O_DRAIN + DRAIN_REWORD] = { "drain: other words", true },
	[O_DRAIN + DRAIN_LIFT] = { "drain: lift", true },
	[O_REASON] = { "k8s: cordon: ", true },
	{ "k8s: pod not ready", true },
	{ "k8s: pod pending deletion", true },
	{ "k8s: pod terminated: cordon: ", true },
	{ "k8s: pod terminated", true },
	[O_UNDRAIN] = { "verify-undrain: not now", true },
	{ "verify-undrain: lift", true },
	{ "verify-undrain: ours from now on", true },
};

static void seen(int n)
{
	outcomes[n].times++;
}

/* ---- in front of the decisions ---- */

void __real_placeholder_decide(const struct placeholder_view *view, struct decision *ret);
void __wrap_placeholder_decide(const struct placeholder_view *view, struct decision *ret);
void __wrap_placeholder_decide(const struct placeholder_view *view, struct decision *ret)
{
	__real_placeholder_decide(view, ret);
	seen(O_STEP + (int)ret->step);
	for (int i = 0; ret->event && i < EVENTS; i++)
		if (str_eq(outcomes[O_EVENT + i].name, ret->event))
			seen(O_EVENT + i);
	if (ret->lost)
		seen(O_FLAG);
	if (ret->live)
		seen(O_FLAG + 1);
	if (ret->avoid)
		seen(O_FLAG + 2);
}

enum hold __real_hold_decide(bool held, const struct snode *node, const char *our_reason);
enum hold __wrap_hold_decide(bool held, const struct snode *node, const char *our_reason);
enum hold __wrap_hold_decide(bool held, const struct snode *node, const char *our_reason)
{
	enum hold h = __real_hold_decide(held, node, our_reason);

	seen(O_HOLD + (int)h);
	return h;
}

struct lock_decision __real_lock_decide(const struct lock_view *v);
struct lock_decision __wrap_lock_decide(const struct lock_view *v);
struct lock_decision __wrap_lock_decide(const struct lock_view *v)
{
	struct lock_decision d = __real_lock_decide(v);

	if (d.step == LOCK_TAINT && d.node_state >= LOCK_LOCKED)
		seen(O_LOCK + LOCK_UNTAINT + 1);
	else if (d.step == LOCK_SHOW && d.pod_state >= LOCK_LOCKED)
		seen(O_LOCK + LOCK_UNTAINT + (d.pod_state == LOCK_LOCKED ? 2 : 3));
	else
		seen(O_LOCK + (int)d.step);
	return d;
}

enum blocker __real_lock_blocker(const struct pod *pod, enum lock_level level);
enum blocker __wrap_lock_blocker(const struct pod *pod, enum lock_level level);
enum blocker __wrap_lock_blocker(const struct pod *pod, enum lock_level level)
{
	enum blocker b = __real_lock_blocker(pod, level);

	seen(O_BLOCK + (int)b);
	return b;
}

struct lock_ask_decision __real_lock_ask_decide(const struct lock_ask_view *v);
struct lock_ask_decision __wrap_lock_ask_decide(const struct lock_ask_view *v);
struct lock_ask_decision __wrap_lock_ask_decide(const struct lock_ask_view *v)
{
	struct lock_ask_decision d = __real_lock_ask_decide(v);

	seen(O_ASK + (int)d.act);
	if (d.act == LOCK_ASK_REQUEST && v->pod.request && v->pod.request < v->asked)
		seen(O_ASK + 3);
	if (d.holds)
		seen(O_ASK + 3 + (int)d.holds);
	return d;
}

struct drain_decision __real_drain_decide(const struct drain_view *v);
struct drain_decision __wrap_drain_decide(const struct drain_view *v);
struct drain_decision __wrap_drain_decide(const struct drain_view *v)
{
	struct drain_decision d = __real_drain_decide(v);

	seen(O_DRAIN + (int)d.act);
	for (int i = 0; i < 5 && (d.act == DRAIN_SET || d.act == DRAIN_REWORD); i++)
		if (str_starts(d.reason, outcomes[O_REASON + i].name)) {
			seen(O_REASON + i);
			break;
		}
	return d;
}

struct drain_decision __real_undrain_decide(const struct drain_view *v);
struct drain_decision __wrap_undrain_decide(const struct drain_view *v);
struct drain_decision __wrap_undrain_decide(const struct drain_view *v)
{
	struct drain_decision d = __real_undrain_decide(v);

	seen(O_UNDRAIN + (d.act == DRAIN_LIFT ? 1 : d.act == DRAIN_REWORD ? 2 : 0));
	return d;
}

/* ---- */

void coverage_print(bool whole, bool all)
{
	unsigned known = 0, never = 0;

	for (int i = 0; i < OUTCOMES; i++) {
		if (outcomes[i].whole && !whole)
			continue;
		known++;
		never += !outcomes[i].times;
		if (all)
			printf("%12llu  %s\n", (unsigned long long)outcomes[i].times, outcomes[i].name);
	}
	printf("%u of %u outcomes of decisions were seen%s", known - never, known, never ? "; never: " : "\n");
	for (int i = 0; never && i < OUTCOMES; i++)
		if (!outcomes[i].times && (whole || !outcomes[i].whole))
			printf("%s%s", outcomes[i].name, --never ? ", " : "\n");
}
