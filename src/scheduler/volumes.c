/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The volumes of Pods: claims, what they are bound to and their classes. Watched only once a Pod has a claim: most clusters'
 * Pods have none, and then this costs nothing.
 *
 * A volume that we gave to a claim counts as given until the watch shows another version of it: no claim gets a second one, and
 * no volume a second claim, because the watch was slow. A write carries the version that was looked at.
 */
#include "scheduler/inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define SPREAD (200 * USEC_MSEC) /* a change of volumes is looked at by all claims that wait for one, together */

struct given_volume {
	char *name, *version; /* as it was before */
	char *claim_ns, *claim_name, *claim_uid;
	struct pv shown; /* the volume as we know it to be; good as long as the store has this version */
	bool sure; /* the answer was yes */
	bool in_doubt; /* somebody changed it, and the watch has not shown how */
};

static void given_free(struct given_volume *g)
{
	free(g->name);
	free(g->version);
	free(g->claim_ns);
	free(g->claim_name);
	free(g->claim_uid);
	free(g);
}

static void forget(struct scheduler *s, const char *volume)
{
	struct given_volume *g = map_remove(&s->given, volume);

	if (!g)
		return;
	given_free(g);
	s->volumes_version++;
}

void volumes_forget_given(struct scheduler *s)
{
	struct given_volume *g;
	size_t i = 0;

	while ((g = map_next(&s->given, &i)))
		given_free(g);
	map_done(&s->given);
	s->given = MAP_INIT;
	s->volumes_version++;
}

void volumes_give(struct scheduler *s, const struct pv *volume, const struct pvc *claim)
{
	struct given_volume *g;

	forget(s, volume->meta.name);
	g = NEW(struct given_volume);
	g->name = mem_strdup(volume->meta.name);
	g->version = mem_strdup(volume->meta.resource_version);
	g->claim_ns = mem_strdup(claim->meta.ns);
	g->claim_name = mem_strdup(claim->meta.name);
	g->claim_uid = mem_strdup(claim->meta.uid);
	map_put(&s->given, g->name, g);
	s->volumes_version++;
}

void volumes_given(struct scheduler *s, const char *volume, const struct kube_result *r, bool again)
{
	struct given_volume *g = map_get(&s->given, volume);

	if (!g)
		return; /* the watch was faster */
	if (r->outcome == KUBE_OK || (r->outcome == KUBE_CONFLICT && again))
		g->sure = true; /* of a conflict: it was perhaps the first time that came through */
	else if (r->outcome == KUBE_CONFLICT)
		g->in_doubt = true;
	else if (!r->maybe_done && !again)
		forget(s, volume);
	s->volumes_version++;
}

bool volumes_is_given(const struct scheduler *s, const char *volume)
{
	return map_get(&s->given, volume) != NULL;
}

void volumes_selected(struct entry *e, uint32_t job, const char *claim_uid, const char *version)
{
	size_t uid_size = strlen(claim_uid) + 1, version_size = strlen(version) + 1;
	char *text;

	free(e->selected);
	e->selected = mem_alloc(sizeof(*e->selected) + uid_size + version_size);
	text = (char *)(e->selected + 1);
	memcpy(text, claim_uid, uid_size);
	memcpy(text + uid_size, version, version_size);
	*e->selected = (struct selected) { job, text, text + uid_size };
}

/* The volume as it is, what we did included; NULL when nobody should touch it now. */
static const struct pv *as_given(struct scheduler *s, const struct pv *v)
{
	struct given_volume *g = map_get(&s->given, v->meta.name);

	if (!g || !str_eq(g->version, v->meta.resource_version))
		return v;
	if (g->in_doubt)
		return NULL;
	g->shown = *v;
	g->shown.claim_ns = g->claim_ns;
	g->shown.claim_name = g->claim_name;
	g->shown.claim_uid = g->sure ? g->claim_uid : NULL; /* to be given once more, to this very claim */
	return &g->shown;
}

static void claim_pods_dirty(struct scheduler *s, const struct meta *claim, usec_t at)
{
	struct store_cursor cursor = { 0 };
	char key[STORE_KEY_MAX];
	const struct pod *pod;

	meta_key(claim, key);
	while ((pod = store_find(s->pods, POD_BY_CLAIM, key, &cursor))) {
		struct entry *e = str_empty(pod->meta.uid) ? NULL : entry_get(s, pod->meta.uid);

		if (e)
			entry_dirty(s, e, at);
	}
}

static void claim_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	(void)event;
	claim_pods_dirty(arg, is ? is : was, 0);
}

/* Those that may get a volume of this class, or could have. */
static void waiting_claims_dirty(struct scheduler *s, const struct pv *v)
{
	const struct storage_class *class =
	        str_empty(v->storage_class) ? NULL : store_get(s->classes, NULL, v->storage_class);
	struct store_cursor cursor = { 0 };
	const struct pvc *claim;

	if (!class || !class->waits_for_consumer)
		return;
	while ((claim = store_find(s->claims, CLAIM_BY_CLASS, v->storage_class, &cursor)))
		if (claim_may_take(claim, class))
			claim_pods_dirty(s, &claim->meta, volume_names(v, claim) ? 0 : usec_add(now_of(s), SPREAD));
}

static void volume_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scheduler *s = arg;
	const struct meta *volume = is ? is : was;
	struct store_cursor cursor = { 0 };
	const struct pvc *claim;

	(void)event;
	assert(volume);
	s->volumes_version++;
	forget(s, volume->name);
	while ((claim = store_find(s->claims, CLAIM_BY_VOLUME, volume->name, &cursor)))
		claim_pods_dirty(s, &claim->meta, 0);
	if (is)
		waiting_claims_dirty(s, is);
	if (was)
		waiting_claims_dirty(s, was);
}

static void class_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scheduler *s = arg;
	const struct meta *class = is ? is : was;
	struct store_cursor cursor = { 0 };
	const struct pvc *claim;

	(void)event;
	while ((claim = store_find(s->claims, CLAIM_BY_CLASS, class->name, &cursor)))
		claim_pods_dirty(s, &claim->meta, 0);
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

static bool are_known(const struct scheduler *s)
{
	return store_synced(s->claims) && store_synced(s->volumes) && store_synced(s->classes);
}

/* Who looked too early is looked at again: a list that is empty, or the same as before, tells nobody. */
usec_t volumes_step(struct scheduler *s, usec_t now)
{
	const struct pod *pod;
	size_t i = 0;

	if (!s->volumes_awaited)
		return USEC_NEVER;
	if (!are_known(s))
		return usec_add(now, SPREAD);
	s->volumes_awaited = false;
	while ((pod = store_next(s->pods, &i))) {
		struct entry *e = pod->n_volumes && !str_empty(pod->meta.uid) ? entry_get(s, pod->meta.uid) : NULL;

		if (e)
			entry_dirty(s, e, 0);
	}
	return USEC_NEVER;
}

static void find_candidates(struct scheduler *s, struct pod_volumes *v, uint32_t n)
{
	struct store_cursor cursor = { 0 };
	const struct pv *volume;

	if (!v->candidates)
		v->candidates = mem_alloc_n(v->n, sizeof(*v->candidates));
	while ((volume = store_find(s->volumes, VOLUME_BY_CLASS, v->claims[n]->storage_class, &cursor))) {
		volume = as_given(s, volume);
		if (volume)
			candidates_add(&v->candidates[n], v->claims[n], volume);
	}
	candidates_sort(&v->candidates[n]);
}

bool volumes_find(struct scheduler *s, const struct pod *pod, struct pod_volumes *ret)
{
	*ret = (struct pod_volumes) { 0 };
	if (!pod->n_volumes)
		return true;
	if (!s->claims)
		watch(s);
	if (!are_known(s)) {
		s->volumes_awaited = true;
		return false;
	}
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
		if (claim && claim_may_take(claim, ret->classes[i]))
			find_candidates(s, ret, i);
	}
	ret->version = s->volumes_version;
	return true;
}

void volumes_done(struct pod_volumes *v)
{
	for (uint32_t i = 0; v->candidates && i < v->n; i++)
		candidates_done(&v->candidates[i]);
	free(v->candidates);
	free(v->claims);
	free(v->volumes);
	free(v->classes);
	*v = (struct pod_volumes) { 0 };
}
