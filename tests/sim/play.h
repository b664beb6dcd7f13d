/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Plays the scripts of tests/sim/traces on the models, and compares what they say with what the real ones said: play.c a Slurm
 * (record.py), play_kube.c a Kubernetes (record_kube.py).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAY_LINES 128
#define PLAY_LINE 512

struct record {
	char lines[PLAY_LINES][PLAY_LINE];
	size_t n;
};

bool play_kube(const char *path, uint64_t seed, bool print);
bool play_trace(const char *path, uint64_t seed, bool print); /* false: the model is not as the real one; it was told */
