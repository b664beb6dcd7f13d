/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A coordination.k8s.io/v1 Lease as a value, and to and from JSON.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/time.h"

#define LEASE_NAME_MAX 253
#define LEASE_HOLDER_MAX 253
#define LEASE_VERSION_MAX 64

struct lease {
	char version[LEASE_VERSION_MAX + 1]; /* resourceVersion; "" = not known, or to be created */
	char holder[LEASE_HOLDER_MAX + 1];   /* "" = free */
	int32_t duration_s;
	int32_t transitions;
	usec_t acquired, renewed; /* wall time of the holder */
};

/* The record apart from its resourceVersion: someone renewed, took or released it when it differs. */
static inline bool lease_record_eq(const struct lease *a, const struct lease *b)
{
	return str_eq(a->holder, b->holder) && a->duration_s == b->duration_s && a->transitions == b->transitions &&
	       a->acquired == b->acquired && a->renewed == b->renewed;
}

int lease_decode(const char *json, size_t len, struct lease *ret, struct err *err);
char *lease_encode(const struct lease *l, const char *ns, const char *name, size_t *ret_len); /* the caller frees */
