/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who manages which field: read, written, and kept up to date by plain writes. Apply is in apply.c.
 */
#include "lite/managers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/defaults.h"
#include "lite/obj.h"

static void manager_done(struct manager *one)
{
	free(one->name);
	free(one->api_version);
	free(one->subresource);
	free(one->time);
	fields_free(one->set);
}

void managers_done(struct managers *m)
{
	for (size_t i = 0; i < m->n; i++)
		manager_done(&m->list[i]);
	free(m->list);
	*m = (struct managers) { 0 };
}

static struct manager *add(struct managers *m)
{
	m->list = mem_realloc_n(m->list, m->n + 1, sizeof(*m->list));
	m->list[m->n] = (struct manager) { 0 };
	return &m->list[m->n++];
}

void managers_read(struct managers *m, yyjson_mut_val *object)
{
	*m = (struct managers) { 0 };
	ARR_EACH (entry, obj_at(object, "metadata", "managedFields")) {
		struct manager *one;

		if (!obj_get(entry, "operation"))
			continue;
		one = add(m);
		one->name = mem_strdup(str_or(obj_str(obj_get(entry, "manager")), ""));
		one->api_version = mem_strdup(str_or(obj_str(obj_get(entry, "apiVersion")), ""));
		one->subresource = mem_strdup(obj_str(obj_get(entry, "subresource")));
		one->time = mem_strdup(obj_str(obj_get(entry, "time")));
		one->applies = str_eq(obj_str(obj_get(entry, "operation")), "Apply");
		one->set = fields_read(obj_get(entry, "fieldsV1"));
	}
}

/* --------------------------------------------------------------------------------------------------------- writing */

static int compare_text(const char *a, const char *b)
{
	return strcmp(str_or(a, ""), str_or(b, ""));
}

/* Appliers first, then the older, then by name. */
static int compare_managers(const void *pa, const void *pb)
{
	const struct manager *a = pa, *b = pb;
	int c;

	if (a->applies != b->applies)
		return a->applies ? -1 : 1;
	c = compare_text(a->time, b->time);
	c = c ? c : compare_text(a->name, b->name);
	c = c ? c : compare_text(a->api_version, b->api_version);
	return c ? c : compare_text(a->subresource, b->subresource);
}

static void remove_at(struct managers *m, size_t i)
{
	manager_done(&m->list[i]);
	m->n--;
	memmove(&m->list[i], &m->list[i + 1], (m->n - i) * sizeof(*m->list));
}

/* The oldest updaters become one, so that an object many write to does not grow without end. */
static void cap(struct managers *m)
{
	size_t updaters = 0, first = 0;

	for (size_t i = 0; i < m->n; i++)
		updaters += !m->list[i].applies;
	while (first < m->n && m->list[first].applies)
		first++;
	for (; updaters > UPDATERS_MAX; updaters--) {
		struct manager *into = &m->list[first + 1];

		fields_add(into->set, m->list[first].set);
		free(into->name);
		into->name = mem_strdup("ancient-changes");
		free(into->subresource);
		into->subresource = NULL;
		remove_at(m, first);
	}
}

void managers_write(struct managers *m, yyjson_mut_doc *doc)
{
	yyjson_mut_val *meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata"), *list;

	for (size_t i = m->n; i-- > 0;)
		if (fields_empty(m->list[i].set))
			remove_at(m, i);
	if (!m->n) {
		obj_drop(meta, "managedFields");
		return;
	}
	qsort(m->list, m->n, sizeof(*m->list), compare_managers);
	cap(m);
	list = yyjson_mut_arr(doc);
	for (size_t i = 0; i < m->n; i++) {
		yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);

		obj_set_str(doc, entry, "manager", m->list[i].name);
		obj_set_str(doc, entry, "operation", m->list[i].applies ? "Apply" : "Update");
		obj_set_str(doc, entry, "apiVersion", m->list[i].api_version);
		if (m->list[i].time)
			obj_set_str(doc, entry, "time", m->list[i].time);
		obj_set_str(doc, entry, "fieldsType", "FieldsV1");
		obj_set(doc, entry, "fieldsV1", fields_write(doc, m->list[i].set));
		if (!str_empty(m->list[i].subresource))
			obj_set_str(doc, entry, "subresource", m->list[i].subresource);
	}
	obj_set(doc, meta, "managedFields", list);
}

/* --------------------------------------------------------------------------------------------------------- entries */

struct manager *managers_find(struct managers *m, const struct kind *k, const struct writer *by, bool applies)
{
	char version[300];

	kind_api_version(k, version, sizeof(version));
	for (size_t i = 0; i < m->n; i++) {
		struct manager *one = &m->list[i];

		/* Appliers are known by name alone, whichever version they apply. */
		if (one->applies == applies && str_eq(one->name, by->manager) &&
		    !compare_text(one->subresource, by->subresource) && (applies || str_eq(one->api_version, version)))
			return one;
	}
	return NULL;
}

struct manager *managers_entry(struct managers *m, const struct kind *k, const struct writer *by, bool applies)
{
	struct manager *one = managers_find(m, k, by, applies);
	char version[300];

	if (one)
		return one;
	one = add(m);
	one->name = mem_strdup(by->manager);
	one->api_version = mem_strdup(kind_api_version(k, version, sizeof(version)));
	one->subresource = str_empty(by->subresource) ? NULL : mem_strdup(by->subresource);
	one->applies = applies;
	one->set = fields_new();
	return one;
}

void manager_set_time(struct manager *m, usec_t now)
{
	char text[TIME_TEXT_MAX];

	free(m->time);
	m->time = mem_strdup(time_format(now, text));
}

void managers_filter(const struct kind *k, const char *subresource, struct fields *set)
{
	if (str_eq(subresource, "status"))
		fields_drop(set, "f:spec");
	else if (k->has_status)
		fields_drop(set, "f:status");
}

void managers_strip(struct fields *set)
{
	static const char *const names[] = { "f:name", "f:namespace",  "f:creationTimestamp", "f:selfLink",
		                             "f:uid",  "f:generation", "f:managedFields",     "f:resourceVersion" };
	struct fields *meta;

	fields_drop(set, "f:apiVersion");
	fields_drop(set, "f:kind");
	if (!fields_find(set, "f:metadata"))
		return;
	meta = fields_kid(set, "f:metadata");
	meta->member = false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		fields_drop(meta, names[i]);
	if (!meta->n)
		fields_drop(set, "f:metadata");
}

/* ---------------------------------------------------------------------------------------------------- plain writes */

static bool is_kind(const struct kind *k, const char *group, const char *kind)
{
	return str_eq(k->group, group) && str_eq(k->kind, kind);
}

static bool is_default_toleration(yyjson_mut_val *t)
{
	return str_starts(str_or(obj_str(obj_get(t, "key")), ""), "node.kubernetes.io/") &&
	       obj_int(obj_get(t, "tolerationSeconds"), 0) == 300;
}

static void drop_if(struct fields *set, yyjson_mut_val *obj, const char *member, const char *text)
{
	_cleanup_free_ char *name = str_printf("f:%s", member);

	if (str_eq(obj_str(obj_get(obj, member)), text))
		fields_drop(set, name);
}

static void drop_job_labels(struct fields *meta)
{
	static const char *const generated[] = { "f:batch.kubernetes.io/controller-uid",
		                                 "f:batch.kubernetes.io/job-name", "f:controller-uid", "f:job-name" };
	struct fields *labels = fields_kid(meta, "f:labels");

	for (size_t i = 0; i < ARRAY_LEN(generated); i++)
		fields_drop(labels, generated[i]);
	if (!labels->n)
		labels->member = false;
}

/* What the server adds to a new object after its fields were counted belongs to nobody. It is known by its value. */
static void drop_admitted(const struct kind *k, yyjson_mut_val *obj, struct fields *set)
{
	yyjson_mut_val *spec = obj_get(obj, "spec");
	struct fields *in_spec = fields_kid(set, "f:spec");
	bool own = false;

	if (is_kind(k, "", "Pod")) {
		ARR_EACH (t, obj_get(spec, "tolerations"))
			own = own || !is_default_toleration(t);
		if (!own)
			fields_drop(in_spec, "f:tolerations");
		fields_drop(in_spec, "f:priority");
		drop_if(in_spec, spec, "preemptionPolicy", "PreemptLowerPriority");
		drop_if(in_spec, spec, "serviceAccountName", "default");
		drop_if(in_spec, spec, "serviceAccount", "default");
	} else if (is_kind(k, "", "Namespace")) {
		fields_drop(in_spec, "f:finalizers");
	} else if (is_kind(k, "batch", "Job") && !obj_bool(obj_get(spec, "manualSelector"), false)) {
		fields_drop(in_spec, "f:selector");
		drop_job_labels(fields_kid(set, "f:metadata"));
		drop_job_labels(fields_kid(fields_kid(in_spec, "f:template"), "f:metadata"));
	}
}

/* A writer may clear managedFields with one empty entry: nothing is followed from then on. */
static bool clears(yyjson_mut_val *object)
{
	yyjson_mut_val *list = obj_at(object, "metadata", "managedFields");

	return obj_size(list) == 1 && !obj_get(yyjson_mut_arr_get_first(list), "operation");
}

/* These fields are this writer's now. The set may be taken. */
static void claim(const struct kind *k, struct managers *m, struct fields **set_p, const struct writer *by)
{
	struct fields *set = *set_p;
	struct manager *self;

	managers_filter(k, by->subresource, set);
	managers_strip(set);
	fields_trim(set);
	if (fields_empty(set))
		return;
	self = managers_entry(m, k, by, false);
	if (!self->set->n) {
		fields_free(self->set);
		self->set = TAKE_PTR(*set_p);
	} else {
		fields_add(self->set, set);
	}
	manager_set_time(self, by->now);
}

static void record_change(const struct kind *k, struct managers *m, yyjson_mut_val *old, yyjson_mut_val *new,
                          const struct writer *by)
{
	_cleanup_fields_diff_ struct fields_diff d = fields_compare(k->type, old, new);

	managers_filter(k, by->subresource, d.added);
	managers_filter(k, by->subresource, d.modified);
	managers_filter(k, by->subresource, d.removed);
	fields_add(d.added, d.modified);
	for (size_t i = 0; i < m->n; i++) {
		fields_subtract(m->list[i].set, d.added);
		fields_subtract(m->list[i].set, d.removed);
	}
	claim(k, m, &d.added, by);
}

void managed_update(const struct kind *k, yyjson_mut_doc *now, yyjson_mut_val *old, const struct writer *by)
{
	_cleanup_managers_ struct managers m = { 0 };
	_cleanup_fields_ struct fields *created = NULL;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(now);

	managers_read(&m, old);
	if (clears(root) || (old && !m.n)) {
		obj_drop(obj_get(root, "metadata"), "managedFields");
		return;
	}
	if (old) {
		record_change(k, &m, old, root, by);
	} else {
		created = fields_created(k->type, root);
		drop_admitted(k, root, created);
		claim(k, &m, &created, by);
	}
	managers_write(&m, now);
}

/* ----------------------------------------------------------------------------------------------------------- names */

void manager_of_agent(const char *user_agent, char manager[MANAGER_MAX + 1])
{
	const char *agent = str_empty(user_agent) ? "unknown" : user_agent;
	size_t len = strcspn(agent, "/"), n = 0;

	for (size_t i = 0; i < len && n < MANAGER_MAX; i++)
		if (!iscntrl((unsigned char)agent[i]))
			manager[n++] = agent[i];
	manager[n] = '\0';
}

int manager_check(const char *manager, bool apply, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_buf_ struct buf shown = BUF(16384);

	if (apply && str_empty(manager))
		causes_add(&causes, CAUSE_REQUIRED, "fieldManager", NULL, "is required for apply patch");
	else if (manager && strlen(manager) > MANAGER_MAX)
		causes_add(&causes, CAUSE_TOO_LONG, "fieldManager", NULL, "may not be more than %d bytes", MANAGER_MAX);
	else if (manager && str_has_control(manager, strlen(manager))) {
		obj_add_quoted(&shown, manager);
		causes_add(&causes, CAUSE_INVALID, "fieldManager", buf_text(&shown),
		           "should only contain printable characters");
	}
	return causes.n ? status_invalid(st, "meta.k8s.io", "PatchOptions", "", &causes) : 0;
}
