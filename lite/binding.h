/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <yyjson.h>

#include "lite/registry.h"

/* Binds a Pod as the Binding object says; the scheduler's way too. */
int bind_pod(struct lite *l, const char *ns, const char *name, yyjson_mut_val *binding, const struct write_options *o,
             struct status *st);
