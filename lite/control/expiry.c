/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events are forgotten after an hour.
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/control.h"
#include "lite/obj.h"
#include "json/json.h"

#define EVENT_LIFE USEC_HOUR
#define SWEEP_SPAN USEC_MINUTE
#define SWEEP "sweep"

static void start(struct controller *c)
{
	mark(c, SWEEP, SWEEP_SPAN);
}

/* The last time it happened. */
static usec_t event_time(yyjson_val *root)
{
	const char *const texts[] = { json_str(val_at(root, "series", "lastObservedTime")),
		                      json_str(val_at(root, "lastTimestamp")), json_str(val_at(root, "eventTime")),
		                      json_str(val_at(root, "metadata", "creationTimestamp")) };
	usec_t at;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i] && time_parse_rfc3339(texts[i], strlen(texts[i]), &at) == 0)
			return at;
	return 0;
}

static void look(struct controller *c, const char *key)
{
	struct collection *in = c->control->events;
	usec_t oldest = lite_now(c->lite) - EVENT_LIFE;

	for (size_t i = in->n; i-- > 0;) {
		_cleanup_(item_unrefp) struct item *e = item_ref(in->items[i]);
		_cleanup_doc_ yyjson_doc *doc = reg_read(e);
		_cleanup_free_ char *ns = mem_strndup(e->key, e->ns_len);

		if (event_time(yyjson_doc_get_root(doc)) < oldest)
			delete_object(c, kind_of("", "events"), ns, e->name, &DELETE_NOW);
	}
	mark(c, key, SWEEP_SPAN);
}

const struct controller_ops expiry_ops = { "event-expiry", start, NULL, NULL, look };
