/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where something stands in a YAML text. Documents hold no positions, and need none until something is wrong: then the text
 * is read once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/str.h"
#include "json/json.h"

struct place { /* an open mapping or sequence */
	bool mapping, at_key, on_path, hit; /* hit: the value that comes next is on the path */
	size_t n;
};

struct search {
	const char *const *path;
	size_t n_path, depth;
	struct place places[YAML_DEPTH_MAX];
};

static bool is_step(const struct search *s, const char *name)
{
	return s->depth <= s->n_path && str_eq(s->path[s->depth - 1], name);
}

/* A key or a value begins. True when it is what we look for. */
static bool take_node(struct search *s, const yaml_event_t *e)
{
	struct place *top = s->depth ? &s->places[s->depth - 1] : NULL;
	bool found = false;
	char number[24];

	if (top && top->mapping && top->at_key) {
		top->at_key = false;
		top->hit =
		        top->on_path && e->type == YAML_SCALAR_EVENT && is_step(s, (const char *)e->data.scalar.value);
		return top->hit && s->depth == s->n_path;
	}
	if (top && !top->mapping) {
		snprintf(number, sizeof(number), "%zu", top->n++);
		top->hit = top->on_path && is_step(s, number);
		found = top->hit && s->depth == s->n_path;
	}
	if (top)
		top->at_key = true;
	if (e->type != YAML_SCALAR_EVENT && s->depth < YAML_DEPTH_MAX)
		s->places[s->depth++] = (struct place) { .mapping = e->type == YAML_MAPPING_START_EVENT,
			                                 .at_key = true,
			                                 .on_path = !top || top->hit };
	return found;
}

size_t yaml_line(const char *text, size_t len, const char *const *path, size_t n_path)
{
	struct search s = { .path = path, .n_path = n_path };
	yaml_parser_t parser;
	size_t line = 0;

	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	for (bool more = true; more && !line;) {
		yaml_event_t e;

		if (!yaml_parser_parse(&parser, &e))
			break;
		more = e.type != YAML_STREAM_END_EVENT;
		if (e.type == YAML_SCALAR_EVENT || e.type == YAML_MAPPING_START_EVENT ||
		    e.type == YAML_SEQUENCE_START_EVENT) {
			if (take_node(&s, &e))
				line = e.start_mark.line + 1;
		} else if ((e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT) && s.depth)
			s.depth--;
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&parser);
	return line;
}
