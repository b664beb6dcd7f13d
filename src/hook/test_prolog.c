/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/prolog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static void test_placeholder_jobs_are_known_by_their_extra(void **state)
{
	static const struct {
		const char *extra;
		bool placeholder;
	} cases[] = {
		{ "default/p1/bfeed210-7f68-4401-9383-8916459c6e78", true },
		{ "default/p1/bfeed210-7f68-4401-9383-8916459c6e78: started", true },
		{ "default/p1/bfeed210-7f68-4401-9383-8916459c6e78: started 2", true },
		{ NULL, false },
		{ "", false },
		{ "my notes", false },
		{ "a/b", false },
		{ "//bfeed210-7f68", false },
		{ "a//bfeed210-7f68", false },
		{ "/a/bfeed210-7f68", false },
		{ "path/to/x", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (extra_is_placeholder(cases[i].extra) != cases[i].placeholder)
			fail_msg("%s", cases[i].extra);
}

static void test_only_names_of_nodes_become_part_of_an_address(void **state)
{
	char longest[255];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	longest[254] = 0;
	assert_true(node_name_is_sane("a100-092-01"));
	assert_true(node_name_is_sane("n1.cluster_x"));
	assert_false(node_name_is_sane(NULL));
	assert_false(node_name_is_sane(""));
	assert_false(node_name_is_sane("n1/../../reboot"));
	assert_false(node_name_is_sane("n1 State=DOWN"));
	assert_false(node_name_is_sane("n1?x"));
	assert_false(node_name_is_sane("n[1-3]"));
	assert_false(node_name_is_sane(longest));
}

static void test_a_call_names_the_pod_of_a_placeholder(void **state)
{
	static const struct {
		const char *extra, *body;
	} cases[] = {
		{ NULL, "{\"jobId\":7,\"strict\":false}" },
		{ "a note", "{\"jobId\":7,\"strict\":false}" },
		{ "ns/p/bfeed210-7f68: started", "{\"jobId\":7,\"strict\":true,\"pod\":\"ns/p/bfeed210-7f68\"}" },
		{ "n\"s/p\\\n/bfeed210-7f68", "{\"jobId\":7,\"strict\":true,\"pod\":\"ns/p/bfeed210-7f68\"}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF(2048);

		prolog_body(&(struct prolog) { .job = "7", .extra = cases[i].extra }, &out);
		assert_string_equal(buf_text(&out), cases[i].body);
	}
}

static void test_a_call_names_the_pod_that_slurmd_runs_in(void **state)
{
	_cleanup_buf_ struct buf out = BUF(2048);

	(void)state;
	prolog_body(&(struct prolog) { .job = "7", .slurmd_uid = "u-1" }, &out);
	assert_string_equal(buf_text(&out), "{\"jobId\":7,\"strict\":false,\"slurmdUid\":\"u-1\"}");
}

static void test_the_uid_of_slurmds_pod_is_read_from_its_file(void **state)
{
	static const struct {
		const char *text, *uid; /* uid NULL: an error */
	} cases[] = {
		{ "bfeed210-7f68-4401-9383-8916459c6e78", "bfeed210-7f68-4401-9383-8916459c6e78" },
		{ "bfeed210-7f68\n", "bfeed210-7f68" },
		{ "", NULL },
		{ "\n", NULL },
		{ "a\nb", NULL },
		{ "a\",\"strict\":false", NULL },
	};
	char path[] = "/tmp/uid-XXXXXX";
	_cleanup_fd_ int fd = mkstemp(path);
	struct err err = { 0 };
	char *uid = NULL;

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0), strlen(cases[i].text));
		assert_int_equal(prolog_read_uid(path, &uid, &err), cases[i].uid ? 0 : -EINVAL);
		if (!cases[i].uid)
			continue;
		assert_string_equal(uid, cases[i].uid);
		free(uid);
		uid = NULL;
	}
	unlink(path);
	assert_int_equal(prolog_read_uid(path, &uid, &err), 0); /* a Pod from before there was such a file */
	assert_null(uid);
	assert_true(prolog_read_uid("/tmp", &uid, &err) < 0);
}

static void test_the_cause_is_one_line_whatever_the_answer(void **state)
{
	static const struct {
		const char *body, *cause;
	} cases[] = {
		{ "{\"error\":\"Pod a/b is in the way\"}", "Pod a/b is in the way" },
		{ "{\"error\":\"a \\\"b\\\" c\"}", "a \\\\\"b\\\\\" c" },
		{ "{\"error\":\"no end", "no end" },
		{ "<html>\n502", "<html>\\n502" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF(1024);

		prolog_cause(cases[i].body, strlen(cases[i].body), &out);
		assert_string_equal(buf_text(&out), cases[i].cause);
	}
}

static void test_a_drain_of_others_is_recognised(void **state)
{
	static const struct {
		const char *shown;
		bool others;
	} cases[] = {
		{ "NodeName=n1 Arch=x\n   State=IDLE ThreadsPerCore=1\n   CfgTRES=cpu=4\n", false },
		{ "NodeName=n1\n   State=MIXED+DRAIN ThreadsPerCore=1\n   Reason=ticket 17 [root@2026]\n", true },
		{ "NodeName=n1\n   State=IDLE+DRAIN+DYNAMIC_NORM X=1\n   Reason=see k8s: [root@2026]\n", true },
		{ "NodeName=n1\n   State=IDLE+DRAIN X=1\n   Reason=k8s: cordoned [root@2026]\n", false },
		{ "NodeName=n1\n   State=IDLE+DRAIN X=1\n   Reason=failed (sunk:verify-undrain) [root@2026]\n", false },
		{ "NodeName=n1\n   State=DOWN X=1\n   Reason=broken [root@2026]\n", false },
		{ "NodeName=n1\n   State=IDLE X=DRAIN\n   Reason=broken [root@2026]\n", false },
		{ "State=DRAIN", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (node_is_drained_by_others(cases[i].shown) != cases[i].others)
			fail_msg("case %zu: %s", i, cases[i].shown);
}

TEST_MAIN(TEST(placeholder_jobs_are_known_by_their_extra), TEST(only_names_of_nodes_become_part_of_an_address),
          TEST(a_call_names_the_pod_of_a_placeholder), TEST(a_call_names_the_pod_that_slurmd_runs_in),
          TEST(the_uid_of_slurmds_pod_is_read_from_its_file), TEST(the_cause_is_one_line_whatever_the_answer),
          TEST(a_drain_of_others_is_recognised))
