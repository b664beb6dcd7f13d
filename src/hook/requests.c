/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/requests.h"

#include "base/list.h"
#include "hook/wire.h"

#define WAIT_MAX (60 * USEC_SEC) /* looks at the clock now and then */

struct requests {
	struct link under_way, ended;
	size_t n; /* of both */
};

struct request {
	struct link link;
	struct requests *owner;
	struct hook_call call;
	struct wire *wire;
	request_done done;
	void *arg;
};

struct requests *requests_new(void)
{
	struct requests *rs = NEW(struct requests);

	link_init(&rs->under_way);
	link_init(&rs->ended);
	return rs;
}

void requests_free(struct requests *rs)
{
	if (!rs)
		return;
	LIST_EACH (l, &rs->under_way)
		request_cancel(LIST_ITEM(l, struct request, link));
	LIST_EACH (l, &rs->ended)
		request_cancel(LIST_ITEM(l, struct request, link));
	free(rs);
}

struct request *request_start(struct requests *rs, const struct hook_call *call, request_done done, void *arg,
                              struct err *err)
{
	struct request *q = NEW(struct request);

	q->call = *call;
	q->wire = wire_new(&q->call, q->call.url, call->deadline, err);
	if (!q->wire) {
		free(q);
		return NULL;
	}
	q->owner = rs;
	q->done = done;
	q->arg = arg;
	list_add_tail(&rs->under_way, &q->link);
	rs->n++;
	return q;
}

void request_cancel(struct request *q)
{
	if (!q)
		return;
	link_remove(&q->link);
	q->owner->n--;
	wire_free(q->wire);
	free(q);
}

void requests_push(struct requests *rs)
{
	LIST_EACH (l, &rs->under_way) {
		if (!wire_step(LIST_ITEM(l, struct request, link)->wire))
			continue;
		link_remove(l);
		list_add_tail(&rs->ended, l);
	}
}

static void finish(struct request *q)
{
	struct err err = { 0 };
	int status = 0;

	wire_result(q->wire, &status, &err);
	q->done(q->arg, status, wire_body(q->wire), &err);
	request_cancel(q);
}

/* Calls back for what has ended. False: nothing has. A callback may cancel any other, so the next is looked for afterwards. */
static bool tell_ended(struct requests *rs)
{
	bool any = false;

	for (struct link *l; (l = list_take_head(&rs->ended)); any = true)
		finish(LIST_ITEM(l, struct request, link));
	return any;
}

static void wait_for_any(struct requests *rs, int fd, usec_t wait_max)
{
	usec_t now = clock_mono(clock_real()), until = now + MIN_OF(wait_max, WAIT_MAX), left;
	_cleanup_free_ struct pollfd *fds = mem_alloc_n(rs->n + 1, sizeof(*fds));
	size_t n = 0;

	LIST_EACH (l, &rs->under_way) {
		usec_t end = wire_waits_for(LIST_ITEM(l, struct request, link)->wire, &fds[n++]);

		until = MIN_OF(until, end);
	}
	fds[n++] = (struct pollfd) { .fd = fd, .events = POLLIN };
	left = MAX_OF(until - now, 0);
	(void)poll(fds, n, (int)(left / USEC_MSEC + (left % USEC_MSEC > 0)));
}

void requests_run(struct requests *rs, int fd, usec_t wait_max)
{
	if (tell_ended(rs)) /* while it was pushed: no socket of it will wake us */
		return;
	wait_for_any(rs, fd, wait_max);
	requests_push(rs);
	tell_ended(rs);
}
