/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/extra.h"

#include <errno.h>
#include <string.h>
#include <yyjson.h>

#include "base/str.h"
#include "policy/nodeset.h"
#include "json/json.h"

static const char *const status_names[] = { "Unknown", "True", "False" };

static void docp(yyjson_doc **d)
{
	yyjson_doc_free(*d);
}

static void mut_docp(yyjson_mut_doc **d)
{
	yyjson_mut_doc_free(*d);
}

/* NULL when it is no JSON object. Numbers stay text, so that users' come back as they were written. */
static yyjson_doc *parse(const char *extra)
{
	yyjson_doc *doc = yyjson_read(str_or(extra, ""), strlen(str_or(extra, "")), YYJSON_READ_NUMBER_AS_RAW);

	if (doc && yyjson_is_obj(yyjson_doc_get_root(doc)))
		return doc;
	yyjson_doc_free(doc);
	return NULL;
}

/* Cut, and as text that JSON can hold. */
static yyjson_mut_val *word(yyjson_mut_doc *doc, const char *text)
{
	char cut[EXTRA_WORD_MAX];

	str_copy(cut, sizeof(cut), text);
	str_mask_unsafe(cut);
	return yyjson_mut_strcpy(doc, cut);
}

static void add_word(yyjson_mut_doc *doc, yyjson_mut_val *o, const char *key, const char *value)
{
	if (value)
		yyjson_mut_obj_add(o, yyjson_mut_str(doc, key), word(doc, value));
}

static yyjson_mut_val *conditions_of(yyjson_mut_doc *doc, const struct pod *p)
{
	/* Slurm's own words come back to it as they are; here they would only chase their own change */
	static const char *const own[] = { CONDITION_DRAIN, CONDITION_RUNNING, CONDITION_NOT_RESPONDING };
	yyjson_mut_val *o = yyjson_mut_obj(doc);
	uint32_t n = MIN_OF(p->n_conditions, (uint32_t)EXTRA_CONDITIONS_MAX);

	for (uint32_t i = 0; i < n; i++) {
		const struct condition *c = &p->conditions[i];
		bool skip = str_empty(c->type) || (size_t)c->status >= ARRAY_LEN(status_names);

		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			skip |= str_eq(c->type, own[k]);
		if (!skip)
			yyjson_mut_obj_put(o, word(doc, c->type), yyjson_mut_str(doc, status_names[c->status]));
	}
	return o;
}

static yyjson_mut_val *our_part(yyjson_mut_doc *doc, const struct pod *p, const char *features)
{
	const struct owner *owner = meta_controller(&p->meta);
	yyjson_mut_val *o = yyjson_mut_obj(doc);

	add_word(doc, o, "node", p->node_name);
	add_word(doc, o, "namespace", p->meta.ns);
	add_word(doc, o, "pod", p->meta.name);
	add_word(doc, o, "nodeset", owner && str_eq(owner->kind, "NodeSet") ? owner->name : NULL);
	add_word(doc, o, "lock", pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_LOCK));
	add_word(doc, o, "cordonReason", pod_cordon(p));
	yyjson_mut_obj_add_val(doc, o, "conditions", conditions_of(doc, p));
	add_word(doc, o, "features", str_empty(features) ? NULL : features);
	return o;
}

/* Users' keys in their order, each once: of equal keys the first counts for those who read it. Ours last. */
static void copy_users_keys(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from)
{
	yyjson_obj_iter it = yyjson_obj_iter_with(from);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&it)))
		if (!yyjson_equals_str(key, EXTRA_KEY))
			yyjson_mut_obj_add(to, yyjson_val_mut_copy(doc, key),
			                   yyjson_val_mut_copy(doc, yyjson_obj_iter_get_val(key)));
}

/* Our part is there once and says what it should. */
static bool is_so(yyjson_val *object, yyjson_mut_val *ours)
{
	_cleanup_free_ char *want = yyjson_mut_val_write(ours, 0, NULL), *have = NULL;
	yyjson_obj_iter it = yyjson_obj_iter_with(object);
	yyjson_val *key, *value = NULL;
	int n = 0;

	while ((key = yyjson_obj_iter_next(&it)))
		if (yyjson_equals_str(key, EXTRA_KEY)) {
			value = yyjson_obj_iter_get_val(key);
			n++;
		}
	have = n == 1 ? yyjson_val_write(value, 0, NULL) : NULL;
	return have && want && str_eq(have, want);
}

bool extra_merge(const char *now, const struct pod *pod, const char *features, struct buf *out, struct err *err)
{
	_cleanup_(mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	_cleanup_(docp) yyjson_doc *old = NULL;
	_cleanup_free_ char *text = NULL;
	yyjson_mut_val *root, *ours;
	size_t len = 0;

	if (strlen(str_or(now, "")) > EXTRA_TEXT_MAX) {
		err_set(err, -EFBIG, "Extra has more than %zu bytes: it is left as it is", EXTRA_TEXT_MAX);
		return false;
	}
	old = parse(now);
	ours = our_part(doc, pod, features);
	if (old && is_so(yyjson_doc_get_root(old), ours))
		return false;
	root = yyjson_mut_obj(doc);
	yyjson_mut_doc_set_root(doc, root);
	if (old)
		copy_users_keys(doc, root, yyjson_doc_get_root(old));
	yyjson_mut_obj_add_val(doc, root, EXTRA_KEY, ours);
	text = yyjson_mut_write(doc, 0, &len);
	if (!text || len > EXTRA_TEXT_MAX) {
		err_set(err, -EFBIG, "Extra would have more than %zu bytes: it is left as it is", EXTRA_TEXT_MAX);
		return false;
	}
	buf_clear(out);
	if (buf_add(out, text, len) < 0) {
		err_set(err, -EFBIG, "Extra is too long for its buffer");
		return false;
	}
	return true;
}

bool extra_recall(const char *extra, struct extra_memory *ret)
{
	_cleanup_(docp) yyjson_doc *doc = NULL;
	yyjson_val *ours;
	const char *cordon;

	if (strlen(str_or(extra, "")) > EXTRA_TEXT_MAX)
		return false;
	doc = parse(extra);
	ours = doc ? json_get(yyjson_doc_get_root(doc), EXTRA_KEY) : NULL;
	if (!yyjson_is_obj(ours) || str_empty(json_str(json_get(ours, "pod"))))
		return false;
	cordon = json_str(json_get(ours, "cordonReason"));
	*ret = (struct extra_memory) { .cordoned = cordon != NULL };
	str_copy(ret->pod, sizeof(ret->pod), json_str(json_get(ours, "pod")));
	str_copy(ret->ns, sizeof(ret->ns), json_str(json_get(ours, "namespace")));
	str_copy(ret->nodeset, sizeof(ret->nodeset), json_str(json_get(ours, "nodeset")));
	str_copy(ret->cordon, sizeof(ret->cordon), cordon);
	str_copy(ret->features, sizeof(ret->features), json_str(json_get(ours, "features")));
	return true;
}
