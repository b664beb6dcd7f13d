/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"
#include "base/time.h"

#define READ_MAX ((size_t)8 << 20)

static int pipe_fds[2];

/* What was logged since, as text; the caller logs less than a pipe holds. */
static const char *logged(struct buf *b)
{
	char part[65536];
	ssize_t n;

	buf_clear(b);
	while ((n = read(pipe_fds[0], part, sizeof(part))) > 0)
		assert_int_equal(buf_add(b, part, (size_t)n), 0);
	return buf_text(b);
}

static int open_pipe(void **state)
{
	(void)state;
	return pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK);
}

static int close_pipe(void **state)
{
	(void)state;
	log_setup("sunk", LOG_INFO, LOG_TEXT, STDERR_FILENO);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* A small reader of one JSON string: enough to prove that a line is one object of four strings, and to get a value. */
static const char *json_string(const char *p, struct buf *ret)
{
	assert_int_equal(*p, '"');
	for (p++; *p != '"'; p++) {
		assert_true((unsigned char)*p >= 0x20);
		if (*p == '\\') {
			p++;
			assert_true(*p == '"' || *p == '\\'); /* all that we ever write */
		}
		buf_add_char(ret, *p);
	}
	return p + 1;
}

static const char *json_line(const char *p, struct buf *ret_message)
{
	static const char *const keys[] = { "time", "level", "program", "msg" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		_cleanup_buf_ struct buf key = BUF(100), value = BUF(READ_MAX);

		assert_int_equal(*p, i ? ',' : '{');
		p = json_string(p + 1, &key);
		assert_string_equal(buf_text(&key), keys[i]);
		assert_int_equal(*p, ':');
		p = json_string(p + 1, &value);
		if (i == 3)
			buf_add(ret_message, buf_text(&value), value.len);
	}
	assert_true(str_starts(p, "}\n"));
	return p + 2;
}

static void test_a_line_has_time_level_program_and_message(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	const char *line;
	usec_t when = 0, now = clock_wall(clock_real());

	(void)state;
	log_setup("sunk-test", LOG_INFO, LOG_TEXT, pipe_fds[1]);
	log_info("took %d nodes", 3);
	line = logged(&b);
	assert_int_equal(time_parse_rfc3339(line, 27, &when), 0);
	assert_true(when >= now && when <= clock_wall(clock_real()));
	assert_string_equal(line + 27, " info  sunk-test: took 3 nodes\n");
}

static void test_what_is_below_the_level_is_not_written(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	static const char *const names[] = { "debug", "info", "warn", "error" };

	(void)state;
	for (enum log_level least = LOG_DEBUG; least <= LOG_ERROR; least++) {
		const char *text;

		log_setup("t", least, LOG_TEXT, pipe_fds[1]);
		log_debug("x");
		log_info("x");
		log_warn("x");
		log_error("x");
		text = logged(&b);
		for (enum log_level l = LOG_DEBUG; l <= LOG_ERROR; l++) {
			assert_int_equal(log_on(l), l >= least);
			assert_int_equal(strstr(text, names[l]) != NULL, l >= least);
		}
	}
}

static void test_a_message_cannot_forge_a_line(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	const char *text;

	(void)state;
	log_setup("t", LOG_INFO, LOG_TEXT, pipe_fds[1]);
	log_info("job '%s'", "x\n2026-01-01T00:00:00.000000Z error t: all lost\x1b[2J\r");
	text = logged(&b);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_non_null(strstr(text, "'x\\n2026-01-01"));
	assert_false(str_has_control(text, strlen(text) - 1));
}

static void test_json_lines_are_valid_whatever_is_logged(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	struct rng rng = rng_seeded(23);

	(void)state;
	log_setup("t", LOG_INFO, LOG_JSON, pipe_fds[1]);
	for (int round = 0; round < 3000; round++) {
		_cleanup_buf_ struct buf message = BUF(READ_MAX), want = BUF(READ_MAX);
		char in[64];
		size_t len = rng_below(&rng, sizeof(in) - 1);
		const char *text;

		for (size_t i = 0; i < len; i++)
			in[i] = rng_below(&rng, 3) ? (char)(1 + rng_below(&rng, 255)) : "\"\\\n{}"[rng_below(&rng, 5)];
		in[len] = 0;
		log_info("%s", in);
		text = logged(&b);
		assert_string_equal(json_line(text, &message), "");
		assert_true(str_is_utf8(text, b.len));
		str_add_safe(&want, in, len, LOG_LINE_MAX);
		assert_string_equal(buf_text(&message), buf_text(&want));
	}
}

static void test_a_long_message_is_cut_with_a_mark(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	static char big[3 * LOG_LINE_MAX];

	(void)state;
	for (int format = LOG_TEXT; format <= LOG_JSON; format++)
		for (size_t shift = 0; shift < 3; shift++) {
			const char *text;

			log_setup("t", LOG_INFO, (enum log_format)format, pipe_fds[1]);
			memset(big, 'x', sizeof(big) - 1);
			for (size_t i = shift; i + 3 < sizeof(big); i += 3)
				memcpy(big + i, "€", 3);
			log_info("%s", big);
			text = logged(&b);
			assert_true(b.len < LOG_LINE_MAX + 100);
			assert_true(str_ends(text, format == LOG_TEXT ? "…\n" : "…\"}\n"));
			assert_true(str_is_utf8(text, b.len));
			assert_null(strstr(text, "\\x"));
		}
	/* the worst that escaping can do: still one whole line */
	memset(big, '\\', sizeof(big) - 1);
	log_setup("t", LOG_INFO, LOG_JSON, pipe_fds[1]);
	log_info("%s", big);
	{
		_cleanup_buf_ struct buf message = BUF(READ_MAX);

		assert_string_equal(json_line(logged(&b), &message), "");
	}
}

static void test_errno_survives_logging(void **state)
{
	(void)state;
	log_setup("t", LOG_INFO, LOG_TEXT, -1); /* nowhere to write */
	errno = ENOTTY;
	log_error("x");
	assert_int_equal(errno, ENOTTY);
}

#define THREADS 4
#define LINES 200

static void *log_many(void *arg)
{
	char text[101];

	memset(text, 'a' + (int)(intptr_t)arg, 100);
	text[100] = 0;
	for (int i = 0; i < LINES; i++)
		log_info("<%s>", text);
	return NULL;
}

static void test_lines_of_threads_do_not_mix(void **state)
{
	_cleanup_buf_ struct buf b = BUF(READ_MAX);
	char path[] = "/tmp/sunk-log-XXXXXX";
	_cleanup_fd_ int fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	pthread_t threads[THREADS];
	size_t lines = 0;

	(void)state;
	assert_true(fd >= 0);
	log_setup("t", LOG_INFO, LOG_TEXT, fd);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_many, (void *)(intptr_t)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(buf_read_file(&b, path), 0);
	unlink(path);
	for (const char *p = buf_text(&b); *p; lines++) {
		const char *end = strchr(p, '\n'), *from = strchr(p, '<');

		assert_true(from && end && from < end && end - from == 102 && end[-1] == '>');
		for (const char *c = from + 2; c < end - 1; c++)
			assert_int_equal(*c, from[1]);
		p = end + 1;
	}
	assert_int_equal(lines, THREADS * LINES);
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(test_##name, open_pipe, close_pipe)
TEST_MAIN(LOG_TEST(a_line_has_time_level_program_and_message), LOG_TEST(what_is_below_the_level_is_not_written),
          LOG_TEST(a_message_cannot_forge_a_line), LOG_TEST(json_lines_are_valid_whatever_is_logged),
          LOG_TEST(a_long_message_is_cut_with_a_mark), LOG_TEST(errno_survives_logging),
          LOG_TEST(lines_of_threads_do_not_mix))
