/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's hostlists: "n[1-4,07],login" ⇄ names. Our own, because decisions use them where libslurm must not be, and
 * because what comes from an annotation must be bounded and free of surprises: only letters, digits, '-', '_' and '.'
 * outside of brackets, only digits, '-' and ',' inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define HOSTLIST_NAMES_MAX 100000 /* names one expression may expand to */
#define HOSTLIST_NAME_MAX 253     /* bytes in one name */
#define HOSTLIST_BRACKETS_MAX 8   /* in one name; each goes over all names once more */

struct hostlist {
	char **names;
	size_t n, size;
};

#define HOSTLIST_INIT ((struct hostlist) { 0 })

void hostlist_done(struct hostlist *h);
#define _cleanup_hostlist_ _cleanup_(hostlist_done)

/* Expands and appends, in the order written; duplicates are kept. "" and NULL give nothing. On error h is as before. */
int hostlist_parse(struct hostlist *h, const char *text, struct err *err);

void hostlist_add(struct hostlist *h, const char *name);
int hostlist_compare(const char *a, const char *b); /* natural order: n2 before n10 */
void hostlist_sort_unique(struct hostlist *h); /* in that order */
bool hostlist_has(const struct hostlist *h, const char *name); /* linear */

/* The short form: "n[1-4,07],login", consecutive numbers joined (8, 9, 10 too, but not 08, 9). The order is kept. */
void hostlist_format(const struct hostlist *h, struct buf *out);
