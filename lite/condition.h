/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/time.h"

/* Sets a condition of status.conditions by its type; its transition time moves when its status does. reason and message
 * may be NULL. Returns whether anything changed. */
bool set_condition(yyjson_mut_doc *doc, const char *type, const char *status, const char *reason, const char *message,
                   usec_t now);
