/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The words kubectl shows for a Pod: one walk over its containers gives readiness, status and restarts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/table_cells.h"
#include "json/json.h"

struct summary {
	char status[256];
	int64_t ready, total, restarts;
	yyjson_val *last_restart; /* the latest time a container ended that runs again; NULL = none */
};

/* RFC 3339 in UTC sorts as text. */
static void note_restart(struct summary *s, yyjson_val *container)
{
	yyjson_val *t = val_at(container, "lastState", "terminated", "finishedAt");

	s->restarts += json_int(yyjson_obj_get(container, "restartCount"), 0);
	if (yyjson_is_str(t) && (!s->last_restart || strcmp(yyjson_get_str(t), yyjson_get_str(s->last_restart)) > 0))
		s->last_restart = t;
}

static bool condition_is_true(yyjson_val *pod, const char *type)
{
	size_t i, max;
	yyjson_val *c;

	yyjson_arr_foreach(val_at(pod, "status", "conditions"), i, max,
	                   c) if (yyjson_equals_str(yyjson_obj_get(c, "type"),
	                                            type)) return yyjson_equals_str(yyjson_obj_get(c, "status"),
	                                                                            "True");
	return false;
}

/* An init container that keeps running: a sidecar. */
static bool is_sidecar(yyjson_val *pod, const char *name)
{
	size_t i, max;
	yyjson_val *c;

	yyjson_arr_foreach(val_at(pod, "spec", "initContainers"), i, max,
	                   c) if (yyjson_equals_str(yyjson_obj_get(c, "name"),
	                                            name)) return yyjson_equals_str(yyjson_obj_get(c, "restartPolicy"),
	                                                                            "Always");
	return false;
}

/* "Init:Error", "ExitCode:3", "Signal:9" */
static void set_ended(struct summary *s, const char *before, yyjson_val *terminated)
{
	const char *reason = json_str(yyjson_obj_get(terminated, "reason"));
	int64_t signal = json_int(yyjson_obj_get(terminated, "signal"), 0);

	if (!str_empty(reason))
		snprintf(s->status, sizeof(s->status), "%s%s", before, reason);
	else if (signal)
		snprintf(s->status, sizeof(s->status), "%sSignal:%lld", before, (long long)signal);
	else
		snprintf(s->status, sizeof(s->status), "%sExitCode:%lld", before,
		         (long long)json_int(yyjson_obj_get(terminated, "exitCode"), 0));
}

/* Returns whether the Pod is still initializing. */
static bool walk_init(yyjson_val *pod, struct summary *s, struct summary *sidecars)
{
	size_t i, max;
	yyjson_val *c;

	yyjson_arr_foreach(val_at(pod, "status", "initContainerStatuses"), i, max, c)
	{
		yyjson_val *ended = val_at(c, "state", "terminated"), *waiting = val_at(c, "state", "waiting");
		bool sidecar = is_sidecar(pod, json_str(yyjson_obj_get(c, "name")));
		const char *reason = json_str(yyjson_obj_get(waiting, "reason"));

		note_restart(s, c);
		if (sidecar)
			note_restart(sidecars, c);
		if (ended && json_int(yyjson_obj_get(ended, "exitCode"), 0) == 0)
			continue;
		if (sidecar && json_bool(yyjson_obj_get(c, "started"), false)) {
			s->ready += json_bool(yyjson_obj_get(c, "ready"), false);
			continue;
		}
		if (ended)
			set_ended(s, "Init:", ended);
		else if (!str_empty(reason) && !str_eq(reason, "PodInitializing"))
			snprintf(s->status, sizeof(s->status), "Init:%s", reason);
		else
			snprintf(s->status, sizeof(s->status), "Init:%zu/%zu", i,
			         yyjson_arr_size(val_at(pod, "spec", "initContainers")));
		return true;
	}
	return false;
}

static void walk_containers(yyjson_val *pod, struct summary *s)
{
	yyjson_val *list = val_at(pod, "status", "containerStatuses");
	char failed[sizeof(s->status)] = "";
	bool running = false;

	for (size_t i = yyjson_arr_size(list); i-- > 0;) {
		yyjson_val *c = yyjson_arr_get(list, i), *ended = val_at(c, "state", "terminated");
		const char *waiting = json_str(val_at(c, "state", "waiting", "reason"));

		note_restart(s, c);
		if (!str_empty(waiting)) {
			str_copy(s->status, sizeof(s->status), waiting);
		} else if (ended) {
			set_ended(s, "", ended);
			if (json_int(yyjson_obj_get(ended, "exitCode"), 0))
				str_copy(failed, sizeof(failed), s->status);
		} else if (json_bool(yyjson_obj_get(c, "ready"), false) && val_at(c, "state", "running")) {
			running = true;
			s->ready++;
		}
	}
	if (!str_eq(s->status, "Completed"))
		return;
	if (running && condition_is_true(pod, "Ready"))
		str_copy(s->status, sizeof(s->status), "Running");
	else if (*failed)
		str_copy(s->status, sizeof(s->status), failed);
	else if (running)
		str_copy(s->status, sizeof(s->status), "NotReady");
}

static void summarize(yyjson_val *pod, struct summary *s)
{
	struct summary sidecars = { 0 };
	const char *phase = json_str(val_at(pod, "status", "phase")),
	           *reason = json_str(val_at(pod, "status", "reason"));
	size_t i, max;
	yyjson_val *v;

	*s = (struct summary) { .total = (int64_t)yyjson_arr_size(val_at(pod, "spec", "containers")) };
	str_copy(s->status, sizeof(s->status), str_empty(reason) ? phase : reason);
	yyjson_arr_foreach(val_at(pod, "status", "conditions"), i, max,
	                   v) if (yyjson_equals_str(yyjson_obj_get(v, "type"), "PodScheduled") &&
	                          yyjson_equals_str(yyjson_obj_get(v, "reason"), "SchedulingGated"))
	        str_copy(s->status, sizeof(s->status), "SchedulingGated");
	yyjson_arr_foreach(val_at(pod, "spec", "initContainers"), i, max, v) s->total +=
	        yyjson_equals_str(yyjson_obj_get(v, "restartPolicy"), "Always");
	if (!walk_init(pod, s, &sidecars) || condition_is_true(pod, "Initialized")) {
		s->restarts = sidecars.restarts;
		s->last_restart = sidecars.last_restart;
		walk_containers(pod, s);
	}
	if (!json_str(val_at(pod, "metadata", "deletionTimestamp")))
		return;
	if (str_eq(reason, "NodeLost"))
		str_copy(s->status, sizeof(s->status), "Unknown");
	else if (!str_eq(phase, "Succeeded") && !str_eq(phase, "Failed"))
		str_copy(s->status, sizeof(s->status), "Terminating");
}

void cell_pod_ready(const struct cell *c)
{
	struct summary s;

	summarize(c->object, &s);
	cell_putf(c, "%lld/%lld", (long long)s.ready, (long long)s.total);
}

void cell_pod_status(const struct cell *c)
{
	struct summary s;

	summarize(c->object, &s);
	cell_put(c, s.status);
}

void cell_pod_restarts(const struct cell *c)
{
	struct summary s;
	char age[32];

	summarize(c->object, &s);
	if (s.restarts && s.last_restart)
		cell_putf(c, "%lld (%s ago)", (long long)s.restarts, table_age(s.last_restart, c->now, age));
	else
		cell_putf(c, "%lld", (long long)s.restarts);
}

void cell_pod_ip(const struct cell *c)
{
	const char *ip = json_str(val_at(yyjson_arr_get_first(val_at(c->object, "status", "podIPs")), "ip"));

	cell_put(c, str_empty(ip) ? "<none>" : ip);
}

void cell_pod_gates(const struct cell *c)
{
	yyjson_val *gates = val_at(c->object, "spec", "readinessGates"), *g;
	size_t i, max, open = 0;

	if (!yyjson_arr_size(gates)) {
		cell_put(c, "<none>");
		return;
	}
	yyjson_arr_foreach(gates, i, max, g) open +=
	        condition_is_true(c->object, str_or(json_str(yyjson_obj_get(g, "conditionType")), ""));
	cell_putf(c, "%zu/%zu", open, yyjson_arr_size(gates));
}

void table_add_pod_conditions(yyjson_val *pod, struct buf *out)
{
	const char *phase = json_str(val_at(pod, "status", "phase"));
	bool well = str_eq(phase, "Succeeded");

	if (well || str_eq(phase, "Failed"))
		buf_printf(out,
		           ",\"conditions\":[{\"type\":\"Completed\",\"status\":\"True\",\"reason\":\"%s\",\"message\":"
		           "\"%s\"}]",
		           phase, well ? "The pod has completed successfully." : "The pod failed.");
}
