/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * verify-undrain: a drain that asks for it (its reason has "verify-undrain" anywhere, whoever set it) is lifted once the Pod's
 * HPCVerification condition is True and surely newer than the drain. Drains of ours ("k8s:") follow drain.h alone. Pure.
 */
#pragma once

#include "policy/drain.h"

#define VERIFY_UNDRAIN "verify-undrain"

/* What the prolog drains with when the node could not be locked for it. */
#define PROLOG_FAILED_REASON "prolog pre-hook failed (sunk:" VERIFY_UNDRAIN ")"

/* KEEP, LIFT, or REWORD when Kubernetes wants the node drained all the same: then it is never undrained in between. To be asked
 * when drain_decide() said KEEP. */
struct drain_decision undrain_decide(const struct drain_view *v);
