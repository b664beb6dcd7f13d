/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * JSON text ⇄ yyjson documents, with limits and errors that say where. YAML becomes the same documents, so that one
 * decoder serves config files, kubeconfigs and API answers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/err.h"

#define JSON_PARSER_MAX ((size_t)512 << 20) /* bytes of memory one parse may take */
#define YAML_TEXT_MAX ((size_t)1 << 20)
#define YAML_NODES_MAX 100000
#define YAML_DEPTH_MAX 64

/* Memory for parsing that is used again from document to document (the DOM of a list page or a watch event): at most
 * one live document at a time per parser. What one unusually large document needed is given back after some smaller
 * ones. */
struct json_parser;

struct json_parser *json_parser_new(void);
void json_parser_free(struct json_parser *p);
size_t json_parser_memory(const struct json_parser *p); /* bytes held for the next parse */
DEFINE_FREEP(struct json_parser, json_parser_free)

/* Parses text; valid until the next parse with p or its end, and never freed by the caller. With `in_place` the text
 * is overwritten, must have 4 writable bytes behind its end (YYJSON_PADDING_SIZE, overwritten too) and must outlive the
 * document.
 * Errors say what and at which byte: "not JSON at byte 17: unexpected character, found '<html>…'". */
int json_parse(struct json_parser *p, char *text, size_t len, bool in_place, yyjson_doc **ret, struct err *err);

/* Parses the one value that starts at *at (blanks before it are skipped), in place, and moves *at behind it. For text that
 * is larger than its values should be at any time: see json/list.h. */
int json_parse_next(struct json_parser *p, char *text, size_t len, size_t *at, yyjson_doc **ret, struct err *err);

/* "not JSON at byte 17: what, found '…'", for those who read around values. Returns -EBADMSG. */
int json_refuse(const char *text, size_t len, size_t pos, const char *what, struct err *err);

/* One-off: a document of its own; yyjson_doc_free() it. */
int json_parse_copy(const char *text, size_t len, yyjson_doc **ret, struct err *err);

/* YAML (one document, block or flow) → document; yyjson_doc_free() it. Plain scalars get YAML 1.2 core types, quoted
 * ones are always strings; an empty text gives null. Refused: anchors, aliases, merge keys, tags other than !!str, keys
 * that are no scalars, the same key twice, NUL characters. `where` names the file in errors: "sunk.yaml:3:7: …". */
int yaml_parse(const char *text, size_t len, const char *where, yyjson_doc **ret, struct err *err);

/* The same for any number of documents ("---" between): an array of them. */
int yaml_parse_all(const char *text, size_t len, const char *where, yyjson_doc **ret, struct err *err);

/* The line, counted from 1, on which the key at this path stands in YAML that yaml_parse() took (elements of a list by their
 * number: "0"); 0 when it is not there. For messages about what a document says. */
size_t yaml_line(const char *text, size_t len, const char *const *path, size_t n_path);

/* Member lookups that take NULL and give NULL, for walking a path: json_str(json_get(json_get(v, "a"), "b")). */
yyjson_val *json_get(yyjson_val *object, const char *key);
const char *json_str(yyjson_val *value); /* NULL when no string, or one with a NUL inside */
int64_t json_int(yyjson_val *value, int64_t otherwise);
bool json_bool(yyjson_val *value, bool otherwise);
