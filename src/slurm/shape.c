/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/shape.h"

#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "port/slurm.h"

#define KIND_OF(x)                                                                                                     \
	_Generic((x),                                                                                                  \
	        bool: KIND_BOOL,                                                                                       \
	        uint16_t: KIND_U16,                                                                                    \
	        int: KIND_INT,                                                                                         \
	        uint32_t: KIND_U32,                                                                                    \
	        uint64_t: KIND_U64,                                                                                    \
	        int64_t: KIND_I64,                                                                                     \
	        const char *: KIND_TEXT)
#define F(type, member) { offsetof(struct type, member), KIND_OF(((struct type *)0)->member) }
#define SHAPE(type, table) { .fields = (table), .n = ARRAY_LEN(table), .size = sizeof(struct type) }

static const struct field job_fields[] = {
	F(job, id),
	F(job, array_job_id),
	F(job, array_task_id),
	F(job, array_tasks),
	F(job, het_job_id),
	F(job, state),
	F(job, flags),
	F(job, uid),
	F(job, gid),
	F(job, priority),
	F(job, cpus),
	F(job, n_nodes),
	F(job, restarts),
	F(job, time_limit_min),
	F(job, gpus),
	F(job, exit_status),
	F(job, exit_signal),
	F(job, prolog_failed),
	F(job, memory_mb),
	F(job, submitted),
	F(job, eligible),
	F(job, started),
	F(job, ended),
	F(job, preempted),
	F(job, name),
	F(job, user),
	F(job, account),
	F(job, partition),
	F(job, qos),
	F(job, reservation),
	F(job, reason),
	F(job, reason_detail),
	F(job, extra),
	F(job, comment),
	F(job, admin_comment),
	F(job, nodes),
	F(job, batch_host),
	F(job, excluded),
	F(job, required),
	F(job, features),
	F(job, prefer),
	F(job, work_dir),
	F(job, gres),
	F(job, gres_detail),
	F(job, tres_alloc),
	F(job, user_cancelled_by),
	F(job, shared),
	F(job, n_on_nodes),
};
static const struct shape job_shape = SHAPE(job, job_fields);

static const struct field on_node_fields[] = {
	F(job_on_node, node),
	F(job_on_node, cpus),
	F(job_on_node, gpus),
	F(job_on_node, memory_mb),
};
static const struct shape on_node_shape = SHAPE(job_on_node, on_node_fields);

static const struct field brief_fields[] = {
	F(job_brief, id),    F(job_brief, array_job_id), F(job_brief, array_task_id),
	F(job_brief, state), F(job_brief, flags),
};
static const struct shape brief_shape = SHAPE(job_brief, brief_fields);

static const struct field node_fields[] = {
	F(snode, name),           F(snode, hostname),
	F(snode, address),        F(snode, partitions),
	F(snode, features),       F(snode, features_active),
	F(snode, reason),         F(snode, extra),
	F(snode, comment),        F(snode, gres),
	F(snode, gres_used),      F(snode, version),
	F(snode, state),          F(snode, flags),
	F(snode, cpus),           F(snode, cpus_alloc),
	F(snode, gpus),           F(snode, gpus_alloc),
	F(snode, reason_uid),     F(snode, port),
	F(snode, memory_mb),      F(snode, memory_alloc_mb),
	F(snode, reason_set),     F(snode, booted),
	F(snode, slurmd_started), F(snode, last_busy),
};
static const struct shape node_shape = SHAPE(snode, node_fields);

static const struct field partition_fields[] = {
	F(spartition, name),          F(spartition, nodes),        F(spartition, cpus), F(spartition, n_nodes),
	F(spartition, priority_tier), F(spartition, max_time_min), F(spartition, up),   F(spartition, is_default),
};
static const struct shape partition_shape = SHAPE(spartition, partition_fields);

static const struct field stats_fields[] = {
	F(slurm_stats, taken),
	F(slurm_stats, jobs_submitted),
	F(slurm_stats, jobs_started),
	F(slurm_stats, jobs_completed),
	F(slurm_stats, jobs_failed),
	F(slurm_stats, jobs_cancelled),
	F(slurm_stats, jobs_pending),
	F(slurm_stats, jobs_running),
	F(slurm_stats, threads),
	F(slurm_stats, agent_queue),
	F(slurm_stats, dbd_queue),
	F(slurm_stats, cycle_last),
	F(slurm_stats, cycle_mean),
	F(slurm_stats, bf_cycle_last),
	F(slurm_stats, bf_cycle_mean),
	F(slurm_stats, cycles_per_minute),
	F(slurm_stats, cycle_mean_depth),
	F(slurm_stats, bf_depth_mean),
	F(slurm_stats, bf_jobs_total),
	F(slurm_stats, bf_jobs_cycle),
	F(slurm_stats, bf_jobs_het),
	F(slurm_stats, schedule_queue),
	F(slurm_stats, n_rpcs),
};
static const struct shape stats_shape = SHAPE(slurm_stats, stats_fields);

static const struct field rpc_fields[] = {
	F(slurm_rpc_stat, type),
	F(slurm_rpc_stat, count),
	F(slurm_rpc_stat, mean),
};
static const struct shape rpc_shape = SHAPE(slurm_rpc_stat, rpc_fields);

static const struct field conf_fields[] = {
	F(slurm_conf, cluster),
	F(slurm_conf, version),
	F(slurm_conf, prolog_flags),
	F(slurm_conf, preempt_type),
	F(slurm_conf, scheduler_parameters),
	F(slurm_conf, kill_wait_s),
	F(slurm_conf, prolog_timeout_s),
	F(slurm_conf, message_timeout_s),
	F(slurm_conf, min_job_age_s),
	F(slurm_conf, inactive_limit_s),
	F(slurm_conf, max_jobs),
	F(slurm_conf, version_number),
	F(slurm_conf, accounting),
};
static const struct shape conf_shape = SHAPE(slurm_conf, conf_fields);

static const struct field spec_fields[] = {
	F(job_spec, name),          F(job_spec, script),       F(job_spec, extra),
	F(job_spec, comment),       F(job_spec, account),      F(job_spec, partition),
	F(job_spec, qos),           F(job_spec, reservation),  F(job_spec, features),
	F(job_spec, prefer),        F(job_spec, excluded),     F(job_spec, required),
	F(job_spec, work_dir),      F(job_spec, std_out),      F(job_spec, std_err),
	F(job_spec, tres_per_node), F(job_spec, n_env),        F(job_spec, uid),
	F(job_spec, gid),           F(job_spec, cpus),         F(job_spec, time_limit_min),
	F(job_spec, memory_mb),     F(job_spec, has_priority), F(job_spec, priority),
	F(job_spec, shared),        F(job_spec, hold),         F(job_spec, kill_on_node_fail),
	F(job_spec, bell_host),     F(job_spec, bell_port),    F(job_spec, admin_comment),
};
const struct shape shape_spec = SHAPE(job_spec, spec_fields);

static const struct field job_change_fields[] = {
	F(job_change, what),     F(job_change, extra),    F(job_change, excluded),       F(job_change, comment),
	F(job_change, required), F(job_change, priority), F(job_change, time_limit_min), F(job_change, admin_comment),
};
const struct shape shape_job_change = SHAPE(job_change, job_change_fields);

static const struct field node_change_fields[] = {
	F(node_change, what),
	F(node_change, reason),
	F(node_change, extra),
	F(node_change, comment),
	F(node_change, features),
	F(node_change, expect),
	F(node_change, expect_drained),
	F(node_change, expect_answers),
	F(node_change, expect_or_down),
	F(node_change, expect_reason_uid),
	F(node_change, expect_reason),
	F(node_change, expect_reason_set),
	F(node_change, expect_extra_is),
	F(node_change, expect_extra),
};
const struct shape shape_node_change = SHAPE(node_change, node_change_fields);

static const struct field request_fields[] = {
	F(slurm_request, job_id), F(slurm_request, node),      F(slurm_request, text),   F(slurm_request, since),
	F(slurm_request, detail), F(slurm_request, whole_job), F(slurm_request, signal), F(slurm_request, timeout),
	F(slurm_request, digest), F(slurm_request, lean),
};
const struct shape shape_request = SHAPE(slurm_request, request_fields);

static const struct field result_fields[] = {
	F(slurm_result, code),  F(slurm_result, message), F(slurm_result, maybe_done),
	F(slurm_result, as_of), F(slurm_result, job_id),
};
const struct shape shape_result = SHAPE(slurm_result, result_fields);

#define SIZES_DIFFER (sizeof(void *) != 8)

/* A struct that changed its size has a field that its table does not know yet. (Sizes where pointers have 64 bits.) */
static_assert(SIZES_DIFFER ||
                      (sizeof(struct job) == 320 && sizeof(struct job_on_node) == 24 && sizeof(struct job_brief) == 20),
              "job");
static_assert(SIZES_DIFFER || (sizeof(struct snode) == 176 && sizeof(struct spartition) == 40), "node, partition");
static_assert(SIZES_DIFFER || (sizeof(struct slurm_stats) == 128 && sizeof(struct slurm_rpc_stat) == 24), "stats");
static_assert(SIZES_DIFFER || (sizeof(struct slurm_conf) == 72 && sizeof(struct job_spec) == 216), "conf, spec");
static_assert(SIZES_DIFFER || (sizeof(struct job_change) == 56 && sizeof(struct node_change) == 80), "changes");

const struct payload payloads[PAYLOADS] = {
	{ &job_shape, &on_node_shape, offsetof(struct slurm_result, jobs), offsetof(struct job, on_nodes),
	  offsetof(struct job, n_on_nodes) },
	{ &brief_shape, NULL, offsetof(struct slurm_result, states), 0, 0 },
	{ &node_shape, NULL, offsetof(struct slurm_result, nodes), 0, 0 },
	{ &partition_shape, NULL, offsetof(struct slurm_result, partitions), 0, 0 },
	{ &stats_shape, &rpc_shape, offsetof(struct slurm_result, stats), offsetof(struct slurm_stats, rpcs),
	  offsetof(struct slurm_stats, n_rpcs) },
	{ &conf_shape, NULL, offsetof(struct slurm_result, conf), 0, 0 },
};
