/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/probe.h"

#include <errno.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/test_sample_table.h"
#include "kube/test_samples.h"

static struct http_answer answer(int status, const char *body)
{
	return (struct http_answer) {
		.status = status,
		.content_type = "text/plain",
		.body = (char *)(uintptr_t)body,
		.body_len = strlen(body),
	};
}

static void test_every_recorded_version_and_readiness(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_cases; i++) {
		const struct sample_case *c = &sample_cases[i];
		_cleanup_(sample_freep) struct sample *s = NULL;
		char version[PROBE_VERSION_MAX];
		struct http_answer http;

		if (c->role != SAMPLE_PLAIN)
			continue;
		s = sample_read(c->file);
		http = sample_answer(s);
		if (str_starts(s->path, "/version")) {
			assert_int_equal(probe_version(&http, version, NULL), 0);
			assert_string_equal(version, c->text);
		} else {
			assert_true(str_starts(s->path, "/readyz") && strstr(s->body, c->text));
			assert_int_equal(probe_ready(&http, NULL), 0);
		}
	}
}

static void test_a_version_that_is_none_is_told(void **state)
{
	static const char *const bad[] = { "<html>", "{}", "{\"gitVersion\":17}", "{\"gitVersion\":\"\"}",
		                           "{\"gitVersion\":\"a\\nb\"}" };
	struct http_answer refused = answer(403, "{}");
	char version[PROBE_VERSION_MAX] = "untouched";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct http_answer http = answer(200, bad[i]);
		struct err err = { 0 };

		assert_true(probe_version(&http, version, &err) < 0);
		assert_true(str_starts(err.text, "/version"));
	}
	assert_true(probe_version(&refused, version, NULL) < 0);
	assert_string_equal(version, "untouched");
}

static void test_what_a_starting_server_lacks_is_told(void **state)
{
	struct http_answer http =
	        answer(500, "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n"
	                    "[+]log ok\nreadyz check failed\n");
	struct http_answer bare = answer(500, "");
	static const struct err away = { -111, "GET https://h/readyz: refused" };
	struct http_answer none = { .error = &away };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(probe_ready(&http, &err), -EAGAIN);
	assert_string_equal(err.text,
	                    "/readyz answered 500: [-]poststarthook/rbac/bootstrap-roles failed: reason withheld");
	assert_int_equal(probe_ready(&bare, &err), -EAGAIN);
	assert_string_equal(err.text, "/readyz answered 500");
	assert_int_equal(probe_ready(&none, &err), -EAGAIN);
	assert_string_equal(err.text, away.text);
}

TEST_MAIN(TEST(every_recorded_version_and_readiness), TEST(a_version_that_is_none_is_told),
          TEST(what_a_starting_server_lacks_is_told))
