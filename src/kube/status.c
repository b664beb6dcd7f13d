/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/status.h"

#include <stdio.h>

#include "base/str.h"
#include "json/json.h"

struct rule {
	int status;
	enum kube_outcome outcome;
	bool maybe_done;
	const char *hint; /* for a person, behind the server's own words */
};

static const struct rule rules[] = {
	{ 400, KUBE_REFUSED, false, "" },
	{ 401, KUBE_FORBIDDEN, false, ": the credentials are wrong or have expired" },
	{ 403, KUBE_FORBIDDEN, false, "" },
	{ 404, KUBE_NOT_FOUND, false, "" },
	{ 405, KUBE_REFUSED, false, "" },
	{ 406, KUBE_REFUSED, false, "" },
	{ 408, KUBE_RETRY, true, "" },
	{ 409, KUBE_CONFLICT, false, "" },
	{ 410, KUBE_RETRY, false, "" },
	{ 413, KUBE_REFUSED, false, "" },
	{ 415, KUBE_REFUSED, false, "" },
	{ 422, KUBE_REFUSED, false, "" },
	{ 429, KUBE_RETRY, false, "" },
	{ 500, KUBE_RETRY, true, "" },
	{ 502, KUBE_RETRY, true, "" },
	{ 503, KUBE_RETRY, true, "" },
	{ 504, KUBE_RETRY, true, "" },
};

static const struct rule *rule_for(int status)
{
	static const struct rule refused = { 400, KUBE_REFUSED, false, "" }, broken = { 500, KUBE_RETRY, true, "" };

	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].status == status)
			return &rules[i];
	return status >= 400 && status < 500 ? &refused : &broken;
}

static bool is_2xx(int status)
{
	return status >= 200 && status < 300;
}

static bool is_json(const char *content_type)
{
	return str_empty(content_type) || str_starts(content_type, "application/json");
}

bool kube_answer_is_object(const struct http_answer *http)
{
	return is_2xx(http->status) && !http->error && is_json(http->content_type);
}

static void begin(struct kube_answer *a, enum kube_outcome outcome, int status)
{
	*a = (struct kube_answer) { .result = { .outcome = outcome, .http_status = status } };
	a->result.reason = a->reason;
	a->result.message = a->message;
}

/* "what: text (tail)hint" on one line. */
static void say(struct kube_answer *a, const char *what, const char *text, size_t len, const char *tail,
                const char *hint)
{
	_cleanup_buf_ struct buf b = BUF(4 * KUBE_MESSAGE_MAX);

	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	str_add_safe(&b, what, strlen(what), KUBE_MESSAGE_MAX / 2);
	buf_add_str(&b, ": ");
	str_add_safe(&b, text, len, KUBE_MESSAGE_MAX / 2 - 200);
	if (*tail)
		buf_printf(&b, " (%s)", tail);
	buf_add_str(&b, hint);
	str_copy(a->message, sizeof(a->message), buf_text(&b));
}

void kube_answer_set(struct kube_answer *a, enum kube_outcome outcome, bool maybe_done, const char *what,
                     const char *message)
{
	begin(a, outcome, 0);
	a->result.maybe_done = maybe_done;
	say(a, what, message, strlen(message), "", "");
}

/* The first of the causes with this reason (or, when field is given, about this field). */
static yyjson_val *find_cause(yyjson_val *status, const char *reason, const char *field)
{
	yyjson_val *causes = json_get(json_get(status, "details"), "causes"), *cause = NULL;
	size_t i, n;

	if (!yyjson_is_arr(causes))
		return NULL;
	yyjson_arr_foreach(causes, i, n, cause)
	{
		if (reason && str_eq(json_str(json_get(cause, "reason")), reason))
			return cause;
		if (field && str_eq(json_str(json_get(cause, "field")), field))
			return cause;
	}
	return NULL;
}

static void read_conflict(struct kube_answer *a, const char *message)
{
	static const char assigned[] = " is already assigned to node \"";
	const char *at = strstr(message, assigned);

	if (str_eq(a->reason, "AlreadyExists")) {
		a->result.outcome = KUBE_EXISTS;
	} else if (strstr(message, "UID in the precondition") || strstr(message, "UID in precondition")) {
		/* There is no field for it: an object of this name is there, but it is another one. */
		a->result.outcome = KUBE_NOT_FOUND;
	} else if (at) {
		at += strlen(assigned);
		if (strcspn(at, "\"") < sizeof(a->assigned_to))
			memcpy(a->assigned_to, at, strcspn(at, "\""));
	}
}

/* What the Status tells beyond its code. */
static void refine(struct kube_answer *a, yyjson_val *status, int code, const char *message)
{
	yyjson_val *details = json_get(status, "details");
	int64_t after = json_int(json_get(details, "retryAfterSeconds"), 0);

	if (code == 404 && str_empty(json_str(json_get(details, "name"))))
		a->result.outcome = KUBE_RETRY; /* the resource, not the object */
	if (code == 409)
		read_conflict(a, message);
	if (code == 422 && find_cause(status, NULL, "metadata.uid"))
		a->result.outcome = KUBE_NOT_FOUND; /* a patch of an object that was made anew */
	if (code == 429 && find_cause(status, "DisruptionBudget", NULL))
		a->result.outcome = KUBE_BUDGET;
	if (code == 410) {
		a->expired = true;
		if (!str_copy(a->token, sizeof(a->token), json_str(json_get(json_get(status, "metadata"), "continue"))))
			a->token[0] = '\0'; /* half a token is none */
	}
	if (!a->result.retry_after && after > 0)
		a->result.retry_after = MIN_OF(after, (int64_t)(KUBE_RETRY_AFTER_MAX / USEC_SEC)) * USEC_SEC;
}

static void read_status(struct kube_answer *a, yyjson_val *status, int code, const char *what)
{
	const char *message = str_or(json_str(json_get(status, "message")), "");
	yyjson_val *budget = find_cause(status, "DisruptionBudget", NULL);
	const struct rule *rule = rule_for(code);
	_cleanup_buf_ struct buf text = BUF(64u << 10);
	char tail[96];

	a->result.outcome = rule->outcome;
	a->result.maybe_done = rule->maybe_done;
	str_copy(a->reason, sizeof(a->reason), json_str(json_get(status, "reason")));
	refine(a, status, code, message);
	buf_add_str(&text, *message ? message : "the server gave no reason");
	if (budget)
		buf_printf(&text, " %s", str_or(json_str(json_get(budget, "message")), ""));
	snprintf(tail, sizeof(tail), "%d%s%s", code, a->reason[0] ? " " : "", a->reason);
	say(a, what, buf_text(&text), text.len, tail, rule->hint);
}

void kube_answer_read_status(struct kube_answer *a, yyjson_val *status, const char *what)
{
	begin(a, KUBE_RETRY, 200);
	read_status(a, status, (int)json_int(json_get(status, "code"), 500), what);
}

static void read_object(struct kube_answer *a, yyjson_val *object, const char *what)
{
	yyjson_val *meta = json_get(object, "metadata");
	const char *uid = json_str(json_get(meta, "uid")), *version = json_str(json_get(meta, "resourceVersion"));

	if (str_eq(json_str(json_get(object, "kind")), "Status") &&
	    str_eq(json_str(json_get(object, "status")), "Failure")) {
		read_status(a, object, (int)json_int(json_get(object, "code"), 500), what);
		return;
	}
	if (!str_empty(uid) && str_copy(a->uid, sizeof(a->uid), uid))
		a->result.uid = a->uid;
	if (!str_empty(version) && str_copy(a->version, sizeof(a->version), version))
		a->result.resource_version = a->version;
	say(a, what, "done", 4, "", "");
}

/* Neither an object nor a Status. */
static void read_foreign(struct kube_answer *a, const struct http_answer *http, const char *what, const char *server)
{
	bool plain = str_starts(http->content_type, "text/plain") && http->status >= 400;
	_cleanup_buf_ struct buf text = BUF(2048);
	char tail[16];

	if (plain) {
		snprintf(tail, sizeof(tail), "%d", http->status);
		if (http->status == 404)
			buf_add_str(&text, "the server does not have this API: ");
		buf_add(&text, http->body, MIN_OF(http->body_len, (size_t)512));
		if (http->status == 404)
			a->result.outcome = KUBE_RETRY;
		say(a, what, buf_text(&text), text.len, tail, rule_for(http->status)->hint);
		return;
	}
	a->result.outcome = http->status == 401 ? KUBE_FORBIDDEN : KUBE_RETRY;
	buf_printf(&text, "%s (HTTP %d) answered %.100s, not a Kubernetes API: is the server address right?", server,
	           http->status, is_json(http->content_type) ? "with something else" : http->content_type);
	say(a, what, buf_text(&text), text.len, "", "");
}

void kube_answer_read(struct kube_answer *a, const struct http_answer *http, const char *what, const char *server,
                      bool effect)
{
	const struct rule *rule = rule_for(http->status);
	yyjson_doc *doc = NULL;
	yyjson_val *root;

	begin(a, is_2xx(http->status) ? KUBE_OK : rule->outcome, http->status);
	a->result.retry_after = http->retry_after;
	a->result.maybe_done = rule->maybe_done;
	if (!http->status || http->error) {
		a->result.outcome = KUBE_RETRY;
		a->result.maybe_done = http->status || http->sent;
		say(a, what, err_text(http->error), strlen(err_text(http->error)), "", "");
	} else {
		if (is_json(http->content_type))
			(void)json_parse_copy(http->body, http->body_len, &doc, NULL);
		root = yyjson_doc_get_root(doc);
		if (is_2xx(http->status) && yyjson_is_obj(root)) {
			a->result.maybe_done = false;
			read_object(a, root, what);
		} else if (!is_2xx(http->status) && str_eq(json_str(json_get(root, "kind")), "Status")) {
			read_status(a, root, http->status, what);
		} else {
			read_foreign(a, http, what, server);
		}
		yyjson_doc_free(doc);
	}
	if (!effect || a->result.outcome != KUBE_RETRY)
		a->result.maybe_done = false;
}
