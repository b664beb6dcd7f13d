/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Settings from one table: command-line flags, config file keys, defaults and --help all come from it. A program lists
 * its settings as `struct arg`, each pointing at the variable it fills; the variable's value before parsing is the
 * default that --help shows. Flags win over the config file, the file over defaults.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

enum arg_type { ARG_BOOL, ARG_INT, ARG_STRING, ARG_DURATION, ARG_CHOICE, ARG_LIST, ARG_MAP };

#define ARG_TEXT_MAX 4096 /* a value on the command line or in a file */
#define ARG_ITEMS_MAX 1000 /* of a list or map */

/* A default is borrowed, what parsing puts there is owned. */
struct arg_list {
	const char **items;
	size_t n;
};

struct arg_pair {
	const char *key, *value;
};

struct arg_map {
	struct arg_pair *items;
	size_t n;
};

struct arg {
	const char *flag;   /* "scheduler-name": --scheduler-name X, --scheduler-name=X; NULL: config file only */
	const char *config; /* "scheduler.name": its place in the config file; NULL: flag only */
	enum arg_type type;
	void *value; /* bool, int64_t, char * (owned, freed on change), usec_t, int (index into choices), struct arg_list,
	                struct arg_map */
	const char *const *choices; /* ARG_CHOICE: NULL-terminated */
	int64_t min, max; /* ARG_INT and, in microseconds, ARG_DURATION; both 0 = any that is not negative */
	const char *unit; /* what --help calls the value: "NAME", "DURATION"; NULL = by type */
	const char *help; /* one or more sentences */
	bool set_by_flag; /* filled in here */
	bool set_by_config;
};

/* Lists are "a,b", maps "k=v,l=w"; a flag given again adds to what it gave before.
 *
 * Parses argv[1…]. Flags may come in any order; `--` ends them; what is no flag goes to ret_rest (an array inside argv,
 * reordered). Unknown flags, missing and bad values are errors that name the flag. */
int args_parse(struct arg *args, size_t n, int argc, char **argv, char ***ret_rest, int *ret_n_rest, struct err *err);

/* One key of the config file with its value as text; where names the place for errors ("sunk.yaml: scheduler.name").
 * A setting already made by a flag stays. -ENOENT when no setting has this key. */
int args_set_config(struct arg *args, size_t n, const char *key, const char *text, const char *where, struct err *err);

/* One element of a list (entry NULL), or of a map (entry = its key), as it is: commas do not part it. */
int args_add_config(struct arg *args, size_t n, const char *key, const char *entry, const char *text, const char *where,
                    struct err *err);

/* The setting with this key in the config file, or NULL; and whether settings have keys below this one ("scheduler"). */
const struct arg *args_find_config(const struct arg *args, size_t n, const char *key);
bool args_has_section(const struct arg *args, size_t n, const char *key);

/* The help text of the table: aligned, wrapped, with defaults, ranges and config keys. */
void args_help(const struct arg *args, size_t n, struct buf *out);

/* Frees what parsing allocated. */
void args_done(struct arg *args, size_t n);
