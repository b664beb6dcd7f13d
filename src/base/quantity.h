/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kubernetes quantities: "100m", "1.5", "2Gi", "1e3", "500M". A quantity is held in thousandths, rounded up, because
 * that is the finest that Kubernetes itself schedules by. What is too large is held at the maximum, as Kubernetes does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUANTITY_MAX INT64_MAX

/* Returns 0, or -EINVAL for what is no quantity. Negative values are parsed; whether they make sense is the
 * caller's question. */
int quantity_parse(const char *text, size_t len, int64_t *ret_milli);

/* Thousandths → whole units, rounded up; for positive values. */
int64_t quantity_units(int64_t milli);
