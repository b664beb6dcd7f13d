/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a Pod asks of a node, counted as the Kubernetes scheduler and the kubelet count it.
 */
#pragma once

#include <stdint.h>

#include "model/pod.h"

/* What one container asks for, in thousandths; a limit without a request counts as the request. Never negative. */
int64_t resources_request(const struct container *c, const char *resource);

/* The effective request of one resource ("cpu", "memory", "nvidia.com/gpu"), in thousandths: the larger of all containers
 * with all sidecars, and of each init container with the sidecars started before it; plus overhead. A limit without a
 * request counts as the request. Of CPU, memory and huge pages the Pod as a whole (spec.resources) may say how much it is instead.
 * Held at INT64_MAX when it is more. */
int64_t resources_effective(const struct pod *pod, const char *resource);

/* The same of a Pod on a node, where containers may be resized: the most of what is asked for, granted and in effect counts, and
 * what the kubelet found infeasible does not. */
int64_t resources_held(const struct pod *pod, const char *resource);
