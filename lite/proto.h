/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Bodies in Kubernetes' protobuf form → JSON. kubectl sends the objects it makes itself in this form whatever the server
 * prefers; answers are JSON, which it takes. Types come from types.h, field numbers from a table of their own. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "lite/kinds.h"

#define PROTO_DEPTH_MAX 64

/* The numbers of one package; a text of its own (proto_numbers.c). The list ends with an empty one. */
struct proto_text {
	const char *package, *text;
};
extern const struct proto_text proto_texts[];

/* The envelope ("k8s\0", then the type and the object) with an object of type `type`, or of meta.k8s.io → JSON text, the
 * caller frees. -EINVAL: no such form, cut off, or nested too deep; -ENOTSUP: the type has no numbers here. */
int proto_to_json(const struct type *type, const char *data, size_t len, char **ret, size_t *ret_len, struct err *err);
