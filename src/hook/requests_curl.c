/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/requests.h"

#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "hook/easy.h"

#define CONNECT_TIMEOUT_MS 5000L
#define POLL_MAX_MS 60000 /* looks at the clock now and then */

struct requests {
	CURLM *multi;
	struct link all;
};

struct request {
	struct link link;
	struct requests *owner;
	struct easy easy;
	struct hook_call call;
	request_done done;
	void *arg;
};

struct requests *requests_new(void)
{
	struct requests *rs = NEW(struct requests);

	link_init(&rs->all);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	rs->multi = curl_multi_init();
	assert(rs->multi); /* only without memory */
	return rs;
}

void requests_free(struct requests *rs)
{
	if (!rs)
		return;
	LIST_EACH (l, &rs->all)
		request_cancel(LIST_ITEM(l, struct request, link));
	curl_multi_cleanup(rs->multi);
	free(rs);
}

struct request *request_start(struct requests *rs, const struct hook_call *call, request_done done, void *arg,
                              struct err *err)
{
	struct request *q = NEW(struct request);
	usec_t left = call->deadline - clock_mono(clock_real());

	link_init(&q->link);
	q->call = *call;
	if (easy_init(&q->easy, &q->call, err) < 0) {
		easy_done(&q->easy);
		free(q);
		return NULL;
	}
	q->owner = rs;
	q->done = done;
	q->arg = arg;
	curl_easy_setopt(q->easy.curl, CURLOPT_PRIVATE, q);
	curl_easy_setopt(q->easy.curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(q->easy.curl, CURLOPT_TIMEOUT_MS, left > 0 ? (long)(left / USEC_MSEC + 1) : 1L);
	/* One that was kept may lead to a scheduler that is no more; and whoever asks again should ask the one that leads then. */
	curl_easy_setopt(q->easy.curl, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(q->easy.curl, CURLOPT_FORBID_REUSE, 1L);
	list_add_tail(&rs->all, &q->link);
	curl_multi_add_handle(rs->multi, q->easy.curl);
	return q;
}

void request_cancel(struct request *q)
{
	if (!q)
		return;
	link_remove(&q->link);
	curl_multi_remove_handle(q->owner->multi, q->easy.curl);
	easy_done(&q->easy);
	free(q);
}

static void finish(struct request *q, CURLcode code)
{
	struct err err = { 0 };
	int status = 0;

	easy_result(&q->easy, &q->call, code, &status, &err);
	q->done(q->arg, status, &q->easy.body, &err);
	request_cancel(q);
}

void requests_push(struct requests *rs)
{
	int running;

	curl_multi_perform(rs->multi, &running);
}

/* Calls back for what has ended. False: nothing has. */
static bool tell_ended(struct requests *rs)
{
	bool any = false;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(rs->multi, &left))) {
		struct request *q = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &q);
		finish(q, m->data.result);
		any = true;
	}
	return any;
}

void requests_run(struct requests *rs, int fd, usec_t wait_max)
{
	struct curl_waitfd also = { .fd = fd, .events = CURL_WAIT_POLLIN };
	usec_t wait_ms = wait_max / USEC_MSEC + (wait_max % USEC_MSEC > 0);

	if (tell_ended(rs)) /* while it was pushed: no socket of it will wake us */
		return;
	curl_multi_poll(rs->multi, &also, 1, (int)MIN_OF(wait_ms, POLL_MAX_MS), NULL);
	requests_push(rs);
	tell_ended(rs);
}
