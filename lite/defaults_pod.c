/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pods: defaults, quality of service, and admission's share.
 */
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "lite/defaults.h"
#include "lite/defaults_types.h"
#include "lite/obj.h"

/* -------------------------------------------------------------------------------------------------------- defaults */

/* "busybox" and "x/y:latest" are pulled always; a tag or a digest says which one is meant. */
static bool is_latest(const char *image)
{
	const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image, *tag;

	if (strchr(image, '@'))
		return false;
	tag = strchr(name, ':');
	return !tag || str_eq(tag, ":latest");
}

void default_container(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (str_empty(obj_str(obj_get(v, "imagePullPolicy"))))
		obj_set_str(doc, v, "imagePullPolicy",
		            is_latest(str_or(obj_str(obj_get(v, "image")), "")) ? "Always" : "IfNotPresent");
}

void default_volume(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (obj_size(v) == 1 && obj_get(v, "name"))
		obj_make(doc, v, "emptyDir");
}

void default_pod_spec(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	const char *name = obj_str(obj_get(v, "serviceAccountName"));

	/* An old name for the same thing. */
	if (str_empty(name))
		name = obj_str(obj_get(v, "serviceAccount"));
	if (str_empty(name))
		return;
	obj_set_str(doc, v, "serviceAccountName", name);
	obj_set_str(doc, v, "serviceAccount", name);
}

void default_pod_status(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	const char *ip = obj_str(obj_get(v, "podIP")),
	           *first = obj_str(obj_get(yyjson_mut_arr_get_first(obj_get(v, "podIPs")), "ip"));
	yyjson_mut_val *ips;

	if (str_empty(ip) && !str_empty(first)) {
		obj_set_str(doc, v, "podIP", first);
	} else if (!str_empty(ip) && !str_eq(ip, first)) {
		obj_drop(v, "podIPs");
		ips = obj_make_arr(doc, v, "podIPs");
		obj_set_str(doc, yyjson_mut_arr_add_obj(doc, ips), "ip", ip);
	}
}

static void limits_to_requests(yyjson_mut_doc *doc, yyjson_mut_val *containers)
{
	ARR_EACH (c, containers) {
		yyjson_mut_val *resources = obj_get(c, "resources"), *limits = obj_get(resources, "limits"), *requests;

		if (!obj_size(limits))
			continue;
		requests = obj_make(doc, resources, "requests");
		OBJ_EACH (key, val, limits)
			if (!obj_get(requests, yyjson_mut_get_str(key)))
				obj_set_copy(doc, requests, yyjson_mut_get_str(key), val);
	}
}

static void host_ports(yyjson_mut_doc *doc, yyjson_mut_val *containers)
{
	ARR_EACH (c, containers) {
		ARR_EACH (port, obj_get(c, "ports"))
			if (!obj_int(obj_get(port, "hostPort"), 0))
				obj_set_copy(doc, port, "hostPort", obj_get(port, "containerPort"));
	}
}

/* Only of Pods, not of templates: they may be filled in later. */
void default_pod(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	yyjson_mut_val *spec = obj_get(v, "spec");

	if (!spec)
		return;
	if (obj_int(obj_get(spec, "terminationGracePeriodSeconds"), 0) < 0)
		obj_set_int(doc, spec, "terminationGracePeriodSeconds", 1);
	limits_to_requests(doc, obj_get(spec, "containers"));
	limits_to_requests(doc, obj_get(spec, "initContainers"));
	if (!obj_is_set(obj_get(spec, "enableServiceLinks")))
		obj_set_bool(doc, spec, "enableServiceLinks", true);
	if (obj_bool(obj_get(spec, "hostNetwork"), false)) {
		host_ports(doc, obj_get(spec, "containers"));
		host_ports(doc, obj_get(spec, "initContainers"));
	}
}

/* ---------------------------------------------------------------------------------------------- quality of service */

static int64_t amount(yyjson_mut_val *resources, const char *list, const char *name)
{
	yyjson_mut_val *v = obj_at(resources, list, name);
	int64_t milli = 0;

	if (!yyjson_mut_is_str(v) || quantity_parse(yyjson_mut_get_str(v), yyjson_mut_get_len(v), &milli) < 0)
		return 0;
	return milli;
}

struct qos {
	bool guaranteed; /* so far */
	bool any;        /* something is asked for */
};

static void weigh(struct qos *q, yyjson_mut_val *containers)
{
	static const char *const counted[] = { "cpu", "memory" };

	ARR_EACH (c, containers) {
		yyjson_mut_val *resources = obj_get(c, "resources");

		for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
			int64_t request = amount(resources, "requests", counted[i]),
			        limit = amount(resources, "limits", counted[i]);

			q->any = q->any || request > 0 || limit > 0;
			q->guaranteed = q->guaranteed && limit > 0 && request == limit;
		}
	}
}

const char *pod_qos(yyjson_mut_val *pod)
{
	struct qos q = { .guaranteed = true };

	weigh(&q, obj_at(pod, "spec", "containers"));
	weigh(&q, obj_at(pod, "spec", "initContainers"));
	return !q.any ? "BestEffort" : q.guaranteed ? "Guaranteed" : "Burstable";
}

/* -------------------------------------------------------------------------------------------------------- creation */

/* Pods leave a Node that is gone after five minutes, unless they say how long they stay. */
static void stay_five_minutes(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *taint)
{
	yyjson_mut_val *list, *t;

	ARR_EACH (own, obj_get(spec, "tolerations")) {
		const char *key = obj_str(obj_get(own, "key")), *effect = obj_str(obj_get(own, "effect"));

		if ((str_empty(key) || str_eq(key, taint)) && (str_empty(effect) || str_eq(effect, "NoExecute")))
			return;
	}
	list = obj_make_arr(doc, spec, "tolerations");
	t = yyjson_mut_arr_add_obj(doc, list);
	obj_set_str(doc, t, "key", taint);
	obj_set_str(doc, t, "operator", "Exists");
	obj_set_str(doc, t, "effect", "NoExecute");
	obj_set_int(doc, t, "tolerationSeconds", 300);
}

static void set_priority(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
	const char *class = obj_str(obj_get(spec, "priorityClassName"));
	int64_t value = str_eq(class, "system-node-critical")      ? 2000001000
	                : str_eq(class, "system-cluster-critical") ? 2000000000
	                                                           : 0;

	if (!obj_is_set(obj_get(spec, "priority")))
		obj_set_int(doc, spec, "priority", value);
	if (!obj_is_set(obj_get(spec, "preemptionPolicy")))
		obj_set_str(doc, spec, "preemptionPolicy", "PreemptLowerPriority");
}

static void add_gated_condition(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *now_text)
{
	yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, obj_make_arr(doc, status, "conditions"));

	obj_set_str(doc, c, "type", "PodScheduled");
	obj_set_str(doc, c, "status", "False");
	obj_set_null(doc, c, "lastProbeTime");
	obj_set_str(doc, c, "lastTransitionTime", now_text);
	obj_set_str(doc, c, "reason", "SchedulingGated");
	obj_set_str(doc, c, "message", "Scheduling is blocked due to non-empty scheduling gates");
}

void pod_prepare_update(yyjson_mut_doc *doc, yyjson_mut_val *pod)
{
	yyjson_mut_val *spec = obj_get(pod, "spec");

	if (!spec)
		return;
	stay_five_minutes(doc, spec, "node.kubernetes.io/not-ready");
	stay_five_minutes(doc, spec, "node.kubernetes.io/unreachable");
}

void pod_prepare_create(yyjson_mut_doc *doc, yyjson_mut_val *pod, const char *now_text)
{
	yyjson_mut_val *spec = obj_get(pod, "spec"), *status;

	if (str_empty(obj_str(obj_get(spec, "serviceAccountName")))) {
		obj_set_str(doc, spec, "serviceAccountName", "default");
		obj_set_str(doc, spec, "serviceAccount", "default");
	}
	pod_prepare_update(doc, pod);
	set_priority(doc, spec);
	obj_drop(pod, "status");
	status = obj_make(doc, pod, "status");
	obj_set_str(doc, status, "phase", "Pending");
	if (obj_size(obj_get(spec, "schedulingGates")))
		add_gated_condition(doc, status, now_text);
	obj_set_str(doc, status, "qosClass", pod_qos(pod));
}
