/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * First everything is counted in one pass over jobs and nodes, then the rows of the table write what they need of it.
 */
#include "syncer/exporter.h"

#include <string.h>

#include "base/str.h"
#include "syncer/export.h"

#define GROUP_LABELS_MAX (3 * (2 * EXPORT_LABEL_MAX + 32))
#define PARTITION_LABELS_MAX (2 * EXPORT_LABEL_MAX + 32)

const char *metric_type(const struct metric_row *row)
{
	bool total = str_ends(row->name, "_total");

	if (total != (row->kind == METRIC_COUNTER) || str_ends(row->name, "_count"))
		return "untyped";
	return total ? "counter" : "gauge";
}

/* ---- counting ---- */

uint32_t export_tasks(const struct job *j)
{
	return MAX_OF(j->array_tasks, 1u);
}

bool export_holds(const struct job *j)
{
	return j->state == JOB_RUNNING && !(j->flags & JOBF_COMPLETING);
}

static struct group *group_of(struct export *e, const struct job *j, struct buf *labels)
{
	struct group *g;

	buf_clear(labels);
	export_label(labels, "partition", j->partition);
	buf_add_char(labels, ',');
	export_label(labels, "account", j->account);
	buf_add_char(labels, ',');
	export_label(labels, "user", j->user);
	g = map_get(&e->groups, buf_text(labels));
	if (g)
		return g;
	g = mem_alloc(sizeof(*g) + labels->len + 1);
	memcpy(g->labels, buf_text(labels), labels->len + 1);
	map_put(&e->groups, g->labels, g);
	return g;
}

static void count_jobs(struct export *e)
{
	_cleanup_buf_ struct buf labels = BUF(GROUP_LABELS_MAX);

	e->jobs = mem_alloc_n(e->s->n_jobs, sizeof(*e->jobs));
	for (uint32_t i = 0; i < e->s->n_jobs; i++) {
		const struct job *j = &e->s->jobs[i];
		struct group *g = group_of(e, j, &labels);
		enum job_word word = job_word(j);

		e->jobs[i] = (struct counted_job) { g, word };
		g->tasks[word] += export_tasks(j);
		e->tasks[word] += export_tasks(j);
		if (word == JOBW_PENDING && j->reason && str_starts(j->reason, "Dependency"))
			e->waiting_for_others += export_tasks(j);
	}
}

/* What is not in use on a node that takes no jobs is not idle: sinfo calls it "other". */
void export_quantities(const struct snode *n, uint64_t q[QUANTITIES])
{
	bool takes_jobs = n->state != NODE_DOWN && !(n->flags & NODEF_DRAIN);

	q[CPU_ALLOC] = n->cpus_alloc;
	q[CPU_TOTAL] = n->cpus;
	q[CPU_IDLE] = takes_jobs && n->cpus > n->cpus_alloc ? n->cpus - n->cpus_alloc : 0;
	q[MEM_ALLOC] = n->memory_alloc_mb;
	q[MEM_TOTAL] = n->memory_mb;
	q[GPU_ALLOC] = n->gpus_alloc;
	q[GPU_TOTAL] = n->gpus;
	q[GPU_IDLE] = takes_jobs && n->gpus > n->gpus_alloc ? n->gpus - n->gpus_alloc : 0;
}

static struct sums *partition_of(struct export *e, const char *name)
{
	_cleanup_buf_ struct buf labels = BUF(PARTITION_LABELS_MAX);
	struct sums *p;

	export_label(&labels, "partition", name);
	p = map_get(&e->partitions, buf_text(&labels));
	if (p)
		return p;
	p = mem_alloc(sizeof(*p) + labels.len + 1);
	memcpy(p->labels, buf_text(&labels), labels.len + 1);
	map_put(&e->partitions, p->labels, p);
	return p;
}

struct adding {
	struct export *e;
	const uint64_t *q;
};

static void add_to_partition(void *arg, const char *s, size_t len)
{
	struct adding *a = arg;
	_cleanup_free_ char *name = mem_strndup(s, len);
	struct sums *p = partition_of(a->e, name);

	for (int i = 0; i < QUANTITIES; i++)
		p->q[i] += a->q[i];
}

static void count_nodes(struct export *e)
{
	for (uint32_t i = 0; i < e->s->n_partitions; i++)
		partition_of(e, e->s->partitions[i].name);
	for (uint32_t i = 0; i < e->s->n_nodes; i++) {
		const struct snode *n = &e->s->nodes[i];
		uint64_t q[QUANTITIES];

		e->nodes[snode_word(n)]++;
		e->silent += (n->flags & NODEF_NO_RESPOND) != 0;
		export_quantities(n, q);
		str_each(n->partitions, ',', add_to_partition, &(struct adding) { e, q });
	}
}

static void free_values(struct map *m)
{
	void *v;
	size_t i = 0;

	while ((v = map_next(m, &i)))
		free(v);
	map_done(m);
}

/* ---- writing ---- */

static bool has_part(const struct export *e, enum metric_part part)
{
	const usec_t at[] = {
		[METRIC_NODES] = e->s->nodes_at, [METRIC_JOBS] = e->s->jobs_at, [METRIC_STATS] = e->s->stats_at
	};

	return part == METRIC_ALWAYS || (at[part] && e->now - at[part] <= EXPORT_STALE);
}

static void write_row(struct export *e, const struct metric_row *row)
{
	struct buf *out = e->out;

	buf_add_str(out, "# HELP ");
	buf_add_str(out, row->name);
	buf_add_char(out, ' ');
	buf_add_str(out, row->help);
	buf_add_str(out, "\n# TYPE ");
	buf_add_str(out, row->name);
	buf_add_char(out, ' ');
	buf_add_str(out, metric_type(row));
	buf_add_char(out, '\n');
	row->write(e, row);
}

void exporter_write(const struct slurm_snapshot *s, usec_t now, struct buf *out)
{
	struct export e = { .s = s, .out = out, .now = now };

	if (has_part(&e, METRIC_JOBS))
		count_jobs(&e);
	if (has_part(&e, METRIC_NODES))
		count_nodes(&e);
	for (size_t i = 0; i < n_metric_rows; i++)
		if (has_part(&e, metric_rows[i].part))
			write_row(&e, &metric_rows[i]);
	free_values(&e.groups);
	free_values(&e.partitions);
	free(e.jobs);
}

void exporter_reference(struct buf *out)
{
	buf_add_str(out, "| metric | type | unit | labels | what it is |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < n_metric_rows; i++) {
		const struct metric_row *row = &metric_rows[i];
		const char *type = row->kind == METRIC_COUNTER ? "counter" : "gauge";

		buf_printf(out, "| `%s` | %s%s | %s | ", row->name, type, str_eq(type, metric_type(row)) ? "" : "¹",
		           *row->unit ? row->unit : "—");
		if (*row->labels)
			buf_printf(out, "`%s`", row->labels);
		else
			buf_add_str(out, "—");
		buf_printf(out, " | %s |\n", row->help);
	}
}
