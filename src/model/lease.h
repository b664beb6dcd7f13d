/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A Lease as an object of Kubernetes, for stores: the heartbeat of a Node, or someone's leadership.
 */
#pragma once

#include "model/meta.h"

struct klease {
	struct meta meta;
	const char *holder; /* NULL = free */
	int32_t duration_s, transitions;
	usec_t acquired, renewed; /* wall time of the holder */
};
