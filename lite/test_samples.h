/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests: the answers of a real API server in tests/kube-samples, and comparing JSON with a message that helps.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/test.h"
#include "lite/obj.h"

/* The body of a recorded answer, as a document. */
static inline yyjson_mut_doc *sample_body(const char *name)
{
	_cleanup_free_ char *path = str_printf("%s/%s.txt", getenv("SUNK_KUBE_SAMPLES"), name);
	_cleanup_buf_ struct buf text = BUF(8u << 20);
	const char *body;
	yyjson_mut_doc *doc;

	assert_int_equal(buf_read_file(&text, path), 0);
	body = strstr(buf_text(&text), "\n--- body");
	assert_non_null(body);
	doc = obj_parse(strchr(body + 1, '\n') + 1);
	assert_non_null(doc);
	return doc;
}

/* JSON literals with ' for ". */
static inline yyjson_mut_doc *quoted(const char *text)
{
	_cleanup_free_ char *copy = mem_strdup(text);
	yyjson_mut_doc *doc;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	doc = obj_parse(copy);
	if (!doc)
		fail_msg("no JSON: %s", text);
	return doc;
}

static inline void assert_json(yyjson_mut_val *is, yyjson_mut_val *should)
{
	_cleanup_free_ char *a = NULL, *b = NULL;

	if (obj_equal(is, should))
		return;
	a = obj_text(is, NULL);
	b = obj_text(should, NULL);
	fail_msg("\n  got      %s\n  expected %s", a, b);
}

static inline void assert_json_text(const char *is, yyjson_mut_val *should)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_parse(is);

	if (!doc)
		fail_msg("no JSON: %s", is);
	assert_json(yyjson_mut_doc_get_root(doc), should);
}

static inline void assert_json_is(yyjson_mut_val *is, const char *should)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(should);

	assert_json(is, yyjson_mut_doc_get_root(doc));
}
