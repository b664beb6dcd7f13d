/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the hook says of a Pod that is over: {"phase": "Failed", "exitCode": 3}. A reader of its own, for one flat object:
 * this program starts for every Pod, and brings no JSON library for two fields. Fields it does not know are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct outcome {
	int exit_code; /* to end with (0–255): the one told, else what the phase stands for, or -1 when neither says anything */
	bool over; /* the phase is one in which a Pod has ended: the hook does not just say that it heard */
};

/* -EINVAL: the text is no such object. */
int outcome_read(const char *text, size_t len, struct outcome *ret);
