/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk explain pod: gathers what both sides say of one Pod. Whatever cannot be had is left out; only without the Pod itself
 * there is nothing to say.
 */
#include "policy/explain_pod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/explain.h"
#include "policy/podjob.h"
#include "policy/validate.h"

#define EVENTS_MAX 1000
#define PATH_MAX_LEN 1024

struct gathered {
	struct pod *pod;
	struct knode *knode;
	struct slurm_result jobs, snode, record;
	struct job *ours; /* those of the Pod */
	yyjson_doc *event_doc;
	struct pod_event *events;
	struct problems problems;
	char leader[256];
	struct err slurm_err, node_err;
	struct pod_facts f;
};

static void gathered_done(struct gathered *g)
{
	free(g->pod);
	free(g->knode);
	free(g->jobs.block);
	free(g->snode.block);
	free(g->record.block);
	free(g->ours);
	free(g->events);
	yyjson_doc_free(g->event_doc);
	problems_done(&g->problems);
}

/* Kubernetes */

static usec_t time_of(yyjson_val *v)
{
	usec_t t = 0;

	if (yyjson_is_str(v) && time_parse_rfc3339(yyjson_get_str(v), yyjson_get_len(v), &t) < 0)
		t = 0;
	return t;
}

static int older(const void *a, const void *b)
{
	const struct pod_event *x = a, *y = b;

	return x->last < y->last ? -1 : x->last > y->last;
}

/* An Event of either API: the newer says when in a series, or as eventTime. */
static struct pod_event event_of(yyjson_val *v)
{
	yyjson_val *series = json_get(v, "series");
	struct pod_event e = { .type = json_str(json_get(v, "type")),
		               .reason = json_str(json_get(v, "reason")),
		               .message = json_str(json_get(v, "message")),
		               .last = time_of(json_get(series, "lastObservedTime")),
		               .count = json_int(json_get(series, "count"), json_int(json_get(v, "count"), 1)) };

	if (!e.last)
		e.last = time_of(json_get(v, "lastTimestamp"));
	if (!e.last)
		e.last = time_of(json_get(v, "eventTime"));
	return e;
}

static void get_events(struct explain_world *w, struct gathered *g)
{
	char path[PATH_MAX_LEN];
	struct kube_request request = { 0 };
	struct err err = { 0 };
	yyjson_val *items, *v;
	yyjson_arr_iter i;

	/* Namespace and uid are Kubernetes' own words by now. */
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events?limit=%d&fieldSelector=involvedObject.uid%%3D%s",
	         g->pod->meta.ns, EVENTS_MAX, g->pod->meta.uid);
	kube_request_plain(&request, path);
	if (explain_get(w, &request, &g->event_doc, &err) == 0) {
		items = json_get(yyjson_doc_get_root(g->event_doc), "items");
		g->events = mem_alloc_n(yyjson_arr_size(items), sizeof(*g->events));
		yyjson_arr_iter_init(items, &i);
		while ((v = yyjson_arr_iter_next(&i)))
			g->events[g->f.n_events++] = event_of(v);
		qsort(g->events, g->f.n_events, sizeof(*g->events), older);
		g->f.events = g->events;
	}
	kube_request_done(&request);
}

static void get_node(struct explain_world *w, struct gathered *g)
{
	const struct kube_ref ref = { .kind = KUBE_NODES, .name = g->pod->node_name };

	if (str_empty(ref.name))
		return;
	if (explain_object(w, &ref, (void **)&g->knode, &g->node_err) < 0)
		g->f.knode_error = g->node_err.text;
	g->f.knode = g->knode;
}

/* Who leads the scheduler that the Pod asks for: its Lease may be in any namespace. */
static void get_leader(struct explain_world *w, struct gathered *g)
{
	_cleanup_request_ struct kube_request request = { 0 };
	_cleanup_free_ char *selector =
	        str_printf("metadata.name=sunk-scheduler-%.200s", str_or(g->pod->scheduler_name, ""));
	const struct kube_ref leases = { .kind = KUBE_LEASES };
	const struct kube_query query = { .field_selector = selector, .limit = 2 };
	struct err err = { 0 };
	yyjson_doc *doc;
	yyjson_val *items;

	if (kube_request_list(&request, &leases, &query, &err) < 0 || explain_get(w, &request, &doc, &err) < 0)
		return;
	items = json_get(yyjson_doc_get_root(doc), "items");
	if (yyjson_arr_size(items) == 1) {
		str_copy(g->leader, sizeof(g->leader),
		         json_str(json_get(json_get(yyjson_arr_get_first(items), "spec"), "holderIdentity")));
		g->f.leader = g->leader;
	}
	yyjson_doc_free(doc);
}

/* Slurm */

static bool is_of_pod(const struct gathered *g, const struct job *j)
{
	struct extra_id id;

	if (!extra_parse(j->extra, &id))
		return false;
	if (g->pod)
		return str_eq(id.uid, g->pod->meta.uid);
	return str_eq(id.ns, g->f.ns) && str_eq(id.name, g->f.name);
}

static int by_id(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* All jobs are looked at: what the annotation says may be old, or anyone's. */
static void get_jobs(struct explain_world *w, struct gathered *g)
{
	uint32_t n = 0;

	if (explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_JOBS }, &g->jobs, &g->slurm_err) < 0) {
		g->f.slurm_error = g->slurm_err.text;
		return;
	}
	g->ours = mem_alloc_n(g->jobs.n, sizeof(*g->ours));
	for (uint32_t i = 0; i < g->jobs.n; i++)
		if (is_of_pod(g, &g->jobs.jobs[i]))
			g->ours[n++] = g->jobs.jobs[i];
	qsort(g->ours, n, sizeof(*g->ours), by_id);
	g->f.jobs = g->ours;
	g->f.n_jobs = n;
}

/* Who cancelled the last one, where accounting keeps that. */
static void get_canceller(struct explain_world *w, struct gathered *g)
{
	struct job *last = g->f.n_jobs ? &g->ours[g->f.n_jobs - 1] : NULL;
	struct slurm_result conf = { 0 };
	struct err err = { 0 };
	bool accounting;

	if (!last || last->state != JOB_CANCELLED ||
	    explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_CONF }, &conf, &err) < 0)
		return;
	accounting = conf.conf->accounting;
	free(conf.block);
	if (accounting &&
	    explain_ask(
	            w,
	            &(struct slurm_request) { .verb = SLURM_LOAD_RECORD, .job_id = last->id, .since = last->submitted },
	            &g->record, &err) == 0 &&
	    g->record.n)
		last->user_cancelled_by = g->record.jobs[0].user_cancelled_by;
}

static void get_slurm_node(struct explain_world *w, struct gathered *g)
{
	const struct job *j = explain_job_of(&g->f);
	struct err err = { 0 };

	if (!j || str_empty(j->batch_host))
		return;
	if (explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_NODE, .node = j->batch_host }, &g->snode,
	                &err) == 0 &&
	    g->snode.n)
		g->f.snode = &g->snode.nodes[0];
}

/* As the scheduler would: with the controller's KillWait unless one was given. */
static void get_problems(struct explain_world *w, struct gathered *g)
{
	struct slurm_result conf = { 0 };
	struct wishes wishes;
	struct err err = { 0 };

	if (!w->kill_wait_given && !g->f.slurm_error &&
	    explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_CONF }, &conf, &err) == 0)
		w->rules.kill_wait = (usec_t)conf.conf->kill_wait_s * USEC_SEC;
	free(conf.block);
	validate_pod(g->pod, &w->rules, &wishes, &g->problems);
	g->f.problems = &g->problems;
}

int explain_pod_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err)
{
	_cleanup_(gathered_done) struct gathered g = { .problems = PROBLEMS_INIT };
	const char *slash = strchr(what, '/');
	_cleanup_free_ char *ns = slash ? mem_strndup(what, (size_t)(slash - what)) : mem_strdup(w->ns);
	const struct kube_ref ref = { .kind = KUBE_PODS, .ns = ns, .name = slash ? slash + 1 : what };
	int r = explain_object(w, &ref, (void **)&g.pod, err);

	if (r < 0 && r != -ENOENT)
		return r;
	g.f = (struct pod_facts) {
		.ns = ns, .name = ref.name, .pod = g.pod, .rules = &w->rules, .now = clock_wall(clock_real())
	};
	get_jobs(w, &g);
	get_canceller(w, &g);
	get_slurm_node(w, &g);
	if (g.pod) {
		get_events(w, &g);
		get_node(w, &g);
		get_leader(w, &g);
		get_problems(w, &g);
	}
	explain_pod(&g.f, ret);
	return 0;
}
