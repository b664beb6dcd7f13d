/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What `sunk status` shows, and how: values in, text out.
 */
#pragma once

#include "base/buf.h"
#include "policy/status.h"

#define STATUS_TEXT_MAX ((size_t)64 << 20)

struct status_scene {
	const struct status *s;
	const char *cluster, *version, *server; /* NULL = not known */
	const char *slurm_error, *pods_error, *knodes_error; /* NULL = known */
	usec_t now; /* wall */
	bool colour;
};

void status_print_text(const struct status_scene *scene, struct buf *out);
void status_print_json(const struct status_scene *scene, bool pretty, struct buf *out);
