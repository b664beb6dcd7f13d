/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Subresources with rules of their own; one file each for the larger ones.
 */
#pragma once

#include "lite/call.h"

int sub_binding(struct call *c, struct status *st);  /* pods/x/binding, and POST bindings */
int sub_eviction(struct call *c, struct status *st); /* pods/x/eviction */
int sub_scale(struct call *c, struct status *st);    /* deployments/x/scale, … */
int sub_finalize(struct call *c, struct status *st); /* namespaces/x/finalize */
int sub_token(struct call *c, struct status *st);    /* serviceaccounts/x/token */
int sub_log(struct call *c, struct status *st);      /* pods/x/log */
