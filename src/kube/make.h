/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * struct kube_make → the JSON of a new object. A Pod is its template with a name, an owner, a pin to its Node and what it tolerates
 * besides. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "port/kube.h"

/* The caller frees. Errors: a template that is no JSON object. */
int kube_make_body(const struct kube_make *m, char **ret, size_t *ret_len, struct err *err);
