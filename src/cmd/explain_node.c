/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk explain node: gathers what both sides say of one node. Each side, and each thing of it, may be missing; what cannot be had is
 * told as such.
 */
#include "policy/explain_node.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "cmd/explain.h"
#include "policy/rules.h"
#include "syncer/extra.h"

#define USER_MAX 64

struct node_gathered {
	struct slurm_result snode, all_jobs;
	struct job *jobs;
	struct explain_pods found, pods; /* NodeSet Pods of that name; Pods on the Node */
	struct knode *knode;
	struct err slurm_err, kube_err, knode_err;
	char user[USER_MAX];
	struct node_facts f;
};

void node_gathered_free(struct node_gathered *g)
{
	if (!g)
		return;
	free(g->snode.block);
	free(g->all_jobs.block);
	free(g->jobs);
	explain_pods_done(&g->found);
	explain_pods_done(&g->pods);
	free(g->knode);
	free(g);
}

const struct node_facts *node_gathered_facts(const struct node_gathered *g)
{
	return &g->f;
}

/* ---- Kubernetes ---- */

/* Of several Pods with the label (two namespaces, or one that ends while the next begins) the one that runs. */
static const struct pod *best_pod(const struct explain_pods *found)
{
	const struct pod *best = NULL;

	for (uint32_t i = 0; i < found->n; i++) {
		const struct pod *p = found->pods[i];

		if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
			continue;
		if (!best || (str_empty(best->node_name) && !str_empty(p->node_name)) || best->meta.deletion)
			best = p;
	}
	return best;
}

static int find_pod(struct explain_world *w, struct node_gathered *g, const char *field, const char *name)
{
	_cleanup_free_ char *selector = str_printf("%s=%s", field, name);
	int r;

	explain_pods_done(&g->found);
	r = explain_pods(w, w->nodeset_ns, LABEL_NODESET, selector, &g->found, &g->kube_err);
	if (r == 0)
		g->f.pod = best_pod(&g->found);
	else
		g->f.kube_error = err_text(&g->kube_err);
	return r;
}

static void get_knode(struct explain_world *w, struct node_gathered *g, const char *name)
{
	const struct kube_ref ref = { .kind = KUBE_NODES, .name = name };
	int r = explain_object(w, &ref, (void **)&g->knode, &g->knode_err);

	g->f.knode = g->knode;
	g->f.knode_error = r == 0 || (r == -ENOENT && !g->f.pod) ? NULL : err_text(&g->knode_err);
}

static void get_pods_there(struct explain_world *w, struct node_gathered *g, const char *node)
{
	_cleanup_free_ char *selector = str_printf("spec.nodeName=%s", node);
	struct err err = { 0 };

	if (explain_pods(w, NULL, NULL, selector, &g->pods, &err) == 0) {
		g->f.pods = g->pods.pods;
		g->f.n_pods = g->pods.n;
	}
}

/* By Slurm's name the Pod has it; by Kubernetes' the Node does. */
static void get_kube(struct explain_world *w, struct node_gathered *g, const char *name)
{
	const char *node;

	if (find_pod(w, g, "metadata.name", name) < 0)
		return;
	if (!g->f.pod && find_pod(w, g, "spec.nodeName", name) < 0)
		return;
	node = g->f.pod ? g->f.pod->node_name : name;
	if (str_empty(node))
		return;
	get_knode(w, g, node);
	if (g->f.pod || g->f.knode)
		get_pods_there(w, g, node);
}

/* ---- Slurm ---- */

static bool is_there(const struct job *j, const char *node)
{
	_cleanup_hostlist_ struct hostlist nodes = HOSTLIST_INIT;
	bool holds = j->state == JOB_RUNNING || j->state == JOB_SUSPENDED || j->flags & JOBF_COMPLETING;

	return holds && hostlist_parse(&nodes, j->nodes, NULL) == 0 && hostlist_has(&nodes, node);
}

static void find_jobs(struct node_gathered *g, const struct slurm_result *all)
{
	g->jobs = mem_alloc_n(all->n, sizeof(*g->jobs));
	for (uint32_t i = 0; i < all->n; i++)
		if (is_there(&all->jobs[i], g->f.snode->name))
			g->jobs[g->f.n_jobs++] = all->jobs[i];
	g->f.jobs = g->jobs;
}

static void name_user(struct node_gathered *g, uint32_t uid)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		str_copy(g->user, sizeof(g->user), pw->pw_name);
	else
		snprintf(g->user, sizeof(g->user), "uid %u", uid);
	g->f.reason_user = g->user;
}

static void get_slurm(struct explain_world *w, struct node_gathered *g, const char *name,
                      const struct slurm_result *jobs)
{
	struct extra_memory memory;
	struct err err = { 0 };
	int r = explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_NODE, .node = name }, &g->snode,
	                    &g->slurm_err);

	if (r < 0 && r != -ENOENT)
		g->f.slurm_error = err_text(&g->slurm_err);
	if (r < 0 || !g->snode.n)
		return;
	g->f.snode = &g->snode.nodes[0];
	g->f.had_pod = extra_recall(g->f.snode->extra, &memory);
	if (!str_empty(g->f.snode->reason))
		name_user(g, g->f.snode->reason_uid);
	if (jobs)
		find_jobs(g, jobs);
	else if (explain_ask(w, &(struct slurm_request) { .verb = SLURM_LOAD_JOBS }, &g->all_jobs, &err) == 0)
		find_jobs(g, &g->all_jobs);
}

struct node_gathered *node_gather(struct explain_world *w, const char *name, const struct slurm_result *jobs)
{
	struct node_gathered *g = NEW(struct node_gathered);

	g->f = (struct node_facts) { .name = name, .now = clock_wall(clock_real()) };
	get_kube(w, g, name);
	get_slurm(w, g, g->f.pod ? g->f.pod->meta.name : name, jobs);
	return g;
}

int explain_node_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err)
{
	_cleanup_(node_gathered_freep) struct node_gathered *g = NULL;
	_cleanup_hostlist_ struct hostlist one = HOSTLIST_INIT;
	int r = hostlist_parse(&one, what, err);

	if (r == 0 && (one.n != 1 || !str_eq(one.names[0], what)))
		r = err_set(err, -EINVAL, "'%.60s' is not the name of one node", what);
	if (r < 0)
		return r;
	g = node_gather(w, what, NULL);
	explain_node(&g->f, ret);
	return 0;
}
