/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes as the stream of a watch, once in one piece and once in pieces of any size: both leave the same store and
 * the same verdict. And the same bytes as a page of a list.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "kube/feed.h"
#include "kube/lines.h"

#define LINE_BYTES_MAX ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct store_kind pods = { .name = "pods" };

struct reader {
	struct store *store;
	struct feed feed;
	struct lines lines;
	char version[128];
	int result;
	struct err err;
};

static void reader_init(struct reader *r)
{
	*r = (struct reader) { .store = store_new(&pods) };
	feed_init(&r->feed, KUBE_PODS, r->store);
	lines_init(&r->lines, LINE_BYTES_MAX);
}

static void reader_done(struct reader *r)
{
	lines_done(&r->lines);
	feed_done(&r->feed);
	store_free(r->store);
}

static int got_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct reader *r = arg;
	const char *version = NULL;
	enum feed_event event;
	int result = feed_line(&r->feed, line, len, &event, &version, err);

	if (result < 0) {
		assert(!err || err->text[0]);
		return result;
	}
	if (event == FEED_ERROR) {
		assert(r->feed.status->message[0]);
		return -1;
	}
	assert(!str_empty(version) && strlen(version) < sizeof(r->version));
	str_copy(r->version, sizeof(r->version), version);
	return 0;
}

static void read_bytes(struct reader *r, const uint8_t *data, size_t size)
{
	if (r->result == 0)
		r->result = lines_feed(&r->lines, (const char *)data, size, got_line, r, &r->err);
	assert(lines_held(&r->lines) <= LINE_BYTES_MAX);
}

static void assert_same(const struct reader *a, const struct reader *b)
{
	const struct meta *m;
	size_t i = 0;

	assert(a->result == b->result && str_eq(a->version, b->version));
	assert(a->feed.unreadable == b->feed.unreadable && store_count(a->store) == store_count(b->store));
	while ((m = store_next(a->store, &i))) {
		const struct meta *other = store_get(b->store, m->ns, m->name);

		assert(other && str_eq(m->resource_version, other->resource_version) && str_eq(m->uid, other->uid));
	}
}

static void read_page(struct reader *r, const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_alloc(size + YYJSON_PADDING_SIZE);
	struct feed_page page = { 0 };
	struct err err = { 0 };

	memcpy(text, data, size);
	store_replace_begin(r->store);
	if (feed_page(&r->feed, text, size, &page, &err) < 0) {
		assert(err.text[0]);
		return;
	}
	assert(!str_empty(page.version));
	store_replace_end(r->store);
	assert(store_count(r->store) <= page.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rng rng = rng_seeded(size ? size * 257 + data[size / 2] : 0);
	struct reader whole, pieces;

	reader_init(&whole);
	reader_init(&pieces);
	read_bytes(&whole, data, size);
	for (size_t at = 0; at < size;) {
		size_t n = (size_t)rng_below(&rng, rng_below(&rng, 4) ? 16 : 4096) + 1;

		n = n < size - at ? n : size - at;
		read_bytes(&pieces, data + at, n);
		at += n;
	}
	assert_same(&whole, &pieces);
	reader_done(&pieces);
	read_page(&whole, data, size);
	reader_done(&whole);
	return 0;
}
