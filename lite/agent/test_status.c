/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The states a Pod goes through, compared with the recorded life of Pods under a real kubelet (kube-samples/30-*).
 */
#include "lite/agent/status.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "json/json.h"

#define T0 (1794766553 * USEC_SEC)

static const char pod_text[] = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"generation\":1},"
                               "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"busybox\"}]},"
                               "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                               "\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"},"
                               "{\"type\":\"Theirs\",\"status\":\"True\"}]}}";

/* "phase | Type=T(reason) … | c ready=… {state}" as in the recording's summary. */
static char *summary(const struct status_facts *f)
{
	struct buf out = BUF(8192);
	struct patch *p = patch_new();
	yyjson_doc *pod = yyjson_read(pod_text, strlen(pod_text), 0), *doc;
	_cleanup_free_ char *text = NULL;
	yyjson_val *status, *item;
	yyjson_arr_iter iter;
	size_t len;

	status_patch(yyjson_doc_get_root(pod), f, T0, p);
	text = patch_text(p, &len);
	doc = yyjson_read(text, len, 0);
	status = json_get(yyjson_doc_get_root(doc), "status");
	buf_printf(&out, "%s %s|", json_str(json_get(status, "phase")),
	           str_or(json_str(json_get(status, "reason")), ""));
	yyjson_arr_iter_init(json_get(status, "conditions"), &iter);
	while (json_get(status, "conditions") && (item = yyjson_arr_iter_next(&iter))) {
		const char *reason = json_str(json_get(item, "reason"));

		buf_printf(&out, " %s=%.1s", json_str(json_get(item, "type")), json_str(json_get(item, "status")));
		if (reason)
			buf_printf(&out, "(%s)", reason);
	}
	item = yyjson_arr_get_first(json_get(status, "containerStatuses"));
	if (item) {
		_cleanup_free_ char *state = yyjson_val_write(json_get(item, "state"), 0, NULL);

		buf_printf(&out, " | ready=%d rc=%d %s", json_bool(json_get(item, "ready"), false),
		           (int)json_int(json_get(item, "restartCount"), 0), state);
	}
	yyjson_doc_free(doc);
	yyjson_doc_free(pod);
	patch_free(p);
	return buf_take(&out);
}

#define WAITING { .name = "c", .phase = BOX_WAITING, .reason = "ContainerCreating" }
#define RUNNING { .name = "c", .phase = BOX_RUNNING, .ready = true, .started = true, .started_at = T0 }
#define ENDED(n, why)                                                                                                  \
	{                                                                                                              \
		.name = "c", .phase = BOX_TERMINATED, .exit = {                                                        \
			.code = n,                                                                                     \
			.reason = why,                                                                                 \
			.started = T0,                                                                                 \
			.finished = T0                                                                                 \
		}                                                                                                      \
	}

static void test_a_pod_moves_through_the_states_of_a_real_kubelet(void **state)
{
	static struct box_state waiting = WAITING, running = RUNNING, completed = ENDED(0, "Completed"),
	                        failed = ENDED(3, "Error");
	static struct box_state backing_off = { .name = "c",
		                                .phase = BOX_TERMINATED,
		                                .reason = "CrashLoopBackOff",
		                                .restarts = 1,
		                                .exit = {
		                                        .code = 1, .reason = "Error", .started = T0, .finished = T0 } };
#define STATE(box, is_ended) &(struct pod_state) { .initialized = true, .ended = is_ended, .mains = &box, .n_mains = 1 }
	const struct {
		struct status_facts f;
		const char *want;
	} steps[] = {
		{ { .state = NULL },
		  "Pending | PodScheduled=T PodReadyToStartContainers=F Initialized=T Ready=F(ContainersNotReady) "
		  "ContainersReady=F(ContainersNotReady) | "
		  "ready=0 rc=0 {\"waiting\":{\"reason\":\"ContainerCreating\"}}" },
		{ { .state = STATE(waiting, false), .sandbox = true },
		  "Pending | PodScheduled=T PodReadyToStartContainers=T Initialized=T Ready=F(ContainersNotReady) "
		  "ContainersReady=F(ContainersNotReady) | "
		  "ready=0 rc=0 {\"waiting\":{\"reason\":\"ContainerCreating\"}}" },
		{ { .state = STATE(running, false), .sandbox = true },
		  "Running | PodScheduled=T PodReadyToStartContainers=T Initialized=T Ready=T ContainersReady=T | "
		  "ready=1 rc=0 {\"running\":{\"startedAt\":\"2026-11-15T18:15:53Z\"}}" },
		{ { .state = STATE(completed, true), .sandbox = true, .hold_terminal = true },
		  "Running | PodScheduled=T PodReadyToStartContainers=T Initialized=T(PodCompleted) "
		  "Ready=F(PodCompleted) "
		  "ContainersReady=F(PodCompleted) | "
		  "ready=0 rc=0 {\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"" },
		{ { .state = STATE(completed, true), .sandbox = true },
		  "Succeeded | PodScheduled=T PodReadyToStartContainers=F Initialized=T(PodCompleted) "
		  "Ready=F(PodCompleted) "
		  "ContainersReady=F(PodCompleted) | "
		  "ready=0 rc=0 {\"terminated\":{\"exitCode\":0,\"reason\":\"Completed\"" },
		{ { .state = STATE(failed, true), .sandbox = true },
		  "Failed | PodScheduled=T PodReadyToStartContainers=F Initialized=T Ready=F(PodFailed) "
		  "ContainersReady=F(PodFailed) "
		  "| "
		  "ready=0 rc=0 {\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"" },
		{ { .state = STATE(backing_off, false), .sandbox = true },
		  "Running | PodScheduled=T PodReadyToStartContainers=T Initialized=T Ready=F(ContainersNotReady) "
		  "ContainersReady=F(ContainersNotReady) | "
		  "ready=0 rc=1 {\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off restarting failed "
		  "container=c pod=p_ns(u)\"}}" },
		{ { .failed_reason = "OutOfcpu", .failed_message = "no" }, "Failed OutOfcpu|" },
		{ { .state = STATE(failed, true), .failed_reason = "DeadlineExceeded" },
		  "Failed DeadlineExceeded| PodScheduled=T PodReadyToStartContainers=F Initialized=T "
		  "Ready=F(PodFailed) "
		  "ContainersReady=F(PodFailed) |" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		_cleanup_free_ char *got = summary(&steps[i].f);

		if (!str_starts(got, steps[i].want))
			fail_msg("step %zu:\n got  %s\n want %s", i, got, steps[i].want);
	}
}

static void test_transition_times_change_only_with_the_status(void **state)
{
	struct box_state running = RUNNING, waiting = WAITING;
	yyjson_doc *pod = yyjson_read(pod_text, strlen(pod_text), 0);

	(void)state;
	for (int ready = 0; ready <= 1; ready++) {
		struct pod_state s = { .initialized = true, .mains = ready ? &running : &waiting, .n_mains = 1 };
		struct patch *p = patch_new();
		_cleanup_free_ char *text = NULL;
		size_t len;

		status_patch(yyjson_doc_get_root(pod), &(struct status_facts) { .state = &s }, T0, p);
		text = patch_text(p, &len);
		assert_int_equal(strstr(text, "2020-01-01T00:00:00Z") != NULL, ready);
		assert_null(strstr(text, "Theirs"));
		patch_free(p);
	}
	yyjson_doc_free(pod);
}

TEST_MAIN(TEST(a_pod_moves_through_the_states_of_a_real_kubelet), TEST(transition_times_change_only_with_the_status))
