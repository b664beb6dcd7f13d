/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Scenes of a Kubernetes on the model: a world of two Nodes, and a process without a shell whose port the scene plays on.
 */
#include "tests/sim/scene.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "kube/objects.h"
#include "tests/sim/world.h"
#include "json/json.h"

struct pause { /* a wait that is over when the model comes to it */
	bool over;
};

struct stage {
	struct world w;
	struct life *life;
	struct kube_port_ops ops; /* the model's, and create */
	struct { /* of the next Pod */
		int64_t run_s;
		int exit_code;
		bool stubborn;
	} next;
};

static struct stage *stage_of(struct world *w)
{
	return CONTAINER_OF(w, struct stage, w);
}

static usec_t stage_now(void *arg)
{
	return ((struct stage *)arg)->w.now;
}

static bool stage_step(void *arg)
{
	return world_step(&((struct stage *)arg)->w);
}

static void over(struct world *w, struct ev *e)
{
	(void)w;
	((struct pause *)e->p)->over = true;
}

static void stage_passes(void *arg, usec_t span)
{
	struct stage *s = arg;
	struct pause p = { 0 };

	in(&s->w, span, over, 0, 0, &p);
	while (!p.over && world_step(&s->w))
		;
}

static void stage_kubelets(void *arg, bool work)
{
	struct stage *s = arg;

	for (unsigned i = 0; i < s->w.n_nodes; i++) {
		s->w.api.nodes[i].kubelet_dead |= !work;
		s->w.api.nodes[i].dead_until = 0;
		if (work)
			kubelet_returns(&s->w, i);
	}
}

static void stage_will_make(void *arg, const char *pod, int64_t run_s, int exit_code, bool stubborn)
{
	struct stage *s = arg;

	(void)pod;
	s->next.run_s = run_s;
	s->next.exit_code = exit_code;
	s->next.stubborn = stubborn;
}

/* ---- making Pods: users do, not our shells ---- */

struct making {
	kube_done done;
	void *arg;
	enum kube_outcome outcome;
};

static void made(struct world *w, struct ev *e)
{
	struct making *m = e->p;

	(void)w;
	m->done(m->arg, &(struct kube_result) { .outcome = m->outcome, .reason = "", .message = "create" });
	free(m);
}

static enum kube_outcome make(struct stage *s, const char *json)
{
	struct json_scratch scratch = { 0 };
	_cleanup_free_ struct pod *pod = NULL;
	yyjson_doc *doc = NULL;
	struct err err = { 0 };
	void *object = NULL;
	struct kpod *k;

	if (json_parse_copy(json, strlen(json), &doc, &err) == 0)
		(void)kube_decode(KUBE_PODS, yyjson_doc_get_root(doc), &scratch, &object, NULL, &err);
	json_scratch_done(&scratch);
	yyjson_doc_free(doc);
	pod = object;
	if (!pod)
		return KUBE_REFUSED;
	if (pod_by_name(&s->w, pod->meta.ns, pod->meta.name))
		return KUBE_EXISTS;
	pod->phase = POD_PENDING;
	k = pod_create(&s->w, pod);
	k->run_for = s->next.run_s * USEC_SEC;
	k->exit_code = s->next.exit_code;
	k->stop_for = s->next.stubborn ? USEC_HOUR : 0;
	k->disturbed = k->cancelled = true; /* whoever plays may delete it */
	if (k->pod->node_name)
		kubelet_look(&s->w, k, 0);
	return KUBE_OK;
}

static void stage_create(struct kube_port *p, enum kube_kind kind, const char *ns, const char *json, kube_done done,
                         void *arg)
{
	struct life *l = CONTAINER_OF(p, struct life, kube);
	struct making *m = NEW(struct making);

	(void)kind, (void)ns;
	*m = (struct making) { done, arg, make(stage_of(l->w), json) };
	in(l->w, span(l->w, USEC_MSEC, 20 * USEC_MSEC), made, 0, 0, m);
}

/* ---- */

static void stage_init(struct stage *s, uint64_t seed)
{
	struct world *w = &s->w;

	world_init(w, seed);
	w->n_nodes = 2;
	w->node_cpus = 16;
	w->whole = true; /* taints evict, and the two halves of a change are two requests */
	kube_init(w);
	ctld_init(w);
	s->life = NEW(struct life);
	s->life->w = w;
	s->life->serial = ++w->serial;
	s->life->gate = GATE_ALWAYS_OPEN;
	s->life->step_at = w->now; /* there is no shell to be woken */
	w->lives[0] = s->life;
	kube_port_init(s->life);
	s->ops = *s->life->kube.ops;
	s->ops.create = stage_create;
	s->life->kube.ops = &s->ops;
}

bool play_kube(const char *path, uint64_t seed, bool print)
{
	struct stage *s = NEW(struct stage);
	struct scene_result *r = NEW(struct scene_result);
	struct scene_stage stage = { .ns = SIM_NS,
		                     .arg = s,
		                     .patience = USEC_HOUR,
		                     .now = stage_now,
		                     .step = stage_step,
		                     .passes = stage_passes,
		                     .kubelets = stage_kubelets,
		                     .will_make = stage_will_make };
	bool ok;

	stage_init(s, seed);
	stage.port = &s->life->kube;
	ok = scene_play(&stage, path, r);
	if (!ok)
		printf("  %s%s%s\n", r->why, *s->w.why ? ": " : "", s->w.why);
	for (size_t i = 0; i < r->seen.n && print; i++)
		printf("  %s\n", r->seen.lines[i]);
	ok = ok && scene_compare(r, "the model");
	world_done(&s->w);
	scene_done(r);
	free(r);
	free(s);
	return ok;
}
