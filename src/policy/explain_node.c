/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/drain.h"
#include "policy/lock.h"
#include "policy/mirror.h"
#include "policy/nodeset.h"
#include "policy/podjob.h"
#include "policy/slurm_conditions.h"
#include "policy/states.h"
#include "policy/whose.h"

#define JOBS_SHOWN 5
#define BLOCKERS_SHOWN 5

/* ---- small words ---- */

static const char *slurm_name(const struct node_facts *f)
{
	return f->snode ? f->snode->name : f->pod ? f->pod->meta.name : f->name;
}

static const char *kube_name(const struct node_facts *f)
{
	return f->knode ? f->knode->meta.name : f->pod && f->pod->node_name ? f->pod->node_name : "its Node";
}

static bool knode_is_ready(const struct knode *n)
{
	const struct condition *c = condition_get(n->conditions, n->n_conditions, "Ready");

	return c && c->status == COND_TRUE;
}

static const char *drain_age(const struct node_facts *f, char age[TIME_TEXT_MAX])
{
	return explain_age(f->snode->reason_set, f->now, age);
}

static struct drain_view drain_view_of(const struct node_facts *f)
{
	return (struct drain_view) { .presence = f->pod          ? PRESENCE_THERE
		                                 : f->kube_error ? PRESENCE_UNKNOWN
		                                 : f->had_pod    ? PRESENCE_GONE
		                                                 : PRESENCE_NEVER,
		                     .pod = f->pod,
		                     .node = f->snode };
}

/* The table's text with the node's name where it has a '#'. */
static void todo_named(struct explanation *e, const char *text, const char *name)
{
	_cleanup_buf_ struct buf out = BUF(EXPLAIN_TEXT_MAX);

	for (; *text; text++) {
		if (*text == '#')
			buf_add_str(&out, name);
		else
			buf_add_char(&out, *text);
	}
	explain_todo(e, "%s", buf_text(&out));
}

static void todo_undrain(const struct node_facts *f, struct explanation *e)
{
	explain_todo(e, "`scontrol update nodename=%s state=undrain`", slurm_name(f));
}

static void todo_pod(const struct node_facts *f, struct explanation *e)
{
	explain_todo(e, "`kubectl describe pod -n %s %s` and `kubectl logs -n %s %s` tell why", f->pod->meta.ns,
	             f->pod->meta.name, f->pod->meta.ns, f->pod->meta.name);
}

uint32_t explain_blockers(const struct node_facts *f, char text[EXPLAIN_TEXT_MAX])
{
	_cleanup_buf_ struct buf out = BUF(EXPLAIN_TEXT_MAX);
	struct lock_words words = { 0 };
	uint32_t n = 0;

	if (f->pod)
		lock_read(&f->pod->meta, &words);
	for (uint32_t i = 0; i < f->n_pods; i++) {
		enum blocker b = lock_blocker(f->pods[i], words.request);

		if (b == BLOCK_NOT || n++ >= BLOCKERS_SHOWN)
			continue;
		buf_printf(&out, "%s%s/%s %s", n > 1 ? "; " : "", f->pods[i]->meta.ns, f->pods[i]->meta.name,
		           blocker_text(b));
	}
	if (n > BLOCKERS_SHOWN)
		buf_printf(&out, "; and %u more", n - BLOCKERS_SHOWN);
	str_copy(text, EXPLAIN_TEXT_MAX, buf_text(&out));
	return n;
}

/* ---- facts ---- */

static void tell_snode(const struct node_facts *f, struct explanation *e)
{
	const struct snode *n = f->snode;
	char age[TIME_TEXT_MAX];

	explain_fact(e, "Slurm node", "%s is %s%s, %u of %u CPUs in use, partitions %s", n->name,
	             snode_words[snode_word(n)], n->flags & NODEF_NO_RESPOND ? " and does not respond" : "",
	             n->cpus_alloc, n->cpus, str_or(n->partitions, "none"));
	if (!str_empty(n->reason) && (n->flags & (NODEF_DRAIN | NODEF_FAIL) || n->state == NODE_DOWN))
		explain_fact(e, "Reason", "\"%s\", set %s ago by %s%s%s", n->reason, drain_age(f, age),
		             str_or(f->reason_user, "someone"), n->flags & NODEF_DRAIN ? ": drain of " : "",
		             n->flags & NODEF_DRAIN ? whose_word(whose_drain(n)) : "");
}

static void tell_jobs(const struct node_facts *f, struct explanation *e)
{
	for (uint32_t i = 0; i < f->n_jobs && i < JOBS_SHOWN; i++) {
		const struct job *j = &f->jobs[i];
		char age[TIME_TEXT_MAX];
		struct extra_id id;

		if (extra_parse(j->extra, &id))
			explain_fact(e, "Job", "%u is %s, stands for Pod %s/%s, began %s ago", j->id,
			             job_words[job_word(j)], id.ns, id.name, explain_age(j->started, f->now, age));
		else
			explain_fact(e, "Job", "%u (%s) of %s is %s, began %s ago", j->id, str_or(j->name, ""),
			             str_or(j->user, "?"), job_words[job_word(j)],
			             explain_age(j->started, f->now, age));
	}
	if (f->n_jobs > JOBS_SHOWN)
		explain_fact(e, "Job", "and %u more: `squeue -w %s`", f->n_jobs - JOBS_SHOWN, slurm_name(f));
}

static void tell_pod(const struct node_facts *f, struct explanation *e)
{
	const struct pod *p = f->pod;
	const char *nodeset = pair_get(p->meta.labels, p->meta.n_labels, LABEL_NODESET);
	const struct condition *verified = condition_get(p->conditions, p->n_conditions, CONDITION_VERIFIED);
	char age[TIME_TEXT_MAX];

	explain_fact(e, "NodeSet Pod", "%s/%s is %sready%s%s, NodeSet %s, on %s", p->meta.ns, p->meta.name,
	             pod_is_ready(p) ? "" : "not ", p->meta.deletion ? ", being deleted" : "",
	             pod_pending_deletion(p) && !p->meta.deletion ? ", to be deleted when idle" : "",
	             str_empty(nodeset) ? "not named" : nodeset, str_or(p->node_name, "no Node yet"));
	if (verified)
		explain_fact(e, "NodeSet Pod", "%s=%s for %s", CONDITION_VERIFIED,
		             verified->status == COND_TRUE ? "True" : "False or Unknown",
		             explain_age(verified->changed, f->now, age));
	if (f->slurm_error) {
		const struct condition *drain = condition_get(p->conditions, p->n_conditions, CONDITION_DRAIN);

		if (drain && drain->status == COND_TRUE)
			explain_fact(e, "NodeSet Pod", "when Slurm was last heard of, it was drained: %s",
			             str_or(drain->message, ""));
	}
}

static void tell_lock(const struct node_facts *f, struct explanation *e)
{
	struct lock_words pod = { 0 }, node = { 0 };
	char text[EXPLAIN_TEXT_MAX];

	if (f->pod)
		lock_read(&f->pod->meta, &pod);
	if (f->knode) {
		lock_read(&f->knode->meta, &node);
		node.taint = node_has_lock_taint(f->knode);
	}
	if (pod.request == LEVEL_NONE && pod.state == LOCK_FALSE && node.state == LOCK_FALSE && !node.taint)
		return;
	explain_fact(e, "Lock", "%s%s%s; %s says %s%s", pod.request == LEVEL_NONE ? "not asked for" : "asked for (",
	             pod.request == LEVEL_NONE ? "" : lock_level_text(pod.request),
	             pod.request == LEVEL_NONE ? "" : ")", kube_name(f), lock_state_text(node.state),
	             node.taint ? ", and is tainted" : "");
	if (pod.request != LEVEL_NONE && explain_blockers(f, text))
		explain_fact(e, "Lock", "in its way: %s", text);
}

static void tell_knode(const struct node_facts *f, struct explanation *e)
{
	const struct knode *n = f->knode;
	const char *why = pair_get(n->meta.annotations, n->meta.n_annotations, ANNOTATION_CORDON_REASON);

	explain_fact(e, "Node", "%s is %sReady%s%s%s, %u Pod%s on it", n->meta.name, knode_is_ready(n) ? "" : "not ",
	             n->unschedulable ? ", cordoned" : "", n->unschedulable && !str_empty(why) ? ": " : "",
	             n->unschedulable && !str_empty(why) ? why : "", f->n_pods, f->n_pods == 1 ? "" : "s");
}

static void tell_facts(const struct node_facts *f, struct explanation *e)
{
	if (f->snode)
		tell_snode(f, e);
	else if (f->slurm_error)
		explain_fact(e, "Slurm node", "cannot be asked for: %s", f->slurm_error);
	else
		explain_fact(e, "Slurm node", "there is none named %s", slurm_name(f));
	tell_jobs(f, e);
	if (f->pod)
		tell_pod(f, e);
	else if (f->kube_error)
		explain_fact(e, "NodeSet Pod", "cannot be asked for: %s", f->kube_error);
	else
		explain_fact(e, "NodeSet Pod", "there is none%s", f->had_pod ? " any more" : "");
	tell_lock(f, e);
	if (f->knode)
		tell_knode(f, e);
	else if (f->knode_error)
		explain_fact(e, "Node", "%s cannot be asked for: %s", kube_name(f), f->knode_error);
}

/* ---- conclusions: one for each way a node can be; the first that holds is it ---- */

static bool is_nowhere(const struct node_facts *f, struct explanation *e)
{
	if (f->snode || f->pod || f->knode || f->slurm_error || f->kube_error)
		return false;
	explain_is(e, "absent", "Neither Slurm nor Kubernetes has a node %s.", f->name);
	return true;
}

static bool is_unseen(const struct node_facts *f, struct explanation *e)
{
	if (!f->slurm_error)
		return false;
	explain_is(e, "unknown", "Slurm cannot be asked about %s.", slurm_name(f));
	explain_waits(e, "Slurm: %s", f->slurm_error);
	explain_todo(e, "`sunk check` tells what is wrong; drains and locks stay as they are meanwhile");
	return true;
}

static bool is_not_in_slurm(const struct node_facts *f, struct explanation *e)
{
	if (f->snode)
		return false;
	if (f->pod) {
		explain_is(e, "unregistered", "Slurm has no node %s, but its NodeSet Pod is there and %sready.",
		           slurm_name(f), pod_is_ready(f->pod) ? "" : "not ");
		explain_waits(e, "slurmd to register, or slurm.conf to name it");
		todo_pod(f, e);
		return true;
	}
	explain_is(e, "outside", "%s carries no NodeSet Pod: Slurm runs nothing there.", f->name);
	explain_todo(e, "nothing; `kubectl describe nodesets -A` tells which Nodes they take");
	return true;
}

static bool is_rebooting(const struct node_facts *f, struct explanation *e)
{
	if (!(f->snode->flags & (NODEF_REBOOT_REQUESTED | NODEF_REBOOT_ISSUED)))
		return false;
	explain_is(e, "rebooting", "%s is about to be rebooted by Slurm.", slurm_name(f));
	explain_waits(e, f->n_jobs && !(f->snode->flags & NODEF_REBOOT_ISSUED) ? "its jobs to end, then the reboot"
	                                                                       : "the machine to come back");
	explain_todo(e, "nothing; `scontrol cancel_reboot %s` calls it off", slurm_name(f));
	return true;
}

/* slurmd is away: why, as far as Kubernetes knows. */
static void todo_slurmd(const struct node_facts *f, struct explanation *e)
{
	if (f->kube_error)
		explain_todo(e, "Kubernetes cannot be asked for its Pod: `sunk check`");
	else if (!f->pod && f->had_pod)
		explain_todo(e, "its NodeSet Pod is gone: `kubectl describe nodesets -A` tells whether another comes");
	else if (!f->pod)
		explain_todo(e, "see whether slurmd runs on %s: `systemctl status slurmd` there", slurm_name(f));
	else if (f->knode && !knode_is_ready(f->knode))
		explain_todo(e,
		             "%s is not Ready: see whether the machine is on, and its kubelet runs: `kubectl describe "
		             "node %s`",
		             kube_name(f), kube_name(f));
	else if (!pod_is_ready(f->pod))
		todo_pod(f, e);
	else
		explain_todo(
		        e,
		        "its Pod is ready, so look at slurmd and at the network between it and slurmctld: `kubectl "
		        "logs -n %s %s`",
		        f->pod->meta.ns, f->pod->meta.name);
}

static bool is_down(const struct node_facts *f, struct explanation *e)
{
	const struct snode *n = f->snode;
	char age[TIME_TEXT_MAX];

	if (n->state != NODE_DOWN)
		return false;
	explain_is(e, "down", "%s has been down for %s: %s.", n->name, drain_age(f, age),
	           str_empty(n->reason) ? "Slurm does not say why" : n->reason);
	explain_waits(e, "slurmd to register again");
	todo_slurmd(f, e);
	if (!(n->flags & NODEF_NO_RESPOND))
		explain_todo(e, "slurmd answers: if a person set it down, `scontrol update nodename=%s state=resume`",
		             n->name);
	return true;
}

/* A drain of ours, by the condition that it is for. */
static void explain_ours(const struct node_facts *f, const char *since, struct explanation *e)
{
	const struct drain_view v = drain_view_of(f);
	char wanted[DRAIN_REASON_MAX];
	const char *cordon = f->pod ? pod_cordon(f->pod) : NULL;

	if (v.presence == PRESENCE_UNKNOWN) {
		explain_is(e, "drained", "%s has been drained for %s by Kubernetes (%s), which cannot be asked now.",
		           slurm_name(f), since, f->snode->reason);
		explain_waits(e, "Kubernetes: %s", f->kube_error);
		explain_todo(e, "`sunk check` tells what is wrong");
	} else if (!drain_wanted(&v, wanted)) {
		explain_is(e, "drained", "%s has been drained for %s (%s), but that is over.", slurm_name(f), since,
		           f->snode->reason);
		explain_waits(e, drain_slurmd_answers(f->snode) ? "the syncer to lift it"
		                                                : "slurmd to answer; then the syncer lifts it");
		explain_todo(e, "nothing, unless it stays: then see whether `sunk syncer` runs and leads");
	} else if (!f->pod) {
		explain_is(e, "drained", "%s has been drained for %s because its NodeSet Pod is gone.", slurm_name(f),
		           since);
		explain_waits(e, "a NodeSet Pod of that name to be there and ready");
		explain_todo(e,
		             "`kubectl describe nodesets -A` tells whether another comes; if the node is to stay "
		             "without a Pod: `scontrol update nodename=%s extra=` first, then undrain it",
		             slurm_name(f));
	} else if (pod_pending_deletion(f->pod)) {
		explain_is(e, "drained", "%s has been drained for %s because its NodeSet Pod is about to be deleted.",
		           slurm_name(f), since);
		explain_waits(e, f->n_jobs ? "its jobs to end; then the Pod is deleted" : "the Pod to be gone");
		explain_todo(e, "nothing; `kubectl describe nodesets -n %s` tells what the NodeSet is doing",
		             f->pod->meta.ns);
	} else if (cordon) {
		explain_is(e, "drained", "%s has been drained for %s because Node %s is cordoned: %s.", slurm_name(f),
		           since, kube_name(f), str_empty(cordon) ? "no reason given" : cordon);
		explain_waits(e, "%s to be uncordoned; the drain goes with it", kube_name(f));
		explain_todo(e, "`kubectl uncordon %s`", kube_name(f));
	} else {
		explain_is(e, "drained", "%s has been drained for %s because its NodeSet Pod is not ready.",
		           slurm_name(f), since);
		explain_waits(e, "the Pod to be ready; the drain goes with it");
		todo_slurmd(f, e);
	}
}

/* A drain that stays until someone lifts it; then Kubernetes may want one of its own. */
static void explain_theirs(const struct node_facts *f, enum whose whose, const char *since, struct explanation *e)
{
	const struct slurm_finding *finding = slurm_finding_of(f->snode->reason);
	const struct drain_view v = drain_view_of(f);
	const char *reason = str_empty(f->snode->reason) ? "no reason given" : f->snode->reason;
	char wanted[DRAIN_REASON_MAX];

	if (whose == WHOSE_SLURM) {
		explain_is(e, "drained", "%s has been drained for %s by Slurm itself (%s): %s.", slurm_name(f), since,
		           reason, finding->means);
		explain_waits(e, "someone to repair it and to undrain it");
		todo_named(e, finding->todo, slurm_name(f));
	} else if (whose == WHOSE_VERIFIER) {
		explain_is(e, "drained", "%s has been drained for %s until it is verified: %s.", slurm_name(f), since,
		           reason);
		explain_waits(e, "condition HPCVerification=True on its NodeSet Pod, newer than the drain");
		explain_todo(e, "whatever verifies nodes does it; by hand:");
	} else {
		explain_is(e, "drained", "%s has been drained for %s by %s: %s.", slurm_name(f), since,
		           str_or(f->reason_user, "a person"), reason);
		explain_waits(e, "a person to undrain it: sunk never touches this drain");
	}
	todo_undrain(f, e);
	if (v.presence != PRESENCE_UNKNOWN && drain_wanted(&v, wanted))
		explain_todo(e, "once that is lifted, it will be drained again by Kubernetes: %s", wanted);
}

static bool is_drained(const struct node_facts *f, struct explanation *e)
{
	enum whose whose = whose_drain(f->snode);
	char age[TIME_TEXT_MAX];
	const char *since = drain_age(f, age);

	if (whose == WHOSE_NOBODY)
		return false;
	if (whose == WHOSE_KUBERNETES)
		explain_ours(f, since, e);
	else if (whose == WHOSE_SCHEDULER) {
		char text[EXPLAIN_TEXT_MAX];

		explain_is(e, "drained", "%s has been drained for %s because a Pod is still there whose job is over.",
		           slurm_name(f), since);
		explain_waits(e, "that Pod to be gone; then the scheduler lifts it%s%s",
		              explain_blockers(f, text) ? ": " : "", text);
		explain_todo(e,
		             "see why it does not end: `kubectl get pods -A --field-selector spec.nodeName=%s`; its "
		             "kubelet may be dead",
		             kube_name(f));
	} else
		explain_theirs(f, whose, since, e);
	if (snode_is_running(f->snode))
		e->state = "draining";
	return true;
}

static bool is_silent(const struct node_facts *f, struct explanation *e)
{
	if (!(f->snode->flags & NODEF_NO_RESPOND))
		return false;
	explain_is(e, "silent", "%s does not respond: nothing new starts there.", slurm_name(f));
	explain_waits(e, "slurmd to answer; after SlurmdTimeout the node is down and its jobs are lost");
	todo_slurmd(f, e);
	return true;
}

/* What Kubernetes wants has not reached Slurm: somebody between is away. */
static bool is_unheard(const struct node_facts *f, struct explanation *e)
{
	const struct drain_view v = drain_view_of(f);
	bool cordoned = f->knode && f->knode->unschedulable && f->pod && !pod_cordon(f->pod);
	char wanted[DRAIN_REASON_MAX];

	if (v.presence == PRESENCE_UNKNOWN || drain_hands_off(f->snode))
		return false;
	if (drain_wanted(&v, wanted)) {
		explain_is(e, "undrained", "%s should be drained (%s), and is not yet.", slurm_name(f), wanted);
		explain_waits(e, "the syncer, which does it at once when it can");
		explain_todo(e, "if it stays: see whether `sunk syncer` runs and leads (`/readyz`, its log)");
		return true;
	}
	if (!cordoned)
		return false;
	explain_is(e, "undrained", "%s should be drained, for %s is cordoned, and is not yet.", slurm_name(f),
	           kube_name(f));
	explain_waits(e, "the operator to tell its NodeSet Pod, then the syncer");
	explain_todo(e, "if it stays: see whether `sunk operator` runs and leads (`/readyz`, its log)");
	return true;
}

static bool is_locking(const struct node_facts *f, struct explanation *e)
{
	char text[EXPLAIN_TEXT_MAX];
	struct lock_words words;
	uint32_t n;

	if (!f->pod)
		return false;
	lock_read(&f->pod->meta, &words);
	if (words.request == LEVEL_NONE || lock_satisfies(&words, words.request))
		return false;
	n = explain_blockers(f, text);
	explain_is(e, "locking", "A job is about to start on %s; its prolog waits until Kubernetes has left %s.",
	           slurm_name(f), kube_name(f));
	if (n) {
		explain_waits(e, "%u Pod%s to go: %s", n, n == 1 ? "" : "s", text);
		explain_todo(e,
		             "nothing, unless one does not go: `kubectl get pods -A --field-selector spec.nodeName=%s`",
		             kube_name(f));
	} else {
		explain_waits(e, "the operator to lock it");
		explain_todo(e, "nothing, unless it stays: then see whether `sunk operator` runs and leads");
	}
	explain_todo(e, "when it takes too long the prolog fails, and Slurm drains the node");
	return true;
}

static bool is_set_aside(const struct node_facts *f, struct explanation *e)
{
	static const struct {
		enum snode_word word;
		const char *what, *todo;
	} table[] = {
		{ NODEW_FAIL, "was marked as failing by a person", "`scontrol update nodename=# state=resume`" },
		{ NODEW_FAILING, "was marked as failing by a person, and still runs jobs",
		  "`scontrol update nodename=# state=resume`" },
		{ NODEW_MAINT, "is in a reservation for maintenance", "`scontrol show reservation` tells until when" },
		{ NODEW_RESERVED, "is in a reservation: only those it is for may use it",
		  "`scontrol show reservation` tells for whom and until when" },
		{ NODEW_POWERED_DOWN, "is powered down to save energy",
		  "nothing; Slurm powers it up when it is needed" },
		{ NODEW_POWERING_DOWN, "is being powered down to save energy", "nothing" },
		{ NODEW_POWERING_UP, "is being powered up", "nothing" },
		{ NODEW_INVAL, "registered with less than slurm.conf says",
		  "slurmctld's log names it; repair #, or correct slurm.conf" },
		{ NODEW_ERROR, "is in error", "`scontrol show node #` may tell why" },
		{ NODEW_FUTURE, "is only planned: slurm.conf says FUTURE", "nothing, until its slurmd comes" },
		{ NODEW_UNKNOWN, "has not registered since slurmctld started", "see whether slurmd on # runs" },
	};
	enum snode_word word = snode_word(f->snode);

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (table[i].word != word)
			continue;
		explain_is(e, "set-aside", "%s %s.", slurm_name(f), table[i].what);
		todo_named(e, table[i].todo, slurm_name(f));
		return true;
	}
	return false;
}

static bool is_busy(const struct node_facts *f, struct explanation *e)
{
	if (!f->n_jobs && !snode_is_running(f->snode))
		return false;
	explain_is(e, "busy", "Nothing holds %s: it runs %u job%s, %u of %u CPUs are in use.", slurm_name(f), f->n_jobs,
	           f->n_jobs == 1 ? "" : "s", f->snode->cpus_alloc, f->snode->cpus);
	return true;
}

static bool is_idle(const struct node_facts *f, struct explanation *e)
{
	struct lock_words words = { 0 };

	if (f->pod)
		lock_read(&f->pod->meta, &words);
	if (words.request != LEVEL_NONE || words.state != LOCK_FALSE || (f->knode && node_has_lock_taint(f->knode))) {
		explain_is(e, "unlocking", "Nothing runs on %s, and %s is still locked.", slurm_name(f), kube_name(f));
		explain_waits(e, "the syncer and the operator to unlock it: Kubernetes may place Pods there then");
		explain_todo(e, "nothing, unless it stays: then see whether both run and lead");
		return true;
	}
	explain_is(e, "idle", "Nothing holds %s: it is idle, and free for jobs%s.", slurm_name(f),
	           f->pod ? " and Pods" : "");
	return true;
}

void explain_node(const struct node_facts *f, struct explanation *ret)
{
	static bool (*const ways[])(const struct node_facts *f, struct explanation *e) = {
		is_nowhere, is_unseen,  is_not_in_slurm, is_rebooting, is_down, is_drained,
		is_silent,  is_unheard, is_locking,      is_set_aside, is_busy, is_idle,
	};

	*ret = (struct explanation) { .state = "unknown" };
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (ways[i](f, ret))
			break;
	tell_facts(f, ret);
}
