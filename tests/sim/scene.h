/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Scripted scenes of a Kubernetes, played through a kube_port: the model's (play_kube.c), or the real client against a real API server or
 * lite (sunk_scene.c). So the requests, and what is made of their answers, are those of src/kube. What was seen is a record.
 *
 *   create POD [node=NODE] [grace=S] [run=S] [exit=N] [finalizer=F] [gate=G] [tolerates=KEY:EFFECT[:S]] [owner=POD] [label=K:V] [stubborn]
 *   change POD|NODE [annotation=K:V] [label=K:V] [condition=T:STATUS[:REASON]] [taint=KEY:EFFECT] [taints=none] [tolerates=…]
 *          [finalizers=F|none] [deadline=S] [unschedulable=yes|no] [uid=…] [version=…]      several of each; without V: taken away
 *   bind POD NODE [uid=…]     delete POD [grace=S] [uid=…] [version=…]     evict POD [grace=S] [uid=…]     get POD [uid=…]
 *   kubelets stop, kubelets go on      refresh: everything is listed anew      passes S: nothing is done for so long
 *   until POD|NODE TEXT       waits for this in what it says of itself; "gone" when it is not there
 *
 * uid= and version= are preconditions: "now", "old" (the first that was seen under this name), "other" (nobody's). Keys of labels,
 * annotations, taints and finalizers are ours: "sunk.coreweave.com/" is before them. Names that begin with k are Nodes.
 *
 * The record: each answer, in order; and of each object all that a watch showed of it, without what is the same as before. Not
 * in it, because it differs from cluster to cluster or is not modelled: times, versions but for "unchanged", uids but for which of those
 * with its name an object is (a#1, a#2), conditions that only tell of a kubelet's health and steps, what others than us put on Nodes.
 * How one ends that was told to ("ended"): it may not have heard it yet in its own way.
 * The order between answers and objects, and between two objects, is not compared.
 */
#pragma once

#include <stdbool.h>

#include "port/kube.h"
#include "tests/sim/play.h"

struct scene_stage { /* what it is played on */
	struct kube_port *port;
	const char *ns; /* of its Pods */
	void *arg;
	usec_t patience; /* of "until" and of answers */
	usec_t (*now)(void *arg);
	bool (*step)(void *arg); /* lets something happen; false: nothing can any more */
	void (*passes)(void *arg, usec_t span);
	void (*kubelets)(void *arg, bool work);
	void (*will_make)(void *arg, const char *pod, int64_t run_s, int exit_code, bool stubborn); /* may be NULL */
};

/* Plays the script of a file. False: it could not be played, ret->why tells; what was seen so far is there. */
struct scene_result {
	struct record script, recorded, seen; /* recorded: what the file has */
	char why[2 * PLAY_LINE];
	struct scene *scene; /* listens to the port's stores */
};
bool scene_play(const struct scene_stage *stage, const char *path, struct scene_result *ret);
void scene_done(struct scene_result *r); /* after the port's end */
/* What was seen is what the file has; else the first difference is printed. */
bool scene_compare(const struct scene_result *r, const char *who);
