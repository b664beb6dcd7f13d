/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/annotations.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hostlist.h"
#include "base/str.h"

#define NAME_BYTES 256    /* what is the name of something */
#define TEXT_BYTES 1024   /* as much as slurmctld takes */
#define NODES_BYTES 65536 /* likewise */
#define PATH_BYTES 4095
#define SLURM_ID_MAX (UINT32_MAX - 2) /* Slurm's NO_VAL and INFINITE follow */
#define TIMEOUT_MAX_MIN (366 * 24 * 60)

#define ROW(n, t, lo, hi, member)                                                                                      \
	.name = (n), .type = (t), .min = (lo), .max = (hi), .offset = offsetof(struct wishes, member)

const struct annotation_row annotation_rows[] = {
	{ ROW("account", ANNOTATION_TEXT, 0, NAME_BYTES, account), .slurm = "--account",
	  .help = "Account that the job is charged to.", .example = "research" },
	{ ROW("comment", ANNOTATION_TEXT, 0, TEXT_BYTES, comment), .slurm = "--comment",
	  .help = "Comment of the job, for people.", .example = "nightly evaluation" },
	{ ROW("constraints", ANNOTATION_TEXT, 0, TEXT_BYTES, constraints), .slurm = "--constraint",
	  .help = "Features that the node must have.", .example = "h100&ib" },
	{ ROW("current-working-dir", ANNOTATION_PATH, 0, PATH_BYTES, work_dir), .slurm = "--chdir",
	  .help = "Directory in which the placeholder job runs; `/` when not said.", .example = "/scratch" },
	{ ROW("excluded-nodes", ANNOTATION_NODES, 0, NODES_BYTES, excluded_nodes), .slurm = "--exclude",
	  .help = "Slurm nodes that the Pod must not run on.", .example = "gpu-[001-004],gpu-017" },
	{ ROW("exclusive", ANNOTATION_EXCLUSIVE, 0, NAME_BYTES, shared), .slurm = "--exclusive",
	  .help = "Who may share the node: `none` nobody, `user` jobs of the same user, `ok` anybody; the cluster's "
	          "default when not said. The older `true` is `none`, `false` is not said.",
	  .example = "user" },
	{ ROW("group-id", ANNOTATION_INTEGER, 0, SLURM_ID_MAX, group_id), .slurm = "--gid",
	  .help = "Group that the job runs as; the scheduler's own when not said.", .example = "1002" },
	{ ROW("partition", ANNOTATION_TEXT, 0, NAME_BYTES, partition), .slurm = "--partition",
	  .help = "Partition, or several with commas between.", .example = "inference" },
	{ ROW("prefer", ANNOTATION_TEXT, 0, TEXT_BYTES, prefer), .slurm = "--prefer",
	  .help = "Features that the node should rather have.", .example = "nvme" },
	{ ROW("priority", ANNOTATION_INTEGER, 0, SLURM_ID_MAX, priority), .slurm = "--priority",
	  .help = "Priority of the job; 0 holds it until someone releases it.", .example = "100" },
	{ ROW("qos", ANNOTATION_TEXT, 0, NAME_BYTES, qos), .slurm = "--qos", .help = "Quality of service.",
	  .example = "normal" },
	{ ROW("required-nodes", ANNOTATION_NODES, 0, NODES_BYTES, required_nodes), .slurm = "--nodelist",
	  .help = "Slurm nodes of which the Pod must run on one.", .example = "gpu-[012-014]" },
	{ ROW("reservation", ANNOTATION_TEXT, 0, NAME_BYTES, reservation), .slurm = "--reservation",
	  .help = "Reservation to run in.", .example = "maintenance" },
	{ ROW("timeout", ANNOTATION_INTEGER, 1, TIMEOUT_MAX_MIN, timeout_min), .slurm = "--time",
	  .help = "Time limit in minutes; the partition's when not said.", .example = "120" },
	{ ROW("user-id", ANNOTATION_INTEGER, 0, SLURM_ID_MAX, user_id), .slurm = "--uid",
	  .help = "User that the job runs as; the scheduler's own when not said.", .example = "1001" },
};
const size_t n_annotation_rows = ARRAY_LEN(annotation_rows);

/* Keys under the prefix that parts of the system write or that mean something to them. */
static const char *const system_keys[] = {
	"cluster",   "cordon",  "drain",          "features", "job-id",  "lock",      "lock-request",
	"namespace", "nodeset", "not_responding", "pod",      "running", "scheduler",
};

static void *field_of(struct wishes *w, const struct annotation_row *row)
{
	return (char *)w + row->offset;
}

/* Terminals obey these too: U+0080 … U+009F. The text is valid UTF-8. */
static bool has_c1_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)s[0] == 0xC2 && (unsigned char)s[1] < 0xA0)
			return true;
	return false;
}

/* What no text may be, whatever it stands for. */
static bool is_plain_text(const struct annotation_row *row, const char *value, const char *field,
                          struct problems *problems)
{
	size_t len = strnlen(value, (size_t)row->max + 1);
	char quoted[PROBLEM_QUOTE_MAX];

	if (len > (size_t)row->max)
		problem_error(problems, field, "is longer than %" PRId64 " bytes", row->max);
	else if (!str_is_utf8(value, len))
		problem_error(problems, field, "is not valid UTF-8: %s", problem_quote(value, quoted));
	else if (str_has_control(value, len) || has_c1_control(value))
		problem_error(problems, field, "has control characters in it: %s", problem_quote(value, quoted));
	else
		return true;
	return false;
}

static void read_integer(const struct annotation_row *row, const char *value, const char *field, int64_t *ret,
                         struct problems *problems)
{
	char quoted[PROBLEM_QUOTE_MAX];

	switch (str_to_i64(value, row->min, row->max, ret)) {
	case 0: break;
	case -ERANGE:
		problem_error(problems, field, "must be between %" PRId64 " and %" PRId64 ", not %s", row->min,
		              row->max, problem_quote(value, quoted));
		break;
	default:
		problem_error(problems, field, "must be a whole number between %" PRId64 " and %" PRId64 ", not %s",
		              row->min, row->max, problem_quote(value, quoted));
	}
}

static void read_exclusive(const char *value, const char *field, int *ret, struct problems *problems)
{
	static const struct {
		const char *value;
		int shared; /* enum job_shared */
	} known[] = {
		{ "none", SHARED_NONE }, { "user", SHARED_USER },   { "ok", SHARED_OK },
		{ "true", SHARED_NONE }, { "false", SHARED_UNSET }, /* before v5.7.0 it was a boolean */
	};
	char quoted[PROBLEM_QUOTE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq(value, known[i].value)) {
			*ret = known[i].shared;
			return;
		}
	problem_error(problems, field, "must be none, user or ok (or the older true and false), not %s",
	              problem_quote(value, quoted));
}

static void read_nodes(const char *value, const char *field, const char **ret, struct problems *problems)
{
	_cleanup_hostlist_ struct hostlist names = HOSTLIST_INIT;
	struct err err = { 0 };

	if (hostlist_parse(&names, value, &err) < 0)
		problem_error(problems, field, "%s", err_text(&err));
	else
		*ret = value;
}

static void read_path(const char *value, const char *field, const char **ret, struct problems *problems)
{
	char quoted[PROBLEM_QUOTE_MAX];

	if (*value != '/')
		problem_error(problems, field, "must be an absolute path, not %s", problem_quote(value, quoted));
	else
		*ret = value;
}

static void read_row(const struct annotation_row *row, const char *value, struct wishes *w, struct problems *problems)
{
	char field[sizeof(((struct problem *)NULL)->field)];

	snprintf(field, sizeof(field), "metadata.annotations[" ANNOTATION_PREFIX "%s]", row->name);
	if (row->type == ANNOTATION_INTEGER) {
		read_integer(row, value, field, field_of(w, row), problems);
		return;
	}
	if (!is_plain_text(row, value, field, problems))
		return;
	switch (row->type) {
	case ANNOTATION_TEXT: *(const char **)field_of(w, row) = value; break;
	case ANNOTATION_EXCLUSIVE: read_exclusive(value, field, field_of(w, row), problems); break;
	case ANNOTATION_NODES: read_nodes(value, field, field_of(w, row), problems); break;
	case ANNOTATION_PATH: read_path(value, field, field_of(w, row), problems); break;
	case ANNOTATION_INTEGER: break;
	}
}

/* Keys nobody knows */

#define KEY_MAX 63 /* bytes in the name part of a key, as Kubernetes has it */

/* How many letters must be changed, put in or left out to get from a to b. */
static size_t distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), row[KEY_MAX + 1];

	if (na > KEY_MAX || nb > KEY_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t other = diagonal + (tolower((unsigned char)a[i - 1]) != b[j - 1]);

			diagonal = row[j];
			row[j] = MIN_OF(MIN_OF(row[j], row[j - 1]) + 1, other);
		}
	}
	return row[nb];
}

/* The key that was meant: sbatch's word for it, or one that is nearly the same. NULL when there is none. */
static const char *nearest(const char *name)
{
	size_t best = 3;
	const char *found = NULL;

	for (size_t i = 0; i < n_annotation_rows; i++) {
		const struct annotation_row *row = &annotation_rows[i];
		size_t d = str_eq(row->slurm + strlen("--"), name) ? 0 : distance(name, row->name);

		if (d < best && d <= strlen(row->name) / 3) {
			best = d;
			found = row->name;
		}
	}
	return found;
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < n_annotation_rows; i++)
		if (str_eq(annotation_rows[i].name, name))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(system_keys); i++)
		if (str_eq(system_keys[i], name))
			return true;
	return false;
}

static void warn_of_unknown(const char *key, struct problems *problems)
{
	const char *name = key + strlen(ANNOTATION_PREFIX), *meant;
	char quoted[PROBLEM_QUOTE_MAX];

	if (is_known(name))
		return;
	meant = nearest(name);
	problem_warning(problems, "metadata.annotations",
	                "%s is no annotation of the scheduler and has no effect%s%s%s", problem_quote(key, quoted),
	                meant ? "; did you mean " ANNOTATION_PREFIX : "", meant ? meant : "", meant ? "?" : "");
}

void annotations_read(const struct pod *pod, struct wishes *ret, struct problems *problems)
{
	const struct meta *m = &pod->meta;

	*ret = WISHES_INIT;
	for (size_t i = 0; i < n_annotation_rows; i++) {
		char key[sizeof(ANNOTATION_PREFIX) + KEY_MAX];
		const char *value;

		snprintf(key, sizeof(key), ANNOTATION_PREFIX "%s", annotation_rows[i].name);
		value = pair_get(m->annotations, m->n_annotations, key);
		if (!str_empty(value))
			read_row(&annotation_rows[i], value, ret, problems);
	}
	for (uint32_t i = 0; i < m->n_annotations; i++)
		if (str_starts(m->annotations[i].key, ANNOTATION_PREFIX))
			warn_of_unknown(m->annotations[i].key, problems);
}
