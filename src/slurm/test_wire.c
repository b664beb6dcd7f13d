/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/wire.h"

#include <errno.h>
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"

/* Sends a request through bytes and back. */
static struct slurm_request *there_and_back(const struct slurm_request *rq)
{
	_cleanup_buf_ struct buf b = BUF(WIRE_REQUEST_MAX);
	struct slurm_request *out = NULL;
	struct err err = { 0 };
	uint32_t number = 0;
	size_t body;

	assert_int_equal(wire_add_request(&b, rq, &err), 0);
	wire_set_number(b.data, 123456789);
	assert_int_equal(wire_get_header(b.data, WIRE_REQUEST_MAX, &body, &number, &err), 0);
	assert_int_equal(number, 123456789);
	assert_int_equal(body, b.len - WIRE_HEADER);
	assert_int_equal(wire_get_request(b.data + WIRE_HEADER, body, &out, &err), 0);
	return out;
}

static void result_there_and_back(const struct slurm_result *r, struct slurm_result *ret)
{
	_cleanup_buf_ struct buf b = BUF(WIRE_ANSWER_MAX);
	struct err err = { 0 };

	assert_int_equal(wire_add_result(&b, r, &err), 0);
	assert_int_equal(wire_get_result(b.data + WIRE_HEADER, b.len - WIRE_HEADER, ret, &err), 0);
}

static void test_a_submit_comes_through_whole(void **state)
{
	const char *const env[] = { "A=1", "B=two words", "C=", "D=line\nbreak" };
	struct job_spec spec = {
		.name = "ns.pod",
		.script = "#!/bin/sh\nsleep 1\n",
		.extra = "e",
		.comment = "c",
		.account = "a",
		.partition = "p",
		.qos = "q",
		.reservation = "r",
		.features = "f",
		.prefer = "g",
		.excluded = "x",
		.required = "y",
		.work_dir = "/w",
		.std_out = "/o",
		.std_err = "/e",
		.tres_per_node = "gres:gpu:1",
		.env = env,
		.n_env = 4,
		.uid = 1000,
		.gid = 1001,
		.cpus = 7,
		.time_limit_min = 60,
		.memory_mb = (uint64_t)1 << 40,
		.has_priority = true,
		.priority = 99,
		.shared = SHARED_USER,
		.hold = true,
		.kill_on_node_fail = 1,
		.bell_host = "127.0.0.1",
		.bell_port = 65535,
	};
	struct slurm_request rq = { .verb = SLURM_SUBMIT, .spec = &spec, .timeout = 5 * USEC_SEC };
	_cleanup_free_ struct slurm_request *out = there_and_back(&rq);

	(void)state;
	assert_int_equal(out->verb, SLURM_SUBMIT);
	assert_int_equal(out->timeout, 5 * USEC_SEC);
	assert_null(out->job_change);
	assert_null(out->node);
	assert_string_equal(out->spec->name, "ns.pod");
	assert_string_equal(out->spec->script, spec.script);
	assert_string_equal(out->spec->prefer, "g");
	assert_string_equal(out->spec->excluded, "x");
	assert_string_equal(out->spec->required, "y");
	assert_string_equal(out->spec->std_err, "/e");
	assert_string_equal(out->spec->tres_per_node, "gres:gpu:1");
	assert_int_equal(out->spec->n_env, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(out->spec->env[i], env[i]);
	assert_int_equal(out->spec->uid, 1000);
	assert_int_equal(out->spec->gid, 1001);
	assert_int_equal(out->spec->cpus, 7);
	assert_int_equal(out->spec->time_limit_min, 60);
	assert_true(out->spec->memory_mb == spec.memory_mb);
	assert_true(out->spec->has_priority && out->spec->hold);
	assert_int_equal(out->spec->priority, 99);
	assert_int_equal(out->spec->shared, SHARED_USER);
	assert_int_equal(out->spec->kill_on_node_fail, 1);
	assert_string_equal(out->spec->bell_host, "127.0.0.1");
	assert_int_equal(out->spec->bell_port, 65535);
}

static void test_changes_and_the_rest_of_a_request_come_through(void **state)
{
	struct job_change jc = { .what = JOB_CHANGE_EXTRA | JOB_CHANGE_REQUIRED,
		                 .extra = "",
		                 .required = "n[1-2]",
		                 .admin_comment = "a",
		                 .priority = 4,
		                 .time_limit_min = 5 };
	struct node_change nc = {
		.what = NODE_CHANGE_DRAIN,
		.reason = "k8s: cordon",
		.extra = "{}",
		.features = "a,b",
		.expect = true,
		.expect_drained = true,
		.expect_answers = true,
		.expect_reason_uid = 12,
		.expect_reason = "k8s: before",
		.expect_reason_set = 77,
		.expect_extra_is = true,
		.expect_extra = "{1}",
	};
	struct slurm_request rq = { .verb = SLURM_CHANGE_JOB,
		                    .job_id = 7,
		                    .node = "n1",
		                    .text = "t",
		                    .since = -1,
		                    .detail = true,
		                    .whole_job = true,
		                    .signal = -15,
		                    .job_change = &jc,
		                    .node_change = &nc };
	_cleanup_free_ struct slurm_request *out = there_and_back(&rq);

	(void)state;
	assert_int_equal(out->job_id, 7);
	assert_string_equal(out->node, "n1");
	assert_string_equal(out->text, "t");
	assert_int_equal(out->since, -1);
	assert_true(out->detail && out->whole_job);
	assert_int_equal(out->signal, -15);
	assert_null(out->spec);
	assert_int_equal(out->job_change->what, jc.what);
	assert_string_equal(out->job_change->extra, "");
	assert_null(out->job_change->comment);
	assert_string_equal(out->job_change->required, "n[1-2]");
	assert_string_equal(out->job_change->admin_comment, "a");
	assert_int_equal(out->job_change->time_limit_min, 5);
	assert_string_equal(out->node_change->reason, "k8s: cordon");
	assert_string_equal(out->node_change->features, "a,b");
	assert_true(out->node_change->expect && out->node_change->expect_drained && out->node_change->expect_answers);
	assert_int_equal(out->node_change->expect_reason_uid, 12);
	assert_string_equal(out->node_change->expect_reason, "k8s: before");
	assert_int_equal(out->node_change->expect_reason_set, 77);
	assert_true(out->node_change->expect_extra_is);
	assert_string_equal(out->node_change->expect_extra, "{1}");
}

static void test_jobs_come_through_in_one_block(void **state)
{
	struct job_on_node on[] = { { .node = "n1", .cpus = 2, .gpus = 1, .memory_mb = 3 },
		                    { .node = "n2", .cpus = 4 } };
	struct job jobs[3] = {
		{ .id = 1,
		  .name = "one",
		  .state = JOB_RUNNING,
		  .flags = JOBF_COMPLETING,
		  .on_nodes = on,
		  .n_on_nodes = 2,
		  .started = 5 * USEC_SEC,
		  .memory_mb = UINT64_MAX,
		  .exit_signal = -1,
		  .shared = SHARED_OK },
		{ .id = 2, .array_task_id = UINT32_MAX, .extra = "ä\n\"$(x)" },
		{ .id = 3, .on_nodes = &on[1], .n_on_nodes = 1, .user_cancelled_by = "root" },
	};
	struct slurm_result r = { .outcome = SLURM_OK, .message = "done", .jobs = jobs, .n = 3, .as_of = 77 }, out;

	(void)state;
	result_there_and_back(&r, &out);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.as_of, 77);
	assert_string_equal(out.message, "done");
	assert_ptr_equal(out.jobs, out.block);
	assert_string_equal(out.jobs[0].name, "one");
	assert_int_equal(out.jobs[0].state, JOB_RUNNING);
	assert_int_equal(out.jobs[0].flags, JOBF_COMPLETING);
	assert_int_equal(out.jobs[0].started, 5 * USEC_SEC);
	assert_true(out.jobs[0].memory_mb == UINT64_MAX);
	assert_int_equal(out.jobs[0].exit_signal, -1);
	assert_int_equal(out.jobs[0].n_on_nodes, 2);
	assert_string_equal(out.jobs[0].on_nodes[1].node, "n2");
	assert_int_equal(out.jobs[0].on_nodes[1].cpus, 4);
	assert_null(out.jobs[1].on_nodes);
	assert_null(out.jobs[1].name);
	assert_string_equal(out.jobs[1].extra, "ä\n\"$(x)");
	assert_string_equal(out.jobs[2].on_nodes[0].node, "n2");
	assert_string_equal(out.jobs[2].user_cancelled_by, "root");
	free(out.block);
}

static void test_every_other_answer_comes_through(void **state)
{
	struct job_brief briefs[] = {
		{ .id = 9, .array_job_id = 9, .array_task_id = UINT32_MAX, .state = JOB_PENDING }
	};
	struct snode nodes[] = {
		{ .name = "n1", .reason = "r", .flags = NODEF_DRAIN, .memory_mb = 5, .booted = 6, .port = 7 }
	};
	struct spartition parts[] = { { .name = "main", .up = true, .max_time_min = UINT32_MAX } };
	struct slurm_rpc_stat rpcs[] = { { .type = "REQUEST_PING", .count = 3, .mean = 9 }, { .type = "X" } };
	struct slurm_stats stats = { .jobs_running = 4, .bf_cycle_mean = 8, .rpcs = rpcs, .n_rpcs = 2 };
	struct slurm_conf conf = { .cluster = "lab", .version_number = 2411, .kill_wait_s = 30 };
	struct slurm_result out;

	(void)state;
	result_there_and_back(&(struct slurm_result) { .message = "m", .states = briefs, .n = 1 }, &out);
	assert_int_equal(out.states[0].id, 9);
	assert_int_equal(out.states[0].array_task_id, UINT32_MAX);
	free(out.block);
	result_there_and_back(&(struct slurm_result) { .message = "m", .nodes = nodes, .n = 1 }, &out);
	assert_string_equal(out.nodes[0].reason, "r");
	assert_int_equal(out.nodes[0].port, 7);
	free(out.block);
	result_there_and_back(&(struct slurm_result) { .message = "m", .partitions = parts, .n = 1 }, &out);
	assert_true(out.partitions[0].up && !out.partitions[0].is_default);
	assert_int_equal(out.partitions[0].max_time_min, UINT32_MAX);
	free(out.block);
	result_there_and_back(&(struct slurm_result) { .message = "m", .stats = &stats, .n = 1 }, &out);
	assert_int_equal(out.stats->jobs_running, 4);
	assert_int_equal(out.stats->n_rpcs, 2);
	assert_string_equal(out.stats->rpcs[1].type, "X");
	free(out.block);
	result_there_and_back(&(struct slurm_result) { .message = "m", .conf = &conf, .n = 1 }, &out);
	assert_string_equal(out.conf->cluster, "lab");
	assert_int_equal(out.conf->version_number, 2411);
	free(out.block);
	result_there_and_back(
	        &(struct slurm_result) {
	                .outcome = SLURM_GONE, .code = 2017, .message = "m", .job_id = 5, .maybe_done = true },
	        &out);
	assert_int_equal(out.outcome, SLURM_GONE);
	assert_int_equal(out.code, 2017);
	assert_int_equal(out.job_id, 5);
	assert_true(out.maybe_done);
	free(out.block);
	/* an empty list is a list: "no jobs" is not "nothing was told" */
	result_there_and_back(&(struct slurm_result) { .message = "m", .states = briefs, .n = 0 }, &out);
	assert_non_null(out.states);
	assert_int_equal(out.n, 0);
	free(out.block);
}

static void test_what_is_too_large_is_refused_and_leaves_the_buffer_as_it_was(void **state)
{
	_cleanup_buf_ struct buf b = BUF(2 * WIRE_REQUEST_MAX);
	_cleanup_free_ char *big = mem_alloc(WIRE_REQUEST_MAX + 1);
	struct slurm_request rq = { .verb = SLURM_CREATE_NODE, .text = big };
	struct err err = { 0 };
	size_t before;

	(void)state;
	memset(big, 'x', WIRE_REQUEST_MAX);
	buf_add_str(&b, "before");
	before = b.len;
	assert_int_equal(wire_add_request(&b, &rq, &err), -EMSGSIZE);
	assert_string_equal(err.text, "the request is larger than 4 MiB");
	assert_int_equal(b.len, before);
	rq.text = "small";
	assert_int_equal(wire_add_request(&b, &rq, &err), 0);
}

static void test_a_header_is_checked(void **state)
{
	struct err err = { 0 };
	uint32_t number = 7;
	size_t body = 42;

	(void)state;
	assert_int_equal(wire_get_header("HTTP/1.1 200", WIRE_ANSWER_MAX, &body, &number, &err), -EBADMSG);
	assert_int_equal(wire_get_header("snk1\xff\xff\xff\xff....", WIRE_ANSWER_MAX, &body, &number, &err), -EMSGSIZE);
	assert_int_equal(body, 42);
	assert_int_equal(number, 7);
	assert_int_equal(wire_get_header("snk1\x05\0\0\0\x01\0\0\0", WIRE_ANSWER_MAX, &body, &number, &err), 0);
	assert_int_equal(body, 5);
	assert_int_equal(number, 1);
}

/* Every cut and every damaged byte of a good answer gives an error or a whole answer; the sanitizers watch. */
static void test_damage_never_leads_outside(void **state)
{
	struct job_on_node on[] = { { .node = "n1" } };
	struct job jobs[2] = { { .id = 1, .name = "abc", .on_nodes = on, .n_on_nodes = 1 }, { .id = 2 } };
	struct slurm_result r = { .message = "done", .jobs = jobs, .n = 2 }, out;
	_cleanup_buf_ struct buf b = BUF(WIRE_ANSWER_MAX);
	struct rng rng = rng_seeded(7);
	struct err err = { 0 };
	char *body;
	size_t len;

	(void)state;
	assert_int_equal(wire_add_result(&b, &r, &err), 0);
	body = b.data + WIRE_HEADER;
	len = b.len - WIRE_HEADER;
	for (size_t cut = 0; cut < len; cut++) {
		_cleanup_free_ char *exact = mem_dup(body, cut ? cut : 1);

		assert_int_equal(wire_get_result(exact, cut, &out, &err), -EBADMSG);
	}
	for (int i = 0; i < 20000; i++) {
		_cleanup_free_ char *broken = mem_dup(body, len);

		for (int k = 0; k < 3; k++)
			broken[rng_below(&rng, len)] = (char)rng_u64(&rng);
		if (wire_get_result(broken, len, &out, &err) == 0)
			free(out.block);
	}
}

static void test_a_text_with_a_zero_byte_is_refused(void **state)
{
	struct slurm_result r = { .message = "hello" }, out;
	_cleanup_buf_ struct buf b = BUF(4096);
	struct err err = { 0 };
	char *at;

	(void)state;
	assert_int_equal(wire_add_result(&b, &r, &err), 0);
	at = memmem(b.data, b.len, "hello", 5);
	assert_non_null(at);
	at[2] = '\0';
	assert_int_equal(wire_get_result(b.data + WIRE_HEADER, b.len - WIRE_HEADER, &out, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "zero byte"));
}

static void test_counts_beyond_the_bytes_are_refused(void **state)
{
	/* jobs, 2^32-1 of them, 2^64-1 nodes in them */
	char body[64] = { 0 };
	struct slurm_result out;
	struct err err = { 0 };

	(void)state;
	memset(body + 1, 0xff, 12);
	assert_int_equal(wire_get_result(body, sizeof(body), &out, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "more elements than bytes"));
}

static void test_a_digest_is_of_every_byte(void **state)
{
	char body[] = "what a worker tells";
	uint64_t whole = wire_digest(body, sizeof(body));

	(void)state;
	assert_int_equal(whole, wire_digest(body, sizeof(body)));
	assert_int_not_equal(whole, wire_digest(body, sizeof(body) - 1));
	for (size_t i = 0; i < sizeof(body); i++) {
		body[i] ^= 1;
		assert_int_not_equal(whole, wire_digest(body, sizeof(body)));
		body[i] ^= 1;
	}
	assert_int_not_equal(wire_digest("", 0), 0);
}

TEST_MAIN(TEST(a_digest_is_of_every_byte), TEST(a_submit_comes_through_whole),
          TEST(changes_and_the_rest_of_a_request_come_through), TEST(jobs_come_through_in_one_block),
          TEST(every_other_answer_comes_through), TEST(what_is_too_large_is_refused_and_leaves_the_buffer_as_it_was),
          TEST(a_header_is_checked), TEST(damage_never_leads_outside), TEST(a_text_with_a_zero_byte_is_refused),
          TEST(counts_beyond_the_bytes_are_refused))
