/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Texts that stand for values: quantities and times in the one form the real server writes, and its words for what is
 * none. On failure `why` gets the sentence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SCALAR_TEXT_MAX 64
#define SCALAR_WHY_MAX 256

/* "0.1" → "100m", "1024Mi" → "1Gi", "1000m" → "1". */
int quantity_canonical(const char *text, char ret[SCALAR_TEXT_MAX], char why[SCALAR_WHY_MAX]);

/* RFC 3339 → UTC with whole seconds, or (micro) exactly six digits of fraction. */
int time_canonical(const char *text, bool micro, char ret[SCALAR_TEXT_MAX], char why[SCALAR_WHY_MAX]);

/* Standard base64, line ends allowed. */
int base64_check(const char *text, size_t len, char why[SCALAR_WHY_MAX]);
