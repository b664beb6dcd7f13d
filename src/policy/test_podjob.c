/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/podjob.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"

#define GI (INT64_C(1000) << 30)
#define LABEL "gpu.nvidia.com/model"

static const char *const gpu_resources[] = { "nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb",
	                                     "nvidia.com/mig-2g.20gb" };
static const struct pair gpu_types[] = {
	{ "H100_NVLINK_80GB", "h100" },          { "H100_PCIE", "h100" }, { "A100", "a100" }, { "B", "" },
	{ "nvidia.com/mig-1g.10gb", "1g.10gb" },
};
static const struct rules standard = { .gpu_resources = gpu_resources,
	                               .n_gpu_resources = ARRAY_LEN(gpu_resources),
	                               .gpu_type_label = LABEL,
	                               .gpu_types = gpu_types,
	                               .n_gpu_types = ARRAY_LEN(gpu_types),
	                               .uid = 64030,
	                               .gid = 64031 };

struct made {
	struct amount requests[3];
	struct container container;
	struct pod pod;
};

static struct pod *make(struct made *m, int64_t cpu, int64_t memory, const char *gpu, int64_t gpus)
{
	*m = (struct made) { .requests = { { "cpu", cpu }, { "memory", memory }, { gpu, gpus } } };
	m->container = (struct container) { .name = "main", .requests = m->requests, .n_requests = gpu ? 3 : 2 };
	m->pod = (struct pod) { .meta = { .ns = "ml", .name = "web-0", .uid = "5b1e" },
		                .containers = &m->container,
		                .n_containers = 1 };
	return &m->pod;
}

static void test_a_plain_pod_becomes_one_node_one_task_on_nothing_special(void **state)
{
	struct wishes none = WISHES_INIT;
	struct podjob j;
	struct made m;

	(void)state;
	podjob_make(make(&m, 1, 1, NULL, 0), &none, &standard, NULL, &j);
	assert_string_equal(j.spec.name, "ml.web-0");
	assert_string_equal(j.spec.extra, "ml/web-0/5b1e");
	assert_string_equal(j.spec.admin_comment, "sunk: ml/web-0/5b1e");
	assert_int_equal(j.spec.cpus, 1);
	assert_int_equal(j.spec.memory_mb, 1);
	assert_string_equal(j.spec.work_dir, "/");
	assert_string_equal(j.spec.std_out, "/dev/null");
	assert_string_equal(j.spec.std_err, "/dev/null");
	assert_int_equal(j.spec.uid, 64030);
	assert_int_equal(j.spec.gid, 64031);
	assert_int_equal(j.spec.kill_on_node_fail, 1);
	assert_int_equal(j.spec.shared, SHARED_UNSET);
	assert_int_equal(j.spec.time_limit_min, 0);
	assert_false(j.spec.has_priority || j.spec.hold);
	assert_null(j.spec.tres_per_node);
	assert_null(j.spec.excluded);
	assert_null(j.spec.required);
	assert_null(j.spec.script);
	assert_null(j.spec.bell_host);
	podjob_done(&j);
	podjob_done(&j);
}

static void test_every_wish_reaches_the_job(void **state)
{
	struct wishes w = { .account = "acc",
		            .comment = "\"; $(id) %n ü",
		            .partition = "part",
		            .qos = "q",
		            .reservation = "res",
		            .constraints = "c1&c2",
		            .prefer = "p",
		            .excluded_nodes = "b,a",
		            .required_nodes = "n7",
		            .work_dir = "/w",
		            .priority = 4294967293,
		            .user_id = 0,
		            .group_id = 4294967293,
		            .timeout_min = 123,
		            .shared = SHARED_OK };
	struct podjob j;
	struct made m;

	(void)state;
	podjob_make(make(&m, 1, 1, NULL, 0), &w, &standard, NULL, &j);
	assert_string_equal(j.spec.account, "acc");
	assert_string_equal(j.spec.comment, "\"; $(id) %n ü");
	assert_string_equal(j.spec.partition, "part");
	assert_string_equal(j.spec.qos, "q");
	assert_string_equal(j.spec.reservation, "res");
	assert_string_equal(j.spec.features, "c1&c2");
	assert_string_equal(j.spec.prefer, "p");
	assert_string_equal(j.spec.excluded, "a,b");
	assert_string_equal(j.spec.required, "n7");
	assert_string_equal(j.spec.work_dir, "/w");
	assert_true(j.spec.has_priority);
	assert_int_equal(j.spec.priority, 4294967293);
	assert_false(j.spec.hold);
	assert_int_equal(j.spec.uid, 0);
	assert_int_equal(j.spec.gid, 4294967293);
	assert_int_equal(j.spec.time_limit_min, 123);
	assert_int_equal(j.spec.shared, SHARED_OK);
	podjob_narrow(&j);
	assert_string_equal(j.spec.required, "n7");
	podjob_done(&j);
	w.required_nodes = "n[7-8]"; /* of which one is enough: to Slurm it would mean both */
	podjob_make(make(&m, 1, 1, NULL, 0), &w, &standard, NULL, &j);
	assert_string_equal(j.spec.required, "n[7-8]");
	podjob_narrow(&j);
	assert_null(j.spec.required);
	podjob_done(&j);
	w.priority = 0;
	podjob_make(&m.pod, &w, &standard, NULL, &j);
	assert_true(j.spec.hold);
	assert_false(j.spec.has_priority);
	podjob_done(&j);
}

static void test_amounts_are_rounded_up(void **state)
{
	const struct {
		int64_t cpu, memory;
		uint32_t cpus;
		uint64_t mb;
	} cases[] = {
		{ 1000, GI, 1, 1024 },
		{ 1001, GI + 1, 2, 1025 },
		{ 999, GI - 1000, 1, 1024 },
		{ 65533000, 1048576000, 65533, 1 },
		{ 65532001, 1048577000, 65533, 2 },
		{ 1, INT64_MAX - 1, 1, 8796093023 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wishes none = WISHES_INIT;
		struct podjob j;
		struct made m;

		podjob_make(make(&m, cases[i].cpu, cases[i].memory, NULL, 0), &none, &standard, NULL, &j);
		if (j.spec.cpus != cases[i].cpus || j.spec.memory_mb != cases[i].mb)
			fail_msg("case %zu: %u CPUs, %lu MiB", i, j.spec.cpus, (unsigned long)j.spec.memory_mb);
		podjob_done(&j);
	}
}

static void test_infeasible_nodes_join_those_the_pod_excludes(void **state)
{
	const struct {
		const char *asked, *infeasible, *want;
	} cases[] = {
		{ NULL, NULL, NULL },
		{ "", "", NULL },
		{ "n2,n1", NULL, "n[1-2]" },
		{ NULL, "n[1-3]", "n[1-3]" },
		{ "n3,a", "n[1-2],n3,b", "a,b,n[1-3]" },
		{ "n[1-60000]", "m[1-60000]", "m[1-60000],n[1-60000]" },
		{ NULL, "n[1-200000]", "n[1-200000]" }, /* too many to sort */
		{ "a", "n[1-200000]", "a,n[1-200000]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wishes w = WISHES_INIT;
		struct podjob j;
		struct made m;

		w.excluded_nodes = cases[i].asked;
		podjob_make(make(&m, 1, 1, NULL, 0), &w, &standard, cases[i].infeasible, &j);
		if (!str_eq(j.spec.excluded, cases[i].want))
			fail_msg("case %zu: %s", i, str_or(j.spec.excluded, "none"));
		assert_null(j.spec.required);
		podjob_done(&j);
	}
}

static void test_gpus_are_asked_for_with_their_type_when_only_one_is_possible(void **state)
{
#define IN(...)                                                                                                        \
	{ .key = LABEL,                                                                                                \
	  .op = SEL_IN,                                                                                                \
	  .values = (const char *[]) { __VA_ARGS__ },                                                                  \
	  .n_values = sizeof((const char *[]) { __VA_ARGS__ }) / sizeof(char *) }
#define NOT_IN(v) { .key = LABEL, .op = SEL_NOT_IN, .values = (const char *[]) { v }, .n_values = 1 }
#define OTHER { .key = "zone", .op = SEL_EXISTS }
#define TERM(n, ...) { .labels = (struct requirement[]) { __VA_ARGS__ }, .n_labels = (n) }
	struct {
		const char *what, *resource;
		int64_t gpus;
		const char *selected; /* by nodeSelector */
		struct selector_term terms[3];
		uint32_t n_terms;
		const char *want;
	} cases[] = {
		{ "none asked for", "nvidia.com/gpu", 0, NULL, { { 0 } }, 0, NULL },
		{ "any type", "nvidia.com/gpu", 2000, NULL, { { 0 } }, 0, "gres:gpu:2" },
		{ "of the other maker", "amd.com/gpu", 8000, NULL, { { 0 } }, 0, "gres:gpu:8" },
		{ "a resource that is no GPU", "rdma/ib", 8000, NULL, { { 0 } }, 0, NULL },
		{ "slices of a GPU", "nvidia.com/mig-1g.10gb", 3000, NULL, { { 0 } }, 0, "gres:gpu:1g.10gb:3" },
		{ "slices, whatever is selected",
		  "nvidia.com/mig-1g.10gb",
		  1000,
		  "A100",
		  { { 0 } },
		  0,
		  "gres:gpu:1g.10gb:1" },
		{ "slices without a type of their own",
		  "nvidia.com/mig-2g.20gb",
		  1000,
		  "A100",
		  { { 0 } },
		  0,
		  "gres:gpu:a100:1" },
		{ "node selector", "nvidia.com/gpu", 2000, "A100", { { 0 } }, 0, "gres:gpu:a100:2" },
		{ "a value without a type", "nvidia.com/gpu", 2000, "T4", { { 0 } }, 0, "gres:gpu:2" },
		{ "a type that is empty", "nvidia.com/gpu", 2000, "B", { { 0 } }, 0, "gres:gpu:2" },
		{ "affinity", "nvidia.com/gpu", 1000, NULL, { TERM(1, IN("A100")) }, 1, "gres:gpu:a100:1" },
		{ "two values of one type",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("H100_NVLINK_80GB", "H100_PCIE")) },
		  1,
		  "gres:gpu:h100:1" },
		{ "two types", "nvidia.com/gpu", 1000, NULL, { TERM(1, IN("H100_PCIE", "A100")) }, 1, "gres:gpu:1" },
		{ "a type, or one unknown",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("A100", "T4")) },
		  1,
		  "gres:gpu:1" },
		{ "one type or another term's other",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("A100")), TERM(1, IN("H100_PCIE")) },
		  2,
		  "gres:gpu:1" },
		{ "both terms the same",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("A100")), TERM(2, OTHER, IN("A100")) },
		  2,
		  "gres:gpu:a100:1" },
		{ "a term that does not care",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("A100")), TERM(1, OTHER) },
		  2,
		  "gres:gpu:1" },
		{ "a term that matches nothing",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, IN("A100")), { 0 } },
		  2,
		  "gres:gpu:a100:1" },
		{ "narrowed by the node selector",
		  "nvidia.com/gpu",
		  1000,
		  "A100",
		  { TERM(1, IN("A100", "H100_PCIE")) },
		  1,
		  "gres:gpu:a100:1" },
		{ "selector with an unrelated term",
		  "nvidia.com/gpu",
		  1000,
		  "A100",
		  { TERM(1, OTHER) },
		  1,
		  "gres:gpu:a100:1" },
		{ "narrowed by a second line",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(2, IN("A100", "H100_PCIE"), IN("H100_PCIE", "T4")) },
		  1,
		  "gres:gpu:h100:1" },
		{ "narrowed by what it must not be",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(2, IN("A100", "H100_PCIE"), NOT_IN("A100")) },
		  1,
		  "gres:gpu:h100:1" },
		{ "a label that must not be there",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(2, IN("A100"), { .key = LABEL, .op = SEL_DOES_NOT_EXIST }) },
		  1,
		  "gres:gpu:1" },
		{ "only what it must not be",
		  "nvidia.com/gpu",
		  1000,
		  NULL,
		  { TERM(1, NOT_IN("A100")) },
		  1,
		  "gres:gpu:1" },
		{ "a contradiction", "nvidia.com/gpu", 1000, "A100", { TERM(1, IN("H100_PCIE")) }, 1, "gres:gpu:1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wishes none = WISHES_INIT;
		struct pair selector = { LABEL, cases[i].selected };
		struct podjob j;
		struct made m;
		struct pod *pod = make(&m, 1000, GI, cases[i].resource, cases[i].gpus);

		pod->node_selector = &selector;
		pod->n_node_selector = cases[i].selected ? 1 : 0;
		pod->required_nodes = cases[i].terms;
		pod->n_required_nodes = cases[i].n_terms;
		pod->has_required = cases[i].n_terms > 0;
		podjob_make(pod, &none, &standard, NULL, &j);
		if (!str_eq(j.spec.tres_per_node, cases[i].want))
			fail_msg("%s: %s", cases[i].what, str_or(j.spec.tres_per_node, "none"));
		podjob_done(&j);
	}
}

static void test_without_a_label_or_with_an_endless_list_there_is_no_type(void **state)
{
	static const char *values[1000];
	struct requirement r = { .key = LABEL, .op = SEL_IN, .values = values, .n_values = ARRAY_LEN(values) };
	struct selector_term term = { .labels = &r, .n_labels = 1 };
	struct wishes none = WISHES_INIT;
	struct rules rules = standard;
	struct podjob j;
	struct made m;
	struct pod *pod = make(&m, 1000, GI, "nvidia.com/gpu", 1000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		values[i] = "A100";
	pod->required_nodes = &term;
	pod->n_required_nodes = 1;
	podjob_make(pod, &none, &rules, NULL, &j);
	assert_string_equal(j.spec.tres_per_node, "gres:gpu:1");
	podjob_done(&j);
	r.n_values = 1;
	podjob_make(pod, &none, &rules, NULL, &j);
	assert_string_equal(j.spec.tres_per_node, "gres:gpu:a100:1");
	podjob_done(&j);
	rules.gpu_type_label = NULL;
	podjob_make(pod, &none, &rules, NULL, &j);
	assert_string_equal(j.spec.tres_per_node, "gres:gpu:1");
	podjob_done(&j);
}

static void test_extra_is_read_back_as_it_was_written(void **state)
{
	const struct extra_id cases[] = {
		{ "ns", "name", "5b1e7a60-0c39-4e0a-9a6f-0d6c8f1e2a3b", EXTRA_PLAIN, 0 },
		{ "ns", "web.v1-0", "u", EXTRA_STARTED, 0 },
		{ "a-1", "n", "U", EXTRA_STARTED, 1 },
		{ "a-1", "n", "U", EXTRA_STARTED, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[EXTRA_MAX];
		struct extra_id got;

		assert_true(extra_parse(extra_format(&cases[i], text), &got));
		assert_string_equal(got.ns, cases[i].ns);
		assert_string_equal(got.name, cases[i].name);
		assert_string_equal(got.uid, cases[i].uid);
		assert_int_equal(got.mark, cases[i].mark);
		assert_int_equal(got.restarts, cases[i].restarts);
	}
}

static void test_the_longest_identity_fits(void **state)
{
	struct extra_id id = { .mark = EXTRA_STARTED, .restarts = UINT32_MAX }, got;
	char text[EXTRA_MAX], identity[POD_IDENTITY_MAX], ns[64], name[254], uid[POD_UID_MAX];
	struct pod pod = { .meta = { .ns = ns, .name = name, .uid = uid } };

	(void)state;
	memset(ns, 'a', sizeof(ns) - 1);
	memset(name, 'b', sizeof(name) - 1);
	memset(uid, 'c', sizeof(uid) - 1);
	ns[sizeof(ns) - 1] = name[sizeof(name) - 1] = uid[sizeof(uid) - 1] = 0;
	assert_true(extra_parse(pod_identity(&pod, identity), &got));
	assert_string_equal(got.ns, ns);
	assert_string_equal(got.name, name);
	assert_string_equal(got.uid, uid);
	memcpy(id.ns, ns, sizeof(ns));
	memcpy(id.name, name, sizeof(name));
	memcpy(id.uid, uid, sizeof(uid));
	assert_true(str_ends(extra_format(&id, text), ": started 4294967295"));
	assert_true(extra_parse(text, &got));
}

static void test_what_is_no_identity_is_a_foreign_job(void **state)
{
	static char long_ns[200];
	const char *const cases[] = {
		NULL,
		"",
		"/",
		"//",
		"a/b",
		"a/b/",
		"/b/c",
		"a//c",
		"a/b/c/d",
		"a/b/c:",
		"a/b/c: ",
		"a/b/c: starte",
		"a/b/c: started ",
		"a/b/c: started 0",
		"a/b/c: started 01",
		"a/b/c: started -1",
		"a/b/c: started 4294967296",
		"a/b/c: started 1 ",
		"a/b/c: started1",
		"a/b/c: started: started",
		"a/b/c: released",
		"a/b/c: Started",
		"a/b/c : started",
		" a/b/c",
		"a/b/c\n",
		"A/b/c",
		"a.b/b/c",
		"a/B/c",
		"a/b/c.d",
		"a/b/ü",
		"{\"a\":1}",
		"a/b/c: started: released",
		long_ns,
	};

	(void)state;
	memset(long_ns, 'a', 64);
	memcpy(long_ns + 64, "/b/c", 5);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct extra_id got = { .ns = "untouched" };

		if (extra_parse(cases[i], &got))
			fail_msg("'%s' was taken for a Pod's", cases[i]);
		assert_string_equal(got.ns, "untouched");
	}
	assert_true(extra_parse(long_ns + 1, &(struct extra_id) { 0 }));
}

static void test_a_job_says_whose_it_is_where_only_operators_can_write(void **state)
{
	static const struct {
		struct job job;
		bool claims, sure, released, misnamed;
		enum extra_mark mark;
	} cases[] = {
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "sunk: a/p/u" }, true, true },
		{ { .name = "a.p", .extra = "a/p/u: started", .admin_comment = "sunk: a/p/u" },
		  true,
		  true,
		  false,
		  false,
		  EXTRA_STARTED },
		{ { .name = "other", .extra = "a/p/u", .admin_comment = "sunk: a/p/u" }, true, true },
		{ { .name = "a.p", .extra = "note", .admin_comment = "sunk: a/p/u" }, true, true, false, true },
		{ { .name = "a.p", .extra = "a/p/v: started", .admin_comment = "sunk: a/p/u" },
		  true,
		  true,
		  false,
		  true },
		{ { .name = "a.p", .admin_comment = "sunk: a/p/u" }, true, true, false, true },
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "sunk: released a/p/u" }, true, true, true },
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "sunk: released" }, true, false, true },
		{ { .name = "a.p", .extra = "a/p/u" }, true },
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "watch this one" }, true },
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "sunk: nonsense" }, true },
		{ { .name = "a.p", .extra = "a/p/u", .admin_comment = "sunk: a/p/u: started" }, true },
		{ { .name = "a.q", .extra = "a/p/u" }, false },
		{ { .extra = "a/p/u" }, false },
		{ { .name = "a.p" }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct job_claim c = { 0 };

		if (job_claim_of(&cases[i].job, &c) != cases[i].claims || c.sure != cases[i].sure ||
		    c.released != cases[i].released || c.misnamed != cases[i].misnamed || c.id.mark != cases[i].mark)
			fail_msg("case %zu", i);
		if (cases[i].claims)
			assert_string_equal(c.id.uid, "u");
	}
}

static void test_a_job_is_believed_only_with_a_reason(void **state)
{
	static const char *const here[] = { "a" }, *const elsewhere[] = { "b" };
	static struct pair names_it[] = { { ANNOTATION_JOB_ID, "7" } },
	                   names_another[] = { { ANNOTATION_JOB_ID, "8" } };
	static const struct extra_id p = { .ns = "a", .name = "p", .uid = "u" };
	static const struct pod naming = { .meta = { .uid = "u", .annotations = names_it, .n_annotations = 1 } },
	                        other = { .meta = { .uid = "u", .annotations = names_another, .n_annotations = 1 } },
	                        recreated = { .meta = { .uid = "v", .annotations = names_it, .n_annotations = 1 } };
	static const struct {
		const char *what, *extra, *comment;
		uint32_t uid;
		const struct extra_id *known;
		const struct pod *pod;
		bool away, want, misnamed;
	} cases[] = {
		{ "the admin comment", "a/p/u", "sunk: a/p/u", 1000, .want = true },
		{ "nothing but name and extra", "a/p/u", NULL, 1000 },
		{ "our own user", "a/p/u", NULL, 0, .want = true },
		{ "its Pod names it", "a/p/u", NULL, 1000, .pod = &naming, .want = true },
		{ "its Pod names another", "a/p/u", NULL, 1000, .pod = &other },
		{ "another Pod of that name names it", "a/p/u", NULL, 1000, .pod = &recreated },
		{ "it is known", "a/p/u", NULL, 1000, .known = &p, .want = true },
		{ "known, and its extra is a note", "note", NULL, 1000, .known = &p, .want = true, .misnamed = true },
		{ "known, and its extra names another Pod", "a/p/v", NULL, 1000, .known = &p, .want = true,
		  .misnamed = true },
		{ "another scheduler's namespace", "a/p/u", "sunk: a/p/u", 0, .away = true },
		{ "no claim at all", NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct job job = { .id = 7,
			           .name = "a.p",
			           .extra = cases[i].extra,
			           .admin_comment = cases[i].comment,
			           .uid = cases[i].uid };
		struct rules rules = { .namespaces = cases[i].away ? elsewhere : here, .n_namespaces = 1 };
		struct job_claim claim, got = { 0 };
		bool claims = job_claim_of(&job, &claim);

		if (job_is_ours(&job, claims ? &claim : NULL, cases[i].known, cases[i].pod, &rules, &got) !=
		    cases[i].want)
			fail_msg("%s", cases[i].what);
		if (cases[i].want && (!str_eq(got.id.uid, "u") || got.misnamed != cases[i].misnamed))
			fail_msg("%s: of %s", cases[i].what, got.id.uid);
	}
}

static void test_the_exit_code_is_that_of_the_container_that_failed_first(void **state)
{
	const struct {
		const char *what;
		int phase;
		struct container_status inits[2], mains[3];
		uint32_t n_inits, n_mains;
		int want;
	} cases[] = {
		{ "it succeeded", POD_SUCCEEDED, { { 0 } }, { { .terminated = true, .exit_code = 3 } }, 0, 1, 0 },
		{ "nobody knows", POD_FAILED, { { 0 } }, { { 0 } }, 0, 0, 1 },
		{ "no container failed", POD_FAILED, { { 0 } }, { { .terminated = true } }, 0, 1, 1 },
		{ "one failed", POD_FAILED, { { 0 } }, { { .terminated = true, .exit_code = 3 } }, 0, 1, 3 },
		{ "after one that did not",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true }, { .terminated = true, .exit_code = 4 } },
		  0,
		  2,
		  4 },
		{ "the earliest counts",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true, .exit_code = 143, .finished = 20 },
		    { .terminated = true, .exit_code = 2, .finished = 10 } },
		  0,
		  2,
		  2 },
		{ "at the same time the first one counts",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true, .exit_code = 5, .finished = 10 },
		    { .terminated = true, .exit_code = 2, .finished = 10 } },
		  0,
		  2,
		  5 },
		{ "a known time before an unknown",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true, .exit_code = 5 }, { .terminated = true, .exit_code = 2, .finished = 10 } },
		  0,
		  2,
		  2 },
		{ "an init container",
		  POD_FAILED,
		  { { .terminated = true, .exit_code = 9, .finished = 5 } },
		  { { .waiting = true } },
		  1,
		  1,
		  9 },
		{ "a sidecar's end is a consequence",
		  POD_FAILED,
		  { { .name = "side", .terminated = true, .exit_code = 143, .finished = 5 } },
		  { { .terminated = true, .exit_code = 2, .finished = 10 } },
		  1,
		  1,
		  2 },
		{ "unless nothing else failed",
		  POD_FAILED,
		  { { .name = "side", .terminated = true, .exit_code = 143, .finished = 5 } },
		  { { .terminated = true } },
		  1,
		  1,
		  143 },
		{ "killed", POD_FAILED, { { 0 } }, { { .terminated = true, .signal = 9 } }, 0, 1, 137 },
		{ "killed, with the code too",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true, .signal = 9, .exit_code = 137 } },
		  0,
		  1,
		  137 },
		{ "a code that is none", POD_FAILED, { { 0 } }, { { .terminated = true, .exit_code = 256 } }, 0, 1, 1 },
		{ "a negative code", POD_FAILED, { { 0 } }, { { .terminated = true, .exit_code = -1 } }, 0, 1, 1 },
		{ "a signal that is none",
		  POD_FAILED,
		  { { 0 } },
		  { { .terminated = true, .signal = 200, .exit_code = 7 } },
		  0,
		  1,
		  7 },
		{ "not over yet", POD_RUNNING, { { 0 } }, { { .running = true } }, 0, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct container side = { .name = "side", .restart = RESTART_ALWAYS };
		struct pod pod = { .phase = cases[i].phase,
			           .init_containers = &side,
			           .n_init_containers = 1,
			           .init_statuses = (struct container_status *)cases[i].inits,
			           .n_init_statuses = cases[i].n_inits,
			           .statuses = (struct container_status *)cases[i].mains,
			           .n_statuses = cases[i].n_mains };
		int got = pod_exit_code(&pod);

		if (got != cases[i].want)
			fail_msg("%s: got %d, want %d", cases[i].what, got, cases[i].want);
	}
}

TEST_MAIN(TEST(a_plain_pod_becomes_one_node_one_task_on_nothing_special), TEST(every_wish_reaches_the_job),
          TEST(amounts_are_rounded_up), TEST(infeasible_nodes_join_those_the_pod_excludes),
          TEST(gpus_are_asked_for_with_their_type_when_only_one_is_possible),
          TEST(without_a_label_or_with_an_endless_list_there_is_no_type), TEST(extra_is_read_back_as_it_was_written),
          TEST(a_job_says_whose_it_is_where_only_operators_can_write), TEST(a_job_is_believed_only_with_a_reason),
          TEST(the_longest_identity_fits), TEST(what_is_no_identity_is_a_foreign_job),
          TEST(the_exit_code_is_that_of_the_container_that_failed_first))
