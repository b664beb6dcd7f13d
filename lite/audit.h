/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A log of who asked for what, and whether they might: one line of JSON for each request, with the members of a real server's audit log
 * (audit.k8s.io/v1, level Metadata) that tell that. Written before the request is done, so that a watch is there too.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lite/auth.h"
#include "lite/route.h"

void audit_write(FILE *log, const struct user *u, const struct route *r, bool allowed, usec_t now);
