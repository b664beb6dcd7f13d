/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is this a Pod that can be handed to Slurm? Everything that is wrong, at once, before anything is sent. Pure.
 */
#pragma once

#include "model/pod.h"
#include "policy/annotations.h"
#include "policy/problems.h"
#include "policy/rules.h"

/* Requests present, grace below KillWait - 5 s, annotations that can be passed on, no claims of devices, no static CPU
 * pinning. Also reads the wishes. */
void validate_pod(const struct pod *pod, const struct rules *rules, struct wishes *ret_wishes,
                  struct problems *problems);
