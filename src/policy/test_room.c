/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/room.h"

#include "base/mem.h"
#include "base/test.h"

#define GI (1024LL * 1024 * 1024 * 1000)

static struct amount small[] = { { "cpu", 1000 }, { "memory", 2 * GI } };
static struct amount gpu[] = { { "cpu", 1000 }, { "nvidia.com/gpu", 2000 }, { "zero", 0 } };
static struct amount whole[] = { { "cpu", 4000 }, { "memory", 8 * GI }, { "nvidia.com/gpu", 2000 }, { "pods", 3000 } };
static const struct knode node = { .allocatable = whole, .n_allocatable = 4 };

static struct container small_c = { .requests = small, .n_requests = 2 };
static struct container gpu_c = { .requests = gpu, .n_requests = 3 };

static struct pod pod_of(const char *name, struct container *c, uint32_t n)
{
	return (struct pod) { .meta = { .ns = "ns", .name = name, .uid = name }, .containers = c, .n_containers = n };
}

static void test_each_resource_is_asked_for_once_and_zero_is_not(void **state)
{
	struct container all[] = { small_c, gpu_c },
	                 init = { .limits = (struct amount[]) { { "ephemeral-storage", 5 } }, .n_limits = 1 };
	struct pod pod = pod_of("a", all, 2);
	_cleanup_asks_ struct asks a = { 0 };

	(void)state;
	pod.init_containers = &init;
	pod.n_init_containers = 1;
	pod.overhead = (struct amount[]) { { "cpu", 250 }, { "memory", -1 } };
	pod.n_overhead = 2;
	pod.whole = (struct container) { .requests = (struct amount[]) { { "hugepages-2Mi", 7 } }, .n_requests = 1 };
	asks_init(&a, &pod);
	assert_int_equal(a.n, 5);
	assert_string_equal(a.list[0].name, "cpu");
	assert_int_equal(a.list[0].milli, 2250);
	assert_string_equal(a.list[1].name, "memory");
	assert_string_equal(a.list[2].name, "nvidia.com/gpu");
	assert_string_equal(a.list[3].name, "ephemeral-storage");
	assert_int_equal(a.list[3].milli, 5);
	assert_string_equal(a.list[4].name, "hugepages-2Mi");
}

static bool fits(const struct pod *pod, const struct pod *const *on, size_t n, struct shortage *s)
{
	_cleanup_asks_ struct asks a = { 0 };

	asks_init(&a, pod);
	return room_now(pod, &a, &node, on, n, s) && room_for_pod(pod, &node, on, n, s);
}

static void test_what_is_on_the_node_counts_until_it_is_over(void **state)
{
	struct pod a = pod_of("a", &gpu_c, 1), b = pod_of("b", &small_c, 1), c = pod_of("c", &gpu_c, 1);
	const struct pod *on[] = { &a, &b };
	struct shortage s = { 0 };

	(void)state;
	assert_false(fits(&c, on, 2, &s));
	assert_string_equal(s.resource, "nvidia.com/gpu");
	assert_int_equal(s.asked, 2000);
	assert_int_equal(s.has, 0);
	assert_int_equal(s.whole, 2000);
	a.phase = POD_RUNNING;
	a.meta.deletion = 1;
	assert_false(fits(&c, on, 2, &s));
	a.phase = POD_SUCCEEDED;
	assert_true(fits(&c, on, 2, &s));
	a.phase = POD_FAILED;
	assert_true(fits(&c, on, 2, &s));
}

static void test_a_pod_that_can_never_grow_so_far_does_not_close_its_node(void **state)
{
	struct container vast_c = { .name = "c",
		                    .requests = (struct amount[]) { { "cpu", 1000000 } },
		                    .n_requests = 1 };
	struct container_status status = { .name = "c", .granted.cpu = 1000 };
	struct condition pending = { .type = "PodResizePending", .status = COND_TRUE, .reason = "Infeasible" };
	struct pod vast = pod_of("vast", &vast_c, 1), a = pod_of("a", &small_c, 1);
	const struct pod *on[] = { &vast };
	struct shortage s = { 0 };

	(void)state;
	vast.statuses = &status;
	vast.n_statuses = 1;
	vast.conditions = &pending;
	vast.n_conditions = 1;
	assert_true(fits(&a, on, 1, &s));
	status.granted.cpu = 3500;
	assert_false(fits(&a, on, 1, &s));
	assert_int_equal(s.has, 500);
}

static void test_the_pod_itself_does_not_count(void **state)
{
	struct pod a = pod_of("a", &gpu_c, 1), same = a, namesake = a;
	const struct pod *on[] = { &a };
	struct shortage s;

	(void)state;
	assert_true(fits(&same, on, 1, &s));
	namesake.meta.uid = "another";
	assert_false(fits(&namesake, on, 1, &s));
	a.meta.uid = NULL;
	assert_true(fits(&same, on, 1, &s));
	a.meta.ns = "other";
	assert_false(fits(&same, on, 1, &s));
}

static void test_the_number_of_pods_has_its_limit(void **state)
{
	struct pod none = pod_of("x", NULL, 0), a = pod_of("a", NULL, 0), b = pod_of("b", NULL, 0),
	           c = pod_of("c", NULL, 0);
	const struct pod *on[] = { &a, &b, &c };
	struct knode silent = { .allocatable = whole, .n_allocatable = 3 };
	struct shortage s;

	(void)state;
	assert_true(fits(&none, on, 2, &s));
	assert_false(fits(&none, on, 3, &s));
	assert_string_equal(s.resource, "pods");
	assert_int_equal(s.whole, 3000);
	b.phase = POD_SUCCEEDED;
	assert_true(fits(&none, on, 3, &s));
	b.phase = POD_RUNNING;
	assert_true(room_for_pod(&none, &silent, on, 3, &s));
}

static void test_a_whole_node_may_be_too_small(void **state)
{
	struct amount much[] = { { "cpu", 4000 }, { "memory", 8 * GI + 1 } };
	struct container c = { .requests = much, .n_requests = 2 };
	struct pod pod = pod_of("a", &c, 1);
	_cleanup_asks_ struct asks a = { 0 };
	struct shortage s = { 0 };
	struct amount no_pods = { "pods", 0 };
	struct knode takes_none = { .allocatable = &no_pods, .n_allocatable = 1 };

	(void)state;
	asks_init(&a, &pod);
	assert_false(room_ever(&a, &node, &s));
	assert_string_equal(s.resource, "memory");
	much[1].milli--;
	asks_done(&a);
	asks_init(&a, &pod);
	assert_true(room_ever(&a, &node, &s));
	asks_done(&a);
	assert_false(room_ever(&a, &takes_none, &s));
	much[1] = (struct amount) { "example.com/unknown", 1000 };
	asks_init(&a, &pod);
	assert_false(room_ever(&a, &node, &s));
	assert_string_equal(s.resource, "example.com/unknown");
}

static void test_too_much_on_a_node_is_no_overflow(void **state)
{
	struct amount all = { "cpu", INT64_MAX };
	struct container c = { .requests = &all, .n_requests = 1 };
	struct pod a = pod_of("a", &c, 1), b = pod_of("b", &c, 1), p = pod_of("p", &small_c, 1);
	const struct pod *on[] = { &a, &b };
	struct shortage s;

	(void)state;
	assert_false(fits(&p, on, 2, &s));
	assert_int_equal(s.has, 0);
}

static void test_host_ports_clash_by_number_protocol_and_address(void **state)
{
	static const struct {
		const char *what;
		struct host_port a, b;
		bool want;
	} cases[] = {
		{ "the same", { 80 }, { 80 }, true },
		{ "another port", { 80 }, { 81 }, false },
		{ "TCP is what is meant", { 80, "TCP" }, { 80, NULL }, true },
		{ "another protocol", { 80, "UDP" }, { 80, "TCP" }, false },
		{ "the same address", { 80, NULL, "10.0.0.1" }, { 80, NULL, "10.0.0.1" }, true },
		{ "another address", { 80, NULL, "10.0.0.1" }, { 80, NULL, "10.0.0.2" }, false },
		{ "all addresses against one", { 80, NULL, "0.0.0.0" }, { 80, NULL, "10.0.0.2" }, true },
		{ "one against all", { 80, NULL, "10.0.0.1" }, { 80, NULL, NULL }, true },
		{ "none is all", { 80, NULL, "" }, { 80, NULL, "0.0.0.0" }, true },
		{ "no port of the host", { 0 }, { 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct host_port ports[] = { { 4711 }, cases[i].a };
		struct container ca = { .ports = ports, .n_ports = 2 };
		struct container cb = { .ports = (struct host_port *)&cases[i].b, .n_ports = 1 };
		struct pod a = pod_of("a", &ca, 1), b = pod_of("b", &cb, 1);
		const struct host_port *got = ports_clash(&a, &b);

		if ((got != NULL) != cases[i].want || (got && got != &ports[1]))
			fail_msg("%s: want %d", cases[i].what, cases[i].want);
		assert_int_equal(ports_clash(&b, &a) != NULL, cases[i].want);
	}
}

static void test_ports_of_sidecars_count_and_of_init_containers_do_not(void **state)
{
	struct host_port port = { 80 };
	struct container c = { .ports = &port, .n_ports = 1 }, init[] = { { 0 }, c };
	struct pod a = pod_of("a", &c, 1), b = { .init_containers = init, .n_init_containers = 2 };

	(void)state;
	assert_null(ports_clash(&a, &b));
	init[1].restart = RESTART_ALWAYS;
	assert_non_null(ports_clash(&a, &b));
	assert_non_null(ports_clash(&b, &a));
}

static void test_amounts_read_as_a_person_writes_them(void **state)
{
	static const struct {
		const char *resource;
		int64_t milli;
		const char *want;
	} cases[] = {
		{ "cpu", 64000, "64" },
		{ "cpu", 1500, "1500m" },
		{ "memory", 512 * GI, "512Gi" },
		{ "memory", GI + GI / 2, "1.5Gi" },
		{ "memory", 1000 * 1000, "1000" },
		{ "hugepages-2Mi", 2 * GI / 1024, "2Mi" },
		{ "nvidia.com/gpu", 8000, "8" },
	};
	char text[AMOUNT_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(amount_text(cases[i].resource, cases[i].milli, text), cases[i].want);
}

TEST_MAIN(TEST(each_resource_is_asked_for_once_and_zero_is_not), TEST(what_is_on_the_node_counts_until_it_is_over),
          TEST(a_pod_that_can_never_grow_so_far_does_not_close_its_node), TEST(the_pod_itself_does_not_count),
          TEST(the_number_of_pods_has_its_limit), TEST(a_whole_node_may_be_too_small),
          TEST(too_much_on_a_node_is_no_overflow), TEST(host_ports_clash_by_number_protocol_and_address),
          TEST(ports_of_sidecars_count_and_of_init_containers_do_not), TEST(amounts_read_as_a_person_writes_them))
