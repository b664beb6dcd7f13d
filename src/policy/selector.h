/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Does a Node match what selects Nodes: nodeSelector, required node affinity, the node affinity of a volume? Exactly as
 * Kubernetes decides. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/knode.h"
#include "model/pod.h"

/* One requirement on a label's value; NULL = the Node has no such label. */
bool requirement_holds(const struct requirement *r, const char *value);

/* All requirements of a term hold. A term without any matches nothing; nor does one that Kubernetes would not accept
 * (In without values, Gt with two, Exists with one, a field other than metadata.name …). */
bool node_matches_term(const struct selector_term *t, const struct knode *node);

/* One of the terms matches; of no terms none does. */
bool node_matches_terms(const struct selector_term *terms, uint32_t n, const struct knode *node);

/* Why a Pod's nodeSelector and affinity do not match. */
struct unselected {
	const struct pair *label;        /* of nodeSelector; else it is the affinity: */
	const struct requirement *needs; /* when it has one term: the requirement that does not hold; may be NULL */
};

/* nodeSelector and required affinity together. ret may be NULL. */
bool pod_selects(const struct pod *pod, const struct knode *node, struct unselected *ret);
