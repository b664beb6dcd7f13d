/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Epilogs of placeholder jobs: each is answered when the job's Pod has left the node, so that Slurm keeps the node COMPLETING until then.
 * The placeholder itself sees to that as long as it lives; this is for one that was killed. The Pod is asked for one by one: epilogs of
 * Pods that are not over are rare.
 */
#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "policy/placeholder.h"
#include "syncer/inside.h"

#define LOOK_FIRST (50 * USEC_MSEC)
#define LOOK_MAX USEC_SEC
#define ERROR_MAX 1024

struct held {
	struct link link; /* syncer.holds */
	struct syncer *s;
	char *pod, *node; /* "ns/name/uid"; the Kubernetes Node of the Slurm node */
	usec_t since, deadline, look_at, pause;
	bool busy;
	void (*reply)(void *arg, int status, const char *json); /* NULL: answered, while the Pod is being asked for */
	void *arg;
};

static void held_free(struct held *h)
{
	link_remove(&h->link);
	free(h->pod);
	free(h->node);
	free(h);
}

static void answer(struct held *h, int status, const char *json)
{
	void (*reply)(void *arg, int status, const char *json) = h->reply;

	h->reply = NULL;
	h->s->n_parked--;
	sync_count_hook(h->s, status, sync_now(h->s) - h->since);
	reply(h->arg, status, json);
	if (!h->busy)
		held_free(h);
}

static void answer_too_late(struct held *h)
{
	_cleanup_buf_ struct buf json = BUF(ERROR_MAX);

	buf_add_str(&json, "{\"error\":\"Pod ");
	for (const char *c = h->pod; *c && json.len < ERROR_MAX - 100; c++)
		if (*c != '"' && *c != '\\' && (unsigned char)*c >= ' ')
			buf_add_char(&json, *c);
	buf_add_str(&json, " has not left the node in time\"}");
	answer(h, 504, buf_text(&json));
}

static bool uses_node(const struct pod *pod, const char *node)
{
	return pod && !pod_is_over(pod) && str_eq(pod->node_name, node);
}

static void looked(void *arg, const struct kube_result *r, const void *object)
{
	struct held *h = arg;
	usec_t now;

	h->busy = false;
	if (!h->reply) {
		held_free(h);
		return;
	}
	now = sync_now(h->s);
	if (r->outcome == KUBE_NOT_FOUND || (r->outcome == KUBE_OK && !uses_node(object, h->node))) {
		feeds_job_ended(h->s);
		answer(h, 200, "{}");
		return;
	}
	if (r->outcome == KUBE_FORBIDDEN && !h->pause)
		log_error("an epilog waits in vain: %s", r->message);
	h->pause = MIN_OF(MAX_OF(2 * h->pause, LOOK_FIRST), LOOK_MAX);
	h->look_at = usec_add(now, MAX_OF(h->pause, r->retry_after));
	sync_wake(h->s);
}

/* "ns/name/uid" and what may follow it (": started"). */
static bool split(char *pod, struct kube_ref *ret)
{
	char *name = strchr(pod, '/'), *uid = name ? strchr(name + 1, '/') : NULL;

	if (!uid || name == pod || uid == name + 1 || !uid[1])
		return false;
	*name++ = 0;
	*uid++ = 0;
	uid[strcspn(uid, ": /")] = 0;
	*ret = (struct kube_ref) { .kind = KUBE_PODS, .ns = pod, .name = name, .uid = uid };
	return *uid != 0;
}

static void look(struct held *h)
{
	_cleanup_free_ char *text = mem_strdup(h->pod);
	struct kube_ref ref;

	if (!split(text, &ref)) {
		answer(h, 400, "{\"error\":\"pod: expected namespace/name/uid\"}");
		return;
	}
	h->busy = true;
	h->s->o.kube->ops->get(h->s->o.kube, &ref, looked, h);
}

void sync_hold(struct syncer *s, const struct pod *slurmd, const struct syncer_ask *ask)
{
	struct held *h;

	if (s->n_parked >= SYNC_PARKED_MAX) {
		ask->reply(ask->arg, 503, "{\"error\":\"too many wait already: ask again\"}");
		return;
	}
	h = NEW(struct held);
	*h = (struct held) { .s = s,
		             .pod = mem_strdup(ask->pod),
		             .node = mem_strdup(str_or(slurmd->node_name, "")),
		             .since = sync_now(s),
		             .reply = ask->reply,
		             .arg = ask->arg };
	h->deadline = sync_hook_deadline(s, ask);
	list_add_tail(&s->holds, &h->link);
	s->n_parked++;
	sync_wake(s);
}

usec_t sync_holds_step(struct syncer *s, usec_t now)
{
	usec_t next = USEC_NEVER;

	LIST_EACH (l, &s->holds) {
		struct held *h = LIST_ITEM(l, struct held, link);

		if (!h->reply)
			continue;
		if (now >= h->deadline) {
			answer_too_late(h);
			continue;
		}
		next = MIN_OF(next, h->deadline);
		if (h->busy)
			continue;
		if (now >= h->look_at)
			look(h);
		else
			next = MIN_OF(next, h->look_at);
	}
	return next;
}

void sync_holds_close(struct syncer *s, const char *json)
{
	LIST_EACH (l, &s->holds)
		if (LIST_ITEM(l, struct held, link)->reply)
			answer(LIST_ITEM(l, struct held, link), 503, json);
}

void sync_holds_done(struct syncer *s)
{
	struct link *l;

	while ((l = list_take_head(&s->holds))) {
		struct held *h = LIST_ITEM(l, struct held, link);

		h->busy = true; /* so that it stays until here */
		if (h->reply)
			answer(h, 503, "{\"error\":\"the syncer ends: ask again\"}");
		assert(s->holds.next != l); /* what static analysis cannot see */
		held_free(h); /* what was asked for is not answered any more */
	}
}
