/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Defaults that a constant in the type's text cannot say: one function per struct, called for every such struct in an
 * object, after its constant defaults are in place and before those of its members.
 */
#pragma once

#include <yyjson.h>

typedef void default_fn(yyjson_mut_doc *doc, yyjson_mut_val *v);

struct type;

/* defaults.c: fills in one value of a type; members are not brought into order. */
void defaults_fill_part(const struct type *t, yyjson_mut_doc *doc, yyjson_mut_val *v);

/* defaults_pod.c */
default_fn default_pod, default_pod_spec, default_pod_status, default_container, default_volume;

/* What creation adds to a Pod beyond defaults: what admission and the Pod's own strategy do. */
void pod_prepare_create(yyjson_mut_doc *doc, yyjson_mut_val *pod, const char *now_text);
void pod_prepare_update(yyjson_mut_doc *doc,
                        yyjson_mut_val *pod); /* the tolerations that admission adds, also to a list written anew */
