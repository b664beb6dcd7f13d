/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One call of a hook API, from start to end, in a small program that does nothing else: it blocks, and it keeps trying
 * while the other side is away (restarting, failing over) until its deadline. Starting fast matters: a prolog runs for
 * every job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

#define HOOK_ANSWER_MAX (256u << 10)
#define HOOK_TOKEN_MAX 4096
#define HOOK_CA_MAX (1u << 20)

struct hook_call {
	const char *method; /* "GET", "POST" */
	const char *url;    /* the whole address */
	const char *token;  /* bearer, NULL = none; never shown */
	const char *ca_file; /* for https; NULL = the system's CAs */
	const char *body;   /* JSON, NULL = none */
	usec_t deadline;    /* monotonic; the call is over by then, whatever happens */
	bool tell_time; /* adds ?timeoutMs=N, how long this try waits: the other side answers a little before */
	usec_t attempt_max; /* a single try that hears nothing for this long is given up; 0 = only the deadline counts */
	bool retry; /* while unreachable, busy (429) or broken (5xx but 504): again, with back-off, until the deadline */
};

struct hook_answer {
	int status;
	struct buf body;
	unsigned attempts;
};

/* 0 when there is an answer of any status that is not retried; else an error that names the address and the cause:
 * -ETIMEDOUT at the deadline, with what the last try saw. Free ret->body with buf_done(). */
int hook_call(const struct hook_call *call, struct hook_answer *ret, struct err *err);

/* The token from a file: white space around it is dropped; empty, too large, or with blanks or control characters inside
 * is an error. The caller frees. */
int hook_read_token(const char *path, char **ret, struct err *err);
