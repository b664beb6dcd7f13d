/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Plays the scripts of tests/sim/traces on the model Slurm, and compares what it says with what a real one said (record.py).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool play_trace(const char *path, uint64_t seed, bool print); /* false: the model is not as the real one; it was told */
