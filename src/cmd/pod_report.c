/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/pod_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"
#include "json/json.h"

#define LINE_MAX_BYTES 512
#define UNFIT_LINES_MAX 20

static const char *const shared_words[] = {
	[SHARED_UNSET] = NULL, [SHARED_NONE] = "none", [SHARED_OK] = "ok", [SHARED_USER] = "user"
};

void pod_report_init(struct pod_report *r, FILE *out, bool json)
{
	*r = (struct pod_report) { .out = out, .json = json };
	if (!json)
		return;
	r->doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_doc_set_root(r->doc, yyjson_mut_obj(r->doc));
	yyjson_mut_obj_add_arr(r->doc, yyjson_mut_doc_get_root(r->doc), "items");
}

void pod_report_done(struct pod_report *r)
{
	if (r->doc) {
		_cleanup_free_ char *text = yyjson_mut_write(r->doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL);

		fprintf(r->out, "%s\n", str_or(text, "{}"));
		yyjson_mut_doc_free(r->doc);
	}
	fflush(r->out);
	r->doc = NULL;
}

/* The text fields of a job, by the words that a person knows from sbatch and squeue. */
static const struct text_row {
	const char *label, *key;
	size_t offset;
	const char *otherwise; /* what is said when the job does not say it; NULL: nothing */
} text_rows[] = {
#define ROW(l, k, member, o) { l, k, offsetof(struct job_spec, member), o }
	ROW("job name", "name", name, NULL),
	ROW("GPUs", "tresPerNode", tres_per_node, NULL),
	ROW("partition", "partition", partition, "the cluster's default"),
	ROW("account", "account", account, NULL),
	ROW("qos", "qos", qos, NULL),
	ROW("reservation", "reservation", reservation, NULL),
	ROW("constraints", "constraints", features, NULL),
	ROW("prefer", "prefer", prefer, NULL),
	ROW("one of nodes", "requiredNodes", required, NULL),
	ROW("not on nodes", "excludedNodes", excluded, NULL),
	ROW("directory", "workDir", work_dir, NULL),
	ROW("comment", "comment", comment, NULL),
#undef ROW
};

static const char *text_of(const struct job_spec *s, const struct text_row *row)
{
	return *(const char *const *)(const void *)((const char *)s + row->offset);
}

/* What keeps a Pod without errors from being submitted to this cluster as it is now; NULL when nothing does, or nobody asked. */
static const char *obstacle(const struct pod_verdict *v)
{
	if (!v->fit)
		return NULL;
	return v->fit->feasible.n_fit == 0 ? v->fit->feasible.summary : v->fit->waits;
}

static bool is_good(const struct pod_verdict *v)
{
	return v->job && !obstacle(v);
}

/* As text */

static void line(struct pod_report *r, const char *label, const char *text)
{
	_cleanup_buf_ struct buf safe = BUF(4 * LINE_MAX_BYTES);

	str_add_safe(&safe, text, strlen(text), LINE_MAX_BYTES);
	fprintf(r->out, "  %-14s%s\n", label, buf_text(&safe));
}

static void id_line(struct pod_report *r, const char *label, int64_t said)
{
	char text[32] = "the scheduler's own";

	if (said >= 0)
		snprintf(text, sizeof(text), "%" PRId64, said);
	line(r, label, text);
}

static void print_amounts(struct pod_report *r, const struct job_spec *s)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu32, s->cpus);
	line(r, "CPUs", text);
	snprintf(text, sizeof(text), "%" PRIu64 " MiB", s->memory_mb);
	line(r, "memory", text);
}

static void print_numbers(struct pod_report *r, const struct pod_verdict *v)
{
	const struct job_spec *s = &v->job->spec;
	char text[64];

	if (s->time_limit_min)
		snprintf(text, sizeof(text), "%" PRIu32 " minutes", s->time_limit_min);
	line(r, "time limit", s->time_limit_min ? text : "the partition's");
	if (s->hold || s->has_priority) {
		snprintf(text, sizeof(text), "%" PRIu32, s->priority);
		line(r, "priority", s->hold ? "0: held until someone releases it" : text);
	}
	line(r, "exclusive", str_or(shared_words[s->shared], "the cluster's default"));
	id_line(r, "user id", v->wishes->user_id);
	id_line(r, "group id", v->wishes->group_id);
}

static void print_job(struct pod_report *r, const struct pod_verdict *v)
{
	for (size_t i = 0; i < ARRAY_LEN(text_rows); i++) {
		const char *text = text_of(&v->job->spec, &text_rows[i]);

		if (text || text_rows[i].otherwise)
			line(r, text_rows[i].label, text ? text : text_rows[i].otherwise);
		if (i == 0)
			print_amounts(r, &v->job->spec);
	}
	print_numbers(r, v);
}

static void print_nodes(struct pod_report *r, const struct cluster_fit *f)
{
	size_t shown = 0, unfit = f->n - f->feasible.n_fit;

	line(r, "nodes", f->feasible.summary);
	for (size_t i = 0; i < f->n && shown < UNFIT_LINES_MAX; i++)
		if (f->why[i]) {
			_cleanup_free_ char *text = str_printf("%s: %s", f->places[i].slurm_node, f->why[i]);

			line(r, shown++ ? "" : "not on", text);
		}
	if (shown < unfit)
		fprintf(r->out, "  %-14sand %zu more\n", "", unfit - shown);
	if (f->waits)
		line(r, "waits", f->waits);
	if (f->blind) {
		_cleanup_free_ char *text = str_printf("volumes were not looked at: %s", f->blind);

		line(r, "", text);
	}
}

static const char *what_becomes_of(const struct pod_verdict *v)
{
	if (!v->item->err && !v->item->pod)
		return " has no Pods: skipped";
	if (!v->job)
		return " cannot be submitted";
	return is_good(v) ? " would be submitted as" : " would not be submitted now, but wait to be submitted as";
}

static void print(struct pod_report *r, const struct pod_verdict *v)
{
	_cleanup_buf_ struct buf who = BUF(4 * LINE_MAX_BYTES);
	const struct manifest_item *item = v->item;
	const struct meta *m = item->pod ? &item->pod->meta : NULL;

	str_add_safe(&who, item->kind, strlen(item->kind), 64);
	if (m)
		buf_printf(&who, " %s/", m->ns);
	if (m)
		str_add_safe(&who, m->name, strlen(m->name), 260);
	fprintf(r->out, "%s%s, document %u: %s%s\n", r->n_pods + r->n_other > 1 ? "\n" : "", item->file, item->document,
	        who.len ? buf_text(&who) : "an object of no kind", what_becomes_of(v));
	if (item->err)
		line(r, "error", err_text(item->err));
	for (uint32_t i = 0; v->problems && i < v->problems->n; i++) {
		const struct problem *p = &v->problems->list[i];

		fprintf(r->out, "  %-14s%s: %s\n", p->warning ? "warning" : "error", p->field, p->text);
	}
	if (v->problems && v->problems->dropped)
		fprintf(r->out, "  %-14s%u more\n", "and", v->problems->dropped);
	if (v->job)
		print_job(r, v);
	if (v->fit)
		print_nodes(r, v->fit);
}

/* As JSON. Numbers that are not said are null. */

static void add_number(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, bool said, uint64_t number)
{
	yyjson_mut_obj_add_val(doc, to, key, said ? yyjson_mut_uint(doc, number) : yyjson_mut_null(doc));
}

static yyjson_mut_val *text_value(yyjson_mut_doc *doc, const char *text)
{
	return text ? yyjson_mut_strcpy(doc, text) : yyjson_mut_null(doc);
}

static yyjson_mut_val *job_value(yyjson_mut_doc *doc, const struct pod_verdict *v)
{
	yyjson_mut_val *to = yyjson_mut_obj(doc);
	const struct job_spec *s = &v->job->spec;

	for (size_t i = 0; i < ARRAY_LEN(text_rows); i++)
		yyjson_mut_obj_add_val(doc, to, text_rows[i].key, text_value(doc, text_of(s, &text_rows[i])));
	add_number(doc, to, "cpus", true, s->cpus);
	add_number(doc, to, "memoryMiB", true, s->memory_mb);
	add_number(doc, to, "timeLimitMinutes", s->time_limit_min != 0, s->time_limit_min);
	add_number(doc, to, "priority", s->hold || s->has_priority, s->priority);
	yyjson_mut_obj_add_val(doc, to, "exclusive", text_value(doc, shared_words[s->shared]));
	add_number(doc, to, "userId", v->wishes->user_id >= 0, (uint64_t)v->wishes->user_id);
	add_number(doc, to, "groupId", v->wishes->group_id >= 0, (uint64_t)v->wishes->group_id);
	return to;
}

static void add_problem(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *level, const char *field, const char *text)
{
	yyjson_mut_val *p = yyjson_mut_arr_add_obj(doc, to);

	yyjson_mut_obj_add_strcpy(doc, p, "level", level);
	yyjson_mut_obj_add_strcpy(doc, p, "field", field);
	yyjson_mut_obj_add_strcpy(doc, p, "text", text);
}

static void add_nodes(yyjson_mut_doc *doc, yyjson_mut_val *to, const struct cluster_fit *f)
{
	yyjson_mut_val *nodes = yyjson_mut_obj_add_obj(doc, to, "nodes"), *list;

	yyjson_mut_obj_add_strcpy(doc, nodes, "summary", f->feasible.summary);
	yyjson_mut_obj_add_uint(doc, nodes, "feasible", f->feasible.n_fit);
	yyjson_mut_obj_add_val(doc, nodes, "waitsFor", text_value(doc, f->waits));
	yyjson_mut_obj_add_val(doc, nodes, "volumesNotLookedAt", text_value(doc, f->blind));
	list = yyjson_mut_obj_add_arr(doc, nodes, "items");
	for (size_t i = 0; i < f->n; i++) {
		yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);

		yyjson_mut_obj_add_strcpy(doc, one, "slurmNode", f->places[i].slurm_node);
		yyjson_mut_obj_add_strcpy(doc, one, "node", f->places[i].node_name);
		yyjson_mut_obj_add_val(doc, one, "why", text_value(doc, f->why[i]));
	}
}

static void add_json(struct pod_report *r, const struct pod_verdict *v)
{
	yyjson_mut_doc *doc = r->doc;
	yyjson_mut_val *items = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "items");
	yyjson_mut_val *to = yyjson_mut_arr_add_obj(doc, items), *list;
	const struct manifest_item *item = v->item;

	yyjson_mut_obj_add_strcpy(doc, to, "file", item->file);
	yyjson_mut_obj_add_uint(doc, to, "document", item->document);
	yyjson_mut_obj_add_strcpy(doc, to, "kind", item->kind);
	yyjson_mut_obj_add_val(doc, to, "namespace", text_value(doc, item->pod ? item->pod->meta.ns : NULL));
	yyjson_mut_obj_add_val(doc, to, "name", text_value(doc, item->pod ? item->pod->meta.name : NULL));
	yyjson_mut_obj_add_bool(doc, to, "ok", is_good(v));
	list = yyjson_mut_obj_add_arr(doc, to, "problems");
	if (item->err)
		add_problem(doc, list, "error", "", err_text(item->err));
	for (uint32_t i = 0; v->problems && i < v->problems->n; i++)
		add_problem(doc, list, v->problems->list[i].warning ? "warning" : "error", v->problems->list[i].field,
		            v->problems->list[i].text);
	if (v->job)
		yyjson_mut_obj_add_val(doc, to, "job", job_value(doc, v));
	if (v->fit)
		add_nodes(doc, to, v->fit);
}

void pod_report_add(struct pod_report *r, const struct pod_verdict *v)
{
	if (v->item->pod || v->item->err)
		r->n_pods++;
	else
		r->n_other++;
	if ((v->item->pod || v->item->err) && !is_good(v))
		r->n_bad++;
	if (!r->json)
		print(r, v);
	else if (v->item->pod || v->item->err)
		add_json(r, v);
}
