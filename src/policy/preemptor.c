/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/preemptor.h"

#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"

enum preempts preempts_of(const char *preempt_type)
{
	if (str_eq(preempt_type, "preempt/qos"))
		return PREEMPTS_BY_QOS;
	return str_eq(preempt_type, "preempt/partition_prio") ? PREEMPTS_BY_PARTITION : PREEMPTS_UNKNOWN;
}

static const struct spartition *partition_of(const struct preemption *p, const char *name, size_t len)
{
	for (uint32_t i = 0; i < p->n_partitions; i++) {
		const char *is = str_or(p->partitions[i].name, "");

		if (strlen(is) == len && memcmp(is, name, len) == 0)
			return &p->partitions[i];
	}
	return NULL;
}

/* A job that waits may name several partitions: one that is better is enough. */
static bool has_better_partition(const struct preemption *p, const struct job *j)
{
	const char *theirs = str_or(p->lost->partition, ""), *name = str_or(j->partition, "");
	const struct spartition *mine = partition_of(p, theirs, strlen(theirs)), *its;

	for (size_t len; *name; name += len + (name[len] == ',')) {
		len = strcspn(name, ",");
		if (len == strlen(theirs) && memcmp(name, theirs, len) == 0)
			continue;
		its = partition_of(p, name, len);
		if (!mine || !its || its->priority_tier > mine->priority_tier)
			return true;
	}
	return false;
}

static bool is_better(const struct preemption *p, const struct job *j)
{
	if (p->by != PREEMPTS_BY_PARTITION && !str_eq(str_or(j->qos, ""), str_or(p->lost->qos, "")))
		return true;
	return p->by != PREEMPTS_BY_QOS && has_better_partition(p, j);
}

static bool has_node(const char *nodes, const char *node, size_t *ret_n)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;

	if (str_empty(nodes) || hostlist_parse(&h, nodes, NULL) < 0)
		return false;
	if (ret_n)
		*ret_n = h.n;
	return hostlist_has(&h, node);
}

/* Nodes that it must have are not all that it may have, when it asks for more. */
static bool wants_node(const struct job *j, const char *node)
{
	size_t n = 0;

	if (has_node(j->excluded, node, NULL))
		return false;
	return str_empty(j->required) || has_node(j->required, node, &n) || j->n_nodes > n;
}

/* How near it is to being the one: 2 = Slurm found no room for it, 1 = its turn may have come, 0 = it waits for something else. */
static int nearness(const struct preemption *p, const struct job *j)
{
	if (j->priority == 0 || !wants_node(j, p->node))
		return 0;
	if (str_eq(j->reason, "Resources"))
		return 2;
	return str_eq(j->reason, "None") || str_eq(j->reason, "Priority");
}

/* The only one; NULL when there are several. */
struct found {
	const struct job *job;
	int nearness;
	uint32_t n;
};

static void consider(struct found *f, const struct job *j, int near)
{
	if (near > f->nearness)
		*f = (struct found) { j, near, 1 };
	else if (near && near == f->nearness)
		f->n++;
}

const struct job *preemptor_find(const struct preemption *p)
{
	usec_t began = p->lost->preempted ? p->lost->preempted : p->lost->ended;
	bool in_its_way = p->lost->flags & JOBF_COMPLETING; /* who was to have its place has not got it */
	struct found waits = { 0 }, runs = { 0 };
	const struct found *first = in_its_way ? &waits : &runs, *second = in_its_way ? &runs : &waits;

	for (uint32_t i = 0; i < p->n_jobs; i++) {
		const struct job *j = &p->jobs[i];

		if (j->id == p->lost->id || j->submitted > began || !is_better(p, j))
			continue;
		if (j->state == JOB_PENDING)
			consider(&waits, j, nearness(p, j));
		else if (j->state == JOB_RUNNING && j->started >= began && has_node(j->nodes, p->node, NULL))
			consider(&runs, j, 1);
	}
	if (!first->n)
		first = second;
	return first->n == 1 ? first->job : NULL;
}
