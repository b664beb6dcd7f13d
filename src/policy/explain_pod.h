/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why does this Pod not run (or does it)? From what Kubernetes and Slurm say of it, in plain words. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/knode.h"
#include "model/pod.h"
#include "model/slurm.h"
#include "policy/explain.h"
#include "policy/problems.h"
#include "policy/rules.h"

struct pod_event {
	const char *type, *reason, *message;
	usec_t last; /* wall */
	int64_t count;
};

/* All of it may be missing, and says so by NULL or 0. */
struct pod_facts {
	const char *ns, *name;
	const struct pod *pod;      /* NULL = there is none */
	const struct rules *rules;  /* scheduler_name "" = not known which is ours */
	const struct problems *problems; /* of validation */
	const struct job *jobs; /* whose extra names the Pod: its uid, or without a Pod its name; in order of the id */
	uint32_t n_jobs;
	const char *slurm_error; /* why Slurm could not be asked; NULL = it was */
	const struct snode *snode; /* where the job is */
	const struct knode *knode; /* where the Pod is */
	const char *knode_error; /* "not found" … */
	const char *leader; /* who leads the scheduler; "" = nobody; NULL = not known */
	const struct pod_event *events; /* oldest first */
	uint32_t n_events;
	usec_t now; /* wall */
};

void explain_pod(const struct pod_facts *f, struct explanation *ret);

/* The job that counts: one that is not over, else the latest; NULL = none. */
const struct job *explain_job_of(const struct pod_facts *f);
