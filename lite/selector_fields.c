/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Field selectors: only the fields of the table below can be asked for, as in the real server.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/selector_terms.h"

/* What a field selector may name: the field as it is called, where it is in the stored object, what an absent one
 * counts as. */
struct selectable {
	const char *group, *kind; /* NULL: every kind */
	const char *name;
	const char *path[4];
	const char *absent;
	const char *otherwise[3]; /* looked at when the path gives nothing */
};

static const struct selectable selectables[] = {
	{ NULL, NULL, "metadata.name", { "metadata", "name" } },
	{ NULL, NULL, "metadata.namespace", { "metadata", "namespace" } },
	{ "", "Pod", "spec.nodeName", { "spec", "nodeName" } },
	{ "", "Pod", "spec.host", { "spec", "nodeName" } },
	{ "", "Pod", "spec.restartPolicy", { "spec", "restartPolicy" } },
	{ "", "Pod", "spec.schedulerName", { "spec", "schedulerName" } },
	{ "", "Pod", "spec.serviceAccountName", { "spec", "serviceAccountName" } },
	{ "", "Pod", "spec.hostNetwork", { "spec", "hostNetwork" }, "false" },
	{ "", "Pod", "status.phase", { "status", "phase" } },
	{ "", "Pod", "status.podIP", { "status", "podIP" } },
	{ "", "Pod", "status.podIPs", { "status", "podIP" } },
	{ "", "Pod", "status.nominatedNodeName", { "status", "nominatedNodeName" } },
	{ "", "Node", "spec.unschedulable", { "spec", "unschedulable" }, "false" },
	{ "", "Namespace", "status.phase", { "status", "phase" } },
	{ "", "Secret", "type", { "type" } },
	{ "", "Service", "spec.clusterIP", { "spec", "clusterIP" } },
	{ "", "Service", "spec.type", { "spec", "type" } },
	{ "batch", "Job", "status.successful", { "status", "succeeded" }, "0" },
	{ "", "Event", "involvedObject.kind", { "involvedObject", "kind" } },
	{ "", "Event", "involvedObject.namespace", { "involvedObject", "namespace" } },
	{ "", "Event", "involvedObject.name", { "involvedObject", "name" } },
	{ "", "Event", "involvedObject.uid", { "involvedObject", "uid" } },
	{ "", "Event", "involvedObject.apiVersion", { "involvedObject", "apiVersion" } },
	{ "", "Event", "involvedObject.resourceVersion", { "involvedObject", "resourceVersion" } },
	{ "", "Event", "involvedObject.fieldPath", { "involvedObject", "fieldPath" } },
	{ "", "Event", "reason", { "reason" } },
	{ "", "Event", "reportingComponent", { "reportingComponent" } },
	{ "", "Event", "source", { "source", "component" }, "", { "reportingComponent" } },
	{ "", "Event", "type", { "type" } },
	{ "events.k8s.io", "Event", "regarding.kind", { "involvedObject", "kind" } },
	{ "events.k8s.io", "Event", "regarding.namespace", { "involvedObject", "namespace" } },
	{ "events.k8s.io", "Event", "regarding.name", { "involvedObject", "name" } },
	{ "events.k8s.io", "Event", "regarding.uid", { "involvedObject", "uid" } },
	{ "events.k8s.io", "Event", "regarding.apiVersion", { "involvedObject", "apiVersion" } },
	{ "events.k8s.io", "Event", "regarding.resourceVersion", { "involvedObject", "resourceVersion" } },
	{ "events.k8s.io", "Event", "regarding.fieldPath", { "involvedObject", "fieldPath" } },
	{ "events.k8s.io", "Event", "reason", { "reason" } },
	{ "events.k8s.io", "Event", "reportingController", { "reportingComponent" } },
	{ "events.k8s.io", "Event", "type", { "type" } },
};

static const struct selectable *find_selectable(const struct kind *k, const char *name, struct status *st)
{
	bool own = kind_is_custom(k);

	for (size_t i = 0; i < ARRAY_LEN(selectables); i++) {
		const struct selectable *f = &selectables[i];
		bool mine = str_eq(f->group, k->group) && str_eq(f->kind, k->kind);

		if ((mine || !f->group) && str_eq(f->name, name))
			return f;
		own = own || mine;
	}
	if (str_eq(k->kind, "Job") && str_eq(k->group, "batch"))
		status_bad_request(st, "field label \"%s\" not supported for Job", name);
	else if (own)
		status_bad_request(st, "field label not supported: %s", name);
	else
		status_bad_request(
		        st, "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
		        name);
	return NULL;
}

/* \\ \, and \= are the characters themselves; , and = alone may not be there. */
static int unescape(char *value, struct status *st)
{
	char *to = value;

	for (const char *p = value; *p; p++) {
		if (*p == '\\' && (p[1] == '\0' || !strchr("\\,=", p[1])))
			return status_bad_request(st, "invalid field selector: invalid escape sequence: \\%.1s", p + 1);
		if (*p == ',' || *p == '=')
			return status_bad_request(st, "invalid field selector: unescaped character in value: %d", *p);
		*to++ = *p == '\\' ? *++p : *p;
	}
	*to = '\0';
	return 0;
}

static int parse_field_term(const struct kind *k, struct selector *s, char *part, const char *whole, struct status *st)
{
	char *op = part + strcspn(part, "=!"), *value;
	const struct selectable *field;
	struct term *t;
	bool not = *op == '!';
	int r;

	while (*op == '!' && op[1] != '=')
		op += 1 + strcspn(op + 1, "=!");
	not = *op == '!';
	if (!*op)
		return status_bad_request(st, "invalid selector: '%s'; can't understand '%s'", whole, part);
	value = op + (not|| op[1] == '=' ? 2 : 1);
	*op = '\0';
	r = unescape(value, st);
	if (r < 0)
		return r;
	field = find_selectable(k, part, st);
	if (!field)
		return -EINVAL;
	t = selector_add_term(s, part, strlen(part), not? OP_NOT_IN : OP_IN);
	t->field = field;
	term_add_value(t, value, strlen(value));
	return 0;
}

int selector_parse_fields(const struct kind *k, const char *text, struct selector **ret, struct status *st)
{
	_cleanup_(selector_freep) struct selector *s = NEW(struct selector);
	_cleanup_free_ char *copy = mem_strdup(str_or(text, ""));
	int r;

	if (strlen(copy) > SELECTOR_TEXT_MAX)
		return status_bad_request(st, "the field selector is longer than %d bytes", SELECTOR_TEXT_MAX);
	for (char *part = copy, *end, *rest; part; part = rest) {
		for (end = part; *end && *end != ','; end++)
			if (*end == '\\' && end[1])
				end++;
		rest = *end ? end + 1 : NULL;
		*end = '\0';
		if (!*part)
			continue;
		if (s->n == SELECTOR_TERMS_MAX)
			return status_bad_request(st, "the field selector has more than %d terms", SELECTOR_TERMS_MAX);
		r = parse_field_term(k, s, part, text, st);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

static const char *field_text(const struct selectable *f, yyjson_val *object, char number[32])
{
	yyjson_val *v = val_at_(object, f->path);

	if (f->otherwise[0] && str_empty(yyjson_get_str(v)))
		v = val_at_(object, f->otherwise);
	if (yyjson_is_str(v))
		return yyjson_get_str(v);
	if (yyjson_is_bool(v))
		return yyjson_get_bool(v) ? "true" : "false";
	if (yyjson_is_int(v)) {
		snprintf(number, 32, "%lld", (long long)yyjson_get_sint(v));
		return number;
	}
	return str_or(f->absent, "");
}

bool selector_matches_fields(const struct selector *s, yyjson_val *object)
{
	char number[32];

	if (!s)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (!term_matches(&s->terms[i], field_text(s->terms[i].field, object, number)))
			return false;
	return true;
}

const char *selector_field_equals(const struct selector *s, const char *field)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->terms[i].op == OP_IN && str_eq(s->terms[i].key, field))
			return s->terms[i].values[0];
	return NULL;
}
