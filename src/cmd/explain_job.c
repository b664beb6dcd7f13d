/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk explain job: gathers what Slurm says of one job and its nodes, and what both sides say of the first of them: that is where a job
 * waits when it waits for a lock.
 */
#include "policy/explain_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "cmd/explain.h"

struct gathered {
	struct slurm_result jobs;
	struct snode *snodes;
	struct slurm_result nodes;
	struct node_gathered *node;
	struct err slurm_err;
	struct job_facts f;
};

static void gathered_done(struct gathered *g)
{
	free(g->jobs.block);
	free(g->nodes.block);
	free(g->snodes);
	node_gathered_free(g->node);
}

/* "7", or "7_3" for a task of an array. */
static int parse_id(const char *what, uint32_t *ret_id, uint32_t *ret_task, struct err *err)
{
	const char *mark = strchr(what, '_');
	_cleanup_free_ char *id = mark ? mem_strndup(what, (size_t)(mark - what)) : mem_strdup(what);
	int64_t n, task = UINT32_MAX;

	if (str_to_i64(id, 1, UINT32_MAX - 1, &n) < 0 || (mark && str_to_i64(mark + 1, 0, UINT32_MAX - 1, &task) < 0))
		return err_set(err, -EINVAL, "'%.40s' is no job's id: a number, or NUMBER_TASK for a task of an array",
		               what);
	*ret_id = (uint32_t)n;
	*ret_task = (uint32_t)task;
	return 0;
}

/* Of an array the task that was asked for, else one that runs, else the first. */
static void choose(struct gathered *g, uint32_t id, uint32_t task)
{
	g->f.n_tasks = g->jobs.n;
	for (uint32_t i = 0; i < g->jobs.n; i++) {
		const struct job *j = &g->jobs.jobs[i];

		if (task != UINT32_MAX ? j->array_task_id == task : j->id == id && g->jobs.n == 1) {
			g->f.job = j;
			g->f.n_tasks = 1;
			return;
		}
		if (task == UINT32_MAX && (!g->f.job || (j->state == JOB_RUNNING && g->f.job->state != JOB_RUNNING)))
			g->f.job = j;
	}
}

static void get_nodes(struct explain_world *w, struct gathered *g)
{
	_cleanup_hostlist_ struct hostlist names = HOSTLIST_INIT;
	struct err err = { 0 };

	if (str_empty(g->f.job->nodes) || hostlist_parse(&names, g->f.job->nodes, &err) < 0 || !names.n)
		return;
	g->node = node_gather(w, names.names[0], &g->jobs);
	g->f.node = node_gathered_facts(g->node);
	if (explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_NODES }, &g->nodes, &err) < 0)
		return;
	g->snodes = mem_alloc_n(names.n, sizeof(*g->snodes));
	for (uint32_t i = 0; i < g->nodes.n; i++)
		if (g->f.n_snodes < names.n && hostlist_has(&names, g->nodes.nodes[i].name))
			g->snodes[g->f.n_snodes++] = g->nodes.nodes[i];
	g->f.snodes = g->snodes;
}

int explain_job_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err)
{
	_cleanup_(gathered_done) struct gathered g = { .f = { .id = what, .now = clock_wall(clock_real()) } };
	uint32_t id = 0, task = 0;
	int r = parse_id(what, &id, &task, err);

	if (r < 0)
		return r;
	r = explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_JOB, .job_id = id }, &g.jobs, &g.slurm_err);
	if (r < 0 && r != -ENOENT)
		g.f.slurm_error = err_text(&g.slurm_err);
	if (r == 0)
		choose(&g, id, task);
	if (g.f.job)
		get_nodes(w, &g);
	explain_job(&g.f, ret);
	return 0;
}
