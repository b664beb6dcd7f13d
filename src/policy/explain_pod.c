/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/explain_reason.h"
#include "policy/placeholder.h"
#include "policy/podjob.h"
#include "policy/resources.h"
#include "policy/states.h"

#define SILENT_AFTER (30 * USEC_SEC) /* a Pod that is ours and has no job for so long */
#define LATE_AFTER (30 * USEC_SEC)   /* a Pod that is still there so long after its time */
#define EVENTS_SHOWN 5
#define MIB (1 << 20)

static const char *const phase_names[] = {
	[POD_PHASE_UNKNOWN] = "in a phase that is not known",
	[POD_PENDING] = "Pending",
	[POD_RUNNING] = "Running",
	[POD_SUCCEEDED] = "Succeeded",
	[POD_FAILED] = "Failed",
};

static bool is_over(const struct job *j)
{
	return j->state >= JOB_COMPLETE && !(j->flags & JOBF_COMPLETING);
}

const struct job *explain_job_of(const struct pod_facts *f)
{
	const struct job *best = NULL;

	for (uint32_t i = 0; i < f->n_jobs; i++)
		if (!best || !is_over(&f->jobs[i]) || is_over(best))
			best = &f->jobs[i];
	return best;
}

static bool has_started(const struct job *j)
{
	struct extra_id id;

	return extra_parse(j->extra, &id) && id.mark == EXTRA_STARTED && id.restarts == j->restarts;
}

static bool is_ours(const struct pod_facts *f)
{
	const char *name = f->pod->scheduler_name;

	if (f->rules && !str_empty(f->rules->scheduler_name))
		return str_eq(name, f->rules->scheduler_name);
	return f->n_jobs || pair_get(f->pod->meta.annotations, f->pod->meta.n_annotations, ANNOTATION_JOB_ID) ||
	       (!str_empty(name) && !str_eq(name, "default-scheduler"));
}

static bool pod_over(const struct pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static bool node_is_ready(const struct knode *n)
{
	const struct condition *c = condition_get(n->conditions, n->n_conditions, "Ready");

	return c && c->status == COND_TRUE;
}

/* Facts */

static void tell_request(const struct pod_facts *f, struct buf *out)
{
	const struct rules *r = f->rules;

	int64_t cpu = resources_effective(f->pod, "cpu");

	if (cpu % 1000)
		buf_printf(out, "asks for %" PRId64 " thousandths of a CPU", cpu);
	else
		buf_printf(out, "asks for %" PRId64 " CPUs", cpu / 1000);
	buf_printf(out, ", %" PRId64 " MiB of memory", resources_effective(f->pod, "memory") / 1000 / MIB);
	for (uint32_t i = 0; r && i < r->n_gpu_resources; i++) {
		int64_t n = resources_effective(f->pod, r->gpu_resources[i]) / 1000;

		if (n)
			buf_printf(out, ", %" PRId64 " %s", n, r->gpu_resources[i]);
	}
}

static void tell_pod(const struct pod_facts *f, struct explanation *e)
{
	_cleanup_buf_ struct buf asks = BUF(EXPLAIN_TEXT_MAX);
	const struct pod *p = f->pod;
	const struct condition *c = condition_get(p->conditions, p->n_conditions, "PodScheduled");
	char age[TIME_TEXT_MAX];

	tell_request(f, &asks);
	explain_fact(e, "Pod", "%s%s, made %s ago, %s", phase_names[p->phase],
	             p->meta.deletion ? ", being deleted" : "", explain_age(p->meta.created, f->now, age),
	             buf_text(&asks));
	if (c && c->status == COND_FALSE)
		explain_fact(e, "Pod", "PodScheduled=False, %s: %s", str_or(c->reason, ""), str_or(c->message, ""));
}

static void tell_job(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	bool reason = !str_empty(j->reason) && !str_eq(j->reason, "None");
	char age[TIME_TEXT_MAX];

	explain_fact(e, "Job", "%u is %s%s%s%s%s%s, partition %s, submitted %s ago%s%s", j->id, job_words[job_word(j)],
	             reason ? " (" : "", reason ? j->reason : "", reason ? ")" : "", j->user_cancelled_by ? " by " : "",
	             str_or(j->user_cancelled_by, ""), str_or(j->partition, "?"),
	             explain_age(j->submitted, f->now, age), str_empty(j->nodes) ? "" : ", on ", str_or(j->nodes, ""));
}

static void tell_snode(const struct snode *n, struct explanation *e)
{
	bool drain = n->flags & NODEF_DRAIN && !str_empty(n->reason), silent = n->flags & NODEF_NO_RESPOND;

	explain_fact(e, "Slurm node", "%s is %s%s%s%s%s, %u of %u CPUs in use", n->name, snode_words[snode_word(n)],
	             drain ? " (" : "", drain ? n->reason : "", drain ? ")" : "", silent ? " and does not respond" : "",
	             n->cpus_alloc, n->cpus);
}

static void tell_knode(const struct knode *n, struct explanation *e)
{
	explain_fact(e, "Node", "%s: %s%s", n->meta.name, node_is_ready(n) ? "Ready" : "not Ready",
	             n->unschedulable ? ", cordoned" : "");
}

static void tell_events(const struct pod_facts *f, struct explanation *e)
{
	uint32_t first = f->n_events > EVENTS_SHOWN ? f->n_events - EVENTS_SHOWN : 0;
	char age[TIME_TEXT_MAX], times[32];

	for (uint32_t i = first; i < f->n_events; i++) {
		const struct pod_event *v = &f->events[i];

		snprintf(times, sizeof(times), " (%" PRId64 " times)", v->count);
		explain_fact(e, "Event", "%s ago%s, %s: %s", explain_age(v->last, f->now, age),
		             v->count > 1 ? times : "", str_or(v->reason, "?"), str_or(v->message, ""));
	}
}

static void tell_facts(const struct pod_facts *f, struct explanation *e)
{
	if (f->pod)
		tell_pod(f, e);
	for (uint32_t i = 0; i < f->n_jobs; i++)
		tell_job(f, &f->jobs[i], e);
	if (f->slurm_error)
		explain_fact(e, "Slurm", "cannot be asked: %s", f->slurm_error);
	if (f->snode)
		tell_snode(f->snode, e);
	if (f->knode)
		tell_knode(f->knode, e);
	else if (f->knode_error)
		explain_fact(e, "Node", "%s: %s", f->pod ? str_or(f->pod->node_name, "?") : "?", f->knode_error);
	if (f->leader)
		explain_fact(e, "Scheduler", "%s%s", *f->leader ? "led by " : "nobody leads it", f->leader);
	tell_events(f, e);
}

/* Conclusions, one for each way a Pod can be; the first that holds is it. Each returns whether it does. */

static bool is_not_there(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	if (f->pod)
		return false;
	if (!j || is_over(j)) {
		explain_is(e, "absent", "There is no Pod %s/%s.", f->ns, f->name);
		return true;
	}
	explain_is(e, "orphan", "There is no Pod %s/%s, but Slurm job %u still stands for one.", f->ns, f->name, j->id);
	explain_waits(e, "the scheduler to cancel the job");
	explain_todo(e, "nothing, unless it stays: then see whether the scheduler runs, or `scancel %u`", j->id);
	return true;
}

static bool is_foreign(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const char *name = str_empty(f->pod->scheduler_name) ? "default-scheduler" : f->pod->scheduler_name;

	(void)j;
	if (is_ours(f))
		return false;
	explain_is(e, "foreign", "Pod %s/%s is not scheduled by Slurm: its spec.schedulerName is %s.", f->ns, f->name,
	           name);
	if (f->rules && !str_empty(f->rules->scheduler_name))
		explain_todo(e, "to run it through Slurm, make it anew with spec.schedulerName: %s",
		             f->rules->scheduler_name);
	else
		explain_todo(e,
		             "to run it through Slurm, make it anew with the scheduler's name as spec.schedulerName");
	return true;
}

static bool is_ending(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const struct pod *p = f->pod;
	char age[TIME_TEXT_MAX];

	if (!p->meta.deletion || pod_over(p))
		return false;
	explain_is(e, "ending", "Pod %s/%s is being deleted%s.", f->ns, f->name,
	           j && !is_over(j) ? "; its Slurm job ends only when it is gone" : "");
	if (str_empty(p->node_name))
		return true;
	explain_waits(e, "the kubelet of %s to end its containers", p->node_name);
	if (f->knode && !node_is_ready(f->knode))
		explain_todo(e,
		             "%s is not Ready, its kubelet may be dead. Once you are sure that the machine is off: "
		             "`kubectl delete pod -n %s %s --grace-period=0 --force`",
		             p->node_name, f->ns, f->name);
	else if (f->now > p->meta.deletion + LATE_AFTER)
		explain_todo(e,
		             "it should have been gone %s ago: look at the kubelet of %s, and at finalizers of the Pod",
		             explain_age(p->meta.deletion, f->now, age), p->node_name);
	return true;
}

static bool is_finished(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	if (!pod_over(f->pod))
		return false;
	if (f->pod->phase == POD_SUCCEEDED)
		explain_is(e, "succeeded", "Pod %s/%s has succeeded.", f->ns, f->name);
	else
		explain_is(e, "failed", "Pod %s/%s has failed with exit code %d%s%s%s.", f->ns, f->name,
		           pod_exit_code(f->pod), str_empty(f->pod->reason) ? "" : " (", str_or(f->pod->reason, ""),
		           str_empty(f->pod->reason) ? "" : ")");
	if (f->pod->phase == POD_FAILED)
		explain_todo(e, "`kubectl logs -n %s %s` may tell why", f->ns, f->name);
	if (j && !is_over(j))
		explain_waits(e, "its placeholder job %u to end", j->id);
	return true;
}

static bool is_bound(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const struct pod *p = f->pod;

	if (str_empty(p->node_name))
		return false;
	if (!f->slurm_error && !j && !pod_had_job(p)) {
		explain_is(e, "bypassed",
		           "Pod %s/%s was put onto %s by somebody else: it never had a Slurm job, and the scheduler "
		           "leaves it alone.",
		           f->ns, f->name, p->node_name);
		explain_todo(e, "Slurm does not know what it takes there; to run it through Slurm, make it anew "
		                "without spec.nodeName");
		return true;
	}
	if (!f->slurm_error && (!j || is_over(j))) {
		explain_is(e, "lost", "Pod %s/%s is on %s, but no Slurm job holds that place for it any more.", f->ns,
		           f->name, p->node_name);
		explain_waits(e, "the scheduler to delete it");
		explain_todo(e, "nothing; its controller, if it has one, makes another. If it stays: see whether the "
		                "scheduler runs");
		return true;
	}
	if (p->phase == POD_RUNNING) {
		explain_is(e, "running", "Pod %s/%s runs on %s.", f->ns, f->name, p->node_name);
		if (f->knode && !node_is_ready(f->knode))
			explain_todo(e, "%s is not Ready: what is said of the Pod may be old", p->node_name);
		return true;
	}
	explain_is(e, "starting", "Pod %s/%s starts on %s.", f->ns, f->name, p->node_name);
	explain_waits(e, "the kubelet of %s to start its containers", p->node_name);
	for (uint32_t i = 0; i < p->n_init_statuses + p->n_statuses; i++) {
		const struct container_status *s =
		        i < p->n_init_statuses ? &p->init_statuses[i] : &p->statuses[i - p->n_init_statuses];

		if (s->waiting && !str_empty(s->reason))
			explain_todo(e, "container %s waits: %s%s%s", s->name, s->reason,
			             str_empty(s->message) ? "" : ", ", str_or(s->message, ""));
	}
	return true;
}

static bool is_gated(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	(void)j;
	if (!f->pod->n_gates)
		return false;
	explain_is(e, "gated", "Pod %s/%s is not to be scheduled yet.", f->ns, f->name);
	explain_waits(e, "its scheduling gate %s%s to be removed", f->pod->gates[0],
	              f->pod->n_gates > 1 ? " and others" : "");
	explain_todo(e, "whoever set the gate removes it; nothing is wrong with Slurm");
	return true;
}

static bool is_refused(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	if (!f->problems || !f->problems->n_errors || (j && !is_over(j)))
		return false;
	explain_is(e, "refused", "Pod %s/%s cannot be handed to Slurm as it is.", f->ns, f->name);
	for (uint32_t i = 0; i < f->problems->n; i++)
		if (!f->problems->list[i].warning)
			explain_todo(e, "%s: %s", f->problems->list[i].field, f->problems->list[i].text);
	return true;
}

static bool cannot_be_known(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	(void)j;
	if (!f->slurm_error)
		return false;
	explain_is(e, "unknown", "Pod %s/%s waits, and Slurm cannot be asked why.", f->ns, f->name);
	explain_waits(e, "Slurm: %s", f->slurm_error);
	explain_todo(e, "`sunk check` tells what is wrong");
	return true;
}

static bool has_no_job(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const struct condition *c = condition_get(f->pod->conditions, f->pod->n_conditions, "PodScheduled");
	bool told = c && c->status == COND_FALSE && !str_empty(c->message);

	if (j && !is_over(j))
		return false;
	explain_is(e, "unsubmitted", "Pod %s/%s has no Slurm job%s.", f->ns, f->name, j ? " any more" : " yet");
	if (told)
		explain_waits(e, "%s", c->message);
	else
		explain_waits(e, "the scheduler to submit one");
	if (f->leader && !*f->leader)
		explain_todo(e, "nobody leads the scheduler %s: see whether it runs",
		             str_or(f->pod->scheduler_name, ""));
	else if (!told && f->now > f->pod->meta.created + SILENT_AFTER)
		explain_todo(e, "see whether a scheduler named %s runs and looks at namespace %s",
		             str_or(f->pod->scheduler_name, "?"), f->ns);
	return true;
}

/* Puts the job's id where the table has a '#'. */
static void add_reason_todo(struct explanation *e, const char *text, uint32_t id)
{
	_cleanup_buf_ struct buf out = BUF(EXPLAIN_TEXT_MAX);

	for (; *text; text++) {
		if (*text == '#')
			buf_printf(&out, "%u", id);
		else
			buf_add_char(&out, *text);
	}
	explain_todo(e, "%s", buf_text(&out));
}

static bool is_queued(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const struct slurm_reason *r;
	bool detail = !str_empty(j->reason_detail) && !str_eq(j->reason_detail, j->reason);

	if (j->state != JOB_PENDING)
		return false;
	r = slurm_reason_of(j->reason);
	explain_is(e, "queued", "Pod %s/%s waits in Slurm's queue as job %u (%s).", f->ns, f->name, j->id,
	           str_empty(j->reason) ? "None" : j->reason);
	explain_waits(e, "%s%s%s%s", r->waits_for, detail ? " (" : "", detail ? j->reason_detail : "",
	              detail ? ")" : "");
	if (r->todo)
		add_reason_todo(e, r->todo, j->id);
	return true;
}

static bool is_placed(const struct pod_facts *f, const struct job *j, struct explanation *e)
{
	const char *nodes = str_or(j->nodes, "its node");

	if (j->flags & JOBF_COMPLETING)
		explain_is(e, "ending", "Slurm ends job %u, which stands for Pod %s/%s.", j->id, f->ns, f->name);
	else if (j->state == JOB_SUSPENDED) {
		explain_is(e, "suspended", "Slurm has suspended job %u, which stands for Pod %s/%s.", j->id, f->ns,
		           f->name);
		explain_todo(e, "`scontrol resume %u`", j->id);
	} else if (!has_started(j)) {
		explain_is(e, "placed", "Slurm has chosen %s for Pod %s/%s and starts its job %u there.", nodes, f->ns,
		           f->name, j->id);
		explain_waits(e, "the prolog of %s, and the job's script to say that it has started", nodes);
	} else {
		explain_is(e, "placed", "Slurm has chosen %s for Pod %s/%s; the Pod is to be bound to its Node.", nodes,
		           f->ns, f->name);
		explain_waits(e, "the scheduler to bind it");
	}
	if (f->snode && f->snode->flags & NODEF_NO_RESPOND)
		explain_todo(e, "%s does not respond: look at its slurmd", f->snode->name);
	if (f->leader && !*f->leader)
		explain_todo(e, "nobody leads the scheduler: see whether it runs");
	return true;
}

void explain_pod(const struct pod_facts *f, struct explanation *ret)
{
	static bool (*const ways[])(const struct pod_facts *f, const struct job *j, struct explanation *e) = {
		is_not_there, is_foreign,      is_ending,  is_finished, is_bound,  is_gated,
		is_refused,   cannot_be_known, has_no_job, is_queued,   is_placed,
	};
	const struct job *j = explain_job_of(f);

	*ret = (struct explanation) { .state = "unknown" };
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (ways[i](f, j, ret))
			break;
	tell_facts(f, ret);
}
