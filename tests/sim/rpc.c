/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a process sees of the model Slurm. A request arrives within ARRIVAL_MAX or never; what it asks for is as of its arrival,
 * and older when the answer comes.
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

struct rpc {
	uint64_t life;
	enum role role; /* of that life */
	struct slurm_request ask; /* its texts and structs are owned by this one */
	struct job_spec spec;
	struct job_change job_change;
	struct node_change node_change;
	char **env;
	slurm_done done;
	void *arg;
	struct slurm_result r;
	char message[128];
	bool answer_lost;
	usec_t served;
};

static const char *const verbs[SLURM_VERBS] = {
	[SLURM_PING] = "ping",
	[SLURM_LOAD_CONF] = "conf",
	[SLURM_LOAD_STATS] = "stats",
	[SLURM_LOAD_PARTITIONS] = "partitions",
	[SLURM_LOAD_JOB_STATES] = "states",
	[SLURM_LOAD_JOBS] = "jobs",
	[SLURM_LOAD_JOB] = "job",
	[SLURM_LOAD_NODES] = "nodes",
	[SLURM_LOAD_NODE] = "node",
	[SLURM_SUBMIT] = "submit",
	[SLURM_CANCEL] = "cancel",
	[SLURM_SIGNAL] = "signal",
	[SLURM_CHANGE_JOB] = "change job",
	[SLURM_CHANGE_NODE] = "change node",
	[SLURM_DELETE_NODE] = "delete node",
};

static void rpc_free(struct rpc *c)
{
	free((char *)c->ask.node);
	free((char *)c->spec.name);
	free((char *)c->spec.extra);
	free((char *)c->spec.admin_comment);
	free((char *)c->spec.excluded);
	free((char *)c->spec.required);
	free((char *)c->spec.partition);
	for (uint32_t i = 0; i < c->spec.n_env; i++)
		free(c->env[i]);
	free(c->env);
	free((char *)c->job_change.extra);
	free((char *)c->job_change.admin_comment);
	free((char *)c->job_change.excluded);
	free((char *)c->node_change.reason);
	free((char *)c->node_change.expect_reason);
	free((char *)c->node_change.extra);
	free((char *)c->node_change.comment);
	free((char *)c->node_change.features);
	free((char *)c->node_change.expect_extra);
	free(c->r.block);
	free(c);
}

static void outcome(struct rpc *c, enum slurm_outcome o, const char *message)
{
	c->r.outcome = o;
	str_copy(c->message, sizeof(c->message), message);
}

static void rpc_answered(struct world *w, struct ev *e)
{
	struct rpc *c = e->p;
	struct life *l = life_get(w, c->life);

	if (!e->a && c->served && c->served < w->ctld.up_since) { /* so does what it was about to answer */
		outcome(c, SLURM_RETRY, "Zero Bytes were transmitted or received");
		c->r.maybe_done = slurm_verb_changes(c->ask.verb);
		c->r.n = 0;
	}
	c->r.message = c->message;
	if (l && !l->dying)
		c->done(c->arg, &c->r);
	if (!e->a)
		rpc_free(c);
}

/* ---- answers ---- */

static void pack_job(struct pack *p, struct job *to, const struct world *w, const struct sjob *j)
{
	struct job job = { .id = j->id,
		           .state = j->state,
		           .flags = j->flags,
		           .restarts = j->restarts,
		           .cpus = j->cpus,
		           .priority = j->priority,
		           .prolog_failed = j->prolog_failed,
		           .array_tasks = 1,
		           .submitted = j->submitted,
		           .started = j->started,
		           .ended = j->ended,
		           .preempted = j->preempted,
		           .reason = j->reason };

	job.name = pack_text(p, j->name);
	job.extra = pack_text(p, j->extra);
	job.admin_comment = pack_text(p, j->admin_comment);
	job.excluded = pack_text(p, j->excluded);
	job.partition = pack_text(p, j->partition);
	job.nodes = job.batch_host = j->node >= 0 ? w->ctld.nodes[j->node].name : NULL;
	if (to)
		*to = job;
}

static void answer_jobs(struct world *w, struct rpc *c, const struct sjob *only)
{
	struct pack p = { 0 };

	for (int pass = 0; pass < 2; pass++) {
		struct job *list = pass ? (struct job *)(void *)p.base : NULL;
		uint32_t n = 0;

		p.used = (only ? 1 : w->ctld.n_jobs) * sizeof(struct job);
		for (size_t i = 0; i < w->ctld.n_jobs; i++)
			if (!w->ctld.jobs[i]->forgotten && (!only || only == w->ctld.jobs[i])) {
				pack_job(&p, list ? &list[n] : NULL, w, w->ctld.jobs[i]);
				n++;
			}
		if (!pass)
			p = (struct pack) { .base = mem_alloc(p.used + 1) };
		c->r.n = n;
		c->r.jobs = (struct job *)(void *)p.base;
	}
	c->r.block = p.base;
}

static void answer_states(struct world *w, struct rpc *c)
{
	struct job_brief *list = mem_alloc_n(w->ctld.n_jobs + 1, sizeof(*list));

	for (size_t i = 0; i < w->ctld.n_jobs; i++) {
		const struct sjob *j = w->ctld.jobs[i];

		if (!j->forgotten)
			list[c->r.n++] = (struct job_brief) { .id = j->id, .state = j->state, .flags = j->flags };
	}
	c->r.states = list;
	c->r.block = list;
}

static void pack_node(struct pack *p, struct snode *to, const struct world *w, unsigned i)
{
	const struct snode_state *n = &w->ctld.nodes[i];
	uint32_t used = 0;
	bool completing = false, memory = false;
	const char *reason = pack_text(p, *n->reason ? n->reason : NULL), *extra = pack_text(p, n->extra),
	           *comment = pack_text(p, n->comment), *features = pack_text(p, n->features);

	for (size_t k = 0; k < w->ctld.n_jobs; k++)
		if (job_on_node(w->ctld.jobs[k]) && w->ctld.jobs[k]->node == (int)i) {
			if (w->ctld.jobs[k]->flags & JOBF_COMPLETING)
				completing = true;
			else
				used += w->ctld.jobs[k]->cpus;
		} else if (w->ctld.jobs[k]->state == JOB_SUSPENDED && w->ctld.jobs[k]->node == (int)i &&
		           !w->ctld.jobs[k]->forgotten) {
			memory = true; /* CPUs are given back, memory is not */
		}
	if (!to)
		return;
	*to = (struct snode) { .name = n->name,
		               .cpus = n->cpus,
		               .cpus_alloc = used,
		               .memory_alloc_mb = used || memory ? 1024 : 0,
		               .state = n->down                     ? NODE_DOWN
		                        : n->unknown && !completing ? NODE_UNKNOWN
		                        : used == 0 && !memory      ? NODE_IDLE
		                        : used < n->cpus            ? NODE_MIXED
		                                                    : NODE_ALLOCATED,
		               .flags = NODEF_DYNAMIC | (n->drained ? NODEF_DRAIN : 0u) |
		                        (completing ? NODEF_COMPLETING : 0u) |
		                        (n->silent && !n->down ? NODEF_NO_RESPOND : 0u),
		               .reason = reason,
		               .extra = extra,
		               .comment = comment,
		               .features = features,
		               .reason_uid = n->reason_uid,
		               .reason_set = n->reason_set };
}

void job_shown(const struct world *w, const struct sjob *j, struct job *ret)
{
	pack_job(&(struct pack) { 0 }, ret, w, j);
}

void node_shown(const struct world *w, unsigned i, struct snode *ret)
{
	pack_node(&(struct pack) { 0 }, ret, w, i);
}

static void answer_nodes(struct world *w, struct rpc *c, int only)
{
	uint32_t n = 0;
	struct pack p = { 0 };

	for (int pass = 0; pass < 2; pass++) {
		struct snode *list = pass ? (struct snode *)(void *)p.base : NULL;

		p.used = w->n_nodes * sizeof(struct snode);
		n = 0;
		for (unsigned i = 0; i < w->n_nodes; i++) {
			if (w->ctld.nodes[i].absent || (only >= 0 && (unsigned)only != i))
				continue;
			pack_node(&p, list ? &list[n] : NULL, w, i);
			n++;
		}
		if (!pass)
			p = (struct pack) { .base = mem_alloc(p.used + 1) };
	}
	c->r.n = n;
	c->r.nodes = (struct snode *)(void *)p.base;
	c->r.block = p.base;
}

static void answer_conf(struct world *w, struct rpc *c)
{
	struct slurm_conf *conf = NEW(struct slurm_conf);

	*conf = (struct slurm_conf) { .cluster = "sim",
		                      .version = "24.11.5",
		                      .version_number = 2411,
		                      .kill_wait_s = (uint32_t)(w->ctld.kill_wait / USEC_SEC),
		                      .min_job_age_s = (uint32_t)(w->ctld.min_job_age / USEC_SEC) };
	c->r.conf = conf;
	c->r.block = conf;
}

/* ---- effects ---- */

static void do_change_job(struct world *w, struct rpc *c, struct sjob *j)
{
	const struct job_change *change = &c->job_change;

	if (!job_alive(j) || (j->flags & JOBF_COMPLETING)) {
		outcome(c, SLURM_GONE, "Job has already finished");
		return;
	}
	if ((change->what & JOB_CHANGE_EXCLUDED) && j->state != JOB_PENDING) {
		outcome(c, SLURM_REFUSED, "Job is no longer pending execution");
		return;
	}
	if (change->what & JOB_CHANGE_EXTRA) {
		free(j->extra);
		j->extra = mem_strdup(change->extra);
	}
	if (change->what & JOB_CHANGE_ADMIN_COMMENT) {
		free(j->admin_comment);
		j->admin_comment = mem_strdup(change->admin_comment);
	}
	if (change->what & JOB_CHANGE_EXCLUDED) {
		free(j->excluded);
		j->excluded = mem_strdup(change->excluded);
	}
	w->ctld.changes++;
}

static bool as_expected(const struct snode_state *n, const struct node_change *c)
{
	if (c->expect_extra_is && !str_eq(str_or(n->extra, ""), str_or(c->expect_extra, "")))
		return false;
	if (!c->expect)
		return true;
	if ((n->down && !c->expect_or_down) || n->drained != c->expect_drained)
		return false;
	return !n->drained || (n->reason_uid == c->expect_reason_uid && n->reason_set == c->expect_reason_set &&
	                       str_eq(n->reason, str_or(c->expect_reason, "")));
}

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = mem_strdup(text);
}

static void do_change_node(struct world *w, struct rpc *c, int i)
{
	const struct node_change *change = &c->node_change;
	struct snode_state *n = &w->ctld.nodes[i];

	if (!as_expected(n, change)) {
		outcome(c, SLURM_CONFLICT, "the node is not as expected");
		return;
	}
	check_node_change(w, c->role, n, change);
	if (change->what & (NODE_CHANGE_DRAIN | NODE_CHANGE_REASON)) {
		node_drain(w, (unsigned)i, str_or(change->reason, ""), (int)c->role);
		w->counts.drains++;
	}
	if (change->what & NODE_CHANGE_UNDRAIN)
		node_undrain(w, (unsigned)i);
	if (change->what & NODE_CHANGE_EXTRA)
		set_text(&n->extra, change->extra);
	if (change->what & NODE_CHANGE_COMMENT)
		set_text(&n->comment, change->comment);
	if (change->what & NODE_CHANGE_FEATURES)
		set_text(&n->features, change->features);
	w->ctld.changes++;
}

static void do_cancel(struct world *w, struct rpc *c, struct sjob *j)
{
	if (!job_alive(j) || (j->flags & JOBF_COMPLETING)) {
		outcome(c, SLURM_GONE, "Job has already finished");
		return;
	}
	check_cancel(w, j);
	job_terminate(w, j, JOB_CANCELLED, BY_SCHEDULER);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3u;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = mix(h, (unsigned char)*text);
	return mix(h, text ? 256 : 257);
}

/* The same answer again is told in one word, when that is what was asked for. */
static void same_again(struct rpc *c)
{
	uint64_t h = 1;

	for (uint32_t i = 0; c->r.states && i < c->r.n; i++)
		h = mix(mix(mix(h, c->r.states[i].id), (uint64_t)c->r.states[i].state), c->r.states[i].flags);
	for (uint32_t i = 0; c->r.jobs && i < c->r.n; i++) {
		const struct job *j = &c->r.jobs[i];
		const char *const texts[] = { j->name,          j->reason, j->reason_detail, j->extra,
			                      j->admin_comment, j->nodes,  j->excluded,      j->partition };

		h = mix(mix(mix(mix(h, j->id), (uint64_t)j->state), j->flags), j->restarts);
		h = mix(mix(h, (uint64_t)j->submitted), j->prolog_failed);
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			h = mix_text(h, texts[k]);
	}
	c->r.digest = h ? h : 1;
	if (c->ask.digest != c->r.digest)
		return;
	free(c->r.block);
	c->r.block = NULL;
	c->r.jobs = NULL;
	c->r.states = NULL;
	c->r.n = 0;
	outcome(c, SLURM_UNCHANGED, "");
}

static void serve(struct world *w, struct rpc *c)
{
	struct sjob *j = c->ask.job_id ? job_by_id(w, c->ask.job_id) : NULL;
	int node = c->ask.node ? slurm_node_number(w, c->ask.node) : -1;

	if (node >= 0 && w->ctld.nodes[node].absent)
		node = -1;
	outcome(c, SLURM_OK, "");
	c->r.as_of = (usec_t)w->ctld.changes + 1;
	switch (c->ask.verb) {
	case SLURM_LOAD_CONF: answer_conf(w, c); return;
	case SLURM_LOAD_PARTITIONS:
	case SLURM_LOAD_STATS: return; /* for metrics only: none, and no numbers */
	case SLURM_LOAD_JOB_STATES:
		answer_states(w, c);
		same_again(c);
		return;
	case SLURM_LOAD_JOBS:
		answer_jobs(w, c, NULL);
		same_again(c);
		return;
	case SLURM_LOAD_NODES:
		if (c->ask.since && c->ask.since == c->r.as_of)
			outcome(c, SLURM_UNCHANGED, "");
		else
			answer_nodes(w, c, -1);
		return;
	case SLURM_SUBMIT:
		if (str_eq(c->spec.partition, "nowhere")) {
			outcome(c, SLURM_REFUSED, "Invalid partition name specified");
			return;
		}
		c->r.job_id = ctld_submit(w, &c->spec)->id;
		return;
	case SLURM_LOAD_NODE:
	case SLURM_CHANGE_NODE:
	case SLURM_DELETE_NODE:
		if (node < 0)
			outcome(c, SLURM_GONE, "Invalid node name specified");
		else if (c->ask.verb == SLURM_LOAD_NODE)
			answer_nodes(w, c, node);
		else if (c->ask.verb == SLURM_DELETE_NODE && node_delete(w, (unsigned)node))
			nodeset_check_delete(w, (unsigned)node);
		else if (c->ask.verb == SLURM_DELETE_NODE)
			outcome(c, SLURM_RETRY, "Requested nodes are busy");
		else
			do_change_node(w, c, node);
		return;
	default: break;
	}
	if (!j)
		outcome(c, SLURM_GONE, "Invalid job id specified");
	else if (c->ask.verb == SLURM_LOAD_JOB)
		answer_jobs(w, c, j);
	else if (c->ask.verb == SLURM_CHANGE_JOB)
		do_change_job(w, c, j);
	else if (c->ask.verb == SLURM_CANCEL)
		do_cancel(w, c, j);
	else
		assert(!"not modelled yet");
}

static void say_effect(struct world *w, const struct rpc *c)
{
	if (w->trace && slurm_verb_changes(c->ask.verb))
		say(w, "life %llu: %s %u%s%s → %d %s%s%s", (unsigned long long)c->life, verbs[c->ask.verb],
		    c->ask.verb == SLURM_SUBMIT ? c->r.job_id : c->ask.job_id, c->spec.name ? " " : "",
		    str_or(c->spec.name, str_or(c->ask.node, str_or(c->job_change.admin_comment, ""))), c->r.outcome,
		    c->message, str_or(c->spec.excluded, str_or(c->job_change.excluded, "")),
		    c->answer_lost ? " (nobody hears it)" : "");
}

static void rpc_arrives(struct world *w, struct ev *e)
{
	struct rpc *c = e->p;

	if (!w->ctld.up || c->r.asked < w->ctld.up_since) { /* what was sent to a controller dies with it */
		outcome(c, SLURM_RETRY, "Unable to contact slurm controller");
		c->r.maybe_done = slurm_verb_changes(c->ask.verb) && chance(w, 500);
	} else {
		serve(w, c);
		c->served = w->now;
		say_effect(w, c);
	}
	if (e->a) {
		rpc_free(c);
		return;
	}
	if (c->answer_lost && c->r.outcome != SLURM_RETRY) {
		outcome(c, SLURM_RETRY, "Socket timed out on send/recv operation");
		c->r.maybe_done = slurm_verb_changes(c->ask.verb);
		in(w, span(w, USEC_MSEC, 2 * USEC_SEC), rpc_answered, 0, 0, c);
		return;
	}
	in(w, span(w, USEC_MSEC, fault_hits(w, FAULT_SLURM_SLOW, 100) ? 10 * USEC_SEC : 20 * USEC_MSEC), rpc_answered,
	   0, 0, c);
}

/* ---- sending ---- */

static struct rpc *rpc_new(const struct slurm_request *q, slurm_done done, void *arg)
{
	struct rpc *c = NEW(struct rpc);

	c->ask = (struct slurm_request) {
		.verb = q->verb, .job_id = q->job_id, .node = mem_strdup(q->node), .since = q->since
	};
	c->done = done;
	c->arg = arg;
	if (q->spec) {
		const struct job_spec *s = q->spec;

		c->spec = (struct job_spec) { .name = mem_strdup(s->name),
			                      .extra = mem_strdup(s->extra),
			                      .admin_comment = mem_strdup(s->admin_comment),
			                      .excluded = mem_strdup(s->excluded),
			                      .required = mem_strdup(s->required),
			                      .partition = mem_strdup(s->partition),
			                      .cpus = s->cpus,
			                      .priority = s->priority,
			                      .hold = s->hold,
			                      .time_limit_min = s->time_limit_min,
			                      .n_env = s->n_env };
		c->env = mem_alloc_n(s->n_env, sizeof(char *));
		for (uint32_t i = 0; i < s->n_env; i++)
			c->env[i] = mem_strdup(s->env[i]);
		c->spec.env = (const char *const *)c->env;
	}
	if (q->job_change)
		c->job_change = (struct job_change) { .what = q->job_change->what,
			                              .extra = mem_strdup(q->job_change->extra),
			                              .admin_comment = mem_strdup(q->job_change->admin_comment),
			                              .excluded = mem_strdup(q->job_change->excluded) };
	if (q->node_change) {
		c->node_change = *q->node_change;
		c->node_change.reason = mem_strdup(q->node_change->reason);
		c->node_change.expect_reason = mem_strdup(q->node_change->expect_reason);
		c->node_change.extra = mem_strdup(q->node_change->extra);
		c->node_change.comment = mem_strdup(q->node_change->comment);
		c->node_change.features = mem_strdup(q->node_change->features);
		c->node_change.expect_extra = mem_strdup(q->node_change->expect_extra);
	}
	return c;
}

static void port_call(struct slurm_port *p, const struct slurm_request *request, slurm_done done, void *arg)
{
	struct life *l = CONTAINER_OF(p, struct life, slurm);
	struct world *w = l->w;
	struct rpc *c = rpc_new(request, done, arg);
	bool changes = slurm_verb_changes(request->verb);
	usec_t takes = span(w, USEC_MSEC, 20 * USEC_MSEC);

	if (changes && !life_effect(l)) {
		rpc_free(c);
		return;
	}
	c->life = l->serial;
	c->role = l->role;
	c->r.asked = w->now;
	if (changes && !gate_open(&l->gate, w->now)) {
		outcome(c, SLURM_NOT_LEADER, "not the leader");
		in(w, 0, rpc_answered, 0, 0, c);
	} else if (fault_hits(w, FAULT_SLURM_FAIL, 50)) {
		outcome(c, SLURM_RETRY, "Unable to contact slurm controller");
		c->r.maybe_done = changes && chance(w, 500);
		in(w, span(w, USEC_MSEC, 3 * USEC_SEC), rpc_answered, 0, 0, c);
	} else if (changes && fault_hits(w, FAULT_SLURM_FAIL, 40)) { /* done when the caller has given up */
		struct rpc *late = rpc_new(request, done, arg);

		outcome(c, SLURM_RETRY, "Socket timed out on send/recv operation");
		c->r.maybe_done = true;
		takes = span(w, USEC_MSEC, USEC_SEC);
		in(w, takes, rpc_answered, 0, 0, c);
		late->life = l->serial;
		late->role = l->role;
		late->r.asked = w->now;
		in(w, takes + span(w, 1, USEC_SEC), rpc_arrives, 1, 0, late);
	} else {
		c->answer_lost = fault_hits(w, FAULT_SLURM_FAIL, 50);
		if (fault_hits(w, FAULT_SLURM_SLOW, 100))
			takes = span(w, USEC_MSEC, 2 * USEC_SEC);
		in(w, takes, rpc_arrives, 0, 0, c);
	}
}

static bool port_ready(struct slurm_port *p, struct err *ret_why)
{
	(void)p, (void)ret_why;
	return true;
}

static void port_on_ring(struct slurm_port *p, void (*ring)(void *arg), void *arg)
{
	struct life *l = CONTAINER_OF(p, struct life, slurm);

	l->ring = ring;
	l->ring_arg = arg;
}

void slurm_port_init(struct life *l)
{
	static const struct slurm_port_ops ops = { .call = port_call, .ready = port_ready, .on_ring = port_on_ring };

	l->slurm.ops = &ops;
}
