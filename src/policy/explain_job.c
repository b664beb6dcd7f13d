/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_job.h"

#include <stdio.h>

#include "base/str.h"
#include "policy/explain_reason.h"
#include "policy/lock.h"
#include "policy/podjob.h"
#include "policy/states.h"
#include "policy/whose.h"

#define NODES_SHOWN 5

static bool stands_for_pod(const struct job_facts *f, struct extra_id *id)
{
	return f->job && extra_parse(f->job->extra, id);
}

/* Its prolog waits for this node's lock. */
static bool waits_for_lock(const struct job_facts *f)
{
	struct lock_words words;

	if (!f->node || !f->node->pod)
		return false;
	lock_read(&f->node->pod->meta, &words);
	return words.request != LEVEL_NONE && !lock_satisfies(&words, words.request);
}

/* ---- facts ---- */

static void tell_job(const struct job_facts *f, struct explanation *e)
{
	const struct job *j = f->job;
	bool reason = !str_empty(j->reason) && !str_eq(j->reason, "None");
	char age[TIME_TEXT_MAX];
	struct extra_id id;

	explain_fact(e, "Job", "%u (%s) of %s is %s%s%s%s, partition %s, submitted %s ago%s%s", j->id,
	             str_or(j->name, ""), str_or(j->user, "?"), job_words[job_word(j)], reason ? " (" : "",
	             reason ? j->reason : "", reason ? ")" : "", str_or(j->partition, "?"),
	             explain_age(j->submitted, f->now, age), str_empty(j->nodes) ? "" : ", on ", str_or(j->nodes, ""));
	if (f->n_tasks > 1)
		explain_fact(e, "Job", "%s is an array of %u tasks, this is about one of them", f->id, f->n_tasks);
	if (stands_for_pod(f, &id))
		explain_fact(e, "Pod", "%s/%s: this job stands for it", id.ns, id.name);
}

static void tell_nodes(const struct job_facts *f, struct explanation *e)
{
	for (uint32_t i = 0; i < f->n_snodes && i < NODES_SHOWN; i++) {
		const struct snode *n = &f->snodes[i];
		enum whose whose = whose_drain(n);

		explain_fact(e, "Slurm node", "%s is %s%s%s%s%s%s", n->name, snode_words[snode_word(n)],
		             n->flags & NODEF_NO_RESPOND ? " and does not respond" : "",
		             whose == WHOSE_NOBODY ? "" : ", drain of ", whose_word(whose),
		             whose == WHOSE_NOBODY ? "" : ": ", whose == WHOSE_NOBODY ? "" : str_or(n->reason, ""));
	}
	if (f->n_snodes > NODES_SHOWN)
		explain_fact(e, "Slurm node", "and %u more", f->n_snodes - NODES_SHOWN);
}

/* ---- conclusions ---- */

static bool is_unknown(const struct job_facts *f, struct explanation *e)
{
	if (f->job)
		return false;
	if (f->slurm_error) {
		explain_is(e, "unknown", "Slurm cannot be asked about job %s.", f->id);
		explain_waits(e, "Slurm: %s", f->slurm_error);
		explain_todo(e, "`sunk check` tells what is wrong");
		return true;
	}
	explain_is(e, "absent", "slurmctld knows no job %s: there was none, or it ended some time ago.", f->id);
	explain_todo(e, "`sacct -j %s` tells, when there is accounting", f->id);
	return true;
}

static bool is_queued(const struct job_facts *f, struct explanation *e)
{
	const struct job *j = f->job;
	const struct slurm_reason *r = slurm_reason_of(j->reason);
	bool detail = !str_empty(j->reason_detail) && !str_eq(j->reason_detail, j->reason);
	_cleanup_buf_ struct buf todo = BUF(EXPLAIN_TEXT_MAX);

	if (j->state != JOB_PENDING)
		return false;
	explain_is(e, "queued", "Job %s waits in Slurm's queue (%s).", f->id,
	           str_empty(j->reason) ? "None" : j->reason);
	explain_waits(e, "%s%s%s%s", r->waits_for, detail ? " (" : "", detail ? j->reason_detail : "",
	              detail ? ")" : "");
	for (const char *t = r->todo; t && *t; t++) {
		if (*t == '#')
			buf_printf(&todo, "%u", j->id);
		else
			buf_add_char(&todo, *t);
	}
	if (todo.len)
		explain_todo(e, "%s", buf_text(&todo));
	return true;
}

static bool is_ending(const struct job_facts *f, struct explanation *e)
{
	struct extra_id id;

	if (!(f->job->flags & JOBF_COMPLETING))
		return false;
	explain_is(e, "ending", "Job %s is ending on %s.", f->id, str_or(f->job->nodes, "its nodes"));
	if (stands_for_pod(f, &id)) {
		explain_waits(e, "Pod %s/%s to be gone, or KillWait", id.ns, id.name);
		explain_todo(e, "`sunk explain pod %s/%s` tells what keeps the Pod", id.ns, id.name);
	} else
		explain_waits(e, "its processes and the epilog to end");
	return true;
}

static bool is_starting(const struct job_facts *f, struct explanation *e)
{
	char text[EXPLAIN_TEXT_MAX];
	struct extra_id id;
	bool placed = stands_for_pod(f, &id) && id.mark != EXTRA_STARTED;
	bool lock = waits_for_lock(f);

	if (f->job->state != JOB_RUNNING || !(f->job->flags & JOBF_CONFIGURING || placed || lock))
		return false;
	explain_is(e, "starting", "Job %s has its nodes (%s), and their prologs run.", f->id,
	           str_or(f->job->nodes, "?"));
	if (lock && explain_blockers(f->node, text)) {
		explain_waits(e, "Pods to leave %s: %s", str_or(f->node->pod->node_name, "?"), text);
		explain_todo(e, "nothing, unless one does not go: `sunk explain node %s`", f->node->pod->meta.name);
	} else if (lock) {
		explain_waits(e, "the lock of %s", str_or(f->node->pod->node_name, "?"));
		explain_todo(e, "nothing, unless it stays: `sunk explain node %s`", f->node->pod->meta.name);
	} else
		explain_waits(e, "the prologs to end");
	return true;
}

static bool is_running(const struct job_facts *f, struct explanation *e)
{
	struct extra_id id;
	char age[TIME_TEXT_MAX];

	if (f->job->state == JOB_SUSPENDED) {
		explain_is(e, "suspended", "Job %s is suspended on %s.", f->id, str_or(f->job->nodes, "?"));
		explain_todo(e, "`scontrol resume %u`", f->job->id);
		return true;
	}
	if (f->job->state != JOB_RUNNING)
		return false;
	explain_is(e, "running", "Job %s has run for %s on %s.", f->id, explain_age(f->job->started, f->now, age),
	           str_or(f->job->nodes, "?"));
	if (stands_for_pod(f, &id))
		explain_todo(e, "it runs nothing itself; `sunk explain pod %s/%s` tells of its Pod", id.ns, id.name);
	return true;
}

static bool is_over(const struct job_facts *f, struct explanation *e)
{
	const struct job *j = f->job;
	char age[TIME_TEXT_MAX];

	if (j->prolog_failed) {
		explain_is(e, "failed", "Job %s never started: a prolog on %s failed, and Slurm cancelled it.", f->id,
		           str_or(j->nodes, "its nodes"));
		explain_todo(e, "`sunk explain node %s` tells whether that node is drained now, and why",
		             str_or(j->batch_host, "…"));
		explain_todo(e, "submit it again: it goes elsewhere");
		return true;
	}
	explain_is(e, j->state == JOB_COMPLETE ? "completed" : "failed", "Job %s ended %s ago: %s, exit code %d%s.",
	           f->id, explain_age(j->ended, f->now, age), job_words[job_word(j)], j->exit_status,
	           j->exit_signal ? ", by a signal" : "");
	return true;
}

void explain_job(const struct job_facts *f, struct explanation *ret)
{
	static bool (*const ways[])(const struct job_facts *f, struct explanation *e) = {
		is_unknown, is_queued, is_ending, is_starting, is_running, is_over,
	};

	*ret = (struct explanation) { .state = "unknown" };
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (ways[i](f, ret))
			break;
	if (f->job)
		tell_job(f, ret);
	tell_nodes(f, ret);
}
