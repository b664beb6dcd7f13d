/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of one Pod on one of our Nodes: fetched, admitted, prepared, run by a shim, told to the API, ended, removed. The
 * shim and the Pod's directory outlive the agent; an agent that starts again picks the Pod up where it is.
 */
#pragma once

#include "lite/agent/box.h"
#include "lite/agent/node.h"
#include "lite/agent/raw.h"
#include "lite/agent/story.h"
#include "model/pod.h"
#include "net/loop.h"

struct run;

struct run_context {
	struct loop *loop;
	struct lane *lane;
	const char *dir;  /* of all Pods: each gets dir/UID */
	const char *self; /* this program */
	const char *const *pod_env; /* for every container */
	/* Room for this Pod besides those admitted on its node? False with reason ("OutOfcpu") and message. */
	bool (*fits)(void *arg, const struct run *r, const struct pod *pod, char *reason, size_t reason_size,
	             char *message, size_t message_size);
	void (*tell)(void *arg, const struct run *r, const struct story_event *e); /* in an Event */
	void (*gone)(void *arg, struct run *r); /* nothing is left of it: forget and free it */
	void *arg;
};

struct run *run_new(const struct run_context *context, struct agent_node *node, const struct pod *pod);
void run_free(struct run *r); /* leaves the shim running */

/* The API has a newer version of it. */
void run_update(struct run *r, const struct pod *pod);
/* It is no longer in the API: end it at once and without telling. */
void run_removed(struct run *r);

const char *run_uid(const struct run *r);
const char *run_ns(const struct run *r);
const char *run_name(const struct run *r);
const char *run_dir(const struct run *r);
bool run_is(const struct run *r, const char *ns, const char *name); /* and still in the API */
/* The container as its shim told last; NULL when it has not. Good until the run is next called. */
const struct box_state *run_box(const struct run *r, const char *container);
struct agent_node *run_node(const struct run *r);
bool run_holds_resources(const struct run *r);
int64_t run_request(const struct run *r, const char *resource);
