/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "base/str.h"
#include "policy/nodeset.h"
#include "syncer/extra.h"
#include "syncer/inside.h"

#define BLOCKED_BY_MAX 1024

static const char going_away[] = "{\"error\":\"the node is going away: its Pod is deleted\"}";

/* A Pod of slurmd is made again under its old name, and the watch may still show the one before, with its lock: a prolog that says
 * which one it runs in waits until that one is seen. */
static bool is_of(const struct parked *p, const struct pod *pod)
{
	return !p->slurmd_uid || str_eq(p->slurmd_uid, pod->meta.uid);
}

enum lock_level sync_hooks_level(const struct sync_entry *e, const struct pod *pod)
{
	enum lock_level level = LEVEL_NONE;

	if (pod->meta.deletion)
		return level; /* they are told so */
	LIST_EACH (l, &e->parked) {
		const struct parked *p = LIST_ITEM(l, struct parked, link);

		if (is_of(p, pod))
			level = MAX_OF(level, p->level);
	}
	return level;
}

static void answer(struct syncer *s, struct parked *p, int status, const char *json)
{
	link_remove(&p->link);
	s->n_parked--;
	sync_count_hook(s, status, sync_now(s) - p->since);
	p->reply(p->arg, status, json);
	free(p->slurmd_uid);
	free(p);
}

void sync_hooks_close(struct syncer *s, struct sync_entry *e, int status, const char *json)
{
	LIST_EACH (l, &e->parked)
		answer(s, LIST_ITEM(l, struct parked, link), status, json);
}

/* Names who was in the way, as far as the operator has said so on the Pod. */
static void answer_too_late(struct syncer *s, struct parked *p, const struct pod *pod)
{
	_cleanup_buf_ struct buf json = BUF(BLOCKED_BY_MAX + 128);
	const char *who;

	if (!pod || !is_of(p, pod)) {
		answer(s, p, 504, "{\"error\":\"the Pod that slurmd runs in was not seen in time\"}");
		return;
	}
	who = pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_LOCK_BLOCKED_BY);
	buf_printf(&json, "{\"error\":\"the node was not locked in time%s", who ? ": " : "");
	for (const char *c = str_or(who, ""); *c && json.len < BLOCKED_BY_MAX; c++)
		if (*c != '"' && *c != '\\' && (unsigned char)*c >= ' ')
			buf_add_char(&json, *c);
	buf_add_str(&json, "\"}");
	answer(s, p, 504, buf_text(&json));
}

/* Whether the Pod of slurmd is one that was never seen. */
static bool is_to_come(const struct sync_entry *e, const char *slurmd_uid)
{
	return !str_empty(slurmd_uid) && !str_eq(slurmd_uid, e->pod_uid) && !str_eq(slurmd_uid, e->gone_uid);
}

/* Whether the Pod that a prolog runs in is being deleted, or gone: whatever is locked for it would come too late. */
static bool goes(const struct sync_entry *e, const struct pod *pod, const char *slurmd_uid)
{
	if (!pod || pod->meta.deletion)
		return !is_to_come(e, slurmd_uid);
	return !str_empty(slurmd_uid) && str_eq(slurmd_uid, e->gone_uid);
}

void sync_hooks_look(struct syncer *s, struct sync_entry *e, const struct pod *pod, enum lock_level holds)
{
	usec_t now = sync_now(s), next = USEC_NEVER;
	size_t waited = s->n_parked;

	LIST_EACH (l, &e->parked) {
		struct parked *p = LIST_ITEM(l, struct parked, link);

		if (goes(e, pod, p->slurmd_uid))
			answer(s, p, 409, going_away);
		else if (pod && !pod->meta.deletion && is_of(p, pod) && holds >= p->level)
			answer(s, p, 200,
			       holds == LEVEL_STRICT ? "{\"lock\":\"locked_strict\"}" : "{\"lock\":\"locked\"}");
		else if (now >= p->deadline)
			answer_too_late(s, p, pod);
		else
			next = MIN_OF(next, p->deadline);
	}
	if (s->n_parked != waited) /* nobody may want the lock any more: the job may be gone already */
		next = 0;
	if (next != USEC_NEVER)
		sync_dirty(s, e, next);
}

usec_t sync_hook_deadline(const struct syncer *s, const struct syncer_ask *ask)
{
	usec_t span = ask->timeout ? MIN_OF(ask->timeout, s->o.hook_timeout) : s->o.hook_timeout;

	return usec_add(sync_now(s), span);
}

static void pre_hook(struct syncer *s, struct sync_entry *e, const struct syncer_ask *ask)
{
	struct parked *p;

	if (s->n_parked >= SYNC_PARKED_MAX) {
		ask->reply(ask->arg, 503, "{\"error\":\"too many wait already: ask again\"}");
		return;
	}
	p = NEW(struct parked);
	*p = (struct parked) { .level = ask->strict ? LEVEL_STRICT : LEVEL_NORMAL,
		               .slurmd_uid = str_empty(ask->slurmd_uid) ? NULL : mem_strdup(ask->slurmd_uid),
		               .since = sync_now(s),
		               .reply = ask->reply,
		               .arg = ask->arg };
	p->deadline = sync_hook_deadline(s, ask);
	list_add_tail(&e->parked, &p->link);
	s->n_parked++;
	e->hook = s->last_hook = p->since;
	sync_dirty(s, e, 0);
}

/* ---- reboot ---- */

struct reboot {
	struct syncer *s;
	char *node;
	void (*reply)(void *arg, int status, const char *json);
	void *arg;
};

static void rebooted(void *arg, const struct kube_result *r)
{
	struct reboot *b = arg;

	if (r->outcome == KUBE_OK) {
		log_info("Node %s: a reboot was asked for", b->node);
		b->reply(b->arg, 200, "{\"reboot\":\"requested\"}");
	} else if (r->outcome == KUBE_NOT_FOUND)
		b->reply(b->arg, 404, "{\"error\":\"the Kubernetes Node is gone\"}");
	else if (r->outcome == KUBE_FORBIDDEN)
		b->reply(b->arg, 403, "{\"error\":\"Kubernetes does not let us write Nodes\"}");
	else
		b->reply(b->arg, 503, "{\"error\":\"Kubernetes did not take it: ask again\"}");
	free(b->node);
	free(b);
}

static void reboot(struct syncer *s, const struct pod *pod, const struct syncer_ask *ask)
{
	const struct condition condition = { .type = s->o.reboot_condition,
		                             .status = COND_TRUE,
		                             .reason = s->o.reboot_reason,
		                             .message = "a reboot was asked for through Slurm",
		                             .changed = clock_wall(s->o.clock) };
	struct kube_change change = KUBE_CHANGE(((struct kube_ref) { .kind = KUBE_NODES, .name = pod->node_name }));
	struct reboot *b = NEW(struct reboot);

	*b = (struct reboot) { .s = s, .node = mem_strdup(pod->node_name), .reply = ask->reply, .arg = ask->arg };
	change.conditions = &condition;
	change.n_conditions = 1;
	s->o.kube->ops->change(s->o.kube, &change, rebooted, b);
}

/* ---- */

/* What is wrong with asking for this node: status and words; 0 when nothing is. */
static int refuse(const struct syncer *s, const struct sync_entry *e, const struct pod *pod,
                  const struct syncer_ask *ask, const char **ret_json)
{
	struct extra_memory memory;

	if (!s->leading || !s->feeds[PART_NODES].asked || !sync_pods_known(s)) {
		*ret_json = "{\"error\":\"not the leader, or not ready yet: ask again\"}";
		return 503;
	}
	if (!pod && e && ask->hook == SYNCER_PRE_HOOK && is_to_come(e, ask->slurmd_uid))
		return 0;
	if (pod && ask->hook == SYNCER_PRE_HOOK && goes(e, pod, ask->slurmd_uid)) {
		*ret_json = going_away;
		return 409;
	}
	if (!pod && e && (e->had_pod || (e->node && extra_recall(e->node->extra, &memory)))) {
		*ret_json = going_away;
		return 409;
	}
	if (!pod) {
		*ret_json = "{\"error\":\"there is no such node, or it has no Pod\"}";
		return 404;
	}
	if (ask->hook == SYNCER_REBOOT && !s->o.node_permissions) {
		*ret_json = "{\"error\":\"rebooting is not allowed here (nodePermissions)\"}";
		return 403;
	}
	if (ask->hook == SYNCER_REBOOT && str_empty(pod->node_name)) {
		*ret_json = "{\"error\":\"the node's Pod has no Kubernetes Node yet\"}";
		return 409;
	}
	return 0;
}

void syncer_hook(struct syncer *s, const struct syncer_ask *ask)
{
	struct sync_entry *e = map_get(&s->entries, str_or(ask->node, ""));
	const struct pod *pod = e ? sync_pod(s, e) : NULL;
	const char *json = NULL;
	int status = refuse(s, e, pod, ask, &json);

	if (status) {
		sync_count_hook(s, status, 0);
		ask->reply(ask->arg, status, json);
	} else if (ask->hook == SYNCER_PRE_HOOK)
		pre_hook(s, e, ask);
	else if (ask->hook == SYNCER_POST_HOOK && !str_empty(ask->pod))
		sync_hold(s, pod, ask);
	else if (ask->hook == SYNCER_POST_HOOK) {
		sync_count_hook(s, 200, 0);
		feeds_job_ended(s);
		ask->reply(ask->arg, 200, "{}");
	} else
		reboot(s, pod, ask);
}
