/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The API's front: from an exchange to the verb that answers it. Who asks, what for, may they, does a fault come first.
 */
#pragma once

#include "lite/call.h"
#include "lite/server.h"

void api_handle(void *lite, struct exchange *x);
bool api_settle(void *lite);
