/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What may change in a Pod that exists: images, a deadline that comes nearer, more tolerations, fewer gates. Everything
 * else is refused with the lines that differ.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/validate_kinds.h"

#define DIFF_MAX (256u << 10)
#define CONTEXT_LINES 3

/* ------------------------------------------------------------------------------------------------------------ diff */

struct lines {
	const char **start;
	size_t n;
};

/* Cuts text at its line ends, in place. */
static struct lines split(char *text)
{
	struct lines l = { 0 };

	for (char *p = text; p && *p;) {
		char *end = strchr(p, '\n');

		l.start = mem_realloc_n(l.start, l.n + 1, sizeof(*l.start));
		l.start[l.n++] = p;
		if (end)
			*end++ = '\0';
		p = end;
	}
	return l;
}

static void indent(struct buf *out, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		buf_add_char(out, ' ');
}

/* One member or element per line, one blank per level, names as the real server's own structs have them. */
static void pretty(struct buf *out, yyjson_mut_val *v, size_t depth)
{
	bool obj = yyjson_mut_is_obj(v);
	size_t left = obj_size(v);

	if (!left) {
		obj_add_text(out, v);
		return;
	}
	buf_add_str(out, obj ? "{\n" : "[\n");
	OBJ_EACH (key, val, v) {
		const char *name = yyjson_mut_get_str(key);

		indent(out, depth + 1);
		buf_printf(out, "\"%c%s\": ", toupper((unsigned char)*name), *name ? name + 1 : "");
		pretty(out, val, depth + 1);
		buf_add_str(out, --left ? ",\n" : "\n");
	}
	ARR_EACH (item, v) {
		indent(out, depth + 1);
		pretty(out, item, depth + 1);
		buf_add_str(out, --left ? ",\n" : "\n");
	}
	indent(out, depth);
	buf_add_char(out, obj ? '}' : ']');
}

static void add_lines(struct buf *out, char mark, const struct lines *l, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		buf_printf(out, "%c%s\n", mark, l->start[i]);
}

/* One hunk from the first to the last line that differs. */
static void diff(struct buf *out, yyjson_mut_val *old, yyjson_mut_val *new)
{
	_cleanup_buf_ struct buf a = BUF(DIFF_MAX), b = BUF(DIFF_MAX);
	_cleanup_free_ char *ta = NULL, *tb = NULL;
	struct lines la, lb;
	size_t head = 0, tail = 0, from, to_a, to_b;

	pretty(&a, old, 0);
	pretty(&b, new, 0);
	la = split(ta = buf_take(&a));
	lb = split(tb = buf_take(&b));
	while (head < la.n && head < lb.n && str_eq(la.start[head], lb.start[head]))
		head++;
	while (tail < la.n - head && tail < lb.n - head && str_eq(la.start[la.n - 1 - tail], lb.start[lb.n - 1 - tail]))
		tail++;
	from = head > CONTEXT_LINES ? head - CONTEXT_LINES : 0;
	to_a = MIN_OF(la.n, la.n - tail + CONTEXT_LINES);
	to_b = MIN_OF(lb.n, lb.n - tail + CONTEXT_LINES);
	buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, to_a - from, from + 1, to_b - from);
	add_lines(out, ' ', &la, from, head);
	add_lines(out, '-', &la, head, la.n - tail);
	add_lines(out, '+', &lb, head, lb.n - tail);
	add_lines(out, ' ', &la, la.n - tail, to_a);
	free(la.start);
	free(lb.start);
}

/* ------------------------------------------------------------------------------------------------- what may change */

static bool containers_match(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old, const char *member)
{
	size_t i = 0;

	if (obj_size(obj_get(spec, member)) != obj_size(obj_get(old, member))) {
		check_add(c, CAUSE_FORBIDDEN, member, NULL, "pod updates may not add or remove containers");
		return false;
	}
	ARR_EACH (container, obj_get(spec, member)) {
		const char *image = str_or(obj_str(obj_get(container, "image")), "");
		size_t up = check_enter(c, member), in = check_enter_index(c, i++);

		(void)in;
		if (*image && (isspace((unsigned char)*image) || isspace((unsigned char)image[strlen(image) - 1])))
			check_add_text(c, CAUSE_INVALID, "image", image,
			               "must not have leading or trailing whitespace");
		check_leave(c, up);
	}
	return true;
}

static void check_deadline(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
	yyjson_mut_val *now = obj_get(spec, "activeDeadlineSeconds"), *then = obj_get(old, "activeDeadlineSeconds");

	if (now && then && obj_int(then, 0) < obj_int(now, 0))
		check_add(c, CAUSE_INVALID, "activeDeadlineSeconds", now,
		          "must be less than or equal to previous value");
	else if (!now && then)
		causes_add(c->causes, CAUSE_INVALID, "spec.activeDeadlineSeconds", "null",
		           "must not update from a positive integer to nil value");
}

static bool same_toleration(yyjson_mut_val *a, yyjson_mut_val *b)
{
	static const char *const members[] = { "key", "operator", "value", "effect" };

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (!obj_equal(obj_get(a, members[i]), obj_get(b, members[i])))
			return false;
	return true;
}

static void check_tolerations_kept(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
	ARR_EACH (then, obj_get(old, "tolerations")) {
		bool found = false;

		ARR_EACH (now, obj_get(spec, "tolerations"))
			found = found || same_toleration(now, then);
		if (!found) {
			check_add(c, CAUSE_FORBIDDEN, "tolerations", NULL,
			          "existing toleration can not be modified except its tolerationSeconds");
			return;
		}
	}
}

static void check_gates_only_go(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
	size_t i = 0;

	ARR_EACH (gate, obj_get(spec, "schedulingGates")) {
		const char *name = str_or(obj_str(obj_get(gate, "name")), "");
		bool found = false;

		ARR_EACH (then, obj_get(old, "schedulingGates"))
			found = found || str_eq(obj_str(obj_get(then, "name")), name);
		if (!found) {
			size_t up = check_enter(c, "schedulingGates"), in = check_enter_index(c, i);

			(void)in;
			check_add(c, CAUSE_FORBIDDEN, "name", NULL,
			          "only deletion is allowed, but found new scheduling gate '%s'", name);
			check_leave(c, up);
		}
		i++;
	}
}

static void take_images(yyjson_mut_doc *doc, yyjson_mut_val *spec, yyjson_mut_val *old, const char *member)
{
	yyjson_mut_arr_iter in_old = yyjson_mut_arr_iter_with(obj_get(old, member));

	ARR_EACH (container, obj_get(spec, member))
		obj_set_copy(doc, container, "image", obj_get(yyjson_mut_arr_iter_next(&in_old), "image"));
}

/* A gated Pod is not placed yet: where it may go can still be narrowed. */
static void take_placement(yyjson_mut_doc *doc, yyjson_mut_val *spec, yyjson_mut_val *old, struct check *c)
{
	bool kept = true;

	OBJ_EACH (key, val, obj_get(old, "nodeSelector"))
		kept = kept && obj_equal(val, obj_at(spec, "nodeSelector", yyjson_mut_get_str(key)));
	if (!kept)
		check_add(c, CAUSE_INVALID, "nodeSelector", obj_get(spec, "nodeSelector"),
		          "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
	obj_set_copy(doc, spec, "nodeSelector", obj_get(old, "nodeSelector"));
	if (!obj_at(old, "affinity", "nodeAffinity"))
		obj_set_copy(doc, spec, "affinity", obj_get(old, "affinity"));
}

void check_pod_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old_pod)
{
	yyjson_mut_val *spec = obj_get(obj, "spec"), *old = obj_get(old_pod, "spec"), *munged;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_buf_ struct buf differs = BUF(2 * DIFF_MAX);
	size_t up = check_enter(c, "spec");

	if (!containers_match(c, spec, old, "containers") || !containers_match(c, spec, old, "initContainers")) {
		check_leave(c, up);
		return;
	}
	check_deadline(c, spec, old);
	check_tolerations_kept(c, spec, old);
	check_gates_only_go(c, spec, old);
	doc = obj_doc_of_mut(spec);
	munged = yyjson_mut_doc_get_root(doc);
	take_images(doc, munged, old, "containers");
	take_images(doc, munged, old, "initContainers");
	obj_set_copy(doc, munged, "activeDeadlineSeconds", obj_get(old, "activeDeadlineSeconds"));
	obj_set_copy(doc, munged, "tolerations", obj_get(old, "tolerations"));
	if (obj_size(obj_get(old, "schedulingGates")))
		take_placement(doc, munged, old, c);
	obj_set_copy(doc, munged, "schedulingGates", obj_get(old, "schedulingGates"));
	if (!obj_equal(munged, old)) {
		diff(&differs, old, munged);
		check_add(c, CAUSE_FORBIDDEN, NULL, NULL,
		          "pod updates may not change fields other than "
		          "`spec.containers[*].image`,`spec.initContainers[*].image`,"
		          "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
		          "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
		          "negative)\n%s",
		          buf_text(&differs));
	}
	check_leave(c, up);
}

void check_pod_status_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	yyjson_mut_val *status = obj_get(obj, "status");
	size_t up = check_enter(c, "status"), i = 0;

	ARR_EACH (condition, obj_get(status, "conditions")) {
		size_t back = check_enter(c, "conditions"), in = check_enter_index(c, i++);

		(void)in;
		check_text(c, "type", str_or(obj_str(obj_get(condition, "type")), ""), name_label_key);
		check_leave(c, back);
	}
	check_same(c, status, obj_get(old, "status"), "qosClass");
	check_leave(c, up);
}
