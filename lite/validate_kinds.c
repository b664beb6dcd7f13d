/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The smaller kinds.
 */
#include "lite/validate_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })
#define SECRET_MAX (1024 * 1024) /* bytes of all values */
#define PORT_MAX 65535

void check_namespace(struct check *c, yyjson_mut_val *obj)
{
	ARR_EACH (f, obj_at(obj, "spec", "finalizers"))
		check_text(c, "spec.finalizers", str_or(obj_str(f), ""), name_label_key);
}

/* ----------------------------------------------------------------------------------------------------------- nodes */

static void check_taints(struct check *c, yyjson_mut_val *spec)
{
	yyjson_mut_val *list = obj_get(spec, "taints");
	size_t i = 0;

	ARR_EACH (t, list) {
		/* The real server says metadata here. */
		size_t up = check_enter(c, "metadata.taints"), in = check_enter_index(c, i++);

		(void)in;
		check_text(c, "key", str_or(obj_str(obj_get(t, "key")), ""), name_label_key);
		check_name(c, t, "value", name_label_value);
		check_word(c, t, "effect", WORDS("NoSchedule", "PreferNoSchedule", "NoExecute"), true);
		ARR_EACH (before, list) {
			if (before == t)
				break;
			if (obj_equal(obj_get(before, "key"), obj_get(t, "key")) &&
			    obj_equal(obj_get(before, "effect"), obj_get(t, "effect"))) {
				check_add(c, CAUSE_DUPLICATE, NULL, t, "taints must be unique by key and effect pair");
				break;
			}
		}
		check_leave(c, up);
	}
}

void check_node(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *status = obj_get(obj, "status");
	size_t up;

	check_taints(c, obj_get(obj, "spec"));
	up = check_enter(c, "status");
	check_amounts(c, status, "capacity");
	check_amounts(c, status, "allocatable");
	check_leave(c, up);
}

void check_node_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	const char *before = obj_str(obj_at(old, "spec", "providerID")),
	           *now = obj_str(obj_at(obj, "spec", "providerID"));

	if (!str_empty(before) && !str_eq(before, now))
		causes_add(c->causes, CAUSE_INVALID, "spec.providerID", "null", "field cannot be %s once set",
		           str_empty(now) ? "cleared" : "modified");
	if (obj_size(obj_at(old, "spec", "podCIDRs")) &&
	    !obj_equal(obj_at(old, "spec", "podCIDRs"), obj_at(obj, "spec", "podCIDRs")))
		check_add(c, CAUSE_FORBIDDEN, "spec.podCIDRs", NULL,
		          "node updates may not change podCIDR except from \"\" to valid");
}

/* -------------------------------------------------------------------------------------------- config maps, secrets */

static size_t check_data(struct check *c, yyjson_mut_val *obj, const char *member, bool coded)
{
	size_t total = 0;

	OBJ_EACH (key, val, obj_get(obj, member)) {
		size_t up = check_enter(c, member), in = check_enter_key(c, yyjson_mut_get_str(key));

		(void)in;
		check_text(c, NULL, yyjson_mut_get_str(key), name_config_key);
		total += coded ? yyjson_mut_get_len(val) / 4 * 3 : yyjson_mut_get_len(val);
		check_leave(c, up);
	}
	return total;
}

void check_config_map(struct check *c, yyjson_mut_val *obj)
{
	size_t total = check_data(c, obj, "data", false) + check_data(c, obj, "binaryData", true);

	OBJ_EACH (key, val, obj_get(obj, "data")) {
		const char *name = yyjson_mut_get_str(key);
		size_t up;

		(void)val;
		if (!obj_get(obj_get(obj, "binaryData"), name))
			continue;
		up = check_enter(c, "data");
		check_enter_key(c, name);
		check_add_text(c, CAUSE_INVALID, NULL, name, "duplicate of key present in binaryData");
		check_leave(c, up);
	}
	if (total > SECRET_MAX)
		causes_add(c->causes, CAUSE_TOO_LONG, "[]", NULL, "may not be more than %d bytes", SECRET_MAX);
}

static void check_sealed(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old, const char *member)
{
	if (!obj_equal(obj_get(obj, member), obj_get(old, member)))
		check_add(c, CAUSE_FORBIDDEN, member, NULL, "field is immutable when `immutable` is set");
}

void check_config_map_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	if (!obj_bool(obj_get(old, "immutable"), false))
		return;
	check_sealed(c, obj, old, "immutable");
	check_sealed(c, obj, old, "data");
	check_sealed(c, obj, old, "binaryData");
}

void check_secret(struct check *c, yyjson_mut_val *obj)
{
	static const char *const needed[][2] = { { "kubernetes.io/dockercfg", ".dockercfg" },
		                                 { "kubernetes.io/dockerconfigjson", ".dockerconfigjson" },
		                                 { "kubernetes.io/ssh-auth", "ssh-privatekey" },
		                                 { "kubernetes.io/tls", "tls.crt" },
		                                 { "kubernetes.io/tls", "tls.key" } };
	const char *type = obj_str(obj_get(obj, "type"));

	if (check_data(c, obj, "data", true) > SECRET_MAX)
		check_add(c, CAUSE_TOO_LONG, "data", NULL, "may not be more than %d bytes", SECRET_MAX);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		size_t up;

		if (!str_eq(type, needed[i][0]) || obj_get(obj_get(obj, "data"), needed[i][1]))
			continue;
		up = check_enter(c, "data");
		check_enter_key(c, needed[i][1]);
		check_add(c, CAUSE_REQUIRED, NULL, NULL, NULL);
		check_leave(c, up);
	}
}

void check_secret_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	check_same(c, obj, old, "type");
	if (!obj_bool(obj_get(old, "immutable"), false))
		return;
	check_sealed(c, obj, old, "immutable");
	check_sealed(c, obj, old, "data");
}

/* ---------------------------------------------------------------------------------------------------------- events */

/* `target` and `reporter` are what the group calls them. */
static void check_event_basics(struct check *c, yyjson_mut_val *obj, const char *target, const char *reporter,
                               const char *text)
{
	const char *namespace = str_or(obj_str(obj_at(obj, "metadata", "namespace")), "");
	const char *of = str_or(obj_str(obj_at(obj, target, "namespace")), "");
	bool new = obj_is_set(obj_get(obj, "eventTime")), match = str_eq(of, namespace);

	if (!*of)
		match = !*namespace || str_eq(namespace, "default") || (new && str_eq(namespace, "kube-system"));
	else if (new)
		match = true;
	if (!match)
		check_add_text(c, CAUSE_INVALID, "involvedObject.namespace", of, "does not match event.namespace");
	if (!new)
		return;
	if (check_given(c, obj, reporter))
		check_name(c, obj, reporter, name_label_key);
	else
		check_text(c, reporter, "", name_label_key);
	check_given(c, obj, "reportingInstance");
	check_given(c, obj, "action");
	check_given(c, obj, "reason");
	if (strlen(str_or(obj_str(obj_get(obj, "reason")), "")) > 128)
		check_add_text(c, CAUSE_INVALID, "reason", "", "can have at most 128 characters");
	if (strlen(str_or(obj_str(obj_get(obj, text)), "")) > 1024)
		check_add_text(c, CAUSE_INVALID, "message", "", "can have at most 1024 characters");
}

void check_event(struct check *c, yyjson_mut_val *obj)
{
	check_event_basics(c, obj, "involvedObject", "reportingComponent", "message");
}

void check_event_v1(struct check *c, yyjson_mut_val *obj)
{
	const char *type = str_or(obj_str(obj_get(obj, "type")), "");
	yyjson_mut_val *series = obj_get(obj, "series");

	check_event_basics(c, obj, "regarding", "reportingController", "note");
	if (obj_is_set(series) && obj_int(obj_get(series, "count"), 0) < 2)
		check_add_text(c, CAUSE_INVALID, "series.count", "", "should be at least 2");
	if (obj_is_set(series) && !obj_is_set(obj_get(series, "lastObservedTime")))
		check_add(c, CAUSE_REQUIRED, "series.lastObservedTime", NULL, NULL);
	check_given(c, obj, "eventTime");
	if (!str_eq(type, "Normal") && !str_eq(type, "Warning"))
		check_add_text(c, CAUSE_INVALID, "type", "", "has invalid value: %s", type);
	if (obj_is_set(obj_get(obj, "deprecatedFirstTimestamp")))
		check_add_text(c, CAUSE_INVALID, "firstTimestamp", "", "needs to be unset");
	if (obj_is_set(obj_get(obj, "deprecatedLastTimestamp")))
		check_add_text(c, CAUSE_INVALID, "lastTimestamp", "", "needs to be unset");
	if (obj_int(obj_get(obj, "deprecatedCount"), 0))
		check_add_text(c, CAUSE_INVALID, "count", "", "needs to be unset");
	if (obj_size(obj_get(obj, "deprecatedSource")))
		check_add_text(c, CAUSE_INVALID, "source", "", "needs to be unset");
}

/* ---------------------------------------------------------------------------------------------------------- others */

void check_lease(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec"), *span = obj_get(spec, "leaseDurationSeconds");
	size_t up = check_enter(c, "spec");

	if (yyjson_mut_is_int(span) && obj_int(span, 1) <= 0)
		check_add(c, CAUSE_INVALID, "leaseDurationSeconds", span, "must be greater than 0");
	check_min(c, spec, "leaseTransitions", 0);
	if (!str_empty(obj_str(obj_get(spec, "preferredHolder"))) && str_empty(obj_str(obj_get(spec, "strategy"))))
		check_add(c, CAUSE_FORBIDDEN, "preferredHolder", NULL,
		          "may only be specified if `strategy` is defined");
	check_leave(c, up);
}

void check_budget(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec");
	size_t up = check_enter(c, "spec");

	if (obj_is_set(obj_get(spec, "minAvailable")) && obj_is_set(obj_get(spec, "maxUnavailable")))
		check_add(c, CAUSE_INVALID, NULL, spec, "minAvailable and maxUnavailable cannot be both set");
	check_share(c, spec, "minAvailable");
	check_share(c, spec, "maxUnavailable");
	check_selector(c, spec, "selector");
	check_word(c, spec, "unhealthyPodEvictionPolicy", WORDS("AlwaysAllow", "IfHealthyBudget"), false);
	check_leave(c, up);
}

void check_service(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec"), *ports = obj_get(spec, "ports");
	const char *type = str_or(obj_str(obj_get(spec, "type")), "");
	size_t up = check_enter(c, "spec"), i = 0;

	if (!obj_size(ports) && !str_eq(type, "ExternalName") && !str_eq(obj_str(obj_get(spec, "clusterIP")), "None"))
		check_add(c, CAUSE_REQUIRED, "ports", NULL, NULL);
	ARR_EACH (p, ports) {
		size_t back = check_enter(c, "ports"), in = check_enter_index(c, i++);
		int64_t port = obj_int(obj_get(p, "port"), 0);

		(void)in;
		if (obj_size(ports) > 1)
			check_given(c, p, "name");
		check_name(c, p, "name", name_dns_label);
		if (port < 1 || port > PORT_MAX)
			check_add(c, CAUSE_INVALID, "port", obj_get(p, "port"), "must be between 1 and %d, inclusive",
			          PORT_MAX);
		check_word(c, p, "protocol", WORDS("SCTP", "TCP", "UDP"), true);
		check_leave(c, back);
	}
	check_labels(c, spec, "selector");
	check_word(c, spec, "sessionAffinity", WORDS("ClientIP", "None"), true);
	check_word(c, spec, "type", WORDS("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"), true);
	check_leave(c, up);
}

void check_priority_class(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *value = obj_get(obj, "value");

	if (!str_starts(str_or(obj_str(obj_at(obj, "metadata", "name")), ""), "system-") &&
	    obj_int(value, 0) > 1000000000)
		check_add(c, CAUSE_FORBIDDEN, "value", NULL,
		          "maximum allowed value of a user defined priority is 1000000000");
	check_word(c, obj, "preemptionPolicy", WORDS("PreemptLowerPriority", "Never"), false);
}

void check_priority_class_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	if (!obj_equal(obj_get(obj, "value"), obj_get(old, "value")))
		check_add(c, CAUSE_FORBIDDEN, "value", NULL, "may not be changed in an update.");
	check_same(c, obj, old, "preemptionPolicy");
}

void check_role_binding(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *ref = obj_get(obj, "roleRef");
	size_t up = check_enter(c, "roleRef"), i = 0;

	check_word(c, ref, "apiGroup", WORDS("rbac.authorization.k8s.io"), true);
	check_word(c, ref, "kind", WORDS("Role", "ClusterRole"), true);
	check_given(c, ref, "name");
	check_leave(c, up);
	ARR_EACH (s, obj_get(obj, "subjects")) {
		size_t in = check_enter(c, "subjects");

		check_enter_index(c, i++);
		check_given(c, s, "name");
		check_word(c, s, "kind", WORDS("Group", "ServiceAccount", "User"), true);
		if (str_eq(obj_str(obj_get(s, "kind")), "ServiceAccount"))
			check_given(c, s, "namespace");
		check_leave(c, in);
	}
}

void check_role_binding_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	if (!obj_equal(obj_get(obj, "roleRef"), obj_get(old, "roleRef")))
		check_add(c, CAUSE_INVALID, "roleRef", obj_get(obj, "roleRef"), "cannot change roleRef");
}

void check_crd(struct check *c, yyjson_mut_val *obj)
{
	crd_check(obj, c->causes);
}

void check_crd_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	size_t up = check_enter(c, "spec");

	check_same(c, obj_get(obj, "spec"), obj_get(old, "spec"), "scope");
	check_same(c, obj_get(obj, "spec"), obj_get(old, "spec"), "group");
	check_enter(c, "names");
	check_same(c, obj_at(obj, "spec", "names"), obj_at(old, "spec", "names"), "kind");
	check_same(c, obj_at(obj, "spec", "names"), obj_at(old, "spec", "names"), "plural");
	check_leave(c, up);
}
