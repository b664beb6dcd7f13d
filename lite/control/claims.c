/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/claims.h"

#include "base/str.h"

static void *decoded(struct control *c, enum kube_kind kind, struct collection *in, const char *ns, const char *name)
{
	struct item *i = str_empty(name) ? NULL : db_get(in, ns, name);

	return i ? view_decode(c->view, kind, i) : NULL;
}

/* Decoded once for all claims; only those of the claims' classes are kept. */
static void gather_candidates(struct control *c, struct claims *ret)
{
	struct pod_volumes *v = &ret->v;

	v->candidates = mem_alloc_n(v->n, sizeof(*v->candidates));
	ret->all = mem_alloc_n(c->volumes->n, sizeof(*ret->all));
	for (size_t i = 0; i < c->volumes->n; i++) {
		struct pv *volume = view_decode(c->view, KUBE_VOLUMES, c->volumes->items[i]);

		ret->all[ret->n_all++] = volume;
		for (uint32_t k = 0; volume && k < v->n; k++)
			if (v->claims[k] && claim_may_take(v->claims[k], v->classes[k]) &&
			    str_eq(volume->storage_class, v->claims[k]->storage_class))
				candidates_add(&v->candidates[k], v->claims[k], volume);
	}
	for (uint32_t k = 0; k < v->n; k++)
		candidates_sort(&v->candidates[k]);
}

void claims_gather(struct control *c, const struct pod *pod, struct claims *ret)
{
	struct pod_volumes *v = &ret->v;
	char name[CLAIM_NAME_MAX];
	bool may_take = false;

	v->n = pod->n_volumes;
	v->claims = mem_alloc_n(v->n, sizeof(*v->claims));
	v->volumes = mem_alloc_n(v->n, sizeof(*v->volumes));
	v->classes = mem_alloc_n(v->n, sizeof(*v->classes));
	for (uint32_t i = 0; i < v->n; i++) {
		v->claims[i] = decoded(c, KUBE_CLAIMS, c->claims, pod->meta.ns, claim_name(pod, i, name));
		if (!v->claims[i])
			continue;
		v->volumes[i] = decoded(c, KUBE_VOLUMES, c->volumes, "", v->claims[i]->volume);
		v->classes[i] = decoded(c, KUBE_CLASSES, c->classes, "", v->claims[i]->storage_class);
		may_take |= claim_may_take(v->claims[i], v->classes[i]);
	}
	if (may_take)
		gather_candidates(c, ret);
}

void claims_done(struct claims *c)
{
	for (uint32_t i = 0; i < c->v.n; i++) {
		free((void *)c->v.claims[i]);
		free((void *)c->v.volumes[i]);
		free((void *)c->v.classes[i]);
		if (c->v.candidates)
			candidates_done(&c->v.candidates[i]);
	}
	for (size_t i = 0; i < c->n_all; i++)
		free(c->all[i]);
	free(c->all);
	free(c->v.candidates);
	free(c->v.claims);
	free(c->v.volumes);
	free(c->v.classes);
	*c = (struct claims) { 0 };
}
