/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the files of the syncer's shell share, and nobody else sees. Core thread.
 *
 *   syncer.c   one entry per name, of a Slurm node, a NodeSet Pod or both; what is dirty; the step
 *   feeds.c    reading Slurm: nodes, and what only metrics need
 *   effects.c  looking at one name: deciding and doing
 *   hooks.c    the calls of prologs, parked until their node is locked; the reboot
 *   holds.c    the calls of placeholders' epilogs, parked until the Pod has left
 *   numbers.c  the daemon's own metrics
 */
#pragma once

#include "base/dirty.h"
#include "base/list.h"
#include "base/map.h"
#include "base/rand.h"
#include "policy/drain.h"
#include "policy/lock_ask.h"
#include "port/kinds.h"
#include "syncer/exporter.h"
#include "syncer/syncer.h"

#define SYNC_SETTLE (2 * USEC_SEC)     /* for the watch to show what we wrote */
#define SYNC_REFUSED (30 * USEC_SEC)   /* what was refused is tried again then */
#define SYNC_WORDS_PAUSE (5 * USEC_SEC) /* between two changes of a node's Extra, Comment and features */
#define SYNC_LOCKING_SPAN (3 * USEC_SEC) /* for a lock that nothing is in the way of */
#define SYNC_PER_STEP 512
/* Under way at once, when everything is new: what is urgent (drains, locks, the lease) must get through. */
#define SYNC_PODS_MAX 32
#define SYNC_WORDS_MAX 4
#define SYNC_PARKED_MAX 20000
#define SYNC_SEEN 4
#define SYNC_COSTS 4

enum sync_part { PART_NODES, PART_JOBS, PART_PARTITIONS, PART_STATS, PARTS };

struct feed {
	struct syncer *s;
	enum sync_part part;
	void *block; /* what was read last */
	struct job *jobs;
	struct snode *nodes;
	struct spartition *partitions;
	struct slurm_stats *stats;
	uint32_t n;
	usec_t as_of;   /* Slurm's stamp of it */
	usec_t asked;   /* monotonic: it is at least as new as this; 0 = not read in this term */
	usec_t read_at; /* wall */
	usec_t whole;   /* monotonic, when the last whole answer was asked for */
	usec_t began;   /* monotonic, when the last question was put */
	usec_t due, interval;
	usec_t quick_until; /* an epilog told that a job ends: asked more often until then */
	usec_t costs[SYNC_COSTS],
	        cost; /* of the last answers; the least of them: what a busy machine adds is not Slurm's */
	unsigned n_costs;
	uint64_t term;  /* in which the question was put */
	unsigned failures;
	bool busy;
};

struct parked {
	struct link link;
	enum lock_level level;
	char *slurmd_uid; /* only this Pod's lock counts; NULL = that of the one which is there */
	usec_t since, deadline;
	void (*reply)(void *arg, int status, const char *json);
	void *arg;
};

struct sync_entry {
	char *name;
	const struct snode *node; /* in the nodes' block; NULL = Slurm has none */
	uint64_t round;           /* of the list that it was last in */
	char *pod_uid, *cordon;   /* of the Pod as last seen; kept when it is gone */
	char *gone_uid;           /* of the one before it */
	bool had_pod, cordoned, was_listed;
	bool slurm_busy, kube_busy, waits_for_news;
	usec_t slurm_wrote;       /* monotonic: decide from newer news only */
	usec_t slurm_not_before, words_not_before, kube_not_before;
	usec_t undrained, hook, marked; /* monotonic; see policy/slurm_conditions.h */
	usec_t missing, no_pod;   /* see policy/cleanup.h */
	bool asks_pod;
	char *settle_rv;          /* the watch is to show this version first … */
	usec_t settle_until;      /* … until then */
	uint64_t seen[SYNC_SEEN]; /* hashes of the last versions that it showed */
	unsigned n_seen;
	uint64_t own_epoch, epoch_term;
	unsigned slurm_tries, kube_tries;
	struct link parked;
	struct link pod_turn, words_turn; /* in the syncer's lists while it waits for its turn */
};

struct sync_numbers;

struct syncer {
	struct syncer_options o;
	struct store *pods, *slices; /* slices NULL: nobody wants to know */
	struct map entries; /* name → struct sync_entry */
	struct dirty dirty;
	struct rng rng;
	struct feed feeds[PARTS];
	struct sync_numbers *numbers;
	uint64_t term, round;
	usec_t term_since;
	size_t n_parked;
	usec_t last_hook; /* when the last prolog asked */
	struct link holds;                  /* epilogs of placeholders that wait for their Pods */
	struct link pod_turns, words_turns; /* entries that wait to write; told when one ends */
	unsigned n_pods, n_words;           /* under way */
	bool leading;
};

/* syncer.c */
usec_t sync_now(const struct syncer *s);
void sync_wake(struct syncer *s);
struct sync_entry *sync_entry_make(struct syncer *s, const char *name);
void sync_dirty(struct syncer *s, struct sync_entry *e, usec_t at);
const struct pod *sync_pod(const struct syncer *s, const struct sync_entry *e);
bool sync_pods_known(const struct syncer *s); /* listed, and heard of lately */
bool sync_slices_known(const struct syncer *s);
uint64_t sync_hash(const char *text);

/* feeds.c */
void feeds_start(struct syncer *s);
void feeds_done(struct syncer *s);
void feeds_term(struct syncer *s);
void feeds_step(struct syncer *s, usec_t now);
usec_t feeds_next(const struct syncer *s);
void feeds_nodes_soon(struct syncer *s); /* news are wanted */
void feeds_job_ended(struct syncer *s);  /* an epilog told: its node will be free in a moment */
void feeds_snapshot(const struct syncer *s, struct slurm_snapshot *ret);

/* effects.c */
void sync_look(struct syncer *s, struct sync_entry *e);

/* hooks.c */
enum lock_level sync_hooks_level(const struct sync_entry *e,
                                 const struct pod *pod); /* the strictest that waits for this Pod */
/* Lets through what `holds` allows, and ends what has waited too long or waits for a Pod that goes. */
void sync_hooks_look(struct syncer *s, struct sync_entry *e, const struct pod *pod, enum lock_level holds);
usec_t sync_hook_deadline(const struct syncer *s, const struct syncer_ask *ask);
void sync_hooks_close(struct syncer *s, struct sync_entry *e, int status, const char *json);

/* holds.c */
void sync_hold(struct syncer *s, const struct pod *slurmd, const struct syncer_ask *ask);
usec_t sync_holds_step(struct syncer *s, usec_t now);
void sync_holds_close(struct syncer *s, const char *json); /* leadership ended */
void sync_holds_done(struct syncer *s);

/* numbers.c */
enum sync_effect { DID_DRAIN, DID_REWORD, DID_UNDRAIN, DID_WORDS, DID_DELETE, DID_POD, DIDS };
struct sync_numbers *sync_numbers_new(struct syncer *s);
void sync_numbers_free(struct sync_numbers *n);
void sync_count(struct syncer *s, enum sync_effect what, const char *outcome);
void sync_count_hook(struct syncer *s, int status, usec_t waited);
