/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The claims of a Pod, with their volumes and classes, as policy/feasible.h wants them.
 */
#pragma once

#include "lite/control/control.h"
#include "policy/feasible.h"

#define LITE_DRIVER "lite.sunk.coreweave.com" /* CSI driver of the volumes that the node agent keeps */

struct claims {
	struct pod_volumes v; /* of the Pod; its objects are owned */
	struct pv **all; /* owned: what the candidates are of; NULL entries could not be read */
	size_t n_all;
};

void claims_gather(struct control *c, const struct pod *pod, struct claims *ret);
void claims_done(struct claims *c);
#define _cleanup_claims_ _cleanup_(claims_done)
