/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/explain.h"
#include "policy/nodeset.h"
#include "json/json.h"

#define CELL_MAX 1024 /* bytes */
#define GAP 2

enum colour { PLAIN, GOOD, WARN, BAD };
static const char *const colours[] = { "", "\033[32m", "\033[33m", "\033[31m" };

enum column { COL_NODE, COL_STATE, COL_JOBS, COL_PODS, COL_OTHER, COL_LOCK, COL_POD, COL_KNODE, COL_DRAIN, COLUMNS };
static const char *const headers[] = { "NODE", "STATE",       "JOBS",     "PODS", "OTHER",
	                               "LOCK", "NODESET POD", "K8S NODE", "DRAIN" };

struct cell {
	char *text;
	enum colour colour;
};

/* ---- words ---- */

static enum colour state_colour(const struct snode *n)
{
	switch (snode_word(n)) {
	case NODEW_IDLE:
	case NODEW_ALLOCATED:
	case NODEW_MIXED:
	case NODEW_COMPLETING:
	case NODEW_PLANNED: return n->flags & NODEF_NO_RESPOND ? BAD : GOOD;
	case NODEW_DOWN:
	case NODEW_ERROR:
	case NODEW_FAIL:
	case NODEW_FAILING:
	case NODEW_INVAL: return BAD;
	default: return WARN;
	}
}

static const char *pod_word(const struct status_row *r)
{
	if (!r->pod)
		return r->join == JOIN_UNKNOWN ? "?" : "none";
	if (r->pod->meta.deletion)
		return "being deleted";
	if (pod_pending_deletion(r->pod))
		return "to be deleted";
	return pod_is_ready(r->pod) ? "ready" : "not ready";
}

static const char *lock_word(const struct status_row *r)
{
	if (r->asked != LEVEL_NONE)
		return "pending";
	return r->lock == LOCK_FALSE ? "-" : lock_state_text(r->lock);
}

static bool knode_ready(const struct knode *n)
{
	const struct condition *c = condition_get(n->conditions, n->n_conditions, "Ready");

	return c && c->status == COND_TRUE;
}

static const char *knode_name(const struct status_row *r)
{
	return r->pod && !str_empty(r->pod->node_name) ? r->pod->node_name : NULL;
}

/* ---- the table ---- */

static void put(struct cell *c, enum colour colour, const char *fmt, ...) _printf_(3, 4);
static void put(struct cell *c, enum colour colour, const char *fmt, ...)
{
	_cleanup_buf_ struct buf raw = BUF(4 * CELL_MAX);
	_cleanup_buf_ struct buf safe = BUF(8 * CELL_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	str_add_safe(&safe, buf_text(&raw), raw.len, CELL_MAX);
	c->text = mem_strdup(buf_text(&safe));
	c->colour = colour;
}

static void fill_slurm(const struct status_row *r, const struct status_scene *scene, struct cell *cells)
{
	const struct snode *n = r->snode;
	char age[TIME_TEXT_MAX];

	if (!n) {
		const struct condition *drain =
		        r->pod ? condition_get(r->pod->conditions, r->pod->n_conditions, CONDITION_DRAIN) : NULL;
		bool heard = r->join == JOIN_UNKNOWN && drain && drain->status == COND_TRUE;

		put(&cells[COL_STATE], PLAIN, "%s", r->join == JOIN_UNKNOWN ? "?" : "not in Slurm");
		put(&cells[COL_JOBS], PLAIN, "%s", r->join == JOIN_UNKNOWN ? "?" : "-");
		put(&cells[COL_DRAIN], PLAIN, "%s%s", heard ? "when last heard of: " : "",
		    heard ? str_or(drain->message, "") : "");
		return;
	}
	put(&cells[COL_STATE], state_colour(n), "%s%s", snode_words[snode_word(n)],
	    n->flags & NODEF_NO_RESPOND ? "*" : "");
	put(&cells[COL_JOBS], PLAIN, "%u", r->jobs);
	if (r->whose != WHOSE_NOBODY)
		put(&cells[COL_DRAIN], WARN, "%s, %s: %s", whose_word(r->whose),
		    explain_age(n->reason_set, scene->now, age), str_or(n->reason, ""));
	else if (n->state == NODE_DOWN && !str_empty(n->reason))
		put(&cells[COL_DRAIN], BAD, "down, %s: %s", explain_age(n->reason_set, scene->now, age), n->reason);
	else
		put(&cells[COL_DRAIN], PLAIN, "%s", "");
}

static void fill_kube(const struct status_row *r, struct cell *cells)
{
	const struct knode *k = r->knode;
	const char *word = pod_word(r), *name = knode_name(r);
	bool there = r->pod != NULL;
	const char *nothing = !there && r->join == JOIN_UNKNOWN ? "?" : "-";

	put(&cells[COL_POD], there && !pod_is_ready(r->pod) ? BAD : PLAIN, "%s", word);
	put(&cells[COL_LOCK], r->asked != LEVEL_NONE ? WARN : PLAIN, "%s", there ? lock_word(r) : nothing);
	if (name) {
		put(&cells[COL_PODS], PLAIN, "%u", r->placed);
		put(&cells[COL_OTHER], PLAIN, "%u", r->others);
	} else {
		put(&cells[COL_PODS], PLAIN, "%s", nothing);
		put(&cells[COL_OTHER], PLAIN, "%s", nothing);
	}
	put(&cells[COL_KNODE], k && (k->unschedulable || !knode_ready(k)) ? WARN : PLAIN, "%s%s%s",
	    str_or(name, nothing), k && k->unschedulable ? ", cordoned" : "",
	    k && !knode_ready(k) ? ", not Ready" : "");
}

/* Characters, as far as one is one column wide. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct buf *out, const struct cell *c, size_t wide, bool colour)
{
	bool paint = colour && c->colour != PLAIN && *c->text;
	size_t w = width(c->text);

	buf_printf(out, "%s%s%s", paint ? colours[c->colour] : "", c->text, paint ? "\033[0m" : "");
	for (; w < wide; w++)
		buf_add_char(out, ' ');
}

static void add_table(const struct status_scene *scene, struct buf *out)
{
	const struct status *s = scene->s;
	struct cell(*cells)[COLUMNS] = mem_alloc_n((size_t)s->n_rows + 1, sizeof(*cells));
	size_t widths[COLUMNS] = { 0 };

	for (int c = 0; c < COLUMNS; c++)
		put(&cells[0][c], PLAIN, "%s", headers[c]);
	for (uint32_t i = 0; i < s->n_rows; i++) {
		put(&cells[i + 1][COL_NODE], PLAIN, "%s", s->rows[i].name);
		fill_slurm(&s->rows[i], scene, cells[i + 1]);
		fill_kube(&s->rows[i], cells[i + 1]);
	}
	for (uint32_t i = 0; i <= s->n_rows; i++)
		for (int c = 0; c < COLUMNS; c++)
			widths[c] = MAX_OF(widths[c], width(cells[i][c].text));
	for (uint32_t i = 0; i <= s->n_rows; i++) {
		for (int c = 0; c < COLUMNS; c++) {
			bool last = c == COLUMNS - 1 || (c == COLUMNS - 2 && !*cells[i][COLUMNS - 1].text);

			add_cell(out, &cells[i][c], last ? 0 : widths[c] + GAP, scene->colour);
		}
		buf_add_char(out, '\n');
		for (int c = 0; c < COLUMNS; c++)
			free(cells[i][c].text);
	}
	free(cells);
}

/* ---- the sums ---- */

static void add_error(const struct status_scene *scene, const char *side, const char *what, const char *error,
                      struct buf *out)
{
	buf_printf(out, "%-12s%s%s cannot be asked for: ", side, scene->colour ? colours[BAD] : "", what);
	str_add_safe(out, error, strlen(error), CELL_MAX);
	buf_printf(out, "%s\n", scene->colour ? "\033[0m" : "");
}

static void add_slurm_sums(const struct status_scene *scene, struct buf *out)
{
	const struct status *s = scene->s;
	uint32_t n = 0, shown = 0;

	if (scene->slurm_error) {
		add_error(scene, "Slurm", "nodes and jobs", scene->slurm_error, out);
		return;
	}
	for (int w = 0; w < SNODE_WORDS; w++)
		n += s->words[w];
	buf_printf(out, "%-12s%s%s%s%s: %u nodes", "Slurm", str_or(scene->cluster, "?"), scene->version ? " (" : "",
	           str_or(scene->version, ""), scene->version ? ")" : "", n);
	for (int w = 0; w < SNODE_WORDS; w++)
		if (s->words[w])
			buf_printf(out, "%s%u %s", shown++ ? ", " : " (", s->words[w], snode_words[w]);
	buf_printf(out, "%s", shown ? ")" : "");
	if (s->not_responding)
		buf_printf(out, ", %u not responding", s->not_responding);
	buf_printf(out, "; jobs: %u running, %u ending, %u pending\n", s->jobs_running, s->jobs_ending,
	           s->jobs_pending);
}

static void add_kube_sums(const struct status_scene *scene, struct buf *out)
{
	const struct status *s = scene->s;

	if (scene->knodes_error)
		add_error(scene, "Kubernetes", "Nodes", scene->knodes_error, out);
	else
		buf_printf(out, "%-12s%s: %u Nodes (%u cordoned, %u not Ready)\n", "Kubernetes",
		           str_or(scene->server, "?"), s->knodes, s->knodes_cordoned, s->knodes_not_ready);
	if (scene->pods_error)
		add_error(scene, "Pods", "Pods", scene->pods_error, out);
	else
		buf_printf(out, "%-12s%u run slurmd (%u ready); through Slurm: %u placed, %u waiting\n", "Pods",
		           s->nodeset_pods, s->nodeset_ready, s->pods_placed, s->pods_waiting);
	if (s->no_pod || s->no_snode)
		buf_printf(out, "%-12s%u Slurm nodes without a Pod, %u Pods without a Slurm node\n", "Not joined",
		           s->no_pod, s->no_snode);
}

void status_print_text(const struct status_scene *scene, struct buf *out)
{
	add_slurm_sums(scene, out);
	add_kube_sums(scene, out);
	if (!scene->s->n_rows)
		return;
	buf_add_char(out, '\n');
	add_table(scene, out);
}

/* ---- for programs ---- */

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, const char *text)
{
	if (text)
		yyjson_mut_obj_add_strcpy(doc, to, key, text);
	else
		yyjson_mut_obj_add_null(doc, to, key);
}

static void add_row(yyjson_mut_doc *doc, yyjson_mut_val *rows, const struct status_row *r)
{
	static const char *const joins[] = { "both", "no-pod", "no-slurm-node", "unknown" };
	yyjson_mut_val *o = yyjson_mut_arr_add_obj(doc, rows);
	char at[TIME_TEXT_MAX];

	add_text(doc, o, "name", r->name);
	add_text(doc, o, "join", joins[r->join]);
	add_text(doc, o, "state", r->snode ? snode_words[snode_word(r->snode)] : NULL);
	yyjson_mut_obj_add_bool(doc, o, "notResponding", r->snode && r->snode->flags & NODEF_NO_RESPOND);
	if (r->whose != WHOSE_NOBODY) {
		yyjson_mut_val *d = yyjson_mut_obj_add_obj(doc, o, "drain");

		add_text(doc, d, "whose", whose_word(r->whose));
		add_text(doc, d, "reason", str_or(r->snode->reason, ""));
		add_text(doc, d, "since", r->snode->reason_set ? time_format(r->snode->reason_set, at) : NULL);
	} else
		yyjson_mut_obj_add_null(doc, o, "drain");
	add_text(doc, o, "lock", r->pod ? lock_state_text(r->lock) : NULL);
	add_text(doc, o, "lockAsked", lock_level_text(r->asked));
	yyjson_mut_obj_add_uint(doc, o, "jobs", r->jobs);
	yyjson_mut_obj_add_uint(doc, o, "podsPlaced", r->placed);
	yyjson_mut_obj_add_uint(doc, o, "podsOther", r->others);
	add_text(doc, o, "namespace", r->pod ? r->pod->meta.ns : NULL);
	add_text(doc, o, "nodesetPod", r->pod ? pod_word(r) : NULL);
	add_text(doc, o, "kubernetesNode", knode_name(r));
	yyjson_mut_obj_add_bool(doc, o, "cordoned", r->knode && r->knode->unschedulable);
	yyjson_mut_obj_add_bool(doc, o, "ready", r->knode && knode_ready(r->knode));
}

void status_print_json(const struct status_scene *scene, bool pretty, struct buf *out)
{
	const struct status *s = scene->s;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc), *o, *words;
	_cleanup_free_ char *text = NULL;

	yyjson_mut_doc_set_root(doc, root);
	o = yyjson_mut_obj_add_obj(doc, root, "slurm");
	add_text(doc, o, "error", scene->slurm_error);
	add_text(doc, o, "cluster", scene->cluster);
	words = yyjson_mut_obj_add_obj(doc, o, "nodes");
	for (int w = 0; w < SNODE_WORDS; w++)
		if (s->words[w])
			yyjson_mut_obj_add_uint(doc, words, snode_words[w], s->words[w]);
	yyjson_mut_obj_add_uint(doc, o, "jobsRunning", s->jobs_running);
	yyjson_mut_obj_add_uint(doc, o, "jobsEnding", s->jobs_ending);
	yyjson_mut_obj_add_uint(doc, o, "jobsPending", s->jobs_pending);
	o = yyjson_mut_obj_add_obj(doc, root, "kubernetes");
	add_text(doc, o, "podsError", scene->pods_error);
	add_text(doc, o, "nodesError", scene->knodes_error);
	yyjson_mut_obj_add_uint(doc, o, "nodes", s->knodes);
	yyjson_mut_obj_add_uint(doc, o, "nodesCordoned", s->knodes_cordoned);
	yyjson_mut_obj_add_uint(doc, o, "nodesNotReady", s->knodes_not_ready);
	yyjson_mut_obj_add_uint(doc, o, "nodesetPods", s->nodeset_pods);
	yyjson_mut_obj_add_uint(doc, o, "nodesetPodsReady", s->nodeset_ready);
	yyjson_mut_obj_add_uint(doc, o, "podsPlaced", s->pods_placed);
	yyjson_mut_obj_add_uint(doc, o, "podsWaiting", s->pods_waiting);
	o = yyjson_mut_obj_add_arr(doc, root, "nodes");
	for (uint32_t i = 0; i < s->n_rows; i++)
		add_row(doc, o, &s->rows[i]);
	text = yyjson_mut_write(doc, (pretty ? YYJSON_WRITE_PRETTY : 0) | YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
	yyjson_mut_doc_free(doc);
	buf_add_str(out, text ? text : "{}");
	buf_add_char(out, '\n');
}
