/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pool against a worker that misbehaves on demand: this program started again with the argument "fake-worker". What
 * it does with a LOAD_NODE stands in the request's node; what it does with a ping, in a file that the test writes.
 */
#include "slurm/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "slurm/wire.h"
#include "slurm/worker.h"

#define SOCKET 3

/* ---- the worker */

static uint32_t number; /* of the request it is at */

static void fake_read(void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = read(SOCKET, (char *)to + done, n - done);

		if (r <= 0)
			_exit(0);
		done += (size_t)r;
	}
}

static void fake_write(const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = write(SOCKET, (const char *)from + done, n - done);

		if (r <= 0)
			_exit(0);
		done += (size_t)r;
	}
}

static void fake_answer(enum slurm_outcome outcome, int code, const char *message, struct snode *nodes, uint32_t n)
{
	struct slurm_result r = { .outcome = outcome, .code = code, .message = message, .nodes = nodes, .n = n };
	_cleanup_buf_ struct buf b = BUF(WIRE_ANSWER_MAX);

	wire_add_result(&b, &r, NULL);
	wire_set_number(b.data, number);
	fake_write(b.data, b.len);
}

static bool says(const char *file, const char *what)
{
	_cleanup_buf_ struct buf b = BUF(64);

	return file && buf_read_file(&b, file) == 0 && str_eq(buf_text(&b), what);
}

/* Notes each request that would have changed something, and how often this worker was started. */
static void note(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

static void large_answer(void)
{
	enum { N = 40000 };
	struct snode *nodes = mem_alloc_n(N, sizeof(*nodes));

	for (int i = 0; i < N; i++)
		nodes[i] = (struct snode) { .name = "a-node-with-a-name", .memory_mb = (uint64_t)i };
	fake_answer(SLURM_OK, 0, "done", nodes, N);
	free(nodes);
}

static void twice_at_once(void)
{
	struct slurm_result r = { .outcome = SLURM_OK, .message = "done" };
	_cleanup_buf_ struct buf b = BUF(4096);

	for (int i = 0; i < 2; i++) {
		size_t at = b.len;

		wire_add_result(&b, &r, NULL);
		wire_set_number(b.data + at, number);
	}
	fake_write(b.data, b.len);
}

static void misbehave(const struct slurm_request *rq, const char *control)
{
	const char *how = str_or(rq->node, "");

	if (rq->verb == SLURM_PING && says(control, "away"))
		fake_answer(SLURM_RETRY, 1800, "ping: Unable to contact slurm controller (connect failure)", NULL, 0);
	else if (rq->verb == SLURM_PING && says(control, "exit")) {
		fprintf(stderr, "error: something first\nfatal: Unable to process configuration file\n");
		_exit(1);
	} else if (str_eq(how, "hang") || (rq->verb == SLURM_PING && says(control, "hang")))
		pause();
	else if (str_eq(how, "hang-with-words")) {
		fprintf(stderr, "error: slow today\n");
		pause();
	} else if (str_eq(how, "exit")) {
		fprintf(stderr, "fatal: line one\nfatal: \x1b[31mthe last line\n");
		_exit(1);
	} else if (str_eq(how, "crash")) {
		raise(SIGKILL);
	} else if (str_eq(how, "garbage")) {
		fake_write("HTTP/1.1 200 OK\r\n\r\n", 19);
	} else if (str_eq(how, "bad-body")) {
		char bad[] = "snk1\x05\0\0\0....hello";

		wire_set_number(bad, number);
		fake_write(bad, sizeof(bad) - 1);
	} else if (str_eq(how, "huge")) {
		fake_write("snk1\xff\xff\xff\xff....", 12);
	} else if (str_eq(how, "half")) {
		fake_write("snk1\x40\0\0\0....half", 16);
		_exit(0);
	} else if (str_eq(how, "twice")) {
		fake_answer(SLURM_OK, 0, "done", NULL, 0);
		fake_answer(SLURM_OK, 0, "done", NULL, 0);
	} else if (str_eq(how, "wrong-number")) {
		number++;
		fake_answer(SLURM_OK, 0, "done", NULL, 0);
	} else if (str_eq(how, "twice-at-once")) {
		twice_at_once();
	} else if (str_eq(how, "answer-and-exit")) {
		fake_answer(SLURM_OK, 0, "last", NULL, 0);
		_exit(0);
	} else if (str_eq(how, "answer-and-leave")) {
		fake_answer(SLURM_OK, 0, "much", NULL, 0);
		_exit(WORKER_RECYCLE);
	} else if (str_eq(how, "refuse")) {
		fprintf(stderr, "sunk: error: Node already exists in the node table (d1)\n");
		fake_answer(SLURM_REFUSED, 2175, "create node: Node already exists", NULL, 0);
	} else if (str_eq(how, "other")) {
		fake_answer(SLURM_OK, 0, "another", NULL, 0);
	} else if (str_eq(how, "large")) {
		large_answer();
	} else if (str_eq(how, "noisy")) {
		for (int i = 0; i < 20000; i++)
			fprintf(stderr, "error: line %d\n", i);
		fake_answer(SLURM_OK, 0, "done", NULL, 0);
	} else
		fake_answer(SLURM_OK, 0, "done", NULL, 0);
}

static int fake_worker(void)
{
	const char *control = getenv("CONTROL"), *notes = getenv("NOTES"), *once = getenv("RECYCLE_ONCE");

	if (notes)
		note(notes, "s");
	for (;;) {
		_cleanup_free_ struct slurm_request *rq = NULL;
		_cleanup_free_ char *body = NULL;
		char header[WIRE_HEADER];
		size_t len;

		fake_read(header, sizeof(header));
		if (wire_get_header(header, WIRE_REQUEST_MAX, &len, &number, NULL) < 0)
			_exit(3);
		body = mem_alloc(len);
		fake_read(body, len);
		if (wire_get_request(body, len, &rq, NULL) < 0)
			_exit(3);
		if (once && unlink(once) == 0)
			_exit(WORKER_RECYCLE);
		if (notes && slurm_verb_changes(rq->verb))
			note(notes, "c");
		misbehave(rq, control);
	}
}

/* ---- the tests */

struct bench {
	struct loop *loop;
	struct pool *pool;
	struct gate gate;
	char dir[64], control[96], notes[96], once[96];
};

struct got {
	int n;
	enum slurm_outcome outcome;
	bool maybe_done;
	uint32_t n_elements;
	usec_t asked;
	uint64_t digest;
	char message[512];
};

static void done(void *arg, struct slurm_result *r)
{
	struct got *g = arg;

	g->n++;
	g->outcome = r->outcome;
	g->maybe_done = r->maybe_done;
	g->n_elements = r->n;
	g->asked = r->asked;
	g->digest = r->digest;
	str_copy(g->message, sizeof(g->message), r->message);
}

static void control(struct bench *b, const char *what)
{
	char temporary[128];
	FILE *f;

	snprintf(temporary, sizeof(temporary), "%s.new", b->control);
	f = fopen(temporary, "we");
	assert_non_null(f);
	fputs(what, f);
	fclose(f);
	assert_int_equal(rename(temporary, b->control), 0);
}

static struct bench *bench_new(const char *ping, const struct pool_options *more)
{
	static const char *const argv[] = { "/proc/self/exe", "fake-worker", NULL };
	struct bench *b = NEW(struct bench);
	struct pool_options o = more ? *more : (struct pool_options) { 0 };
	_cleanup_free_ char *c = NULL, *n = NULL, *r = NULL;

	strcpy(b->dir, "/tmp/slurm-pool.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->control, sizeof(b->control), "%s/control", b->dir);
	snprintf(b->notes, sizeof(b->notes), "%s/notes", b->dir);
	snprintf(b->once, sizeof(b->once), "%s/once", b->dir);
	c = str_printf("CONTROL=%s", b->control);
	n = str_printf("NOTES=%s", b->notes);
	r = str_printf("RECYCLE_ONCE=%s", b->once);
	control(b, ping);
	b->gate = GATE_ALWAYS_OPEN;
	b->loop = loop_new();
	o.gate = &b->gate;
	if (!o.argv)
		o.argv = argv;
	o.env = (const char *const[]) { c, n, r, NULL };
	o.probe_timeout = o.probe_timeout ? o.probe_timeout : 2 * USEC_SEC;
	o.probe_pause_max = 50 * USEC_MSEC;
	b->pool = pool_new(b->loop, &o);
	return b;
}

static bool no_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

#define WAIT_FOR(b, condition)                                                                                         \
	do {                                                                                                           \
		usec_t end_ = clock_mono(clock_real()) + 20 * USEC_SEC;                                                \
		while (!(condition) && clock_mono(clock_real()) < end_)                                                \
			loop_run_once((b)->loop, 100 * USEC_MSEC);                                                     \
		assert_true(condition);                                                                                \
	} while (0)

/* Every test ends with no worker and no zombie left. */
static void bench_free(struct bench *b)
{
	pool_free(b->pool);
	WAIT_FOR(b, no_children());
	loop_free(b->loop);
	unlink(b->control);
	unlink(b->notes);
	unlink(b->once);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
}

static void ask(struct bench *b, const char *how, usec_t timeout, struct got *g)
{
	struct slurm_request rq = { .verb = SLURM_LOAD_NODE, .node = how, .timeout = timeout };

	pool_call(b->pool, &rq, done, g);
}

static void ask_change(struct bench *b, const char *how, usec_t timeout, struct got *g)
{
	struct slurm_request rq = { .verb = SLURM_DELETE_NODE, .node = how, .timeout = timeout };

	pool_call(b->pool, &rq, done, g);
}

static size_t count_notes(const struct bench *b, char what)
{
	_cleanup_buf_ struct buf n = BUF(1 << 20);
	size_t count = 0;

	buf_read_file(&n, b->notes);
	for (size_t i = 0; i < n.len; i++)
		count += n.data[i] == what;
	return count;
}

static void test_an_answer_comes_once_and_never_from_within_the_call(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got g = { 0 };
	struct err why = { 0 };

	(void)state;
	assert_false(pool_ready(b->pool, &why));
	assert_string_equal(why.text, "Slurm has not answered yet");
	ask(b, "fine", 0, &g);
	assert_int_equal(g.n, 0);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_OK);
	assert_true(g.asked > 0);
	assert_true(pool_ready(b->pool, &why));
	for (int i = 0; i < 5; i++)
		loop_run_once(b->loop, 10 * USEC_MSEC);
	assert_int_equal(g.n, 1);
	bench_free(b);
}

static void test_a_large_answer_comes_through(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got g = { 0 };

	(void)state;
	ask(b, "large", 0, &g);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_OK);
	assert_int_equal(g.n_elements, 40000);
	bench_free(b);
}

static void test_a_worker_that_hangs_is_replaced_and_the_loop_keeps_ticking(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got hung = { 0 }, fine = { 0 }, words = { 0 };
	int ticks = 0;

	(void)state;
	ask(b, "fine", 0, &fine);
	ask(b, "fine", 0, &fine);
	WAIT_FOR(b, fine.n == 2); /* both workers run */
	ask_change(b, "hang", 300 * USEC_MSEC, &hung);
	ask(b, "hang-with-words", 3 * USEC_SEC, &words); /* time for its words, on a busy machine */
	while (!hung.n || !words.n) {
		loop_run_once(b->loop, 5 * USEC_MSEC);
		ticks++;
	}
	assert_true(ticks > 10); /* blocked, it would be one or two */
	assert_int_equal(hung.outcome, SLURM_RETRY);
	assert_true(hung.maybe_done);
	assert_string_equal(hung.message, "delete node hang: the controller did not answer within 300ms");
	assert_false(words.maybe_done); /* it only read */
	assert_non_null(strstr(words.message, "; libslurm: slow today"));
	fine.n = 0;
	ask(b, "fine", 0, &fine);
	WAIT_FOR(b, fine.n);
	assert_int_equal(fine.outcome, SLURM_OK);
	bench_free(b);
}

static void test_a_worker_that_ends_leaves_its_last_words(void **state)
{
	static const struct {
		const char *how, *message;
	} cases[] = {
		{ "exit", "libslurm ended with: line one; \\x1b[31mthe last line" },
		{ "crash", "was ended by signal 9 (Killed)" },
		{ "garbage", "sent nonsense: what should be a frame begins with 0x50545448" },
		{ "bad-body", "the answer makes no sense" },
		{ "huge", "sent nonsense: a frame of 4294967295 bytes" },
		{ "half", "ended with status 0" },
		{ "wrong-number", "an answer to another question" },
		{ "twice-at-once", "sent nonsense: more bytes than the frame has" },
	};
	struct bench *b = bench_new("ok", NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct got g = { 0 }, fine = { 0 };

		ask_change(b, cases[i].how, 0, &g);
		WAIT_FOR(b, g.n);
		assert_int_equal(g.outcome, SLURM_RETRY);
		assert_true(g.maybe_done);
		if (!strstr(g.message, cases[i].message))
			fail_msg("%s: %s", cases[i].how, g.message);
		/* and the next one is served */
		ask(b, "fine", 0, &fine);
		WAIT_FOR(b, fine.n);
		assert_int_equal(fine.outcome, SLURM_OK);
	}
	bench_free(b);
}

static void test_what_the_controller_said_besides_is_part_of_a_refusal(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got g = { 0 };

	(void)state;
	ask(b, "refuse", 0, &g);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_REFUSED);
	assert_string_equal(g.message, "create node: Node already exists (Node already exists in the node table (d1))");
	bench_free(b);
}

static void test_an_answer_written_before_the_end_still_counts(void **state)
{
	struct bench *b = bench_new("ok", NULL);

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct got g = { 0 }, fine = { 0 };

		ask(b, "answer-and-exit", 0, &g);
		WAIT_FOR(b, g.n);
		assert_int_equal(g.outcome, SLURM_OK);
		assert_string_equal(g.message, "last");
		while (fine.outcome != SLURM_OK || !fine.n) { /* the next may meet it while it is leaving */
			fine.n = 0;
			ask(b, "fine", 0, &fine);
			WAIT_FOR(b, fine.n);
		}
	}
	bench_free(b);
}

static void test_an_answer_that_nobody_asked_for_is_not_taken_for_another(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got g = { 0 }, after = { 0 };

	(void)state;
	ask(b, "twice", 0, &g);
	WAIT_FOR(b, g.n);
	ask(b, "large", 0, &after);
	WAIT_FOR(b, after.n);
	/* either the spare answer was noticed first, or it ended its worker; never is it believed */
	if (after.outcome == SLURM_OK)
		assert_int_equal(after.n_elements, 40000);
	else
		assert_string_equal(after.message, "load node large: an answer to another question");
	bench_free(b);
}

static void test_a_noisy_worker_does_not_block_itself(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got g = { 0 };

	(void)state;
	ask(b, "noisy", 0, &g);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_OK);
	bench_free(b);
}

static void test_while_slurm_is_away_everyone_is_told_why_and_it_recovers(void **state)
{
	static const struct {
		const char *how, *why;
	} cases[] = {
		{ "away", "Unable to contact slurm controller" },
		{ "exit", "libslurm ended with: something first; Unable to process configuration file" },
		{ "hang", "the controller did not answer within 300ms" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pool_options o = { .probe_timeout = 300 * USEC_MSEC };
		struct bench *b = bench_new(cases[i].how, &o);
		struct got waiting = { 0 }, fresh = { 0 }, later = { 0 };
		struct err why = { 0 };

		ask_change(b, "fine", 0, &waiting);
		WAIT_FOR(b, waiting.n);
		assert_int_equal(waiting.outcome, SLURM_RETRY);
		assert_false(waiting.maybe_done); /* it never left */
		assert_int_equal(waiting.asked, 0);
		assert_non_null(strstr(waiting.message, cases[i].why));
		assert_false(pool_ready(b->pool, &why));
		assert_non_null(strstr(why.text, cases[i].why));
		ask(b, "fine", 0, &fresh);
		WAIT_FOR(b, fresh.n);
		assert_int_equal(fresh.outcome, SLURM_RETRY);
		control(b, "ok");
		WAIT_FOR(b, pool_ready(b->pool, NULL));
		ask(b, "fine", 0, &later);
		WAIT_FOR(b, later.n);
		assert_int_equal(later.outcome, SLURM_OK);
		assert_int_equal(count_notes(b, 'c'), 0);
		bench_free(b);
	}
}

static void test_slurm_going_away_is_noticed_without_any_request(void **state)
{
	struct pool_options o = { .idle_probe = 50 * USEC_MSEC };
	struct bench *b = bench_new("ok", &o);

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	control(b, "away");
	WAIT_FOR(b, !pool_ready(b->pool, NULL));
	bench_free(b);
}

static void test_one_slow_request_does_not_make_slurm_count_as_away(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got hung = { 0 }, fine = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	ask(b, "hang", 200 * USEC_MSEC, &hung);
	while (!hung.n) {
		assert_true(pool_ready(b->pool, NULL));
		loop_run_once(b->loop, 20 * USEC_MSEC);
	}
	ask(b, "fine", 0, &fine);
	WAIT_FOR(b, fine.n);
	assert_int_equal(fine.outcome, SLURM_OK);
	assert_true(pool_ready(b->pool, NULL));
	bench_free(b);
}

static void test_an_accounting_that_hangs_says_nothing_of_the_controller(void **state)
{
	struct pool_options o = { .workers = 2 };
	struct bench *b = bench_new("ok", &o);
	struct got hung = { 0 }, again = { 0 }, fine = { 0 };
	struct slurm_request rq = {
		.verb = SLURM_LOAD_RECORD, .node = "hang", .job_id = 7, .timeout = 200 * USEC_MSEC
	};

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	pool_call(b->pool, &rq, done, &hung);
	pool_call(b->pool, &rq, done, &again);
	ask(b, "fine", 0, &fine);
	WAIT_FOR(b, fine.n);
	assert_int_equal(fine.outcome, SLURM_OK);
	assert_int_equal(hung.n, 0); /* a worker was left for it */
	WAIT_FOR(b, hung.n && again.n);
	assert_int_equal(hung.outcome, SLURM_RETRY);
	assert_string_equal(hung.message, "load record of job 7: slurmdbd did not answer within 200ms");
	assert_true(pool_ready(b->pool, NULL));
	bench_free(b);
}

static void test_when_all_workers_hang_slurm_counts_as_away(void **state)
{
	struct pool_options o = { .workers = 2, .idle_probe = 50 * USEC_MSEC, .probe_timeout = 200 * USEC_MSEC };
	struct bench *b = bench_new("ok", &o);
	struct got hung[2] = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	ask(b, "hang", 3 * USEC_SEC, &hung[0]);
	ask(b, "hang", 3 * USEC_SEC, &hung[1]);
	WAIT_FOR(b, !pool_ready(b->pool, NULL));
	assert_int_equal(hung[0].n + hung[1].n, 0); /* noticed before their own deadlines */
	WAIT_FOR(b, hung[0].n && hung[1].n);
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	bench_free(b);
}

static void test_a_change_that_waited_is_dropped_when_the_gate_closes(void **state)
{
	struct pool_options o = { .workers = 2 };
	struct bench *b = bench_new("ok", &o);
	struct got hung[2] = { 0 }, change = { 0 }, read = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	ask(b, "hang", 300 * USEC_MSEC, &hung[0]);
	ask(b, "hang", 300 * USEC_MSEC, &hung[1]);
	loop_run_once(b->loop, 0);
	ask_change(b, "fine", 0, &change);
	ask(b, "fine", 0, &read);
	b->gate.leader = false;
	WAIT_FOR(b, change.n && read.n);
	assert_int_equal(change.outcome, SLURM_NOT_LEADER);
	assert_false(change.maybe_done);
	assert_int_equal(read.outcome, SLURM_OK); /* reading needs no leader */
	assert_int_equal(count_notes(b, 'c'), 0);
	bench_free(b);
}

static void test_a_change_of_an_earlier_term_is_dropped(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got change = { 0 }, fresh = { 0 };

	(void)state;
	ask_change(b, "fine", 0, &change);
	b->gate.term++; /* lost and won again before it was sent */
	WAIT_FOR(b, change.n);
	assert_int_equal(change.outcome, SLURM_NOT_LEADER);
	ask_change(b, "fine", 0, &fresh);
	WAIT_FOR(b, fresh.n);
	assert_int_equal(fresh.outcome, SLURM_OK);
	assert_int_equal(count_notes(b, 'c'), 1);
	bench_free(b);
}

static void test_an_expired_lease_closes_the_gate_by_itself(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got change = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	b->gate.until = clock_mono(clock_real()) - 1;
	ask_change(b, "fine", 0, &change);
	WAIT_FOR(b, change.n);
	assert_int_equal(change.outcome, SLURM_NOT_LEADER);
	bench_free(b);
}

static void test_a_change_under_way_does_not_outlive_the_lease(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got change = { 0 }, read = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	b->gate.until = clock_mono(clock_real()) + 200 * USEC_MSEC;
	ask_change(b, "hang", USEC_MINUTE, &change);
	ask(b, "hang", USEC_MINUTE, &read);
	WAIT_FOR(b, change.n);
	assert_int_equal(change.outcome, SLURM_RETRY);
	assert_true(change.maybe_done); /* it may have left before */
	assert_int_equal(read.n, 0);
	bench_free(b);
}

static void test_a_change_under_way_goes_on_while_the_lease_is_renewed(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got change = { 0 };
	usec_t end;

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	b->gate.until = clock_mono(clock_real()) + 2 * USEC_SEC;
	ask_change(b, "hang", 600 * USEC_MSEC, &change);
	end = clock_mono(clock_real()) + 400 * USEC_MSEC;
	while (clock_mono(clock_real()) < end && !change.n) {
		loop_run_once(b->loop, 20 * USEC_MSEC);
		b->gate.until = clock_mono(clock_real()) + 2 * USEC_SEC;
	}
	WAIT_FOR(b, change.n);
	assert_non_null(strstr(change.message, "did not answer within 600ms")); /* its own deadline, nothing else */
	bench_free(b);
}

static void test_a_worker_that_asks_to_be_replaced_loses_no_request(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct got change = { 0 };
	FILE *f;

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	f = fopen(b->once, "we"); /* slurm.conf "has changed": the next request makes its worker leave */
	assert_non_null(f);
	fclose(f);
	ask_change(b, "fine", 0, &change);
	WAIT_FOR(b, change.n);
	assert_int_equal(change.outcome, SLURM_OK);
	assert_int_equal(count_notes(b, 'c'), 1); /* carried out once */
	assert_int_equal(count_notes(b, 's'), 2); /* by the second worker */
	bench_free(b);
}

static void test_a_list_of_everything_leaves_a_worker_for_short_requests(void **state)
{
	struct pool_options o = { .workers = 2, .idle_probe = USEC_HOUR };
	struct bench *b = bench_new("ok", &o);
	struct slurm_request bulk = { .verb = SLURM_LOAD_JOBS, .node = "hang", .timeout = 2 * USEC_SEC };
	struct got lists[3] = { 0 }, fine = { 0 };

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	for (int i = 0; i < 3; i++)
		pool_call(b->pool, &bulk, done, &lists[i]);
	ask(b, "fine", 0, &fine);
	WAIT_FOR(b, fine.n);
	assert_int_equal(lists[0].n + lists[1].n + lists[2].n, 0);
	assert_int_equal(pool_counts(b->pool).running, 1);
	assert_int_equal(pool_counts(b->pool).waiting, 2);
	bench_free(b);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lists[i].n, 1); /* the end of the program answers too */
		assert_int_equal(lists[i].outcome, SLURM_RETRY);
	}
}

static void test_who_asks_about_one_job_does_not_wait_behind_submissions(void **state)
{
	enum { N = 6 };
	struct pool_options o = { .workers = 2, .idle_probe = USEC_HOUR };
	struct bench *b = bench_new("ok", &o); /* nothing leaves before the first ping is answered */
	const struct job_spec spec = { .name = "a", .script = "#!/bin/sh\n", .work_dir = "/" };
	struct got submits[N] = { 0 }, node = { 0 }, job = { 0 };

	(void)state;
	for (int i = 0; i < N; i++)
		pool_call(b->pool, &(struct slurm_request) { .verb = SLURM_SUBMIT, .spec = &spec }, done, &submits[i]);
	ask(b, "fine", 0, &node);
	pool_call(b->pool, &(struct slurm_request) { .verb = SLURM_LOAD_JOB, .job_id = 7 }, done, &job);
	for (int i = 0; i < N; i++)
		WAIT_FOR(b, submits[i].n);
	WAIT_FOR(b, node.n && job.n); /* left first, perhaps to a worker that had to be started */
	assert_true(job.asked <= node.asked && node.asked <= submits[0].asked);
	for (int i = 1; i < N; i++)
		assert_true(submits[i - 1].asked <= submits[i].asked);
	assert_true(job.asked < submits[N - 1].asked);
	bench_free(b);
}

static void test_a_full_queue_says_so(void **state)
{
	enum { MORE = 5 };
	struct bench *b = bench_new("hang", NULL); /* nothing leaves before the first ping is answered */
	struct got *g = mem_alloc_n(POOL_WAITING_MAX + MORE, sizeof(*g));
	int refused = 0;

	(void)state;
	loop_run_once(b->loop, 0);
	for (int i = 0; i < POOL_WAITING_MAX + MORE; i++)
		ask(b, "fine", USEC_MINUTE, &g[i]);
	loop_run_once(b->loop, 0);
	loop_run_once(b->loop, 0);
	for (int i = 0; i < POOL_WAITING_MAX + MORE; i++)
		refused += g[i].n;
	assert_true(refused >= MORE && refused <= MORE + 1);
	assert_int_equal(g[POOL_WAITING_MAX + MORE - 1].outcome, SLURM_RETRY);
	assert_string_equal(g[POOL_WAITING_MAX + MORE - 1].message, "load node fine: too many requests wait for Slurm");
	bench_free(b);
	for (int i = 0; i < POOL_WAITING_MAX + MORE; i++)
		assert_int_equal(g[i].n, 1);
	free(g);
}

static void test_a_request_that_is_too_large_is_refused(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	_cleanup_free_ char *big = mem_alloc(WIRE_REQUEST_MAX + 1);
	struct slurm_request rq = { .verb = SLURM_CREATE_NODE, .text = big };
	struct got g = { 0 };

	(void)state;
	memset(big, 'x', WIRE_REQUEST_MAX);
	pool_call(b->pool, &rq, done, &g);
	assert_int_equal(g.n, 0);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_REFUSED);
	assert_string_equal(g.message, "create node: the request is larger than 4 MiB");
	bench_free(b);
}

static void test_a_worker_that_cannot_be_started_is_an_answer_too(void **state)
{
	static const char *const argv[] = { "/nonexistent/worker", NULL };
	struct pool_options o = { .argv = argv };
	struct bench *b = bench_new("ok", &o);
	struct got g = { 0 };

	(void)state;
	ask(b, "fine", 0, &g);
	WAIT_FOR(b, g.n);
	assert_int_equal(g.outcome, SLURM_RETRY);
	assert_non_null(strstr(g.message, "/nonexistent/worker"));
	assert_false(pool_ready(b->pool, NULL));
	bench_free(b);
}

/* Each answer asks again, at once: every other part of the loop still gets its turn. */
struct again {
	struct bench *b;
	int n;
};

static void ask_again(void *arg, struct slurm_result *r)
{
	struct again *a = arg;
	struct slurm_request rq = { .verb = SLURM_DELETE_NODE, .node = "fine" };

	assert_int_equal(r->outcome, SLURM_NOT_LEADER);
	if (++a->n < 1000)
		pool_call(a->b->pool, &rq, ask_again, a);
}

static void test_asking_again_from_within_an_answer_does_not_starve_the_loop(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct again a = { .b = b };
	struct slurm_request rq = { .verb = SLURM_DELETE_NODE, .node = "fine" };
	int rounds = 0;

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	b->gate.leader = false;
	pool_call(b->pool, &rq, ask_again, &a);
	while (a.n < 1000) {
		loop_run_once(b->loop, USEC_SEC);
		rounds++;
	}
	assert_true(rounds >= 1000);
	bench_free(b);
}

static void test_workers_that_end_are_started_again_with_pauses(void **state)
{
	enum { N = 20 };
	struct pool_options o = { .workers = 2 };
	struct bench *b = bench_new("ok", &o);
	struct got g[N] = { 0 };
	usec_t began;

	(void)state;
	WAIT_FOR(b, pool_ready(b->pool, NULL));
	began = clock_mono(clock_real());
	for (int i = 0; i < N; i++)
		ask(b, "crash", 0, &g[i]);
	for (int i = 0; i < N; i++)
		WAIT_FOR(b, g[i].n);
	/* at least half of the shortest pause after each, on two at a time */
	assert_true(clock_mono(clock_real()) - began >= (N / 2 - 1) * 25 * USEC_MSEC);
	bench_free(b);
}

static void test_workers_that_nobody_needs_go_but_for_one(void **state)
{
	struct pool_options o = { .workers = 3, .idle_span = 50 * USEC_MSEC };
	struct bench *b = bench_new("ok", &o);
	struct got g = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) /* at once */
		ask(b, "noisy", 0, &g);
	WAIT_FOR(b, g.n == 3);
	WAIT_FOR(b, pool_counts(b->pool).workers == 1);
	for (int i = 0; i < 2; i++)
		ask(b, "fine", 0, &g);
	WAIT_FOR(b, g.n == 5);
	assert_int_equal(g.outcome, SLURM_OK);
	assert_int_equal(pool_counts(b->pool).failed, 0);
	bench_free(b);
}

static void test_a_worker_that_leaves_after_its_answer_is_no_failure(void **state)
{
	struct pool_options o = { .workers = 2 };
	struct bench *b = bench_new("ok", &o);
	struct got g = { 0 };

	(void)state;
	for (int i = 1; i <= 20; i++) { /* with the pauses after failures this would take more than a minute */
		ask(b, "answer-and-leave", 0, &g);
		WAIT_FOR(b, g.n == i);
		assert_int_equal(g.outcome, SLURM_OK);
	}
	assert_int_equal(pool_counts(b->pool).failed, 0);
	bench_free(b);
}

static void test_only_the_same_answer_has_the_same_digest(void **state)
{
	struct bench *b = bench_new("ok", NULL);
	struct slurm_request list = { .verb = SLURM_LOAD_JOBS }, states = { .verb = SLURM_LOAD_JOB_STATES };
	struct got g[3] = { 0 };

	(void)state;
	pool_call(b->pool, &list, done, &g[0]);
	pool_call(b->pool, &states, done, &g[1]);
	list.node = "other";
	pool_call(b->pool, &list, done, &g[2]);
	WAIT_FOR(b, g[0].n && g[1].n && g[2].n);
	assert_int_not_equal(g[0].digest, 0);
	assert_int_equal(g[0].digest, g[1].digest);
	assert_int_not_equal(g[0].digest, g[2].digest);
	bench_free(b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_comes_once_and_never_from_within_the_call),
		TEST(a_large_answer_comes_through),
		TEST(a_worker_that_hangs_is_replaced_and_the_loop_keeps_ticking),
		TEST(a_worker_that_ends_leaves_its_last_words),
		TEST(what_the_controller_said_besides_is_part_of_a_refusal),
		TEST(an_answer_written_before_the_end_still_counts),
		TEST(an_answer_that_nobody_asked_for_is_not_taken_for_another),
		TEST(a_noisy_worker_does_not_block_itself),
		TEST(while_slurm_is_away_everyone_is_told_why_and_it_recovers),
		TEST(slurm_going_away_is_noticed_without_any_request),
		TEST(one_slow_request_does_not_make_slurm_count_as_away),
		TEST(an_accounting_that_hangs_says_nothing_of_the_controller),
		TEST(when_all_workers_hang_slurm_counts_as_away),
		TEST(a_change_that_waited_is_dropped_when_the_gate_closes),
		TEST(a_change_of_an_earlier_term_is_dropped),
		TEST(an_expired_lease_closes_the_gate_by_itself),
		TEST(a_change_under_way_does_not_outlive_the_lease),
		TEST(a_change_under_way_goes_on_while_the_lease_is_renewed),
		TEST(a_worker_that_asks_to_be_replaced_loses_no_request),
		TEST(a_list_of_everything_leaves_a_worker_for_short_requests),
		TEST(who_asks_about_one_job_does_not_wait_behind_submissions),
		TEST(a_full_queue_says_so),
		TEST(a_request_that_is_too_large_is_refused),
		TEST(a_worker_that_cannot_be_started_is_an_answer_too),
		TEST(asking_again_from_within_an_answer_does_not_starve_the_loop),
		TEST(workers_that_end_are_started_again_with_pauses),
		TEST(workers_that_nobody_needs_go_but_for_one),
		TEST(a_worker_that_leaves_after_its_answer_is_no_failure),
		TEST(only_the_same_answer_has_the_same_digest),
	};

	if (argc > 1 && str_eq(argv[1], "fake-worker"))
		return fake_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
