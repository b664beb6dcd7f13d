/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A kind and a way to write (one digit each), then a body; behind a line "--", a second one. The first is
 * created, the second written over it as a patch of each sort. Whatever comes: refused with a Status, or an object that
 * decodes to itself, whose defaults are all in place, and which every reader can walk.
 */
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "lite/decode.h"
#include "lite/defaults.h"
#include "lite/obj.h"
#include "lite/patches.h"
#include "lite/selector.h"
#include "lite/table.h"
#include "lite/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[][2] = { { "", "pods" },
	                                { "", "nodes" },
	                                { "apps", "deployments" },
	                                { "batch", "jobs" },
	                                { "", "configmaps" },
	                                { "", "events" },
	                                { "policy", "poddisruptionbudgets" },
	                                { "apiextensions.k8s.io", "customresourcedefinitions" },
	                                { "", "services" },
	                                { "", "secrets" } };

static const struct writer fuzzer = { .manager = "fuzz", .now = 1000 * USEC_SEC };

/* An object the server holds decodes to itself, and has nothing left to default. */
static void check_settled(const struct kind *k, yyjson_mut_doc *doc)
{
	_cleanup_free_ char *text = obj_text(yyjson_mut_doc_get_root(doc), NULL), *again = NULL;
	_cleanup_mut_doc_ yyjson_mut_doc *decoded = NULL;
	_cleanup_status_ struct status st = STATUS_INIT;

	assert(text);
	if (decode_body(k, NULL, text, strlen(text), FIELDS_STRICT, &decoded, NULL, &st) < 0) {
		assert(st.code == 400);
		assert(!"what was decoded once is decoded again");
	}
	defaults_fill(k, decoded);
	again = obj_text(yyjson_mut_doc_get_root(decoded), NULL);
	assert(str_eq(text, again));
}

static void read_it(const struct kind *k, yyjson_mut_doc *doc)
{
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	_cleanup_buf_ struct buf out = BUF(16u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *row = NULL;

	table_add_row(k, yyjson_doc_get_root(read), TABLE_METADATA, fuzzer.now, &out);
	row = obj_parse(buf_text(&out));
	assert(row || out.error);
}

static yyjson_mut_doc *create(const struct kind *k, const char *text, size_t len)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_warnings_ struct warnings w = WARNINGS_INIT;
	yyjson_mut_val *meta;

	if (decode_body(k, NULL, text, len, FIELDS_WARN, &doc, &w, &st) < 0) {
		assert(st.code >= 400 && st.body);
		return NULL;
	}
	meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
	obj_set_str(doc, meta, "uid", "u");
	obj_set_str(doc, meta, "creationTimestamp", "2026-01-01T00:00:00Z");
	defaults_create(k, doc, fuzzer.now);
	if (validate_create(k, yyjson_mut_doc_get_root(doc), &st) < 0)
		assert(st.code == 422);
	managed_update(k, doc, NULL, &fuzzer);
	check_settled(k, doc);
	read_it(k, doc);
	return TAKE_PTR(doc);
}

static int patch(const struct kind *k, int how, yyjson_mut_doc *doc, yyjson_val *p, struct status *st)
{
	switch (how) {
	case 0: return patch_merge(doc, p, st);
	case 1: return patch_json(doc, p, st);
	case 2: return patch_strategic(k, doc, p, st);
	default: return patch_apply(k, doc, p, &fuzzer, how == 4, st);
	}
}

static void change(const struct kind *k, int how, yyjson_mut_doc *old, const char *text, size_t len)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc_of_mut(yyjson_mut_doc_get_root(old));
	_cleanup_doc_ yyjson_doc *p = NULL;
	_cleanup_buf_ struct buf why = BUF(4096);
	_cleanup_status_ struct status st = STATUS_INIT;

	if (decode_json(text, len, &p, &why) < 0)
		return;
	if (patch(k, how, doc, yyjson_doc_get_root(p), &st) < 0 ||
	    decode_patched(k, NULL, doc, NULL, FIELDS_WARN, NULL, &st) < 0) {
		assert(st.code >= 400 && st.body);
		return;
	}
	defaults_update(k, doc, yyjson_mut_doc_get_root(old), NULL, fuzzer.now);
	if (validate_update(k, yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(old), NULL, &st) < 0)
		assert(st.code == 422);
	if (how >= 3)
		managed_applied(k, doc, yyjson_mut_doc_get_root(old), &fuzzer);
	else
		managed_update(k, doc, yyjson_mut_doc_get_root(old), &fuzzer);
	check_settled(k, doc);
	read_it(k, doc);
}

static void select_with(const struct kind *k, const char *text)
{
	_cleanup_(selector_freep) struct selector *labels = NULL, *fields = NULL;
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *again = NULL;

	if (selector_parse_labels(text, &labels, &st) == 0) {
		_cleanup_(selector_freep) struct selector *reread = NULL;

		again = selector_text(labels);
		assert(selector_parse_labels(again, &reread, &st) == 0);
	}
	selector_parse_fields(k, text, &fields, &st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_alloc(size + 1);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	const struct kind *k;
	size_t which;
	char *second;
	int how;

	if (size < 3)
		return 0;
	memcpy(text, data, size);
	which = (unsigned char)(text[0] - '0') % ARRAY_LEN(kinds);
	how = (unsigned char)(text[1] - '0') % 5;
	k = kind_builtin(kinds[which][0], kinds[which][1]);
	second = strstr(text + 2, "\n--\n");
	if (second)
		*second = '\0';
	select_with(k, text + 2);
	doc = create(k, text + 2, strlen(text + 2));
	if (doc && second)
		change(k, how, doc, second + 4, strlen(second + 4));
	return 0;
}
