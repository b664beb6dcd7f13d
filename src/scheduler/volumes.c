/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The volumes of Pods: claims, what they are bound to and their classes. Watched only once a Pod has a claim: most clusters'
 * Pods have none, and then this costs nothing.
 */
#include "scheduler/inside.h"

#include <stdio.h>

#include "base/str.h"

static void claim_pods_dirty(struct scheduler *s, const struct meta *claim)
{
	struct store_cursor cursor = { 0 };
	char key[STORE_KEY_MAX];
	const struct pod *pod;

	meta_key(claim, key);
	while ((pod = store_find(s->pods, POD_BY_CLAIM, key, &cursor))) {
		struct entry *e = str_empty(pod->meta.uid) ? NULL : entry_get(s, pod->meta.uid);

		if (e)
			entry_dirty(s, e, 0);
	}
}

static void claim_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	(void)event;
	claim_pods_dirty(arg, is ? is : was);
}

static void volume_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scheduler *s = arg;
	const struct meta *volume = is ? is : was;
	struct store_cursor cursor = { 0 };
	const struct pvc *claim;

	(void)event;
	while ((claim = store_find(s->claims, CLAIM_BY_VOLUME, volume->name, &cursor)))
		claim_pods_dirty(s, &claim->meta);
}

static void class_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scheduler *s = arg;
	const struct meta *class = is ? is : was;
	struct store_cursor cursor = { 0 };
	const struct pvc *claim;

	(void)event;
	while ((claim = store_find(s->claims, CLAIM_BY_CLASS, class->name, &cursor)))
		claim_pods_dirty(s, &claim->meta);
}

static void watch(struct scheduler *s)
{
	const struct kube_port_ops *kube = s->o.kube->ops;

	s->claims = kube->watch(s->o.kube, KUBE_CLAIMS, NULL, NULL, NULL);
	s->volumes = kube->watch(s->o.kube, KUBE_VOLUMES, NULL, NULL, NULL);
	s->classes = kube->watch(s->o.kube, KUBE_CLASSES, NULL, NULL, NULL);
	store_listen(s->claims, claim_changed, s);
	store_listen(s->volumes, volume_changed, s);
	store_listen(s->classes, class_changed, s);
}

bool volumes_find(struct scheduler *s, const struct pod *pod, struct pod_volumes *ret)
{
	*ret = (struct pod_volumes) { 0 };
	if (!pod->n_volumes)
		return true;
	if (!s->claims)
		watch(s);
	if (!store_synced(s->claims) || !store_synced(s->volumes) || !store_synced(s->classes))
		return false;
	ret->n = pod->n_volumes;
	ret->claims = mem_alloc_n(ret->n, sizeof(*ret->claims));
	ret->volumes = mem_alloc_n(ret->n, sizeof(*ret->volumes));
	ret->classes = mem_alloc_n(ret->n, sizeof(*ret->classes));
	for (uint32_t i = 0; i < ret->n; i++) {
		char name[CLAIM_NAME_MAX];
		const struct pvc *claim = store_get(s->claims, pod->meta.ns, claim_name(pod, i, name));

		ret->claims[i] = claim;
		if (claim && !str_empty(claim->volume))
			ret->volumes[i] = store_get(s->volumes, NULL, claim->volume);
		if (claim && !str_empty(claim->storage_class))
			ret->classes[i] = store_get(s->classes, NULL, claim->storage_class);
	}
	return true;
}

void volumes_done(struct pod_volumes *v)
{
	free(v->claims);
	free(v->volumes);
	free(v->classes);
	*v = (struct pod_volumes) { 0 };
}
