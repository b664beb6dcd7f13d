/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * On which nodes may a Pod run, as Kubernetes sees it? Slurm makes the choice among those that are left. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/knode.h"
#include "model/pod.h"
#include "model/volume.h"
#include "policy/candidates.h"
#include "policy/rules.h"

/* Why not, most lasting first; the order in which a summary names them. */
enum misfit {
	FIT_OK,
	MISFIT_NOT_REQUIRED,  /* the Pod names others (annotation required-nodes) */
	MISFIT_NO_NODE,       /* the Kubernetes Node is gone */
	MISFIT_SELECTOR,      /* nodeSelector or required node affinity */
	MISFIT_VOLUME,        /* a volume can only be reached from elsewhere */
	MISFIT_CAPACITY,      /* asks for more than the whole Node has to give */
	MISFIT_TAINT,
	MISFIT_UNSCHEDULABLE, /* cordoned */
	/* from here on they pass: only looked at just before binding */
	MISFIT_RESOURCES, /* what is free now is not enough */
	MISFIT_PORTS,     /* a host port is taken */
	MISFIT_PODS,      /* the Node has as many Pods as it may */
	MISFITS,
};

#define FIT_WHY_MAX 256

/* One Slurm node with what Kubernetes knows of it. */
struct place {
	const char *slurm_node;
	const struct knode *node; /* NULL = gone */
	const char *node_name;    /* spec.nodeName of the NodeSet Pod */
};

/* The volumes of a Pod, looked up by the shell; claim n belongs to pod->volumes[n]. */
struct pod_volumes {
	const struct pvc **claims;   /* NULL entries: there is no such claim */
	const struct pv **volumes;   /* of bound claims; NULL = not bound, or not known */
	const struct storage_class **classes; /* of the claims; NULL = none or not known */
	struct candidates *candidates; /* of claims that wait for their first consumer; NULL = not looked up */
	uint64_t version; /* of the candidates: the same one, the same candidates */
	uint32_t n;
};

/* Lasting properties: for the exclude list. `why` gets one clause ("taint dedicated=ml:NoSchedule is not tolerated"). A NoExecute
 * lock taint of our own (TAINT_LOCK) never counts: the scheduler tolerates it for the Pod. volumes may be NULL: then they are
 * not looked at; a claim that is not there or not known keeps from no node (volumes_before_bind waits for it). `why` is not
 * written when it fits. */
enum misfit fits_ever(const struct pod *pod, const struct place *place, const struct pod_volumes *volumes,
                      const struct rules *rules, char why[FIT_WHY_MAX]);

/* Just before binding: fits_ever, and moreover what is free with these Pods on the Node (all of them; finished ones and the Pod
 * itself do not count): cpu, memory, ephemeral-storage, GPUs and any other resource the Pod asks for, number of Pods, host ports. */
enum misfit fits_now(const struct pod *pod, const struct place *place, const struct pod_volumes *volumes,
                     const struct pod *const *on_node, size_t n_on_node, const struct rules *rules,
                     char why[FIT_WHY_MAX]);

/* All places at once. excluded: hostlist of the Slurm nodes that do not fit, sorted; quickest when the places are (by
 * hostlist_compare). summary: "2 of 12 nodes are feasible: 6 have an untolerated taint (dedicated=ml:NoSchedule), 4 do
 * not match the node selector (disktype=ssd)"; each number counts the nodes for which that is the first reason, in the
 * order of enum misfit. */
struct feasible {
	size_t n_places, n_fit;
	size_t by[MISFITS];
	char *excluded; /* owned, NULL = none */
	char *summary; /* owned */
};
void feasible_make(const struct pod *pod, const struct place *places, size_t n, const struct pod_volumes *volumes,
                   const struct rules *rules, struct feasible *ret);
void feasible_done(struct feasible *f);
#define _cleanup_feasible_ _cleanup_(feasible_done)

/* All that the result depends on but for the places: Pods with the same key have the same result, so that one
 * feasible_make() serves all Pods of a template. Appended; a buffer that is too small has its error set: do not share. */
#define FEASIBLE_KEY_MAX 16384 /* bytes that are worth it */
void feasible_key(const struct pod *pod, const struct pod_volumes *volumes, struct buf *out);

/* A claim that waits for its first consumer gets a volume that is there, or the chosen node's name so that one is made for it;
 * binding waits until all claims are bound. */
enum volumes_state {
	VOLUMES_READY, /* bind */
	VOLUMES_TAKE, /* volumes_choice() is to be given to claim number *ret_claim */
	VOLUMES_SELECT, /* claim number *ret_claim needs annotation volume.kubernetes.io/selected-node = the node */
	VOLUMES_WAIT, /* a provisioner works, or a claim is not there yet: why says which */
	VOLUMES_ELSEWHERE, /* a claim was bound where the node cannot reach it, or selected another node: release and retry */
};
/* place NULL: before a node is chosen, that is, before the job is submitted; never TAKE, SELECT or ELSEWHERE then. READY means: all
 * claims are there, and those that do not wait for a consumer are bound, so that where their volumes are is known.
 * volumes NULL: none of the claims is there. why: not written when READY. */
enum volumes_state volumes_before_bind(const struct pod *pod, const struct pod_volumes *volumes,
                                       const struct place *place, uint32_t *ret_claim, char why[FIT_WHY_MAX]);

/* The volume that the claim gets on this node; NULL = none: it has one, or one is made for it, or there is none. */
const struct pv *volumes_choice(const struct pod *pod, const struct pod_volumes *volumes, const struct knode *node,
                                uint32_t claim);

/* Whether volumes that are there matter to the claim, that is, whether candidates are to be looked up. */
bool claim_may_take(const struct pvc *claim, const struct storage_class *class);

/* The name of the claim of pod->volumes[n], in the Pod's namespace. */
#define CLAIM_NAME_MAX (253 + 1 + 63 + 1)
const char *claim_name(const struct pod *pod, uint32_t n, char text[CLAIM_NAME_MAX]);
