/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/raw.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "json/json.h"

struct raw {
	struct link link; /* lane.waiting or lane.running */
	struct lane *lane;
	struct kube_request request;
	struct kube_call *call; /* NULL while it waits */
	raw_done done;
	void *arg;
};

static void answered(void *arg, const struct kube_reply *reply);

static void go_on(struct lane *l)
{
	struct link *first;

	while (l->n_running < LANE_WIDTH && (first = list_take_head(&l->waiting))) {
		struct raw *r = LIST_ITEM(first, struct raw, link);

		list_add_tail(&l->running, &r->link);
		l->n_running++;
		r->call = kube_call_start(l->client, &r->request,
		                          &(struct kube_call_options) { .retry = !r->request.effect }, answered, r);
	}
}

static void raw_free(struct raw *r)
{
	link_remove(&r->link);
	if (r->call)
		r->lane->n_running--;
	kube_request_done(&r->request);
	free(r);
}

static void answered(void *arg, const struct kube_reply *reply)
{
	struct raw *r = arg;
	struct lane *l = r->lane;
	raw_done done = r->done;
	void *done_arg = r->arg;
	struct kube_answer answer;
	yyjson_doc *doc = NULL;

	kube_reply_read(reply, &answer);
	if (answer.result.outcome == KUBE_OK && kube_answer_is_object(reply->http))
		json_parse_copy(reply->http->body, reply->http->body_len, &doc, NULL);
	raw_free(r);
	done(done_arg, &answer.result, doc ? yyjson_doc_get_root(doc) : NULL);
	yyjson_doc_free(doc);
	go_on(l);
}

struct raw *raw_send(struct lane *l, const char *method, const char *path, const char *content_type, const char *body,
                     raw_done done, void *arg)
{
	struct raw *r = NEW(struct raw);

	*r = (struct raw) { .lane = l,
		            .request = { .method = method,
		                         .content_type = content_type,
		                         .path = mem_strdup(path),
		                         .body = mem_strdup(body),
		                         .body_len = body ? strlen(body) : 0,
		                         .effect = !str_eq(method, "GET") },
		            .done = done,
		            .arg = arg };
	snprintf(r->request.what, sizeof(r->request.what), "%s %s", method, path);
	list_add_tail(&l->waiting, &r->link);
	go_on(l);
	return r;
}

void raw_cancel(struct raw *r)
{
	struct lane *l;

	if (!r)
		return;
	l = r->lane;
	kube_call_cancel(r->call);
	raw_free(r);
	go_on(l);
}

void lane_init(struct lane *l, struct kube_client *c)
{
	*l = (struct lane) { .client = c };
	link_init(&l->waiting);
	link_init(&l->running);
}

static void drop(struct link *list)
{
	LIST_EACH (link, list) {
		struct raw *r = LIST_ITEM(link, struct raw, link);

		kube_call_cancel(r->call);
		raw_free(r);
	}
}

void lane_done(struct lane *l)
{
	if (!l->client)
		return;
	drop(&l->waiting);
	drop(&l->running);
}
