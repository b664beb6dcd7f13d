/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside tables: a cell's function appends one JSON value for an object.
 */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"

#define PATH_PARTS_MAX 5
#define CELL_MAX (1u << 20) /* bytes of one cell */

struct cell {
	yyjson_val *object;
	const char *const *path; /* of the column */
	usec_t now;
	struct buf *out;
};

typedef void cell_fn(const struct cell *c);

void cell_put(const struct cell *c, const char *text);                 /* a string */
void cell_putf(const struct cell *c, const char *fmt, ...) _printf_(2, 3);
yyjson_val *cell_at(const struct cell *c);                              /* what is at the column's path */
void cell_join(const struct cell *c, yyjson_val *list, const char *key, const char *between);
yyjson_val *table_find_by_type(yyjson_val *list, const char *type);      /* the condition or address of that type */
/* "5s", "3m20s", "2d4h": how long `time` (RFC 3339) is ago; "<unknown>" when there is none. */
const char *table_age(yyjson_val *time, usec_t now, char text[32]);
const char *table_duration(usec_t span, char text[32]);

cell_fn cell_text, cell_or_none, cell_or_unknown, cell_int, cell_bool, cell_age, cell_count, cell_int_or_string,
        cell_container_names, cell_images, cell_selector, cell_labels;

/* table_kinds.c */
cell_fn cell_ready_of_wanted, cell_node_status, cell_node_roles, cell_node_internal, cell_node_external,
        cell_node_kernel, cell_event_last, cell_event_first, cell_event_object, cell_event_path, cell_event_source,
        cell_event_message, cell_event_count, cell_config_count, cell_job_status, cell_job_completions,
        cell_job_duration, cell_cluster_ip, cell_external_ip, cell_service_ports, cell_role_ref;

/* table_volumes.c */
cell_fn cell_volume_status, cell_claim_capacity, cell_claim_modes, cell_volume_modes, cell_volume_claim, cell_or_unset,
        cell_class_name;

/* table_pod.c */
cell_fn cell_pod_ready, cell_pod_status, cell_pod_restarts, cell_pod_ip, cell_pod_gates;
void table_add_pod_conditions(yyjson_val *pod, struct buf *out); /* `,"conditions":[…]` of a finished Pod */
