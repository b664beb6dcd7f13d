/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/strange.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define EXCERPT_MAX 64
#define ANY "*" /* all other keys are fine */

/* What an object may hold; a list of these ends with one that has no key. */
struct shape {
	const char *key;
	const struct shape *in;   /* what is in it; NULL = whatever it is */
	const char *const *words; /* what it may say; NULL = anything */
	bool each;                /* it is a list, and `in` is about each element */
};

static const char *const selector_words[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL };
static const char *const toleration_words[] = { "", "Exists", "Equal", NULL };
static const char *const effect_words[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

static const struct shape requirement[] = {
	{ "key" }, { "operator", .words = selector_words }, { "values" }, { NULL }
};
static const struct shape term[] = { { "matchExpressions", requirement, .each = true },
	                             { "matchFields", requirement, .each = true },
	                             { NULL } };
static const struct shape required[] = { { "nodeSelectorTerms", term, .each = true }, { NULL } };
static const struct shape node_affinity[] = { { "requiredDuringSchedulingIgnoredDuringExecution", required },
	                                      { ANY },
	                                      { NULL } };
static const struct shape affinity[] = { { "nodeAffinity", node_affinity }, { NULL } };
static const struct shape template_affinity[] = { { "nodeAffinity", node_affinity }, { ANY }, { NULL } };
static const struct shape template_spec[] = { { "affinity", template_affinity }, { ANY }, { NULL } };
static const struct shape template_shape[] = { { "metadata" }, { "spec", template_spec }, { NULL } };
static const struct shape toleration[] = { { "key" },
	                                   { "operator", .words = toleration_words },
	                                   { "value" },
	                                   { "effect", .words = effect_words },
	                                   { "tolerationSeconds" },
	                                   { NULL } };
static const struct shape update_strategy[] = { { "type" }, { "maxUnavailable" }, { NULL } };
static const struct shape spec[] = { { "replicas" },
	                             { "overProvision" },
	                             { "namePrefix" },
	                             { "nameLabel" },
	                             { "nodeSelector" },
	                             { "affinity", affinity },
	                             { "tolerations", toleration, .each = true },
	                             { "features" },
	                             { "featureLabels" },
	                             { "updateStrategy", update_strategy },
	                             { "template", template_shape },
	                             { NULL } };
static const struct shape nodeset[] = { { "spec", spec }, { ANY }, { NULL } };

static const struct shape *shape_of(const struct shape *s, const char *key)
{
	while (s->key && !str_eq(s->key, ANY) && !str_eq(s->key, key))
		s++;
	return s->key ? s : NULL;
}

static bool is_word(const char *const *words, yyjson_val *v)
{
	if (!words || !yyjson_is_str(v))
		return true;
	while (*words && !yyjson_equals_str(v, *words))
		words++;
	return *words;
}

static bool strange_in(const struct shape *shapes, yyjson_val *object, struct buf *path);

static void path_back(struct buf *path, size_t len)
{
	path->len = len;
	if (path->data)
		path->data[len] = 0;
}

static bool strange_value(const struct shape *s, yyjson_val *v, struct buf *path)
{
	size_t i, max, at = path->len;
	yyjson_val *element;

	if (!is_word(s->words, v)) {
		buf_add_str(path, " '");
		str_add_safe(path, yyjson_get_str(v), yyjson_get_len(v), EXCERPT_MAX);
		buf_add_str(path, "'");
		return true;
	}
	if (!s->in)
		return false;
	if (!s->each)
		return strange_in(s->in, v, path);
	yyjson_arr_foreach(v, i, max, element)
	{
		buf_printf(path, "[%zu]", i);
		if (strange_in(s->in, element, path))
			return true;
		path_back(path, at);
	}
	return false;
}

static bool strange_in(const struct shape *shapes, yyjson_val *object, struct buf *path)
{
	size_t i, max, at = path->len;
	yyjson_val *key, *value;

	yyjson_obj_foreach(object, i, max, key, value)
	{
		const struct shape *s = shape_of(shapes, yyjson_get_str(key));

		if (yyjson_is_null(value))
			continue;
		if (at)
			buf_add_char(path, '.');
		str_add_safe(path, yyjson_get_str(key), yyjson_get_len(key), EXCERPT_MAX);
		if (!s || strange_value(s, value, path))
			return true;
		path_back(path, at);
	}
	return false;
}

void nodeset_find_strange(yyjson_val *value, struct nodeset *set)
{
	_cleanup_buf_ struct buf path = BUF(16 * EXCERPT_MAX);

	if (!strange_in(nodeset, value, &path))
		return;
	str_copy(set->strange, sizeof(set->strange), buf_text(&path));
	str_mask_unsafe(set->strange); /* where it was cut */
}
