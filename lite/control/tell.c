/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Events of our controllers. One that was told before about the same object, in the same words, counts up.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lite/control/control.h"
#include "lite/obj.h"
#include "json/json.h"

#define MESSAGE_MAX 1024

static uint64_t mix(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211u;
	return h * 31;
}

static const char *source_of(const struct controller *c)
{
	return str_eq(c->ops->name, "scheduler") ? "default-scheduler" : c->ops->name;
}

static void count_up(struct controller *c, const struct kind *k, const struct item *old, const char *now)
{
	yyjson_mut_doc *doc = reg_doc(k, old);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	obj_set_int(doc, root, "count", obj_int(obj_get(root, "count"), 1) + 1);
	obj_set_str(doc, root, "lastTimestamp", now);
	write_object(c, k, old, doc);
}

static yyjson_mut_doc *event_doc(struct controller *c, const struct kind *k, const struct item *about, const char *name,
                                 const char *now)
{
	_cleanup_doc_ yyjson_doc *object = reg_read(about);
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *ref;
	_cleanup_free_ char *ns = mem_strndup(about->key, about->ns_len);
	char version[256], rv[24];

	obj_set_str(doc, root, "kind", "Event");
	obj_set_str(doc, root, "apiVersion", "v1");
	ref = obj_make(doc, root, "metadata");
	obj_set_str(doc, ref, "name", name);
	obj_set_str(doc, ref, "namespace", *ns ? ns : "default");
	ref = obj_make(doc, root, "involvedObject");
	obj_set_str(doc, ref, "kind", k->kind);
	if (*ns)
		obj_set_str(doc, ref, "namespace", ns);
	obj_set_str(doc, ref, "name", about->name);
	obj_set_str(doc, ref, "uid", str_or(json_str(val_at(yyjson_doc_get_root(object), "metadata", "uid")), ""));
	obj_set_str(doc, ref, "apiVersion", kind_api_version(k, version, sizeof(version)));
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)about->rv);
	obj_set_str(doc, ref, "resourceVersion", rv);
	obj_set_str(doc, obj_make(doc, root, "source"), "component", source_of(c));
	obj_set_str(doc, root, "firstTimestamp", now);
	obj_set_str(doc, root, "lastTimestamp", now);
	obj_set_int(doc, root, "count", 1);
	obj_set_str(doc, root, "reportingComponent", source_of(c));
	return doc;
}

void tell(struct controller *c, const struct kind *k, const struct item *about, const char *type, const char *reason,
          const char *fmt, ...)
{
	const struct kind *events = kind_of("", "events");
	_cleanup_free_ char *ns = mem_strndup(about->key, about->ns_len), *name = NULL;
	char message[MESSAGE_MAX], now[TIME_TEXT_MAX];
	yyjson_mut_doc *doc;
	struct item *old;
	uint64_t h;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	h = mix(mix(mix(14695981039346656037u, k->kind), reason), message);
	name = str_printf("%s.%016llx", about->name, (unsigned long long)h);
	time_format(lite_now(c->lite), now);
	old = db_get(c->control->events, *ns ? ns : "default", name);
	if (old) {
		count_up(c, events, old, now);
		return;
	}
	doc = event_doc(c, k, about, name, now);
	obj_set_str(doc, yyjson_mut_doc_get_root(doc), "type", type);
	obj_set_str(doc, yyjson_mut_doc_get_root(doc), "reason", reason);
	obj_set_str(doc, yyjson_mut_doc_get_root(doc), "message", message);
	create_object(c, events, *ns ? ns : "default", doc, NULL);
}
