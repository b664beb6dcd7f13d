/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/registry.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lite/admission.h"
#include "lite/convert.h"
#include "lite/defaults.h"
#include "lite/validate.h"
#include "json/json.h"

#define GENERATE_TRIES 8
#define GENERATE_BASE_MAX 58 /* of generateName: the name stays a valid label */
#define BODY_TEXT_MAX ((size_t)1 << 20)

struct collection *lite_collection(struct lite *l, const struct kind *k)
{
	return db_collection(l->db, k->stored_as);
}

yyjson_doc *reg_read(const struct item *i)
{
	yyjson_doc *doc = yyjson_read(i->text, i->len, 0);

	assert(doc); /* we wrote it */
	return doc;
}

yyjson_mut_doc *reg_doc(const struct kind *k, const struct item *i)
{
	_cleanup_doc_ yyjson_doc *read = reg_read(i);
	yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);

	assert(doc);
	if (!convert_same(k, i->text))
		convert_to(k, doc);
	return doc;
}

struct item *reg_get(struct lite *l, const struct kind *k, const char *ns, const char *name)
{
	return db_get(lite_collection(l, k), k->namespaced ? ns : NULL, name);
}

int reg_find(struct lite *l, const struct kind *k, const char *ns, const char *name, struct item **ret,
             struct status *st)
{
	*ret = reg_get(l, k, ns, name);
	return *ret ? 0 : status_not_found(st, k->group, k->plural, name);
}

/* ---- metadata ---- */

static const char *const meta_order[] = {
	"name",
	"generateName",
	"namespace",
	"uid",
	"resourceVersion",
	"generation",
	"creationTimestamp",
	"deletionTimestamp",
	"deletionGracePeriodSeconds",
	"labels",
	"annotations",
	"ownerReferences",
	"finalizers",
	"managedFields",
};

static yyjson_mut_val *meta_of(yyjson_mut_doc *doc)
{
	return obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
}

static void order_metadata(const struct kind *k, yyjson_mut_doc *doc)
{
	yyjson_mut_val *meta = meta_of(doc), *ordered;

	if (kind_is_custom(k)) {
		obj_sort(doc, meta);
		return;
	}
	ordered = yyjson_mut_obj(doc);
	for (size_t i = 0; i < ARRAY_LEN(meta_order); i++) {
		yyjson_mut_val *v = obj_drop(meta, meta_order[i]);

		if (v)
			yyjson_mut_obj_add(ordered, yyjson_mut_str(doc, meta_order[i]), v);
	}
	obj_set(doc, yyjson_mut_doc_get_root(doc), "metadata", ordered);
}

static void set_rv(yyjson_mut_doc *doc, uint64_t rv)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)rv);
	obj_set_str(doc, meta_of(doc), "resourceVersion", text);
}

static void set_time(yyjson_mut_doc *doc, const char *key, usec_t at)
{
	char text[TIME_TEXT_MAX];

	obj_set_str(doc, meta_of(doc), key, time_format(at, text));
}

static void set_uid(yyjson_mut_doc *doc)
{
	unsigned char u[16];
	char text[40];

	rand_secure(u, sizeof(u));
	u[6] = (unsigned char)((u[6] & 0x0f) | 0x40);
	u[8] = (unsigned char)((u[8] & 0x3f) | 0x80);
	snprintf(text, sizeof(text), "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
	         u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	obj_set_str(doc, meta_of(doc), "uid", text);
}

static void raise_generation(yyjson_mut_doc *doc)
{
	yyjson_mut_val *meta = meta_of(doc);
	int64_t generation = obj_int(obj_get(meta, "generation"), 0);

	if (generation > 0)
		obj_set_int(doc, meta, "generation", generation + 1);
}

/* Text of the document in the form it is stored in. */
static char *stored_text(const struct kind *k, yyjson_mut_doc *doc, size_t *ret_len)
{
	convert_from(k, doc);
	order_metadata(k, doc);
	return obj_text(yyjson_mut_doc_get_root(doc), ret_len);
}

/* Stores the final document; or, on a dry run, makes an object that is in no store. */
static struct item *put(struct lite *l, const struct kind *k, const char *ns, const char *name, yyjson_mut_doc *doc,
                        bool dry_run)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (!k->namespaced)
		ns = NULL;
	if (!dry_run)
		set_rv(doc, db_next_rv(l->db));
	text = stored_text(k, doc, &len);
	if (dry_run)
		return item_new(ns, name, text, len, 0);
	return item_ref(db_put(lite_collection(l, k), ns, name, text, len));
}

/* Removes it; watchers see the document as it went. */
static struct item *take_out(struct lite *l, const struct kind *k, const struct item *old, yyjson_mut_doc *doc)
{
	struct collection *c = lite_collection(l, k);
	_cleanup_free_ char *text = NULL;
	size_t len;

	set_rv(doc, db_next_rv(l->db));
	text = stored_text(k, doc, &len);
	db_delete(c, old, text, len);
	return item_ref(db_event(c, c->next - 1)->item);
}

/* ---- create ---- */

static void generate_name(struct lite *l, yyjson_mut_doc *doc, const char *base)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	char name[GENERATE_BASE_MAX + NAME_SUFFIX + 1];
	size_t len = MIN_OF(strlen(base), (size_t)GENERATE_BASE_MAX);

	memcpy(name, base, len);
	for (size_t i = 0; i < NAME_SUFFIX; i++)
		name[len++] = alphabet[rng_below(&l->rng, sizeof(alphabet) - 1)];
	name[len] = '\0';
	obj_set_str(doc, meta_of(doc), "name", name);
}

/* What a client sends of these does not count. */
static void clear_system_metadata(yyjson_mut_doc *doc)
{
	static const char *const ours[] = { "uid",
		                            "resourceVersion",
		                            "creationTimestamp",
		                            "deletionTimestamp",
		                            "selfLink",
		                            "deletionGracePeriodSeconds",
		                            "generation" };
	yyjson_mut_val *meta = meta_of(doc);

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		obj_drop(meta, ours[i]);
}

static int check_ns(const char *ns, yyjson_mut_doc *doc, struct status *st)
{
	const char *given = obj_str(obj_get(meta_of(doc), "namespace"));

	if (!str_empty(given) && !str_eq(given, ns))
		return status_bad_request(
		        st, "the namespace of the provided object does not match the namespace sent on the request");
	return 0;
}

static int settle_name(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct status *st)
{
	const char *base, *name = obj_str(obj_get(meta_of(doc), "name"));

	if (!str_empty(name))
		return reg_get(l, k, ns, name) ? status_exists(st, k->group, k->plural, name) : 0;
	base = obj_str(obj_get(meta_of(doc), "generateName"));
	if (str_empty(base))
		return 0; /* validation says it */
	for (int i = 0; i < GENERATE_TRIES; i++) {
		generate_name(l, doc, base);
		name = obj_str(obj_get(meta_of(doc), "name"));
		if (!reg_get(l, k, ns, name))
			return 0;
	}
	return status_exists(st, k->group, k->plural, name);
}

static struct writer writer_of(struct lite *l, const char *sub, const struct write_options *o)
{
	return (struct writer) { .manager = o->manager, .subresource = sub, .now = lite_now(l) };
}

/* The rest of a create, once the name is settled. `applied`: managedFields are kept by apply. */
static int create(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, bool applied,
                  const struct write_options *o, struct item **ret, struct status *st)
{
	struct writer by = writer_of(l, NULL, o);
	const char *name;
	int r;

	clear_system_metadata(doc);
	if (k->namespaced)
		obj_set_str(doc, meta_of(doc), "namespace", ns);
	else
		obj_drop(meta_of(doc), "namespace");
	set_uid(doc);
	set_time(doc, "creationTimestamp", by.now);
	defaults_create(k, doc, by.now);
	r = admit_create(l, k, ns, doc, o->warnings, st);
	if (r < 0)
		return r;
	r = validate_create(k, yyjson_mut_doc_get_root(doc), st);
	if (r < 0)
		return r;
	name = obj_str(obj_get(meta_of(doc), "name"));
	if (reg_get(l, k, ns, name)) /* the name was generated, or given and valid */
		return status_exists(st, k->group, k->plural, name);
	if (applied)
		managed_applied(k, doc, NULL, &by);
	else
		managed_update(k, doc, NULL, &by);
	*ret = put(l, k, ns, name, doc, o->dry_run);
	return 0;
}

int reg_create(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc_,
               const struct write_options *o, struct item **ret, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = doc_;
	int r;

	if (!k->namespaced)
		ns = "";
	r = check_ns(ns, doc, st);
	if (r == 0)
		r = admit_namespace(l, k, ns, doc, st);
	if (r == 0 && str_empty(obj_str(obj_get(meta_of(doc), "name"))))
		r = settle_name(l, k, ns, doc, st);
	if (r < 0)
		return r;
	return create(l, k, ns, doc, false, o, ret, st);
}

/* ---- update ---- */

int reg_check_preconditions(const struct kind *k, const struct item *old, yyjson_mut_val *old_root, const char *uid,
                            const char *rv, struct status *st)
{
	const char *real = obj_str(obj_at(old_root, "metadata", "uid"));
	char text[24];

	if (!str_empty(uid) && !str_eq(uid, real))
		return status_conflict(
		        st, k->group, k->plural, old->name,
		        "StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, "
		        "AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		        k->plural, old->key, uid, real);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)old->rv);
	if (!str_empty(rv) && !str_eq(rv, "0") && !str_eq(rv, text))
		return status_modified(st, k->group, k->plural, old->name);
	return 0;
}

/* Of these the real server wants to know which version a PUT replaces. */
static bool needs_rv(const struct kind *k)
{
	static const char *const plurals[] = { "leases", "poddisruptionbudgets", "customresourcedefinitions",
		                               "priorityclasses" };

	for (size_t i = 0; i < ARRAY_LEN(plurals); i++)
		if (str_eq(k->plural, plurals[i]))
			return true;
	return kind_is_custom(k);
}

/* Nothing holds it any more: no grace to wait for, no finalizer. */
static bool may_go(yyjson_mut_doc *doc)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta = obj_get(root, "metadata");

	return obj_is_set(obj_get(meta, "deletionTimestamp")) &&
	       obj_int(obj_get(meta, "deletionGracePeriodSeconds"), 0) == 0 &&
	       obj_size(obj_get(meta, "finalizers")) == 0 &&
	       (!str_eq(obj_str(obj_get(root, "kind")), "Namespace") ||
	        obj_size(obj_at(root, "spec", "finalizers")) == 0);
}

static struct item *replace(struct lite *l, const struct kind *k, const struct item *old, yyjson_mut_doc *doc,
                            bool dry_run)
{
	_cleanup_free_ char *ns = mem_strndup(old->key, old->ns_len);
	struct item *answer;

	if (!may_go(doc) || dry_run)
		return put(l, k, ns, old->name, doc, dry_run);
	set_rv(doc, old->rv); /* nothing was written: the answer has the version that it had */
	answer = put(l, k, ns, old->name, doc, true);
	item_unref(take_out(l, k, old, doc));
	return answer;
}

void reg_replace(struct lite *l, const struct kind *k, const struct item *old, yyjson_mut_doc *doc, struct item **ret)
{
	struct item *i = replace(l, k, old, doc, false);

	yyjson_mut_doc_free(doc);
	if (ret)
		*ret = i;
	else
		item_unref(i);
}

/* The common end of PUT and PATCH. `was` is the old document in the same form. */
static int update(struct lite *l, const struct kind *k, const char *sub, struct item *old, yyjson_mut_val *was,
                  yyjson_mut_doc *doc, bool applied, const struct write_options *o, struct item **ret,
                  struct status *st)
{
	struct writer by = writer_of(l, sub, o);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	int r;

	defaults_update(k, doc, was, sub, by.now);
	r = admit_update(l, k, sub, doc, was, st);
	if (r == 0)
		r = validate_update(k, root, was, sub, st);
	if (r < 0)
		return r;
	if (applied)
		managed_applied(k, doc, was, &by);
	else
		managed_update(k, doc, was, &by);
	if (defaults_same(root, was) && !may_go(doc)) {
		*ret = item_ref(old);
		return 0;
	}
	*ret = replace(l, k, old, doc, o->dry_run);
	return 0;
}

static int check_url_name(yyjson_mut_doc *doc, const char *name, struct status *st)
{
	const char *given = obj_str(obj_get(meta_of(doc), "name"));

	if (str_empty(given))
		return status_bad_request(st, "name must be provided");
	if (!str_eq(given, name))
		return status_bad_request(st, "the name of the object (%s) does not match the name on the URL (%s)",
		                          given, name);
	return 0;
}

static int missing_rv(const struct kind *k, const char *name, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	causes_add(&causes, CAUSE_INVALID, "metadata.resourceVersion", "0x0", "must be specified for an update");
	return status_invalid(st, k->group, k->kind, name, &causes);
}

int reg_update(struct lite *l, const struct kind *k, const char *sub, const char *ns, const char *name,
               yyjson_mut_doc *doc_, const struct write_options *o, struct item **ret, bool *ret_created,
               struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = doc_, *was = NULL;
	struct item *old = reg_get(l, k, ns, name);
	yyjson_mut_val *meta = meta_of(doc);
	const char *rv = obj_str(obj_get(meta, "resourceVersion"));
	int r;

	*ret_created = false;
	r = check_ns(k->namespaced ? ns : "", doc, st);
	if (r == 0)
		r = check_url_name(doc, name, st);
	if (r < 0)
		return r;
	if (!old && k->allow_create_on_update && str_empty(sub) && str_empty(rv)) {
		*ret_created = true;
		return reg_create(l, k, ns, TAKE_PTR(doc), o, ret, st);
	}
	if (!old)
		return status_not_found(st, k->group, k->plural, name);
	was = reg_doc(k, old);
	r = reg_check_preconditions(k, old, yyjson_mut_doc_get_root(was), obj_str(obj_get(meta, "uid")), rv, st);
	if (r < 0)
		return r;
	if (str_empty(rv) && needs_rv(k))
		return missing_rv(k, name, st);
	return update(l, k, sub, old, yyjson_mut_doc_get_root(was), doc, false, o, ret, st);
}

/* ---- patch ---- */

static int parse_patch(enum patch_type type, const char *text, size_t len, yyjson_doc **ret, struct status *st)
{
	_cleanup_buf_ struct buf why = BUF(BODY_TEXT_MAX);
	struct err err = { 0 };

	if (type == PATCH_APPLY && text[strspn(text, " \t\r\n")] != '{') {
		if (yaml_parse(text, len, "patch", ret, &err) < 0)
			return status_bad_request(st, "error decoding YAML: %s", err_text(&err));
	} else if (decode_json(text, len, ret, &why) < 0) {
		return status_bad_request(st, "error decoding patch: %s", buf_text(&why));
	}
	return 0;
}

static int patch_doc(struct lite *l, const struct kind *k, const char *sub, yyjson_mut_doc *doc, enum patch_type type,
                     yyjson_val *patch, const struct write_options *o, struct status *st)
{
	struct writer by = writer_of(l, sub, o);

	switch (type) {
	case PATCH_JSON: return patch_json(doc, patch, st);
	case PATCH_MERGE: return patch_merge(doc, patch, st);
	case PATCH_STRATEGIC: return patch_strategic(k, doc, patch, st);
	case PATCH_APPLY: return patch_apply(k, doc, patch, &by, o->force, st);
	}
	return 0;
}

/* What an apply of something that is not there starts from. */
static yyjson_mut_doc *empty_object(const struct kind *k, const char *ns, const char *name)
{
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;
	char version[256];

	obj_set_str(doc, root, "kind", k->kind);
	obj_set_str(doc, root, "apiVersion", kind_api_version(k, version, sizeof(version)));
	meta = obj_make(doc, root, "metadata");
	obj_set_str(doc, meta, "name", name);
	if (k->namespaced)
		obj_set_str(doc, meta, "namespace", ns);
	return doc;
}

static int apply_new(struct lite *l, const struct kind *k, const char *ns, const char *name, yyjson_val *patch,
                     const struct write_options *o, struct item **ret, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = empty_object(k, ns, name);
	int r;

	r = patch_doc(l, k, NULL, doc, PATCH_APPLY, patch, o, st);
	if (r == 0)
		r = decode_patched(k, NULL, doc, NULL, o->validation, o->warnings, st);
	if (r == 0)
		r = check_ns(k->namespaced ? ns : "", doc, st);
	if (r == 0)
		r = check_url_name(doc, name, st);
	if (r == 0)
		r = admit_namespace(l, k, ns, doc, st);
	if (r < 0)
		return r;
	return create(l, k, ns, doc, true, o, ret, st);
}

int reg_patch(struct lite *l, const struct kind *k, const char *sub, const char *ns, const char *name,
              enum patch_type type, const char *text, size_t len, const struct write_options *o, struct item **ret,
              bool *ret_created, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL, *was = NULL;
	_cleanup_doc_ yyjson_doc *patch = NULL;
	struct item *old = reg_get(l, k, ns, name);
	yyjson_mut_val *meta;
	int r;

	*ret_created = false;
	r = parse_patch(type, text, len, &patch, st);
	if (r < 0)
		return r;
	if (!old && type == PATCH_APPLY && str_empty(sub)) {
		*ret_created = true;
		return apply_new(l, k, ns, name, yyjson_doc_get_root(patch), o, ret, st);
	}
	if (!old)
		return status_not_found(st, k->group, k->plural, name);
	was = reg_doc(k, old);
	doc = obj_doc_of_mut(yyjson_mut_doc_get_root(was));
	r = patch_doc(l, k, sub, doc, type, yyjson_doc_get_root(patch), o, st);
	if (r == 0)
		r = decode_patched(k, NULL, doc, text, o->validation, o->warnings, st);
	if (r == 0)
		r = check_ns(k->namespaced ? ns : "", doc, st);
	if (r < 0)
		return r;
	meta = meta_of(doc);
	r = reg_check_preconditions(k, old, yyjson_mut_doc_get_root(was), obj_str(obj_get(meta, "uid")),
	                            obj_str(obj_get(meta, "resourceVersion")), st);
	if (r < 0)
		return r;
	return update(l, k, sub, old, yyjson_mut_doc_get_root(was), doc, type == PATCH_APPLY, o, ret, st);
}

/* ---- delete ---- */

static bool has_finalizer(yyjson_mut_val *meta, const char *name)
{
	ARR_EACH (f, obj_get(meta, "finalizers"))
		if (str_eq(obj_str(f), name))
			return true;
	return false;
}

static bool add_finalizer(yyjson_mut_doc *doc, const char *name)
{
	yyjson_mut_val *meta = meta_of(doc);

	if (has_finalizer(meta, name))
		return false;
	yyjson_mut_arr_append(obj_make_arr(doc, meta, "finalizers"), yyjson_mut_strcpy(doc, name));
	return true;
}

static bool remove_finalizer(yyjson_mut_doc *doc, const char *name)
{
	yyjson_mut_val *meta = meta_of(doc), *list = obj_get(meta, "finalizers"), *kept = yyjson_mut_arr(doc);

	if (!has_finalizer(meta, name))
		return false;
	ARR_EACH (f, list)
		if (!str_eq(obj_str(f), name))
			yyjson_mut_arr_append(kept, obj_copy(doc, f));
	if (obj_size(kept) > 0)
		obj_set(doc, meta, "finalizers", kept);
	else
		obj_drop(meta, "finalizers");
	return true;
}

/* How the owner's dependents go is written down as a finalizer, for the garbage collector. */
static bool set_propagation(yyjson_mut_doc *doc, enum propagation p)
{
	bool changed = false;

	if (p == PROPAGATE_DEFAULT)
		return false;
	if (p != PROPAGATE_ORPHAN)
		changed |= remove_finalizer(doc, "orphan");
	if (p != PROPAGATE_FOREGROUND)
		changed |= remove_finalizer(doc, "foregroundDeletion");
	if (p == PROPAGATE_ORPHAN)
		changed |= add_finalizer(doc, "orphan");
	if (p == PROPAGATE_FOREGROUND)
		changed |= add_finalizer(doc, "foregroundDeletion");
	return changed;
}

static int delete_conflict(const struct kind *k, const char *name, const char *what, const char *asked,
                           const char *real, struct status *st)
{
	return status_conflict(
	        st, "", k->kind, name,
	        "the %s in the precondition (%s) does not match the %s in record (%s). The object might have "
	        "been %s",
	        what, asked, what, real, str_eq(what, "UID") ? "deleted and then recreated" : "modified");
}

static int check_delete(const struct kind *k, const struct item *old, yyjson_mut_val *root,
                        const struct delete_options *o, struct status *st)
{
	const char *uid = obj_str(obj_at(root, "metadata", "uid"));
	char rv[24];

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)old->rv);
	if (o->uid && !str_eq(o->uid, uid))
		return delete_conflict(k, old->name, "UID", o->uid, uid, st);
	if (o->rv && !str_eq(o->rv, rv))
		return delete_conflict(k, old->name, "ResourceVersion", o->rv, rv, st);
	return 0;
}

/* Only Pods wait: for the time they ask for, once a node has them and while they run. */
static int64_t grace_of(const struct kind *k, yyjson_mut_val *root, const struct delete_options *o)
{
	const char *phase = obj_str(obj_at(root, "status", "phase"));

	if (!str_eq(k->kind, "Pod") || !str_empty(k->group))
		return 0;
	if (str_empty(obj_str(obj_at(root, "spec", "nodeName"))) || str_eq(phase, "Succeeded") ||
	    str_eq(phase, "Failed"))
		return 0;
	if (o->grace_s >= 0)
		return o->grace_s;
	return obj_int(obj_at(root, "spec", "terminationGracePeriodSeconds"), 30);
}

/* A second delete may only shorten the wait. Returns whether it did. */
static bool shorten(yyjson_mut_doc *doc, const struct delete_options *o)
{
	yyjson_mut_val *meta = meta_of(doc);
	int64_t grace = obj_int(obj_get(meta, "deletionGracePeriodSeconds"), 0);
	const char *text = obj_str(obj_get(meta, "deletionTimestamp"));
	usec_t at;

	if (o->grace_s < 0 || o->grace_s >= grace || time_parse_rfc3339(text, strlen(text), &at) < 0)
		return false;
	set_time(doc, "deletionTimestamp", at - (grace - o->grace_s) * USEC_SEC);
	obj_set_int(doc, meta, "deletionGracePeriodSeconds", o->grace_s);
	return true;
}

static void mark_deleted(struct lite *l, const struct kind *k, yyjson_mut_doc *doc, int64_t grace)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	set_time(doc, "deletionTimestamp", lite_now(l) + grace * USEC_SEC);
	obj_set_int(doc, meta_of(doc), "deletionGracePeriodSeconds", grace);
	raise_generation(doc);
	if (str_eq(k->kind, "Namespace"))
		obj_set_str(doc, obj_make(doc, root, "status"), "phase", "Terminating");
}

/* Of these watchers see the mark before they see them go. */
static bool is_marked_first(const struct kind *k)
{
	return str_eq(k->plural, "pods") && str_empty(k->group);
}

static bool held_by_finalizers(const struct kind *k, yyjson_mut_val *root)
{
	return obj_size(obj_at(root, "metadata", "finalizers")) > 0 ||
	       (str_eq(k->kind, "Namespace") && obj_size(obj_at(root, "spec", "finalizers")) > 0);
}

int reg_delete(struct lite *l, const struct kind *k, const char *ns, const char *name, const struct delete_options *o,
               struct item **ret, bool *ret_gone, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	struct item *old = NULL;
	yyjson_mut_val *root;
	bool changed;
	int64_t grace;
	int r;

	*ret_gone = false;
	r = reg_find(l, k, ns, name, &old, st);
	if (r < 0)
		return r;
	doc = reg_doc(k, old);
	root = yyjson_mut_doc_get_root(doc);
	r = check_delete(k, old, root, o, st);
	if (r == 0)
		r = admit_delete(l, k, root, name, st);
	if (r < 0)
		return r;
	changed = set_propagation(doc, o->propagation);
	if (obj_is_set(obj_at(root, "metadata", "deletionTimestamp"))) {
		changed |= shorten(doc, o);
		grace = obj_int(obj_at(root, "metadata", "deletionGracePeriodSeconds"), 0);
	} else {
		grace = grace_of(k, root, o);
		changed = true;
		if (grace > 0 || held_by_finalizers(k, root) || is_marked_first(k))
			mark_deleted(l, k, doc, grace);
	}
	*ret_gone = grace == 0 && !held_by_finalizers(k, root);
	if (o->dry_run || (!*ret_gone && !changed)) {
		*ret = o->dry_run ? put(l, k, ns, name, doc, true) : item_ref(old);
		return 0;
	}
	if (!*ret_gone) {
		*ret = put(l, k, ns, name, doc, false);
		return 0;
	}
	if (is_marked_first(k) && changed) {
		item_unref(put(l, k, ns, name, doc, false));
		old = reg_get(l, k, ns, name);
	}
	*ret = take_out(l, k, old, doc);
	return 0;
}
