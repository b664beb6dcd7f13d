/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/test_real.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#include "slurm/worker.h"

#define DEADLINE_S 60 /* for whatever must happen */

const char *real_cluster(void)
{
	return getenv("SUNK_CLUSTER");
}

const char *real_work(void)
{
	return getenv("SUNK_WORK");
}

static void rang(void *arg)
{
	((struct real *)arg)->rings++;
}

void real_open(struct real *r, const struct slurm_options *options, bool may_be_away)
{
	static const char *const argv[] = { "/proc/self/exe", "slurm-worker", NULL };
	/* what libslurm leaves behind when it ends the process is not ours to judge */
	static const char *const env[] = { "ASAN_OPTIONS=detect_leaks=0", NULL };
	struct slurm_options o = options ? *options : (struct slurm_options) { 0 };
	struct err err = { 0 };

	*r = (struct real) { .loop = loop_new(), .gate = GATE_ALWAYS_OPEN };
	o.pool.gate = &r->gate;
	o.pool.argv = argv;
	o.pool.env = env;
	o.bell_address = "127.0.0.1";
	r->port = slurm_open(r->loop, &o, &err);
	assert_string_equal(err_text(&err), "no error");
	assert_non_null(r->port);
	r->port->ops->on_ring(r->port, rang, r);
	if (!may_be_away)
		REAL_WAIT(r, DEADLINE_S, r->port->ops->ready(r->port, NULL));
}

void real_close(struct real *r)
{
	slurm_close(r->port);
	loop_free(r->loop);
}

struct waiting {
	bool done;
	struct slurm_result result;
};

static void answered(void *arg, struct slurm_result *result)
{
	struct waiting *w = arg;

	assert_false(w->done);
	w->done = true;
	w->result = *result;
	/* a message that is not in the block does not outlive the callback */
	if (!result->block)
		w->result.message = w->result.block = mem_strdup(result->message);
	result->block = NULL;
}

struct slurm_result real_call(struct real *r, const struct slurm_request *request)
{
	struct waiting w = { 0 };

	r->port->ops->call(r->port, request, answered, &w);
	assert_false(w.done);
	REAL_WAIT(r, DEADLINE_S, w.done);
	return w.result;
}

struct slurm_result real_ok(struct real *r, const struct slurm_request *request)
{
	struct slurm_result result = real_call(r, request);

	if (result.outcome != SLURM_OK)
		fail_msg("outcome %d, code %d: %s", result.outcome, result.code, result.message);
	return result;
}

void real_expect(struct real *r, const struct slurm_request *request, enum slurm_outcome outcome, int code)
{
	struct slurm_result result = real_call(r, request);

	if (result.outcome != outcome || (code && result.code != code))
		fail_msg("expected %d (%d), got outcome %d, code %d: %s", outcome, code, result.outcome, result.code,
		         result.message);
	free(result.block);
}

uint32_t real_submit(struct real *r, const struct job_spec *spec)
{
	struct slurm_result result = real_ok(r, &(struct slurm_request) { .verb = SLURM_SUBMIT, .spec = spec });
	uint32_t id = result.job_id;

	assert_true(id > 0);
	free(result.block);
	return id;
}

uint32_t real_submit_sleeper(struct real *r, const char *name)
{
	return real_submit(r, &(struct job_spec) { .name = name,
	                                           .script = "#!/bin/sh\nexec sleep 600\n",
	                                           .cpus = 1,
	                                           .memory_mb = 100,
	                                           .std_out = "/dev/null",
	                                           .work_dir = "/" });
}

struct slurm_result real_await(struct real *r, uint32_t job_id, int state)
{
	usec_t end = clock_mono(clock_real()) + DEADLINE_S * USEC_SEC;

	for (;;) {
		struct slurm_result result = real_ok(
		        r, &(struct slurm_request) { .verb = SLURM_LOAD_JOB, .job_id = job_id, .detail = true });

		assert_int_equal(result.n, 1);
		if (result.jobs[0].state == state && !(result.jobs[0].flags & JOBF_COMPLETING))
			return result;
		if (clock_mono(clock_real()) > end)
			fail_msg("job %u is in state %d, flags 0x%x, reason %s; expected %d", job_id,
			         result.jobs[0].state, result.jobs[0].flags, result.jobs[0].reason, state);
		free(result.block);
		loop_run_once(r->loop, 50 * USEC_MSEC);
	}
}

void real_cancel(struct real *r, uint32_t job_id)
{
	real_expect(r, &(struct slurm_request) { .verb = SLURM_CANCEL, .job_id = job_id }, SLURM_OK, 0);
}

struct slurm_result real_node(struct real *r, const char *name)
{
	struct slurm_result result = real_ok(r, &(struct slurm_request) { .verb = SLURM_LOAD_NODE, .node = name });

	assert_int_equal(result.n, 1);
	assert_string_equal(result.nodes[0].name, name);
	return result;
}

char *real_sh(const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL;
	struct buf out = BUF(16 << 20);
	int status;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	assert_true(vasprintf(&line, fmt, ap) >= 0);
	va_end(ap);
	f = popen(line, "re");
	assert_non_null(f);
	assert_int_equal(buf_read_fd(&out, fileno(f)), 0);
	status = pclose(f);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s: status 0x%x: %s", line, (unsigned)status, buf_text(&out));
	return buf_take(&out);
}

char *real_value(const char *line, const char *key)
{
	_cleanup_free_ char *want = str_printf("%s=", key);
	const char *p = line;

	while ((p = strstr(p, want))) {
		if (p == line || p[-1] == ' ' || p[-1] == '\n')
			return mem_strndup(p + strlen(want), strcspn(p + strlen(want), " \n"));
		p++;
	}
	return mem_strdup("");
}

int real_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n)
{
	if (argc > 1 && str_eq(argv[1], "slurm-worker"))
		return slurm_worker_main(3);
	if (!real_cluster() || !real_work() || !getenv("SUNK_DEV_SLURM")) {
		fprintf(stderr, "run this by tests/slurm/run-real\n");
		return 77;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests("real", tests, n, NULL, NULL);
}
