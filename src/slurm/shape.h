/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which fields the values of model/ and port/ have, as tables that slurm/wire.c goes through in both directions.
 */
#pragma once

#include <stdint.h>

enum kind { KIND_BOOL, KIND_U16, KIND_INT, KIND_U32, KIND_U64, KIND_I64, KIND_TEXT };

struct field {
	uint16_t offset;
	uint8_t kind;
};

struct shape {
	const struct field *fields;
	uint16_t n, size;
};

extern const struct shape shape_request, shape_spec, shape_job_change, shape_node_change, shape_result;

/* The arrays an answer may carry, one at most. Some have an array in each element. */
struct payload {
	const struct shape *shape, *inner;
	uint16_t pointer;                    /* in struct slurm_result */
	uint16_t inner_pointer, inner_count; /* in an element */
};

#define PAYLOADS 6
extern const struct payload payloads[PAYLOADS];
