/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/status.h"

#include "base/str.h"
#include "base/test.h"
#include "kube/test_sample_table.h"
#include "kube/test_samples.h"
#include "json/json.h"

#define SERVER "https://10.0.0.1:6443"

static void check_sample(const struct sample_case *c)
{
	_cleanup_(sample_freep) struct sample *s = sample_read(c->file);
	struct http_answer http = sample_answer(s);
	struct kube_answer a;

	kube_answer_read(&a, &http, "try Pod ns/p", SERVER, c->role == SAMPLE_EFFECT);
	if (a.result.outcome != c->outcome || !str_eq(a.result.reason, c->reason) || !strstr(a.message, c->text))
		fail_msg("%s: outcome %d, reason %s, %s", c->file, a.result.outcome, a.result.reason, a.message);
	assert_true(str_starts(a.message, "try Pod ns/p: "));
	assert_false(str_has_control(a.message, strlen(a.message)));
	assert_int_equal(a.result.http_status, s->status);
	assert_int_equal(a.result.retry_after, c->retry_after);
	assert_int_equal(a.result.maybe_done, c->maybe_done);
	assert_int_equal(a.expired, c->expired);
	if (!str_eq(a.result.resource_version, c->version))
		fail_msg("%s: resourceVersion %s", c->file, str_or(a.result.resource_version, "NULL"));
}

static void test_every_recorded_answer_is_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_cases; i++)
		if (sample_cases[i].role == SAMPLE_READ || sample_cases[i].role == SAMPLE_EFFECT)
			check_sample(&sample_cases[i]);
}

static void test_every_sample_has_its_row_or_a_reason_why_not(void **state)
{
	char **names = sample_names();
	size_t n = 0;

	(void)state;
	for (char **name = names; *name; name++, n++) {
		bool found = false;

		for (size_t i = 0; i < n_sample_cases; i++)
			found |= str_eq(sample_cases[i].file, *name);
		if (!found)
			fail_msg("%s is in no row of test_sample_table.c", *name);
	}
	assert_int_equal(n, n_sample_cases);
	for (char **name = names; *name; name++)
		free(*name);
	free(names);
	for (size_t i = 0; i < n_sample_cases; i++)
		if (sample_cases[i].role == SAMPLE_OTHER)
			assert_non_null(sample_cases[i].text);
}

static struct kube_answer read_answer(const struct http_answer *http, bool effect)
{
	static struct kube_answer a;

	kube_answer_read(&a, http, "delete Pod ns/p", SERVER, effect);
	return a;
}

static struct http_answer text_answer(int status, const char *content_type, const char *body)
{
	return (struct http_answer) {
		.status = status,
		.sent = true,
		.content_type = content_type,
		.body = (char *)(uintptr_t)body,
		.body_len = strlen(body),
	};
}

static void test_a_web_page_is_not_a_kubernetes_api(void **state)
{
	static const int statuses[] = { 200, 302, 403, 404, 500, 503 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct http_answer http = text_answer(statuses[i], "text/html; charset=utf-8", "<html>welcome</html>");
		struct kube_answer a = read_answer(&http, false);

		assert_int_equal(a.result.outcome, KUBE_RETRY);
		assert_non_null(strstr(a.message, SERVER));
		assert_non_null(strstr(a.message,
		                       "answered text/html; charset=utf-8, not a Kubernetes API: is the server "
		                       "address right?"));
	}
}

static void test_json_of_something_else_never_makes_an_object_gone(void **state)
{
	static const char *const bodies[] = { "{\"error\":\"no such route\"}", "[]", "{", "",
		                              "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct http_answer http = text_answer(404, "application/json", bodies[i]);

		assert_int_equal(read_answer(&http, true).result.outcome, KUBE_RETRY);
	}
}

static void test_an_answer_that_was_lost_may_have_had_its_effect(void **state)
{
	static const struct err gone = { -104, "https://10.0.0.1:6443/x: connection reset" };
	struct http_answer lost = { .sent = true, .error = &gone, .body = (char[]) { "" }, .content_type = "" };
	struct http_answer never_sent = lost, cut = text_answer(200, "application/json", "{\"kind\":");
	struct kube_answer a;

	(void)state;
	never_sent.sent = false;
	cut.error = &gone;
	a = read_answer(&lost, true);
	assert_int_equal(a.result.outcome, KUBE_RETRY);
	assert_true(a.result.maybe_done);
	assert_string_equal(a.message, "delete Pod ns/p: https://10.0.0.1:6443/x: connection reset");
	assert_false(read_answer(&never_sent, true).result.maybe_done);
	assert_false(read_answer(&lost, false).result.maybe_done);
	a = read_answer(&cut, true);
	assert_int_equal(a.result.outcome, KUBE_RETRY);
	assert_true(a.result.maybe_done);
	assert_false(kube_answer_is_object(&cut));
}

static void test_an_effect_answered_with_nonsense_may_have_happened(void **state)
{
	struct http_answer http = text_answer(201, "application/json", "ok");
	struct kube_answer a = read_answer(&http, true);

	(void)state;
	assert_int_equal(a.result.outcome, KUBE_RETRY);
	assert_true(a.result.maybe_done);
}

static void test_a_patch_with_another_objects_uid_finds_it_gone(void **state)
{
	struct http_answer http =
	        text_answer(422, "application/json",
	                    "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"Pod \\\"p\\\" is invalid\","
	                    "\"details\":{\"name\":\"p\",\"causes\":[{\"field\":\"spec\"},"
	                    "{\"field\":\"metadata.uid\",\"reason\":\"FieldValueInvalid\"}]},\"code\":422}");

	(void)state;
	assert_int_equal(read_answer(&http, true).result.outcome, KUBE_NOT_FOUND);
}

static void test_the_node_a_pod_already_has_is_told(void **state)
{
	_cleanup_(sample_freep) struct sample *s = sample_read("11b-binding-twice-409.txt");
	struct http_answer http = sample_answer(s);

	(void)state;
	assert_string_equal(read_answer(&http, true).assigned_to, "n-s1794766553");
}

static void test_an_expired_list_gives_its_token(void **state)
{
	_cleanup_(sample_freep) struct sample *with = sample_read("08-410-continue-expired.txt");
	_cleanup_(sample_freep) struct sample *without = sample_read("08b-410-list-exact.txt");
	struct http_answer http_with = sample_answer(with), http_without = sample_answer(without);

	(void)state;
	assert_string_equal(read_answer(&http_with, false).token,
	                    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYzJcdTAwMDAifQ");
	assert_string_equal(read_answer(&http_without, false).token, "");
}

static void test_retry_after_in_the_status_counts_when_no_header_does(void **state)
{
	struct http_answer http =
	        text_answer(503, "application/json",
	                    "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999999999},\"code\":503}");

	(void)state;
	assert_int_equal(read_answer(&http, false).result.retry_after, KUBE_RETRY_AFTER_MAX);
	http.retry_after = 3 * USEC_SEC;
	assert_int_equal(read_answer(&http, false).result.retry_after, 3 * USEC_SEC);
}

static void test_a_status_in_a_stream_is_read_the_same_way(void **state)
{
	static const char text[] = "{\"kind\":\"Status\",\"message\":\"too old\",\"reason\":\"Expired\",\"code\":410}";
	struct kube_answer a;
	yyjson_doc *doc;

	(void)state;
	assert_int_equal(json_parse_copy(text, strlen(text), &doc, NULL), 0);
	kube_answer_read_status(&a, yyjson_doc_get_root(doc), "watch Pods");
	yyjson_doc_free(doc);
	assert_true(a.expired);
	assert_string_equal(a.message, "watch Pods: too old (410 Expired)");
}

TEST_MAIN(TEST(every_recorded_answer_is_understood), TEST(every_sample_has_its_row_or_a_reason_why_not),
          TEST(a_web_page_is_not_a_kubernetes_api), TEST(json_of_something_else_never_makes_an_object_gone),
          TEST(an_answer_that_was_lost_may_have_had_its_effect),
          TEST(an_effect_answered_with_nonsense_may_have_happened),
          TEST(a_patch_with_another_objects_uid_finds_it_gone), TEST(the_node_a_pod_already_has_is_told),
          TEST(an_expired_list_gives_its_token), TEST(retry_after_in_the_status_counts_when_no_header_does),
          TEST(a_status_in_a_stream_is_read_the_same_way))
