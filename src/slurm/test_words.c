/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/words.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"
#include "slurm/rpc.h"

static void test_gpus_are_counted_in_every_form_that_slurm_writes(void **state)
{
	static const struct {
		const char *text;
		uint32_t gpus;
	} cases[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "(null)", 0 },
		{ "gpu", 1 },
		{ "gpu:8", 8 },
		{ "gpu:0", 0 },
		{ "gpu:h100:8(S:0-1)", 8 },
		{ "gpu:h100:2(IDX:0,3),shard:4", 2 },
		{ "gpu:h100:2(IDX:0-1),gpu:a100:1(IDX:2)", 3 },
		{ "gpu:2,gpu:h100:4", 6 },
		{ "gpu:h100", 1 },
		{ "gres:gpu:2", 2 },
		{ "gres/gpu:2", 2 },
		{ "gres/gpu=2", 2 },
		{ "gres/gpu:h100=2", 2 },
		{ "gres/gpu:h100:2", 2 },
		{ "cpu=4,mem=1G,node=1,billing=4,gres/gpu=4,gres/gpu:h100=3,gres/gpu:a100=1", 4 },
		{ "cpu=4,mem=1G,node=1,gres/gpu:h100=3", 3 },
		{ "gres/gpumem=80G,gres/gpuutil=3", 0 },
		{ "nvme:1,gpu:3g.20gb:2", 2 },
		{ ",,gpu:1,,", 1 },
		{ "gpu:4294967295,gpu:4294967295", UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(words_gpus(cases[i].text), cases[i].gpus);
}

static void test_memory_is_read_with_its_unit(void **state)
{
	(void)state;
	assert_int_equal(words_memory_mb("cpu=1,mem=1500M,node=1"), 1500);
	assert_int_equal(words_memory_mb("mem=1.50G"), 1536);
	assert_int_equal(words_memory_mb("mem=2T,cpu=1"), 2 * 1024 * 1024);
	assert_int_equal(words_memory_mb("mem=2048K"), 2);
	assert_int_equal(words_memory_mb("mem=7"), 7);
	assert_int_equal(words_memory_mb("cpu=1"), 0);
	assert_int_equal(words_memory_mb("mem=lots"), 0);
	assert_int_equal(words_memory_mb(NULL), 0);
}

static void test_a_controller_older_than_23_02_is_refused_with_a_clear_message(void **state)
{
	struct err err = { 0 };
	uint32_t n = 0;

	(void)state;
	assert_int_equal(words_version("24.11.5", &n, &err), 0);
	assert_int_equal(n, 2411);
	assert_int_equal(words_version("23.02.0-rc1", &n, &err), 0);
	assert_int_equal(n, 2302);
	assert_int_equal(words_version("26.05", &n, &err), 0);
	assert_int_equal(n, 2605);
	assert_int_equal(words_version("22.05.8", &n, &err), -EPROTONOSUPPORT);
	assert_string_equal(err.text, "the controller runs Slurm 22.05.8; it must be 23.02 or newer");
	assert_int_equal(words_version("21.08.0", &n, &err), -EPROTONOSUPPORT);
	assert_int_equal(n, 2605);
}

static void test_what_is_no_version_is_an_error(void **state)
{
	static const char *const bad[] = { NULL, "", "slurm", "24", "24.", "24.x", "99999999999.1", "24.111" };
	struct err err = { 0 };
	uint32_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(words_version(bad[i], &n, &err), -EINVAL);
}

static void test_rpcs_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(words_rpc_name(1001), "REQUEST_NODE_REGISTRATION_STATUS");
	assert_string_equal(words_rpc_name(2003), "REQUEST_JOB_INFO");
	assert_string_equal(words_rpc_name(4003), "REQUEST_SUBMIT_BATCH_JOB");
	assert_null(words_rpc_name(0));
	assert_null(words_rpc_name(UINT16_MAX));
}

static void test_errors_are_classed_by_what_a_caller_can_do(void **state)
{
	static const struct {
		int code;
		enum slurm_verb verb;
		enum slurm_outcome class;
	} cases[] = {
		/* no answer from the controller */
		{ ECONNREFUSED, SLURM_PING, SLURM_RETRY },
		{ ETIMEDOUT, SLURM_SUBMIT, SLURM_RETRY },
		{ EAGAIN, SLURM_SUBMIT, SLURM_RETRY },
		{ 1001, SLURM_PING, SLURM_RETRY },
		{ 1005, SLURM_PING, SLURM_RETRY },  /* incompatible versions */
		{ 1007, SLURM_SUBMIT, SLURM_RETRY }, /* munge away */
		{ 1800, SLURM_LOAD_JOBS, SLURM_RETRY },
		{ 5004, SLURM_LOAD_JOBS, SLURM_RETRY },
		{ 6000, SLURM_LOAD_JOBS, SLURM_RETRY },
		/* an answer: later */
		{ 2016, SLURM_DELETE_NODE, SLURM_RETRY }, /* busy */
		{ 2020, SLURM_CANCEL, SLURM_RETRY },
		{ 2027, SLURM_PING, SLURM_RETRY },        /* standby */
		{ 2101, SLURM_SUBMIT, SLURM_RETRY },
		{ 7000, SLURM_SUBMIT, SLURM_RETRY },
		/* an answer: no */
		{ EINVAL, SLURM_CREATE_NODE, SLURM_REFUSED },
		{ -1, SLURM_CREATE_NODE, SLURM_REFUSED }, /* "unspecified error", the controller's own words */
		{ 2000, SLURM_SUBMIT, SLURM_REFUSED },
		{ 2002, SLURM_CHANGE_NODE, SLURM_REFUSED },
		{ 2010, SLURM_CHANGE_NODE, SLURM_REFUSED },
		{ 2014, SLURM_SUBMIT, SLURM_REFUSED },
		{ 2028, SLURM_DELETE_NODE, SLURM_REFUSED },
		{ 2072, SLURM_SUBMIT, SLURM_REFUSED },
		{ 4444, SLURM_SUBMIT, SLURM_REFUSED }, /* unknown */
		/* an answer: it is not there any more */
		{ 2017, SLURM_LOAD_JOB, SLURM_GONE },
		{ 2017, SLURM_CANCEL, SLURM_GONE },
		{ 2021, SLURM_CANCEL, SLURM_GONE },
		{ 2084, SLURM_CHANGE_JOB, SLURM_GONE },
		{ 2018, SLURM_LOAD_NODE, SLURM_GONE },
		{ 2018, SLURM_DELETE_NODE, SLURM_GONE },
		/* the same number about a node list in a job */
		{ 2018, SLURM_SUBMIT, SLURM_REFUSED },
		{ 2018, SLURM_CHANGE_JOB, SLURM_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(rpc_class(cases[i].code, cases[i].verb), cases[i].class);
}

static void test_messages_say_what_was_asked(void **state)
{
	_cleanup_buf_ struct buf b = BUF(1000);
	struct job_spec spec = { .name = "ns.pod\n\x1b[2J" };

	(void)state;
	words_add_subject(&b, &(struct slurm_request) { .verb = SLURM_CANCEL, .job_id = 12 });
	assert_string_equal(buf_text(&b), "cancel job 12");
	buf_clear(&b);
	words_add_subject(&b, &(struct slurm_request) { .verb = SLURM_CHANGE_NODE, .node = "n[1-4]" });
	assert_string_equal(buf_text(&b), "change node n[1-4]");
	buf_clear(&b);
	words_add_subject(&b, &(struct slurm_request) { .verb = SLURM_SUBMIT, .spec = &spec });
	assert_null(strchr(buf_text(&b), '\n'));
	assert_null(strchr(buf_text(&b), '\x1b'));
}

TEST_MAIN(TEST(gpus_are_counted_in_every_form_that_slurm_writes), TEST(memory_is_read_with_its_unit),
          TEST(a_controller_older_than_23_02_is_refused_with_a_clear_message), TEST(what_is_no_version_is_an_error),
          TEST(rpcs_have_their_names), TEST(errors_are_classed_by_what_a_caller_can_do),
          TEST(messages_say_what_was_asked))
