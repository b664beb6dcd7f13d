/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ports around ports: they pass everything on, and count and time it. What they are around is borrowed and outlives them. Core
 * thread.
 */
#pragma once

#include <stddef.h>

#include "base/metrics.h"
#include "port/kube.h"
#include "port/slurm.h"

/* Slurm: sunk_slurm_requests_total{verb,outcome}, sunk_slurm_request_seconds{verb}, sunk_slurm_rings_total. */
struct slurm_port *slurm_measured_new(struct slurm_port *inner, const struct clock *clock, struct metrics *metrics);
void slurm_measured_free(struct slurm_port *port);
size_t slurm_measured_changes(const struct slurm_port *port); /* requests under way that change something */
/* From now on nobody is answered or rung any more: those who asked are going away. */
void slurm_measured_mute(struct slurm_port *port);

/* Kubernetes: sunk_kube_effects_total{verb,outcome}, sunk_kube_effect_seconds{verb}, sunk_kube_events_total{reason,type}. */
struct kube_port *kube_measured_new(struct kube_port *inner, const struct clock *clock, struct metrics *metrics);
void kube_measured_free(struct kube_port *port);
void kube_measured_mute(struct kube_port *port);
