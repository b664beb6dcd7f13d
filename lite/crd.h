/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * CustomResourceDefinitions become served kinds: whenever a definition changes, its kinds are made anew and watches of the
 * old ones end, as on a real server.
 */
#pragma once

#include <yyjson.h>

#include "base/mem.h"
#include "lite/server.h"

struct crds;

struct crds *crds_new(struct lite *l); /* serves the definitions that are in the store */
void crds_free(struct crds *c);
DEFINE_FREEP(struct crds, crds_free)

/* What the server adds to a definition when it is written: accepted names, conditions, the clean-up finalizer. */
void crd_admit(struct lite *l, yyjson_mut_doc *doc);

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"
