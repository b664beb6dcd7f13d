/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/lease.h"

#include <stdlib.h>

#include "base/test.h"
#include "kube/test_samples.h"
#include "json/json.h"

static void test_a_recorded_lease_is_read(void **state)
{
	_cleanup_(sample_freep) struct sample *s = sample_read("18b-lease-update-200.txt");
	struct lease l;
	struct err err;

	(void)state;
	assert_int_equal(lease_decode(s->body, s->body_len, &l, &err), 0);
	assert_string_equal(l.version, "315");
	assert_string_equal(l.holder, "b");
	assert_int_equal(l.duration_s, 15);
	assert_int_equal(l.transitions, 1);
	assert_int_equal(l.acquired, 1794766601 * USEC_SEC);
	assert_int_equal(l.renewed, l.acquired);
}

static void test_what_is_written_is_what_a_server_took(void **state)
{
	struct lease l = { .version = "314",
		           .holder = "b",
		           .duration_s = 15,
		           .transitions = 1,
		           .acquired = 1794766601 * USEC_SEC,
		           .renewed = 1794766601 * USEC_SEC + 5 },
	             back;
	size_t len;
	_cleanup_free_ char *text = lease_encode(&l, "ns", "l", &len);
	struct err err;

	(void)state;
	assert_string_equal(
	        text, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\","
	              "\"namespace\":\"ns\",\"resourceVersion\":\"314\"},\"spec\":{\"holderIdentity\":\"b\","
	              "\"leaseDurationSeconds\":15,\"leaseTransitions\":1,"
	              "\"acquireTime\":\"2026-11-15T18:16:41.000000Z\","
	              "\"renewTime\":\"2026-11-15T18:16:41.000005Z\"}}");
	assert_int_equal(lease_decode(text, len, &back, &err), 0);
	assert_true(lease_record_eq(&l, &back));
	assert_string_equal(back.version, "314");
}

static void test_a_new_lease_has_no_version(void **state)
{
	struct lease l = { .holder = "b", .duration_s = 15, .acquired = 1, .renewed = 1 };
	_cleanup_free_ char *text = lease_encode(&l, "ns", "l", NULL);

	(void)state;
	assert_null(strstr(text, "resourceVersion"));
}

static void test_fields_may_be_missing(void **state)
{
	static const char *const texts[] = {
		"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{}}",
		"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"}}",
		"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":null,"
		"\"acquireTime\":null,\"leaseDurationSeconds\":null}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct lease l = { 0 };

		assert_int_equal(lease_decode(texts[i], strlen(texts[i]), &l, NULL), 0);
		assert_string_equal(l.version, "1");
		assert_string_equal(l.holder, "");
		assert_int_equal(l.duration_s, 0);
		assert_int_equal(l.renewed, 0);
	}
}

static void test_what_is_no_lease_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "<html>", "lease: not JSON" },
		{ "[]", "expected a Lease" },
		{ "{\"kind\":\"Pod\"}", "expected a Lease" },
		{ "{\"kind\":\"Lease\",\"spec\":{\"renewTime\":\"yesterday\"}}", "spec.renewTime is no time" },
		{ "{\"kind\":\"Lease\",\"spec\":{\"acquireTime\":7}}", "spec.acquireTime is no time" },
		{ "{\"kind\":\"Lease\",\"spec\":{\"leaseDurationSeconds\":-1}}",
		  "spec.leaseDurationSeconds is no number" },
		{ "{\"kind\":\"Lease\",\"spec\":{\"leaseTransitions\":9999999999}}",
		  "spec.leaseTransitions is no number" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct lease l = { .duration_s = 77 };
		struct err err = { 0 };

		assert_true(lease_decode(bad[i].text, strlen(bad[i].text), &l, &err) < 0);
		if (!strstr(err.text, bad[i].says))
			fail_msg("\"%s\" is not in \"%s\"", bad[i].says, err.text);
		assert_int_equal(l.duration_s, 77);
	}
}

TEST_MAIN(TEST(a_recorded_lease_is_read), TEST(what_is_written_is_what_a_server_took), TEST(a_new_lease_has_no_version),
          TEST(fields_may_be_missing), TEST(what_is_no_lease_is_refused))
