/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/feed.h"

#include <errno.h>

#include "base/str.h"
#include "kube/informer_plan.h"
#include "kube/objects.h"
#include "kube/resource.h"
#include "json/list.h"

#define NAME_BYTES_MAX 253

void feed_init(struct feed *f, enum kube_kind kind, struct store *store)
{
	*f = (struct feed) { .kind = kind, .store = store, .parser = json_parser_new() };
}

void feed_done(struct feed *f)
{
	json_parser_free(f->parser);
	json_scratch_done(&f->scratch);
	free(f->status);
	*f = (struct feed) { 0 };
}

/* Who an object is, when it can be told. */
struct who {
	const char *ns, *name;
};

static bool read_who(yyjson_val *object, struct who *ret)
{
	yyjson_val *meta = json_get(object, "metadata");

	ret->ns = json_str(json_get(meta, "namespace"));
	ret->name = json_str(json_get(meta, "name"));
	return !str_empty(ret->name) && strlen(ret->name) <= NAME_BYTES_MAX &&
	       (!ret->ns || strlen(ret->ns) <= NAME_BYTES_MAX);
}

static bool put_object(struct feed *f, yyjson_val *value)
{
	struct err err = { 0 };
	void *object;
	size_t size;

	if (kube_decode(f->kind, value, &f->scratch, &object, &size, &err) < 0) {
		f->unreadable++;
		f->last_unreadable = err;
		return false;
	}
	store_put(f->store, object, size);
	f->objects++;
	return true;
}

static const char *version_of(yyjson_val *meta)
{
	const char *version = json_str(json_get(meta, "resourceVersion"));

	return str_empty(version) || strlen(version) > PLAN_VERSION_MAX ? NULL : version;
}

/* A page while it is walked. */
struct page {
	struct feed *feed;
	struct feed_page told;
	bool is_list;
};

static int not_a_list(const struct feed *f, struct err *err)
{
	return err_set(err, -EBADMSG, "not a list of %s", kube_resource(f->kind)->plural);
}

static int read_member(void *arg, const char *key, yyjson_val *value, struct err *err)
{
	struct page *p = arg;
	const char *token;

	if (str_eq(key, "kind")) {
		p->is_list = str_ends(str_or(json_str(value), ""), "List");
		return p->is_list ? 0 : not_a_list(p->feed, err);
	}
	if (!str_eq(key, "metadata"))
		return 0;
	token = json_str(json_get(value, "continue"));
	if (token && strlen(token) > KUBE_CONTINUE_MAX)
		return err_set(err, -EBADMSG, "a continue token of %zu bytes", strlen(token));
	p->told.version = version_of(value);
	p->told.token = str_empty(token) ? NULL : token;
	return p->told.version ? 0 : not_a_list(p->feed, err);
}

static int read_item(void *arg, size_t i, yyjson_val *item, struct err *err)
{
	struct page *p = arg;
	struct who who;

	/* One that has no name may be any that we know: without it the list says nothing about deletions. */
	if (!read_who(item, &who))
		return err_set(err, -EBADMSG, "item %zu of the list of %s has no proper name", i,
		               kube_resource(p->feed->kind)->plural);
	if (!put_object(p->feed, item))
		store_keep(p->feed->store, who.ns, who.name);
	p->told.n++;
	return 0;
}

int feed_page(struct feed *f, char *text, size_t len, struct feed_page *ret, struct err *err)
{
	static const struct json_list_calls calls = { read_member, read_item };
	struct page p = { .feed = f };
	int r = json_list_walk(f->parser, text, len, "items", &calls, &p, err);

	if (r < 0)
		return r;
	if (!p.is_list || !p.told.version)
		return not_a_list(f, err);
	*ret = p.told;
	return 0;
}

static int read_error(struct feed *f, yyjson_val *status, struct err *err)
{
	char what[KUBE_WHAT_MAX + 8];

	if (!str_eq(json_str(json_get(status, "kind")), "Status"))
		return err_set(err, -EBADMSG, "an ERROR event without a Status");
	if (!f->status)
		f->status = NEW(struct kube_answer);
	str_copy(what, sizeof(what), "watch ");
	kube_what(&(struct kube_ref) { .kind = f->kind }, what + strlen(what));
	kube_answer_read_status(f->status, status, what);
	return 0;
}

static int read_event(struct feed *f, const char *type, yyjson_val *object, enum feed_event *ret,
                      const char **ret_version, struct err *err)
{
	const char *version = version_of(json_get(object, "metadata"));
	struct who who;

	if (str_eq(type, "ERROR")) {
		*ret = FEED_ERROR;
		return read_error(f, object, err);
	}
	if (!version)
		return err_set(err, -EBADMSG, "an event without a resourceVersion");
	if (str_eq(type, "BOOKMARK")) {
		*ret = FEED_BOOKMARK;
	} else if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED")) {
		*ret = FEED_OBJECT;
		put_object(f, object);
	} else if (str_eq(type, "DELETED")) {
		*ret = FEED_OBJECT;
		if (!read_who(object, &who))
			return err_set(err, -EBADMSG, "a DELETED event without a proper name");
		store_remove(f->store, who.ns, who.name);
	} else {
		return err_set(err, -EBADMSG, "an event of an unknown type");
	}
	f->events++;
	*ret_version = version;
	return 0;
}

int feed_line(struct feed *f, const char *line, size_t len, enum feed_event *ret, const char **ret_version,
              struct err *err)
{
	yyjson_val *root, *object;
	yyjson_doc *doc;
	int r = json_parse(f->parser, (char *)(uintptr_t)line, len, false, &doc, err);

	if (r < 0)
		return r;
	root = yyjson_doc_get_root(doc);
	object = json_get(root, "object");
	if (!yyjson_is_obj(object))
		return err_set(err, -EBADMSG, "not a watch event");
	return read_event(f, json_str(json_get(root, "type")), object, ret, ret_version, err);
}
