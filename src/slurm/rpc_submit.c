/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What changes jobs: submit, cancel, signal, update. Texts go as fields of the message, never through a shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/rpc.h"

/* slurmctld refuses a batch job without any environment. */
static const char *const least_env[] = { "PATH=/usr/local/bin:/usr/bin:/bin" };

/* libslurm reads these texts only; its structs just do not say so. NULL stays "not set". */
static char *text(const char *s)
{
	return (char *)s;
}

static uint16_t shared_for(int shared)
{
	switch (shared) {
	case SHARED_NONE: return JOB_SHARED_NONE;
	case SHARED_OK: return JOB_SHARED_OK;
	case SHARED_USER: return JOB_SHARED_USER;
	default: return NO_VAL16;
	}
}

static void fill_desc(const struct job_spec *s, job_desc_msg_t *d)
{
	slurm_init_job_desc_msg(d);
	d->name = text(s->name);
	d->script = text(s->script);
	d->extra = text(s->extra);
	d->comment = text(s->comment);
	d->admin_comment = text(s->admin_comment);
	d->account = text(s->account);
	d->partition = text(s->partition);
	d->qos = text(s->qos);
	d->reservation = text(s->reservation);
	d->features = text(s->features);
	d->prefer = text(s->prefer);
	d->exc_nodes = text(s->excluded);
	d->req_nodes = text(s->required);
	d->work_dir = text(str_or(s->work_dir, "/"));
	d->std_out = text(s->std_out);
	d->std_err = text(s->std_err);
	d->std_in = text("/dev/null");
	d->tres_per_node = text(s->tres_per_node);
	d->environment = (char **)(s->n_env ? s->env : least_env);
	d->env_size = s->n_env ? s->n_env : ARRAY_LEN(least_env);
	d->user_id = s->uid;
	d->group_id = s->gid;
	/* one node, one task that gets all CPUs, never started a second time by Slurm */
	d->min_nodes = d->max_nodes = 1;
	d->num_tasks = 1;
	d->requeue = 0;
	if (s->cpus) {
		d->min_cpus = s->cpus;
		d->cpus_per_task = (uint16_t)s->cpus;
	}
	if (s->memory_mb)
		d->pn_min_memory = s->memory_mb;
	if (s->time_limit_min)
		d->time_limit = s->time_limit_min;
	if (s->hold)
		d->priority = 0;
	else if (s->has_priority)
		d->priority = s->priority;
	d->shared = shared_for(s->shared);
	if (s->kill_on_node_fail)
		d->kill_on_node_fail = 1;
	if (s->bell_host && s->bell_port) {
		/* no alloc_resp_port: the job must not look like one that a waiting srun owns */
		d->other_port = s->bell_port;
		d->resp_host = text(s->bell_host);
		d->alloc_node = text(s->bell_host);
	}
}

/* Numbers that would be cut, or mean something else to Slurm than to us. */
static const char *why_not(const struct job_spec *s)
{
	if (!s)
		return "no job is described";
	if (str_empty(s->script))
		return "the job has no script";
	if (!str_starts(s->script, "#!"))
		return "the job's script does not begin with #!"; /* slurmctld takes it, slurmd cannot run it */
	if (s->cpus >= NO_VAL16)
		return "more CPUs than Slurm can count on one node";
	if (s->memory_mb >= MEM_PER_CPU)
		return "more memory than Slurm can count";
	if (s->has_priority && !s->hold && (s->priority == 0 || s->priority >= NO_VAL))
		return "a priority must be between 1 and 4294967293";
	return NULL;
}

void rpc_submit(const struct slurm_request *rq, struct buf *out)
{
	const char *why = why_not(rq->spec);
	struct slurm_result r = { .outcome = SLURM_OK };
	submit_response_msg_t *m = NULL;
	job_desc_msg_t d;
	int code;

	if (why) {
		rpc_refuse(rq, why, out);
		return;
	}
	fill_desc(rq->spec, &d);
	errno = 0;
	code = rpc_code(slurm_submit_batch_job(&d, &m));
	if (code || !m) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return;
	}
	r.job_id = compat_submitted_id(m);
	/* accepted with a warning: "Job's partition is down", or what a job_submit plugin said */
	r.code = (int)m->error_code;
	if (!str_empty(m->job_submit_user_msg))
		r.message = m->job_submit_user_msg;
	else if (m->error_code)
		r.message = slurm_strerror((int)m->error_code);
	rpc_done(rq, &r, out);
	slurm_free_submit_response_response_msg(m);
}

static void send_signal(const struct slurm_request *rq, uint16_t signal, uint16_t how, struct buf *out)
{
	char id[16];

	if (!rq->job_id || rq->job_id >= MAX_FED_JOB_ID) {
		rpc_fail(rq, ESLURM_INVALID_JOB_ID, out);
		return;
	}
	snprintf(id, sizeof(id), "%" PRIu32, rq->job_id);
	errno = 0;
	rpc_done_or_fail(rq, slurm_kill_job2(id, signal, how, NULL), out);
}

void rpc_cancel(const struct slurm_request *rq, struct buf *out)
{
	send_signal(rq, SIGKILL, 0, out);
}

void rpc_signal(const struct slurm_request *rq, struct buf *out)
{
	if (rq->signal <= 0 || rq->signal > SIGRTMAX) {
		rpc_refuse(rq, "no such signal", out);
		return;
	}
	send_signal(rq, (uint16_t)rq->signal, (uint16_t)(rq->whole_job ? KILL_FULL_JOB : KILL_JOB_BATCH), out);
}

void rpc_change_job(const struct slurm_request *rq, struct buf *out)
{
	const struct job_change *c = rq->job_change;
	job_desc_msg_t d;

	if (!c || !rq->job_id) {
		rpc_refuse(rq, "no job or no change is named", out);
		return;
	}
	slurm_init_job_desc_msg(&d);
	compat_set_job_id(&d, rq->job_id);
	/* "" empties a field */
	if (c->what & JOB_CHANGE_EXTRA)
		d.extra = text(str_or(c->extra, ""));
	if (c->what & JOB_CHANGE_COMMENT)
		d.comment = text(str_or(c->comment, ""));
	if (c->what & JOB_CHANGE_ADMIN_COMMENT)
		d.admin_comment = text(str_or(c->admin_comment, ""));
	if (c->what & JOB_CHANGE_EXCLUDED)
		d.exc_nodes = text(str_or(c->excluded, ""));
	if (c->what & JOB_CHANGE_REQUIRED)
		d.req_nodes = text(str_or(c->required, ""));
	if (c->what & JOB_CHANGE_PRIORITY)
		d.priority = c->priority;
	if (c->what & JOB_CHANGE_TIME_LIMIT)
		d.time_limit = c->time_limit_min;
	errno = 0;
	rpc_done_or_fail(rq, slurm_update_job(&d), out);
}
