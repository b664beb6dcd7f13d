/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/slurm_conditions.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/nodeset.h"

/* What one condition shall say. */
struct say {
	const char *type, *label;
	int status; /* enum cond_status */
	const char *reason, *message;
};

bool snode_is_running(const struct snode *n)
{
	/* A controller that was just started calls a node unknown until it hears from it, whatever runs there: what it gave away it knows. */
	bool given = n->state == NODE_UNKNOWN && (n->cpus_alloc || n->memory_alloc_mb);

	return n->state == NODE_ALLOCATED || n->state == NODE_MIXED || n->flags & NODEF_COMPLETING || given;
}

static bool was_true(const struct pod *p, const char *type)
{
	const struct condition *c = condition_get(p->conditions, p->n_conditions, type);

	return c && c->status == COND_TRUE;
}

/* What was read is newer than the mark. */
static bool is_to_go(const struct slurm_conditions_view *v)
{
	return v->marked && v->node_asked > v->marked;
}

static void say_drain(const struct slurm_conditions_view *v, struct slurm_conditions *ret, struct say *say)
{
	bool drained = v->node->flags & NODEF_DRAIN, running = snode_is_running(v->node);
	bool to_go = is_to_go(v) && !running && !(v->hook && v->node_asked <= v->hook);

	say->status = drained ? COND_TRUE : COND_FALSE;
	if (drained)
		say->reason = running ? "Draining" : to_go ? REASON_DRAINED_TO_GO : "Drained";
	else
		say->reason = to_go && v->node->state == NODE_DOWN ? REASON_DOWN_TO_GO : "NotDrained";
	if (!drained)
		return;
	/* as one line of valid text: the API would change anything else, and it would differ for ever */
	str_copy(ret->message, sizeof(ret->message), v->node->reason);
	str_mask_unsafe(ret->message);
	say->message = ret->message;
}

/* A job whose prolog asked just now may not be in what was read before it did. */
static void say_running(const struct slurm_conditions_view *v, struct say *say)
{
	bool running = snode_is_running(v->node) || (v->hook && v->node_asked <= v->hook);

	say->status = running ? COND_TRUE : COND_FALSE;
	say->reason = running ? "JobsOnNode" : "Idle";
}

static void say_not_responding(const struct slurm_conditions_view *v, struct slurm_conditions *ret, struct say *say)
{
	bool silent = v->node->flags & NODEF_NO_RESPOND;
	usec_t settled = usec_add(v->undrained, SLURM_UNDRAIN_SETTLES);

	if (silent && v->undrained && v->mono < settled && !was_true(v->pod, say->type)) {
		silent = false;
		ret->again = settled;
	}
	say->status = silent ? COND_TRUE : COND_FALSE;
	say->reason = silent ? "NoAnswer" : "Responding";
}

static const char *label_value(int status)
{
	return status == COND_TRUE ? "true" : status == COND_FALSE ? "false" : NULL;
}

static bool text_differs(const char *a, const char *b)
{
	return !str_eq(str_or(a, ""), str_or(b, ""));
}

/* slurmd has had the time to register. */
static bool is_missed(const struct slurm_conditions_view *v, struct slurm_conditions *ret)
{
	const struct condition *ready = condition_get(v->pod->conditions, v->pod->n_conditions, "Ready");
	usec_t due;

	if (!ready || ready->status != COND_TRUE || !ready->changed)
		return false;
	due = usec_add(ready->changed, SLURM_MISSES_AFTER);
	if (v->now < due)
		ret->again = MIN_OF(ret->again, usec_add(v->mono, due - v->now));
	return v->now >= due;
}

static void add(const struct slurm_conditions_view *v, const struct say *say, struct slurm_conditions *ret)
{
	const struct pod *p = v->pod;
	const struct condition *has = condition_get(p->conditions, p->n_conditions, say->type);
	const char *label = pair_get(p->meta.labels, p->meta.n_labels, say->label);

	if (text_differs(label, label_value(say->status)))
		ret->labels[ret->n_labels++] = (struct pair) { say->label, label_value(say->status) };
	if (!has && say->status == COND_UNKNOWN && !str_eq(say->reason, REASON_ABSENT_TO_GO) && !is_missed(v, ret))
		return; /* nothing was ever said of it */
	if (has && has->status == say->status && !text_differs(has->reason, say->reason) &&
	    !text_differs(has->message, say->message))
		return;
	ret->conditions[ret->n_conditions++] = (struct condition) {
		.type = say->type,
		.status = say->status,
		.reason = say->reason,
		.message = str_or(say->message, ""),
		.changed = has && has->status == say->status && has->changed ? has->changed : v->now,
	};
}

void slurm_conditions_decide(const struct slurm_conditions_view *v, struct slurm_conditions *ret)
{
	struct say says[SLURM_CONDITIONS] = {
		{ CONDITION_DRAIN, LABEL_DRAIN, COND_UNKNOWN, is_to_go(v) ? REASON_ABSENT_TO_GO : "NoSlurmNode", NULL },
		{ CONDITION_RUNNING, LABEL_RUNNING, COND_UNKNOWN, "NoSlurmNode", NULL },
		{ CONDITION_NOT_RESPONDING, LABEL_NOT_RESPONDING, COND_UNKNOWN, "NoSlurmNode", NULL },
	};

	*ret = (struct slurm_conditions) { .again = USEC_NEVER };
	if (v->node) {
		say_drain(v, ret, &says[0]);
		say_running(v, &says[1]);
		say_not_responding(v, ret, &says[2]);
	}
	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		add(v, &says[i], ret);
}
