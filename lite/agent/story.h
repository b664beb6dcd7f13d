/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a kubelet tells about a Pod in Events, from one state of its containers to the next. Pure.
 */
#pragma once

#include "lite/agent/box.h"

struct story_event {
	const char *type, *reason, *action;
	const char *message; /* good until the call returns */
};

typedef void (*story_tell)(void *arg, const struct story_event *e);

/* before NULL: nothing has run yet. ending: it was told to end, so it may lose its readiness. pod: how messages name it, "NAME_NAMESPACE(UID)". */
void story_of_change(const struct pod_state *before, const struct pod_state *now, const char *pod, bool ending,
                     story_tell tell, void *arg);

/* It is told to end: one for every container that runs. */
void story_of_end(const struct pod_state *now, story_tell tell, void *arg);
