/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/watch.h"

#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/str.h"
#include "lite/call.h"
#include "lite/convert.h"
#include "lite/fault.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/selector.h"
#include "lite/table.h"

#define BOOKMARK_SPAN (60 * USEC_SEC)
#define BOOKMARK_BEFORE_END (2 * USEC_SEC)
#define TIMEOUT_LEAST_S 1800 /* when the client names none: up to twice this */
#define FILL_BYTES ((size_t)64 << 10)

/* One per collection that was ever watched. */
struct hub {
	struct listener listener;
	struct collection *collection;
	struct link watches;
};

struct watches {
	struct lite *lite;
	struct map hubs; /* by collection name */
	size_t n;
};

struct watch {
	struct link link; /* hub.watches */
	struct watches *all;
	struct hub *hub;
	struct exchange *x;
	const struct kind *kind;
	char *ns;
	struct selector *labels, *fields;
	enum form form;
	char form_version[16];
	enum table_include include;
	bool columns_sent;

	struct item **initial; /* still to be sent as ADDED */
	size_t n_initial, next_initial;
	bool tell_initial_end;
	uint64_t next;   /* number of the next change to look at */
	uint64_t min_rv; /* changes up to this one are not sent */

	bool bookmarks, bookmark_due;
	usec_t deadline, bookmark_at, stalled_until; /* monotonic */
	struct loop_timer *timer;
	enum { OPEN, EXPIRED, ENDED } state;
	struct buf out;
	size_t sent; /* bytes of out that are gone */
};

/* ---- matching ---- */

static bool matches(const struct watch *w, const struct item *i)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;
	yyjson_val *root;

	if (!item_in_ns(i, w->ns))
		return false;
	if (!w->labels && !w->fields)
		return true;
	doc = reg_read(i);
	root = yyjson_doc_get_root(doc);
	return selector_matches_labels(w->labels, root) && selector_matches_fields(w->fields, root);
}

/* What the change is for this watch; false: nothing. *ret_item is what is shown. */
static bool change_for(const struct watch *w, const struct event *e, enum change *ret, const struct item **ret_item)
{
	bool now = e->change != CHANGE_DELETED && matches(w, e->item);
	bool before = e->prev && matches(w, e->prev);

	if (e->rv <= w->min_rv || (!now && !before))
		return false;
	*ret = now && before ? CHANGE_MODIFIED : now ? CHANGE_ADDED : CHANGE_DELETED;
	*ret_item = now || e->change == CHANGE_DELETED ? e->item : e->prev;
	return true;
}

/* ---- writing ---- */

static void add_table(struct watch *w, yyjson_val *root, uint64_t rv)
{
	buf_add_str(&w->out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/");
	buf_printf(&w->out, "%s\",\"metadata\":{\"resourceVersion\":\"%llu\"},\"columnDefinitions\":", w->form_version,
	           (unsigned long long)rv);
	if (w->columns_sent)
		buf_add_str(&w->out, "null");
	else
		table_add_columns(w->kind, &w->out);
	w->columns_sent = true;
	buf_add_str(&w->out, ",\"rows\":[");
	if (root)
		table_add_row(w->kind, root, w->include, lite_now(w->all->lite), &w->out);
	buf_add_str(&w->out, "]}");
}

/* The object with another resourceVersion: one that left the selection shows when it did. */
static yyjson_mut_doc *doc_at(const struct watch *w, const struct item *i, uint64_t rv)
{
	yyjson_mut_doc *doc = reg_doc(w->kind, i);
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)rv);
	obj_set_str(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata"), "resourceVersion", text);
	return doc;
}

static void add_object(struct watch *w, const struct item *i, uint64_t rv)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_doc_ yyjson_doc *read = NULL;

	if (w->form == FORM_OBJECT && rv == i->rv && convert_same(w->kind, i->text)) {
		buf_add(&w->out, i->text, i->len);
		return;
	}
	doc = doc_at(w, i, rv);
	if (w->form == FORM_OBJECT) {
		obj_add_text(&w->out, yyjson_mut_doc_get_root(doc));
		return;
	}
	read = yyjson_mut_doc_imut_copy(doc, NULL);
	if (w->form == FORM_TABLE)
		add_table(w, yyjson_doc_get_root(read), rv);
	else
		table_add_partial(yyjson_doc_get_root(read), w->form_version, &w->out);
}

static void add_event(struct watch *w, enum change change, const struct item *i, uint64_t rv)
{
	static const char *const names[] = { "ADDED", "MODIFIED", "DELETED" };

	buf_printf(&w->out, "{\"type\":\"%s\",\"object\":", names[change]);
	add_object(w, i, rv);
	buf_add_str(&w->out, "}\n");
}

static void add_bookmark(struct watch *w, bool initial_end)
{
	const char *mark = initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "";
	uint64_t rv = w->all->lite->db->rv;
	char version[256];

	rv = MAX_OF(rv, w->min_rv);
	buf_add_str(&w->out, "{\"type\":\"BOOKMARK\",\"object\":");
	if (w->form == FORM_TABLE)
		add_table(w, NULL, rv);
	else
		buf_printf(&w->out,
		           "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}%s}",
		           w->form == FORM_PARTIAL ? "PartialObjectMetadata" : w->kind->kind,
		           w->form == FORM_PARTIAL ? "meta.k8s.io/v1"
		                                   : kind_api_version(w->kind, version, sizeof(version)),
		           (unsigned long long)rv, mark,
		           w->form == FORM_OBJECT && str_eq(w->kind->kind, "Pod")
		                   ? ",\"spec\":{\"containers\":null},\"status\":{}"
		                   : "");
	buf_add_str(&w->out, "}\n");
}

static void add_expired(struct watch *w)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	const struct collection *c = w->hub->collection;

	status_expired(&st, NULL, "too old resource version: %llu (%llu)", (unsigned long long)w->min_rv,
	               (unsigned long long)c->floor + 1);
	buf_printf(&w->out, "{\"type\":\"ERROR\",\"object\":%s}\n", st.body);
	w->state = ENDED;
}

/* Puts the next things to send into `out`, until there are enough or none. */
static void fill(struct watch *w)
{
	const struct collection *c = w->hub->collection;
	const struct event *e;
	const struct item *i;
	enum change change;

	if (w->state == EXPIRED)
		add_expired(w);
	if (w->state == ENDED) /* the kind may be gone */
		return;
	while (w->state == OPEN && w->next_initial < w->n_initial && w->out.len < FILL_BYTES) {
		struct item *first = w->initial[w->next_initial++];

		add_event(w, CHANGE_ADDED, first, first->rv);
		item_unref(first);
	}
	if (w->next_initial < w->n_initial)
		return;
	if (w->tell_initial_end) {
		add_bookmark(w, true);
		w->tell_initial_end = false;
	}
	while (w->state == OPEN && w->next < c->told && w->out.len < FILL_BYTES) {
		e = db_event(c, w->next);
		if (!e) { /* too slow: the history has passed it */
			w->state = ENDED;
			break;
		}
		if (change_for(w, e, &change, &i))
			add_event(w, change, i, e->rv);
		w->next++;
	}
	if (w->state == OPEN && w->bookmark_due && w->next == c->told) {
		add_bookmark(w, false);
		w->bookmark_due = false;
	}
}

static ssize_t read_watch(void *arg, char *to, size_t max)
{
	struct watch *w = arg;
	size_t n;

	if (w->stalled_until > loop_now(w->all->lite->loop))
		return 0;
	if (w->sent == w->out.len) {
		buf_clear(&w->out);
		w->sent = 0;
		fill(w);
	}
	n = MIN_OF(max, w->out.len - w->sent);
	if (n == 0) {
		buf_done(&w->out);
		return w->state == OPEN ? 0 : -1;
	}
	memcpy(to, w->out.data + w->sent, n);
	w->sent += n;
	return (ssize_t)n;
}

static void watch_free(struct watch *w)
{
	link_remove(&w->link);
	loop_remove_timer(w->timer);
	for (; w->next_initial < w->n_initial; w->next_initial++)
		item_unref(w->initial[w->next_initial]);
	free(w->initial);
	selector_free(w->labels);
	selector_free(w->fields);
	buf_done(&w->out);
	free(w->ns);
	w->all->n--;
	free(w);
}

static void watch_closed(void *arg)
{
	watch_free(arg);
}

static const struct stream_ops watch_ops = { read_watch, watch_closed };

/* ---- time ---- */

static void set_timer(struct watch *w)
{
	usec_t at = w->deadline;

	if (w->bookmarks)
		at = MIN_OF(at, w->bookmark_at);
	if (w->stalled_until > 0)
		at = MIN_OF(at, w->stalled_until);
	loop_set_timer(w->timer, at);
}

static void plan_bookmark(struct watch *w, usec_t now)
{
	usec_t last = w->deadline - BOOKMARK_BEFORE_END;

	w->bookmark_at = now + BOOKMARK_SPAN;
	if (now < last && w->bookmark_at > last)
		w->bookmark_at = last;
	else if (now >= last)
		w->bookmark_at = USEC_NEVER;
}

static void timer_fired(void *arg)
{
	struct watch *w = arg;
	usec_t now = loop_now(w->all->lite->loop);

	if (now >= w->deadline)
		w->state = ENDED;
	if (w->bookmarks && now >= w->bookmark_at) {
		w->bookmark_due = true;
		plan_bookmark(w, now);
	}
	if (now >= w->stalled_until)
		w->stalled_until = 0;
	if (w->state == OPEN)
		set_timer(w);
	xch_wake(w->x);
}

/* ---- changes ---- */

static void changed(struct listener *l, struct collection *c, const struct event *e)
{
	struct hub *h = CONTAINER_OF(l, struct hub, listener);

	(void)c;
	LIST_EACH (each, &h->watches) {
		struct watch *w = LIST_ITEM(each, struct watch, link);
		const struct item *i;
		enum change change;

		/* One with older things to send is awake anyway; one that has none need not be, for what it would not send. */
		if (w->next != e->number || w->next_initial < w->n_initial || w->tell_initial_end)
			continue;
		if (change_for(w, e, &change, &i))
			xch_wake(w->x);
		else
			w->next++;
	}
}

static struct hub *hub_of(struct watches *all, struct collection *c)
{
	struct hub *h = map_get(&all->hubs, c->name);

	if (h)
		return h;
	h = NEW(struct hub);
	h->collection = c;
	h->listener.changed = changed;
	link_init(&h->watches);
	db_listen(&c->listeners, &h->listener);
	map_put(&all->hubs, c->name, h);
	return h;
}

/* ---- the verb ---- */

struct start {
	bool initial; /* the present objects first */
	bool mark_end; /* and a bookmark behind them */
	uint64_t rv; /* else from here on */
	int64_t timeout_s;
};

static int invalid_option(struct status *st, const char *field, enum cause_type type, const char *detail)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	causes_add(&causes, type, field, NULL, "%s", detail);
	return status_invalid(st, "meta.k8s.io", "ListOptions", "", &causes);
}

static int parse_initial(const struct call *c, struct start *s, struct status *st)
{
	const char *match = call_query(c, "resourceVersionMatch");
	bool asked = call_query(c, "sendInitialEvents");

	if (match && !asked)
		return invalid_option(
		        st, "resourceVersionMatch", CAUSE_FORBIDDEN,
		        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	if (asked && !match)
		return invalid_option(st, "resourceVersionMatch", CAUSE_FORBIDDEN,
		                      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (asked && !str_eq(match, "NotOlderThan"))
		return invalid_option(st, "resourceVersionMatch", CAUSE_FORBIDDEN,
		                      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (asked && call_flag(c, "sendInitialEvents")) {
		s->initial = true;
		s->mark_end = call_flag(c, "allowWatchBookmarks");
	} else if (asked) {
		s->initial = false;
	}
	return 0;
}

static int parse_start(const struct call *c, struct start *s, struct status *st)
{
	const char *rv = call_query(c, "resourceVersion"), *timeout = call_query(c, "timeoutSeconds");
	int64_t value = 0;

	*s = (struct start) { .timeout_s = TIMEOUT_LEAST_S + (int64_t)rng_below(&c->lite->rng, TIMEOUT_LEAST_S) };
	if (rv && str_to_i64(rv, 0, INT64_MAX, &value) < 0)
		return call_bad_rv(st, rv);
	s->rv = (uint64_t)value;
	s->initial = value == 0;
	if (timeout && str_to_i64(timeout, 0, INT32_MAX, &value) == 0 && value > 0)
		s->timeout_s = value;
	return parse_initial(c, s, st);
}

static void take_initial(struct watch *w)
{
	size_t n;
	struct item *const *span = db_span(w->hub->collection, w->ns, NULL, &n);

	w->initial = mem_alloc_n(n, sizeof(struct item *));
	for (size_t i = 0; i < n; i++)
		if (matches(w, span[i]))
			w->initial[w->n_initial++] = item_ref(span[i]);
	w->next = w->hub->collection->told;
}

static void seek(struct watch *w, uint64_t rv)
{
	const struct collection *c = w->hub->collection;

	w->min_rv = rv;
	if (db_seek(c, rv, &w->next) < 0)
		w->state = EXPIRED;
	else if (rv > c->db->rv)
		w->next = c->told;
}

static void add_name_to_fields(const struct call *c, struct selector **fields, struct status *st)
{
	_cleanup_free_ char *text = str_printf("metadata.name=%s", c->route.name);

	selector_free(*fields);
	*fields = NULL;
	selector_parse_fields(c->kind, text, fields, st);
}

int verb_watch(struct call *c, struct status *st)
{
	struct watches *all = c->lite->watches;
	struct selector *labels = NULL, *fields = NULL;
	usec_t now = loop_now(c->lite->loop);
	struct watch *w;
	struct start s;
	int r;

	r = parse_start(c, &s, st);
	if (r == 0)
		r = call_selectors(c, &labels, &fields, st);
	if (r < 0)
		return r;
	if (!str_empty(c->route.name))
		add_name_to_fields(c, &fields, st);
	lite_commit(c->lite);
	w = NEW(struct watch);
	w->all = all;
	all->n++;
	w->hub = hub_of(all, lite_collection(c->lite, c->kind));
	list_add_tail(&w->hub->watches, &w->link);
	w->x = c->x;
	w->kind = c->kind;
	w->ns = mem_strdup(c->route.ns);
	w->labels = labels;
	w->fields = fields;
	w->form = c->form;
	str_copy(w->form_version, sizeof(w->form_version), str_or(c->form_version, "v1"));
	w->include = str_eq(call_query(c, "includeObject"), "Object") ? TABLE_OBJECT
	             : str_eq(call_query(c, "includeObject"), "None") ? TABLE_NONE
	                                                              : TABLE_METADATA;
	w->out = BUF(ANSWER_MAX);
	w->bookmarks = call_flag(c, "allowWatchBookmarks");
	w->tell_initial_end = s.mark_end;
	w->deadline = usec_add(now, s.timeout_s * USEC_SEC);
	w->timer = loop_add_timer(c->lite->loop, timer_fired, w);
	plan_bookmark(w, now);
	if (s.initial)
		take_initial(w);
	else
		seek(w, s.rv);
	set_timer(w);
	xch_stream(c->x, 200, "application/json", &watch_ops, w);
	fault_new_watch(c->lite, w, w->kind, w->ns);
	return 0;
}

/* ---- the set ---- */

struct watches *watches_new(struct lite *l)
{
	struct watches *all = NEW(struct watches);

	all->lite = l;
	return all;
}

void watches_free(struct watches *all)
{
	struct hub *h;
	size_t i = 0;

	if (!all)
		return;
	while ((h = map_next(&all->hubs, &i))) {
		link_remove(&h->listener.link);
		free(h);
	}
	map_done(&all->hubs);
	free(all);
}

size_t watches_count(const struct watches *all)
{
	return all->n;
}

static void end_now(struct watch *w)
{
	w->state = ENDED;
	xch_wake(w->x);
}

void watches_end_kind(struct watches *all, const struct kind *k)
{
	struct hub *h;
	size_t i = 0;

	while ((h = map_next(&all->hubs, &i)))
		LIST_EACH (each, &h->watches)
			if (LIST_ITEM(each, struct watch, link)->kind == k)
				end_now(LIST_ITEM(each, struct watch, link));
}

void watch_fault(struct watch *w, enum watch_fault what, usec_t span)
{
	switch (what) {
	case WATCH_DROP: xch_break(w->x); break;
	case WATCH_EXPIRE:
		w->state = EXPIRED;
		xch_wake(w->x);
		break;
	case WATCH_STALL:
		w->stalled_until = usec_add(loop_now(w->all->lite->loop), span);
		set_timer(w);
		break;
	}
}

size_t watches_fault(struct watches *all, enum watch_fault what, usec_t span,
                     bool (*pick)(void *arg, const struct kind *k, const char *ns), void *arg)
{
	struct hub *h;
	size_t i = 0, n = 0;

	while ((h = map_next(&all->hubs, &i)))
		LIST_EACH (each, &h->watches) {
			struct watch *w = LIST_ITEM(each, struct watch, link);

			if (w->state != OPEN || !pick(arg, w->kind, w->ns))
				continue;
			watch_fault(w, what, span);
			n++;
		}
	return n;
}
