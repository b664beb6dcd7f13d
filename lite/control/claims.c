/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/claims.h"

#include "base/str.h"

static void *decoded(struct control *c, enum kube_kind kind, struct collection *in, const char *ns, const char *name)
{
	struct item *i = str_empty(name) ? NULL : db_get(in, ns, name);

	return i ? view_decode(c->view, kind, i) : NULL;
}

void claims_gather(struct control *c, const struct pod *pod, struct claims *ret)
{
	struct pod_volumes *v = &ret->v;
	char name[CLAIM_NAME_MAX];

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
	}
}

void claims_done(struct claims *c)
{
	for (uint32_t i = 0; i < c->v.n; i++) {
		free((void *)c->v.claims[i]);
		free((void *)c->v.volumes[i]);
		free((void *)c->v.classes[i]);
	}
	free(c->v.claims);
	free(c->v.volumes);
	free(c->v.classes);
	c->v = (struct pod_volumes) { 0 };
}
