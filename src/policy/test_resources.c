/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/resources.h"

#include "base/mem.h"
#include "base/test.h"

#define CPU(m)                                                                                                         \
	(struct amount[])                                                                                              \
	{                                                                                                              \
		{                                                                                                      \
			"cpu", m                                                                                       \
		}                                                                                                      \
	}
#define ASKS(m) { .requests = CPU(m), .n_requests = 1 }
#define SIDECAR(m) { .requests = CPU(m), .n_requests = 1, .restart = RESTART_ALWAYS }

static void test_the_larger_of_running_and_starting_counts(void **state)
{
	const struct {
		const char *what;
		struct container inits[3], mains[2];
		uint32_t n_inits, n_mains;
		int64_t overhead, want;
	} cases[] = {
		{ "nothing asked for", .n_mains = 1, .want = 0 },
		{ "containers add up", .mains = { ASKS(100), ASKS(250) }, .n_mains = 2, .want = 350 },
		{ "an init container that is larger wins", .inits = { ASKS(500) }, .n_inits = 1, .mains = { ASKS(100) },
		  .n_mains = 1, .want = 500 },
		{ "init containers do not add up", .inits = { ASKS(300), ASKS(400) }, .n_inits = 2,
		  .mains = { ASKS(100) }, .n_mains = 1, .want = 400 },
		{ "a sidecar runs beside the containers", .inits = { SIDECAR(200) }, .n_inits = 1,
		  .mains = { ASKS(100) }, .n_mains = 1, .want = 300 },
		{ "a sidecar counts for init containers after it", .inits = { SIDECAR(200), ASKS(500) }, .n_inits = 2,
		  .mains = { ASKS(100) }, .n_mains = 1, .want = 700 },
		{ "but not for those before it", .inits = { ASKS(500), SIDECAR(200) }, .n_inits = 2,
		  .mains = { ASKS(100) }, .n_mains = 1, .want = 500 },
		{ "overhead comes on top", .mains = { ASKS(100) }, .n_mains = 1, .overhead = 50, .want = 150 },
		{ "a limit stands for a missing request", .mains = { { .limits = CPU(70), .n_limits = 1 } },
		  .n_mains = 1, .want = 70 },
		{ "a request of zero is a request",
		  .mains = { { .requests = CPU(0), .n_requests = 1, .limits = CPU(70), .n_limits = 1 } }, .n_mains = 1,
		  .want = 0 },
		{ "too much is held at the maximum", .mains = { ASKS(INT64_MAX), ASKS(1) }, .n_mains = 2,
		  .want = INT64_MAX },
		{ "less than nothing is nothing", .mains = { ASKS(-5), ASKS(10) }, .n_mains = 2, .want = 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pod pod = { .containers = (struct container *)cases[i].mains,
			           .n_containers = cases[i].n_mains,
			           .init_containers = (struct container *)cases[i].inits,
			           .n_init_containers = cases[i].n_inits,
			           .overhead = CPU(cases[i].overhead),
			           .n_overhead = 1 };
		int64_t got = resources_effective(&pod, "cpu");

		if (got != cases[i].want)
			fail_msg("%s: got %ld, want %ld", cases[i].what, (long)got, (long)cases[i].want);
		assert_int_equal(resources_effective(&pod, "memory"), 0);
	}
}

static void test_the_pod_as_a_whole_may_say_how_much(void **state)
{
	const struct {
		const char *what;
		struct container whole, main;
		int64_t want;
	} cases[] = {
		{ "its request stands above the sum", ASKS(900), ASKS(100), 950 },
		{ "also when it is less", ASKS(50), ASKS(100), 100 },
		{ "its limit does not", { .limits = CPU(900), .n_limits = 1 }, ASKS(100), 150 },
		{ "unless no container asks", { .limits = CPU(900), .n_limits = 1 }, { 0 }, 950 },
		{ "it alone is enough", ASKS(900), { 0 }, 950 },
		{ "less than nothing is nothing", ASKS(-900), { 0 }, 50 },
	};
	struct amount gpu = { "nvidia.com/gpu", 1000 };
	struct pod only_gpu = { .whole = { .requests = &gpu, .n_requests = 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct container c = cases[i].main;
		struct pod pod = { .containers = &c,
			           .n_containers = 1,
			           .whole = cases[i].whole,
			           .overhead = CPU(50),
			           .n_overhead = 1 };
		int64_t got = resources_effective(&pod, "cpu");

		if (got != cases[i].want)
			fail_msg("%s: got %ld, want %ld", cases[i].what, (long)got, (long)cases[i].want);
	}
	assert_int_equal(resources_effective(&only_gpu, "nvidia.com/gpu"), 0);
}

static void test_a_resized_pod_holds_what_kubernetes_counts(void **state)
{
	struct {
		const char *what;
		int64_t asked, granted, in_effect;
		const char *pending; /* why the resize waits */
		int64_t want;
	} cases[] = {
		{ "not started", 1000, 0, 0, NULL, 1000 },
		{ "as it was made", 1000, 1000, 1000, NULL, 1000 },
		{ "to grow, once there is room", 8000, 1000, 1000, "Deferred", 8000 },
		{ "never to grow that far", 1000000, 1000, 1000, "Infeasible", 1000 },
		{ "growing", 8000, 8000, 1000, NULL, 8000 },
		{ "to shrink", 1000, 8000, 8000, NULL, 8000 },
		{ "shrinking", 1000, 1000, 8000, NULL, 8000 },
		{ "an older kubelet says only what is in effect", 1000, 0, 8000, NULL, 8000 },
		{ "infeasible, and the kubelet says nothing", 8000, 0, 0, "Infeasible", 8000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct container side = {
			.name = "side", .restart = RESTART_ALWAYS, .requests = CPU(cases[i].asked), .n_requests = 1
		};
		struct container main = { .name = "main", .requests = CPU(100), .n_requests = 1 };
		struct container_status statuses[] = {
			{ .name = "main", .granted.cpu = 100, .in_effect.cpu = 100 },
			{ .name = "side", .granted.cpu = cases[i].granted, .in_effect.cpu = cases[i].in_effect },
		};
		struct condition pending = { .type = "PodResizePending",
			                     .status = COND_TRUE,
			                     .reason = cases[i].pending };
		struct pod pod = { .containers = &main,
			           .n_containers = 1,
			           .init_containers = &side,
			           .n_init_containers = 1,
			           .statuses = statuses,
			           .n_statuses = 1,
			           .init_statuses = statuses,
			           .n_init_statuses = 2,
			           .conditions = &pending,
			           .n_conditions = cases[i].pending ? 1 : 0 };
		int64_t got = resources_held(&pod, "cpu");

		if (got != cases[i].want + 100)
			fail_msg("%s: got %ld, want %ld", cases[i].what, (long)got, (long)cases[i].want + 100);
		assert_int_equal(resources_effective(&pod, "cpu"), cases[i].asked + 100);
		assert_int_equal(resources_held(&pod, "memory"), 0);
	}
}

TEST_MAIN(TEST(a_resized_pod_holds_what_kubernetes_counts), TEST(the_larger_of_running_and_starting_counts),
          TEST(the_pod_as_a_whole_may_say_how_much))
