/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the controller tells about itself: statistics, configuration, partitions.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/rpc.h"
#include "slurm/words.h"

static uint32_t mean(uint64_t sum, uint64_t n)
{
	return n ? (uint32_t)MIN_OF(sum / n, (uint64_t)UINT32_MAX) : 0;
}

static const char *rpc_name(struct scratch *s, uint16_t id)
{
	const char *name = words_rpc_name(id);

	return name ? name : scratch_str(s, str_printf("%" PRIu16, id));
}

void rpc_load_stats(const struct slurm_request *rq, struct buf *out)
{
	stats_info_request_msg_t ask = { .command_id = STAT_COMMAND_GET };
	stats_info_response_msg_t *m = NULL;
	struct slurm_stats st = { 0 };
	struct slurm_result r = { .outcome = SLURM_OK, .stats = &st, .n = 1 };
	struct scratch scratch = { 0 };
	int64_t span_s;
	int code;

	errno = 0;
	code = rpc_code(slurm_get_statistics(&m, &ask));
	if (code || !m) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return;
	}
	span_s = (int64_t)m->req_time - (int64_t)m->req_time_start;
	st = (struct slurm_stats) {
		.taken = m->req_time * USEC_SEC,
		.jobs_submitted = m->jobs_submitted,
		.jobs_started = m->jobs_started,
		.jobs_completed = m->jobs_completed,
		.jobs_failed = m->jobs_failed,
		.jobs_cancelled = m->jobs_canceled,
		.jobs_pending = m->jobs_pending,
		.jobs_running = m->jobs_running,
		.threads = m->server_thread_count,
		.agent_queue = m->agent_queue_size,
		.dbd_queue = m->dbd_agent_queue_size,
		.cycle_last = m->schedule_cycle_last,
		.cycle_mean = mean(m->schedule_cycle_sum, m->schedule_cycle_counter),
		.bf_cycle_last = m->bf_cycle_last,
		.bf_cycle_mean = mean(m->bf_cycle_sum, m->bf_cycle_counter),
		.cycles_per_minute = span_s > 0 ? mean((uint64_t)m->schedule_cycle_counter * 60, (uint64_t)span_s) : 0,
		.cycle_mean_depth = mean(m->schedule_cycle_depth, m->schedule_cycle_counter),
		.bf_depth_mean = mean(m->bf_depth_sum, m->bf_cycle_counter),
		.bf_jobs_total = m->bf_backfilled_jobs,
		.bf_jobs_cycle = m->bf_last_backfilled_jobs,
		.bf_jobs_het = m->bf_backfilled_het_jobs,
		.schedule_queue = m->schedule_queue_len,
		.n_rpcs = m->rpc_type_size,
		.rpcs = scratch_alloc(&scratch, m->rpc_type_size, sizeof(struct slurm_rpc_stat)),
	};
	for (uint32_t i = 0; i < m->rpc_type_size; i++)
		st.rpcs[i] = (struct slurm_rpc_stat) {
			.type = rpc_name(&scratch, m->rpc_type_id[i]),
			.count = m->rpc_type_cnt[i],
			.mean = mean(m->rpc_type_time[i], m->rpc_type_cnt[i]),
		};
	r.as_of = st.taken;
	rpc_done(rq, &r, out);
	scratch_done(&scratch);
	slurm_free_stats_response_msg(m);
}

/* PrologFlags as slurm.conf writes them. */
static void add_prolog_flags(struct buf *b, uint32_t flags)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ PROLOG_FLAG_ALLOC, "Alloc" },
		{ PROLOG_FLAG_CONTAIN, "Contain" },
		{ PROLOG_FLAG_DEFER_BATCH, "DeferBatch" },
		{ PROLOG_FLAG_FORCE_REQUEUE_ON_FAIL, "ForceRequeueOnFail" },
		{ PROLOG_FLAG_NOHOLD, "NoHold" },
		{ PROLOG_FLAG_RUN_IN_JOB, "RunInJob" },
		{ PROLOG_FLAG_SERIAL, "Serial" },
		{ PROLOG_FLAG_X11, "X11" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (flags & names[i].bit)
			buf_printf(b, "%s%s", b->len ? "," : "", names[i].name);
}

static uint32_t seconds(uint16_t v)
{
	return v == NO_VAL16 || v == INFINITE16 ? 0 : v;
}

void rpc_load_conf(const struct slurm_request *rq, struct buf *out)
{
	_cleanup_buf_ struct buf flags = BUF(256);
	slurm_conf_t *m = NULL;
	struct slurm_conf c;
	struct slurm_result r = { .outcome = SLURM_OK, .conf = &c, .n = 1 };
	struct err err = { 0 };
	int code;

	errno = 0;
	code = rpc_code(slurm_load_ctl_conf(0, &m));
	if (code || !m) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return;
	}
	add_prolog_flags(&flags, m->prolog_flags);
	c = (struct slurm_conf) {
		.cluster = m->cluster_name,
		.version = m->version,
		.prolog_flags = buf_text(&flags),
		.preempt_type = m->preempt_type,
		.scheduler_parameters = m->sched_params,
		.kill_wait_s = m->kill_wait,
		.prolog_timeout_s = seconds(compat_prolog_timeout(m)),
		.message_timeout_s = m->msg_timeout,
		.min_job_age_s = m->min_job_age,
		.inactive_limit_s = seconds(m->inactive_limit),
		.max_jobs = m->max_job_cnt,
		.accounting = str_eq(m->accounting_storage_type, "accounting_storage/slurmdbd"),
	};
	r.as_of = m->last_update * USEC_SEC;
	if (words_version(m->version, &c.version_number, &err) < 0)
		rpc_refuse(rq, err_text(&err), out);
	else
		rpc_done(rq, &r, out);
	compat_free_conf(m);
}

void rpc_load_partitions(const struct slurm_request *rq, struct buf *out)
{
	struct slurm_result r = { .outcome = SLURM_OK };
	partition_info_msg_t *m = NULL;
	int code;

	errno = 0;
	code = rpc_code(slurm_load_partitions((time_t)(rq->since / USEC_SEC), &m, SHOW_ALL | SHOW_LOCAL));
	if (code == SLURM_NO_CHANGE_IN_DATA) {
		r.outcome = SLURM_UNCHANGED;
		r.as_of = rq->since;
		rpc_done(rq, &r, out);
		return;
	}
	if (code || !m) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return;
	}
	r.n = m->record_count;
	r.as_of = m->last_update * USEC_SEC;
	r.partitions = mem_alloc_n(r.n, sizeof(struct spartition));
	for (uint32_t i = 0; i < r.n; i++) {
		const partition_info_t *p = &m->partition_array[i];

		r.partitions[i] = (struct spartition) {
			.name = p->name,
			.nodes = p->nodes,
			.cpus = p->total_cpus,
			.n_nodes = p->total_nodes,
			.priority_tier = p->priority_tier,
			.max_time_min = p->max_time == NO_VAL ? 0 : p->max_time,
			.up = p->state_up == PARTITION_UP,
			.is_default = (p->flags & PART_FLAG_DEFAULT) != 0,
		};
	}
	rpc_done(rq, &r, out);
	free(r.partitions);
	slurm_free_partition_info_msg(m);
}
