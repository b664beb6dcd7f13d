/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the files of the scheduler's shell share, and nobody else sees. Core thread.
 *
 *   scheduler.c  the Pods, one entry each by uid; what is dirty; the step
 *   jobs.c       what is known of Slurm's jobs, and asking for it
 *   loads.c      asking for single jobs, or for many of them at once
 *   places.c     Slurm nodes with their Kubernetes Nodes; feasibility; nodes held back
 *   effects.c    doing what was decided
 *   hooks.c      the placeholders' calls, parked until there is an answer
 *   volumes.c    the claims of Pods
 *   who.c        who cancelled a job, asked of accounting
 *   numbers.c    metrics
 *
 * What holds: an entry is there as long as a Pod of ours, a job or a parked call with its uid is; for one entry at most one
 * effect is under way (`busy`), and nothing is decided meanwhile.
 */
#pragma once

#include "base/dirty.h"
#include "base/list.h"
#include "base/map.h"
#include "base/rand.h"
#include "policy/annotations.h"
#include "policy/placeholder.h"
#include "policy/preemptor.h"
#include "policy/volumes.h"
#include "port/kinds.h"
#include "scheduler/scheduler.h"

#define AVOID_MAX 64               /* nodes that refused a Pod lately */
#define AVOID_SPAN (5 * USEC_MINUTE)
#define SUBMITS_MAX 64                    /* under way at once: Slurm's other answers must get through */
#define SETTLE_SPAN (3 * USEC_SEC)        /* for the watch to show what we wrote */
#define CONDITION_PATIENCE (1500 * USEC_MSEC)
#define CONDITION_PATIENCE_MANY                                                                                        \
	(10 * USEC_SEC) /* when more than WAITING_MANY wait: a crowd's jobs start one after the other */
#define CONDITION_PATIENCE_MOVING (30 * USEC_SEC) /* … and when they do */
#define MOVES_SPAN (3 * USEC_SEC)                 /* a Pod was bound within this */
#define WAITING_MANY 100
#define CONDITIONS_MAX 4                  /* of waiting Pods, written at once */
#define CONDITION_SPACING (2 * USEC_MSEC)
#define CONDITION_PAUSE (10 * USEC_SEC)   /* between two changes of a waiting Pod's message */
#define ASK_PARK (60 * USEC_SEC)          /* then the placeholder asks again … */
#define ASK_PARK_MAX (5 * USEC_MINUTE)    /* … unless it says that it has more patience */
#define ENTRIES_PER_STEP 256
#define DRAIN_REASON "k8s: pod deletion timeout"

struct entry;

/* A job with the uid of a Pod of ours in its extra. Owned by its entry. */
struct known_job {
	struct placeholder_job p; /* its texts are owned by this struct */
	char id_text[12];
	struct entry *entry;
	char *node, *reason, *preemptor;
	uint64_t excluded;    /* hash of its exclude list, as a sorted set */
	usec_t submitted;     /* Slurm's word: tells it from another job of the same number; 0 = not known yet */
	usec_t known_at; /* monotonic: when the answer came that told it. Only one asked for later is surely newer: of two that
	                       * overlap nobody knows which one Slurm gave first. */
	usec_t listed; /* monotonic: when the last list that had it was asked for */
	bool loading, load_again;
};

struct avoided {
	char *node;
	usec_t until;
};

enum said { SAID_STEP, SAID_END, SAID_WARNING, SAID_HOOK, SAID }; /* events that do not alternate with others */

struct entry {
	char uid[POD_UID_MAX];
	char *key; /* "ns/name" */
	struct known_job **jobs; /* in order of the id */
	uint32_t n_jobs;
	struct link asks; /* parked calls of its placeholder */
	struct link submit_turn; /* scheduler.submit_turns, while others submit */
	struct link condition_turn; /* scheduler.condition_turns, while others are told why they wait */
	struct link binding; /* scheduler.bindings, while it has a bound_node */
	struct avoided *avoid;
	uint32_t n_avoid;
	char *refused, *place_why, *settle_rv;
	char *bound_node; /* the Node that we asked to bind the Pod to, until the watch shows it or the answer was a clear no */
	char *hold_node; /* the Slurm node that its Pod holds without a job; NULL = none */
	usec_t gone_since, over_since, doubt_since, refused_until, settle_until, not_before;
	usec_t placing_since, waiting_since, condition_at, reason_asked;
	usec_t seen_at, started_at, ending_at; /* for latencies; 0 = not, or observed already */
	usec_t mute_until; /* the API server does not take its conditions: not again before, and nothing waits for it */
	usec_t terminate_at; /* when a script of terminate_job called last */
	uint64_t said[SAID]; /* hashes of the last events */
	uint64_t annotations; /* hash of the annotations that Slurm refused */
	struct selected
	        *selected; /* the last claim that was given a node's name; NULL = none. Its texts are behind it */
	char *owed, *owed_reason; /* an event that waits for what is not known yet; NULL = none */
	uint32_t owed_job; /* that it is about */
	uint32_t bind_job; /* of bound_node */
	uint32_t terminate_job, terminate_restarts, placing_claim;
	int exit_code; /* of the Pod, as last seen */
	uint16_t tries, refusals;
	uint8_t placing; /* enum placing, as last looked up */
	bool seen, busy, has_exit_code;
	bool may_tell; /* its turn has come */
	bool bind_sure; /* of bound_node: the answer was yes */
};

struct parked_ask {
	struct link link;
	enum scheduler_hook hook;
	uint32_t job_id;
	usec_t until;
	void (*reply)(void *arg, int status, const char *json);
	void *arg;
};

struct numbers;
struct places;

struct scheduler {
	struct scheduler_options o;
	struct rules rules; /* o.rules with KillWait as it is */
	struct store *pods, *nodes, *claims, *volumes, *classes;
	struct map given; /* struct given_volume, by the volume's name */
	uint64_t volumes_version; /* counts changes of volumes, ours included */
	bool volumes_awaited; /* some Pod was looked at before they were known */
	struct map by_uid, by_job; /* struct entry, struct known_job */
	struct dirty dirty;
	struct rng rng;
	struct places *places;
	struct numbers *numbers;
	size_t n_holds; /* entries with a hold_node */
	bool leading, told_kill_wait;
	bool conf_known; /* the controller has told its settings */
	unsigned submits, conditions; /* under way */
	size_t n_waiting; /* entries with waiting_since: their Pods have not been told why they wait */
	struct link submit_turns, condition_turns; /* entries that wait until fewer are */
	struct link bindings; /* entries whose Pods may be on a Node that the watch does not show them on yet */
	usec_t condition_next; /* when the next of them may be told */
	usec_t moved_at; /* when a Pod was last bound; 0 = none was */
	usec_t reason_asked; /* when a single job was last loaded only for its reason */
	uint64_t term; /* counts leaderships: an answer of an older one is not believed */
	usec_t term_since;
	/* Slurm's jobs */
	usec_t listed_at; /* when the last whole list was asked for; 0 = none in this term */
	usec_t list_due, states_due, conf_due;
	usec_t list_wanted; /* a list asked for after this is needed; 0 = none */
	bool listing, asking_states, asking_conf;
	struct link wants, list_wants; /* single jobs that are asked for: not yet, and by the list under way */
	size_t n_wants;
	unsigned singles; /* asked for one by one, under way */
	uint32_t n_slurm_jobs; /* of anyone, as last told */
	usec_t states_span; /* between two questions for states; grows as long as nothing happens */
	usec_t states_cost; /* what the last one took */
	usec_t let_go_at; /* when a job was last told that its Pod is over; 0 = none was */
	usec_t ring_due; /* the doorbell rang while states were asked for; 0 = it did not */
	unsigned list_failures, states_failures;
	usec_t list_cost; /* what the last one took */
	struct link who; /* events that wait for a name */
	size_t n_who;
	uint32_t who_job;
	bool who_asking, accounting;
	usec_t list_span; /* between two lists; grows as long as nothing is new */
	/* Of the last answers, as long as they are all that is known: 0 as soon as anything else taught us, or they were not
	 * believed in everything. Only then is "the same again" nothing new. */
	uint64_t list_digest, states_digest;
	/* Who may preempt whom; partitions are read when a job of ours was */
	enum preempts preempts;
	void *partitions_block;
	struct spartition *partitions;
	uint32_t n_partitions;
	usec_t partitions_due;
	bool asking_partitions;
	bool list_passed_over; /* something in a list was older than what is known */
	bool only_pending; /* of our jobs, as last told */
	char *memo_nodes; /* the last list of nodes that was hashed */
	uint64_t memo_hash;
};

/* scheduler.c */
struct entry *entry_get(struct scheduler *s, const char *uid);
struct entry *entry_make(struct scheduler *s, const char *uid, const char *ns, const char *name);
void entry_drop_unused(struct scheduler *s, struct entry *e);
void entry_dirty(struct scheduler *s, struct entry *e, usec_t at);
/* Its job is being ended: what failed before, and is waited for, must not cost the Pod the time it has to go. */
void entry_hurry(struct entry *e);
const struct pod *entry_pod(const struct scheduler *s, const struct entry *e); /* NULL when it is another one by now */
bool pod_in_scope(const struct scheduler *s, const struct pod *pod);
usec_t now_of(const struct scheduler *s);
void wake(struct scheduler *s);
uint64_t hash_text(const char *text);
void look_at_all(struct scheduler *s); /* every entry, once more */

/* jobs.c */
void jobs_step(struct scheduler *s, usec_t now);
usec_t jobs_next(const struct scheduler *s);
void jobs_load_one(struct scheduler *s, uint32_t id); /* its entry becomes dirty */
void jobs_list_after(struct scheduler *s, usec_t after);
void jobs_list_for_reasons(struct scheduler *s); /* soon, but not too often */
void jobs_stirred(struct scheduler *s); /* jobs or nodes are not as they were: before long */
void jobs_ring(void *arg);
void jobs_stir(struct scheduler *s); /* jobs begin or end: states are asked for more often for a while */
bool jobs_known(const struct scheduler *s, const struct entry *e);
struct known_job *jobs_get(const struct scheduler *s, uint32_t id);
/* Puts one that was just submitted, or learns what Slurm says of one. NULL when it is not ours. */
struct known_job *jobs_submitted(struct scheduler *s, struct entry *e, uint32_t id, const char *excluded);
bool jobs_is_of(struct scheduler *s, const struct job *job, const struct entry *e); /* it stands for the entry's Pod */
struct known_job *jobs_learn(struct scheduler *s, const struct job *job, usec_t asked);
void jobs_forget(struct scheduler *s, struct known_job *j);
/* The same for the same set of names; remembers the last one asked for. */
uint64_t jobs_nodes_hash(struct scheduler *s, const char *hostlist);

/* loads.c */
/* As SLURM_LOAD_JOB: answered once, later. */
void loads_ask(struct scheduler *s, uint32_t id, slurm_done done, void *arg);
bool loads_want_list(const struct scheduler *s); /* a list is cheaper than all those that wait */
void loads_list_began(struct scheduler *s); /* they wait for its answer */
void loads_listed(struct scheduler *s, const struct slurm_result *r);
void loads_step(struct scheduler *s);
void loads_give_up(struct scheduler *s); /* what was not asked yet is answered RETRY, from within */
void loads_done(struct scheduler *s);

/* places.c */
struct places *places_new(struct scheduler *s);
void places_free(struct places *p);
void places_step(struct scheduler *s, usec_t now);
usec_t places_next(const struct scheduler *s);
void places_refresh(struct scheduler *s); /* Slurm's nodes are not what we think: list them now */
bool places_known(const struct scheduler *s);
const char *places_kube_node(const struct scheduler *s, const char *slurm_node); /* NULL = not known */
const char *places_slurm_node(const struct scheduler *s, const char *kube_node); /* NULL = not known */
/* The feasible nodes of a Pod; NULL while nodes are not known. Shared: good until the next call of anything here. */
const struct feasible *places_feasible(struct scheduler *s, const struct pod *pod, const struct pod_volumes *volumes);
/* What the job's exclude list should be: infeasible nodes, those to avoid, the Pod's own. Caller frees; NULL = none. */
char *places_excluded(struct scheduler *s, struct entry *e, const struct feasible *f, const struct wishes *w);
/* Fills in e->placing for the node of this job. */
void places_try(struct scheduler *s, struct entry *e, const struct pod *pod, const struct pod_volumes *volumes,
                const struct known_job *j);
void places_avoid(struct scheduler *s, struct entry *e, const char *slurm_node);
/* The Pod of this entry holds its node without a live job, or does not any more. */
void places_hold(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d);
/* Drains the node of a job whose Pod does not go away. */
void places_drain(struct scheduler *s, const char *slurm_node, void (*done)(void *arg, bool ok, const char *why),
                  void *arg);

/* volumes.c */
/* False while claims are not known. Good until the next event; done in any case with volumes_done(). */
bool volumes_find(struct scheduler *s, const struct pod *pod, struct pod_volumes *ret);
usec_t volumes_step(struct scheduler *s, usec_t now); /* when it wants to be called again */
void volumes_done(struct pod_volumes *v);
/* A claim was given the node's name for this job; claim is as it was before. */
void volumes_selected(struct entry *e, uint32_t job, const char *claim_uid, const char *version);
/* A volume is being given to a claim, and what came of it; `again`: it may have been given before. */
void volumes_give(struct scheduler *s, const struct pv *volume, const struct pvc *claim);
void volumes_given(struct scheduler *s, const char *volume, const struct kube_result *r, bool again);
bool volumes_is_given(const struct scheduler *s, const char *volume);
void volumes_forget_given(struct scheduler *s); /* the stores are read anew */
#define _cleanup_volumes_ _cleanup_(volumes_done)

/* effects.c */
void effects_no_wait(struct scheduler *s,
                     struct entry *e); /* its Pod need not be told, or not any more, why it waits */
void effects_step(struct scheduler *s, usec_t now); /* who waited for others may go on */
usec_t effects_next(const struct scheduler *s);
bool effects_do(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                const struct feasible *f, const struct wishes *w, const struct pod_volumes *volumes);
void effects_unbind(struct entry *e); /* it has no bound_node any more */
void effects_shown(struct scheduler *s, struct entry *e, const char *node); /* the watch shows where its Pod is */
/* Writes conditions when they differ. True when something was sent. */
bool effects_conditions(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                        usec_t now, usec_t *ret_again);
/* An event on the entry's Pod, also when that is gone already; once, until another of the kind was said. */
void effects_event(struct scheduler *s, struct entry *e, enum said kind, bool warning, const char *reason,
                   const char *text);
/* That of a decision, or what one before it owes. */
void effects_tell(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d);

/* About a Pod that may be gone. key: "ns/name". */
void effects_send(struct scheduler *s, const char *key, const char *uid, bool warning, const char *reason,
                  const char *text);

/* who.c */
/* Tells the event of a cancelled job later, with a name. False: tell it now. */
bool who_tell(struct scheduler *s, const struct entry *e, const struct decision *d);
void who_step(struct scheduler *s, usec_t now);
usec_t who_next(const struct scheduler *s);
void who_forget(struct scheduler *s);

/* hooks.c */
void hooks_answer(struct scheduler *s, struct entry *e, const struct pod *pod, usec_t now);
void hooks_close(struct scheduler *s, struct entry *e, int status, const char *json); /* all of the entry's */

/* numbers.c */
enum count {
	COUNT_SUBMITTED,
	COUNT_ORPHANS,
	COUNT_RETRIES,
	COUNT_BOUND,
	COUNT_DELETED,
	COUNT_REFUSED,
	COUNT_DRAINED,
	COUNTS
};
enum latency { LATENCY_SUBMIT, LATENCY_BIND, LATENCY_TEARDOWN, LATENCIES };
struct numbers *numbers_new(struct scheduler *s);
void numbers_free(struct numbers *n);
void count(struct scheduler *s, enum count what);
void latency(struct scheduler *s, enum latency what, usec_t span);
