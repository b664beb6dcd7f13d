/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is there room for a Pod on a Node: counted as the kubelet counts when it admits a Pod. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/knode.h"
#include "model/pod.h"

/* What a Pod asks for: each resource once, more than nothing. The names are the Pod's. */
struct asks {
	struct amount *list;
	size_t n;
};

void asks_init(struct asks *a, const struct pod *pod);
void asks_done(struct asks *a);
#define _cleanup_asks_ _cleanup_(asks_done)

/* What is short, for words: `asked` and `has` in thousandths. */
struct shortage {
	const char *resource; /* "pods" too */
	int64_t asked, has;   /* of the whole Node, or what is free of it */
	int64_t whole;
};

/* The whole Node would do, were it empty. A Node that does not say how many Pods it takes takes any number. */
bool room_ever(const struct asks *asks, const struct knode *node, struct shortage *ret);

/* Does a Pod take part in what is counted on a Node? Not when it is over, and not when it is `self`. */
bool pod_counts(const struct pod *other, const struct pod *self);

/* Room for one more Pod, and for what it asks for, beside those on the Node. */
bool room_for_pod(const struct pod *pod, const struct knode *node, const struct pod *const *on_node, size_t n_on_node,
                  struct shortage *ret);
bool room_now(const struct pod *pod, const struct asks *asks, const struct knode *node,
              const struct pod *const *on_node, size_t n_on_node, struct shortage *ret);

/* The first host port of `a` that `b` has taken, NULL when none: the same port and protocol, and the same address or
 * one of them all addresses. Containers and sidecars count. */
const struct host_port *ports_clash(const struct pod *a, const struct pod *b);

/* "1500m", "64", "512Gi", "1.5Gi": as a person would write that much of this resource. */
#define AMOUNT_TEXT_MAX 32
const char *amount_text(const char *resource, int64_t milli, char text[AMOUNT_TEXT_MAX]);
