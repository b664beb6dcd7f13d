/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define ITEM_MAX 256 /* bytes of one resource; longer ones are none of ours */

/* The next item of a list, up to a comma outside of brackets: "gpu:a:2(IDX:0,3)" is one. False at the end. */
static bool next_item(const char **list, char item[ITEM_MAX])
{
	const char *p = *list;
	size_t len = 0;
	int depth = 0;

	while (*p == ',')
		p++;
	if (!*p)
		return false;
	for (; *p && (*p != ',' || depth > 0); p++) {
		depth += (*p == '(') - (*p == ')');
		if (len < ITEM_MAX - 1)
			item[len++] = *p;
	}
	item[len] = '\0';
	*list = p;
	return true;
}

enum gpu_item {
	NO_GPU,
	GRES_GPUS /* gpu:2, gpu:h100:2 */,
	TRES_TOTAL /* gres/gpu=2 */,
	TRES_PART /* gres/gpu:h100=2 */
};

static enum gpu_item read_gpus(char *item, int64_t *ret_n)
{
	const char *p = item, *count;

	item[strcspn(item, "(")] = '\0';
	if (str_starts(p, "gres/") || str_starts(p, "gres:"))
		p += 5;
	if (!str_starts(p, "gpu"))
		return NO_GPU;
	p += 3;
	if (*p && *p != ':' && *p != '=')
		return NO_GPU; /* "gpumem" */
	count = strrchr(item, '=') ? strrchr(item, '=') : strrchr(p, ':');
	if (!count || str_to_i64(count + 1, 0, UINT32_MAX, ret_n) < 0)
		*ret_n = 1; /* "gpu", "gpu:h100" */
	if (!strchr(p, '='))
		return GRES_GPUS;
	return *p == '=' ? TRES_TOTAL : TRES_PART;
}

uint32_t words_gpus(const char *text)
{
	int64_t sum[TRES_PART + 1] = { 0 }, n;
	char item[ITEM_MAX];

	while (text && next_item(&text, item)) {
		enum gpu_item what = read_gpus(item, &n);

		if (what != NO_GPU)
			sum[what] += n;
	}
	/* a total beside its parts counts once */
	n = sum[GRES_GPUS] + MAX_OF(sum[TRES_TOTAL], sum[TRES_PART]);
	return (uint32_t)MIN_OF(n, (int64_t)UINT32_MAX);
}

uint64_t words_memory_mb(const char *text)
{
	static const char units[] = "KMGTP";
	char item[ITEM_MAX], *end;

	while (text && next_item(&text, item)) {
		const char *unit;
		double v;

		if (!str_starts(item, "mem="))
			continue;
		v = strtod(item + 4, &end);
		unit = *end ? strchr(units, *end) : &units[1];
		if (end == item + 4 || !unit || v < 0 || v > 1e15)
			return 0;
		for (ptrdiff_t i = unit - units; i < 1; i++)
			v /= 1024;
		for (ptrdiff_t i = unit - units; i > 1; i--)
			v *= 1024;
		return v < 1e15 ? (uint64_t)v : 0;
	}
	return 0;
}

int words_version(const char *text, uint32_t *ret_number, struct err *err)
{
	unsigned long major, minor;
	uint32_t number;
	char *end;

	if (str_empty(text) || !isdigit((unsigned char)*text))
		return err_set(err, -EINVAL, "the controller's version '%.40s' cannot be read", str_or(text, ""));
	major = strtoul(text, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]) || major > 9999)
		return err_set(err, -EINVAL, "the controller's version '%.40s' cannot be read", text);
	minor = strtoul(end + 1, &end, 10);
	if (minor > 99)
		return err_set(err, -EINVAL, "the controller's version '%.40s' cannot be read", text);
	number = (uint32_t)(major * 100 + minor);
	if (number < SLURM_VERSION_LEAST)
		return err_set(err, -EPROTONOSUPPORT, "the controller runs Slurm %.40s; it must be %d.%02d or newer",
		               text, SLURM_VERSION_LEAST / 100, SLURM_VERSION_LEAST % 100);
	*ret_number = number;
	return 0;
}

bool words_is_transport(int code)
{
	return (code >= 0 && code < 2000) || (code >= 5000 && code < 7000);
}

static const char *const verbs[SLURM_VERBS] = {
	[SLURM_PING] = "ping",
	[SLURM_LOAD_CONF] = "load configuration",
	[SLURM_LOAD_STATS] = "load statistics",
	[SLURM_LOAD_PARTITIONS] = "load partitions",
	[SLURM_LOAD_JOB_STATES] = "load job states",
	[SLURM_LOAD_JOBS] = "load jobs",
	[SLURM_LOAD_JOB] = "load job",
	[SLURM_LOAD_RECORD] = "load record of job",
	[SLURM_LOAD_NODES] = "load nodes",
	[SLURM_LOAD_NODE] = "load node",
	[SLURM_SUBMIT] = "submit",
	[SLURM_CANCEL] = "cancel job",
	[SLURM_SIGNAL] = "signal job",
	[SLURM_CHANGE_JOB] = "change job",
	[SLURM_CHANGE_NODE] = "change node",
	[SLURM_CREATE_NODE] = "create node",
	[SLURM_DELETE_NODE] = "delete node",
};

void words_add_subject(struct buf *out, const struct slurm_request *rq)
{
	buf_add_str(out, verbs[rq->verb]);
	if (rq->verb == SLURM_SUBMIT && rq->spec && rq->spec->name) {
		buf_add_char(out, ' ');
		str_add_safe(out, rq->spec->name, strlen(rq->spec->name), 200);
	} else if (rq->job_id)
		buf_printf(out, " %" PRIu32, rq->job_id);
	else if (rq->node) {
		buf_add_char(out, ' ');
		str_add_safe(out, rq->node, strlen(rq->node), 200);
	}
}
