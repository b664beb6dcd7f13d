/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Extra field of a Slurm node: a JSON object in which people keep what they like, and we keep one key of our own, "k8s":
 *
 *	{"rack":"a7","k8s":{"node":"g1","namespace":"slurm","pod":"n1","nodeset":"main","lock":"locked","cordonReason":"disk",
 *	 "conditions":{"Ready":"True"},"features":"h100"}}
 *
 * Our key overwrites, users' other keys survive as they are, text that is no JSON object is replaced. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/pod.h"

#define EXTRA_KEY "k8s"
#define EXTRA_TEXT_MAX ((size_t)64 << 10) /* bytes of the whole field */
#define EXTRA_WORD_MAX 512                /* bytes of one of our values; longer ones are cut */
#define EXTRA_CONDITIONS_MAX 32

/* The Extra that the node should have while its Pod is there. True with the text in out when it differs from `now` (NULL and
 * "" are empty) in our part or is no JSON object; false when nothing is to be written. Text that is too long to be
 * read or written: false, with err. */
bool extra_merge(const char *now, const struct pod *pod, const char *features, struct buf *out, struct err *err);

/* What our part said when it was last written. False when there is none: this node never had a Pod, as far as it knows. */
struct extra_memory {
	char pod[254], ns[64];
	char nodeset[254]; /* that the Pod was of; "" = none */
	bool cordoned;
	char cordon[EXTRA_WORD_MAX];
	char features[EXTRA_WORD_MAX]; /* those that we added to the node, separated by commas */
};
bool extra_recall(const char *extra, struct extra_memory *ret);
