/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Server-side apply: the sent object is merged over the live one, what this manager applied before and does not any
 * more is taken away (unless someone else manages it too), and a change of what others manage is a conflict unless
 * forced.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/defaults.h"
#include "lite/managers.h"
#include "lite/obj.h"

#define MESSAGE_MAX (256u << 10)

/* --------------------------------------------------------------------------------------------------------- pruning */

static void take_away(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val **v, const struct fields *gone)
{
	yyjson_mut_val *left = fields_remove(doc, t, *v, gone);

	*v = left ? left : yyjson_mut_obj(doc);
}

/* a − b, both with the struct members on the way. */
static struct fields *minus(const struct type *t, const struct fields *a, const struct fields *b)
{
	struct fields *out = fields_ensure_named(t, a);
	_cleanup_fields_ struct fields *other = fields_ensure_named(t, b);

	fields_subtract(out, other);
	return out;
}

/* Takes away what `last` had, and nobody has now. */
static yyjson_mut_val *prune(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *merged,
                             const struct fields *last, const struct managers *m)
{
	_cleanup_fields_ struct fields *all = fields_of(t, merged), *gone = fields_ensure_named(t, last), *kept = NULL,
	                               *more = NULL, *fallen = NULL, *left = NULL, *final = NULL, *had = NULL;
	yyjson_mut_val *pruned = merged;

	take_away(doc, t, &pruned, gone);
	/* What someone manages comes back. */
	kept = fields_of(t, pruned);
	for (size_t i = 0; i < m->n; i++)
		fields_add(kept, m->list[i].set);
	more = minus(t, all, kept);
	pruned = merged;
	take_away(doc, t, &pruned, more);
	/* And so does what this manager never had: it only hung on what went. */
	left = fields_of(t, pruned);
	fallen = minus(t, all, left);
	had = fields_ensure_named(t, last);
	final = fields_common(fallen, had);
	pruned = merged;
	take_away(doc, t, &pruned, final);
	return pruned;
}

/* ------------------------------------------------------------------------------------------------------- conflicts */

struct conflicts {
	struct causes causes;
	struct buf text;
	size_t n;
	char *who; /* of the manager at hand */
};

/* "\"curl\" with subresource \"status\" using v1 at 2026-…" */
static char *describe(const struct manager *m)
{
	_cleanup_buf_ struct buf out = BUF(4096);

	obj_add_quoted(&out, m->name);
	if (!str_empty(m->subresource))
		buf_printf(&out, " with subresource \"%s\"", m->subresource);
	if (!m->applies)
		buf_printf(&out, " using %s", m->api_version);
	if (!m->applies && m->time)
		buf_printf(&out, " at %s", m->time);
	return mem_strdup(buf_text(&out));
}

static void add_conflict(void *arg, const char *path)
{
	struct conflicts *c = arg;
	_cleanup_free_ char *message = str_printf("conflict with %s", c->who);

	causes_add_raw(&c->causes, "FieldManagerConflict", path, message);
	buf_printf(&c->text, "\n- %s", path);
	c->n++;
}

static int refuse(struct managers *m, const struct manager *self, const struct fields *changed, struct status *st)
{
	struct conflicts c = { .causes = CAUSES_INIT, .text = BUF(MESSAGE_MAX) };
	struct status_details details = { .causes = &c.causes };
	int r = 0;

	for (size_t i = 0; i < m->n; i++) {
		_cleanup_fields_ struct fields *both = NULL;

		if (&m->list[i] == self)
			continue;
		both = fields_common(m->list[i].set, changed);
		if (fields_empty(both))
			continue;
		c.who = describe(&m->list[i]);
		buf_printf(&c.text, "%sconflicts with %s:", c.text.len ? "\n" : "", c.who);
		fields_each(both, add_conflict, &c);
		free(c.who);
	}
	if (c.n == 1)
		r = status_fail(st, 409, "Conflict", &details, "Apply failed with 1 conflict: %s: %s",
		                c.causes.list[0].message, c.causes.list[0].field);
	else if (c.n)
		r = status_fail(st, 409, "Conflict", &details, "Apply failed with %zu conflicts: %s", c.n,
		                buf_text(&c.text));
	causes_done(&c.causes);
	buf_done(&c.text);
	return r;
}

/* ----------------------------------------------------------------------------------------------------------- apply */

static int check_config(const struct kind *k, yyjson_mut_val *config, struct status *st)
{
	const char *version = str_or(obj_str(obj_get(config, "apiVersion")), "");
	char expected[300], path[4096] = "";

	kind_api_version(k, expected, sizeof(expected));
	if (!yyjson_mut_is_obj(config))
		return status_bad_request(st, "error decoding patch: the patch is no object");
	if (!str_eq(version, expected))
		return status_bad_request(
		        st, "Incorrect version specified in apply patch. Specified patch version: %s, expected: %s",
		        version, expected);
	if (obj_is_set(obj_at(config, "metadata", "managedFields")))
		return status_bad_request(st, "metadata.managedFields must be nil");
	if (fields_unknown(k->type, config, path, sizeof(path)))
		return status_fail(
		        st, 500, NULL, NULL,
		        "failed to create typed patch object (%s/%s; %s, Kind=%s): %s: field not declared in schema",
		        str_or(obj_str(obj_at(config, "metadata", "namespace")), ""),
		        str_or(obj_str(obj_at(config, "metadata", "name")), ""), expected, k->kind, path);
	return 0;
}

/* An object nobody was followed on: all it has is someone's from before. */
static void adopt(const struct kind *k, struct managers *m, yyjson_mut_val *live)
{
	struct writer before = { .manager = "before-first-apply" };
	struct manager *one;

	if (m->n || str_empty(obj_str(obj_at(live, "metadata", "uid"))))
		return;
	one = managers_entry(m, k, &before, false);
	fields_free(one->set);
	one->set = fields_of(k->type, live);
	managers_filter(k, NULL, one->set);
	managers_strip(one->set);
}

int patch_apply(const struct kind *k, yyjson_mut_doc *doc, yyjson_val *config_val, const struct writer *by, bool force,
                struct status *st)
{
	yyjson_mut_val *live = yyjson_mut_doc_get_root(doc), *config = yyjson_val_mut_copy(doc, config_val), *merged;
	_cleanup_managers_ struct managers m = { 0 };
	_cleanup_fields_ struct fields *last = NULL;
	_cleanup_fields_diff_ struct fields_diff d = { 0 };
	struct manager *self;
	int r = check_config(k, config, st);

	if (r < 0)
		return r;
	managers_read(&m, live);
	adopt(k, &m, live);
	self = managers_entry(&m, k, by, true);
	last = self->set;
	self->set = fields_of(k->type, config);
	managers_filter(k, by->subresource, self->set);
	merged = fields_merge(doc, k->type, live, config);
	if (!fields_empty(last))
		merged = prune(doc, k->type, merged, last, &m);
	d = fields_compare(k->type, live, merged);
	managers_filter(k, by->subresource, d.added);
	managers_filter(k, by->subresource, d.modified);
	managers_filter(k, by->subresource, d.removed);
	fields_add(d.added, d.modified);
	r = force ? 0 : refuse(&m, self, d.added, st);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m.n; i++) {
		if (&m.list[i] == self)
			continue;
		fields_subtract(m.list[i].set, d.added);
		fields_subtract(m.list[i].set, d.removed);
	}
	managers_strip(self->set);
	manager_set_time(self, by->now);
	yyjson_mut_doc_set_root(doc, merged);
	managers_write(&m, doc);
	return 0;
}

void managed_applied(const struct kind *k, yyjson_mut_doc *now, yyjson_mut_val *old, const struct writer *by)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(now);

	(void)k;
	(void)by;
	/* Applied again without a change: the times stay, too. */
	if (old && defaults_same(root, old))
		obj_set_copy(now, obj_get(root, "metadata"), "managedFields", obj_at(old, "metadata", "managedFields"));
}
