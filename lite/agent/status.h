/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the agent writes into a Pod's status, from the Pod, what its shim tells, and what the agent knows: the same states,
 * reasons and order as a kubelet's. Pure.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/time.h"
#include "lite/agent/box.h"
#include "json/patch.h"

struct status_facts {
	const struct pod_state *state; /* NULL: nothing has been started yet */
	const char *host_ip, *pod_ip;
	usec_t started;     /* wall; when the agent took the Pod up */
	bool sandbox;       /* its directory is made: containers may start */
	bool hold_terminal; /* one more state before the end: terminated containers, phase not final yet */
	/* An end or a wait that is not the containers' doing: "OutOfcpu", "DeadlineExceeded"; or a waiting reason such as
	 * "CreateContainerConfigError". NULL = none. */
	const char *failed_reason, *failed_message;
	const char *waiting_reason, *waiting_message;
};

enum status_phase { STATUS_PENDING, STATUS_RUNNING, STATUS_SUCCEEDED, STATUS_FAILED };

enum status_phase status_phase_of(const struct status_facts *f);
static inline bool status_is_final(enum status_phase phase)
{
	return phase >= STATUS_SUCCEEDED;
}

/* What it says of itself: "True", "False" or NULL. */
const char *status_ready(yyjson_val *pod);

/* Fills p with {"metadata":{"uid":…},"status":{…}}, a strategic merge patch: conditions of others stay. Transition times are
 * kept where the Pod already has the same condition status. */
void status_patch(yyjson_val *pod, const struct status_facts *f, usec_t now, struct patch *p);
