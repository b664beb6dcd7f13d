/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the explainers share: both sides of the cluster, asked one question at a time. Each kind of thing that can be explained
 * has a file explain_<kind>.c that gathers the facts; what they mean is decided in src/policy.
 */
#pragma once

#include "kube/client.h"
#include "policy/explain.h"
#include "policy/rules.h"
#include "port/slurm.h"
#include "json/json.h"

struct explain_world {
	struct loop *loop;
	struct kube_client *kube;
	const char *ns; /* when none is given */
	struct slurm_port *slurm;
	usec_t timeout;
	struct rules rules;
	bool kill_wait_given;
};

/* Asks Kubernetes and waits; -ENOENT when there is no such thing. The document is the caller's. */
int explain_get(struct explain_world *w, const struct kube_request *request, yyjson_doc **ret, struct err *err);
/* Asks Slurm and waits; result->block is the caller's. 0 when the outcome is OK; -ENOENT when Slurm knows no such thing. */
int explain_ask(struct explain_world *w, const struct slurm_request *request, struct slurm_result *ret,
                struct err *err);

/* What can be explained: `what` is as the person wrote it. */
int explain_pod_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err);
