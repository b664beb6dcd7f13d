/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small Kubernetes and a small Slurm for the syncer's tests, behind the two ports, with a clock that moves when it is told to. Changes
 * are done at once and answered in the next round; the watch shows them after the answer.
 */
#pragma once

#include "base/buf.h"
#include "port/kinds.h"
#include "syncer/syncer.h"

#define WORLD_MAX 64
#define WORLD_NOTES 12

struct world_pod {
	bool there;
	char name[32], node[32], uid[16];
	unsigned version;
	bool ready, deleting;
	struct pair labels[WORLD_NOTES], notes[WORLD_NOTES]; /* values NULL = not there */
	struct condition conditions[WORLD_NOTES];
	uint32_t n_labels, n_notes, n_conditions;
};

struct world_node {
	bool there;
	struct snode n; /* texts are owned by the world */
};

struct world_answer {
	bool kube, words;
	kube_done kube_done;
	kube_got kube_got;
	slurm_done slurm_done;
	void *arg;
	int outcome;
	char version[16];
	void *block;
	uint32_t n, part;
	usec_t asked;
};

struct world {
	struct kube_port kube;
	struct slurm_port slurm;
	struct clock clock;
	usec_t mono;
	struct store *pods, *slices;
	struct world_pod pod[WORLD_MAX];
	struct world_node node[WORLD_MAX];
	struct world_answer answers[256];
	unsigned n_answers, uids, versions;
	char **texts;
	unsigned n_texts;
	unsigned kube_now, kube_most, words_now, words_most; /* under way at once */
	unsigned n_kube, n_slurm, n_reads; /* effects that arrived, and lists of nodes */
	unsigned n_deleted; /* Slurm nodes */
	bool slurm_away, kube_conflicts, kube_forbids;
	/* the one Pod that is asked for by itself */
	struct {
		bool there, over, away; /* away: the API does not answer */
		const char *node;
		unsigned n_asked;
	} single;
	const char *hidden_pod; /* of slurmd: made, and no watch shows it yet */
	struct condition node_condition; /* the last written to a Kubernetes Node */
	char node_condition_of[32];
	/* before a change reaches Slurm */
	void (*meanwhile)(struct world *w);
	/* a change was made in Kubernetes, and neither its answer nor the news of it have come */
	void (*changed)(struct world *w);
	struct syncer *syncer;
	struct syncer_options options;
};

void world_open(struct world *w);   /* with a syncer that leads */
void world_close(struct world *w);
void world_restart(struct world *w); /* another syncer, which knows nothing */
void world_run(struct world *w, usec_t span);

struct world_pod *world_pod(struct world *w, const char *name); /* makes one that is ready, and its Slurm node */
struct snode *world_node(struct world *w, const char *name);   /* makes one that is idle */
void world_show(struct world *w, struct world_pod *p);         /* the watch shows it as it is */
void world_remove(struct world *w, struct world_pod *p);
void world_slice(struct world *w, const char *name, const char *one,
                 const char *two); /* a NodeSlice with these nodes; NULL = none */
const char *world_text(struct world *w, const char *text);
void world_note(struct world *w, struct world_pod *p, const char *key, const char *value); /* and shows it */
void world_drain(struct world *w, struct snode *n, const char *reason); /* as a person does; NULL undrains */
const char *world_value(const struct pair *pairs, uint32_t n, const char *key);
