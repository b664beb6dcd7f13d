/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A world in which the real shells live: virtual time, one seed for everything, one queue of events. No threads, no sleeping:
 * the same seed and options give the same run, event by event.
 *
 *   world.c    time, chance, the queue, the trace
 *   objects.c  Kubernetes objects as blocks, as stores want them
 *   kube.c     a model Kubernetes: the truth
 *   watch.c    how processes see it
 *   request.c  how they change it
 *   kubelet.c  what runs
 *   ctld.c     a model Slurm: jobs, nodes, scheduling, ends of all kinds
 *   rpc.c      what a shell sees of that Slurm: requests and answers, late, lost, refused
 *   script.c   placeholder scripts: hook/plan.h decides, as in the real one
 *   prolog.c   prologs and epilogs, and their calls to the syncer
 *   cluster.c  the rest of Kubernetes: ordinary Pods, their scheduler, eviction by taints, NodeSet Pods
 *   nodeset.c  the NodeSet whose Pods these are
 *   storage.c  claims and volumes
 *   life.c     processes of scheduler, syncer and operator: born, leading, crashed
 *   people.c   users and administrators, and everything that breaks
 *   check.c    what must hold
 *   locks.c    what must hold of locks and drains
 *   shrink.c   one run by all that it depends on; how a long one is made short
 *   play.c     recorded scenes of a real Slurm, played on the model
 *   scene.c    scenes of a Kubernetes, played through a port; play_kube.c on the model, sunk_scene.c on a real one
 *   coverage.c which outcomes of decisions were seen
 *   main.c     sunk-sim
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/time.h"
#include "hook/plan.h"
#include "model/knode.h"
#include "model/nodeset.h"
#include "model/pod.h"
#include "model/slurm.h"
#include "operator/nodesets.h"
#include "operator/operator.h"
#include "port/gate.h"
#include "port/kube.h"
#include "port/slurm.h"
#include "scheduler/scheduler.h"
#include "syncer/syncer.h"

#define TRACE_LINES 300
#define TRACE_LINE_MAX 240
#define SIM_NODES_MAX 16
#define SIM_NAMES_MAX 64
#define SIM_SLICES_MAX 4
#define SIM_CLAIMS 4
#define SIM_VOLUMES (2 * SIM_NODES_MAX + SIM_CLAIMS)
#define ACTS_MAX 4096 /* of people, that can be left out */
#define SIM_NS "team"
#define SIM_SYSTEM_NS "slurm"
#define SIM_SCHEDULER "sunk"
#define SIM_SECRET "0123456789abcdef0123456789abcdef"
#define SIM_DRAIN_REASON "k8s: pod deletion timeout"

/* What may go wrong. A seed picks some of them, unless it is told which. */
enum fault {
	FAULT_KUBE_SLOW,     /* requests and answers take up to seconds */
	FAULT_KUBE_FAIL,     /* requests fail: before the effect, after it, or the effect comes late */
	FAULT_WATCH_SLOW,    /* news take up to a minute */
	FAULT_WATCH_DROP,    /* watches break, what happened meanwhile is only seen in the next list */
	FAULT_WATCH_TWICE,   /* news come twice */
	FAULT_SLURM_SLOW,
	FAULT_SLURM_FAIL,
	FAULT_CTLD_RESTART,  /* slurmctld is away for a while */
	FAULT_CTLD_AMNESIA,  /* and comes back without its state */
	FAULT_NODE_FAIL,
	FAULT_PROLOG,        /* slow, failing */
	FAULT_KUBELET_SLOW,
	FAULT_KUBELET_DEAD,
	FAULT_CRASH,         /* of the scheduler, between any two effects */
	FAULT_PARTITION,     /* of the leader from Kubernetes: another one takes over */
	FAULT_HOOK,          /* calls of placeholders are lost */
	FAULT_CANCEL,        /* scancel by users */
	FAULT_PREEMPT,
	FAULT_REQUEUE,
	FAULT_SUSPEND,
	FAULT_DRAIN,         /* scontrol drain and undrain by administrators */
	FAULT_CORDON,        /* and taints */
	FAULT_EDIT,          /* users change Pods */
	FAULT_FORCE,         /* users delete Pods without asking the kubelet */
	FAULT_VOLUMES,       /* Pods have claims that wait for them; volumes cannot be made */
	/* only in a world with syncer and operator */
	FAULT_NODESET,       /* NodeSet Pods are not ready, or deleted and made again */
	FAULT_MEDDLE,        /* people take locks off Nodes and edit what we wrote */
	FAULT_SKEW,          /* clocks differ by minutes */
	FAULT_LATE,          /* requests of syncer and operator arrive up to a minute late, when another one leads */
	FAULTS,
};
extern const char *const fault_names[FAULTS];

struct world;
struct ev;
typedef void (*ev_fn)(struct world *w, struct ev *e);
struct ev {
	usec_t at;
	uint64_t order;
	ev_fn fn;
	uint64_t a, b;
	void *p;
};

/* ---- the model Kubernetes ---- */

struct version { /* of an object; never changes */
	unsigned refs;
	enum kube_kind kind;
	bool removed;
	void *object; /* a block that begins with struct meta */
	size_t size;
};

enum containers { CONTAINERS_NONE, CONTAINERS_RUN, CONTAINERS_ENDED };

struct kpod { /* a Pod as it really is, with what its kubelet knows */
	struct version *v;
	const struct pod *pod; /* of v */
	uint64_t number; /* its uid is "u<number>" */
	enum containers containers;
	bool stopping, user_pod;
	usec_t run_for; /* USEC_NEVER: until deleted */
	usec_t stop_for;
	int exit_code;
	uint32_t cpus;
	bool plain;    /* of the default scheduler */
	int nodeset;   /* 1 + the number of the node whose slurmd it is, 0 = none */
	usec_t bound, not_live_since; /* true time; the latter: it says that it has no job */
	/* for the checks */
	bool disturbed; /* Slurm, or someone in Slurm, ended, stopped or lost its job */
	bool cancelled; /* someone did so by scancel or a time limit */
	usec_t lost, orphan, waiting, untold; /* for how long, while everything worked */
	bool was_lost;
	bool given_up; /* of a NodeSet: the operator deleted it */
	uint64_t updated_by; /* … marked it for an update, as it was ready: which life of it */
	bool bind_doubted; /* an answer to a binding was lost: it may have to be taken for bound */
};

struct knode_state {
	struct version *v;
	const struct knode *node;
	bool kubelet_dead, gone_dark; /* gone_dark: the whole machine */
	bool gone; /* Kubernetes does not have it, though its kubelet may run */
	unsigned times; /* that it registered */
	usec_t dead_until;
	usec_t refused_until; /* no NodeSet Pod is let in there before */
	usec_t locked_since; /* the taint was put on */
	usec_t meddled; /* when a person last touched its lock; 0 = never */
	usec_t untold_cordon; /* for how long its Pod said something else of its cordon, while everything worked */
	usec_t idle_locked; /* for how long it was locked for nobody, while everything worked */
};

struct api {
	uint64_t rv, uids;
	struct version *set; /* the one NodeSet */
	const struct nodeset *nodeset; /* of it */
	usec_t nodes_edited; /* when a Node last became its, or was its no more */
	struct version *slices[SIM_SLICES_MAX];
	unsigned n_slices;
	struct kpod **pods;
	size_t n_pods, size_pods;
	struct knode_state nodes[SIM_NODES_MAX];
	struct version *claims[SIM_CLAIMS], *volumes[SIM_VOLUMES], *classes[2]; /* NULL: not there */
	usec_t claim_since[SIM_CLAIMS]; /* when it was made or deleted */
};

/* ---- the model Slurm ---- */

enum ended_by { BY_NOBODY, BY_ITSELF, BY_USER, BY_SCHEDULER, BY_TIME, BY_PREEMPTION, BY_NODE, BY_PROLOG, BY_REQUEUE };

struct script {
	struct plan plan;
	uint32_t restarts;
	bool frozen, told_drained;
	bool old; /* a sunk-hook that wants an answer to `started` at once */
	uint64_t calls[TASKS]; /* serial of the call under way, 0 = none */
	uint64_t tick;         /* only the latest tick counts */
};

struct sjob {
	uint64_t serial; /* never used again, unlike ids */
	uint32_t id;
	char *name, *extra, *admin_comment, *excluded, *required, *partition, *token;
	char uid[64]; /* of its Pod; "" = a job of a user */
	char pod_name[64];
	int state;
	uint32_t flags, restarts, cpus, priority;
	usec_t kill_wait, submitted, begin, started, ended, preempted, limit, run_for;
	int node; /* -1 = none */
	const char *reason;
	bool held, requeue, prolog_failed, in_prolog, forgotten; /* forgotten: slurmctld does not know it any more */
	enum ended_by ended_by;
	struct script *script;
	uint32_t run; /* counts up: timers of earlier runs do not count */
	int exit_code;
	usec_t extra_jobs; /* for how long it was one too many */
	usec_t orphan;
	bool procs; /* its user's processes are on the node, whatever slurmctld knows */
	int user_exit; /* a user's job: what its script returns, and whether it ignores TERM */
	bool stubborn;
	struct { /* sunk-hook prolog */
		usec_t began, asked;
		char slurmd_uid[64]; /* of the Pod that it runs in */
		uint64_t call;
		unsigned tries;
		bool passed, gave_up;
	} prolog;
};

struct snode_state {
	char name[16];
	uint32_t cpus;
	bool drained, down, foreign; /* foreign: the drain is somebody's, not ours */
	bool unknown; /* slurmctld was started, and has not heard from it since */
	bool absent; /* deleted from Slurm; a slurmd makes it again */
	usec_t unheard; /* for how long its Pod was ready and Slurm did not have it, while everything worked */
	bool slurmd_away, loss_to_come; /* its Pod is gone; slurmctld has not given it up yet */
	bool silent;     /* but knows that it does not respond */
	uint64_t losses; /* counts up: of earlier ones nobody is told any more */
	int drained_by; /* enum role; ROLES = somebody */
	char *extra, *comment, *features;
	usec_t unlike; /* for how long its drain was not as Kubernetes wants it, while everything worked */
	usec_t drained_at, verified; /* true time */
	char reason[128];
	uint32_t reason_uid;
	usec_t reason_set;
};

struct ctld {
	bool up;
	usec_t up_since;
	uint32_t next_id;
	struct sjob **jobs; /* forgotten ones too, as long as something of them runs */
	size_t n_jobs, size_jobs;
	struct snode_state nodes[SIM_NODES_MAX];
	usec_t kill_wait, min_job_age;
	uint64_t changes; /* stamp for `since` */
	bool prolog_broken; /* every prolog fails */
	bool prompt;        /* what is free is given away at once; else only sometimes */
};

/* ---- processes ---- */

enum role { ROLE_SCHEDULER, ROLE_SYNCER, ROLE_OPERATOR, ROLES };

#define STREAMS 7
struct stream { /* a watch */
	struct store *store;
	enum kube_kind kind;
	const char *ns, *label; /* only those; NULL = all */
	uint64_t epoch; /* what was sent under another does not arrive */
	usec_t last;    /* news arrive in order: not before this */
	bool broken, watched;
};

#define SLOTS 2 /* of each role: one that leads, one that stands by */
#define LIVES (ROLES * SLOTS)
struct life {
	struct kube_port kube;
	struct slurm_port slurm;
	struct clock clock;
	usec_t skew;
	struct world *w;
	uint64_t serial;
	unsigned slot; /* in the world's lives */
	enum role role;
	struct scheduler *s; /* one of the three */
	struct syncer *syncer;
	struct operator* operator; /* with its NodeSet Controller */
	struct nodesets *nodesets;
	struct stream streams[STREAMS];
	struct gate gate;
	usec_t born, renewed, partitioned_until, leading_since;
	uint64_t step_serial;
	usec_t step_at;
	bool leading, dying;
	void (*ring)(void *arg);
	void *ring_arg;
	unsigned steps_this_second;
	usec_t second;
};

struct hook_call {
	struct world *w;
	uint64_t serial, job, life;
	uint32_t run;
	enum plan_task task; /* TASKS: a prolog's pre-hook */
	int node; /* that it comes from; -1 = none */
	bool sent, answered, old;
};

struct world {
	struct clock clock;
	usec_t now;
	uint64_t seed;
	struct rng rng, faults_rng, people_rng;
	const bool *skip; /* acts of people that do not happen; ACTS_MAX of them */
	unsigned n_acts;
	uint32_t faults; /* bits of enum fault */
	bool calm, trace, failed;
	bool whole; /* syncer and operator live here too */
	bool trace_end; /* keep the last lines only, for whoever prints them */
	char (*lines)[TRACE_LINE_MAX];
	size_t n_lines;
	char why[1024];
	/* events */
	struct ev *heap;
	size_t n, size;
	uint64_t order, serial;
	uint64_t steps;
	/* settings */
	unsigned n_nodes, n_names;
	uint32_t node_cpus;
	usec_t poll_min;
	enum on_job_cancel on_cancel;
	struct api api;
	struct ctld ctld;
	struct life *lives[LIVES];
	uint64_t lease_holder[ROLES];
	usec_t lease_until[ROLES];
	struct hook_call **calls;
	size_t n_calls, size_calls;
	usec_t restful_since, checked_at;
	bool look_at_locks; /* something changed that the checks of locks.c look at */
	struct counts {
		uint64_t pods, jobs, binds, deletes, crashes, leaders, lost, drains, finished, foreign;
		uint64_t plain, evicted, locks, unlocks, prolog_timeouts, writes, vain_writes;
		uint64_t nodeset_deletes, node_deletes, node_losses;
	} counts;
};

/* world.c */
void world_init(struct world *w, uint64_t seed);
void world_done(struct world *w);
void at(struct world *w, usec_t when, ev_fn fn, uint64_t a, uint64_t b, void *p);
static inline void in(struct world *w, usec_t span, ev_fn fn, uint64_t a, uint64_t b, void *p)
{
	at(w, w->now + span, fn, a, b, p);
}
bool world_step(struct world *w); /* false: nothing is left to happen, or it has failed */
void say(struct world *w, const char *fmt, ...) _printf_(2, 3);
void trace_print(const struct world *w);
void broken(struct world *w, const char *fmt, ...) _printf_(2, 3); /* something that must hold does not */

bool fault_on(const struct world *w, enum fault f);
uint64_t below(struct world *w, uint64_t n);
bool chance(struct world *w, unsigned permille);
usec_t span(struct world *w, usec_t least, usec_t most);
bool fault_hits(struct world *w, enum fault f, unsigned permille);

/* objects.c */
size_t object_size(enum kube_kind kind);
void *object_copy(enum kube_kind kind, const void *object, size_t *ret_size);
struct version *version_new(enum kube_kind kind, const void *object, bool removed);
struct version *version_ref(struct version *v);
void version_unref(struct version *v);

struct pack { /* two passes: without a base it only counts */
	char *base;
	size_t used;
};
void *pack_bytes(struct pack *p, const void *data, size_t n);
const char *pack_text(struct pack *p, const char *s);

/* kube.c */
void kube_init(struct world *w);
struct version *versioned(struct world *w, enum kube_kind kind, const struct meta *object,
                          bool removed); /* a copy with the next resourceVersion */
void kube_done_all(struct world *w);
struct kpod *pod_by_number(struct world *w, uint64_t number);
struct kpod *pod_by_uid(struct world *w, const char *uid);
struct kpod *pod_by_name(struct world *w, const char *ns, const char *name);
void pod_write(struct world *w, struct kpod *k, const struct pod *pod);
struct version *versioned(struct world *w, enum kube_kind kind, const struct meta *object,
                          bool removed); /* the next one */
struct kpod *pod_create(struct world *w, const struct pod *pod);
void pod_delete(struct world *w, struct kpod *k, int64_t grace_s);
bool pod_let_go(struct world *w, struct kpod *k); /* deleted, and nothing holds it any more: it is gone */
void pod_vanishes(struct world *w, struct kpod *k);
void node_write(struct world *w, unsigned i, const struct knode *node);
int kube_node_number(const struct world *w, const char *name); /* -1 = none */
bool pod_ended(const struct pod *p);
const char *pod_note(const struct kpod *k, const char *key); /* an annotation */
bool node_locked(const struct world *w, unsigned node); /* has the taint */

/* watch.c */
struct stream *stream_of(struct life *l, enum kube_kind kind);
void stream_begin(struct world *w, struct life *l, unsigned number,
                  usec_t after); /* what was sent before does not arrive; a list after that */
void streams_break(struct world *w, struct life *l);
void notify(struct world *w, struct version *v);

/* kubelet.c */
void kubelet_look(struct world *w, struct kpod *k, usec_t after);
void kubelet_returns(struct world *w, unsigned node);

/* request.c */
void kube_port_init(struct life *l);
void kube_life_ends(struct life *l);
void pod_disrupted(struct world *w, struct kpod *k, const char *reason); /* its condition DisruptionTarget */
void pod_collect(struct world *w, struct kpod *k);
void pod_set_condition(struct world *w, struct kpod *k, const struct condition *c);

/* cluster.c */
void cluster_init(struct world *w);
void cluster_calm(struct world *w);
struct kpod *nodeset_pod(struct world *w, unsigned node);
bool pod_tolerates(const struct pod *p, const struct taint *t, const struct toleration **ret_by);
bool pod_tolerates_node(const struct pod *p, const struct knode *n);
void taints_look(struct world *w, unsigned node); /* NoExecute: who must go */
void plain_create(struct world *w);
void plain_delete(struct world *w);
void nodeset_made(struct world *w, struct kpod *k); /* its containers run */
void nodeset_ended(struct world *w, struct kpod *k);
void nodeset_gone(struct world *w, unsigned node, bool ran);
void nodeset_disturb(struct world *w);
void admin_meddles(struct world *w);

/* nodeset.c */
void nodeset_init(struct world *w);
void nodeset_done(struct world *w);
void nodeset_calm(struct world *w);
void node_registers(struct world *w, unsigned i); /* as one that it is for */
void nodeset_edited(struct world *w);
const struct meta *nodeset_object(const struct world *w, enum kube_kind kind, const char *name);
enum kube_outcome nodeset_make_pod(struct world *w, const struct pod *pod);
enum kube_outcome nodeset_make_slice(struct world *w, const struct nodeslice *slice);
void nodeset_change_slice(struct world *w, const char *name, const struct nodeslice *patch);
void nodeset_remove_slice(struct world *w, const char *name);
void nodeset_change_set(struct world *w, const struct nodeset *patch, bool finalizers, bool status);
void nodeset_check_remove(struct world *w, struct kpod *k);
void nodeset_check_start(struct world *w, const struct sjob *j);
void nodeset_check_mark(struct world *w, struct kpod *k, uint64_t life);
void nodeset_check_delete(struct world *w, unsigned node);
bool nodeset_waits(struct world *w, unsigned i);
bool nodeset_waits_anywhere(struct world *w);
const char *nodeset_unrest(struct world *w);
/* storage.c */
void storage_init(struct world *w);
void storage_done(struct world *w);
struct version *storage_get(const struct world *w, enum kube_kind kind, size_t n); /* NULL: that one is not there */
uint32_t claims_of_new_pod(struct world *w, struct volume_claim claims[2], char names[2][16]);
void claim_changes(struct world *w);
enum kube_outcome storage_change(struct world *w, const struct kube_ref *ref, const struct meta *claim,
                                 const char *node, const char **ret_rv);
void storage_check_bind(struct world *w, const struct kpod *k, const char *node);
bool storage_possible(const struct world *w, const struct pod *p);

/* prolog.c */
void prolog_start(struct world *w, struct sjob *j);
void prolog_hears(struct world *w, struct sjob *j, uint64_t call, int status);
void epilog_start(struct world *w, struct sjob *j);

/* locks.c */
void locks_check(struct world *w);
const struct sjob *node_job(const struct world *w, unsigned node); /* one that slurmctld has there */
void locks_time_passes(struct world *w, usec_t passed);
void locks_check_start(struct world *w, const struct sjob *j);
bool locks_at_rest(struct world *w, char *why, size_t size);

/* ctld.c */
void ctld_init(struct world *w);
void ctld_done(struct world *w);
struct sjob *job_by_id(struct world *w, uint32_t id);
struct sjob *job_by_serial(struct world *w, uint64_t serial);
struct sjob *ctld_submit(struct world *w, const struct job_spec *spec);
bool job_alive(const struct sjob *j); /* pending, running or suspended */
bool job_on_node(const struct sjob *j); /* it has CPUs of its node */
void job_terminate(struct world *w, struct sjob *j, int state, enum ended_by by);
void job_script_ended(struct world *w, struct sjob *j, int exit_code);
void job_requeue(struct world *w, struct sjob *j);
void job_suspend(struct world *w, struct sjob *j);
void job_resume(struct world *w, struct sjob *j);
void ctld_stop(struct world *w, usec_t span, bool amnesia);
void node_fails(struct world *w, unsigned i, bool machine, usec_t span);
void node_drain(struct world *w, unsigned i, const char *reason, int by); /* enum role; ROLES: somebody */
void node_undrain(struct world *w, unsigned i);
uint32_t node_cpus_used(const struct world *w, unsigned i);
int slurm_node_number(const struct world *w, const char *name);
void ctld_ring(struct world *w);
void job_prolog_passed(struct world *w, struct sjob *j, usec_t after);
void job_prolog_fails(struct world *w, struct sjob *j, const char *reason);
bool node_delete(struct world *w, unsigned i); /* from Slurm; false: it is in use */
void slurmd_gone(struct world *w, unsigned node); /* with everything that ran in its container */
void slurmd_back(struct world *w, unsigned node);

/* rpc.c */
void slurm_port_init(struct life *l);
void job_shown(const struct world *w, const struct sjob *j,
               struct job *ret); /* as an answer has it, but without texts of its own */
void node_shown(const struct world *w, unsigned i, struct snode *ret);

/* script.c */
void script_start(struct world *w, struct sjob *j);
void script_run(struct world *w, struct sjob *j);
void script_kill(struct world *w, struct sjob *j);
void hook_calls_of_dead_life(struct world *w, uint64_t life);
struct hook_call *hook_call_new(struct world *w, struct sjob *j, enum plan_task t);
void hook_calls_done(struct world *w);

/* life.c */
void lives_init(struct world *w);
void lives_done(struct world *w);
struct life *life_get(struct world *w, uint64_t serial);
void life_dies(struct world *w, struct life *l);
void life_wakes(struct life *l);
bool life_effect(struct life *l); /* before every effect: false when the process dies right here */
struct life *life_leading(struct world *w, enum role role);
void lives_bury(struct world *w);

/* people.c */
void people_init(struct world *w);
void people_calm(struct world *w);

/* check.c */
void check_time_passes(struct world *w, usec_t span); /* before the clock moves */
void check_step(struct world *w);
void check_bind(struct world *w, const struct kpod *k, const char *node);
void check_remove(struct world *w, struct kpod *k);
void check_cancel(struct world *w, const struct sjob *j);
void check_script_left(struct world *w, const struct sjob *j);
void check_node_change(struct world *w, enum role role, const struct snode_state *n, const struct node_change *c);
bool world_healthy(struct world *w);
bool world_at_rest(struct world *w, char *why, size_t size);
