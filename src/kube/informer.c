/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/informer.h"

#include <assert.h>
#include <errno.h>

#include "base/rand.h"
#include "base/str.h"
#include "kube/feed.h"
#include "kube/informer_plan.h"
#include "kube/lines.h"
#include "port/kinds.h"

struct informer {
	struct loop *loop;
	const struct clock *clock;
	struct kube_client *client;
	struct kube_ref collection;
	char *ns, *label_selector, *field_selector;
	struct store *store;
	struct feed feed;
	struct lines lines;
	struct plan plan;
	struct rng rng;
	struct loop_timer *timer;
	struct kube_call *call;
	size_t pages; /* of the list under way */
	enum plan_event stream; /* WATCH_ENDED, or what was found in the stream */
	struct informer_stats stats;
	struct err error;
};

static usec_t now(const struct informer *i)
{
	return clock_mono(i->clock);
}

/* What happened goes into the plan, and its next step onto the timer. */
static void next(struct informer *i, const struct plan_news *news)
{
	plan_next(&i->plan, news, now(i), &i->rng);
	loop_set_timer(i->timer, i->plan.at);
}

static void alive(struct informer *i)
{
	plan_heard(&i->plan, now(i));
	store_alive(i->store, now(i));
}

/* Lists */

static void list_failed(struct informer *i, struct plan_news news)
{
	i->stats.list_failures++;
	next(i, &news);
}

static void page_came(struct informer *i, const struct feed_page *page)
{
	struct plan_news news = { .event = PLAN_LISTED, .version = page->version, .token = page->token };

	alive(i);
	i->stats.pages++;
	i->error.code = 0;
	if (page->token && (str_eq(page->token, i->plan.token) || ++i->pages >= INFORMER_PAGES_MAX)) {
		err_set(&i->error, -ELOOP, "list %s: a list without end", kube_resource(i->collection.kind)->plural);
		list_failed(i, (struct plan_news) { .event = PLAN_LIST_REFUSED });
		return;
	}
	if (page->token) {
		news.event = PLAN_PAGE;
	} else {
		i->stats.lists++;
		store_replace_end(i->store);
	}
	next(i, &news);
}

static int refusal(const struct http_answer *http)
{
	return http->status == 404 ? -ENOENT : -EIO;
}

/* The page was not given, or is none. */
static void page_refused(struct informer *i, const struct kube_reply *reply)
{
	struct kube_answer a;
	struct plan_news news = { .event = PLAN_LIST_REFUSED };

	kube_reply_read(reply, &a);
	err_set(&i->error, refusal(reply->http), "%s", a.message);
	news.retry_after = a.result.retry_after;
	if (a.expired) {
		i->stats.expired++;
		news.event = PLAN_LIST_EXPIRED;
		news.token = a.token[0] ? a.token : NULL;
	} else if (reply->http->error && reply->http->error->code == -EMSGSIZE) {
		news.event = PLAN_LIST_TOO_LARGE;
	} else if (a.result.outcome == KUBE_RETRY || a.result.outcome == KUBE_FORBIDDEN) {
		news.event = PLAN_LIST_FAILED;
	}
	list_failed(i, news);
}

static void page_answered(void *arg, const struct kube_reply *reply)
{
	struct informer *i = arg;
	struct feed_page page;

	i->call = NULL;
	i->stats.bytes += reply->http->body_len;
	if (!kube_answer_is_object(reply->http)) {
		page_refused(i, reply);
	} else if (feed_page(&i->feed, reply->http->body, reply->http->body_len, &page, &i->error) < 0) {
		err_wrap(&i->error, -EBADMSG, "%s: %s", reply->what, reply->server);
		list_failed(i, (struct plan_news) { .event = PLAN_LIST_REFUSED });
	} else {
		page_came(i, &page);
	}
}

/* Watches */

static int got_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct informer *i = arg;
	const char *version = NULL;
	enum feed_event event;

	if (feed_line(&i->feed, line, len, &event, &version, err) < 0) {
		i->stream = PLAN_WATCH_BAD;
		return err_wrap(err, -EBADMSG, "in the stream of a watch");
	}
	if (event == FEED_ERROR) {
		i->stream = i->feed.status->expired ? PLAN_WATCH_EXPIRED : PLAN_WATCH_BAD;
		return err_set(err, -ESTALE, "%s", i->feed.status->message);
	}
	plan_seen(&i->plan, version);
	return 0;
}

static int watch_chunk(void *arg, const char *data, size_t len, struct err *err)
{
	struct informer *i = arg;
	int r;

	alive(i);
	i->stats.bytes += len;
	i->error.code = 0;
	r = lines_feed(&i->lines, data, len, got_line, i, err);
	if (r == -EMSGSIZE)
		i->stream = PLAN_WATCH_TOO_LARGE;
	return r;
}

/* Refused with a status: which of them say something against the resourceVersion? */
static enum plan_event watch_refused(const struct kube_answer *a)
{
	if (a->expired)
		return PLAN_WATCH_EXPIRED;
	if (a->result.http_status == 429 || a->result.http_status == 503 || a->result.outcome == KUBE_FORBIDDEN)
		return PLAN_WATCH_ENDED;
	return PLAN_WATCH_BAD;
}

static void watch_answered(void *arg, const struct kube_reply *reply)
{
	struct informer *i = arg;
	const struct http_answer *http = reply->http;
	struct plan_news news = { .event = i->stream, .accepted = http->status == 200 };
	struct kube_answer a;

	i->call = NULL;
	if (http->status != 200 && http->status != 0) {
		kube_reply_read(reply, &a);
		news.event = watch_refused(&a);
		news.retry_after = a.result.retry_after;
		err_set(&i->error, refusal(http), "%s", a.message);
	} else if (http->error && (i->stream != PLAN_WATCH_ENDED || !http->status)) {
		err_set(&i->error, http->error->code, "%s: %s", reply->what, http->error->text);
	}
	if (news.event == PLAN_WATCH_EXPIRED)
		i->stats.expired++;
	else if (news.event != PLAN_WATCH_ENDED || !news.accepted)
		i->stats.watch_failures++;
	if (news.event == PLAN_WATCH_ENDED && news.accepted)
		i->error.code = 0;
	next(i, &news);
}

/* Steps */

static void start_page(struct informer *i, bool first)
{
	struct kube_call_options o = {
		.timeout = INFORMER_PAGE_TIMEOUT,
		.body_max = INFORMER_PAGE_BYTES_MAX,
		.compressed = true,
	};
	struct kube_query query = {
		.label_selector = i->label_selector,
		.field_selector = i->field_selector,
		.limit = i->plan.limit,
		.continue_token = i->plan.token,
	};
	_cleanup_request_ struct kube_request request = { 0 };

	if (first) {
		store_replace_begin(i->store);
		i->pages = 0;
	}
	if (kube_request_list(&request, &i->collection, &query, &i->error) < 0)
		list_failed(i, (struct plan_news) { .event = PLAN_LIST_REFUSED });
	else
		i->call = kube_call_start(i->client, &request, &o, page_answered, i);
}

static void start_watch(struct informer *i)
{
	struct kube_call_options o = {
		.watch = true,
		.timeout = (usec_t)i->plan.watch_s * USEC_SEC + INFORMER_WATCH_GRACE,
		.idle_timeout = i->plan.silent + i->plan.silent / 64, /* surely over, by the plan's clock */
		.chunk = watch_chunk,
	};
	struct kube_query query = {
		.watch = true,
		.label_selector = i->label_selector,
		.field_selector = i->field_selector,
		.resource_version = i->plan.version,
		.timeout_s = i->plan.watch_s,
	};
	_cleanup_request_ struct kube_request request = { 0 };

	lines_reset(&i->lines);
	i->stream = PLAN_WATCH_ENDED;
	i->stats.watches++;
	if (kube_request_list(&request, &i->collection, &query, &i->error) < 0)
		next(i, &(struct plan_news) { .event = PLAN_WATCH_BAD });
	else
		i->call = kube_call_start(i->client, &request, &o, watch_answered, i);
}

static void step(void *arg)
{
	struct informer *i = arg;

	assert(!i->call);
	switch (i->plan.step) {
	case PLAN_DO_LIST: start_page(i, true); return;
	case PLAN_DO_PAGE: start_page(i, false); return;
	case PLAN_DO_WATCH: start_watch(i); return;
	}
}

/* The informer */

struct informer *informer_new(struct loop *l, const struct clock *clock, struct kube_client *client,
                              const struct informer_options *o)
{
	struct informer *i = NEW(struct informer);

	assert(store_kind_of(o->kind));
	i->loop = l;
	i->clock = clock;
	i->client = client;
	i->ns = mem_strdup(o->ns);
	i->label_selector = mem_strdup(o->label_selector);
	i->field_selector = mem_strdup(o->field_selector);
	i->collection = (struct kube_ref) { .kind = o->kind, .ns = i->ns };
	i->store = store_new(store_kind_of(o->kind));
	feed_init(&i->feed, o->kind, i->store);
	lines_init(&i->lines, INFORMER_LINE_BYTES_MAX);
	plan_init(&i->plan);
	i->plan.custom = store_kind_of(o->kind)->custom;
	if (o->silent)
		i->plan.silent = o->silent;
	i->rng = rng_from_kernel();
	i->timer = loop_add_timer(l, step, i);
	next(i, &(struct plan_news) { .event = PLAN_START });
	return i;
}

void informer_free(struct informer *i)
{
	if (!i)
		return;
	kube_call_cancel(i->call);
	loop_remove_timer(i->timer);
	plan_done(&i->plan);
	lines_done(&i->lines);
	feed_done(&i->feed);
	store_free(i->store);
	free(i->ns);
	free(i->label_selector);
	free(i->field_selector);
	free(i);
}

void informer_refresh(struct informer *i)
{
	kube_call_cancel(i->call);
	i->call = NULL;
	store_doubt(i->store);
	next(i, &(struct plan_news) { .event = PLAN_START });
}

struct store *informer_store(const struct informer *i)
{
	return i->store;
}

struct informer_options informer_about(const struct informer *i)
{
	return (struct informer_options) { .kind = i->collection.kind,
		                           .ns = i->ns,
		                           .label_selector = i->label_selector,
		                           .field_selector = i->field_selector,
		                           .silent = i->plan.silent };
}

void informer_read_stats(const struct informer *i, struct informer_stats *ret)
{
	*ret = i->stats;
	ret->events = i->feed.events;
	ret->unreadable = i->feed.unreadable;
}

const struct err *informer_error(const struct informer *i)
{
	return i->error.code ? &i->error : NULL;
}

const struct err *informer_unreadable(const struct informer *i)
{
	return i->feed.unreadable ? &i->feed.last_unreadable : NULL;
}

bool informer_is_for(const struct informer *i, const struct informer_options *o)
{
	return i->collection.kind == o->kind && str_eq(i->ns, o->ns) && str_eq(i->label_selector, o->label_selector) &&
	       str_eq(i->field_selector, o->field_selector);
}
