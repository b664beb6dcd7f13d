/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests carried out through libslurm. Runs in a worker process only, one request at a time: any of these may block
 * for half a minute, and libslurm may end the process. Never called in the daemon.
 *
 * rpc.c has the frame of it: table of verbs, version check, errors. rpc_jobs.c, rpc_nodes.c, rpc_stats.c and rpc_record.c read;
 * rpc_submit.c and rpc_nodes.c change. Strings in a result are borrowed from libslurm's answer and packed before it is
 * freed.
 */
#pragma once

#include "base/buf.h"
#include "port/slurm.h"

/* Reads the configuration and loads libslurm's plugins; once. Ends the process when it is broken. */
void rpc_init(const char *conf);

/* Carries out the request and appends its answer as one frame. Gives the size of what Slurm told, also when the answer is only
 * that it is the same as before. */
size_t rpc_run(const struct slurm_request *rq, struct buf *out);

/* What an error number of Slurm's means for a caller: RETRY, REFUSED or GONE. `verb` matters where the same number is
 * about the thing itself in one verb and about an argument in another. */
enum slurm_outcome rpc_class(int code, enum slurm_verb verb);

/* ---- between rpc*.c */

/* Memory that lives until an answer is packed. */
struct scratch {
	void **list;
	size_t n, size;
};
void *scratch_alloc(struct scratch *s, size_t n, size_t size); /* zeroed */
char *scratch_str(struct scratch *s, char *text); /* takes a malloc'd text over */
void scratch_done(struct scratch *s);

/* The number behind a libslurm function's return value: 0, the value itself, or errno. Set errno to 0 before the call.
 */
int rpc_code(int rc);

/* A failed call: its class, number and Slurm's own words. */
void rpc_fail(const struct slurm_request *rq, int code, struct buf *out);
/* A request that makes no sense, found before Slurm sees it. */
void rpc_refuse(const struct slurm_request *rq, const char *why, struct buf *out);
/* What is there is not what the request expects; nothing was changed. */
void rpc_conflict(const struct slurm_request *rq, const char *why, struct buf *out);
/* Done: appends the result; one that is too large for a frame becomes a refusal. */
void rpc_done(const struct slurm_request *rq, struct slurm_result *result, struct buf *out);
/* Done, with nothing to tell, or failed: for calls that only change something. */
void rpc_done_or_fail(const struct slurm_request *rq, int rc, struct buf *out);

void rpc_load_jobs(const struct slurm_request *rq, struct buf *out);
void rpc_load_job(const struct slurm_request *rq, struct buf *out);
void rpc_load_job_states(const struct slurm_request *rq, struct buf *out);
void rpc_load_record(const struct slurm_request *rq, struct buf *out);
void rpc_load_nodes(const struct slurm_request *rq, struct buf *out);
void rpc_load_node(const struct slurm_request *rq, struct buf *out);
void rpc_load_partitions(const struct slurm_request *rq, struct buf *out);
void rpc_load_stats(const struct slurm_request *rq, struct buf *out);
void rpc_load_conf(const struct slurm_request *rq, struct buf *out);
void rpc_submit(const struct slurm_request *rq, struct buf *out);
void rpc_cancel(const struct slurm_request *rq, struct buf *out);
void rpc_signal(const struct slurm_request *rq, struct buf *out);
void rpc_change_job(const struct slurm_request *rq, struct buf *out);
void rpc_change_node(const struct slurm_request *rq, struct buf *out);
void rpc_create_node(const struct slurm_request *rq, struct buf *out);
void rpc_delete_node(const struct slurm_request *rq, struct buf *out);
