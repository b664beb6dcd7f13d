/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What `sunk validate` tells about the Pods it was given: for people as text, for machines as one JSON document.
 */
#pragma once

#include <stdio.h>

#include "cmd/cluster_nodes.h"
#include "cmd/manifest.h"
#include "policy/podjob.h"
#include "policy/problems.h"

struct pod_report {
	FILE *out;
	bool json;
	unsigned n_pods, n_bad, n_other;
	struct yyjson_mut_doc *doc; /* with json: what was told so far */
};

void pod_report_init(struct pod_report *r, FILE *out, bool json);
void pod_report_done(struct pod_report *r); /* writes what is left to write */

/* What is known of one document. */
struct pod_verdict {
	const struct manifest_item *item;
	const struct problems *problems;
	const struct wishes *wishes;
	const struct podjob *job; /* NULL when it has errors */
	const struct cluster_fit *fit; /* where it may run; NULL when nobody asked */
};

void pod_report_add(struct pod_report *r, const struct pod_verdict *v);
