/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * create, update, patch, delete and deletecollection: from the request to the registry and back.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "lite/accept.h"
#include "lite/call.h"
#include "lite/obj.h"
#include "lite/proto.h"
#include "lite/registry.h"
#include "lite/review.h"
#include "lite/selector.h"
#include "lite/types.h"
#include "lite/write.h"
#include "json/json.h"

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define JSON_TYPES "application/json, application/yaml, " PROTOBUF

/* ---- what a request says besides its body ---- */

static int parse_dry_run(const struct call *c, bool *ret, struct status *st)
{
	const char *text = call_query(c, "dryRun");
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_free_ char *value = NULL;

	*ret = str_eq(text, "All");
	if (!text || *ret)
		return 0;
	value = str_printf("[\"%s\"]", text);
	causes_add(&causes, CAUSE_UNSUPPORTED, "dryRun", value, "supported values: \"All\"");
	return status_invalid(st, "meta.k8s.io", "CreateOptions", "", &causes);
}

int write_options(struct call *c, bool apply, struct write_options *o, char manager[MANAGER_MAX + 1], struct status *st)
{
	const char *named = call_query(c, "fieldManager"), *verb = c->route.verb;
	const char *options = str_eq(verb, "patch")    ? "PatchOptions"
	                      : str_eq(verb, "update") ? "UpdateOptions"
	                                               : "CreateOptions";
	int r;

	*o = (struct write_options) { .warnings = &c->warnings, .manager = manager, .force = call_flag(c, "force") };
	r = parse_dry_run(c, &o->dry_run, st);
	if (r == 0)
		r = manager_check(named, apply, st);
	if (r == 0)
		r = decode_field_validation(call_query(c, "fieldValidation"), options, &o->validation, st);
	if (r < 0)
		return r;
	manager_of_agent(str_or(xch_header(c->x, "User-Agent"), ""), manager);
	if (named)
		str_copy(manager, MANAGER_MAX + 1, named);
	return 0;
}

/* ---- bodies ---- */

static int proto_body(const struct type *type, const char *data, size_t len, char **ret, size_t *ret_len,
                      struct status *st)
{
	struct err err = { 0 };
	int r = proto_to_json(type, data, len, ret, ret_len, &err);

	if (r == -ENOTSUP)
		return status_fail(
		        st, 415, "UnsupportedMediaType", NULL,
		        "the body of the request was in an unknown format - accepted media types include: " JSON_TYPES);
	return r < 0 ? status_bad_request(st, "%s", err_text(&err)) : 0;
}

static int yaml_body(const char *text, size_t len, char **ret, size_t *ret_len, struct status *st)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;
	struct err err = { 0 };

	if (yaml_parse(text, len, "body", &doc, &err) < 0)
		return status_bad_request(st, "the object provided is unrecognized: %s", err_text(&err));
	*ret = yyjson_write(doc, 0, ret_len);
	return 0;
}

int write_body(struct call *c, const struct kind *k, const struct subresource *sub, enum field_validation v,
               yyjson_mut_doc **ret, struct status *st)
{
	const char *type = xch_header(c->x, "Content-Type"), *text;
	_cleanup_free_ char *json = NULL;
	size_t len;
	int r = 0;

	text = xch_body(c->x, &len);
	if (media_is(type, "application/yaml")) {
		r = yaml_body(text, len, &json, &len, st);
	} else if (media_is(type, PROTOBUF)) {
		r = proto_body(sub && sub->type ? sub->type : k->type, text, len, &json, &len, st);
	} else if (!str_empty(type) && !media_is(type, "application/json")) {
		return status_fail(
		        st, 415, "UnsupportedMediaType", NULL,
		        "the body of the request was in an unknown format - accepted media types include: " JSON_TYPES);
	}
	if (r < 0)
		return r;
	return decode_body(k, sub, json ? json : text, len, v, ret, &c->warnings, st);
}

/* ---- create, update, patch ---- */

int verb_create(struct call *c, struct status *st)
{
	_cleanup_(item_unrefp) struct item *i = NULL;
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	yyjson_mut_doc *doc;
	int r;

	if (review_is(c->kind))
		return review_answer(c, st);
	if (!str_empty(c->route.name))
		return status_method_not_allowed(st);
	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = write_body(c, c->kind, NULL, o.validation, &doc, st);
	if (r == 0)
		r = reg_create(c->lite, c->kind, c->route.ns, doc, &o, &i, st);
	return r < 0 ? r : call_item(c, 201, i);
}

int verb_update(struct call *c, struct status *st)
{
	_cleanup_(item_unrefp) struct item *i = NULL;
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	yyjson_mut_doc *doc;
	bool created = false;
	int r;

	if (str_empty(c->route.name))
		return status_method_not_allowed(st);
	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = write_body(c, c->kind, NULL, o.validation, &doc, st);
	if (r == 0)
		r = reg_update(c->lite, c->kind, c->route.sub, c->route.ns, c->route.name, doc, &o, &i, &created, st);
	return r < 0 ? r : call_item(c, created ? 201 : 200, i);
}

int verb_patch(struct call *c, struct status *st)
{
	_cleanup_(item_unrefp) struct item *i = NULL;
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	enum patch_type type;
	bool created = false;
	const char *text;
	size_t len;
	int r;

	if (str_empty(c->route.name))
		return status_method_not_allowed(st);
	r = patch_type_of(c->kind, xch_header(c->x, "Content-Type"), &type, st);
	if (r == 0)
		r = write_options(c, type == PATCH_APPLY, &o, manager, st);
	if (r < 0)
		return r;
	text = xch_body(c->x, &len);
	r = reg_patch(c->lite, c->kind, c->route.sub, c->route.ns, c->route.name, type, text, len, &o, &i, &created,
	              st);
	return r < 0 ? r : call_item(c, created ? 201 : 200, i);
}

/* ---- delete ---- */

static int parse_policy(const char *text, enum propagation *ret, struct status *st)
{
	static const char *const names[] = { "", "Background", "Foreground", "Orphan" };
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_free_ char *value = NULL;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(str_or(text, ""), names[i])) {
			*ret = (enum propagation)i;
			return 0;
		}
	value = str_printf("\"%s\"", text);
	causes_add(&causes, CAUSE_UNSUPPORTED, "propagationPolicy", value,
	           "supported values: \"Background\", \"Foreground\", \"Orphan\", \"nil\"");
	return status_invalid(st, "meta.k8s.io", "DeleteOptions", "", &causes);
}

int write_delete_options(yyjson_val *body, struct delete_options *o, struct status *st)
{
	yyjson_val *orphan = json_get(body, "orphanDependents"), *dry = json_get(body, "dryRun");

	o->grace_s = json_int(json_get(body, "gracePeriodSeconds"), o->grace_s);
	o->uid = json_str(val_at(body, "preconditions", "uid"));
	o->rv = json_str(val_at(body, "preconditions", "resourceVersion"));
	if (yyjson_is_bool(orphan))
		o->propagation = yyjson_get_bool(orphan) ? PROPAGATE_ORPHAN : PROPAGATE_BACKGROUND;
	if (yyjson_arr_size(dry) > 0)
		o->dry_run = true;
	if (json_get(body, "propagationPolicy"))
		return parse_policy(json_str(json_get(body, "propagationPolicy")), &o->propagation, st);
	return 0;
}

/* From the body, or, when there is none, from the query. *ret_doc keeps the texts alive. */
static int delete_options(struct call *c, struct delete_options *o, yyjson_doc **ret_doc, struct status *st)
{
	const char *grace = call_query(c, "gracePeriodSeconds"), *text;
	_cleanup_mut_doc_ yyjson_mut_doc *body = NULL;
	_cleanup_free_ char *json = NULL;
	size_t len;
	int r;

	*o = DELETE_USUAL;
	if (grace && str_to_i64(grace, 0, INT64_MAX, &o->grace_s) < 0)
		return status_bad_request(st, "gracePeriodSeconds: '%s' is no number", grace);
	r = parse_policy(call_query(c, "propagationPolicy"), &o->propagation, st);
	if (r == 0)
		r = parse_dry_run(c, &o->dry_run, st);
	if (r < 0)
		return r;
	text = xch_body(c->x, &len);
	if (len == 0)
		return 0;
	if (media_is(xch_header(c->x, "Content-Type"), PROTOBUF))
		r = proto_body(type_named("io.k8s.apimachinery.pkg.apis.meta.v1", "DeleteOptions"), text, len, &json,
		               &len, st);
	if (r == 0)
		r = decode_delete_options(json ? json : text, len, &body, st);
	if (r < 0)
		return r;
	*ret_doc = yyjson_mut_doc_imut_copy(body, NULL);
	return write_delete_options(yyjson_doc_get_root(*ret_doc), o, st);
}

/* These answer with the object they removed, the others with a Status. */
static bool returns_object(const struct kind *k)
{
	static const char *const plurals[] = { "pods", "serviceaccounts", "services", "persistentvolumeclaims" };

	for (size_t i = 0; i < ARRAY_LEN(plurals); i++)
		if (str_eq(k->plural, plurals[i]) && str_empty(k->group))
			return true;
	return false;
}

int verb_delete(struct call *c, struct status *st)
{
	_cleanup_(item_unrefp) struct item *i = NULL;
	_cleanup_doc_ yyjson_doc *body = NULL, *object = NULL;
	struct delete_options o;
	bool gone = false;
	int r;

	r = delete_options(c, &o, &body, st);
	if (r == 0)
		r = reg_delete(c->lite, c->kind, c->route.ns, c->route.name, &o, &i, &gone, st);
	if (r < 0)
		return r;
	if (!gone || returns_object(c->kind))
		return call_item(c, 200, i);
	object = reg_read(i);
	status_success(
	        st, 200,
	        &(struct status_details) { .name = i->name,
	                                   .group = c->kind->group,
	                                   .kind = c->kind->plural,
	                                   .uid = json_str(val_at(yyjson_doc_get_root(object), "metadata", "uid")) });
	call_send_status(c, st);
	return 0;
}

struct targets {
	char **keys;
	size_t n;
};

static void targets_done(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->keys[i]);
	free(t->keys);
}

/* The names first: deleting changes what the span points to. */
static int find_targets(struct call *c, struct targets *t, struct status *st)
{
	_cleanup_(selector_freep) struct selector *labels = NULL, *fields = NULL;
	struct item *const *span;
	size_t n;
	int r;

	r = call_selectors(c, &labels, &fields, st);
	if (r < 0)
		return r;
	span = db_span(lite_collection(c->lite, c->kind), c->route.ns, NULL, &n);
	t->keys = mem_alloc_n(n, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		_cleanup_doc_ yyjson_doc *doc = labels || fields ? reg_read(span[i]) : NULL;
		yyjson_val *root = yyjson_doc_get_root(doc);

		if (!doc || (selector_matches_labels(labels, root) && selector_matches_fields(fields, root)))
			t->keys[t->n++] = mem_strdup(span[i]->name);
	}
	return 0;
}

int verb_deletecollection(struct call *c, struct status *st)
{
	_cleanup_(targets_done) struct targets t = { 0 };
	_cleanup_doc_ yyjson_doc *body = NULL;
	_cleanup_buf_ struct buf rows = BUF(ANSWER_MAX), out = BUF(ANSWER_MAX);
	struct delete_options o;
	char version[256];
	bool gone;
	int r;

	r = delete_options(c, &o, &body, st);
	if (r == 0)
		r = find_targets(c, &t, st);
	if (r < 0)
		return r;
	for (size_t k = 0; k < t.n; k++) {
		_cleanup_(item_unrefp) struct item *i = NULL;

		r = reg_delete(c->lite, c->kind, c->route.ns, t.keys[k], &o, &i, &gone, st);
		if (r == -ENOENT) {
			status_done(st);
			continue;
		}
		if (r < 0)
			return r;
		if (rows.len > 0)
			buf_add_char(&rows, ',');
		buf_add(&rows, i->text, i->len);
	}
	buf_printf(&out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":", c->kind->list,
	           kind_api_version(c->kind, version, sizeof(version)));
	call_add_meta(&out, c->lite->db->rv, NULL, 0);
	buf_printf(&out, ",\"items\":[%s]}", buf_text(&rows));
	return call_json(c, 200, &out);
}
