/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Status objects: what the API answers when it does not answer with an object. A function that can refuse a request
 * takes a `struct status *` last, fills it, and returns a negative errno; the server sends st->code and st->body as
 * they are. Texts, reasons and details are those of a real API server (tests/kube-samples).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"

struct status {
	int code;           /* HTTP status, 0 = not filled */
	char *body;         /* compact JSON text of the Status object */
	size_t len;
	int retry_after_s;  /* for the header Retry-After; 0 = none */
};

#define STATUS_INIT ((struct status) { 0 })

void status_done(struct status *st);
#define _cleanup_status_ _cleanup_(status_done)

/* Causes of a 422, collected one by one. Field paths are texts like "spec.containers[0].name". */
enum cause_type {
	CAUSE_REQUIRED,     /* "Required value[: detail]" */
	CAUSE_INVALID,      /* "Invalid value: VALUE: detail" */
	CAUSE_UNSUPPORTED,  /* "Unsupported value: VALUE: detail" */
	CAUSE_FORBIDDEN,    /* "Forbidden: detail" */
	CAUSE_DUPLICATE,    /* "Duplicate value: VALUE" */
	CAUSE_NOT_FOUND,    /* "Not found: VALUE" */
	CAUSE_TOO_LONG,     /* "Too long: detail" */
	CAUSE_TOO_MANY,     /* "Too many: detail" */
	CAUSE_TYPE_INVALID, /* "Invalid value: VALUE: detail" (reason FieldValueTypeInvalid) */
};

struct cause {
	const char *reason; /* "FieldValueInvalid" */
	char *message;
	char *field;
};

#define CAUSES_MAX 100

struct causes {
	struct cause *list;
	size_t n;
	bool cut; /* more than CAUSES_MAX were found */
};

#define CAUSES_INIT ((struct causes) { 0 })

void causes_done(struct causes *c);
#define _cleanup_causes_ _cleanup_(causes_done)

/* `value` is shown as JSON text gives it ("\"Bad_Name\"", "-1"); NULL when the type shows none. Detail may be NULL. */
void causes_add(struct causes *c, enum cause_type type, const char *field, const char *value, const char *detail_fmt,
                ...) _printf_(5, 6);
void causes_add_raw(struct causes *c, const char *reason, const char *field, const char *message);

struct status_details {
	const char *name, *group, *kind, *uid;
	const struct causes *causes;
	int retry_after_s;
};

/* The general form; `details` NULL leaves them out, an empty struct gives "details": {}. reason NULL leaves it out.
 * Returns the errno that fits the code (404 → -ENOENT, 409 → -EEXIST or -ESTALE, 422 → -EINVAL, …). */
int status_fail(struct status *st, int code, const char *reason, const struct status_details *details, const char *fmt,
                ...) _printf_(5, 6);
int status_success(struct status *st, int code, const struct status_details *details); /* returns 0 */

/* The usual ones. `resource` is the plural ("pods", "pods/binding"), `group` "" for the core group. */
int status_bad_request(struct status *st, const char *fmt, ...) _printf_(2, 3); /* 400 BadRequest */
int status_unauthorized(struct status *st); /* 401 */
int status_forbidden(struct status *st, const char *group, const char *resource, const char *name, const char *fmt, ...)
        _printf_(5, 6); /* 403 `pods "x" is forbidden: …`; name NULL: `pods is forbidden: …` */
int status_not_found(struct status *st, const char *group, const char *resource, const char *name); /* 404 */
int status_no_resource(struct status *st); /* 404 "the server could not find the requested resource" */
int status_method_not_allowed(struct status *st); /* 405 */
int status_not_acceptable(struct status *st); /* 406 */
int status_exists(struct status *st, const char *group, const char *resource, const char *name); /* 409 AlreadyExists */
int status_conflict(struct status *st, const char *group, const char *resource, const char *name, const char *fmt, ...)
        _printf_(5, 6); /* 409 `Operation cannot be fulfilled on pods "p1": …` */
int status_modified(struct status *st, const char *group, const char *resource,
                    const char *name); /* the 409 of a stale write */
int status_expired(struct status *st, const char *continue_token, const char *fmt, ...)
        _printf_(3, 4); /* 410 Expired */
int status_too_large(struct status *st, size_t limit); /* 413 */
int status_unsupported_media(struct status *st); /* 415 */
int status_invalid(struct status *st, const char *group, const char *kind, const char *name,
                   const struct causes *causes); /* 422 `Pod "x" is invalid: …` */
int status_patch_rejected(struct status *st); /* 422 "the server rejected our request due to an error in our request" */
int status_too_many(struct status *st, const struct causes *causes, int retry_after_s, const char *fmt, ...)
        _printf_(4, 5); /* 429 TooManyRequests */
int status_internal(struct status *st, const char *fmt, ...) _printf_(2, 3); /* 500 InternalError */
int status_rv_too_large(struct status *st, unsigned long long asked, unsigned long long current); /* 504 Timeout */
