/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One table of columns: which kind, what it is called, how the cell is made and from which field.
 */
#include "lite/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"
#include "lite/table_cells.h"
#include "json/json.h"

struct column {
	const char *group, *kind; /* set in the first column of each kind */
	const char *name, *type;
	int priority; /* 1: only in wide output */
	cell_fn *cell;
	const char *path[PATH_PARTS_MAX];
};

#define OF(g, k) { g, k, "Name", "string", 0, cell_text, { "metadata", "name" } }
#define AGE { NULL, NULL, "Age", "string", 0, cell_age }
#define COL(n, t, p, ...) { NULL, NULL, n, t, p, __VA_ARGS__ }
#define TEMPLATE COL("Containers", "string", 1, cell_container_names), COL("Images", "string", 1, cell_images)
#define SELECTOR COL("Selector", "string", 1, cell_selector, { "spec", "selector" })
#define EVENT_COLUMNS(g)                                                                                               \
	{ g, "Event", "Last Seen", "string", 0, cell_event_last }, COL("Type", "string", 0, cell_text, { "type" }),    \
	        COL("Reason", "string", 0, cell_text, { "reason" }), COL("Object", "string", 0, cell_event_object),    \
	        COL("Subobject", "string", 1, cell_event_path), COL("Source", "string", 1, cell_event_source),         \
	        COL("Message", "string", 0, cell_event_message), COL("First Seen", "string", 1, cell_event_first),     \
	        COL("Count", "string", 1, cell_event_count),                                                           \
	        COL("Name", "string", 1, cell_text, { "metadata", "name" })
#define BINDING_COLUMNS(k) OF("rbac.authorization.k8s.io", k), COL("Role", "string", 0, cell_role_ref), AGE

static const struct column columns[] = {
	OF("", "Pod"),
	COL("Ready", "string", 0, cell_pod_ready),
	COL("Status", "string", 0, cell_pod_status),
	COL("Restarts", "string", 0, cell_pod_restarts),
	AGE,
	COL("IP", "string", 1, cell_pod_ip),
	COL("Node", "string", 1, cell_or_none, { "spec", "nodeName" }),
	COL("Nominated Node", "string", 1, cell_or_none, { "status", "nominatedNodeName" }),
	COL("Readiness Gates", "string", 1, cell_pod_gates),

	OF("", "Node"),
	COL("Status", "string", 0, cell_node_status),
	COL("Roles", "string", 0, cell_node_roles),
	AGE,
	COL("Version", "string", 0, cell_text, { "status", "nodeInfo", "kubeletVersion" }),
	COL("Internal-IP", "string", 1, cell_node_internal),
	COL("External-IP", "string", 1, cell_node_external),
	COL("OS-Image", "string", 1, cell_or_unknown, { "status", "nodeInfo", "osImage" }),
	COL("Kernel-Version", "string", 1, cell_node_kernel),
	COL("Container-Runtime", "string", 1, cell_or_unknown, { "status", "nodeInfo", "containerRuntimeVersion" }),

	OF("", "Namespace"),
	COL("Status", "string", 0, cell_text, { "status", "phase" }),
	AGE,

	EVENT_COLUMNS(""),
	EVENT_COLUMNS("events.k8s.io"),

	OF("", "ConfigMap"),
	COL("Data", "string", 0, cell_config_count),
	AGE,

	OF("", "Secret"),
	COL("Type", "string", 0, cell_text, { "type" }),
	COL("Data", "string", 0, cell_count, { "data" }),
	AGE,

	OF("", "ServiceAccount"),
	AGE,

	OF("", "Service"),
	COL("Type", "string", 0, cell_text, { "spec", "type" }),
	COL("Cluster-IP", "string", 0, cell_cluster_ip),
	COL("External-IP", "string", 0, cell_external_ip),
	COL("Port(s)", "string", 0, cell_service_ports),
	AGE,
	COL("Selector", "string", 1, cell_labels, { "spec", "selector" }),

	OF("", "PersistentVolumeClaim"),
	COL("Status", "string", 0, cell_volume_status),
	COL("Volume", "string", 0, cell_text, { "spec", "volumeName" }),
	COL("Capacity", "string", 0, cell_claim_capacity),
	COL("Access Modes", "string", 0, cell_claim_modes),
	COL("StorageClass", "string", 0, cell_text, { "spec", "storageClassName" }),
	COL("VolumeAttributesClass", "string", 0, cell_or_unset, { "spec", "volumeAttributesClassName" }),
	AGE,
	COL("VolumeMode", "string", 1, cell_text, { "spec", "volumeMode" }),

	OF("", "PersistentVolume"),
	COL("Capacity", "string", 0, cell_text, { "spec", "capacity", "storage" }),
	COL("Access Modes", "string", 0, cell_volume_modes),
	COL("Reclaim Policy", "string", 0, cell_text, { "spec", "persistentVolumeReclaimPolicy" }),
	COL("Status", "string", 0, cell_volume_status),
	COL("Claim", "string", 0, cell_volume_claim),
	COL("StorageClass", "string", 0, cell_text, { "spec", "storageClassName" }),
	COL("VolumeAttributesClass", "string", 0, cell_or_unset, { "spec", "volumeAttributesClassName" }),
	COL("Reason", "string", 0, cell_text, { "status", "reason" }),
	AGE,
	COL("VolumeMode", "string", 1, cell_text, { "spec", "volumeMode" }),

	{ "storage.k8s.io", "StorageClass", "Name", "string", 0, cell_class_name },
	COL("Provisioner", "string", 0, cell_text, { "provisioner" }),
	COL("ReclaimPolicy", "string", 0, cell_text, { "reclaimPolicy" }),
	COL("VolumeBindingMode", "string", 0, cell_text, { "volumeBindingMode" }),
	COL("AllowVolumeExpansion", "string", 0, cell_bool, { "allowVolumeExpansion" }),
	AGE,

	OF("apps", "Deployment"),
	COL("Ready", "string", 0, cell_ready_of_wanted),
	COL("Up-to-date", "string", 0, cell_int, { "status", "updatedReplicas" }),
	COL("Available", "string", 0, cell_int, { "status", "availableReplicas" }),
	AGE,
	TEMPLATE,
	SELECTOR,

	OF("apps", "ReplicaSet"),
	COL("Desired", "integer", 0, cell_int, { "spec", "replicas" }),
	COL("Current", "integer", 0, cell_int, { "status", "replicas" }),
	COL("Ready", "integer", 0, cell_int, { "status", "readyReplicas" }),
	AGE,
	TEMPLATE,
	SELECTOR,

	OF("apps", "DaemonSet"),
	COL("Desired", "integer", 0, cell_int, { "status", "desiredNumberScheduled" }),
	COL("Current", "integer", 0, cell_int, { "status", "currentNumberScheduled" }),
	COL("Ready", "integer", 0, cell_int, { "status", "numberReady" }),
	COL("Up-to-date", "integer", 0, cell_int, { "status", "updatedNumberScheduled" }),
	COL("Available", "integer", 0, cell_int, { "status", "numberAvailable" }),
	COL("Node Selector", "string", 0, cell_labels, { "spec", "template", "spec", "nodeSelector" }),
	AGE,
	TEMPLATE,
	SELECTOR,

	OF("apps", "StatefulSet"),
	COL("Ready", "string", 0, cell_ready_of_wanted),
	AGE,
	TEMPLATE,

	OF("batch", "Job"),
	COL("Status", "string", 0, cell_job_status),
	COL("Completions", "string", 0, cell_job_completions),
	COL("Duration", "string", 0, cell_job_duration),
	AGE,
	TEMPLATE,
	SELECTOR,

	OF("policy", "PodDisruptionBudget"),
	COL("Min Available", "string", 0, cell_int_or_string, { "spec", "minAvailable" }),
	COL("Max Unavailable", "string", 0, cell_int_or_string, { "spec", "maxUnavailable" }),
	COL("Allowed Disruptions", "integer", 0, cell_int, { "status", "disruptionsAllowed" }),
	AGE,

	OF("coordination.k8s.io", "Lease"),
	COL("Holder", "string", 0, cell_text, { "spec", "holderIdentity" }),
	AGE,

	OF("scheduling.k8s.io", "PriorityClass"),
	COL("Value", "integer", 0, cell_int, { "value" }),
	COL("Global-Default", "boolean", 0, cell_bool, { "globalDefault" }),
	AGE,
	COL("PreemptionPolicy", "string", 0, cell_text, { "preemptionPolicy" }),

	BINDING_COLUMNS("RoleBinding"),
	BINDING_COLUMNS("ClusterRoleBinding"),

	/* Every other kind. */
	OF("", ""),
	COL("Created At", "date", 0, cell_text, { "metadata", "creationTimestamp" }),
};

/* The columns of a kind: from the returned one, *ret_n of them. The last entry is everyone's. */
static const struct column *columns_of(const struct kind *k, size_t *ret_n)
{
	size_t first = 0, n = 1;

	for (; first < ARRAY_LEN(columns); first++) {
		const struct column *c = &columns[first];

		if (c->kind && (!*c->kind || (str_eq(c->kind, k->kind) && str_eq(c->group, k->group))))
			break;
	}
	while (first + n < ARRAY_LEN(columns) && !columns[first + n].kind)
		n++;
	*ret_n = n;
	return &columns[first];
}

static void add_column(struct buf *out, bool first, const char *name, const char *type, const char *format,
                       const char *description, int64_t priority)
{
	buf_printf(out, "%s{\"name\":", first ? "" : ",");
	obj_add_quoted(out, name);
	buf_add_str(out, ",\"type\":");
	obj_add_quoted(out, type);
	buf_add_str(out, ",\"format\":");
	obj_add_quoted(out, format);
	buf_add_str(out, ",\"description\":");
	obj_add_quoted(out, description);
	buf_printf(out, ",\"priority\":%lld}", (long long)priority);
}

void table_add_columns(const struct kind *k, struct buf *out)
{
	size_t n;

	buf_add_char(out, '[');
	if (kind_is_custom(k)) {
		const struct crd_column *own = crd_columns(k, &n);

		add_column(out, true, "Name", "string", "name", "", 0);
		for (size_t i = 0; i < n; i++)
			add_column(out, false, own[i].name, own[i].type, own[i].format, own[i].description,
			           own[i].priority);
	} else {
		const struct column *own = columns_of(k, &n);

		for (size_t i = 0; i < n; i++)
			add_column(out, i == 0, own[i].name, own[i].type, str_eq(own[i].name, "Name") ? "name" : "", "",
			           own[i].priority);
	}
	buf_add_char(out, ']');
}

/* ------------------------------------------------------------------------------------------------------------ rows */

static void add_custom_cell(const struct cell *c, const struct crd_column *column)
{
	yyjson_val *v = jsonpath_first(c->object, column->json_path);
	_cleanup_free_ char *text = NULL;
	char age[32];

	if (!v || yyjson_is_null(v)) {
		buf_add_str(c->out, "null");
	} else if (str_eq(column->type, "date")) {
		cell_put(c, yyjson_is_str(v) ? table_age(v, c->now, age) : "<invalid>");
	} else if (str_eq(column->type, "string") && yyjson_is_str(v)) {
		cell_put(c, yyjson_get_str(v));
	} else {
		bool fits = (str_eq(column->type, "integer") && yyjson_is_num(v)) ||
		            (str_eq(column->type, "number") && yyjson_is_num(v)) ||
		            (str_eq(column->type, "boolean") && yyjson_is_bool(v));

		text = yyjson_val_write(v, 0, NULL);
		if (str_eq(column->type, "string"))
			cell_put(c, text);
		else
			buf_add_str(c->out, fits ? text : "null");
	}
}

static void add_cells(const struct kind *k, struct cell *c)
{
	size_t n;

	if (kind_is_custom(k)) {
		const struct crd_column *own = crd_columns(k, &n);

		cell_put(c, json_str(val_at(c->object, "metadata", "name")));
		for (size_t i = 0; i < n; i++) {
			buf_add_char(c->out, ',');
			add_custom_cell(c, &own[i]);
		}
	} else {
		const struct column *own = columns_of(k, &n);

		for (size_t i = 0; i < n; i++) {
			if (i)
				buf_add_char(c->out, ',');
			c->path = own[i].path;
			own[i].cell(c);
		}
	}
}

static void add_value(struct buf *out, yyjson_val *v)
{
	size_t len = 0;
	_cleanup_free_ char *text = v ? yyjson_val_write(v, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &len) : NULL;

	if (text)
		buf_add(out, text, len);
	else
		buf_add_str(out, "{}");
}

void table_add_partial(yyjson_val *object, const char *version, struct buf *out)
{
	buf_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":", version);
	add_value(out, yyjson_obj_get(object, "metadata"));
	buf_add_char(out, '}');
}

void table_add_row(const struct kind *k, yyjson_val *object, enum table_include include, usec_t now, struct buf *out)
{
	struct cell c = { .object = object, .now = now, .out = out };

	buf_add_str(out, "{\"cells\":[");
	add_cells(k, &c);
	buf_add_char(out, ']');
	if (str_eq(k->kind, "Pod") && !*k->group)
		table_add_pod_conditions(object, out);
	if (include != TABLE_NONE)
		buf_add_str(out, ",\"object\":");
	if (include == TABLE_METADATA)
		table_add_partial(object, "v1", out);
	else if (include == TABLE_OBJECT)
		add_value(out, object);
	buf_add_char(out, '}');
}
