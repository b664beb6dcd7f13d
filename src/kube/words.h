/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Strings that a great many objects of Kubernetes hold. Decoded objects point to these instead of holding copies: of ten
 * thousand Pods that is a fifth of the strings. A word that is missing here only costs its bytes.
 */
#pragma once

extern const char *const kube_words[]; /* NULL-terminated */
