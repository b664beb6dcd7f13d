/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The operator's shell over a small Kubernetes: one Node k1, its NodeSet Pod n1, and another Pod. A change is done at once and answered in the
 * next round; the watch shows it after the answer.
 */
#include "operator/operator.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "policy/lock.h"
#include "policy/nodeset.h"
#include "port/kinds.h"

#define NOTES 16
#define A_WHILE (20 * USEC_SEC)
#define OTHER_TAINT "example.com/own"

/* A Node or a Pod. */
struct thing {
	bool there, going; /* going: Pods, being deleted */
	const char *ns, *name, *node;
	unsigned version;
	struct pair labels[NOTES], notes[NOTES];
	struct condition conditions[NOTES];
	struct taint taints[4];
	uint32_t n_labels, n_notes, n_conditions, n_taints;
};

static struct {
	struct kube_port kube;
	struct clock clock;
	usec_t mono;
	struct store *pods, *nodes;
	struct thing node, slurmd, stray;
	unsigned versions, n_writes;
	struct {
		kube_done done;
		void *arg;
		enum kube_outcome outcome;
	} answer;
	enum kube_outcome next; /* the next write's; RETRY: it is done, but its answer is lost */
	bool others_write;      /* the Pod, just before each of our writes to it */
	char order[512];        /* of writes: "node" or "pod" and what the lock's annotation becomes */
	char event[1024];       /* the last */
	unsigned n_events;
	void *blocks[8192];
	unsigned n_blocks;
	struct operator* op;
} w;

static void *keep(void *block)
{
	assert(w.n_blocks < ARRAY_LEN(w.blocks));
	return w.blocks[w.n_blocks++] = block;
}

static const char *text(const char *t)
{
	return t ? keep(mem_strdup(t)) : NULL;
}

static usec_t mono(const struct clock *c)
{
	(void)c;
	return w.mono;
}

static void set_pair(struct pair *pairs, uint32_t *n, const char *key, const char *value)
{
	uint32_t i = 0;

	while (i < *n && !str_eq(pairs[i].key, key))
		i++;
	if (!value && i < *n)
		pairs[i] = pairs[--*n];
	if (!value)
		return;
	assert(i < NOTES);
	*n = MAX_OF(*n, i + 1);
	pairs[i] = (struct pair) { text(key), text(value) };
}

static void show(struct thing *t)
{
	bool is_pod = t->ns != NULL;
	struct pod *p = is_pod ? mem_alloc(sizeof(*p)) : NULL;
	struct knode *k = is_pod ? NULL : mem_alloc(sizeof(*k));
	char version[16];
	struct meta meta = { .ns = t->ns, .name = t->name, .uid = t->name };

	if (!t->there) {
		free(p);
		free(k);
		store_remove(is_pod ? w.pods : w.nodes, t->ns, t->name);
		return;
	}
	snprintf(version, sizeof(version), "%u", t->version);
	meta.resource_version = text(version);
	meta.labels = keep(mem_dup(t->labels, sizeof(t->labels)));
	meta.n_labels = t->n_labels;
	meta.annotations = keep(mem_dup(t->notes, sizeof(t->notes)));
	meta.n_annotations = t->n_notes;
	if (p) {
		p->meta = meta;
		p->node_name = t->node;
		p->phase = POD_RUNNING;
		p->meta.deletion = t->going ? USEC_SEC : 0;
		store_put(w.pods, p, sizeof(*p));
		return;
	}
	k->meta = meta;
	k->taints = keep(mem_dup(t->taints, sizeof(t->taints)));
	k->n_taints = t->n_taints;
	k->conditions = keep(mem_dup(t->conditions, sizeof(t->conditions)));
	k->n_conditions = t->n_conditions;
	store_put(w.nodes, k, sizeof(*k));
}

/* As somebody else does it. */
static void note(struct thing *t, const char *key, const char *value)
{
	set_pair(t->notes, &t->n_notes, key, value);
	t->version = ++w.versions;
	show(t);
}

static const char *says(const struct thing *t, const char *key)
{
	return str_or(pair_get(t->notes, t->n_notes, key), "");
}

static struct store *watch(struct kube_port *k, enum kube_kind kind, const char *ns, const char *labels,
                           const char *fields)
{
	(void)k;
	(void)ns;
	(void)labels;
	(void)fields;
	return kind == KUBE_PODS ? w.pods : w.nodes;
}

static enum kube_outcome apply(struct thing *t, const struct kube_change *c)
{
	char now[16];

	snprintf(now, sizeof(now), "%u", t->version);
	if (!t->there)
		return KUBE_NOT_FOUND;
	if (c->ref.resource_version && !str_eq(c->ref.resource_version, now))
		return KUBE_CONFLICT;
	for (int i = 0; i < c->n_annotations; i++)
		set_pair(t->notes, &t->n_notes, c->annotations[i].key, c->annotations[i].value);
	for (int i = 0; i < c->n_labels; i++)
		set_pair(t->labels, &t->n_labels, c->labels[i].key, c->labels[i].value);
	for (int i = 0; i < c->n_conditions; i++) {
		uint32_t k = 0;

		while (k < t->n_conditions && !str_eq(t->conditions[k].type, c->conditions[i].type))
			k++;
		t->n_conditions = MAX_OF(t->n_conditions, k + 1);
		t->conditions[k] = (struct condition) { text(c->conditions[i].type), text(c->conditions[i].reason),
			                                text(c->conditions[i].message), c->conditions[i].status,
			                                c->conditions[i].changed };
	}
	if (c->n_taints >= 0) {
		assert_non_null(c->ref.resource_version);
		t->n_taints = 0;
		for (int i = 0; i < c->n_taints; i++)
			t->taints[t->n_taints++] = (struct taint) { text(c->taints[i].key), text(c->taints[i].value),
				                                    c->taints[i].effect, c->taints[i].added };
	}
	t->version = ++w.versions;
	return KUBE_OK;
}

static void note_order(const struct kube_change *c)
{
	size_t at = strlen(w.order);

	for (int i = 0; i < c->n_annotations; i++)
		if (str_eq(c->annotations[i].key, LOCK_ANNOTATION))
			snprintf(w.order + at, sizeof(w.order) - at, "%s%s=%s%s", at ? " " : "",
			         c->ref.kind == KUBE_NODES ? "node" : "pod", str_or(c->annotations[i].value, "none"),
			         c->n_taints >= 0 ? "+taints" : "");
	if (!c->n_annotations && c->n_taints >= 0)
		snprintf(w.order + at, sizeof(w.order) - at, "%staints", at ? " " : "");
}

static void change(struct kube_port *k, const struct kube_change *c, kube_done done, void *arg)
{
	struct thing *t = c->ref.kind == KUBE_NODES ? &w.node : &w.slurmd;

	(void)k;
	assert_string_equal(c->ref.name, t->name);
	w.n_writes++;
	assert_null(w.answer.done); /* one at a time */
	w.answer.done = done;
	w.answer.arg = arg;
	w.answer.outcome = w.next;
	if (w.others_write && c->ref.kind == KUBE_PODS)
		t->version = ++w.versions; /* the watch has not told yet */
	if (w.next == KUBE_OK || w.next == KUBE_RETRY) {
		enum kube_outcome o = apply(t, c);

		note_order(c);
		if (w.next == KUBE_OK)
			w.answer.outcome = o;
	}
	w.next = KUBE_OK;
}

static void event(struct kube_port *k, const struct kube_event *e)
{
	(void)k;
	w.n_events++;
	snprintf(w.event, sizeof(w.event), "%s: %s", e->reason, e->message);
}

static void refresh(struct kube_port *p)
{
	(void)p;
}

static const struct kube_port_ops ops = { .watch = watch, .refresh = refresh, .change = change, .event = event };

static void give(void)
{
	kube_done done = w.answer.done;
	struct kube_result r = { .outcome = w.answer.outcome, .message = "" };

	w.answer.done = NULL;
	done(w.answer.arg, &r);
	show(&w.node);
	show(&w.slurmd);
}

static void run(usec_t span)
{
	usec_t end = w.mono + span, next;

	for (;;) {
		next = operator_step(w.op);
		if (w.answer.done) {
			w.mono += USEC_MSEC;
			give();
			continue;
		}
		if (next <= w.mono)
			continue;
		if (w.mono >= end)
			return;
		w.mono = MIN_OF(next, end);
	}
}

static void forget(void)
{
	w.order[0] = w.event[0] = '\0';
	w.n_writes = w.n_events = 0;
}

static void ask_for(const char *level, const char *epoch)
{
	set_pair(w.slurmd.notes, &w.slurmd.n_notes, LOCK_EPOCH_ANNOTATION, epoch);
	note(&w.slurmd, LOCK_REQUEST_ANNOTATION, level);
}

static void open_operator(void)
{
	w.pods = store_new(store_kind_of(KUBE_PODS));
	w.nodes = store_new(store_kind_of(KUBE_NODES));
	store_replace_begin(w.pods);
	store_replace_begin(w.nodes);
	w.op = operator_new(&(struct operator_options) { .kube = &w.kube, .clock = &w.clock, .cluster = "lab" });
	show(&w.node);
	show(&w.slurmd);
	if (w.stray.there)
		show(&w.stray);
	store_replace_end(w.pods);
	store_replace_end(w.nodes);
}

static void close_operator(void)
{
	if (w.answer.done)
		give();
	operator_free(w.op);
	store_free(w.pods);
	store_free(w.nodes);
}

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.kube.ops = &ops;
	w.clock = (struct clock) { mono, mono };
	w.mono = 1000 * USEC_SEC;
	w.node = (struct thing) { .there = true, .name = "k1", .version = 1, .n_taints = 1 };
	w.node.taints[0] = (struct taint) { .key = OTHER_TAINT, .effect = EFFECT_NO_SCHEDULE };
	w.slurmd = (struct thing) { .there = true, .ns = "slurm", .name = "n1", .node = "k1", .version = 2 };
	w.stray = (struct thing) { .ns = "default", .name = "web", .node = "k1", .version = 3 };
	w.versions = 10;
	set_pair(w.slurmd.labels, &w.slurmd.n_labels, LABEL_NODESET, "main");
	set_pair(w.node.notes, &w.node.n_notes, "example.com/note", "theirs");
	open_operator();
	operator_leading(w.op, true);
	run(A_WHILE);
	forget();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close_operator();
	for (unsigned i = 0; i < w.n_blocks; i++)
		free(w.blocks[i]);
	return 0;
}

static bool tainted(void)
{
	for (uint32_t i = 0; i < w.node.n_taints; i++)
		if (str_eq(w.node.taints[i].key, LOCK_TAINT_KEY))
			return true;
	return false;
}

static void assert_locked(const char *state, const char *epoch)
{
	assert_true(tainted());
	assert_string_equal(says(&w.node, LOCK_ANNOTATION), state);
	assert_string_equal(says(&w.node, LOCK_FOR_ANNOTATION), epoch);
	assert_string_equal(says(&w.slurmd, LOCK_ANNOTATION), state);
	assert_string_equal(says(&w.slurmd, LOCK_FOR_ANNOTATION), epoch);
}

static void assert_free(void)
{
	assert_false(tainted());
	assert_string_equal(says(&w.node, LOCK_ANNOTATION), "");
	assert_string_equal(says(&w.node, LOCK_FOR_ANNOTATION), "");
	assert_string_equal(says(&w.slurmd, LOCK_ANNOTATION), "");
}

/* ---- */

static void test_a_lock_is_four_writes_in_this_order(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	/* with the request itself these are four until the Pod says locked; the Node's word follows */
	assert_string_equal(w.order, "node=pending+taints pod=pending pod=locked node=locked");
	assert_int_equal(w.n_writes, 4);
	assert_locked("locked", "1");
	forget();
	run(A_WHILE);
	assert_int_equal(w.n_writes, 0);
}

static void test_unlocking_hides_the_lock_before_the_taint_goes(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	forget();
	note(&w.slurmd, LOCK_REQUEST_ANNOTATION, NULL);
	run(A_WHILE);
	assert_string_equal(w.order, "pod=none node=none+taints");
	assert_free();
	assert_int_equal(w.node.n_taints, 1);
	assert_string_equal(w.node.taints[0].key, OTHER_TAINT);
	assert_string_equal(says(&w.node, "example.com/note"), "theirs");
}

static void test_a_strict_request_upgrades_and_never_unlocks_between(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	forget();
	ask_for("strict", "2");
	run(A_WHILE);
	assert_string_equal(w.order, "node=locked pod=locked pod=locked_strict node=locked_strict");
	assert_locked("locked_strict", "2");
}

static void test_a_pod_in_the_way_is_waited_for_and_named(void **state)
{
	(void)state;
	w.stray.there = true;
	show(&w.stray);
	ask_for("normal", "1");
	run(500 * USEC_MSEC);
	assert_int_equal(w.n_events, 0);
	run(A_WHILE);
	assert_string_equal(says(&w.slurmd, LOCK_ANNOTATION), "pending");
	assert_string_equal(w.event, "LockBlocked: Pod default/web does not tolerate the lock and has not left yet");
	assert_int_equal(w.n_events, 1);
	assert_string_equal(says(&w.slurmd, ANNOTATION_LOCK_BLOCKED_BY),
	                    "Pod default/web does not tolerate the lock and has not left yet");
	w.stray.there = false;
	show(&w.stray);
	run(A_WHILE);
	assert_locked("locked", "1");
	assert_string_equal(says(&w.slurmd, ANNOTATION_LOCK_BLOCKED_BY), "");
}

/* Its one try may have met an API server that was away. */
static void test_kubernetes_is_reminded_of_a_pod_that_it_overlooked(void **state)
{
	usec_t added;

	(void)state;
	w.stray.there = true;
	show(&w.stray);
	ask_for("normal", "1");
	run(9 * USEC_SEC);
	assert_int_equal(w.node.n_taints, 2);
	added = w.node.taints[1].added;
	forget();
	run(5 * USEC_SEC);
	assert_string_equal(w.order, "taints");
	assert_int_equal(w.node.n_taints, 2);
	assert_string_equal(w.node.taints[0].key, OTHER_TAINT);
	assert_true(w.node.taints[1].added > added);
	w.stray.going = true; /* it is being deleted: that may take its time */
	w.stray.version = ++w.versions;
	show(&w.stray);
	forget();
	run(USEC_MINUTE);
	assert_string_equal(w.order, "");
	w.stray.there = false;
	show(&w.stray);
	run(A_WHILE);
	assert_locked("locked", "1");
}

static void test_other_writers_of_the_pod_do_not_hold_up_a_lock(void **state)
{
	(void)state;
	run(USEC_SEC);
	forget();
	w.others_write = true;
	ask_for("normal", "1");
	run(20 * USEC_MSEC);
	assert_string_equal(says(&w.slurmd, LOCK_ANNOTATION), "locked");
	assert_non_null(strstr(w.order, "node=pending+taints pod=pending pod=locked"));
}

static void test_a_conflict_is_looked_at_again(void **state)
{
	(void)state;
	ask_for("normal", "1");
	w.next = KUBE_CONFLICT;
	run(A_WHILE);
	assert_locked("locked", "1");
	assert_int_equal(w.n_writes, 5);
}

static void test_an_unlock_by_an_old_view_does_not_hit_a_new_lock(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	note(&w.slurmd, LOCK_REQUEST_ANNOTATION, NULL);
	(void)operator_step(w.op); /* the Pod's word is on its way */
	give();
	(void)operator_step(w.op); /* the Node's, too: done, but not answered yet */
	assert_non_null(w.answer.done);
	ask_for("normal", "2");
	run(A_WHILE);
	assert_locked("locked", "2");
}

static void test_a_lost_answer_does_no_harm(void **state)
{
	(void)state;
	for (unsigned lost = 0; lost < 4; lost++) {
		char epoch[8];

		snprintf(epoch, sizeof(epoch), "%u", lost + 1);
		ask_for("normal", epoch);
		for (unsigned i = 0; i < lost; i++) {
			(void)operator_step(w.op);
			give();
		}
		w.next = KUBE_RETRY;
		run(A_WHILE);
		assert_locked("locked", epoch);
		note(&w.slurmd, LOCK_REQUEST_ANNOTATION, NULL);
		w.next = KUBE_RETRY;
		run(A_WHILE);
		assert_free();
	}
	assert_int_equal(w.n_events, 0);
}

static void test_another_operator_goes_on_where_one_was_killed(void **state)
{
	(void)state;
	for (unsigned steps = 0; steps < 5; steps++) {
		char epoch[8];

		snprintf(epoch, sizeof(epoch), "%u", steps + 1);
		ask_for("normal", epoch);
		for (unsigned i = 0; i < steps; i++) {
			(void)operator_step(w.op);
			if (w.answer.done)
				give();
		}
		close_operator();
		open_operator();
		operator_leading(w.op, true);
		run(A_WHILE);
		assert_locked("locked", epoch);
	}
}

static void test_who_does_not_lead_writes_nothing(void **state)
{
	(void)state;
	operator_leading(w.op, false);
	ask_for("normal", "1");
	run(A_WHILE);
	assert_int_equal(w.n_writes, 0);
	operator_leading(w.op, true);
	w.next = KUBE_NOT_LEADER; /* the gate knows it first */
	run(A_WHILE);
	assert_locked("locked", "1");
}

static void test_what_a_person_takes_off_is_put_back_and_told_every_time(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	for (unsigned i = 1; i <= 2; i++) {
		w.node.n_taints = 0;
		note(&w.node, "example.com/note", "mine");
		run(A_WHILE);
		assert_locked("locked", "1");
		assert_int_equal(w.n_events, i);
		assert_true(str_starts(w.event, "LockRestored: "));
	}
	for (unsigned i = 0; i < 3; i++) {
		static const char *const words[] = { "pending", "nonsense", NULL };

		forget();
		note(&w.node, LOCK_ANNOTATION, words[i]);
		run(A_WHILE);
		assert_locked("locked", "1");
		assert_int_equal(w.n_events, 1);
	}
	forget();
	note(&w.node, LOCK_FOR_ANNOTATION, NULL);
	run(A_WHILE);
	assert_locked("locked", "1");
	assert_int_equal(w.n_events, 1);
}

static void test_a_node_that_was_deleted_is_locked_anew_when_it_comes_back(void **state)
{
	(void)state;
	ask_for("normal", "1");
	(void)operator_step(w.op);
	give();
	w.node.there = false;
	show(&w.node);
	run(A_WHILE);
	w.node = (struct thing) { .there = true, .name = "k1", .version = ++w.versions };
	show(&w.node);
	run(A_WHILE);
	assert_locked("locked", "1");
}

static void test_a_node_without_its_nodeset_pod_is_unlocked(void **state)
{
	(void)state;
	ask_for("normal", "1");
	run(A_WHILE);
	w.slurmd.there = false;
	show(&w.slurmd);
	run(A_WHILE);
	assert_false(tainted());
	assert_string_equal(says(&w.node, LOCK_ANNOTATION), "");
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
TEST_MAIN(T(a_lock_is_four_writes_in_this_order), T(unlocking_hides_the_lock_before_the_taint_goes),
          T(a_strict_request_upgrades_and_never_unlocks_between), T(a_pod_in_the_way_is_waited_for_and_named),
          T(kubernetes_is_reminded_of_a_pod_that_it_overlooked), T(other_writers_of_the_pod_do_not_hold_up_a_lock),
          T(a_conflict_is_looked_at_again), T(an_unlock_by_an_old_view_does_not_hit_a_new_lock),
          T(a_lost_answer_does_no_harm), T(another_operator_goes_on_where_one_was_killed),
          T(who_does_not_lead_writes_nothing), T(what_a_person_takes_off_is_put_back_and_told_every_time),
          T(a_node_that_was_deleted_is_locked_anew_when_it_comes_back), T(a_node_without_its_nodeset_pod_is_unlocked))
