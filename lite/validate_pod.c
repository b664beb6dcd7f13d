/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pods and templates of Pods.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "lite/obj.h"
#include "lite/validate_kinds.h"

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })
#define PORT_MAX 65535

static bool seen_before(yyjson_mut_val *list, yyjson_mut_val *item, const char *member)
{
	const char *name = obj_str(obj_get(item, member));

	ARR_EACH (other, list) {
		if (other == item)
			return false;
		if (name && str_eq(obj_str(obj_get(other, member)), name))
			return true;
	}
	return false;
}

static yyjson_mut_val *find_named(yyjson_mut_val *list, const char *name)
{
	ARR_EACH (v, list)
		if (str_eq(obj_str(obj_get(v, "name")), name))
			return v;
	return NULL;
}

/* Walks obj.member as a list, each element at its place. */
static void each(struct check *c, yyjson_mut_val *obj, const char *member,
                 void (*one)(struct check *, yyjson_mut_val *, yyjson_mut_val *))
{
	size_t i = 0;

	ARR_EACH (item, obj_get(obj, member)) {
		size_t up = check_enter(c, member), in = check_enter_index(c, i++);

		(void)in;
		one(c, item, obj);
		check_leave(c, up);
	}
}

/* ------------------------------------------------------------------------------------------------------ containers */

static void port_number(struct check *c, yyjson_mut_val *port, const char *member)
{
	yyjson_mut_val *v = obj_get(port, member);
	int64_t n = obj_int(v, 0);

	if (v && n && (n < 1 || n > PORT_MAX))
		check_add(c, CAUSE_INVALID, member, v, "must be between 1 and %d, inclusive", PORT_MAX);
}

static void container_port(struct check *c, yyjson_mut_val *port, yyjson_mut_val *container)
{
	check_name(c, port, "name", name_port);
	if (seen_before(obj_get(container, "ports"), port, "name"))
		check_add_text(c, CAUSE_DUPLICATE, "name", obj_str(obj_get(port, "name")), NULL);
	if (!obj_int(obj_get(port, "containerPort"), 0))
		check_add(c, CAUSE_REQUIRED, "containerPort", NULL, NULL);
	port_number(c, port, "containerPort");
	port_number(c, port, "hostPort");
	check_word(c, port, "protocol", WORDS("SCTP", "TCP", "UDP"), true);
}

static void env_var(struct check *c, yyjson_mut_val *var, yyjson_mut_val *container)
{
	yyjson_mut_val *from = obj_get(var, "valueFrom");

	(void)container;
	if (check_given(c, var, "name"))
		check_name(c, var, "name", name_env_var);
	if (!from)
		return;
	if (!obj_size(from))
		check_add_text(c, CAUSE_INVALID, "valueFrom", "",
		               "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` "
		               "or `fileKeyRef`");
	else if (!str_empty(obj_str(obj_get(var, "value"))))
		check_add_text(c, CAUSE_INVALID, "valueFrom", "", "may not be specified when `value` is not empty");
	else if (obj_size(from) > 1)
		check_add_text(c, CAUSE_INVALID, "valueFrom", "",
		               "may not have more than one field specified at a time");
}

static int amount(yyjson_mut_val *v, int64_t *ret)
{
	return yyjson_mut_is_str(v) ? quantity_parse(yyjson_mut_get_str(v), yyjson_mut_get_len(v), ret) : -EINVAL;
}

/* Whole things, which cannot be promised twice: everything with a domain of its own. */
static bool is_extended(const char *name)
{
	return strchr(name, '/') && !strstr(name, "kubernetes.io/");
}

void check_amounts(struct check *c, yyjson_mut_val *obj, const char *member)
{
	OBJ_EACH (key, val, obj_get(obj, member)) {
		const char *name = yyjson_mut_get_str(key);
		size_t up = check_enter(c, member), in = check_enter_key(c, name);
		int64_t milli = 0;

		(void)in;
		if (amount(val, &milli) == 0 && milli < 0)
			check_add(c, CAUSE_INVALID, NULL, val, "must be greater than or equal to 0");
		if (is_extended(name) && milli % 1000)
			check_add(c, CAUSE_INVALID, NULL, val, "must be an integer");
		check_leave(c, up);
	}
}

static void resources(struct check *c, yyjson_mut_val *container)
{
	yyjson_mut_val *res = obj_get(container, "resources"), *limits = obj_get(res, "limits");
	size_t up = check_enter(c, "resources");

	check_amounts(c, res, "limits");
	check_amounts(c, res, "requests");
	OBJ_EACH (key, val, obj_get(res, "requests")) {
		const char *name = yyjson_mut_get_str(key);
		yyjson_mut_val *limit = obj_get(limits, name);
		int64_t asked = 0, most = 0;

		if (!limit && is_extended(name))
			check_add(c, CAUSE_REQUIRED, "limits", NULL,
			          "Limit must be set for non overcommitable resources");
		if (!limit || amount(val, &asked) < 0 || amount(limit, &most) < 0)
			continue;
		if (asked != most && is_extended(name))
			check_add(c, CAUSE_INVALID, "requests", val, "must be equal to %s limit of %s", name,
			          obj_str(limit));
		else if (asked > most)
			check_add(c, CAUSE_INVALID, "requests", val, "must be less than or equal to %s limit of %s",
			          name, obj_str(limit));
	}
	check_leave(c, up);
}

static void mounts(struct check *c, yyjson_mut_val *container, yyjson_mut_val *volumes)
{
	yyjson_mut_val *list = obj_get(container, "volumeMounts");
	size_t i = 0;

	ARR_EACH (m, list) {
		size_t up = check_enter(c, "volumeMounts"), in = check_enter_index(c, i++);
		const char *name = str_or(obj_str(obj_get(m, "name")), "");

		(void)in;
		if (check_given(c, m, "name") && !find_named(volumes, name))
			check_add_text(c, CAUSE_NOT_FOUND, "name", name, NULL);
		check_given(c, m, "mountPath");
		if (seen_before(list, m, "mountPath"))
			check_add(c, CAUSE_INVALID, "mountPath", obj_get(m, "mountPath"), "must be unique");
		check_leave(c, up);
	}
}

static void container_common(struct check *c, yyjson_mut_val *container, yyjson_mut_val *spec)
{
	if (check_given(c, container, "name"))
		check_name(c, container, "name", name_dns_label);
	check_given(c, container, "image");
	check_word(c, container, "terminationMessagePolicy", WORDS("File", "FallbackToLogsOnError"), true);
	each(c, container, "ports", container_port);
	each(c, container, "env", env_var);
	mounts(c, container, obj_get(spec, "volumes"));
	check_word(c, container, "imagePullPolicy", WORDS("Always", "IfNotPresent", "Never"), true);
	resources(c, container);
}

static void one_container(struct check *c, yyjson_mut_val *container, yyjson_mut_val *spec)
{
	container_common(c, container, spec);
	if (seen_before(obj_get(spec, "containers"), container, "name"))
		check_add_text(c, CAUSE_DUPLICATE, "name", obj_str(obj_get(container, "name")), NULL);
}

static void one_init_container(struct check *c, yyjson_mut_val *container, yyjson_mut_val *spec)
{
	static const char *const later[] = { "lifecycle", "livenessProbe", "readinessProbe", "startupProbe" };
	const char *name = obj_str(obj_get(container, "name"));

	container_common(c, container, spec);
	check_word(c, container, "restartPolicy", WORDS("Always", "Never", "OnFailure"), false);
	if (name && (seen_before(obj_get(spec, "initContainers"), container, "name") ||
	             find_named(obj_get(spec, "containers"), name)))
		check_add_text(c, CAUSE_DUPLICATE, "name", name, NULL);
	for (size_t i = 0; i < ARRAY_LEN(later) && !str_eq(obj_str(obj_get(container, "restartPolicy")), "Always"); i++)
		if (obj_get(container, later[i]))
			check_add(c, CAUSE_FORBIDDEN, later[i], NULL,
			          "may not be set for init containers without restartPolicy=Always");
}

/* -------------------------------------------------------------------------------------------------------- the spec */

static void one_volume(struct check *c, yyjson_mut_val *volume, yyjson_mut_val *spec)
{
	size_t sources = 0;

	OBJ_EACH (key, val, volume) {
		(void)val;
		if (!str_eq(yyjson_mut_get_str(key), "name") && ++sources > 1)
			check_add(c, CAUSE_FORBIDDEN, yyjson_mut_get_str(key), NULL,
			          "may not specify more than 1 volume type");
	}
	if (!sources)
		check_add(c, CAUSE_REQUIRED, NULL, NULL, "must specify a volume type");
	if (check_given(c, volume, "name"))
		check_name(c, volume, "name", name_dns_label);
	if (seen_before(obj_get(spec, "volumes"), volume, "name"))
		check_add_text(c, CAUSE_DUPLICATE, "name", obj_str(obj_get(volume, "name")), NULL);
}

static void one_toleration(struct check *c, yyjson_mut_val *t, yyjson_mut_val *spec)
{
	const char *key = obj_str(obj_get(t, "key")), *op = str_or(obj_str(obj_get(t, "operator")), "");
	const char *value = str_or(obj_str(obj_get(t, "value")), ""),
	           *effect = str_or(obj_str(obj_get(t, "effect")), "");

	(void)spec;
	check_name(c, t, "key", name_label_key);
	if (str_empty(key) && !str_eq(op, "Exists"))
		check_add_text(
		        c, CAUSE_INVALID, "operator", op,
		        "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
	if (obj_is_set(obj_get(t, "tolerationSeconds")) && !str_eq(effect, "NoExecute"))
		check_add_text(c, CAUSE_INVALID, "effect", effect,
		               "effect must be 'NoExecute' when `tolerationSeconds` is set");
	if (str_eq(op, "Exists") && *value)
		check_add_text(c, CAUSE_INVALID, "operator", value, "value must be empty when `operator` is 'Exists'");
	else if (str_eq(op, "Equal") || !*op)
		check_text(c, "operator", value, name_label_value);
	check_word(c, t, "operator", WORDS("Equal", "Exists", "Lt", "Gt"), false);
	check_word(c, t, "effect", WORDS("NoSchedule", "PreferNoSchedule", "NoExecute"), false);
}

void check_tolerations(struct check *c, yyjson_mut_val *spec)
{
	each(c, spec, "tolerations", one_toleration);
}

static void one_gate(struct check *c, yyjson_mut_val *gate, yyjson_mut_val *spec)
{
	check_text(c, NULL, str_or(obj_str(obj_get(gate, "name")), ""), name_label_key);
	if (seen_before(obj_get(spec, "schedulingGates"), gate, "name"))
		check_add_text(c, CAUSE_DUPLICATE, NULL, obj_str(obj_get(gate, "name")), NULL);
}

void check_pod_spec(struct check *c, yyjson_mut_val *spec)
{
	yyjson_mut_val *deadline = obj_get(spec, "activeDeadlineSeconds");
	int64_t seconds = obj_int(deadline, 1);

	each(c, spec, "volumes", one_volume);
	if (!obj_size(obj_get(spec, "containers")))
		check_add(c, CAUSE_REQUIRED, "containers", NULL, NULL);
	each(c, spec, "containers", one_container);
	each(c, spec, "initContainers", one_init_container);
	check_word(c, spec, "restartPolicy", WORDS("Always", "OnFailure", "Never"), true);
	check_word(c, spec, "dnsPolicy", WORDS("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"), true);
	check_labels(c, spec, "nodeSelector");
	each(c, spec, "schedulingGates", one_gate);
	check_name(c, spec, "serviceAccountName", name_dns_subdomain);
	check_name(c, spec, "nodeName", name_dns_subdomain);
	if (obj_is_set(deadline) && (seconds < 1 || seconds > INT32_MAX))
		check_add(c, CAUSE_INVALID, "activeDeadlineSeconds", deadline, "must be between 1 and %d, inclusive",
		          INT32_MAX);
	check_name(c, spec, "hostname", name_dns_label);
	check_name(c, spec, "subdomain", name_dns_label);
	check_tolerations(c, spec);
	check_name(c, spec, "priorityClassName", name_dns_subdomain);
	check_word(c, spec, "preemptionPolicy", WORDS("PreemptLowerPriority", "Never"), false);
	check_amounts(c, spec, "overhead");
}

void check_pod(struct check *c, yyjson_mut_val *obj)
{
	size_t up = check_enter(c, "spec");

	check_pod_spec(c, obj_get(obj, "spec"));
	if (obj_size(obj_at(obj, "spec", "schedulingGates")) && !str_empty(obj_str(obj_at(obj, "spec", "nodeName"))))
		check_add(c, CAUSE_FORBIDDEN, "nodeName", NULL,
		          "cannot be set until all schedulingGates have been cleared");
	check_leave(c, up);
}
