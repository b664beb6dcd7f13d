/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One call of the API: the exchange, what it asks for, who asks, in which form the answer is wanted; and the ways to
 * answer it. A verb returns 0 when it has answered (or will), or fills the Status and returns the error.
 */
#pragma once

#include "base/buf.h"
#include "lite/auth.h"
#include "lite/db.h"
#include "lite/decode.h"
#include "lite/kinds.h"
#include "lite/route.h"
#include "lite/server.h"
#include "lite/status.h"
#include "lite/web.h"

#define BODY_MAX ((size_t)3 << 20)
#define ANSWER_MAX ((size_t)1 << 30)

enum form { FORM_OBJECT, FORM_TABLE, FORM_PARTIAL };

struct call {
	struct lite *lite;
	struct exchange *x;
	struct route route;
	const struct user *user;
	struct user *as; /* who `user` is, when it is someone that was only asked for */
	const struct kind *kind;
	const struct subresource *sub; /* NULL: the object itself */
	enum form form;
	const char *form_version; /* of meta.k8s.io */
	struct warnings warnings;
	bool lose_answer; /* a fault: the effect happens, the answer does not */
};

/* A query parameter; NULL when absent or empty. */
const char *call_query(const struct call *c, const char *key);
bool call_flag(const struct call *c, const char *key); /* "true", "1" */

/* Each answers, and may be called once. */
int call_answer(struct call *c, int code, const char *content_type, char *body, size_t len);
int call_json(struct call *c, int code, struct buf *body); /* takes the buffer's content */
int call_text(struct call *c, int code, const char *text); /* text/plain */
void call_send_status(struct call *c, struct status *st);

/* The object, in the form asked for. */
int call_item(struct call *c, int code, const struct item *i);

/* The verbs (read.c, write.c, watch.c, subs.c). */
int verb_get(struct call *c, struct status *st);
int verb_list(struct call *c, struct status *st);
int verb_watch(struct call *c, struct status *st);
int verb_create(struct call *c, struct status *st);
int verb_update(struct call *c, struct status *st);
int verb_patch(struct call *c, struct status *st);
int verb_delete(struct call *c, struct status *st);
int verb_deletecollection(struct call *c, struct status *st);
int verb_sub(struct call *c, struct status *st); /* of a subresource with rules of its own */

/* Shared by the verbs. */
struct selector;
int call_selectors(const struct call *c, struct selector **ret_labels, struct selector **ret_fields, struct status *st);
int call_bad_rv(struct status *st, const char *text);
void call_add_meta(struct buf *out, uint64_t rv, const char *token, int64_t remaining); /* a list's metadata */
