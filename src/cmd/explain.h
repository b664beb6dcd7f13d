/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the explainers share: both sides of the cluster, asked one question at a time. Each kind of thing that can be explained
 * has a file explain_<kind>.c that gathers the facts; what they mean is decided in src/policy.
 */
#pragma once

#include "kube/client.h"
#include "model/pod.h"
#include "policy/explain.h"
#include "policy/explain_node.h"
#include "policy/rules.h"
#include "port/slurm.h"
#include "json/json.h"

struct explain_world {
	struct loop *loop;
	struct kube_client *kube; /* NULL: kube_err says why */
	struct err kube_err;
	const char *ns; /* when none is given */
	const char *nodeset_ns; /* the namespace of the NodeSet Pods; NULL = any */
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

/* One object, decoded: the caller frees it. -ENOENT as above. */
int explain_object(struct explain_world *w, const struct kube_ref *ref, void **ret, struct err *err);
/* Pods by namespace and selectors (NULL = any), at most EXPLAIN_PODS_MAX. */
#define EXPLAIN_PODS_MAX 1000
struct explain_pods {
	struct pod **pods;
	uint32_t n;
};
int explain_pods(struct explain_world *w, const char *ns, const char *labels, const char *fields,
                 struct explain_pods *ret, struct err *err);
void explain_pods_done(struct explain_pods *p);

/* What can be explained: `what` is as the person wrote it. */
int explain_pod_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err);
int explain_node_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err);
int explain_job_verb(struct explain_world *w, const char *what, struct explanation *ret, struct err *err);

/* All that both sides say of one node, which is asked for by either name. Jobs: those of Slurm, when they are there already; else
 * they are asked for. */
struct node_gathered;
struct node_gathered *node_gather(struct explain_world *w, const char *name, const struct slurm_result *jobs);
void node_gathered_free(struct node_gathered *g);
DEFINE_FREEP(struct node_gathered, node_gathered_free)
const struct node_facts *node_gathered_facts(const struct node_gathered *g);
