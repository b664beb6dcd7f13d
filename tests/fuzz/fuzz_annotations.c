/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any annotations: what is taken is within the limits, and all that is told about the rest fits on one line. The input is
 * keys and values by turns, each ended with a NUL.
 */
#include "policy/annotations.h"

#include <assert.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "policy/podjob.h"
#include "policy/validate.h"

#define PAIRS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t split(char *text, size_t size, struct pair *pairs)
{
	uint32_t n = 0;

	for (char *p = text, *end = text + size; p < end && n < PAIRS_MAX; n++) {
		pairs[n].key = p;
		p += strlen(p) + 1;
		pairs[n].value = p < end ? p : "";
		p += p < end ? strlen(p) + 1 : 0;
	}
	return n;
}

static void is_one_line(const char *s)
{
	assert(str_is_utf8(s, strlen(s)) && !str_has_control(s, strlen(s)));
}

static void look_at_row(const struct annotation_row *row, const struct wishes *w)
{
	const void *field = (const char *)w + row->offset;

	if (row->type == ANNOTATION_INTEGER) {
		int64_t v = *(const int64_t *)field;

		assert(v == -1 || (v >= row->min && v <= row->max));
	} else if (row->type == ANNOTATION_EXCLUSIVE) {
		assert(w->shared >= SHARED_UNSET && w->shared <= SHARED_USER);
	} else if (*(const char *const *)field) {
		const char *s = *(const char *const *)field;
		_cleanup_hostlist_ struct hostlist names = HOSTLIST_INIT;

		is_one_line(s);
		assert(*s && strlen(s) <= (size_t)row->max);
		assert(row->type != ANNOTATION_PATH || *s == '/');
		assert(row->type != ANNOTATION_NODES || (hostlist_parse(&names, s, NULL) == 0 && names.n > 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_alloc(size + 1);
	_cleanup_problems_ struct problems problems = PROBLEMS_INIT;
	struct pair pairs[PAIRS_MAX];
	struct pod pod = { .meta = { .ns = "ns", .name = "pod", .uid = "uid", .annotations = pairs } };
	const struct rules rules = { .kill_wait = 30 * USEC_SEC };
	struct wishes wishes;
	struct podjob job;

	if (size)
		memcpy(text, data, size);
	pod.meta.n_annotations = split(text, size, pairs);
	validate_pod(&pod, &rules, &wishes, &problems);
	for (size_t i = 0; i < n_annotation_rows; i++)
		look_at_row(&annotation_rows[i], &wishes);
	assert(problems.n <= PROBLEMS_MAX && problems.n_errors >= 3); /* it asks for nothing and has no grace period */
	assert(problems.n + problems.dropped == problems.n_errors + problems.n_warnings);
	for (uint32_t i = 0; i < problems.n; i++) {
		is_one_line(problems.list[i].field);
		is_one_line(problems.list[i].text);
		assert(problems.list[i].text[0]);
	}
	podjob_make(&pod, &wishes, &rules, "n1", &job);
	assert(str_eq(job.spec.extra, "ns/pod/uid") && job.spec.excluded && job.spec.work_dir[0] == '/');
	podjob_done(&job);
	return 0;
}
