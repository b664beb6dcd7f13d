/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a NodeSet says that this version does not know. An API server drops fields that are not in its definition, so one that is there
 * and that we do not know comes from a later version of the definitions, and means something: whoever acts on the rest alone may do what nobody asked for. Pure.
 */
#pragma once

#include <yyjson.h>

#include "model/nodeset.h"

/* Sets set->strange to the first such field, "spec.paused", or word, "spec.tolerations[0].operator 'Gt'". A type of update that is not
 * known is not looked for: policy/ has its own answer to that. What a template says of Pods is Kubernetes' matter, but for which Nodes. */
void nodeset_find_strange(yyjson_val *value, struct nodeset *set);
