/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The journal: every change of the store, appended to one file, so that a restart finds what was answered. A record is
 * framed by its length and a checksum. Records are gathered and go to the kernel together (journal_commit); nothing may
 * be answered, and no watcher may see a change, before that. Surviving the death of the process needs no more than
 * this; surviving the death of the machine needs `sync` too, which makes each commit wait for the disk.
 *
 * A record that was cut off when the process died ends the replay and is removed. A damaged one with whole records
 * behind it is an error: that is no torn tail, and going on would silently lose what was answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JOURNAL_RECORD_MAX ((size_t)16 << 20) /* bytes in one record */
#define JOURNAL_NAME_MAX 1024                 /* bytes in a collection's name and in a key */

enum journal_op {
	JOURNAL_PUT = 'P',
	JOURNAL_DELETE = 'D', /* the text is the object as watchers see it go */
	JOURNAL_START = 'S',  /* first in a rewritten file: changes up to rv are no longer told one by one */
};

struct journal_record {
	enum journal_op op;
	uint64_t rv;
	const char *collection, *key; /* "" where there is none */
	const char *text;        /* not NUL-terminated */
	size_t len;
};

struct journal;

typedef int (*journal_replay)(void *arg, const struct journal_record *r, struct err *err);

/* Opens or makes the file and replays it. *ret_cut gets the bytes of a torn tail that were removed. */
int journal_open(const char *path, bool sync, journal_replay replay, void *arg, struct journal **ret, uint64_t *ret_cut,
                 struct err *err);
void journal_free(struct journal *j); /* what was not committed is lost */
DEFINE_FREEP(struct journal, journal_free)

void journal_add(struct journal *j, const struct journal_record *r);
bool journal_pending(const struct journal *j);

/* After an error the file may end in half a record, and the journal takes no more. */
int journal_commit(struct journal *j, struct err *err);

uint64_t journal_size(const struct journal *j);

/* Writes a new file next to the old one and puts it in its place. `fill` adds the records. Nothing may be pending. On
 * error the old file stays in use. */
int journal_rewrite(struct journal *j, void (*fill)(void *arg, struct journal *j), void *arg, struct err *err);
