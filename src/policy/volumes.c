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

static const struct storage_class *class_of(const struct pod_volumes *v, uint32_t n)
{
	return v->classes ? v->classes[n] : NULL;
}

/* Does the claim wait for its first consumer? Not when nobody knows its class, nor when it names its volume: then it gets that
 * one, whoever uses it. */
static bool waits(const struct pod_volumes *v, uint32_t n)
{
	return class_of(v, n) && class_of(v, n)->waits_for_consumer && str_empty(v->claims[n]->volume);
}

static bool makes_volumes(const struct storage_class *class)
{
	return !str_empty(class->provisioner) && !str_eq(class->provisioner, NO_PROVISIONER);
}

bool claim_may_take(const struct pvc *claim, const struct storage_class *class)
{
	return class && class->waits_for_consumer && str_empty(claim->volume) &&
	       (str_empty(selected_node(claim)) || !makes_volumes(class));
}

/* ---- which volumes ---- */

static const struct candidates *candidates_of(const struct pod_volumes *v, uint32_t n)
{
	return v->candidates && claim_of(v, n) && claim_may_take(v->claims[n], class_of(v, n)) ? &v->candidates[n]
	                                                                                       : NULL;
}

/* The claim after `last`, smallest first, so that a large volume is not taken by a small claim. v->n = there is none. */
static uint32_t next_by_size(const struct pod_volumes *v, uint32_t last)
{
	uint32_t best = v->n;

	for (uint32_t i = 0; i < v->n; i++) {
		if (!candidates_of(v, i) || i == last)
			continue;
		if (last < v->n && (v->claims[i]->request < v->claims[last]->request ||
		                    (i < last && v->claims[i]->request == v->claims[last]->request)))
			continue;
		if (best == v->n || v->claims[i]->request < v->claims[best]->request)
			best = i;
	}
	return best;
}

/* What each claim takes on this node; NULL: nothing. Owned, as long as v->n. NULL when no claim takes any. */
static const struct pv **choose(const struct pod_volumes *v, const struct knode *node)
{
	const struct pv **taken = NULL;

	if (!v || !v->candidates || !node)
		return NULL;
	for (uint32_t i = v->n; (i = next_by_size(v, i)) < v->n;) {
		const struct pv *again = NULL;

		if (!taken)
			taken = mem_alloc_n(v->n, sizeof(const struct pv *));
		for (uint32_t k = 0; k < v->n && !again; k++) /* two volumes of the Pod may be one claim */
			again = v->claims[k] == v->claims[i] ? taken[k] : NULL;
		taken[i] = again ? again : candidates_best(&v->candidates[i], node, taken, v->n);
	}
	return taken;
}

const struct pv *volumes_choice(const struct pod *pod, const struct pod_volumes *volumes, const struct knode *node,
                                uint32_t claim)
{
	_cleanup_free_ const struct pv **taken = choose(volumes, node);

	return taken && claim < pod->n_volumes && claim < volumes->n ? taken[claim] : NULL;
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

static enum out_of_reach claim_reach(const struct pod_volumes *v, uint32_t n, const struct knode *node,
                                     const struct pv *taken)
{
	const struct pvc *c = claim_of(v, n);
	const struct pv *pv;
	const char *chosen;

	if (!c)
		return REACH_OK;
	if (!str_empty(c->volume)) { /* bound to it, or about to be */
		pv = v->volumes ? v->volumes[n] : NULL;
		return !pv || !pv->has_required || node_matches_terms(pv->required_nodes, pv->n_required_nodes, node)
		               ? REACH_OK
		               : REACH_VOLUME;
	}
	if (!waits(v, n) || taken)
		return REACH_OK;
	if (v->candidates && v->candidates[n].own && claim_may_take(c, class_of(v, n)))
		return REACH_VOLUME; /* it is another's than this node's */
	if (!makes_volumes(class_of(v, n)))
		return v->candidates ? REACH_NONE : REACH_OK;
	chosen = selected_node(c);
	if (!str_empty(chosen))
		return str_eq(chosen, node->meta.name) ? REACH_OK : REACH_CHOSEN;
	return class_makes_there(v->classes[n], node) ? REACH_OK : REACH_CLASS;
}

enum out_of_reach volumes_reach(const struct pod *pod, const struct pod_volumes *volumes, const struct knode *node,
                                uint32_t *ret_claim)
{
	_cleanup_free_ const struct pv **taken = choose(volumes, node);

	for (uint32_t i = 0; volumes && i < pod->n_volumes; i++) {
		enum out_of_reach r = claim_reach(volumes, i, node, taken && i < volumes->n ? taken[i] : NULL);

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
	const struct candidates *own = candidates_of(volumes, claim);
	char name[CLAIM_NAME_MAX];

	claim_name(pod, claim, name);
	if (how == REACH_VOLUME)
		snprintf(text, FIT_WHY_MAX, "volume %.80s of claim %.100s cannot be reached from there",
		         own && own->n ? own->list[0].volume->meta.name : str_or(c->volume, "?"), name);
	else if (how == REACH_NONE)
		snprintf(text, FIT_WHY_MAX,
		         "no free volume of class %.80s that would do for claim %.100s can be reached from there",
		         str_or(c->storage_class, "?"), name);
	else if (how == REACH_CHOSEN)
		snprintf(text, FIT_WHY_MAX, "the volume of claim %.100s is being made for node %.80s", name,
		         str_or(selected_node(c), "?"));
	else
		snprintf(text, FIT_WHY_MAX, "storage class %.80s of claim %.100s makes no volumes there",
		         str_or(c->storage_class, "?"), name);
}

enum selection selection_of(const struct selected *last, uint32_t job, const struct pvc *claim)
{
	if (!last || last->job != job || !str_eq(last->claim_uid, claim->meta.uid))
		return SELECT_NOW;
	return str_eq(last->version, claim->meta.resource_version) ? SELECT_UNSEEN : SELECT_UNDONE;
}

/* ---- before binding ---- */

/* What one claim needs, the most pressing first. */
enum need {
	NEED_ELSEWHERE, /* let go of the node, whatever the others need */
	NEED_CLAIM, /* choose no node for the others as long as this one is not there */
	NEED_TAKE,
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

static enum need need_of_unbound(const struct pod_volumes *v, uint32_t n, const struct place *place,
                                 const struct pv *taken, const char *name, char why[FIT_WHY_MAX])
{
	const struct pvc *c = claim_of(v, n);
	const char *class = str_empty(c->storage_class) ? NULL : c->storage_class;

	if (!waits(v, n)) {
		if (!str_empty(c->volume))
			return say(NEED_CLAIM, why, name, " is not bound yet to the volume that it names, ", c->volume);
		if (!class)
			return say(NEED_CLAIM, why, name,
			           " is not bound to a volume, and has no storage class to make one", NULL);
		if (!v->classes || !v->classes[n])
			return say(NEED_CLAIM, why, name, " is not bound: there is no storage class ", class);
		return say(NEED_CLAIM, why, name, " is not bound yet; its volume comes from storage class ", class);
	}
	if (!place)
		return NEED_NOTHING;
	if (taken && str_empty(taken->claim_uid))
		return say(NEED_TAKE, why, name, " waits for its first consumer, and gets volume ", taken->meta.name);
	if (taken)
		return say(NEED_TIME, why, name, " is not bound yet; it gets volume ", taken->meta.name);
	if (!makes_volumes(class_of(v, n)))
		return say(NEED_CLAIM, why, name, " is not bound; nobody makes volumes of storage class ", class);
	if (str_empty(selected_node(c)))
		return say(NEED_SELECT, why, name, " waits for its first consumer, on node ", place->node_name);
	return say(NEED_TIME, why, name, " is not bound yet; its volume is being made by storage class ", class);
}

static enum need need_of(const struct pod *pod, const struct pod_volumes *v, uint32_t n, const struct place *place,
                         const struct pv *taken, char why[FIT_WHY_MAX])
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
	reach = place && place->node ? claim_reach(v, n, place->node, taken) : REACH_OK;
	if (reach != REACH_OK) {
		reach_text(reach, pod, v, n, why);
		return NEED_ELSEWHERE;
	}
	if (!is_bound(c))
		return need_of_unbound(v, n, place, taken, name, why);
	if (!v->volumes || !v->volumes[n])
		return say(NEED_CLAIM, why, name, " is bound, but nothing is known of its volume ", c->volume);
	return NEED_NOTHING;
}

enum volumes_state volumes_before_bind(const struct pod *pod, const struct pod_volumes *volumes,
                                       const struct place *place, uint32_t *ret_claim, char why[FIT_WHY_MAX])
{
	static const enum volumes_state states[] = {
		[NEED_ELSEWHERE] = VOLUMES_ELSEWHERE, [NEED_CLAIM] = VOLUMES_WAIT, [NEED_TAKE] = VOLUMES_TAKE,
		[NEED_SELECT] = VOLUMES_SELECT,       [NEED_TIME] = VOLUMES_WAIT,  [NEED_NOTHING] = VOLUMES_READY,
	};
	_cleanup_free_ const struct pv **taken = choose(volumes, place ? place->node : NULL);
	enum need most = NEED_NOTHING;
	char text[FIT_WHY_MAX];

	for (uint32_t i = 0; i < pod->n_volumes; i++) {
		enum need n = need_of(pod, volumes, i, place, taken && i < volumes->n ? taken[i] : NULL, text);

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
