/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Jobs as Slurm holds them → struct job and struct job_brief.
 */
#include <errno.h>
#include <pwd.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/rpc.h"
#include "slurm/words.h"

#define NAME_CACHE 64 /* user names looked up for one answer */

static const int states[] = {
	[LIBSLURM_JOB_PENDING] = JOB_PENDING,     [LIBSLURM_JOB_RUNNING] = JOB_RUNNING,
	[LIBSLURM_JOB_SUSPENDED] = JOB_SUSPENDED, [LIBSLURM_JOB_COMPLETE] = JOB_COMPLETE,
	[LIBSLURM_JOB_CANCELLED] = JOB_CANCELLED, [LIBSLURM_JOB_FAILED] = JOB_FAILED,
	[LIBSLURM_JOB_TIMEOUT] = JOB_TIMEOUT,     [LIBSLURM_JOB_NODE_FAIL] = JOB_NODE_FAIL,
	[LIBSLURM_JOB_PREEMPTED] = JOB_PREEMPTED, [LIBSLURM_JOB_BOOT_FAIL] = JOB_BOOT_FAIL,
	[LIBSLURM_JOB_DEADLINE] = JOB_DEADLINE,   [LIBSLURM_JOB_OOM] = JOB_OOM,
};

static const struct {
	uint64_t bit;
	uint32_t flag;
} flags[] = {
	{ JOB_COMPLETING, JOBF_COMPLETING },
	{ JOB_CONFIGURING, JOBF_CONFIGURING },
	{ JOB_REQUEUE, JOBF_REQUEUED },
	{ JOB_REQUEUE_HOLD, JOBF_REQUEUE_HOLD },
	{ JOB_SPECIAL_EXIT, JOBF_REQUEUE_HOLD },
	{ JOB_RESIZING, JOBF_RESIZING },
	{ JOB_STOPPED, JOBF_STOPPED },
	{ JOB_STAGE_OUT, JOBF_STAGE_OUT },
	{ JOB_RESV_DEL_HOLD, JOBF_RESV_DEL_HOLD },
	{ JOB_SIGNALING, JOBF_SIGNALING },
	{ JOB_POWER_UP_NODE, JOBF_CONFIGURING },
};

static int state_of(uint32_t v)
{
	uint32_t base = v & JOB_STATE_BASE;

	return base < ARRAY_LEN(states) ? states[base] : JOB_UNKNOWN;
}

static uint32_t flags_of(uint32_t v)
{
	uint32_t out = 0;

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (v & flags[i].bit)
			out |= flags[i].flag;
	return out;
}

static uint32_t task_of(uint32_t array_job_id, uint32_t task)
{
	if (!array_job_id)
		return 0;
	return task == NO_VAL || task == INFINITE ? UINT32_MAX : task;
}

/* Slurm leaves the name of a user out now and then. */
struct names {
	struct scratch *scratch;
	uint32_t uid[NAME_CACHE];
	const char *name[NAME_CACHE];
	size_t n;
};

static const char *user_name(struct names *names, uint32_t uid)
{
	char space[4096];
	struct passwd pw, *found = NULL;
	char *name = NULL;

	for (size_t i = 0; i < names->n; i++)
		if (names->uid[i] == uid)
			return names->name[i];
	if (getpwuid_r(uid, &pw, space, sizeof(space), &found) == 0 && found)
		name = scratch_str(names->scratch, mem_strdup(pw.pw_name));
	if (names->n < NAME_CACHE) {
		names->uid[names->n] = uid;
		names->name[names->n++] = name;
	}
	return name;
}

/* GPUs that a job has, or asks for while it has none. */
static uint32_t gpus_of(const slurm_job_info_t *j)
{
	uint32_t n = words_gpus(j->tres_alloc_str);

	if (!n)
		n = words_gpus(j->gres_total);
	for (uint32_t i = 0; !n && i < j->gres_detail_cnt; i++)
		n += words_gpus(j->gres_detail_str[i]);
	if (!n)
		n = words_gpus(j->tres_per_job);
	if (!n)
		n = words_gpus(j->tres_per_node) * MAX_OF(j->num_nodes, 1u);
	if (!n)
		n = words_gpus(j->tres_per_task) * MAX_OF(j->num_tasks, 1u);
	return n;
}

static uint64_t memory_of(const slurm_job_info_t *j)
{
	uint64_t mb = j->pn_min_memory & ~MEM_PER_CPU;

	if (!mb || j->pn_min_memory == NO_VAL64)
		return words_memory_mb(str_empty(j->tres_alloc_str) ? j->tres_req_str : j->tres_alloc_str);
	return mb * (j->pn_min_memory & MEM_PER_CPU ? j->num_cpus : MAX_OF(j->num_nodes, 1u));
}

static int shared_of(uint16_t v)
{
	switch (v) {
	case JOB_SHARED_NONE: return SHARED_NONE;
	case JOB_SHARED_OK: return SHARED_OK;
	case JOB_SHARED_USER: return SHARED_USER;
	default: return SHARED_UNSET;
	}
}

static const char *joined_detail(struct scratch *s, const slurm_job_info_t *j)
{
	struct buf b = BUF(1 << 20);

	for (uint32_t i = 0; i < j->gres_detail_cnt; i++)
		buf_printf(&b, "%s%s", i ? ";" : "", str_or(j->gres_detail_str[i], ""));
	return b.len ? scratch_str(s, buf_take(&b)) : NULL;
}

/* What the job has on each node. Where Slurm's own numbers cannot be had the totals are split evenly. */
static void fill_on_nodes(struct scratch *s, const slurm_job_info_t *from, struct job *j)
{
	const struct compat_resources *res = compat_resources(from);
	_cleanup_hostlist_ struct hostlist nodes = HOSTLIST_INIT;
	uint32_t n;

	if (str_empty(from->nodes) || hostlist_parse(&nodes, res ? res->nodes : from->nodes, NULL) < 0)
		return;
	if (res && nodes.n != res->nhosts)
		res = NULL;
	n = (uint32_t)nodes.n;
	j->on_nodes = scratch_alloc(s, n, sizeof(*j->on_nodes));
	j->n_on_nodes = n;
	for (uint32_t i = 0; i < n; i++) {
		struct job_on_node *on = &j->on_nodes[i];

		on->node = scratch_str(s, TAKE_PTR(nodes.names[i]));
		on->cpus = res ? res->cpus[i] : j->cpus / n + (i < j->cpus % n);
		on->memory_mb = res ? res->memory_allocated[i] : j->memory_mb / n;
		on->gpus = from->gres_detail_cnt == n ? words_gpus(from->gres_detail_str[i])
		                                      : j->gpus / n + (i < j->gpus % n);
	}
}

static void fill_job(struct scratch *s, struct names *names, const slurm_job_info_t *from, bool detail, struct job *j)
{
	*j = (struct job) {
		.id = compat_job_id(from),
		.array_job_id = from->array_job_id,
		.array_task_id = task_of(from->array_job_id, from->array_task_id),
		.array_tasks = from->array_bitmap ? (uint32_t)MAX_OF(slurm_bit_set_count(from->array_bitmap), 1) : 1,
		.het_job_id = from->het_job_id,
		.state = state_of(from->job_state),
		.flags = flags_of(from->job_state),
		.uid = from->user_id,
		.gid = from->group_id,
		.priority = from->priority,
		.cpus = from->num_cpus,
		.n_nodes = from->num_nodes,
		.restarts = from->restart_cnt,
		.time_limit_min = from->time_limit == NO_VAL ? 0 : from->time_limit,
		.gpus = gpus_of(from),
		.exit_status = (int32_t)(from->exit_code >> 8 & 0xff),
		.exit_signal = (int32_t)(from->exit_code & 0x7f),
		.prolog_failed = from->exit_code == ESLURMD_PROLOG_FAILED,
		.memory_mb = memory_of(from),
		.submitted = from->submit_time * USEC_SEC,
		.eligible = from->eligible_time * USEC_SEC,
		.started = from->start_time * USEC_SEC,
		.ended = from->end_time * USEC_SEC,
		.preempted = from->preempt_time * USEC_SEC,
		.name = from->name,
		.user = str_empty(from->user_name) ? user_name(names, from->user_id) : from->user_name,
		.account = from->account,
		.partition = from->partition,
		.qos = from->qos,
		.reservation = from->resv_name,
		.reason = slurm_job_state_reason_string(from->state_reason),
		.reason_detail = from->state_desc,
		.extra = from->extra,
		.comment = from->comment,
		.admin_comment = from->admin_comment,
		.nodes = from->nodes,
		.batch_host = from->batch_host,
		.excluded = from->exc_nodes,
		.required = from->req_nodes,
		.features = from->features,
		.prefer = from->prefer,
		.work_dir = from->work_dir,
		.gres = str_empty(from->gres_total) ? from->tres_per_node : from->gres_total,
		.gres_detail = joined_detail(s, from),
		.tres_alloc = from->tres_alloc_str,
		.shared = shared_of(from->shared),
	};
	if (detail)
		fill_on_nodes(s, from, j);
}

/* Whose it is, how it stands and why: all that tells when it changes, and nothing that changes by itself while a job waits. */
static void fill_lean(struct names *names, const slurm_job_info_t *from, struct job *j)
{
	int state = state_of(from->job_state);

	*j = (struct job) {
		.id = compat_job_id(from),
		.state = state,
		.flags = flags_of(from->job_state),
		.uid = from->user_id,
		.priority = from->priority,
		.restarts = from->restart_cnt,
		.prolog_failed = from->exit_code == ESLURMD_PROLOG_FAILED,
		.submitted = from->submit_time * USEC_SEC,
		.started = state == JOB_PENDING ? 0 : from->start_time * USEC_SEC, /* a guess, until then */
		.ended = state == JOB_PENDING ? 0 : from->end_time * USEC_SEC,
		.preempted = from->preempt_time * USEC_SEC,
		.n_nodes = str_empty(from->req_nodes) ? 0 : from->num_nodes, /* beside those nodes it says something */
		.name = from->name,
		.user = str_empty(from->user_name) ? user_name(names, from->user_id) : from->user_name,
		.partition = from->partition,
		.qos = from->qos,
		.reason = slurm_job_state_reason_string(from->state_reason),
		.reason_detail = from->state_desc,
		.extra = from->extra,
		.admin_comment = from->admin_comment,
		.nodes = from->nodes,
		.excluded = from->exc_nodes,
		.required = from->req_nodes,
	};
}

static void answer_jobs(const struct slurm_request *rq, const job_info_msg_t *m, struct buf *out)
{
	struct scratch scratch = { 0 };
	struct names names = { .scratch = &scratch };
	struct slurm_result r = { .outcome = SLURM_OK, .as_of = rq->lean ? 0 : m->last_update * USEC_SEC };
	bool one = rq->verb == SLURM_LOAD_JOB;

	r.jobs = scratch_alloc(&scratch, m->record_count, sizeof(struct job));
	for (uint32_t i = 0; i < m->record_count; i++) {
		/* asked for an array's first job, Slurm tells of all */
		if (one && compat_job_id(&m->job_array[i]) != rq->job_id)
			continue;
		if (rq->lean)
			fill_lean(&names, &m->job_array[i], &r.jobs[r.n++]);
		else
			fill_job(&scratch, &names, &m->job_array[i], rq->detail, &r.jobs[r.n++]);
	}
	if (one && r.n == 0)
		rpc_fail(rq, ESLURM_INVALID_JOB_ID, out);
	else
		rpc_done(rq, &r, out);
	scratch_done(&scratch);
}

static uint16_t show_flags(const struct slurm_request *rq)
{
	return (uint16_t)(SHOW_ALL | SHOW_LOCAL | (rq->detail ? SHOW_DETAIL : 0));
}

static void answer_load(const struct slurm_request *rq, int rc, job_info_msg_t *m, struct buf *out)
{
	struct slurm_result unchanged = { .outcome = SLURM_UNCHANGED, .as_of = rq->since };
	int code = rpc_code(rc);

	if (code == SLURM_NO_CHANGE_IN_DATA)
		rpc_done(rq, &unchanged, out);
	else if (code || !m)
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
	else
		answer_jobs(rq, m, out);
	if (m)
		slurm_free_job_info_msg(m);
}

void rpc_load_jobs(const struct slurm_request *rq, struct buf *out)
{
	job_info_msg_t *m = NULL;
	int rc;

	errno = 0;
	rc = slurm_load_jobs((time_t)(rq->since / USEC_SEC), &m, show_flags(rq));
	answer_load(rq, rc, m, out);
}

void rpc_load_job(const struct slurm_request *rq, struct buf *out)
{
	job_info_msg_t *m = NULL;
	int rc;

	errno = 0;
	rc = compat_load_job(&m, rq->job_id, show_flags(rq));
	answer_load(rq, rc, m, out);
}

void rpc_load_job_states(const struct slurm_request *rq, struct buf *out)
{
	struct slurm_result r = { .outcome = SLURM_OK };
	job_state_response_msg_t *m = NULL;
	int code;

	errno = 0;
	code = rpc_code(slurm_load_job_state(0, NULL, &m));
	if (code || !m) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return;
	}
	r.n = m->jobs_count;
	r.states = mem_alloc_n(r.n, sizeof(struct job_brief));
	for (uint32_t i = 0; i < r.n; i++) {
		const job_state_response_job_t *from = &m->jobs[i];

		r.states[i] = (struct job_brief) {
			.id = from->job_id,
			.array_job_id = from->array_job_id,
			.array_task_id = task_of(from->array_job_id, from->array_task_id),
			.state = state_of(from->state),
			.flags = flags_of(from->state),
		};
	}
	rpc_done(rq, &r, out);
	free(r.states);
	slurm_free_job_state_response_msg(m);
}
