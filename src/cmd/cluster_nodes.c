/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/cluster_nodes.h"

#include <errno.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "kube/kube.h"
#include "port/kinds.h"

#define LOOK_SPAN (10 * USEC_MSEC)

enum look { LOOK_NODES, LOOK_PODS, LOOK_CLAIMS, LOOK_VOLUMES, LOOK_CLASSES, LOOKS };
static const struct {
	enum kube_kind kind;
	const char *labels;
} looks[] = {
	[LOOK_NODES] = { KUBE_NODES, NULL },     [LOOK_PODS] = { KUBE_PODS, LABEL_NODESET },
	[LOOK_CLAIMS] = { KUBE_CLAIMS, NULL },   [LOOK_VOLUMES] = { KUBE_VOLUMES, NULL },
	[LOOK_CLASSES] = { KUBE_CLASSES, NULL },
};

struct cluster_nodes {
	struct loop *loop;
	struct loop_timer *timer;
	struct kube *kube;
	struct store *stores[LOOKS];
	const char *nodeset_ns; /* NULL = all */
	usec_t timeout, deadline;
	struct err err; /* of the last reading */
	bool tried_volumes, has_volumes;
	struct place *places;
	size_t n_places;
};

static bool all_read(const struct cluster_nodes *c)
{
	for (int i = 0; i < LOOKS; i++)
		if (c->stores[i] && !store_synced(c->stores[i]))
			return false;
	return true;
}

static const struct err *first_error(const struct cluster_nodes *c)
{
	const struct informer *informer;

	for (size_t i = 0; (informer = kube_port_informer(kube_port(c->kube), i)); i++)
		if (informer_error(informer))
			return informer_error(informer);
	return NULL;
}

static void look_again(void *arg)
{
	struct cluster_nodes *c = arg;
	const struct err *error = first_error(c);

	if (!all_read(c) && !error && loop_now(c->loop) < c->deadline) {
		loop_set_timer(c->timer, loop_now(c->loop) + LOOK_SPAN);
		return;
	}
	if (error)
		c->err = *error;
	else if (!all_read(c))
		err_set(&c->err, -ETIMEDOUT, "%s did not answer in time", kube_config(c->kube)->server);
	loop_stop(c->loop);
}

/* Reads these and waits until they are there. */
static int read_stores(struct cluster_nodes *c, enum look from, enum look to)
{
	struct kube_port *port = kube_port(c->kube);

	for (enum look i = from; i <= to; i++)
		c->stores[i] = port->ops->watch(port, looks[i].kind, i == LOOK_PODS ? c->nodeset_ns : NULL,
		                                looks[i].labels, NULL);
	c->err = (struct err) { 0 };
	c->deadline = loop_now(c->loop) + c->timeout;
	loop_set_timer(c->timer, loop_now(c->loop));
	loop_run(c->loop);
	return c->err.code;
}

static int by_slurm_name(const void *a, const void *b)
{
	return hostlist_compare(((const struct place *)a)->slurm_node, ((const struct place *)b)->slurm_node);
}

static bool runs_slurmd(const struct pod *pod)
{
	return !str_empty(pod->node_name) && pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED;
}

static void join(struct cluster_nodes *c)
{
	const struct pod *pod;
	size_t walk = 0;

	free(c->places);
	c->n_places = 0;
	c->places = mem_alloc_n(store_count(c->stores[LOOK_PODS]), sizeof(*c->places));
	while ((pod = store_next(c->stores[LOOK_PODS], &walk)))
		if (runs_slurmd(pod))
			c->places[c->n_places++] = (struct place) {
				.slurm_node = pod->meta.name,
				.node_name = pod->node_name,
				.node = store_get(c->stores[LOOK_NODES], NULL, pod->node_name),
			};
	if (c->n_places)
		qsort(c->places, c->n_places, sizeof(*c->places), by_slurm_name);
}

int cluster_nodes_open(const struct kube_config_options *config, const char *nodeset_ns, usec_t timeout,
                       struct cluster_nodes **ret, struct err *err)
{
	_cleanup_(cluster_nodes_freep) struct cluster_nodes *c = NEW(struct cluster_nodes);
	const struct kube_options o = { .config = *config,
		                        .controller = "sunk.coreweave.com/look",
		                        .instance = "look" };
	int r;

	c->loop = loop_new();
	c->timer = loop_add_timer(c->loop, look_again, c);
	c->nodeset_ns = str_empty(nodeset_ns) ? NULL : nodeset_ns;
	c->timeout = timeout;
	r = kube_open(c->loop, clock_real(), &o, &c->kube, err);
	if (r < 0)
		return r;
	r = read_stores(c, LOOK_NODES, LOOK_PODS);
	if (r < 0)
		return err_set(err, r, "%s", err_text(&c->err));
	join(c);
	*ret = TAKE_PTR(c);
	return 0;
}

void cluster_nodes_free(struct cluster_nodes *c)
{
	if (!c)
		return;
	free(c->places);
	kube_close(c->kube);
	loop_free(c->loop);
	free(c);
}

/* ---- one Pod ---- */

static void pod_volumes_done(struct pod_volumes *v)
{
	for (uint32_t i = 0; v->candidates && i < v->n; i++)
		candidates_done(&v->candidates[i]);
	free(v->candidates);
	free((void *)v->claims);
	free((void *)v->volumes);
	free((void *)v->classes);
}

static void find_candidates(const struct cluster_nodes *c, struct pod_volumes *v, uint32_t n)
{
	struct store_cursor cursor = { 0 };
	const struct pv *volume;

	if (!v->candidates)
		v->candidates = mem_alloc_n(v->n, sizeof(*v->candidates));
	while ((volume = store_find(c->stores[LOOK_VOLUMES], VOLUME_BY_CLASS, v->claims[n]->storage_class, &cursor)))
		candidates_add(&v->candidates[n], v->claims[n], volume);
	candidates_sort(&v->candidates[n]);
}

static void find_claims(const struct cluster_nodes *c, const struct pod *pod, struct pod_volumes *ret)
{
	uint32_t n = pod->n_volumes;

	*ret = (struct pod_volumes) { .claims = mem_alloc_n(n, sizeof(*ret->claims)),
		                      .volumes = mem_alloc_n(n, sizeof(*ret->volumes)),
		                      .classes = mem_alloc_n(n, sizeof(*ret->classes)),
		                      .n = n };
	for (uint32_t i = 0; i < n; i++) {
		char name[CLAIM_NAME_MAX];
		const struct pvc *claim = store_get(c->stores[LOOK_CLAIMS], pod->meta.ns, claim_name(pod, i, name));

		ret->claims[i] = claim;
		if (claim && !str_empty(claim->volume))
			ret->volumes[i] = store_get(c->stores[LOOK_VOLUMES], NULL, claim->volume);
		if (claim && !str_empty(claim->storage_class))
			ret->classes[i] = store_get(c->stores[LOOK_CLASSES], NULL, claim->storage_class);
		if (claim && claim_may_take(claim, ret->classes[i]))
			find_candidates(c, ret, i);
	}
}

/* What the scheduler waits for before a node is chosen. Claims that are made for the Pod itself come with it. */
static char *find_wait(const struct pod *pod, const struct pod_volumes *v)
{
	for (uint32_t i = 0; i < pod->n_volumes; i++) {
		const struct pod_volumes its = {
			.claims = v->claims + i, .volumes = v->volumes + i, .classes = v->classes + i, .n = 1
		};
		struct pod one = *pod;
		char why[FIT_WHY_MAX];
		uint32_t n;

		one.volumes += i;
		one.n_volumes = 1;
		if (!one.volumes->ephemeral && volumes_before_bind(&one, &its, NULL, &n, why) == VOLUMES_WAIT)
			return mem_strdup(why);
	}
	return NULL;
}

/* Whether claims can be looked at; reads them when nobody has yet. */
static bool see_volumes(struct cluster_nodes *c)
{
	if (!c->tried_volumes) {
		c->tried_volumes = true;
		c->has_volumes = read_stores(c, LOOK_CLAIMS, LOOK_CLASSES) == 0;
		join(c); /* Nodes and Pods may have changed meanwhile */
	}
	return c->has_volumes;
}

void cluster_nodes_look(struct cluster_nodes *c, const struct pod *pod, const struct rules *rules,
                        struct cluster_fit *ret)
{
	_cleanup_(pod_volumes_done) struct pod_volumes volumes = { 0 };
	const struct pod_volumes *seen = NULL;
	struct cluster_fit f = { 0 };

	if (pod->n_volumes && see_volumes(c)) {
		find_claims(c, pod, &volumes);
		seen = &volumes;
		f.waits = find_wait(pod, seen);
	} else if (pod->n_volumes)
		f.blind = mem_strdup(err_text(&c->err));
	f.places = c->places;
	f.n = c->n_places;
	f.why = mem_alloc_n(f.n, sizeof(*f.why));
	feasible_make(pod, c->places, c->n_places, seen, rules, &f.feasible);
	for (size_t i = 0; i < f.n; i++) {
		char why[FIT_WHY_MAX];

		if (fits_ever(pod, &c->places[i], seen, rules, why) != FIT_OK)
			f.why[i] = mem_strdup(why);
	}
	*ret = f;
}

void cluster_fit_done(struct cluster_fit *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->why[i]);
	free(f->why);
	free(f->waits);
	free(f->blind);
	feasible_done(&f->feasible);
	*f = (struct cluster_fit) { 0 };
}
