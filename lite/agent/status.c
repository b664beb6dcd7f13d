/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/status.h"

#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "json/json.h"

#define NAMES_MAX 4096
#define ID_MAX 512
#define COND "status", "conditions"

static bool all_terminated(const struct pod_state *s)
{
	for (uint32_t i = 0; i < s->n_mains; i++)
		if (s->mains[i].phase != BOX_TERMINATED || *str_or(s->mains[i].reason, ""))
			return false;
	return s->n_mains > 0;
}

static bool any_failed(const struct pod_state *s)
{
	for (uint32_t i = 0; i < s->n_mains; i++)
		if (s->mains[i].phase != BOX_TERMINATED || s->mains[i].exit.code != 0)
			return true;
	return false;
}

static bool ever_ran(const struct pod_state *s)
{
	for (uint32_t i = 0; i < s->n_mains; i++)
		if (s->mains[i].phase != BOX_WAITING)
			return true;
	return false;
}

enum status_phase status_phase_of(const struct status_facts *f)
{
	if (f->state && f->state->ended && !f->hold_terminal)
		return f->failed_reason || any_failed(f->state) ? STATUS_FAILED : STATUS_SUCCEEDED;
	if (!f->state)
		return f->failed_reason ? STATUS_FAILED : STATUS_PENDING;
	return ever_ran(f->state) ? STATUS_RUNNING : STATUS_PENDING;
}

static yyjson_val *find(yyjson_val *list, const char *key, const char *value)
{
	yyjson_arr_iter iter;
	yyjson_val *item;

	if (yyjson_arr_iter_init(list, &iter))
		while ((item = yyjson_arr_iter_next(&iter)))
			if (str_eq(json_str(json_get(item, key)), value))
				return item;
	return NULL;
}

static void add_condition(struct patch *p, yyjson_val *pod, const char *type, bool is, const char *reason,
                          const char *message, usec_t now)
{
	yyjson_val *old = find(json_get(json_get(pod, "status"), "conditions"), "type", type);
	const char *status = is ? "True" : "False", *since = json_str(json_get(old, "lastTransitionTime"));
	struct patch *c = patch_add(p, PATH(COND));

	patch_str(c, type, PATH("type"));
	patch_str(c, status, PATH("status"));
	patch_null(c, PATH("lastProbeTime"));
	if (since && str_eq(json_str(json_get(old, "status")), status))
		patch_str(c, since, PATH("lastTransitionTime"));
	else
		patch_time(c, now, PATH("lastTransitionTime"));
	patch_str(c, str_empty(reason) ? NULL : reason, PATH("reason"));
	patch_str(c, str_empty(message) ? NULL : message, PATH("message"));
}

/* "containers with unready status: [a b]" */
static const char *unready(const struct status_facts *f, yyjson_val *pod, struct buf *out)
{
	yyjson_arr_iter iter;
	yyjson_val *container;

	buf_add_str(out, "containers with unready status: [");
	if (!f->state && yyjson_arr_iter_init(json_get(json_get(pod, "spec"), "containers"), &iter))
		while ((container = yyjson_arr_iter_next(&iter)))
			buf_printf(out, "%s%s", str_ends(buf_text(out), "[") ? "" : " ",
			           str_or(json_str(json_get(container, "name")), ""));
	for (uint32_t i = 0; f->state && i < f->state->n_mains; i++)
		if (!f->state->mains[i].ready)
			buf_printf(out, "%s%s", str_ends(buf_text(out), "[") ? "" : " ", f->state->mains[i].name);
	buf_add_char(out, ']');
	return buf_text(out);
}

static bool boxes_ready(const struct status_facts *f)
{
	if (!f->state || !f->state->initialized)
		return false;
	for (uint32_t i = 0; i < f->state->n_mains; i++)
		if (!f->state->mains[i].ready)
			return false;
	return true;
}

static bool gates_hold(yyjson_val *pod)
{
	yyjson_val *conditions = json_get(json_get(pod, "status"), "conditions"), *gate;
	yyjson_arr_iter iter;

	if (yyjson_arr_iter_init(json_get(json_get(pod, "spec"), "readinessGates"), &iter))
		while ((gate = yyjson_arr_iter_next(&iter))) {
			yyjson_val *c = find(conditions, "type", str_or(json_str(json_get(gate, "conditionType")), ""));

			if (!str_eq(json_str(json_get(c, "status")), "True"))
				return false;
		}
	return true;
}

static void add_conditions(struct patch *p, yyjson_val *pod, const struct status_facts *f, usec_t now)
{
	_cleanup_buf_ struct buf text = BUF(NAMES_MAX);
	bool over = f->state && all_terminated(f->state), failed = over && any_failed(f->state), ready = boxes_ready(f);
	bool has_inits = yyjson_arr_size(json_get(json_get(pod, "spec"), "initContainers")) > 0;
	bool initialized = f->state ? f->state->initialized || !has_inits : !has_inits;
	const char *reason = NULL, *message = NULL;

	if (over || f->failed_reason) {
		reason = failed || f->failed_reason ? "PodFailed" : "PodCompleted";
		ready = false;
	} else if (!ready) {
		reason = "ContainersNotReady";
		message = unready(f, pod, &text);
	}
	add_condition(p, pod, "PodScheduled", true, NULL, NULL, now); /* also when nobody bound it: it is here */
	add_condition(p, pod, "PodReadyToStartContainers", f->sandbox && !status_is_final(status_phase_of(f)), NULL,
	              NULL, now);
	add_condition(p, pod, "Initialized", initialized,
	              !initialized      ? "ContainersNotInitialized"
	              : over && !failed ? "PodCompleted"
	                                : NULL,
	              NULL, now);
	if (ready && !gates_hold(pod))
		add_condition(p, pod, "Ready", false, "ReadinessGatesNotReady",
		              "a readiness gate's condition is not True", now);
	else
		add_condition(p, pod, "Ready", ready, reason, message, now);
	add_condition(p, pod, "ContainersReady", ready, reason, message, now);
}

static void put_exit(struct patch *c, const struct box_exit *e, const char *state, const char *id, const char *message)
{
	patch_int(c, e->code, PATH(state, "terminated", "exitCode"));
	patch_str(c, str_or(e->reason, "Error"), PATH(state, "terminated", "reason"));
	if (!str_empty(message))
		patch_str(c, message, PATH(state, "terminated", "message"));
	patch_time(c, e->started, PATH(state, "terminated", "startedAt"));
	patch_time(c, e->finished, PATH(state, "terminated", "finishedAt"));
	patch_str(c, id, PATH(state, "terminated", "containerID"));
}

static void put_waiting(struct patch *c, const char *reason, const char *message)
{
	patch_str(c, reason, PATH("state", "waiting", "reason"));
	if (!str_empty(message))
		patch_str(c, message, PATH("state", "waiting", "message"));
}

static void put_state(struct patch *c, yyjson_val *pod, const struct box_state *b, const struct status_facts *f,
                      const char *id)
{
	yyjson_val *meta = json_get(pod, "metadata");

	if (b->phase == BOX_RUNNING)
		patch_time(c, b->started_at, PATH("state", "running", "startedAt"));
	else if (b->phase == BOX_WAITING)
		put_waiting(c, f->waiting_reason ? f->waiting_reason : str_or(b->reason, "ContainerCreating"),
		            f->waiting_message);
	else if (str_empty(b->reason)) {
		put_exit(c, &b->exit, "state", id, b->message);
		if (b->has_last)
			put_exit(c, &b->last, "lastState", id, NULL);
	} else {
		_cleanup_free_ char *text = str_printf("back-off restarting failed container=%s pod=%s_%s(%s)", b->name,
		                                       str_or(json_str(json_get(meta, "name")), ""),
		                                       str_or(json_str(json_get(meta, "namespace")), ""),
		                                       str_or(json_str(json_get(meta, "uid")), ""));

		put_waiting(c, b->reason, text);
		put_exit(c, &b->exit, "lastState", id, b->message);
	}
	if (b->phase != BOX_TERMINATED && b->has_last)
		put_exit(c, &b->last, "lastState", id, NULL);
}

static void add_box(struct patch *p, yyjson_val *pod, yyjson_val *container, const char *list,
                    const struct box_state *b, const struct status_facts *f)
{
	struct patch *c = patch_add(p, PATH("status", list));
	const char *name = str_or(json_str(json_get(container, "name")), "");
	struct box_state fresh = { .name = name, .phase = BOX_WAITING };
	char id[ID_MAX];

	if (!b)
		b = &fresh;
	snprintf(id, sizeof(id), "sunk-lite://%s/%s/%d",
	         str_or(json_str(json_get(json_get(pod, "metadata"), "uid")), ""), name, b->restarts);
	patch_str(c, name, PATH("name"));
	patch_raw(c, "{}", 2, PATH("state"), NULL);
	patch_raw(c, "{}", 2, PATH("lastState"), NULL);
	put_state(c, pod, b, f, id);
	patch_bool(c, b->ready, PATH("ready"));
	patch_int(c, b->restarts, PATH("restartCount"));
	patch_str(c, str_or(json_str(json_get(container, "image")), ""), PATH("image"));
	patch_str(c, "", PATH("imageID"));
	if (b->phase != BOX_WAITING)
		patch_str(c, id, PATH("containerID"));
	patch_bool(c, b->started, PATH("started"));
}

static void add_boxes(struct patch *p, yyjson_val *pod, const char *key, const char *list,
                      const struct box_state *boxes, uint32_t n, const struct status_facts *f)
{
	yyjson_arr_iter iter;
	yyjson_val *container;
	uint32_t i = 0;

	if (yyjson_arr_iter_init(json_get(json_get(pod, "spec"), key), &iter))
		while ((container = yyjson_arr_iter_next(&iter)))
			add_box(p, pod, container, list, i < n ? &boxes[i] : NULL, f), i++;
}

const char *status_ready(yyjson_val *pod)
{
	return json_str(json_get(find(json_get(json_get(pod, "status"), "conditions"), "type", "Ready"), "status"));
}

void status_patch(yyjson_val *pod, const struct status_facts *f, usec_t now, struct patch *p)
{
	static const char *const phases[] = { "Pending", "Running", "Succeeded", "Failed" };
	enum status_phase phase = status_phase_of(f);
	yyjson_val *meta = json_get(pod, "metadata");

	patch_str(p, json_str(json_get(meta, "uid")), PATH("metadata", "uid"));
	patch_str(p, phases[phase], PATH("status", "phase"));
	patch_int(p, json_int(json_get(meta, "generation"), 0), PATH("status", "observedGeneration"));
	if (f->failed_reason) {
		patch_str(p, f->failed_reason, PATH("status", "reason"));
		patch_str(p, f->failed_message, PATH("status", "message"));
	}
	patch_time(p, f->started, PATH("status", "startTime"));
	if (!f->state && f->failed_reason) /* refused before anything was made: that is all there is to say */
		return;
	patch_str(p, f->host_ip, PATH("status", "hostIP"));
	patch_str(patch_add(p, PATH("status", "hostIPs")), f->host_ip, PATH("ip"));
	if (f->state) {
		patch_str(p, f->pod_ip, PATH("status", "podIP"));
		patch_str(patch_add(p, PATH("status", "podIPs")), f->pod_ip, PATH("ip"));
	}
	add_conditions(p, pod, f, now);
	add_boxes(p, pod, "initContainers", "initContainerStatuses", f->state ? f->state->inits : NULL,
	          f->state ? f->state->n_inits : 0, f);
	add_boxes(p, pod, "containers", "containerStatuses", f->state ? f->state->mains : NULL,
	          f->state ? f->state->n_mains : 0, f);
}
