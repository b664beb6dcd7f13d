/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/status.h"

#include <stdlib.h>

#include "base/hostlist.h"
#include "base/map.h"
#include "base/str.h"
#include "policy/nodeset.h"
#include "policy/placeholder.h"

struct making {
	const struct status_view *v;
	struct status *s;
	struct map rows;   /* by the Slurm name */
	struct map by_knode; /* the row whose Pod is there */
	struct map knodes;
};

static bool is_nodeset_pod(const struct status_view *v, const struct pod *p)
{
	return (!v->nodeset_ns || str_eq(p->meta.ns, v->nodeset_ns)) &&
	       pair_get(p->meta.labels, p->meta.n_labels, LABEL_NODESET) != NULL;
}

static struct status_row *add_row(struct making *m, const char *name)
{
	struct status_row *row = &m->s->rows[m->s->n_rows++];

	row->name = name;
	map_put(&m->rows, name, row);
	return row;
}

static void add_snodes(struct making *m)
{
	for (uint32_t i = 0; i < m->v->n_snodes; i++) {
		const struct snode *n = &m->v->snodes[i];
		struct status_row *row = add_row(m, n->name);

		row->snode = n;
		row->whose = whose_drain(n);
		m->s->words[snode_word(n)]++;
		m->s->not_responding += (n->flags & NODEF_NO_RESPOND) != 0;
	}
}

static void add_knodes(struct making *m)
{
	for (uint32_t i = 0; i < m->v->n_knodes; i++) {
		const struct knode *n = m->v->knodes[i];
		const struct condition *ready = condition_get(n->conditions, n->n_conditions, "Ready");

		map_put(&m->knodes, n->meta.name, (void *)n);
		m->s->knodes++;
		m->s->knodes_cordoned += n->unschedulable;
		m->s->knodes_not_ready += !ready || ready->status != COND_TRUE;
	}
}

/* Two NodeSet Pods of one name (in two namespaces) are one row: the one that is bound counts. */
static void add_nodeset_pod(struct making *m, const struct pod *p)
{
	struct status_row *row = map_get(&m->rows, p->meta.name);
	struct lock_words words;

	if (pod_is_over(p))
		return;
	if (!row)
		row = add_row(m, p->meta.name);
	m->s->nodeset_pods++;
	m->s->nodeset_ready += pod_is_ready(p);
	if (row->pod && str_empty(p->node_name))
		return;
	row->pod = p;
	lock_read(&p->meta, &words);
	row->lock = words.state;
	row->asked = lock_satisfies(&words, words.request) ? LEVEL_NONE : words.request;
	if (str_empty(p->node_name))
		return;
	row->knode = map_get(&m->knodes, p->node_name);
	map_put(&m->by_knode, p->node_name, row);
}

static void count_pod(struct making *m, const struct pod *p)
{
	bool placed = pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_JOB_ID) != NULL;
	struct status_row *row = str_empty(p->node_name) ? NULL : map_get(&m->by_knode, p->node_name);

	if (pod_is_over(p))
		return;
	if (placed && str_empty(p->node_name))
		m->s->pods_waiting++;
	else if (placed)
		m->s->pods_placed++;
	if (row && placed)
		row->placed++;
	else if (row)
		row->others++;
}

static void count_job(struct making *m, const struct job *j)
{
	_cleanup_hostlist_ struct hostlist nodes = HOSTLIST_INIT;

	if (j->flags & JOBF_COMPLETING)
		m->s->jobs_ending++;
	else if (j->state == JOB_PENDING)
		m->s->jobs_pending += j->array_tasks ? j->array_tasks : 1;
	else if (j->state == JOB_RUNNING)
		m->s->jobs_running++;
	if (!(j->flags & JOBF_COMPLETING) && j->state != JOB_RUNNING && j->state != JOB_SUSPENDED)
		return;
	if (hostlist_parse(&nodes, j->nodes, NULL) < 0)
		return;
	for (size_t i = 0; i < nodes.n; i++) {
		struct status_row *row = map_get(&m->rows, nodes.names[i]);

		if (row)
			row->jobs++;
	}
}

static void join_row(const struct status_view *v, struct status *s, struct status_row *row)
{
	if (row->snode && row->pod)
		row->join = JOIN_BOTH;
	else if (row->snode)
		row->join = v->pods_known ? JOIN_NO_POD : JOIN_UNKNOWN;
	else
		row->join = v->slurm_known ? JOIN_NO_SNODE : JOIN_UNKNOWN;
	s->no_pod += row->join == JOIN_NO_POD;
	s->no_snode += row->join == JOIN_NO_SNODE;
}

static int by_name(const void *a, const void *b)
{
	return hostlist_compare(((const struct status_row *)a)->name, ((const struct status_row *)b)->name);
}

void status_make(const struct status_view *v, struct status *ret)
{
	struct making m = { .v = v, .s = ret, .rows = MAP_INIT, .by_knode = MAP_INIT, .knodes = MAP_INIT };

	*ret = (struct status) { .rows = mem_alloc_n((size_t)v->n_snodes + v->n_pods, sizeof(*ret->rows)) };
	add_snodes(&m);
	add_knodes(&m);
	for (uint32_t i = 0; i < v->n_pods; i++)
		if (is_nodeset_pod(v, v->pods[i]))
			add_nodeset_pod(&m, v->pods[i]);
	for (uint32_t i = 0; i < v->n_pods; i++)
		if (!is_nodeset_pod(v, v->pods[i]))
			count_pod(&m, v->pods[i]);
	for (uint32_t i = 0; i < v->n_jobs; i++)
		count_job(&m, &v->jobs[i]);
	for (uint32_t i = 0; i < ret->n_rows; i++)
		join_row(v, ret, &ret->rows[i]);
	map_done(&m.rows);
	map_done(&m.by_knode);
	map_done(&m.knodes);
	if (ret->n_rows)
		qsort(ret->rows, ret->n_rows, sizeof(*ret->rows), by_name);
}

void status_done(struct status *s)
{
	free(s->rows);
	*s = (struct status) { 0 };
}
