/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/events.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dirty.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "kube/resource.h"
#include "json/patch.h"

#define KEY_MAX 4096
#define NAME_MAX_BYTES 253
#define HEX_DIGITS 16
#define RETRY_SPAN (2 * USEC_SEC) /* doubling */
#define SLOT_TEXT_MAX 8
#define SLOT_BITS 12
static_assert(EVENT_ENTRIES_MAX == 1 << SLOT_BITS, "an id holds a slot in its low bits");

/* Writes about one object for one reason: EVENT_BURST, and then one per EVENT_REFILL_SPAN. Lives as long as entries point to it. */
struct bucket {
	char *key;
	struct link entries; /* the oldest first */
	unsigned n_entries, tokens;
	usec_t filled; /* monotonic, when the last token came */
};

/* One Event object, or one to be. */
struct entry {
	struct link all, same_bucket; /* the one told longest ago first */
	struct bucket *bucket;
	char *key; /* what makes two the same; the note is its end */
	const char *note;
	uint64_t id; /* its slot in the low bits */
	char slot[SLOT_TEXT_MAX]; /* its slot as the key of the dirty set */
	uint64_t number; /* makes the name of the Event object its own */
	const char *type;
	const char *api_version, *kind, *ns, *about, *uid, *reason, *action; /* in `texts` */
	char *texts;
	usec_t first, last; /* wall, when told */
	usec_t told; /* monotonic, when last told */
	int64_t count; /* times told */
	int64_t written; /* of which the server knows; 0 = it has no object yet */
	int64_t sending; /* being written now; 0 = nothing is */
	usec_t wrote; /* monotonic, when last written */
	usec_t due; /* monotonic, when to write it; USEC_NEVER = there is nothing to write */
	unsigned tries;
	bool lost_answer; /* the last try got none: it may have been done */
	bool refused; /* the server does not want it */
};

struct recorder {
	char *controller, *instance;
	struct map by_key, buckets;
	struct link all;
	struct entry *slots[EVENT_ENTRIES_MAX];
	uint16_t free_slots[EVENT_ENTRIES_MAX]; /* a stack */
	unsigned n_free, n_sending;
	struct dirty due; /* of slots, so that it stays as small as the table; may name one too early, never too late */
	uint64_t last_id, last_name, n_dropped;
	struct buf path; /* of the request made last, */
	char *body; /* and its body */
};

/* Copies text so that it is UTF-8 and at most max bytes, cut between characters and marked. */
static void add_cut(struct buf *out, const char *s, size_t max)
{
	static const char mark[] = "…";
	size_t start = out->len, at = out->len, n;

	for (; *s; s += n) {
		size_t left = strnlen(s, 4); /* no character is longer */

		for (n = 1; n <= left && !str_is_utf8(s, n); n++)
			;
		if (n > left) {
			n = 1;
			buf_add_char(out, '?');
		} else {
			buf_add(out, s, n);
		}
		if (out->len - start > max)
			break;
		if (out->len - start <= max - strlen(mark))
			at = out->len;
	}
	if (!*s)
		return;
	out->len = at;
	out->data[at] = 0;
	buf_add_str(out, mark);
}

static char *cut_copy(const char *s, const char *otherwise)
{
	struct buf b = BUF(EVENT_WORD_MAX + 8);

	add_cut(&b, str_empty(s) ? otherwise : s, EVENT_WORD_MAX);
	return buf_take(&b);
}

struct recorder *recorder_new(const char *controller, const char *instance)
{
	struct recorder *r = NEW(struct recorder);

	*r = (struct recorder) {
		.by_key = MAP_INIT, .buckets = MAP_INIT, .due = DIRTY_INIT, .path = BUF(KUBE_PATH_MAX)
	};
	r->controller = mem_strdup(controller);
	r->instance = cut_copy(instance, "unknown");
	link_init(&r->all);
	while (r->n_free < EVENT_ENTRIES_MAX) {
		r->free_slots[r->n_free] = (uint16_t)(EVENT_ENTRIES_MAX - 1 - r->n_free);
		r->n_free++;
	}
	return r;
}

/* Entries and buckets */

static void bucket_release(struct recorder *r, struct bucket *b)
{
	if (--b->n_entries)
		return;
	map_remove(&r->buckets, b->key);
	free(b->key);
	free(b);
}

static void entry_drop(struct recorder *r, struct entry *e)
{
	if (e->written < e->count)
		r->n_dropped++;
	if (e->sending)
		r->n_sending--;
	map_remove(&r->by_key, e->key);
	r->slots[e->id % EVENT_ENTRIES_MAX] = NULL;
	r->free_slots[r->n_free++] = (uint16_t)(e->id % EVENT_ENTRIES_MAX);
	link_remove(&e->all);
	link_remove(&e->same_bucket);
	bucket_release(r, e->bucket);
	free(e->key);
	free(e->texts);
	free(e);
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	while (!list_empty(&r->all))
		entry_drop(r, LIST_ITEM(r->all.next, struct entry, all));
	map_done(&r->by_key);
	map_done(&r->buckets);
	dirty_done(&r->due);
	buf_done(&r->path);
	free(r->body);
	free(r->controller);
	free(r->instance);
	free(r);
}

static void bucket_fill(struct bucket *b, usec_t now)
{
	usec_t n = (now - b->filled) / EVENT_REFILL_SPAN;

	if (b->tokens + n >= EVENT_BURST) {
		b->tokens = EVENT_BURST;
		b->filled = now;
	} else if (n > 0) {
		b->tokens += (unsigned)n;
		b->filled += n * EVENT_REFILL_SPAN;
	}
}

static struct bucket *bucket_of(struct recorder *r, const char *key, usec_t now)
{
	struct bucket *b = map_get(&r->buckets, key);

	if (b)
		return b;
	b = NEW(struct bucket);
	*b = (struct bucket) { .key = mem_strdup(key), .tokens = EVENT_BURST, .filled = now };
	link_init(&b->entries);
	map_put(&r->buckets, b->key, b);
	return b;
}

static void schedule(struct recorder *r, struct entry *e, usec_t at)
{
	e->due = at;
	if (at != USEC_NEVER)
		dirty_mark(&r->due, e->slot, at);
}

static void new_name(struct recorder *r, struct entry *e, usec_t wall)
{
	uint64_t number = (uint64_t)wall * 1000;

	e->number = r->last_name = number > r->last_name ? number : r->last_name + 1;
}

static const char *name_of(const struct entry *e, char name[NAME_MAX_BYTES + 1])
{
	size_t len = MIN_OF(strlen(e->about), (size_t)(NAME_MAX_BYTES - HEX_DIGITS - 1));

	while (len && !isalnum((unsigned char)e->about[len - 1]))
		len--;
	snprintf(name, NAME_MAX_BYTES + 1, "%.*s.%016" PRIx64, (int)len, e->about, e->number);
	return name;
}

/* All in one piece: thousands of them are kept. */
static void keep_texts(struct entry *n, const struct event *e)
{
	_cleanup_free_ char *reason = cut_copy(e->reason, "Unknown"), *action = cut_copy(e->action, "Unknown");
	const char *const from[] = { e->api_version, e->kind, e->ns, e->name, e->uid, reason, action };
	const char **const to[] = { &n->api_version, &n->kind, &n->ns, &n->about, &n->uid, &n->reason, &n->action };
	size_t len = 0, at = 0;

	for (size_t i = 0; i < ARRAY_LEN(from); i++)
		len += strlen(str_or(from[i], "")) + 1;
	n->texts = mem_alloc(len);
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		size_t size = strlen(str_or(from[i], "")) + 1;

		memcpy(n->texts + at, str_or(from[i], ""), size);
		*to[i] = n->texts + at;
		at += size;
	}
}

/* Telling */

/* One key from all that must be equal; what shares a bucket first, its length in *ret_shared_len, the note last. */
static void make_key(struct buf *out, const struct event *e, size_t *ret_shared_len, size_t *ret_note_at)
{
	static const char sep[] = "\x1f";

	if (str_empty(e->uid))
		buf_printf(out, "%s/%s/%s", str_or(e->kind, ""), str_or(e->ns, ""), str_or(e->name, ""));
	else
		add_cut(out, e->uid, EVENT_WORD_MAX);
	buf_printf(out, "%s%s%s", sep, str_or(e->type, ""), sep);
	add_cut(out, str_or(e->reason, ""), EVENT_WORD_MAX);
	*ret_shared_len = out->len;
	buf_add_str(out, sep);
	add_cut(out, str_or(e->action, ""), EVENT_WORD_MAX);
	buf_add_str(out, sep);
	*ret_note_at = out->len;
	add_cut(out, str_or(e->note, ""), EVENT_NOTE_MAX);
}

static void make_room(struct recorder *r, struct bucket *b)
{
	if (b->n_entries == EVENT_PER_OBJECT_MAX)
		entry_drop(r, LIST_ITEM(b->entries.next, struct entry, same_bucket));
	if (map_count(&r->by_key) < EVENT_ENTRIES_MAX)
		return;
	b->n_entries++; /* must not go with the last entry that has it */
	entry_drop(r, LIST_ITEM(r->all.next, struct entry, all));
	b->n_entries--;
}

static void add_new(struct recorder *r, const struct event *e, struct buf *key, size_t shared_len, size_t note_at,
                    struct event_time now)
{
	_cleanup_free_ char *shared = mem_strndup(buf_text(key), shared_len);
	struct entry *n = NEW(struct entry);

	n->bucket = bucket_of(r, shared, now.mono);
	make_room(r, n->bucket);
	n->bucket->n_entries++;
	n->key = buf_take(key);
	n->note = n->key + note_at;
	n->id = ++r->last_id << SLOT_BITS | r->free_slots[--r->n_free];
	snprintf(n->slot, sizeof(n->slot), "%u", (unsigned)(n->id % EVENT_ENTRIES_MAX));
	r->slots[n->id % EVENT_ENTRIES_MAX] = n;
	n->type = str_eq(e->type, "Warning") ? "Warning" : "Normal";
	keep_texts(n, e);
	n->first = n->last = now.wall;
	n->told = now.mono;
	n->count = 1;
	new_name(r, n, now.wall);
	list_add_tail(&r->all, &n->all);
	list_add_tail(&n->bucket->entries, &n->same_bucket);
	map_put(&r->by_key, n->key, n);
	schedule(r, n, now.mono);
}

static void told_again(struct recorder *r, struct entry *e, struct event_time now)
{
	usec_t next = e->wrote + EVENT_PATCH_SPAN;

	e->last = now.wall;
	e->told = now.mono;
	e->count++;
	link_remove(&e->all);
	list_add_tail(&r->all, &e->all);
	link_remove(&e->same_bucket);
	list_add_tail(&e->bucket->entries, &e->same_bucket);
	if (e->due != USEC_NEVER || e->sending || e->refused) /* on its way already, or never */
		return;
	if (e->written == 1 || next < now.mono)
		next = now.mono; /* the first repeat shows at once */
	schedule(r, e, next);
}

/* Series that nobody told again are over. All have the same span, so the oldest is over first. */
static void close_series(struct recorder *r, usec_t now)
{
	while (!list_empty(&r->all)) {
		struct entry *e = LIST_ITEM(r->all.next, struct entry, all);

		if (now - e->told < EVENT_SERIES_SPAN)
			return;
		entry_drop(r, e);
	}
}

void recorder_add(struct recorder *r, const struct event *e, struct event_time now)
{
	_cleanup_buf_ struct buf key = BUF(KEY_MAX);
	size_t shared_len, note_at;
	struct entry *old;

	close_series(r, now.mono);
	make_key(&key, e, &shared_len, &note_at);
	if (key.error || str_empty(e->name)) {
		r->n_dropped++;
		return;
	}
	old = map_get(&r->by_key, buf_text(&key));
	if (old)
		told_again(r, old, now);
	else
		add_new(r, e, &key, shared_len, note_at, now);
}

/* Writing */

static void add_series(struct patch *p, const struct entry *e)
{
	patch_int(p, e->count, PATH("series", "count"));
	patch_micro_time(p, e->last, PATH("series", "lastObservedTime"));
}

static void make_object(const struct recorder *r, const struct entry *e, const char *name, const char *ns,
                        struct patch *p)
{
	patch_str(p, "events.k8s.io/v1", PATH("apiVersion"));
	patch_str(p, "Event", PATH("kind"));
	patch_str(p, name, PATH("metadata", "name"));
	patch_str(p, ns, PATH("metadata", "namespace"));
	patch_micro_time(p, e->first, PATH("eventTime"));
	patch_str(p, r->controller, PATH("reportingController"));
	patch_str(p, r->instance, PATH("reportingInstance"));
	patch_str(p, e->action, PATH("action"));
	patch_str(p, e->reason, PATH("reason"));
	patch_str(p, e->type, PATH("type"));
	patch_str(p, e->note, PATH("note"));
	patch_str(p, e->api_version, PATH("regarding", "apiVersion"));
	patch_str(p, e->kind, PATH("regarding", "kind"));
	if (*e->ns)
		patch_str(p, e->ns, PATH("regarding", "namespace"));
	patch_str(p, e->about, PATH("regarding", "name"));
	if (*e->uid)
		patch_str(p, e->uid, PATH("regarding", "uid"));
	if (e->count > 1)
		add_series(p, e);
}

/* False when it cannot be sent at all. */
static bool make_request(struct recorder *r, struct entry *e, struct event_request *ret)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	bool create = e->written == 0;
	char text[NAME_MAX_BYTES + 1];
	const char *ns = *e->ns ? e->ns : "default", *name = name_of(e, text);
	struct kube_ref ref = { .kind = KUBE_EVENTS, .ns = ns, .name = create ? NULL : name };
	size_t len;

	buf_clear(&r->path);
	if (kube_path(&r->path, &ref, NULL, NULL, NULL) < 0)
		return false;
	if (create)
		make_object(r, e, name, ns, p);
	else
		add_series(p, e);
	free(r->body);
	r->body = patch_text(p, &len);
	ret->id = e->id;
	ret->rest = (struct rest_request) {
		.method = create ? "POST" : "PATCH",
		.path = buf_text(&r->path),
		.content_type = create ? "application/json" : "application/strategic-merge-patch+json",
		.body = r->body,
		.body_len = len,
	};
	return true;
}

/* An entry whose time has come: true when there is a request, false when it was put off or is gone. */
static bool take_entry(struct recorder *r, struct entry *e, usec_t now, struct event_request *ret)
{
	bucket_fill(e->bucket, now);
	if (e->bucket->tokens == 0) {
		schedule(r, e, e->bucket->filled + EVENT_REFILL_SPAN);
		return false;
	}
	if (!make_request(r, e, ret)) {
		entry_drop(r, e);
		return false;
	}
	e->bucket->tokens--;
	e->due = USEC_NEVER;
	e->sending = e->count;
	r->n_sending++;
	return true;
}

bool recorder_take(struct recorder *r, struct event_time now, struct event_request *ret)
{
	close_series(r, now.mono);
	while (r->n_sending < EVENT_IN_FLIGHT_MAX) {
		_cleanup_free_ char *slot = dirty_take(&r->due, now.mono);
		int64_t number;
		struct entry *e;

		if (!slot)
			return false;
		if (str_to_i64(slot, 0, EVENT_ENTRIES_MAX - 1, &number) < 0)
			abort(); /* only slots are ever marked */
		e = r->slots[number];
		if (!e) /* gone meanwhile */
			continue;
		if (e->due > now.mono)
			schedule(r, e, e->due);
		else if (take_entry(r, e, now.mono, ret))
			return true;
	}
	return false;
}

/* Answers */

static bool is_passing(int status)
{
	return status == 0 || status == 401 || status == 408 || status == 409 || status == 429 || status >= 500;
}

static void written(struct recorder *r, struct entry *e, usec_t now)
{
	bool first = e->written == 0;

	e->written = e->sending;
	e->wrote = now;
	e->tries = 0;
	if (e->count > e->written)
		schedule(r, e, first ? now : now + EVENT_PATCH_SPAN);
}

static void try_again(struct recorder *r, struct entry *e, usec_t now)
{
	if (++e->tries == EVENT_TRIES_MAX)
		entry_drop(r, e);
	else
		schedule(r, e, now + (RETRY_SPAN << e->tries));
}

void recorder_answered(struct recorder *r, uint64_t id, int status, struct event_time now)
{
	struct entry *e = r->slots[id % EVENT_ENTRIES_MAX];

	if (!e || e->id != id || !e->sending)
		return;
	r->n_sending--;
	if (status == 409 && e->written == 0 && e->lost_answer)
		status = 201; /* the try before had worked */
	e->lost_answer = status == 0;
	if (status >= 200 && status < 300)
		written(r, e, now.mono);
	e->sending = 0;
	if (status >= 200 && status < 300)
		return;
	if (status == 409 && e->written == 0)
		new_name(r, e, now.wall);
	if (status == 404 && e->written > 0) { /* the object is gone: once more, with all that was counted */
		e->written = 0;
		schedule(r, e, now.mono);
	} else if (is_passing(status))
		try_again(r, e, now.mono);
	else
		e->refused = true; /* kept until its series is over, so that it is not sent again and again */
}

usec_t recorder_next(const struct recorder *r)
{
	usec_t next = dirty_next(&r->due), over = USEC_NEVER;

	if (!list_empty(&r->all))
		over = LIST_ITEM(r->all.next, struct entry, all)->told + EVENT_SERIES_SPAN;
	return r->n_sending == EVENT_IN_FLIGHT_MAX ? USEC_NEVER : MIN_OF(next, over);
}

size_t recorder_count(const struct recorder *r)
{
	return map_count(&r->by_key);
}

uint64_t recorder_dropped(const struct recorder *r)
{
	return r->n_dropped;
}
