/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/volumes.h"

#include <stdio.h>

#include "base/str.h"
#include "policy/selector.h"

const char *claim_name(const struct pod *pod, uint32_t n, char text[CLAIM_NAME_MAX])
{
	const struct volume_claim *v = &pod->volumes[n];

	if (v->ephemeral)
		snprintf(text, CLAIM_NAME_MAX, "%s-%s", str_or(pod->meta.name, ""), str_or(v->volume, ""));
	else
		str_copy(text, CLAIM_NAME_MAX, v->claim);
	return text;
}

static const struct pvc *claim_of(const struct pod_volumes *v, uint32_t n)
{
	return v && n < v->n ? v->claims[n] : NULL;
}

static bool is_bound(const struct pvc *c)
{
	return c->phase == PVC_BOUND && !str_empty(c->volume);
}

static const char *selected_node(const struct pvc *c)
{
	return pair_get(c->meta.annotations, c->meta.n_annotations, ANNOTATION_SELECTED_NODE);
}

/* Does the claim wait for its first consumer? Not when nobody knows its class. */
static bool waits(const struct pod_volumes *v, uint32_t n)
{
	return v->classes && v->classes[n] && v->classes[n]->waits_for_consumer;
}

/* ---- where ---- */

static bool topology_holds(const struct selector_term *t, const struct knode *node)
{
	for (uint32_t i = 0; i < t->n_labels; i++) {
		struct requirement in = t->labels[i];

		in.op = SEL_IN;
		if (!requirement_holds(&in, pair_get(node->meta.labels, node->meta.n_labels, in.key)))
			return false;
	}
	return t->n_labels > 0;
}

static bool class_makes_there(const struct storage_class *c, const struct knode *node)
{
	for (uint32_t i = 0; i < c->n_topologies; i++)
		if (topology_holds(&c->topologies[i], node))
			return true;
	return c->n_topologies == 0;
}

static enum out_of_reach claim_reach(const struct pod_volumes *v, uint32_t n, const struct knode *node)
{
	const struct pvc *c = claim_of(v, n);
	const struct pv *pv;
	const char *chosen;

	if (!c)
		return REACH_OK;
	if (is_bound(c)) {
		pv = v->volumes ? v->volumes[n] : NULL;
		return !pv || !pv->has_required || node_matches_terms(pv->required_nodes, pv->n_required_nodes, node)
		               ? REACH_OK
		               : REACH_VOLUME;
	}
	if (!waits(v, n))
		return REACH_OK;
	chosen = selected_node(c);
	if (!str_empty(chosen))
		return str_eq(chosen, node->meta.name) ? REACH_OK : REACH_CHOSEN;
	return class_makes_there(v->classes[n], node) ? REACH_OK : REACH_CLASS;
}

enum out_of_reach volumes_reach(const struct pod *pod, const struct pod_volumes *volumes, const struct knode *node,
                                uint32_t *ret_claim)
{
	for (uint32_t i = 0; volumes && i < pod->n_volumes; i++) {
		enum out_of_reach r = claim_reach(volumes, i, node);

		if (r == REACH_OK)
			continue;
		*ret_claim = i;
		return r;
	}
	return REACH_OK;
}

void reach_text(enum out_of_reach how, const struct pod *pod, const struct pod_volumes *volumes, uint32_t claim,
                char text[FIT_WHY_MAX])
{
	const struct pvc *c = claim_of(volumes, claim);
	char name[CLAIM_NAME_MAX];

	claim_name(pod, claim, name);
	if (how == REACH_VOLUME)
		snprintf(text, FIT_WHY_MAX, "volume %.80s of claim %.100s cannot be reached from there",
		         str_or(c->volume, "?"), name);
	else if (how == REACH_CHOSEN)
		snprintf(text, FIT_WHY_MAX, "the volume of claim %.100s is being made for node %.80s", name,
		         str_or(selected_node(c), "?"));
	else
		snprintf(text, FIT_WHY_MAX, "storage class %.80s of claim %.100s makes no volumes there",
		         str_or(c->storage_class, "?"), name);
}

/* ---- before binding ---- */

/* What one claim needs, the most pressing first. */
enum need {
	NEED_ELSEWHERE, /* let go of the node, whatever the others need */
	NEED_CLAIM,     /* choose no node for the others as long as this one is not there */
	NEED_SELECT,
	NEED_TIME,
	NEED_NOTHING,
};

static enum need say(enum need n, char why[FIT_WHY_MAX], const char *claim, const char *is, const char *what)
{
	snprintf(why, FIT_WHY_MAX, "claim %.100s%.70s%.70s", claim, is, str_or(what, ""));
	return n;
}

static bool made_for(const struct pvc *c, const struct pod *pod)
{
	const struct owner *o = meta_controller(&c->meta);

	return o && str_eq(o->uid, pod->meta.uid);
}

static enum need need_of_unbound(const struct pod_volumes *v, uint32_t n, const struct place *place, const char *name,
                                 char why[FIT_WHY_MAX])
{
	const struct pvc *c = claim_of(v, n);
	const char *class = str_empty(c->storage_class) ? NULL : c->storage_class;

	if (!waits(v, n)) {
		if (!class)
			return say(NEED_CLAIM, why, name,
			           " is not bound to a volume, and has no storage class to make one", NULL);
		if (!v->classes || !v->classes[n])
			return say(NEED_CLAIM, why, name, " is not bound: there is no storage class ", class);
		return say(NEED_CLAIM, why, name, " is not bound yet; its volume comes from storage class ", class);
	}
	if (!place)
		return NEED_NOTHING;
	if (str_empty(selected_node(c)))
		return say(NEED_SELECT, why, name, " waits for its first consumer, on node ", place->node_name);
	return say(NEED_TIME, why, name, " is not bound yet; its volume is being made by storage class ", class);
}

static enum need need_of(const struct pod *pod, const struct pod_volumes *v, uint32_t n, const struct place *place,
                         char why[FIT_WHY_MAX])
{
	const struct pvc *c = claim_of(v, n);
	char name[CLAIM_NAME_MAX];
	enum out_of_reach reach;

	claim_name(pod, n, name);
	if (!c)
		return say(NEED_CLAIM, why, name, " does not exist", NULL);
	if (pod->volumes[n].ephemeral && !made_for(c, pod))
		return say(NEED_CLAIM, why, name, " exists, but was not made for this Pod", NULL);
	if (c->meta.deletion)
		return say(NEED_CLAIM, why, name, " is being deleted", NULL);
	if (c->phase == PVC_LOST)
		return say(NEED_CLAIM, why, name, " has lost its volume ", c->volume);
	reach = place && place->node ? claim_reach(v, n, place->node) : REACH_OK;
	if (reach != REACH_OK) {
		reach_text(reach, pod, v, n, why);
		return NEED_ELSEWHERE;
	}
	if (!is_bound(c))
		return need_of_unbound(v, n, place, name, why);
	if (!v->volumes || !v->volumes[n])
		return say(NEED_CLAIM, why, name, " is bound, but nothing is known of its volume ", c->volume);
	return NEED_NOTHING;
}

enum volumes_state volumes_before_bind(const struct pod *pod, const struct pod_volumes *volumes,
                                       const struct place *place, uint32_t *ret_claim, char why[FIT_WHY_MAX])
{
	static const enum volumes_state states[] = {
		[NEED_ELSEWHERE] = VOLUMES_ELSEWHERE, [NEED_CLAIM] = VOLUMES_WAIT,    [NEED_SELECT] = VOLUMES_SELECT,
		[NEED_TIME] = VOLUMES_WAIT,           [NEED_NOTHING] = VOLUMES_READY,
	};
	enum need most = NEED_NOTHING;
	char text[FIT_WHY_MAX];

	for (uint32_t i = 0; i < pod->n_volumes; i++) {
		enum need n = need_of(pod, volumes, i, place, text);

		if (n >= most)
			continue;
		most = n;
		*ret_claim = i;
		str_copy(why, FIT_WHY_MAX, text);
	}
	if (most != NEED_NOTHING)
		str_mask_unsafe(why);
	return states[most];
}
