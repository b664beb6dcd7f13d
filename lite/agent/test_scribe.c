/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/scribe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "lite/agent/logfile.h"

#define T1 (1763230000 * USEC_SEC + 123456) /* 2025-11-15T18:06:40.123456Z */

static struct buf text_of(const char *s)
{
	struct buf b = BUF(1 << 20);

	buf_add_str(&b, s);
	return b;
}

static void test_lines_are_kept_with_their_times(void **state)
{
	_cleanup_buf_ struct buf said = text_of("one\n\nhalf"), kept = BUF(4096);

	(void)state;
	logfile_put(&kept, T1, &said, false);
	assert_string_equal(buf_text(&kept), "2025-11-15T18:06:40.123456Z F one\n2025-11-15T18:06:40.123456Z F \n");
	assert_string_equal(buf_text(&said), "half");
	buf_add_str(&said, " whole\nend");
	logfile_put(&kept, T1 + USEC_SEC, &said, true);
	assert_string_equal(buf_text(&kept) + 65, "2025-11-15T18:06:41.123456Z F half whole\n"
	                                          "2025-11-15T18:06:41.123456Z P end\n");
	assert_int_equal(said.len, 0);
}

static void test_a_view_shows_what_was_written_byte_for_byte(void **state)
{
	_cleanup_buf_ struct buf said = BUF(1 << 20), want = BUF(1 << 20), kept = BUF(1 << 20), shown = BUF(1 << 20);
	struct log_view view;

	(void)state;
	buf_add_str(&said, "short\n");
	for (size_t i = 0; i < 3 * LOGFILE_LINE_MAX + 5; i++)
		buf_add_char(&said, (char)('a' + i % 26));
	buf_add_str(&said, "\nno end");
	buf_add(&want, said.data, said.len);
	logfile_put(&kept, T1, &said, true);
	log_view_init(&view, false, 0);
	while (kept.len) { /* in small portions */
		size_t before = shown.len;

		logfile_show(&view, &kept, &shown, before + 1);
		assert_true(shown.len > before);
	}
	assert_string_equal(buf_text(&shown), buf_text(&want));
}

static void test_a_view_with_times_shows_one_for_each_line(void **state)
{
	_cleanup_buf_ struct buf said = BUF(1 << 20), kept = BUF(1 << 20), shown = BUF(1 << 20);
	struct log_view view;
	size_t times = 0;

	(void)state;
	for (size_t i = 0; i < 2 * LOGFILE_LINE_MAX; i++)
		buf_add_char(&said, 'x');
	buf_add_str(&said, "y\nz\n");
	logfile_put(&kept, T1, &said, true);
	log_view_init(&view, true, 0);
	logfile_show(&view, &kept, &shown, SIZE_MAX);
	for (const char *p = buf_text(&shown); (p = strstr(p, "2025-")); p++)
		times++;
	assert_int_equal(times, 2);
	assert_true(str_ends(buf_text(&shown), "y\n2025-11-15T18:06:40.123456Z z\n"));
}

static void test_a_view_since_a_time_leaves_out_what_was_before(void **state)
{
	_cleanup_buf_ struct buf a = text_of("old\n"), b = text_of("new\n"), kept = BUF(4096), shown = BUF(4096);
	struct log_view view;

	(void)state;
	logfile_put(&kept, T1, &a, false);
	logfile_put(&kept, T1 + 10 * USEC_SEC, &b, false);
	log_view_init(&view, false, T1 + 5 * USEC_SEC);
	logfile_show(&view, &kept, &shown, SIZE_MAX);
	assert_string_equal(buf_text(&shown), "new\n");
}

static void test_bytes_that_are_no_kept_lines_are_passed_over(void **state)
{
	_cleanup_buf_ struct buf kept = text_of("garbage\n\n2025-11-15T18:06:40.123456Z F good\ntorn"),
	                         shown = BUF(4096);
	struct log_view view;

	(void)state;
	log_view_init(&view, false, 0);
	logfile_show(&view, &kept, &shown, SIZE_MAX);
	assert_string_equal(buf_text(&shown), "good\n");
	assert_string_equal(buf_text(&kept), "torn");
}

/* A scribe on a real pipe. */

struct desk {
	char dir[32], path[64], old[64];
	struct loop *loop;
	struct scribe *scribe;
	int fd;
};

static struct desk desk_new(size_t max)
{
	struct desk d = { .dir = "/tmp/sunk-scribe-XXXXXX", .loop = loop_new() };

	assert_non_null(mkdtemp(d.dir));
	snprintf(d.path, sizeof(d.path), "%s/log", d.dir);
	snprintf(d.old, sizeof(d.old), "%s/log" SCRIBE_OLD, d.dir);
	assert_int_equal(scribe_new(d.loop, d.path, max, &d.scribe, &d.fd, NULL), 0);
	return d;
}

static void desk_done(struct desk *d)
{
	loop_free(d->loop);
	unlink(d->path);
	unlink(d->old);
	assert_int_equal(rmdir(d->dir), 0);
}

static void say(struct desk *d, const char *text)
{
	assert_int_equal(write(d->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static char *shown_of(const char *path)
{
	_cleanup_buf_ struct buf kept = BUF(1 << 20);
	struct buf shown = BUF(1 << 20);
	struct log_view view;

	assert_int_equal(buf_read_file(&kept, path), 0);
	log_view_init(&view, false, 0);
	logfile_show(&view, &kept, &shown, SIZE_MAX);
	return buf_take(&shown);
}

static void stop_soon(void *arg)
{
	loop_stop(arg);
}

static void test_what_is_said_is_in_the_file_while_it_is_said(void **state)
{
	struct desk d = desk_new(SCRIBE_FILE_MAX);
	struct loop_timer *timer = loop_add_timer(d.loop, stop_soon, d.loop);
	_cleanup_free_ char *shown = NULL;

	(void)state;
	say(&d, "first\nsec");
	loop_set_timer(timer, loop_now(d.loop) + 50 * USEC_MSEC);
	loop_run(d.loop);
	shown = shown_of(d.path);
	assert_string_equal(shown, "first\n");
	close(d.fd);
	scribe_free(d.scribe);
	free(shown);
	shown = shown_of(d.path);
	assert_string_equal(shown, "first\nsec");
	loop_remove_timer(timer);
	desk_done(&d);
}

static void test_the_end_takes_what_is_in_the_pipe_even_when_someone_still_holds_it(void **state)
{
	struct desk d = desk_new(SCRIBE_FILE_MAX);
	_cleanup_free_ char *shown = NULL;

	(void)state;
	say(&d, "last words\n");
	scribe_free(d.scribe);
	shown = shown_of(d.path);
	assert_string_equal(shown, "last words\n");
	close(d.fd);
	desk_done(&d);
}

static void test_a_full_file_becomes_the_old_one(void **state)
{
	struct desk d = desk_new(200);
	_cleanup_free_ char *now = NULL, *old = NULL;
	struct loop_timer *timer = loop_add_timer(d.loop, stop_soon, d.loop);
	char line[32];
	struct stat st;

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		say(&d, line);
		loop_set_timer(timer, loop_now(d.loop) + 2 * USEC_MSEC);
		loop_run(d.loop);
	}
	close(d.fd);
	scribe_free(d.scribe);
	assert_int_equal(stat(d.path, &st), 0);
	assert_true(st.st_size <= 200);
	assert_int_equal(stat(d.old, &st), 0);
	assert_true(st.st_size <= 200);
	now = shown_of(d.path);
	old = shown_of(d.old);
	assert_true(str_ends(now, "line 19\n"));
	assert_true(strlen(old) > 0);
	loop_remove_timer(timer);
	desk_done(&d);
}

static void test_a_file_that_cannot_be_written_is_told(void **state)
{
	struct loop *loop = loop_new();
	struct err err = { 0 };
	struct scribe *s;
	int fd;

	(void)state;
	assert_true(scribe_new(loop, "/no/such/dir/log", SCRIBE_FILE_MAX, &s, &fd, &err) < 0);
	assert_non_null(strstr(err_text(&err), "/no/such/dir/log"));
	loop_free(loop);
}

TEST_MAIN(TEST(lines_are_kept_with_their_times), TEST(a_view_shows_what_was_written_byte_for_byte),
          TEST(a_view_with_times_shows_one_for_each_line), TEST(a_view_since_a_time_leaves_out_what_was_before),
          TEST(bytes_that_are_no_kept_lines_are_passed_over), TEST(what_is_said_is_in_the_file_while_it_is_said),
          TEST(the_end_takes_what_is_in_the_pipe_even_when_someone_still_holds_it),
          TEST(a_full_file_becomes_the_old_one), TEST(a_file_that_cannot_be_written_is_told))
