/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the API server sends of a collection, into a store: pages of a list and lines of a watch. No I/O.
 *
 * What holds: an object that cannot be read is counted and told, and what the store has of it stays; it is never taken
 * for deleted. Text that is no page or no event changes nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/status.h"
#include "port/kube.h"
#include "port/store.h"
#include "json/decode.h"
#include "json/json.h"

struct feed {
	enum kube_kind kind;
	struct store *store; /* borrowed */
	struct json_parser *parser;
	struct json_scratch scratch;
	uint64_t objects, events; /* read so far */
	uint64_t unreadable;      /* objects that could not be decoded */
	struct err last_unreadable;
	struct kube_answer *status; /* of the last ERROR event; NULL before the first */
};

void feed_init(struct feed *f, enum kube_kind kind, struct store *store);
void feed_done(struct feed *f);

/* Strings are good until the next feed. */
struct feed_page {
	const char *version;
	const char *token; /* NULL on the last page */
	size_t n;
};

/* A page: puts its objects. The text is overwritten and must have YYJSON_PADDING_SIZE bytes behind it. Call between
 * store_replace_begin() and _end(). On an error some objects may have been put: begin the list again. */
int feed_page(struct feed *f, char *text, size_t len, struct feed_page *ret, struct err *err);

enum feed_event { FEED_OBJECT, FEED_BOOKMARK, FEED_ERROR };

/* A line of a watch: puts or removes its object. *ret_version is the resourceVersion to go on from (not for FEED_ERROR,
 * whose Status is then in f->status). */
int feed_line(struct feed *f, const char *line, size_t len, enum feed_event *ret, const char **ret_version,
              struct err *err);
