/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/str.h"
#include "syncer/inside.h"

static const char *const effects[] = { "drain", "reword", "undrain", "words", "delete", "pod" };
_Static_assert(ARRAY_LEN(effects) == DIDS, "every effect has a name");
static const char *const parts[] = { "nodes", "jobs", "partitions", "stats" };
_Static_assert(ARRAY_LEN(parts) == PARTS, "every part has a name");
static const char *const owners[] = { "none", "syncer", "scheduler", "foreign" };
static const double bounds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60 };

struct sync_numbers {
	struct syncer *s;
	double *joined, *without_pod, *without_node, *parked, *dirty;
	double *drains[ARRAY_LEN(owners)], *cost[PARTS], *interval[PARTS];
	struct histogram *waited;
};

#define ONE_LABEL(n, v) ((const struct metric_label[]) { { (n), (v) }, { NULL, NULL } })

void sync_count(struct syncer *s, enum sync_effect what, const char *outcome)
{
	if (s->numbers)
		*metrics_counter(s->o.metrics, "sunk_syncer_effects_total",
		                 "Changes made on either side, by what came of them.",
		                 (const struct metric_label[]) {
		                         { "effect", effects[what] }, { "outcome", outcome }, { NULL, NULL } }) += 1;
}

void sync_count_hook(struct syncer *s, int status, usec_t waited)
{
	char code[12];

	if (!s->numbers)
		return;
	snprintf(code, sizeof(code), "%d", status);
	*metrics_counter(s->o.metrics, "sunk_syncer_hook_answers_total", "Answers to calls of the hook API, by status.",
	                 ONE_LABEL("code", code)) += 1;
	if (status == 200)
		histogram_observe(s->numbers->waited, (double)waited / USEC_SEC);
}

static void fill(void *arg)
{
	struct sync_numbers *n = arg;
	struct syncer *s = n->s;
	double joined = 0, alone = 0, pods = 0, drains[ARRAY_LEN(owners)] = { 0 };
	struct sync_entry *e;
	size_t i = 0;

	while ((e = map_next(&s->entries, &i))) {
		const struct pod *pod = sync_pod(s, e);

		joined += e->node && pod;
		alone += e->node && !pod;
		pods += !e->node && pod;
		if (e->node)
			drains[drain_owner(e->node)] += 1;
	}
	*n->joined = joined;
	*n->without_pod = alone;
	*n->without_node = pods;
	*n->parked = (double)s->n_parked;
	*n->dirty = (double)dirty_count(&s->dirty);
	for (size_t k = 1; k < ARRAY_LEN(owners); k++)
		*n->drains[k] = drains[k];
	for (int k = 0; k < PARTS; k++) {
		*n->cost[k] = (double)s->feeds[k].cost / USEC_SEC;
		*n->interval[k] = (double)s->feeds[k].interval / USEC_SEC;
	}
}

struct sync_numbers *sync_numbers_new(struct syncer *s)
{
	struct metrics *m = s->o.metrics;
	struct sync_numbers *n;

	if (!m)
		return NULL;
	n = NEW(struct sync_numbers);
	n->s = s;
	n->joined = metrics_gauge(m, "sunk_syncer_nodes_joined", "Slurm nodes with their NodeSet Pod.", NULL);
	n->without_pod = metrics_gauge(m, "sunk_syncer_nodes_without_pod", "Slurm nodes without a NodeSet Pod.", NULL);
	n->without_node = metrics_gauge(m, "sunk_syncer_pods_without_node", "NodeSet Pods without a Slurm node.", NULL);
	n->parked = metrics_gauge(m, "sunk_syncer_hook_parked", "Prologs that wait for their node to be locked.", NULL);
	n->dirty = metrics_gauge(m, "sunk_syncer_queue_depth", "Nodes that are to be looked at, now or later.", NULL);
	for (size_t k = 1; k < ARRAY_LEN(owners); k++)
		n->drains[k] = metrics_gauge(m, "sunk_syncer_drains", "Drained Slurm nodes, by whose drain it is.",
		                             ONE_LABEL("owner", owners[k]));
	for (int k = 0; k < PARTS; k++) {
		n->cost[k] = metrics_gauge(m, "sunk_syncer_poll_cost_seconds",
		                           "How long Slurm took for its last answer.", ONE_LABEL("part", parts[k]));
		n->interval[k] = metrics_gauge(m, "sunk_syncer_poll_interval_seconds",
		                               "The wait before Slurm is asked again.", ONE_LABEL("part", parts[k]));
	}
	n->waited =
	        metrics_histogram(m, "sunk_syncer_lock_wait_seconds", "From a prolog's call to its node being locked.",
	                          NULL, bounds, ARRAY_LEN(bounds));
	metrics_on_write(m, fill, n);
	return n;
}

void sync_numbers_free(struct sync_numbers *n)
{
	free(n);
}
