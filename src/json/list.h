/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A list as an API server sends it, {"kind":…,"metadata":{…},"items":[…]}, walked so that never more than one item is in
 * memory as values: a page of 500 objects is megabytes of text, and would be several times that.
 */
#pragma once

#include "json/json.h"

/* What to do with what comes. A value is good until the function returns, its strings as long as the text. An error ends
 * the walk with it. */
struct json_list_calls {
	int (*member)(void *arg, const char *key, yyjson_val *value, struct err *err); /* all but the items */
	int (*item)(void *arg, size_t i, yyjson_val *value, struct err *err);
};

/* Walks the object in `text`, in place, as it comes: members may stand before and after the items. `items` is the key of
 * the array; null, like absent, has none. What was called back before an error was found cannot be called back again. */
int json_list_walk(struct json_parser *p, char *text, size_t len, const char *items,
                   const struct json_list_calls *calls, void *arg, struct err *err);
