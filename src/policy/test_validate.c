/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/validate.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"

static const char *const gpu_resources[] = { "nvidia.com/gpu", "amd.com/gpu" };
static const struct rules standard = { .kill_wait = 30 * USEC_SEC,
	                               .gpu_resources = gpu_resources,
	                               .n_gpu_resources = ARRAY_LEN(gpu_resources) };

#define MI (INT64_C(1000) << 20)
#define AMOUNTS_MAX 4
struct box { /* one container of a case: cpu, memory, GPUs in thousandths */
	struct amount requests[AMOUNTS_MAX], limits[AMOUNTS_MAX];
	bool init, sidecar;
};

static uint32_t count(const struct amount *a)
{
	uint32_t n = 0;

	while (n < AMOUNTS_MAX && a[n].name)
		n++;
	return n;
}

struct made {
	struct container mains[4], inits[4];
	struct pair annotation;
	struct pod pod;
};

static struct pod *make(struct made *m, struct box *boxes, uint32_t n)
{
	*m = (struct made) { .pod = { .meta = { .ns = "ns", .name = "p" }, .grace_s = 10, .has_grace = true } };
	m->pod.containers = m->mains;
	m->pod.init_containers = m->inits;
	for (uint32_t i = 0; i < n; i++) {
		struct container *c =
		        boxes[i].init ? &m->inits[m->pod.n_init_containers++] : &m->mains[m->pod.n_containers++];

		*c = (struct container) { .name = "main",
			                  .requests = boxes[i].requests,
			                  .n_requests = count(boxes[i].requests),
			                  .limits = boxes[i].limits,
			                  .n_limits = count(boxes[i].limits),
			                  .restart = boxes[i].sidecar ? RESTART_ALWAYS : RESTART_UNSET };
	}
	return &m->pod;
}

#define SMALL                                                                                                          \
	{                                                                                                              \
		.requests = { { "cpu", 500 }, { "memory", 64 * MI } }                                                  \
	}

static void test_requests_must_be_there_and_be_countable(void **state)
{
	struct {
		const char *what;
		struct box boxes[2];
		uint32_t n;
		const char *want[2]; /* parts of the errors, in order */
	} cases[] = {
		{ "both there", { SMALL }, 1, { NULL } },
		{ "none", { { .init = false } }, 1, { "asks for no cpu", "asks for no memory" } },
		{ "no container at all", { { .init = false } }, 0, { "asks for no cpu", "asks for no memory" } },
		{ "zero CPUs", { { .requests = { { "cpu", 0 }, { "memory", MI } } } }, 1, { "asks for no cpu" } },
		{ "zero in spite of a limit",
		  { { .requests = { { "cpu", 0 }, { "memory", MI } }, .limits = { { "cpu", 1000 } } } },
		  1,
		  { "asks for no cpu" } },
		{ "less than nothing",
		  { { .requests = { { "cpu", -1000 }, { "memory", MI } } } },
		  1,
		  { "asks for no cpu" } },
		{ "no memory", { { .requests = { { "cpu", 1 } } } }, 1, { "asks for no memory" } },
		{ "one container of two is enough", { { .init = false }, SMALL }, 2, { NULL } },
		{ "an init container is enough",
		  { { .requests = { { "cpu", 1 }, { "memory", 1 } }, .init = true } },
		  1,
		  { NULL } },
		{ "limits stand for requests", { { .limits = { { "cpu", 500 }, { "memory", MI } } } }, 1, { NULL } },
		{ "as many as Slurm counts",
		  { { .requests = { { "cpu", 65533000 }, { "memory", MI } } } },
		  1,
		  { NULL } },
		{ "one more",
		  { { .requests = { { "cpu", 65533001 }, { "memory", MI } } } },
		  1,
		  { "65534 CPUs, Slurm counts at most 65533" } },
		{ "a million CPUs",
		  { { .requests = { { "cpu", 1000000000 }, { "memory", MI } } } },
		  1,
		  { "1000000 CPUs, Slurm counts at most 65533" } },
		{ "more than a number holds",
		  { { .requests = { { "cpu", INT64_MAX }, { "memory", INT64_MAX } } }, SMALL },
		  2,
		  { "more cpu than can be counted", "more memory than can be counted" } },
		{ "a sum that overflows",
		  { { .requests = { { "cpu", 1 }, { "memory", INT64_MAX - 5 } } },
		    { .requests = { { "cpu", 1 }, { "memory", 6 } } } },
		  2,
		  { "more memory than can be counted" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		uint32_t n_want = (uint32_t)!!cases[i].want[0] + (uint32_t)!!cases[i].want[1];
		struct wishes wishes;
		struct made m;

		validate_pod(make(&m, cases[i].boxes, cases[i].n), &standard, &wishes, &p);
		if (p.n != n_want || p.n_errors != n_want)
			fail_msg("%s: %u problems, the first: %s", cases[i].what, p.n, p.n ? p.list[0].text : "");
		for (uint32_t k = 0; k < n_want; k++)
			if (!strstr(p.list[k].text, cases[i].want[k]))
				fail_msg("%s: %s", cases[i].what, p.list[k].text);
	}
}

static void test_grace_must_end_before_slurm_kills(void **state)
{
	const struct {
		bool said;
		int64_t grace_s;
		usec_t kill_wait;
		const char *want; /* NULL: fine */
	} cases[] = {
		{ true, 0, 30 * USEC_SEC, NULL },
		{ true, 24, 30 * USEC_SEC, NULL },
		{ true, 25, 30 * USEC_SEC,
		  "must be less than Slurm KillWait - 5s: it is 25s, KillWait is 30s; set it to 24 or less" },
		{ false, 0, 30 * USEC_SEC,
		  "must be less than Slurm KillWait - 5s: it is 30s (the default), KillWait is 30s; set it to 24 or "
		  "less" },
		{ false, 0, 35 * USEC_SEC, "30s (the default), KillWait is 35s; set it to 29 or less" },
		{ false, 0, 36 * USEC_SEC, NULL },
		{ true, 600, 606 * USEC_SEC, NULL },
		{ true, 600, 605 * USEC_SEC, "it is 600s, KillWait is 10m5s; set it to 599 or less" },
		{ true, 24, 29500 * USEC_MSEC, NULL },
		{ true, 25, 30500 * USEC_MSEC, NULL },
		{ true, 26, 30500 * USEC_MSEC, "set it to 25 or less" },
		{ true, 0, 5 * USEC_SEC, "KillWait must be raised" },
		{ true, 0, 0, "KillWait must be raised" },
		{ true, 0, 5 * USEC_SEC + 1, NULL },
		{ true, -1, 30 * USEC_SEC, "must not be negative" },
		{ true, INT64_MAX, 30 * USEC_SEC, "it is 9223372036854775807s" },
		{ true, INT64_MIN, 30 * USEC_SEC, "must not be negative" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		struct rules rules = standard;
		struct box boxes[] = { SMALL };
		struct wishes wishes;
		struct made m;
		struct pod *pod = make(&m, boxes, 1);

		rules.kill_wait = cases[i].kill_wait;
		pod->has_grace = cases[i].said;
		pod->grace_s = cases[i].grace_s;
		validate_pod(pod, &rules, &wishes, &p);
		if (!cases[i].want && p.n == 0)
			continue;
		if (!cases[i].want || p.n_errors != 1 || !strstr(p.list[0].text, cases[i].want))
			fail_msg("case %zu: %s", i, p.n ? p.list[0].text : "no problem");
		assert_string_equal(p.list[0].field, "spec.terminationGracePeriodSeconds");
		if (cases[i].grace_s >= 0)
			assert_true(str_starts(p.list[0].text,
			                       "termination grace period must be less than Slurm KillWait - 5s"));
	}
}

static void test_how_long_before_killwait_is_a_setting(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	struct rules rules = standard;
	struct box boxes[] = { SMALL };
	struct wishes wishes;
	struct made m;
	struct pod *pod = make(&m, boxes, 1);

	(void)state;
	pod->has_grace = true;
	pod->grace_s = 19;
	rules.termination_offset = 10 * USEC_SEC;
	validate_pod(pod, &rules, &wishes, &p);
	assert_int_equal(p.n_errors, 0);
	pod->grace_s = 20;
	validate_pod(pod, &rules, &wishes, &p);
	assert_int_equal(p.n_errors, 1);
	assert_non_null(strstr(p.list[0].text, "must be less than Slurm KillWait - 10s"));
	assert_non_null(strstr(p.list[0].text, "set it to 19 or less"));
}

#define BOTH(cpu, memory)                                                                                              \
	.requests = { { "cpu", cpu }, { "memory", memory } }, .limits = { { "cpu", cpu }, { "memory", memory } }

static void test_pinned_cpus_are_refused_unless_allowed(void **state)
{
	struct {
		const char *what;
		struct box boxes[3];
		uint32_t n;
		bool pinned;
	} cases[] = {
		{ "requests equal limits, whole CPUs", { { BOTH(2000, MI) } }, 1, true },
		{ "part of a CPU is never pinned", { { BOTH(1500, MI) } }, 1, false },
		{ "limits alone become requests", { { .limits = { { "cpu", 2000 }, { "memory", MI } } } }, 1, true },
		{ "only requests", { { .requests = { { "cpu", 2000 }, { "memory", MI } } } }, 1, false },
		{ "no limit of CPU",
		  { { .requests = { { "cpu", 2000 }, { "memory", MI } }, .limits = { { "memory", MI } } } },
		  1,
		  false },
		{ "no limit of memory",
		  { { .requests = { { "cpu", 2000 }, { "memory", MI } }, .limits = { { "cpu", 2000 } } } },
		  1,
		  false },
		{ "a limit above the request",
		  { { .requests = { { "cpu", 2000 }, { "memory", MI } },
		      .limits = { { "cpu", 3000 }, { "memory", MI } } } },
		  1,
		  false },
		{ "more memory allowed than asked for",
		  { { .requests = { { "cpu", 2000 }, { "memory", MI } },
		      .limits = { { "cpu", 2000 }, { "memory", 2 * MI } } } },
		  1,
		  false },
		{ "one container whole, one not", { { BOTH(1500, MI) }, { BOTH(2000, MI) } }, 2, true },
		{ "one container without limits", { { BOTH(2000, MI) }, SMALL }, 2, false },
		{ "an init container counts for the class", { { BOTH(2000, MI) }, { .init = true } }, 2, false },
		{ "an init container is pinned too",
		  { { BOTH(1500, MI) }, { BOTH(1000, MI), .init = true } },
		  2,
		  true },
		{ "a sidecar is pinned too",
		  { { BOTH(1500, MI) }, { BOTH(1000, MI), .init = true, .sidecar = true } },
		  2,
		  true },
		{ "GPUs do not count for the class",
		  { { .requests = { { "cpu", 2000 }, { "memory", MI }, { "nvidia.com/gpu", 1000 } },
		      .limits = { { "cpu", 2000 }, { "memory", MI }, { "nvidia.com/gpu", 1000 } } } },
		  1,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int allowed = 0; allowed < 2; allowed++) {
			_cleanup_problems_ struct problems p = PROBLEMS_INIT;
			struct rules rules = standard;
			struct wishes wishes;
			struct made m;

			rules.allow_static_cpu = allowed;
			validate_pod(make(&m, cases[i].boxes, cases[i].n), &rules, &wishes, &p);
			if (p.n_errors != (uint32_t)(cases[i].pinned && !allowed) ||
			    p.n_warnings != (uint32_t)(cases[i].pinned && allowed))
				fail_msg("%s: %u errors, %u warnings", cases[i].what, p.n_errors, p.n_warnings);
			if (p.n)
				assert_non_null(strstr(p.list[0].text, "leave out its limits.cpu"));
		}
}

static void test_the_class_of_a_pod_with_resources_as_a_whole_is_theirs(void **state)
{
	struct box whole[] = { { BOTH(4000, MI) } }, parts[] = { { .requests = { { "cpu", 2000 } } } },
	           pinned[] = { { BOTH(2000, MI) } };
	const struct {
		struct box *box;
		uint32_t n_requests, n_limits, want;
	} cases[] = {
		{ parts, 2, 2, 1 },  /* Guaranteed, and a container with whole CPUs */
		{ parts, 2, 0, 0 },  /* no limits */
		{ parts, 0, 2, 1 },  /* limits become requests */
		{ parts, 2, 1, 0 },  /* memory is not limited */
		{ pinned, 2, 0, 0 }, /* what the containers say does not count */
		{ pinned, 0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		struct wishes wishes;
		struct made m;
		struct pod *pod = make(&m, cases[i].box, 1);

		pod->overhead = (struct amount[]) { { "memory", MI } };
		pod->n_overhead = 1;
		pod->whole = (struct container) { .requests = whole[0].requests,
			                          .n_requests = cases[i].n_requests,
			                          .limits = whole[0].limits,
			                          .n_limits = cases[i].n_limits };
		validate_pod(pod, &standard, &wishes, &p);
		if (p.n_errors != cases[i].want)
			fail_msg("case %zu: %u errors: %s", i, p.n_errors, p.n ? p.list[0].text : "");
	}
}

static void test_gpus_are_whole_of_one_kind_and_not_for_everybody(void **state)
{
	struct {
		const char *what;
		struct box boxes[2];
		uint32_t n;
		const char *exclusive, *error, *warning;
	} cases[] = {
#define GPUS(kind, milli)                                                                                              \
	{                                                                                                              \
		.requests = { { "cpu", 500 }, { "memory", MI }, { kind, milli } }, .limits = { { kind, milli } }       \
	}
		{ "two", { GPUS("nvidia.com/gpu", 2000) }, 1, NULL, NULL, NULL },
		{ "half a GPU",
		  { GPUS("nvidia.com/gpu", 500) },
		  1,
		  NULL,
		  "nvidia.com/gpu must be a whole number",
		  NULL },
		{ "half a request",
		  { { .requests = { { "cpu", 500 }, { "memory", MI }, { "nvidia.com/gpu", 500 } } } },
		  1,
		  NULL,
		  "must be a whole number",
		  NULL },
		{ "half a limit",
		  { { .requests = { { "cpu", 500 }, { "memory", MI }, { "nvidia.com/gpu", 1000 } },
		      .limits = { { "nvidia.com/gpu", 1500 } } } },
		  1,
		  NULL,
		  "must be a whole number",
		  NULL },
		{ "two halves",
		  { GPUS("nvidia.com/gpu", 500), GPUS("nvidia.com/gpu", 500) },
		  2,
		  NULL,
		  "must be a whole number",
		  NULL },
		{ "two kinds",
		  { GPUS("nvidia.com/gpu", 1000), GPUS("amd.com/gpu", 1000) },
		  2,
		  NULL,
		  "both nvidia.com/gpu and amd.com/gpu",
		  NULL },
		{ "slices of a GPU that nobody counts",
		  { GPUS("nvidia.com/mig-1g.10gb", 1000) },
		  1,
		  NULL,
		  NULL,
		  "Slurm is not told of 'nvidia.com/mig-1g.10gb'" },
		{ "slices that only a limit names",
		  { { .requests = { { "cpu", 500 }, { "memory", MI } },
		      .limits = { { "nvidia.com/mig-1g.10gb", 1000 } } } },
		  1,
		  NULL,
		  NULL,
		  "Slurm is not told of 'nvidia.com/mig-1g.10gb'" },
		{ "slices of an init container",
		  { SMALL, { .limits = { { "nvidia.com/mig-1g.10gb", 1000 } }, .init = true } },
		  2,
		  NULL,
		  NULL,
		  "Slurm is not told of 'nvidia.com/mig-1g.10gb'" },
		{ "no slices at all", { GPUS("nvidia.com/mig-1g.10gb", 0) }, 1, NULL, NULL, NULL },
		{ "other resources are not ours", { GPUS("rdma/ib", 500) }, 1, NULL, NULL, NULL },
		{ "very many", { GPUS("nvidia.com/gpu", 65534000) }, 1, NULL, "more than 65533 nvidia.com/gpu", NULL },
		{ "shared with anybody", { GPUS("nvidia.com/gpu", 1000) }, 1, "ok", NULL, "beside a Pod with GPUs" },
		{ "shared with oneself", { GPUS("nvidia.com/gpu", 1000) }, 1, "user", NULL, NULL },
		{ "shared without GPUs", { SMALL }, 1, "ok", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		_cleanup_buf_ struct buf errors = BUF(8192), warnings = BUF(8192);
		struct wishes wishes;
		struct made m;
		struct pod *pod = make(&m, cases[i].boxes, cases[i].n);

		m.annotation = (struct pair) { ANNOTATION_PREFIX "exclusive", cases[i].exclusive };
		pod->meta.annotations = &m.annotation;
		pod->meta.n_annotations = 1;
		validate_pod(pod, &standard, &wishes, &p);
		problems_join(&p, false, NULL, &errors);
		problems_join(&p, true, NULL, &warnings);
		if (!!cases[i].error != !!p.n_errors || !strstr(buf_text(&errors), str_or(cases[i].error, "")) ||
		    !!cases[i].warning != !!p.n_warnings || !strstr(buf_text(&warnings), str_or(cases[i].warning, "")))
			fail_msg("%s: errors '%s', warnings '%s'", cases[i].what, buf_text(&errors),
			         buf_text(&warnings));
	}
}

static void test_claims_of_devices_are_refused(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	const char *claims[] = { "gpu", "nic" };
	struct box boxes[] = { SMALL };
	struct wishes wishes;
	struct made m;
	struct pod *pod = make(&m, boxes, 1);

	(void)state;
	pod->device_claims = claims;
	pod->n_device_claims = 2;
	validate_pod(pod, &standard, &wishes, &p);
	assert_int_equal(p.n_errors, 1);
	assert_string_equal(p.list[0].field, "spec.resourceClaims");
	assert_true(str_starts(p.list[0].text, "Slurm cannot allocate the devices of claim 'gpu': leave out"));
}

static void test_everything_that_is_wrong_is_told_at_once_and_the_rest_is_still_read(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	_cleanup_buf_ struct buf text = BUF(8192);
	struct pair annotations[] = { { ANNOTATION_PREFIX "priority", "soon" }, { ANNOTATION_PREFIX "qos", "normal" } };
	struct pod pod = { .meta = { .annotations = annotations, .n_annotations = ARRAY_LEN(annotations) } };
	struct wishes wishes;

	(void)state;
	validate_pod(&pod, &standard, &wishes, &p);
	problems_join(&p, false, NULL, &text);
	assert_int_equal(p.n_errors, 4);
	assert_non_null(strstr(buf_text(&text), "priority"));
	assert_non_null(strstr(buf_text(&text), "no cpu"));
	assert_non_null(strstr(buf_text(&text), "no memory"));
	assert_non_null(strstr(buf_text(&text), "KillWait"));
	assert_string_equal(wishes.qos, "normal");
}

TEST_MAIN(TEST(requests_must_be_there_and_be_countable), TEST(grace_must_end_before_slurm_kills),
          TEST(how_long_before_killwait_is_a_setting), TEST(pinned_cpus_are_refused_unless_allowed),
          TEST(the_class_of_a_pod_with_resources_as_a_whole_is_theirs),
          TEST(gpus_are_whole_of_one_kind_and_not_for_everybody), TEST(claims_of_devices_are_refused),
          TEST(everything_that_is_wrong_is_told_at_once_and_the_rest_is_still_read))
