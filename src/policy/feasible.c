/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Goes over all nodes for many Pods: what is asked of each node makes no memory and no text. Only what is shown in the
 * end is put into words.
 */
#include "policy/feasible.h"

#include <stdio.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "policy/misfit.h"

#define DETAILS_MAX 8     /* different details of one kind of misfit that are told apart; more are only counted */
#define DETAILS_SHOWN 3   /* of them in a summary, the most frequent first */
#define SUMMARY_MAX 2048  /* more than the words of all kinds and details take */

/* ---- one place ---- */

enum misfit fits_ever(const struct pod *pod, const struct place *place, const struct pod_volumes *volumes,
                      const struct rules *rules, char why[FIT_WHY_MAX])
{
	_cleanup_misfit_query_ struct misfit_query q = { 0 };
	struct misfit_detail d;
	enum misfit m;

	(void)rules;
	misfit_query_init(&q, pod, volumes);
	m = misfit_ever(&q, place, &d);
	if (m != FIT_OK)
		misfit_why(&q, m, &d, place, why);
	return m;
}

static const struct host_port *port_taken(const struct pod *pod, const struct pod *const *on_node, size_t n_on_node,
                                          const struct pod **ret_by)
{
	for (size_t i = 0; i < n_on_node; i++) {
		const struct host_port *p = pod_counts(on_node[i], pod) ? ports_clash(pod, on_node[i]) : NULL;

		if (!p)
			continue;
		*ret_by = on_node[i];
		return p;
	}
	return NULL;
}

enum misfit fits_now(const struct pod *pod, const struct place *place, const struct pod_volumes *volumes,
                     const struct pod *const *on_node, size_t n_on_node, const struct rules *rules,
                     char why[FIT_WHY_MAX])
{
	_cleanup_misfit_query_ struct misfit_query q = { 0 };
	const struct pod *by = NULL;
	const struct host_port *port;
	struct misfit_detail d;
	enum misfit m;

	(void)rules;
	misfit_query_init(&q, pod, volumes);
	m = misfit_ever(&q, place, &d);
	if (m == FIT_OK && !room_now(pod, &q.asks, place->node, on_node, n_on_node, &d.shortage)) {
		m = MISFIT_RESOURCES;
	} else if (m == FIT_OK && (port = port_taken(pod, on_node, n_on_node, &by))) {
		m = MISFIT_PORTS;
		d.port.port = port;
		d.port.by = by;
	} else if (m == FIT_OK && !room_for_pod(pod, place->node, on_node, n_on_node, &d.shortage)) {
		m = MISFIT_PODS;
	}
	if (m != FIT_OK)
		misfit_why(&q, m, &d, place, why);
	return m;
}

/* ---- the summary ---- */

struct tally {
	struct {
		struct misfit_detail detail;
		size_t n;
	} list[DETAILS_MAX];
	size_t n, others;
};

static void tally_add(struct tally *t, enum misfit m, const struct misfit_detail *d)
{
	for (size_t i = 0; i < t->n; i++) {
		struct misfit_detail *was = &t->list[i].detail;

		if (!misfit_same(m, was, d))
			continue;
		t->list[i].n++;
		if (m == MISFIT_CAPACITY && d->shortage.has > was->shortage.has)
			*was = *d; /* the largest Node says best how much is too much */
		return;
	}
	if (t->n == DETAILS_MAX) {
		t->others++;
		return;
	}
	t->list[t->n].detail = *d;
	t->list[t->n++].n = 1;
}

static size_t tally_take_most(struct tally *t, size_t *ret_n)
{
	size_t best = 0;

	for (size_t i = 1; i < t->n; i++)
		if (t->list[i].n > t->list[best].n)
			best = i;
	*ret_n = t->list[best].n;
	t->list[best].n = 0;
	return best;
}

static const struct {
	const char *one, *many; /* after the number of nodes */
} words[MISFITS] = {
	[MISFIT_NOT_REQUIRED] = { "is not among the required nodes", "are not among the required nodes" },
	[MISFIT_NO_NODE] = { "has no Kubernetes Node", "have no Kubernetes Node" },
	[MISFIT_SELECTOR] = { "does not match the node selector", "do not match the node selector" },
	[MISFIT_VOLUME] = { "cannot reach a volume", "cannot reach a volume" },
	[MISFIT_CAPACITY] = { "is too small", "are too small" },
	[MISFIT_TAINT] = { "has an untolerated taint", "have an untolerated taint" },
	[MISFIT_UNSCHEDULABLE] = { "is cordoned", "are cordoned" },
};

static void add_details(struct buf *out, const struct misfit_query *q, enum misfit m, struct tally *t)
{
	char text[MISFIT_BRIEF_MAX];
	size_t n, shown = 0;

	for (; shown < t->n && shown < DETAILS_SHOWN; shown++) {
		misfit_brief(q, m, &t->list[tally_take_most(t, &n)].detail, text);
		if (!*text)
			return;
		buf_printf(out, "%s%s", shown ? ", " : " (", text);
		if (t->n > 1)
			buf_printf(out, " on %zu", n);
	}
	if (shown)
		buf_add_str(out, t->n > shown || t->others ? ", …)" : ")");
}

static char *summarize(const struct misfit_query *q, const struct feasible *f, struct tally tallies[MISFITS])
{
	_cleanup_buf_ struct buf out = BUF(SUMMARY_MAX);
	const char *separator = ": ";

	if (f->n_places == 0)
		return mem_strdup("there are no nodes");
	if (f->n_fit == f->n_places)
		return str_printf("all %zu nodes are feasible", f->n_places);
	if (f->n_fit == 0)
		buf_printf(&out, "none of %zu nodes is feasible", f->n_places);
	else
		buf_printf(&out, "%zu of %zu nodes %s feasible", f->n_fit, f->n_places, f->n_fit == 1 ? "is" : "are");
	for (int m = FIT_OK + 1; m < MISFITS; m++) {
		if (f->by[m] == 0)
			continue;
		buf_printf(&out, "%s%zu %s", separator, f->by[m], f->by[m] == 1 ? words[m].one : words[m].many);
		add_details(&out, q, (enum misfit)m, &tallies[m]);
		separator = ", ";
	}
	return buf_take(&out);
}

/* ---- all places ---- */

static int by_name(const void *a, const void *b)
{
	return hostlist_compare(*(char *const *)a, *(char *const *)b);
}

/* The names are borrowed: a hostlist that is only read. */
static char *exclude_list(char **names, size_t n)
{
	struct hostlist h = { .names = names };
	struct buf out = BUF(n * (HOSTLIST_NAME_MAX + 2));
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = hostlist_compare(names[i - 1], names[i]) < 0;
	if (!sorted)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++)
		if (h.n == 0 || !str_eq(names[h.n - 1], names[i]))
			names[h.n++] = names[i];
	if (h.n == 0)
		return NULL;
	hostlist_format(&h, &out);
	return buf_take(&out);
}

void feasible_make(const struct pod *pod, const struct place *places, size_t n, const struct pod_volumes *volumes,
                   const struct rules *rules, struct feasible *ret)
{
	_cleanup_misfit_query_ struct misfit_query q = { 0 };
	_cleanup_free_ char **names = mem_alloc_n(n, sizeof(*names));
	struct tally tallies[MISFITS] = { 0 };
	struct feasible f = { .n_places = n };
	size_t n_names = 0;

	(void)rules;
	misfit_query_init(&q, pod, volumes);
	for (size_t i = 0; i < n; i++) {
		struct misfit_detail d = { 0 };
		enum misfit m = misfit_ever(&q, &places[i], &d);

		f.by[m]++;
		if (m == FIT_OK)
			continue;
		names[n_names++] = (char *)places[i].slurm_node;
		tally_add(&tallies[m], m, &d);
	}
	f.n_fit = f.by[FIT_OK];
	f.summary = summarize(&q, &f, tallies);
	f.excluded = exclude_list(names, n_names);
	*ret = f;
}

void feasible_done(struct feasible *f)
{
	free(f->excluded);
	free(f->summary);
	*f = (struct feasible) { 0 };
}
