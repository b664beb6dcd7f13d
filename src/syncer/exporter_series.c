/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lines of each metric. 50,000 jobs make hundreds of thousands of them: no printf here.
 */
#include <string.h>

#include "base/str.h"
#include "syncer/export.h"

#define LABELS_MAX (6 * (2 * EXPORT_LABEL_MAX + 32))
#define NUMBER_MAX 32
#define TAIL_ROOM ((size_t)64 << 10) /* for what comes after the last line that fits */

/* ---- lines ---- */

void export_label(struct buf *b, const char *name, const char *value)
{
	char text[EXPORT_LABEL_MAX + 1], *to;
	const char *p;

	str_copy(text, sizeof(text), value);
	if (!str_is_utf8(text, strlen(text)))
		str_mask_unsafe(text);
	buf_add_str(b, name);
	to = buf_reserve(b, 2 * strlen(text) + 3);
	if (!to)
		return;
	*to++ = '=';
	*to++ = '"';
	for (p = text; *p; p++) {
		if (*p == '\\' || *p == '"' || *p == '\n')
			*to++ = '\\';
		*to++ = *p == '\n' ? 'n' : *p;
	}
	*to++ = '"';
	*to = 0;
	b->len = (size_t)(to - b->data);
}

/* Writes it before `end`; returns where it begins. */
static char *digits(char *end, uint64_t v)
{
	do
		*--end = (char)('0' + v % 10);
	while (v /= 10);
	return end;
}

static void add_number(struct buf *b, uint64_t v)
{
	char text[NUMBER_MAX], *from = digits(text + sizeof(text), v);

	buf_add(b, from, (size_t)(text + sizeof(text) - from));
}

static void add_line(struct export *e, const char *name, const char *labels, const char *value, size_t value_len)
{
	size_t name_len = strlen(name), labels_len = strlen(labels);
	size_t need = name_len + labels_len + value_len + 4;
	char *to;

	to = e->out->len + need + TAIL_ROOM <= e->out->max ? buf_reserve(e->out, need) : NULL;
	if (!to) {
		e->dropped++;
		return;
	}
	memcpy(to, name, name_len);
	to += name_len;
	if (labels_len) {
		*to++ = '{';
		memcpy(to, labels, labels_len);
		to += labels_len;
		*to++ = '}';
	}
	*to++ = ' ';
	memcpy(to, value, value_len);
	to += value_len;
	*to++ = '\n';
	*to = 0;
	e->out->len = (size_t)(to - e->out->data);
}

void export_line(struct export *e, const char *name, const char *labels, uint64_t value)
{
	char text[NUMBER_MAX], *from = digits(text + sizeof(text), value);

	add_line(e, name, labels, from, (size_t)(text + sizeof(text) - from));
}

/* Seconds, with as many decimals as it has. */
void export_line_span(struct export *e, const char *name, const char *labels, usec_t span)
{
	uint64_t us = span > 0 ? (uint64_t)span : 0;
	char text[NUMBER_MAX + 8], *end = text + NUMBER_MAX, *from = digits(end, us / USEC_SEC);

	if (us % USEC_SEC) {
		char part[NUMBER_MAX];

		/* a one before it keeps the zeros */
		memcpy(end, digits(part + sizeof(part), us % USEC_SEC + USEC_SEC), 7);
		*end = '.';
		end += 7;
		while (end[-1] == '0')
			end--;
	}
	add_line(e, name, labels, from, (size_t)(end - from));
}

/* ---- the controller ---- */

void write_rpc_count(struct export *e, const struct metric_row *row)
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->stats->n_rpcs; i++) {
		buf_clear(&labels);
		export_label(&labels, "message_type", e->s->stats->rpcs[i].type);
		export_line(e, row->name, buf_text(&labels), e->s->stats->rpcs[i].count);
	}
}

void write_rpc_mean(struct export *e, const struct metric_row *row)
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->stats->n_rpcs; i++) {
		buf_clear(&labels);
		export_label(&labels, "message_type", e->s->stats->rpcs[i].type);
		export_line_span(e, row->name, buf_text(&labels), e->s->stats->rpcs[i].mean);
	}
}

void write_stat(struct export *e, const struct metric_row *row)
{
	const void *at = (const char *)e->s->stats + row->arg;

	export_line(e, row->name, "", *(const uint32_t *)at);
}

void write_stat_span(struct export *e, const struct metric_row *row)
{
	const void *at = (const char *)e->s->stats + row->arg;

	export_line_span(e, row->name, "", *(const usec_t *)at);
}

/* ---- jobs ---- */

/* The labels that all series of a job begin with. */
static void job_labels(struct export *e, uint32_t i, struct buf *labels)
{
	buf_clear(labels);
	buf_add_str(labels, e->jobs[i].group->labels);
	buf_add_str(labels, ",id=\"");
	add_number(labels, e->s->jobs[i].id);
	buf_add_char(labels, '"');
}

void write_job_state(struct export *e, const struct metric_row *row)
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->n_jobs; i++) {
		job_labels(e, i, &labels);
		buf_add_char(&labels, ',');
		export_label(&labels, "name", e->s->jobs[i].name);
		buf_add_str(&labels, ",state=\"");
		buf_add_str(&labels, job_words[e->jobs[i].word]);
		buf_add_char(&labels, '"');
		export_line(e, row->name, buf_text(&labels), export_tasks(&e->s->jobs[i]));
	}
}

/* One line for each node of each job that runs. */
static void write_on_nodes(struct export *e, const struct metric_row *row,
                           uint64_t (*value)(const struct export *e, const struct job *j, const struct job_on_node *on))
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->n_jobs; i++) {
		const struct job *j = &e->s->jobs[i];
		size_t common;

		if (!export_holds(j) || !j->n_on_nodes)
			continue;
		job_labels(e, i, &labels);
		buf_add_char(&labels, ',');
		common = labels.len;
		for (uint32_t k = 0; k < j->n_on_nodes; k++) {
			labels.len = common;
			export_label(&labels, "node", j->on_nodes[k].node);
			export_line(e, row->name, buf_text(&labels), value(e, j, &j->on_nodes[k]));
		}
	}
}

static uint64_t cpus(const struct export *e, const struct job *j, const struct job_on_node *on)
{
	(void)e;
	(void)j;
	return on->cpus;
}

static uint64_t gpus(const struct export *e, const struct job *j, const struct job_on_node *on)
{
	(void)e;
	(void)j;
	return on->gpus;
}

/* As of the snapshot, not of the scrape: all of it is of one moment. */
static uint64_t uptime(const struct export *e, const struct job *j, const struct job_on_node *on)
{
	(void)on;
	return j->started && e->s->jobs_at > j->started ? (uint64_t)((e->s->jobs_at - j->started) / USEC_SEC) : 0;
}

void write_job_cpus(struct export *e, const struct metric_row *row)
{
	write_on_nodes(e, row, cpus);
}

void write_job_gpus(struct export *e, const struct metric_row *row)
{
	write_on_nodes(e, row, gpus);
}

void write_job_uptime(struct export *e, const struct metric_row *row)
{
	write_on_nodes(e, row, uptime);
}

void write_groups(struct export *e, const struct metric_row *row)
{
	const struct group *g;
	size_t i = 0;

	while ((g = map_next(&e->groups, &i)))
		export_line(e, row->name, g->labels, g->tasks[row->arg]);
}

void write_queue(struct export *e, const struct metric_row *row)
{
	export_line(e, row->name, "", e->tasks[row->arg]);
}

void write_queue_dependency(struct export *e, const struct metric_row *row)
{
	export_line(e, row->name, "", e->waiting_for_others);
}

/* ---- nodes and partitions ---- */

struct node_line {
	struct export *e;
	const struct metric_row *row;
	struct buf *labels;
	const char *node, *word;
	bool any;
};

static void node_state_line(void *arg, const char *s, size_t len)
{
	struct node_line *l = arg;
	_cleanup_free_ char *partition = mem_strndup(s, len);

	buf_clear(l->labels);
	export_label(l->labels, "node", l->node);
	buf_add_char(l->labels, ',');
	export_label(l->labels, "partition", partition);
	buf_add_char(l->labels, ',');
	export_label(l->labels, "state", l->word);
	export_line(l->e, l->row->name, buf_text(l->labels), 1);
	l->any = true;
}

void write_node_state(struct export *e, const struct metric_row *row)
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->n_nodes; i++) {
		const struct snode *n = &e->s->nodes[i];
		struct node_line l = { e, row, &labels, n->name, snode_words[snode_word(n)], false };

		str_each(n->partitions, ',', node_state_line, &l);
		if (!l.any)
			node_state_line(&l, "", 0); /* in no partition, but there */
	}
}

void write_node(struct export *e, const struct metric_row *row)
{
	_cleanup_buf_ struct buf labels = BUF(LABELS_MAX);

	for (uint32_t i = 0; i < e->s->n_nodes; i++) {
		uint64_t q[QUANTITIES];

		export_quantities(&e->s->nodes[i], q);
		buf_clear(&labels);
		export_label(&labels, "node", e->s->nodes[i].name);
		export_line(e, row->name, buf_text(&labels), q[row->arg]);
	}
}

void write_partition(struct export *e, const struct metric_row *row)
{
	const struct sums *p;
	size_t i = 0;

	while ((p = map_next(&e->partitions, &i)))
		export_line(e, row->name, p->labels, p->q[row->arg]);
}

void write_nodes(struct export *e, const struct metric_row *row)
{
	uint64_t n = 0;

	for (size_t w = 0; w < SNODE_WORDS; w++)
		if (row->arg >> w & 1)
			n += e->nodes[w];
	export_line(e, row->name, "", n);
}

void write_nodes_total(struct export *e, const struct metric_row *row)
{
	export_line(e, row->name, "", e->s->n_nodes);
}

void write_nodes_silent(struct export *e, const struct metric_row *row)
{
	export_line(e, row->name, "", e->silent);
}

/* ---- about the snapshot itself ---- */

void write_ages(struct export *e, const struct metric_row *row)
{
	const struct {
		const char *labels;
		usec_t at;
	} parts[] = {
		{ "part=\"nodes\"", e->s->nodes_at },
		{ "part=\"jobs\"", e->s->jobs_at },
		{ "part=\"partitions\"", e->s->partitions_at },
		{ "part=\"stats\"", e->s->stats_at },
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].at)
			export_line_span(e, row->name, parts[i].labels, e->now - parts[i].at);
}

void write_dropped(struct export *e, const struct metric_row *row)
{
	uint64_t n = e->dropped;

	/* the room for it was kept */
	buf_add_str(e->out, row->name);
	buf_add_char(e->out, ' ');
	add_number(e->out, n);
	buf_add_char(e->out, '\n');
}
