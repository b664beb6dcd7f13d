/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cells of single kinds.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/table_cells.h"
#include "json/json.h"

void cell_ready_of_wanted(const struct cell *c)
{
	cell_putf(c, "%lld/%lld", (long long)json_int(val_at(c->object, "status", "readyReplicas"), 0),
	          (long long)json_int(val_at(c->object, "spec", "replicas"), 0));
}

void cell_node_status(const struct cell *c)
{
	yyjson_val *ready = table_find_by_type(val_at(c->object, "status", "conditions"), "Ready");
	const char *word = !ready                                                       ? "Unknown"
	                   : yyjson_equals_str(yyjson_obj_get(ready, "status"), "True") ? "Ready"
	                                                                                : "NotReady";

	cell_putf(c, "%s%s", word,
	          json_bool(val_at(c->object, "spec", "unschedulable"), false) ? ",SchedulingDisabled" : "");
}

void cell_node_roles(const struct cell *c)
{
	static const char prefix[] = "node-role.kubernetes.io/";
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	yyjson_mut_val *roles = yyjson_mut_doc_get_root(doc);
	size_t i, max;
	yyjson_val *key, *val;

	yyjson_obj_foreach(val_at(c->object, "metadata", "labels"), i, max, key, val)
	{
		const char *name = yyjson_get_str(key), *role = json_str(val);

		if (str_starts(name, prefix))
			role = name + strlen(prefix);
		else if (!str_eq(name, "kubernetes.io/role"))
			continue;
		if (!str_empty(role))
			obj_set_bool(doc, roles, role, true);
	}
	obj_sort(doc, roles);
	OBJ_EACH (role, yes, roles) {
		(void)yes;
		buf_printf(&text, "%s%s", text.len ? "," : "", yyjson_mut_get_str(role));
	}
	cell_put(c, text.len ? buf_text(&text) : "<none>");
}

static void node_address(const struct cell *c, const char *type)
{
	cell_put(c, str_or(json_str(yyjson_obj_get(table_find_by_type(val_at(c->object, "status", "addresses"), type),
	                                           "address")),
	                   "<none>"));
}

void cell_node_internal(const struct cell *c)
{
	node_address(c, "InternalIP");
}

void cell_node_external(const struct cell *c)
{
	node_address(c, "ExternalIP");
}

void cell_node_kernel(const struct cell *c)
{
	const char *version = json_str(val_at(c->object, "status", "nodeInfo", "kernelVersion"));
	const char *arch = json_str(val_at(c->object, "status", "nodeInfo", "architecture"));

	cell_putf(c, str_empty(arch) ? "%s" : "%s (%s)", str_empty(version) ? "<unknown>" : version, arch);
}

/* Events are asked for in either group's form. */
static yyjson_val *event_part(const struct cell *c, const char *core, const char *other)
{
	yyjson_val *v = yyjson_obj_get(c->object, core);

	return v && !yyjson_is_null(v) ? v : yyjson_obj_get(c->object, other);
}

static yyjson_val *event_first_seen(const struct cell *c)
{
	yyjson_val *v = event_part(c, "firstTimestamp", "deprecatedFirstTimestamp");

	return yyjson_is_str(v) ? v : yyjson_obj_get(c->object, "eventTime");
}

void cell_event_last(const struct cell *c)
{
	yyjson_val *v = event_part(c, "lastTimestamp", "deprecatedLastTimestamp"),
	           *series = yyjson_obj_get(c->object, "series");
	char text[32];

	if (yyjson_is_obj(series))
		v = yyjson_obj_get(series, "lastObservedTime");
	cell_put(c, table_age(yyjson_is_str(v) ? v : event_first_seen(c), c->now, text));
}

void cell_event_first(const struct cell *c)
{
	char text[32];

	cell_put(c, table_age(event_first_seen(c), c->now, text));
}

void cell_event_object(const struct cell *c)
{
	yyjson_val *target = event_part(c, "involvedObject", "regarding");
	_cleanup_free_ char *kind = mem_strdup(str_or(json_str(yyjson_obj_get(target, "kind")), ""));
	const char *name = json_str(yyjson_obj_get(target, "name"));

	for (char *p = kind; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	cell_putf(c, str_empty(name) ? "%s" : "%s/%s", kind, name);
}

void cell_event_path(const struct cell *c)
{
	cell_put(c, json_str(yyjson_obj_get(event_part(c, "involvedObject", "regarding"), "fieldPath")));
}

void cell_event_source(const struct cell *c)
{
	yyjson_val *source = event_part(c, "source", "deprecatedSource");
	const char *who = json_str(yyjson_obj_get(source, "component")),
	           *where = json_str(yyjson_obj_get(source, "host"));

	if (str_empty(who))
		who = json_str(event_part(c, "reportingComponent", "reportingController"));
	if (str_empty(where))
		where = json_str(yyjson_obj_get(c->object, "reportingInstance"));
	cell_putf(c, str_empty(where) ? "%s" : "%s, %s", str_or(who, ""), where);
}

void cell_event_message(const struct cell *c)
{
	const char *text = str_or(json_str(event_part(c, "message", "note")), "");
	size_t len;

	text += strspn(text, " \t\r\n");
	for (len = strlen(text); len && strchr(" \t\r\n", text[len - 1]); len--)
		;
	cell_putf(c, "%.*s", (int)MIN_OF(len, CELL_MAX / 2), text);
}

void cell_event_count(const struct cell *c)
{
	int64_t count = json_int(event_part(c, "count", "deprecatedCount"), 0);

	count = json_int(val_at(c->object, "series", "count"), count);
	buf_printf(c->out, "%lld", (long long)MAX_OF(count, 1));
}

void cell_config_count(const struct cell *c)
{
	buf_printf(c->out, "%zu",
	           yyjson_obj_size(yyjson_obj_get(c->object, "data")) +
	                   yyjson_obj_size(yyjson_obj_get(c->object, "binaryData")));
}

void cell_job_status(const struct cell *c)
{
	static const char *const words[][2] = { { "Complete", "Complete" },
		                                { "Failed", "Failed" },
		                                { NULL, "Terminating" },
		                                { "Suspended", "Suspended" },
		                                { "FailureTarget", "FailureTarget" },
		                                { "SuccessCriteriaMet", "SuccessCriteriaMet" } };
	yyjson_val *conditions = val_at(c->object, "status", "conditions");

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		bool is = words[i][0] ? yyjson_equals_str(
		                                yyjson_obj_get(table_find_by_type(conditions, words[i][0]), "status"),
		                                "True")
		                      : yyjson_is_str(val_at(c->object, "metadata", "deletionTimestamp"));

		if (is) {
			cell_put(c, words[i][1]);
			return;
		}
	}
	cell_put(c, "Running");
}

void cell_job_completions(const struct cell *c)
{
	yyjson_val *completions = val_at(c->object, "spec", "completions");
	long long done = json_int(val_at(c->object, "status", "succeeded"), 0),
	          parallel = json_int(val_at(c->object, "spec", "parallelism"), 0);

	if (yyjson_is_int(completions))
		cell_putf(c, "%lld/%lld", done, (long long)json_int(completions, 0));
	else if (parallel > 1)
		cell_putf(c, "%lld/1 of %lld", done, parallel);
	else
		cell_putf(c, "%lld/1", done);
}

void cell_job_duration(const struct cell *c)
{
	yyjson_val *start = val_at(c->object, "status", "startTime"),
	           *end = val_at(c->object, "status", "completionTime");
	usec_t until = c->now;
	char text[32];

	if (yyjson_is_str(end) && time_parse_rfc3339(yyjson_get_str(end), yyjson_get_len(end), &until) < 0)
		until = c->now;
	cell_put(c, yyjson_is_str(start) ? table_age(start, until, text) : "");
}

void cell_cluster_ip(const struct cell *c)
{
	const char *ip = json_str(yyjson_arr_get_first(val_at(c->object, "spec", "clusterIPs")));

	cell_put(c, str_or(ip ? ip : json_str(val_at(c->object, "spec", "clusterIP")), "<none>"));
}

void cell_external_ip(const struct cell *c)
{
	const char *type = json_str(val_at(c->object, "spec", "type"));
	yyjson_val *ips = val_at(c->object, "spec", "externalIPs");

	if (str_eq(type, "ExternalName"))
		cell_put(c, json_str(val_at(c->object, "spec", "externalName")));
	else if (yyjson_arr_size(ips))
		cell_join(c, ips, NULL, ",");
	else if (str_eq(type, "LoadBalancer") &&
	         yyjson_arr_size(val_at(c->object, "status", "loadBalancer", "ingress")))
		cell_join(c, val_at(c->object, "status", "loadBalancer", "ingress"), "ip", ",");
	else
		cell_put(c, str_eq(type, "LoadBalancer") ? "<pending>" : "<none>");
}

void cell_service_ports(const struct cell *c)
{
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	size_t i, max;
	yyjson_val *p;

	yyjson_arr_foreach(val_at(c->object, "spec", "ports"), i, max, p)
	{
		long long node = json_int(yyjson_obj_get(p, "nodePort"), 0);

		buf_printf(&text, "%s%lld", i ? "," : "", (long long)json_int(yyjson_obj_get(p, "port"), 0));
		if (node)
			buf_printf(&text, ":%lld", node);
		buf_printf(&text, "/%s", str_or(json_str(yyjson_obj_get(p, "protocol")), ""));
	}
	cell_put(c, text.len ? buf_text(&text) : "<none>");
}

void cell_role_ref(const struct cell *c)
{
	cell_putf(c, "%s/%s", str_or(json_str(val_at(c->object, "roleRef", "kind")), ""),
	          str_or(json_str(val_at(c->object, "roleRef", "name")), ""));
}
