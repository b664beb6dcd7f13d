/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * libslurm's headers, and everything that differs between its versions (24.11 … 26.05). Included by rpc*.c only: no
 * other file knows that Slurm has versions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Slurm's job states have the names of ours (model/slurm.h). They are called LIBSLURM_… here. */
#define JOB_PENDING LIBSLURM_JOB_PENDING
#define JOB_RUNNING LIBSLURM_JOB_RUNNING
#define JOB_SUSPENDED LIBSLURM_JOB_SUSPENDED
#define JOB_COMPLETE LIBSLURM_JOB_COMPLETE
#define JOB_CANCELLED LIBSLURM_JOB_CANCELLED
#define JOB_FAILED LIBSLURM_JOB_FAILED
#define JOB_TIMEOUT LIBSLURM_JOB_TIMEOUT
#define JOB_NODE_FAIL LIBSLURM_JOB_NODE_FAIL
#define JOB_PREEMPTED LIBSLURM_JOB_PREEMPTED
#define JOB_BOOT_FAIL LIBSLURM_JOB_BOOT_FAIL
#define JOB_DEADLINE LIBSLURM_JOB_DEADLINE
#define JOB_OOM LIBSLURM_JOB_OOM
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#undef JOB_PENDING
#undef JOB_RUNNING
#undef JOB_SUSPENDED
#undef JOB_COMPLETE
#undef JOB_CANCELLED
#undef JOB_FAILED
#undef JOB_TIMEOUT
#undef JOB_NODE_FAIL
#undef JOB_PREEMPTED
#undef JOB_BOOT_FAIL
#undef JOB_DEADLINE
#undef JOB_OOM

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
#error "libslurm 24.11 or newer is needed"
#endif
#define SINCE_25_05 (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0))
#define SINCE_25_11 (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0))
#define SINCE_26_05 (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0))

/* Exported by libslurm, declared in none of its headers. */
extern const char *slurm_job_state_reason_string(enum job_state_reason reason);
extern void slurm_free_stats_response_msg(stats_info_response_msg_t *msg);
extern int32_t slurm_bit_set_count(bitstr_t *bits);

/* "Unable to create job record, try again" of old, "too many jobs" of late: MaxJobCount. */
#define COMPAT_TOO_MANY_JOBS 2007

static inline void compat_free_conf(slurm_conf_t *c)
{
#if SINCE_26_05
	slurm_free_conf(c);
#else
	slurm_free_ctl_conf(c);
#endif
}

static inline void compat_set_job_id(job_desc_msg_t *d, uint32_t id)
{
#if SINCE_25_11
	d->step_id.job_id = id;
#else
	d->job_id = id;
#endif
}

static inline uint32_t compat_submitted_id(const submit_response_msg_t *m)
{
#if SINCE_25_11
	return m->step_id.job_id;
#else
	return m->job_id;
#endif
}

static inline uint32_t compat_job_id(const slurm_job_info_t *j)
{
#if SINCE_25_11
	return j->step_id.job_id;
#else
	return j->job_id;
#endif
}

static inline int compat_load_job(job_info_msg_t **ret, uint32_t id, uint16_t flags)
{
#if SINCE_26_05
	slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;

	step.job_id = id;
	return slurm_load_job(ret, step, flags);
#else
	return slurm_load_job(ret, id, flags);
#endif
}

static inline void compat_node_alloc(const node_info_t *n, uint32_t *ret_cpus, uint64_t *ret_memory_mb)
{
#if SINCE_25_05
	*ret_cpus = n->alloc_cpus;
	*ret_memory_mb = n->alloc_memory;
#else
	uint16_t cpus = 0;
	uint64_t memory = 0;

	if (n->select_nodeinfo) {
		slurm_get_select_nodeinfo(n->select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &cpus);
		slurm_get_select_nodeinfo(n->select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED, &memory);
	}
	*ret_cpus = cpus;
	*ret_memory_mb = memory;
#endif
}

static inline uint16_t compat_prolog_timeout(const slurm_conf_t *c)
{
#if SINCE_25_05
	return c->prolog_timeout;
#else
	return c->prolog_epilog_timeout;
#endif
}

static inline void compat_set_reason_uid(update_node_msg_t *m, uint32_t uid)
{
#if SINCE_26_05
	(void)m, (void)uid; /* the controller takes it from the credential */
#else
	m->reason_uid = uid;
#endif
}

/* What a job has on each of its nodes. libslurm hands it over as an opaque struct without any function to read it, so
 * its beginning is written down here; it is the same from 24.11 to 26.05 but for one pointer. */
struct compat_resources {
	void *core_bitmap, *core_bitmap_used;
	uint32_t cpu_array_cnt;
	uint16_t *cpu_array_value;
	uint32_t *cpu_array_reps;
	uint16_t *cpus, *cpus_used, *cores_per_socket;
	uint16_t cr_type;
	uint64_t *memory_allocated, *memory_used;
	uint32_t next_step_node_inx, nhosts;
	void *node_bitmap;
#if SINCE_26_05
	uint32_t *node_ranks;
#endif
	uint32_t node_req;
	char *nodes;
	uint32_t ncpus;
};

/* NULL when there is none, or when it does not look as we think: the numbers that Slurm also tells in public fields
 * must be found at their places before any pointer in it is followed. */
static inline const struct compat_resources *compat_resources(const slurm_job_info_t *j)
{
	const struct compat_resources *r = (const void *)j->job_resrcs;

	if (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 6, 0) || !r)
		return NULL;
	if (r->nhosts != j->num_nodes || r->ncpus != j->num_cpus || !r->cpus || !r->memory_allocated || !r->nodes)
		return NULL;
	return r;
}
