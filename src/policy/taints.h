/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Taints and tolerations, exactly as Kubernetes decides. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/knode.h"
#include "model/pod.h"

#define TAINT_CORDON "node.kubernetes.io/unschedulable"

bool toleration_covers(const struct toleration *o, const struct taint *t);

/* The first toleration that covers the taint, NULL when none does. */
const struct toleration *taint_tolerated(const struct pod *pod, const struct taint *t);

/* Walks the taints that keep the Pod from being placed there (NoSchedule, NoExecute) and are not tolerated: i starts at 0; NULL
 * behind the last. */
const struct taint *taint_in_the_way(const struct pod *pod, const struct knode *node, uint32_t *i);

/* May it go to a Node that is cordoned? */
bool cordon_tolerated(const struct pod *pod);
