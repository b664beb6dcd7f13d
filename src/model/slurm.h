/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's things as plain values: jobs, nodes, partitions, the controller's statistics, and what we ask of it. Numbers
 * are our own, not libslurm's, so that nothing here changes with Slurm's version. Text is UTF-8 or what Slurm held;
 * NULL means "not set".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum job_state {
	JOB_UNKNOWN,
	JOB_PENDING,
	JOB_RUNNING,
	JOB_SUSPENDED,
	JOB_COMPLETE,
	JOB_CANCELLED,
	JOB_FAILED,
	JOB_TIMEOUT,
	JOB_NODE_FAIL,
	JOB_PREEMPTED,
	JOB_BOOT_FAIL,
	JOB_DEADLINE,
	JOB_OOM,
};

enum job_flag { /* bits beside the state */
	        JOBF_COMPLETING = 1 << 0,
	        JOBF_CONFIGURING = 1 << 1,
	        JOBF_REQUEUED = 1 << 2,
	        JOBF_REQUEUE_HOLD = 1 << 3,
	        JOBF_RESIZING = 1 << 4,
	        JOBF_STOPPED = 1 << 5,
	        JOBF_STAGE_OUT = 1 << 6,
	        JOBF_RESV_DEL_HOLD = 1 << 7,
	        JOBF_SIGNALING = 1 << 8,
};

enum node_state { NODE_UNKNOWN, NODE_DOWN, NODE_IDLE, NODE_ALLOCATED, NODE_MIXED, NODE_ERROR, NODE_FUTURE };

enum node_flag {
	NODEF_DRAIN = 1 << 0,
	NODEF_COMPLETING = 1 << 1,
	NODEF_NO_RESPOND = 1 << 2,
	NODEF_FAIL = 1 << 3,
	NODEF_MAINT = 1 << 4,
	NODEF_RESERVED = 1 << 5,
	NODEF_REBOOT_REQUESTED = 1 << 6,
	NODEF_REBOOT_ISSUED = 1 << 7,
	NODEF_POWERED_DOWN = 1 << 8,
	NODEF_POWERING_UP = 1 << 9,
	NODEF_POWERING_DOWN = 1 << 10,
	NODEF_DYNAMIC = 1 << 11,
	NODEF_INVALID_REG = 1 << 12,
	NODEF_PLANNED = 1 << 13,
};

/* enum job_shared, JOB_SHARED_UNSET = the cluster's default */
enum job_shared { SHARED_UNSET, SHARED_NONE, SHARED_OK, SHARED_USER };

#define SLURM_TIME_LIMIT_INFINITE UINT32_MAX
#define SLURM_NO_PRIORITY 0

struct job {
	uint32_t id, array_job_id, array_task_id; /* array_job_id 0 = no array; task UINT32_MAX = the unsplit rest */
	uint32_t array_tasks; /* how many pending tasks an unsplit array record stands for; 1 for all others */
	uint32_t het_job_id;
	int state;            /* enum job_state */
	uint32_t flags;       /* enum job_flag */
	uint32_t uid, gid;
	uint32_t priority, cpus, n_nodes, restarts;
	uint32_t time_limit_min; /* SLURM_TIME_LIMIT_INFINITE */
	uint32_t gpus;           /* allocated, or asked for while pending */
	int32_t exit_status;     /* what the script returned, 0 … 255 */
	int32_t exit_signal;     /* or the signal that ended it */
	bool prolog_failed;      /* it never started: Slurm cancelled it itself */
	uint64_t memory_mb;      /* allocated or asked for, whole job */
	usec_t submitted, eligible, started, ended, preempted;
	const char *name, *user, *account, *partition, *qos, *reservation;
	const char *reason, *reason_detail; /* Slurm's own words for why it waits */
	const char *extra, *comment, *admin_comment;
	const char *nodes, *batch_host, *excluded, *required; /* hostlists */
	const char *features, *prefer, *work_dir, *gres, *gres_detail, *tres_alloc;
	const char *user_cancelled_by; /* who ended it, when Slurm tells */
	int shared;             /* enum job_shared */
	struct job_on_node *on_nodes;  /* allocated resources per node, only when asked for with detail */
	uint32_t n_on_nodes;
};

struct job_on_node {
	const char *node;
	uint32_t cpus, gpus;
	uint64_t memory_mb;
};

struct job_brief { /* what the cheap poll gives */
	uint32_t id, array_job_id, array_task_id;
	int state;
	uint32_t flags;
};

struct snode {
	const char *name, *hostname, *address, *partitions, *features, *features_active;
	const char *reason, *extra, *comment, *gres, *gres_used, *version;
	int state;      /* enum node_state */
	uint32_t flags; /* enum node_flag */
	uint32_t cpus, cpus_alloc, gpus, gpus_alloc, reason_uid, port;
	uint64_t memory_mb, memory_alloc_mb;
	usec_t reason_set, booted, slurmd_started, last_busy;
};

struct spartition {
	const char *name, *nodes;
	uint32_t cpus, n_nodes, priority_tier, max_time_min;
	bool up, is_default;
};

struct slurm_rpc_stat {
	const char *type; /* "REQUEST_JOB_INFO" */
	uint32_t count;
	usec_t mean; /* mean duration */
};

struct slurm_stats {
	usec_t taken;
	uint32_t jobs_submitted, jobs_started, jobs_completed, jobs_failed, jobs_cancelled, jobs_pending, jobs_running;
	uint32_t threads, agent_queue, dbd_queue;
	usec_t cycle_last, cycle_mean, bf_cycle_last, bf_cycle_mean; /* spans */
	uint32_t cycles_per_minute, cycle_mean_depth, bf_depth_mean;
	uint32_t bf_jobs_total, bf_jobs_cycle, bf_jobs_het;
	uint32_t schedule_queue;
	struct slurm_rpc_stat *rpcs;
	uint32_t n_rpcs;
};

struct slurm_conf { /* what we need to know of the controller's configuration */
	const char *cluster, *version, *prolog_flags, *preempt_type, *scheduler_parameters;
	uint32_t kill_wait_s, prolog_timeout_s, message_timeout_s, min_job_age_s, inactive_limit_s, max_jobs;
	uint32_t version_number; /* major * 100 + minor: 2411 */
	bool accounting; /* there is a slurmdbd, which has records of jobs */
};

/* A job to submit: NULL and 0 mean "not set". Strings are passed as fields over RPC, never through a shell. */
struct job_spec {
	const char *name, *script, *extra, *comment, *admin_comment, *account, *partition, *qos, *reservation;
	const char *features, *prefer, *excluded, *required, *work_dir, *std_out, *std_err;
	const char *tres_per_node; /* "gres:gpu:h100:2" */
	const char *const *env;    /* "K=V" */
	uint32_t n_env;
	uint32_t uid, gid;
	uint32_t cpus, time_limit_min;
	uint64_t memory_mb; /* per node */
	bool has_priority;
	uint32_t priority;
	int shared;      /* enum job_shared */
	bool hold;       /* submitted with priority 0 */
	uint32_t kill_on_node_fail; /* 1 = the job ends when its node fails */
	const char *bell_host; /* the doorbell: slurmctld sends a message there when the job ends; NULL = none */
	uint16_t bell_port;
};

/* Changes to a job; only what its bits name. */
enum job_change_bit {
	JOB_CHANGE_EXTRA = 1 << 0,
	JOB_CHANGE_EXCLUDED = 1 << 1,
	JOB_CHANGE_COMMENT = 1 << 2,
	JOB_CHANGE_PRIORITY = 1 << 3,
	JOB_CHANGE_TIME_LIMIT = 1 << 4,
	JOB_CHANGE_REQUIRED = 1 << 5,
	JOB_CHANGE_ADMIN_COMMENT = 1 << 6, /* no job's owner can write that one */
};

struct job_change {
	uint32_t what;
	const char *extra, *excluded, *comment, *required, *admin_comment;
	uint32_t priority, time_limit_min;
};

enum node_change_bit {
	NODE_CHANGE_DRAIN = 1 << 0,   /* with reason */
	NODE_CHANGE_UNDRAIN = 1 << 1,
	NODE_CHANGE_REASON = 1 << 2,  /* of a node already drained */
	NODE_CHANGE_EXTRA = 1 << 3,
	NODE_CHANGE_COMMENT = 1 << 4,
	NODE_CHANGE_FEATURES = 1 << 5, /* available and active */
	NODE_CHANGE_RESUME = 1 << 6,
	NODE_CHANGE_DOWN = 1 << 7,    /* with reason */
};

/* The drain as it was read. What is there now must be the same, and the node must not be down; else nothing is changed and
 * the answer is SLURM_CONFLICT, so that a person's scontrol wins against a decision from older news. One node only. (Slurm
 * has no compare-and-set: the node is read once more just before the change.) */
struct node_change {
	uint32_t what;
	const char *reason, *extra, *comment, *features;
	bool expect; /* check what follows */
	bool expect_drained; /* the DRAIN flag; without it the three below do not matter */
	bool expect_answers; /* slurmd responds: else jobs would land on a node that cannot start them */
	bool expect_or_down; /* a node that is down is fine too; all else is checked as ever */
	uint32_t expect_reason_uid;
	const char *expect_reason;
	usec_t expect_reason_set;
	bool expect_extra_is; /* check Extra too, or only: down or drained does not matter then */
	const char *expect_extra; /* NULL = empty */
};
