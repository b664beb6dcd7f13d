/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * effects.c before a Kubernetes that answers at once.
 */
#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

#define MANY 1000

static size_t n_changes;
static int n_tolerations;
static struct toleration last;

static void kube_change(struct kube_port *p, const struct kube_change *c, kube_done done, void *arg)
{
	(void)p;
	n_changes++;
	n_tolerations = c->n_tolerations;
	if (c->n_tolerations > 0)
		last = c->tolerations[c->n_tolerations - 1];
	assert_string_equal(c->annotations[0].key, ANNOTATION_JOB_ID);
	done(arg, &(struct kube_result) { .outcome = KUBE_OK, .message = "" });
}

static const struct kube_port_ops ops = { .change = kube_change };
static struct kube_port port = { .ops = &ops };

static void adopt(struct pod *pod)
{
	struct scheduler s = { .o = { .kube = &port, .clock = clock_real() } };
	struct entry e = { .uid = "u-1", .key = (char *)"ml/p" };
	const struct decision d = { .step = STEP_ADOPT, .job = 7 };
	const struct wishes w = { 0 };

	n_changes = 0;
	n_tolerations = 0;
	pod->meta = (struct meta) { .ns = "ml", .name = "p", .uid = "u-1", .resource_version = "5" };
	assert_true(effects_do(&s, &e, pod, &d, NULL, &w, NULL));
	assert_int_equal(n_changes, 1);
	free(e.settle_rv);
	dirty_done(&s.dirty);
}

static void test_the_lock_is_tolerated_whatever_else_the_pod_tolerates(void **state)
{
	static struct toleration many[MANY];
	struct pod pod = { .tolerations = many };

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		many[i] = (struct toleration) { .key = "k", .value = "v" };
	for (uint32_t n = 0; n <= MANY; n += 250) {
		pod.n_tolerations = n;
		adopt(&pod);
		assert_int_equal(n_tolerations, n + 1);
		assert_string_equal(last.key, TAINT_LOCK);
		assert_int_equal(last.op, TOLERATE_EXISTS);
		assert_int_equal(last.effect, EFFECT_NO_EXECUTE);
	}
	many[3] = last;
	adopt(&pod);
	assert_int_equal(n_tolerations, -1); /* it does already: they are left alone */
}

TEST_MAIN(TEST(the_lock_is_tolerated_whatever_else_the_pod_tolerates))
