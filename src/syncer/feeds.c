/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reading Slurm. Each part is asked for again after a while that grows with what the answer cost, so that asking takes about a fiftieth of
 * the controller's time at most. Only whole answers count.
 */
#include "syncer/inside.h"

#include "base/log.h"
#include "base/str.h"

#define COST_SHARE 50
#define WHOLE_SPAN                                                                                                     \
	(60 * USEC_SEC) /* a node that was deleted is no change to Slurm: now and then all of them are read */
#define RETRY_BASE (500 * USEC_MSEC)
#define QUICK_SPAN (2 * USEC_SEC)
#define QUICK_SHARE 5

static const enum slurm_verb verbs[] = {
	[PART_NODES] = SLURM_LOAD_NODES,
	[PART_JOBS] = SLURM_LOAD_JOBS,
	[PART_PARTITIONS] = SLURM_LOAD_PARTITIONS,
	[PART_STATS] = SLURM_LOAD_STATS,
};
static const char *const names[] = { "nodes", "jobs", "partitions", "statistics" };

static usec_t least(const struct feed *f)
{
	return f->part == PART_NODES ? f->s->o.poll_min : f->s->o.metrics_interval;
}

static bool node_differs(const struct snode *a, const struct snode *b)
{
	return a->state != b->state || a->flags != b->flags || a->reason_uid != b->reason_uid ||
	       a->reason_set != b->reason_set || !str_eq(a->reason, b->reason) || !str_eq(a->extra, b->extra) ||
	       !str_eq(a->comment, b->comment) || !str_eq(a->features, b->features);
}

static void take_node(struct syncer *s, const struct snode *n, usec_t now)
{
	struct sync_entry *e = sync_entry_make(s, n->name);

	if (!e->node || node_differs(e->node, n))
		sync_dirty(s, e, 0);
	if (e->node && e->node->flags & NODEF_DRAIN && !(n->flags & NODEF_DRAIN))
		e->undrained = now;
	if (n->state == NODE_DOWN)
		e->own_epoch = 0; /* its Pod may have been made again meanwhile: no prolog by a lock of before */
	e->node = n;
	e->round = s->round;
}

/* The old block is still there: what differs is found by comparing. */
static void take_nodes(struct feed *f, const struct slurm_result *r)
{
	struct syncer *s = f->s;
	struct sync_entry *e;
	size_t i = 0;

	s->round++;
	for (uint32_t k = 0; k < r->n; k++)
		if (!str_empty(r->nodes[k].name))
			take_node(s, &r->nodes[k], sync_now(s));
	while ((e = map_next(&s->entries, &i)))
		if (e->node && e->round != s->round) {
			e->node = NULL;
			sync_dirty(s, e, 0);
		}
}

/* Those that could not decide because the news were too old. */
static void wake_waiting(struct syncer *s)
{
	struct sync_entry *e;
	size_t i = 0;

	while ((e = map_next(&s->entries, &i)))
		if (e->waits_for_news) {
			e->waits_for_news = false;
			sync_dirty(s, e, 0);
		}
}

static void take(struct feed *f, struct slurm_result *r)
{
	if (f->part == PART_NODES)
		take_nodes(f, r);
	free(f->block);
	f->block = TAKE_PTR(r->block);
	f->jobs = r->jobs;
	f->nodes = r->nodes;
	f->partitions = r->partitions;
	f->stats = r->stats;
	f->n = r->n;
	f->as_of = r->as_of;
	f->whole = r->asked;
}

static void note_cost(struct feed *f, usec_t cost)
{
	f->costs[f->n_costs++ % SYNC_COSTS] = f->cost = cost;
	for (unsigned i = 0; i < MIN_OF(f->n_costs, (unsigned)SYNC_COSTS); i++)
		f->cost = MIN_OF(f->cost, f->costs[i]);
}

static usec_t quick_interval(const struct feed *f)
{
	return MAX_OF(f->s->o.poll_min / 5, f->cost * QUICK_SHARE);
}

static void answered(void *arg, struct slurm_result *r)
{
	struct feed *f = arg;
	struct syncer *s = f->s;
	usec_t now = sync_now(s);

	f->busy = false;
	sync_wake(s);
	if (f->term != s->term) {
		f->due = 0;
		return;
	}
	if (r->outcome != SLURM_OK && r->outcome != SLURM_UNCHANGED) {
		usec_t base = MAX_OF(least(f), RETRY_BASE);

		f->interval = backoff_span(&s->rng, f->failures, base, MAX_OF(s->o.poll_max, base));
		f->due = usec_add(now, f->interval);
		if (f->failures++ == 0)
			log_warn("reading Slurm's %s: %s", names[f->part], r->message);
		return;
	}
	if (f->failures)
		log_info("reading Slurm's %s works again", names[f->part]);
	f->failures = 0;
	if (r->outcome == SLURM_OK)
		take(f, r);
	f->asked = r->asked;
	f->read_at = clock_wall(s->o.clock) - (now - r->asked);
	note_cost(f, MAX_OF(now - r->asked, (usec_t)0));
	f->interval = MIN_OF(MAX_OF(f->cost * COST_SHARE, least(f)), MAX_OF(s->o.poll_max, least(f)));
	f->due = usec_add(now, now < f->quick_until ? MIN_OF(f->interval, quick_interval(f)) : f->interval);
	if (f->part == PART_NODES)
		wake_waiting(s);
}

static bool is_whole(const struct feed *f, usec_t now)
{
	return f->block && (f->part != PART_NODES || now < usec_add(f->whole, WHOLE_SPAN));
}

void feeds_step(struct syncer *s, usec_t now)
{
	for (int i = 0; i < PARTS; i++) {
		struct feed *f = &s->feeds[i];

		if (f->busy || now < f->due)
			continue;
		f->busy = true;
		f->term = s->term;
		f->began = now;
		s->o.slurm->ops->call(s->o.slurm,
		                      &(struct slurm_request) { .verb = verbs[i],
		                                                .since = is_whole(f, now) ? f->as_of : 0,
		                                                .detail = i == PART_JOBS },
		                      answered, f);
	}
}

usec_t feeds_next(const struct syncer *s)
{
	usec_t next = USEC_NEVER;

	for (int i = 0; i < PARTS; i++)
		if (!s->feeds[i].busy)
			next = MIN_OF(next, s->feeds[i].due);
	return next;
}

/* Sooner than the interval, but not at once after the last: many may want it. */
void feeds_nodes_soon(struct syncer *s)
{
	struct feed *f = &s->feeds[PART_NODES];
	usec_t soonest = usec_add(f->began, MAX_OF(s->o.poll_min / 4, 10 * f->cost));

	if (!f->busy && soonest < f->due && !f->failures) {
		f->due = soonest;
		sync_wake(s);
	}
}

/* Slurm frees the node only when the epilog, which tells us, is over: one look would come too early. */
void feeds_job_ended(struct syncer *s)
{
	s->feeds[PART_NODES].quick_until = usec_add(sync_now(s), QUICK_SPAN);
	feeds_nodes_soon(s);
}

/* A new leadership: everything is read once more, whatever was known. */
void feeds_term(struct syncer *s)
{
	for (int i = 0; i < PARTS; i++) {
		s->feeds[i].asked = 0;
		s->feeds[i].due = 0;
		s->feeds[i].as_of = 0;
		s->feeds[i].failures = 0;
	}
}

void feeds_start(struct syncer *s)
{
	for (int i = 0; i < PARTS; i++) {
		s->feeds[i].s = s;
		s->feeds[i].part = (enum sync_part)i;
	}
}

void feeds_done(struct syncer *s)
{
	for (int i = 0; i < PARTS; i++)
		free(s->feeds[i].block);
}

void feeds_snapshot(const struct syncer *s, struct slurm_snapshot *ret)
{
	const struct feed *f = s->feeds;

	*ret = (struct slurm_snapshot) {
		.jobs = f[PART_JOBS].jobs,
		.n_jobs = f[PART_JOBS].n,
		.jobs_at = f[PART_JOBS].read_at,
		.nodes = f[PART_NODES].nodes,
		.n_nodes = f[PART_NODES].n,
		.nodes_at = f[PART_NODES].read_at,
		.partitions = f[PART_PARTITIONS].partitions,
		.n_partitions = f[PART_PARTITIONS].n,
		.partitions_at = f[PART_PARTITIONS].read_at,
		.stats = f[PART_STATS].stats,
		.stats_at = f[PART_STATS].stats ? f[PART_STATS].read_at : 0,
	};
}
