/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/raw.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "json/json.h"

struct raw {
	struct kube_call *call;
	raw_done done;
	void *arg;
};

static void answered(void *arg, const struct kube_reply *reply)
{
	struct raw *r = arg;
	struct kube_answer answer;
	yyjson_doc *doc = NULL;

	kube_reply_read(reply, &answer);
	if (answer.result.outcome == KUBE_OK && kube_answer_is_object(reply->http))
		json_parse_copy(reply->http->body, reply->http->body_len, &doc, NULL);
	r->done(r->arg, &answer.result, doc ? yyjson_doc_get_root(doc) : NULL);
	yyjson_doc_free(doc);
	free(r);
}

struct raw *raw_send(struct kube_client *c, const char *method, const char *path, const char *content_type,
                     const char *body, raw_done done, void *arg)
{
	struct raw *r = NEW(struct raw);
	struct kube_request request = { .method = method,
		                        .content_type = content_type,
		                        .path = mem_strdup(path),
		                        .body = mem_strdup(body),
		                        .body_len = body ? strlen(body) : 0,
		                        .effect = !str_eq(method, "GET") };

	snprintf(request.what, sizeof(request.what), "%s %s", method, path);
	r->done = done;
	r->arg = arg;
	r->call = kube_call_start(c, &request, &(struct kube_call_options) { .retry = !request.effect }, answered, r);
	kube_request_done(&request);
	return r;
}

void raw_cancel(struct raw *r)
{
	if (!r)
		return;
	kube_call_cancel(r->call);
	free(r);
}
