/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Controllers, in the server's own process and thread. Each is level-triggered: a change only marks a key to look at,
 * looking reads the whole truth from the store and the view, and acts through the registry like any client. After each
 * look that wrote, the store is committed, so the view is always as the store is when the next look begins.
 */
#pragma once

#include <yyjson.h>

#include "base/dirty.h"
#include "base/mem.h"
#include "lite/control/view.h"
#include "lite/db.h"
#include "lite/registry.h"
#include "lite/server.h"

#define MANAGER "kube-controller-manager"

struct control_options {
	usec_t node_grace; /* a Node whose lease is older than this is not known to be alive; 0: nobody watches */
	const char *ca_pem; /* for the config maps kube-root-ca.crt; NULL: none are made */
};

struct control *control_new(struct lite *l, const struct control_options *o);
void control_free(struct control *c);
DEFINE_FREEP(struct control, control_free)

/* ---- for controllers ---- */

struct controller;

struct controller_ops {
	const char *name;
	void (*start)(struct controller *c);
	void (*stop)(struct controller *c);
	/* Marks what the change concerns. The view has it already. */
	void (*changed)(struct controller *c, struct collection *in, const struct event *e);
	void (*look)(struct controller *c, const char *key);
};

struct controller {
	const struct controller_ops *ops;
	struct control *control;
	struct lite *lite;
	struct dirty dirty;
	void *state;
};

struct control {
	struct lite *lite;
	struct control_options options;
	struct view *view;
	struct listener listener;
	struct loop_timer *timer;
	struct controller *list;
	size_t n;
	/* The collections that controllers look at. */
	struct collection *pods, *nodes, *namespaces, *accounts, *configmaps, *leases, *events;
	struct collection *replicasets, *deployments, *daemonsets, *jobs, *budgets, *crds;
	struct collection *claims, *volumes, *classes;
};

extern const struct controller_ops namespaces_ops, accounts_ops, gc_ops, taints_ops, lifecycle_ops, podgc_ops,
        replicaset_ops, deployment_ops, daemonset_ops, job_ops, scheduler_ops, budget_ops, definitions_ops, expiry_ops,
        volumes_ops, ephemeral_ops;

/* Look at key not before `after` from now (0: soon). */
void mark(struct controller *c, const char *key, usec_t after);
void mark_item(struct controller *c, const struct item *i, usec_t after);

/* "namespace/name" → both; the namespace is "" when there is none. ns must have room for DB_KEY_MAX. */
const char *key_split(const char *key, char *ns);

/* Reading. */
struct item *get_item(struct collection *c, const char *key); /* borrowed; NULL */
const struct kind *kind_of(const char *group, const char *plural);

/* Writing: each logs what fails for other reasons than that the object changed or is gone, and returns the error. */
int write_status(struct controller *c, const struct kind *k, const struct item *old,
                 yyjson_mut_doc *doc); /* takes doc */
int write_object(struct controller *c, const struct kind *k, const struct item *old,
                 yyjson_mut_doc *doc); /* takes doc */
int delete_object(struct controller *c, const struct kind *k, const char *ns, const char *name,
                  const struct delete_options *o);
int create_object(struct controller *c, const struct kind *k, const char *ns, yyjson_mut_doc *doc,
                  struct item **ret); /* takes doc */

/* An Event about an object; the same again counts up. */
void tell(struct controller *c, const struct kind *k, const struct item *about, const char *type, const char *reason,
          const char *fmt, ...) _printf_(6, 7);
