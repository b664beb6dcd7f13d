/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Claims that wait for their first consumer, and volumes: disks of nodes that are there (class "disk"), and others that somebody makes once a
 * claim has the name of a node (class "made"). What binds the two is modelled as kube-controller-manager does it, and a provisioner that sometimes
 * cannot. Who gives a volume to a claim is the scheduler; here is what must hold of that.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/volume.h"

#define UNSEEN_MAX                                                                                                     \
	(90 * USEC_SEC) /* who deletes a claim just before it is used may find it used: so it is with any scheduler */
#define OTHERS "others" /* a namespace that others look after */
#define LABEL_HOST "kubernetes.io/hostname"
#define UNIT (INT64_C(1) << 30)
#define DISKS_PER_NODE 2
#define MADE (DISKS_PER_NODE * SIM_NODES_MAX) /* from here on: one for each claim */

static const char *const modes[] = { "ReadWriteOnce" };

/* ---- the truth ---- */

static const struct pvc *claim_at(const struct world *w, unsigned i)
{
	return w->api.claims[i] ? w->api.claims[i]->object : NULL;
}

static const struct pv *volume_at(const struct world *w, unsigned i)
{
	return w->api.volumes[i] ? w->api.volumes[i]->object : NULL;
}

struct version *storage_get(const struct world *w, enum kube_kind kind, size_t n)
{
	if (kind == KUBE_CLAIMS)
		return n < SIM_CLAIMS ? w->api.claims[n] : NULL;
	if (kind == KUBE_VOLUMES)
		return n < SIM_VOLUMES ? w->api.volumes[n] : NULL;
	return n < ARRAY_LEN(w->api.classes) ? w->api.classes[n] : NULL;
}

static int claim_named(const struct world *w, const char *ns, const char *name)
{
	for (unsigned i = 0; i < SIM_CLAIMS; i++)
		if (claim_at(w, i) && str_eq(claim_at(w, i)->meta.name, name) && str_eq(SIM_NS, ns))
			return (int)i;
	return -1;
}

static int volume_named(const struct world *w, const char *name)
{
	for (unsigned i = 0; i < SIM_VOLUMES; i++)
		if (volume_at(w, i) && str_eq(volume_at(w, i)->meta.name, name))
			return (int)i;
	return -1;
}

static void write_slot(struct world *w, struct version **slot, enum kube_kind kind, const struct meta *object)
{
	struct version *was = *slot;

	*slot = object ? versioned(w, kind, object, false) : NULL;
	if (*slot) {
		notify(w, *slot);
	} else {
		struct version *gone = versioned(w, kind, was->object, true);

		notify(w, gone);
		version_unref(gone);
	}
	version_unref(was);
}

static void claim_write(struct world *w, unsigned i, const struct pvc *c)
{
	write_slot(w, &w->api.claims[i], KUBE_CLAIMS, c ? &c->meta : NULL);
}

static void volume_write(struct world *w, unsigned i, const struct pv *v)
{
	write_slot(w, &w->api.volumes[i], KUBE_VOLUMES, v ? &v->meta : NULL);
}

/* One that only the Node of this number reaches. */
static void volume_make(struct world *w, unsigned slot, const char *name, const char *class, unsigned node,
                        int64_t size, const struct pvc *claim)
{
	char host[16], uid[24];
	const char *values[] = { host };
	struct requirement in_ = { .key = LABEL_HOST, .op = SEL_IN, .values = values, .n_values = 1 };
	struct selector_term term = { .labels = &in_, .n_labels = 1 };
	struct pv v = { .required_nodes = &term,
		        .n_required_nodes = 1,
		        .has_required = true,
		        .storage_class = class,
		        .access_modes = (const char **)modes,
		        .n_access_modes = 1,
		        .capacity = size,
		        .phase = PV_AVAILABLE };

	snprintf(host, sizeof(host), "k%u", node);
	snprintf(uid, sizeof(uid), "v%llu", (unsigned long long)++w->api.uids);
	v.meta.name = name;
	v.meta.uid = uid;
	if (claim) {
		v.claim_ns = claim->meta.ns;
		v.claim_name = claim->meta.name;
		v.claim_uid = claim->meta.uid;
	}
	volume_write(w, slot, &v);
}

/* ---- who binds ---- */

static void controller_looks(struct world *w, struct ev *e);

static void look_soon(struct world *w)
{
	in(w,
	   fault_hits(w, FAULT_KUBE_SLOW, 200) ? span(w, USEC_SEC, 20 * USEC_SEC) : span(w, 10 * USEC_MSEC, USEC_SEC),
	   controller_looks, 0, 0, NULL);
}

static void let_go(struct world *w, unsigned i)
{
	struct pv v = *volume_at(w, i);

	say(w, "volume %s is free again", v.meta.name);
	if (i >= MADE) {
		volume_write(w, i, NULL);
		return;
	}
	v.claim_ns = v.claim_name = v.claim_uid = NULL;
	v.phase = PV_AVAILABLE;
	v.meta.n_annotations = 0;
	volume_write(w, i, &v);
}

static void bind_volume(struct world *w, unsigned i, unsigned claim)
{
	struct pv v = *volume_at(w, i);
	struct pvc c = *claim_at(w, claim);

	say(w, "claim %s is bound to volume %s", c.meta.name, v.meta.name);
	v.phase = PV_BOUND;
	volume_write(w, i, &v);
	c.volume = volume_at(w, i)->meta.name;
	c.phase = PVC_BOUND;
	claim_write(w, claim, &c);
}

static void look_at_volume(struct world *w, unsigned i)
{
	const struct pv *v = volume_at(w, i);
	int n = v && v->claim_uid ? claim_named(w, v->claim_ns, v->claim_name) : -1;
	const struct pvc *c = n >= 0 ? claim_at(w, (unsigned)n) : NULL;

	if (!v || !v->claim_uid || str_eq(v->claim_ns, OTHERS))
		return;
	if (!c || !str_eq(c->meta.uid, v->claim_uid) || (c->volume && !str_eq(c->volume, v->meta.name)))
		let_go(w, i);
	else if (!c->volume)
		bind_volume(w, i, (unsigned)n);
}

static const char *selected(const struct pvc *c)
{
	return pair_get(c->meta.annotations, c->meta.n_annotations, ANNOTATION_SELECTED_NODE);
}

/* The provisioner of class "made": makes it there, or gives the claim back to whoever chooses. */
static void look_at_claim(struct world *w, unsigned i)
{
	const struct pvc *c = claim_at(w, i);
	int node = c && !c->volume && selected(c) ? kube_node_number(w, selected(c)) : -1;
	char name[32];

	if (node < 0 || !str_eq(c->storage_class, "made") || volume_at(w, MADE + i))
		return;
	if (fault_hits(w, FAULT_VOLUMES, 300)) {
		struct pvc back = *c;

		say(w, "the volume of claim %s cannot be made on k%d", c->meta.name, node);
		back.meta.n_annotations = 0;
		claim_write(w, i, &back);
		return;
	}
	snprintf(name, sizeof(name), "pvc-%s", c->meta.uid);
	volume_make(w, MADE + i, name, "made", (unsigned)node, c->request, c);
	look_soon(w);
}

static void controller_looks(struct world *w, struct ev *e)
{
	(void)e;
	for (unsigned i = 0; i < SIM_VOLUMES; i++)
		look_at_volume(w, i);
	for (unsigned i = 0; i < SIM_CLAIMS; i++)
		look_at_claim(w, i);
}

/* ---- people ---- */

static bool claim_is_used(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct pod *p = w->api.pods[i]->pod;

		for (uint32_t k = 0; k < p->n_volumes; k++)
			if (str_eq(p->volumes[k].claim, name))
				return true;
	}
	return false;
}

/* Another scheduler gives a disk to a claim that it looks after, or that one is deleted. */
static void others_take(struct world *w)
{
	unsigned i = (unsigned)below(w, DISKS_PER_NODE * w->n_nodes);
	struct pv v = *volume_at(w, i);

	if (str_eq(v.claim_ns, OTHERS)) {
		let_go(w, i);
		return;
	}
	if (v.claim_name)
		return;
	say(w, "volume %s is given to a claim of others", v.meta.name);
	v.claim_ns = OTHERS;
	v.claim_name = "data";
	v.claim_uid = OTHERS;
	v.phase = PV_BOUND;
	volume_write(w, i, &v);
}

/* Makes one that is not there; deletes one that nobody uses (who does keeps it, by a finalizer). */
void claim_changes(struct world *w)
{
	unsigned i = (unsigned)below(w, SIM_CLAIMS);
	char name[16], uid[24];
	struct pvc c = { .storage_class = chance(w, 500) ? "disk" : "made",
		         .access_modes = (const char **)modes,
		         .n_access_modes = 1,
		         .request = (1 + (int64_t)below(w, 2)) * UNIT,
		         .phase = PVC_PENDING };

	snprintf(name, sizeof(name), "c%u", i);
	snprintf(uid, sizeof(uid), "c%llu", (unsigned long long)++w->api.uids);
	c.meta.ns = SIM_NS;
	c.meta.name = name;
	c.meta.uid = uid;
	if (chance(w, 200)) {
		others_take(w);
	} else if (!claim_at(w, i)) {
		w->api.claim_since[i] = w->now;
		say(w, "user makes claim %s of class %s", name, c.storage_class);
		claim_write(w, i, &c);
	} else if (chance(w, 300) && !claim_is_used(w, name)) {
		say(w, "user deletes claim %s", name);
		w->api.claim_since[i] = w->now;
		claim_write(w, i, NULL);
		look_soon(w);
	}
}

/* A new Pod's claims, with the names in `names`. */
uint32_t claims_of_new_pod(struct world *w, struct volume_claim claims[2], char names[2][16])
{
	uint32_t n = fault_hits(w, FAULT_VOLUMES, 400) ? 1 + (uint32_t)below(w, 2) : 0;
	unsigned first = (unsigned)below(w, SIM_CLAIMS);

	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], 16, "c%u", (first + i) % SIM_CLAIMS);
		claims[i] = (struct volume_claim) { .volume = i ? "more" : "data", .claim = names[i] };
	}
	return n;
}

/* ---- requests of the scheduler ---- */

static enum kube_outcome claim_change(struct world *w, unsigned i, const char *node)
{
	struct pvc c = *claim_at(w, i);
	struct pair note = { ANNOTATION_SELECTED_NODE, node };

	c.meta.annotations = &note;
	c.meta.n_annotations = 1;
	claim_write(w, i, &c);
	return KUBE_OK;
}

/* A volume is given to one claim, and a claim gets one volume, that it can be reached by. */
static void check_given(struct world *w, unsigned i, const struct meta *claim)
{
	const struct pv *v = volume_at(w, i);
	int n = claim_named(w, claim->ns, claim->name);
	const struct pvc *c = n >= 0 ? claim_at(w, (unsigned)n) : NULL;

	if (v->claim_uid && !str_eq(v->claim_uid, claim->uid))
		broken(w, "volume %s of claim %s is given to claim %s", v->meta.name, v->claim_name, claim->name);
	if (!c || !str_eq(c->meta.uid, claim->uid))
		return; /* gone meanwhile */
	if (c->volume && !str_eq(c->volume, v->meta.name))
		broken(w, "claim %s has volume %s, and is given %s", claim->name, c->volume, v->meta.name);
	if (v->capacity < c->request)
		broken(w, "claim %s is given volume %s, which is too small", claim->name, v->meta.name);
	for (unsigned k = 0; k < SIM_VOLUMES; k++)
		if (k != i && volume_at(w, k) && str_eq(volume_at(w, k)->claim_uid, claim->uid))
			broken(w, "claim %s is given two volumes, %s and %s", claim->name, volume_at(w, k)->meta.name,
			       v->meta.name);
}

static enum kube_outcome volume_change(struct world *w, unsigned i, const struct meta *claim)
{
	struct pv v = *volume_at(w, i);
	struct pair note = { ANNOTATION_BOUND_BY_CONTROLLER, "yes" };

	check_given(w, i, claim);
	v.claim_ns = claim->ns;
	v.claim_name = claim->name;
	v.claim_uid = claim->uid;
	v.meta.annotations = &note;
	v.meta.n_annotations = 1;
	volume_write(w, i, &v);
	return KUBE_OK;
}

enum kube_outcome storage_change(struct world *w, const struct kube_ref *ref, const struct meta *claim,
                                 const char *node, const char **ret_rv)
{
	bool is_claim = ref->kind == KUBE_CLAIMS;
	int i = is_claim ? claim_named(w, ref->ns, ref->name) : volume_named(w, ref->name);
	const struct meta *m = i < 0 ? NULL : storage_get(w, ref->kind, (size_t)i)->object;
	enum kube_outcome r;

	if (!m || (ref->uid && !str_eq(ref->uid, m->uid)))
		return KUBE_NOT_FOUND;
	if (ref->resource_version && !str_eq(ref->resource_version, m->resource_version))
		return KUBE_CONFLICT;
	r = is_claim ? claim_change(w, (unsigned)i, node) : volume_change(w, (unsigned)i, claim);
	*ret_rv = ((const struct meta *)storage_get(w, ref->kind, (size_t)i)->object)->resource_version;
	look_soon(w);
	return r;
}

/* ---- what must hold ---- */

static bool reaches(const struct pv *v, const char *node)
{
	return str_eq(v->required_nodes[0].labels[0].values[0], node);
}

static unsigned claim_number(const char *name)
{
	return (unsigned)(name[1] - '0');
}

void storage_check_bind(struct world *w, const struct kpod *k, const char *node)
{
	for (uint32_t i = 0; i < k->pod->n_volumes; i++) {
		const char *name = k->pod->volumes[i].claim;
		int n = claim_named(w, SIM_NS, name);
		const struct pvc *c = n >= 0 ? claim_at(w, (unsigned)n) : NULL;
		int at_ = c && c->volume ? volume_named(w, c->volume) : -1;

		if (w->now - w->api.claim_since[claim_number(name)] < UNSEEN_MAX)
			continue;
		if (at_ < 0)
			broken(w, "Pod %s is bound, and its claim %s is not", k->pod->meta.name, name);
		else if (!reaches(volume_at(w, (unsigned)at_), node))
			broken(w, "Pod %s is bound to %s, which does not reach volume %s", k->pod->meta.name, node,
			       c->volume);
	}
}

/* Whether its claims could be met at all, as things are; when not, it waits for people. */
bool storage_possible(const struct world *w, const struct pod *p)
{
	const char *node = NULL; /* that one of its volumes is on */

	for (uint32_t i = 0; i < p->n_volumes; i++) {
		int n = claim_named(w, SIM_NS, p->volumes[i].claim);
		const struct pvc *c = n >= 0 ? claim_at(w, (unsigned)n) : NULL;
		int at_ = c && c->volume ? volume_named(w, c->volume) : -1;

		if (!c || (at_ < 0 && !str_eq(c->storage_class, "made")))
			return false; /* a free disk may be on a node where something else is not */
		if (at_ >= 0 && node && !reaches(volume_at(w, (unsigned)at_), node))
			return false;
		if (at_ >= 0)
			node = volume_at(w, (unsigned)at_)->required_nodes[0].labels[0].values[0];
	}
	return true;
}

/* ---- */

void storage_init(struct world *w)
{
	static const char *const names[] = { "disk", "made" };

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		struct storage_class c = { .provisioner = i ? "somebody/makes" : NO_PROVISIONER,
			                   .waits_for_consumer = 1 };

		c.meta.name = names[i];
		c.meta.uid = names[i];
		w->api.classes[i] = versioned(w, KUBE_CLASSES, &c.meta, false);
	}
	for (unsigned i = 0; i < DISKS_PER_NODE * w->n_nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "v%u", i);
		volume_make(w, i, name, "disk", i / DISKS_PER_NODE, (int64_t)(1 + i % DISKS_PER_NODE) * UNIT, NULL);
	}
}

void storage_done(struct world *w)
{
	for (unsigned i = 0; i < SIM_CLAIMS; i++)
		version_unref(w->api.claims[i]);
	for (unsigned i = 0; i < SIM_VOLUMES; i++)
		version_unref(w->api.volumes[i]);
	for (unsigned i = 0; i < ARRAY_LEN(w->api.classes); i++)
		version_unref(w->api.classes[i]);
}
