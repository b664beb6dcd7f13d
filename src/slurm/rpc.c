/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/wire.h"
#include "slurm/words.h"

static void rpc_ping(const struct slurm_request *rq, struct buf *out);

static bool version_known; /* of the controller, and new enough */

static void (*const verbs[SLURM_VERBS])(const struct slurm_request *rq, struct buf *out) = {
	[SLURM_PING] = rpc_ping,
	[SLURM_LOAD_CONF] = rpc_load_conf,
	[SLURM_LOAD_STATS] = rpc_load_stats,
	[SLURM_LOAD_PARTITIONS] = rpc_load_partitions,
	[SLURM_LOAD_JOB_STATES] = rpc_load_job_states,
	[SLURM_LOAD_JOBS] = rpc_load_jobs,
	[SLURM_LOAD_JOB] = rpc_load_job,
	[SLURM_LOAD_RECORD] = rpc_load_record,
	[SLURM_LOAD_NODES] = rpc_load_nodes,
	[SLURM_LOAD_NODE] = rpc_load_node,
	[SLURM_SUBMIT] = rpc_submit,
	[SLURM_CANCEL] = rpc_cancel,
	[SLURM_SIGNAL] = rpc_signal,
	[SLURM_CHANGE_JOB] = rpc_change_job,
	[SLURM_CHANGE_NODE] = rpc_change_node,
	[SLURM_CREATE_NODE] = rpc_create_node,
	[SLURM_DELETE_NODE] = rpc_delete_node,
};

/* ---- scratch memory */

static void *scratch_keep(struct scratch *s, void *p)
{
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->list = mem_realloc_n(s->list, s->size, sizeof(void *));
	}
	s->list[s->n++] = p;
	return p;
}

void *scratch_alloc(struct scratch *s, size_t n, size_t size)
{
	return scratch_keep(s, mem_alloc_n(n, size));
}

char *scratch_str(struct scratch *s, char *text)
{
	return scratch_keep(s, text);
}

void scratch_done(struct scratch *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->list);
	*s = (struct scratch) { 0 };
}

/* ---- errors */

/* Those that the range of their number does not tell. */
static const struct {
	int code;
	enum slurm_outcome class;
} classes[] = {
	{ ESLURM_INVALID_JOB_ID, SLURM_GONE },
	{ ESLURM_INVALID_NODE_NAME, SLURM_GONE },
	{ ESLURM_ALREADY_DONE, SLURM_GONE },
	{ ESLURM_JOB_FINISHED, SLURM_GONE },
	{ ESLURMD_KILL_JOB_ALREADY_COMPLETE, SLURM_GONE },
	{ EINVAL, SLURM_REFUSED }, /* as it stands in an answer: a node's line that makes no sense */
	/* the state of things, not of the request */
	{ COMPAT_TOO_MANY_JOBS, SLURM_RETRY },
	{ ESLURM_NODES_BUSY, SLURM_RETRY },
	{ ESLURM_WRITING_TO_FILE, SLURM_RETRY },
	{ ESLURM_TRANSITION_STATE_NO_UPDATE, SLURM_RETRY },
	{ ESLURM_INTERCONNECT_FAILURE, SLURM_RETRY },
	{ ESLURM_JOB_PENDING, SLURM_RETRY },
	{ ESLURM_IN_STANDBY_MODE, SLURM_RETRY },
	{ ESLURM_IN_STANDBY_USE_BACKUP, SLURM_RETRY },
	{ ESLURM_TAKEOVER_NO_HEARTBEAT, SLURM_RETRY },
	{ ESLURM_LICENSES_UNAVAILABLE, SLURM_RETRY },
	{ ESLURM_ACCOUNTING_POLICY, SLURM_RETRY }, /* limits of how much at once, too */
	{ ESLURM_QOS_THRES, SLURM_RETRY },
	{ ESLURM_RESERVATION_BUSY, SLURM_RETRY },
	{ ESLURM_RESERVATION_NOT_USABLE, SLURM_RETRY },
	{ ESLURM_PORTS_BUSY, SLURM_RETRY },
	{ ESLURM_PROLOG_RUNNING, SLURM_RETRY },
	{ ESLURM_NODE_NOT_AVAIL, SLURM_RETRY },
	{ ESLURM_PARTITION_NOT_AVAIL, SLURM_RETRY },
	{ ESLURM_PARTITION_DOWN, SLURM_RETRY },
	{ ESLURM_PARTITION_IN_USE, SLURM_RETRY },
	{ ESLURM_INTERNAL, SLURM_RETRY },
	{ ESLURM_SUBMISSIONS_DISABLED, SLURM_RETRY },
	{ ESLURM_REBOOT_IN_PROGRESS, SLURM_RETRY },
	{ ESLURM_DEFER, SLURM_RETRY },
	{ ESLURM_DB_CONNECTION, SLURM_RETRY },
	{ ESLURM_DB_CONNECTION_INVALID, SLURM_RETRY },
	{ ESLURMD_TOO_MANY_RPCS, SLURM_RETRY },
};

static bool about_node(enum slurm_verb verb)
{
	return verb == SLURM_LOAD_NODE || verb == SLURM_CHANGE_NODE || verb == SLURM_DELETE_NODE;
}

enum slurm_outcome rpc_class(int code, enum slurm_verb verb)
{
	enum slurm_outcome class = words_is_transport(code) ? SLURM_RETRY : SLURM_REFUSED;

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (classes[i].code == code)
			class = classes[i].class;
	/* an unknown node in a job's node lists: nothing of ours is gone */
	if (code == ESLURM_INVALID_NODE_NAME && !about_node(verb))
		class = SLURM_REFUSED;
	if (class == SLURM_GONE && verb == SLURM_SUBMIT)
		class = SLURM_REFUSED;
	return class;
}

int rpc_code(int rc)
{
	if (rc >= 0)
		return rc;
	return errno ? errno : SLURM_UNEXPECTED_MSG_ERROR;
}

static void answer_failure(const struct slurm_request *rq, enum slurm_outcome outcome, int code, const char *why,
                           struct buf *out)
{
	_cleanup_buf_ struct buf text = BUF(8192);
	struct slurm_result r = { .outcome = outcome, .code = code };

	words_add_subject(&text, rq);
	buf_add_str(&text, ": ");
	str_add_safe(&text, why, strlen(why), 1024);
	r.message = buf_text(&text);
	/* A request that cannot have been sent is the exception: who asks again after a look is always right. */
	r.maybe_done = outcome == SLURM_RETRY && slurm_verb_changes(rq->verb) && words_is_transport(code) &&
	               code != SLURM_COMMUNICATIONS_CONNECTION_ERROR &&
	               code != SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR && code != EAGAIN;
	wire_add_result(out, &r, NULL);
	if (words_is_transport(code))
		version_known = false; /* who knows which controller answers next */
}

void rpc_fail(const struct slurm_request *rq, int code, struct buf *out)
{
	/* what a person can do about it */
	const char *hint = code == SLURM_PROTOCOL_AUTHENTICATION_ERROR
	                           ? " (does munged run on this host, with the cluster's key?)"
	                           : "";
	const char *own = slurm_strerror(code);
	_cleanup_free_ char *words = str_printf("%s%s", str_empty(own) ? "unknown error" : own, hint);

	answer_failure(rq, rpc_class(code, rq->verb), code, words, out);
}

void rpc_refuse(const struct slurm_request *rq, const char *why, struct buf *out)
{
	answer_failure(rq, SLURM_REFUSED, 0, why, out);
}

void rpc_conflict(const struct slurm_request *rq, const char *why, struct buf *out)
{
	answer_failure(rq, SLURM_CONFLICT, 0, why, out);
}

void rpc_done(const struct slurm_request *rq, struct slurm_result *result, struct buf *out)
{
	struct err err = { 0 };

	result->message = result->message ? result->message : "done";
	if (wire_add_result(out, result, &err) < 0)
		rpc_refuse(rq, err_text(&err), out);
}

void rpc_done_or_fail(const struct slurm_request *rq, int rc, struct buf *out)
{
	int code = rpc_code(rc);
	struct slurm_result r = { .outcome = SLURM_OK };

	if (code)
		rpc_fail(rq, code, out);
	else
		rpc_done(rq, &r, out);
}

/* ---- the controller's version, before anything else */

/* False when an answer (no) has been given instead. */
static bool check_version(const struct slurm_request *rq, struct buf *out)
{
	slurm_conf_t *conf = NULL;
	struct err err = { 0 };
	uint32_t number;
	int code;

	if (version_known)
		return true;
	errno = 0;
	code = rpc_code(slurm_load_ctl_conf(0, &conf));
	if (code || !conf) {
		rpc_fail(rq, code ? code : SLURM_UNEXPECTED_MSG_ERROR, out);
		return false;
	}
	if (words_version(conf->version, &number, &err) < 0)
		answer_failure(rq, SLURM_RETRY, 0, err_text(&err), out);
	else
		version_known = true;
	compat_free_conf(conf);
	return version_known;
}

/* Goes the way that all requests go, over the backup controllers too: "would a request work?" A time to come makes the
 * answer "nothing newer", which costs the controller nothing. */
static void rpc_ping(const struct slurm_request *rq, struct buf *out)
{
	struct slurm_result r = { .outcome = SLURM_OK };
	slurm_conf_t *conf = NULL;
	int code;

	errno = 0;
	code = rpc_code(slurm_load_ctl_conf(time(NULL) + 24 * 3600, &conf));
	if (conf)
		compat_free_conf(conf);
	if (code && code != SLURM_NO_CHANGE_IN_DATA)
		rpc_fail(rq, code, out);
	else
		rpc_done(rq, &r, out);
}

void rpc_init(const char *conf)
{
	/* libslurm may end the process here and does not say over which file: these are the words before its own */
	fprintf(stderr, "reading %s\n", conf);
	slurm_init(conf);
}

size_t rpc_run(const struct slurm_request *rq, struct buf *out)
{
	struct slurm_result unchanged = { .outcome = SLURM_UNCHANGED };
	size_t before = out->len, len;

	if (check_version(rq, out))
		verbs[rq->verb](rq, out);
	len = out->len - before;
	if (rq->digest && len > WIRE_HEADER &&
	    wire_digest(out->data + before + WIRE_HEADER, len - WIRE_HEADER) == rq->digest) {
		out->len = before;
		rpc_done(rq, &unchanged, out);
	}
	return len;
}
