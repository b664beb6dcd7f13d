/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/lines.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static int collect(void *arg, const char *line, size_t len, struct err *err)
{
	struct buf *out = arg;

	(void)err;
	buf_add_char(out, '[');
	buf_add(out, line, len);
	buf_add_char(out, ']');
	return 0;
}

static int refuse(void *arg, const char *line, size_t len, struct err *err)
{
	(void)line;
	(void)len;
	(*(int *)arg)++;
	return err_set(err, -EBADMSG, "no");
}

static void test_lines_are_the_same_however_the_stream_is_cut(void **state)
{
	static const char text[] = "one\ntwo\r\n\n\r\nthree and more\nfour";

	(void)state;
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		_cleanup_buf_ struct buf out = BUF(1000);
		struct lines l;

		lines_init(&l, 100);
		for (size_t at = 0; at < strlen(text); at += piece) {
			size_t n = MIN_OF(piece, strlen(text) - at);

			assert_int_equal(lines_feed(&l, text + at, n, collect, &out, NULL), 0);
		}
		assert_string_equal(buf_text(&out), "[one][two][three and more]");
		assert_int_equal(lines_held(&l), 4);
		lines_done(&l);
	}
}

static void test_a_line_over_the_maximum_is_an_error_whole_or_in_pieces(void **state)
{
	_cleanup_buf_ struct buf out = BUF(1000);
	struct err err = { 0 };
	struct lines l;

	(void)state;
	lines_init(&l, 5);
	assert_int_equal(lines_feed(&l, "12345\n", 6, collect, &out, &err), 0);
	assert_int_equal(lines_feed(&l, "123456\n", 7, collect, &out, &err), -EMSGSIZE);
	assert_string_equal(err.text, "a line of more than 5 bytes");
	lines_reset(&l);
	assert_int_equal(lines_feed(&l, "123", 3, collect, &out, &err), 0);
	assert_int_equal(lines_feed(&l, "456", 3, collect, &out, &err), -EMSGSIZE);
	lines_reset(&l);
	assert_int_equal(lines_feed(&l, "123", 3, collect, &out, &err), 0);
	assert_int_equal(lines_feed(&l, "456\n", 4, collect, &out, &err), -EMSGSIZE);
	lines_reset(&l);
	assert_int_equal(lines_feed(&l, "ok\n", 3, collect, &out, &err), 0);
	assert_string_equal(buf_text(&out), "[12345][ok]");
	lines_done(&l);
}

static void test_an_error_from_the_reader_ends_the_feeding(void **state)
{
	struct err err = { 0 };
	struct lines l;
	int calls = 0;

	(void)state;
	lines_init(&l, 100);
	assert_int_equal(lines_feed(&l, "a\nb\n", 4, refuse, &calls, &err), -EBADMSG);
	assert_int_equal(calls, 1);
	lines_done(&l);
}

TEST_MAIN(TEST(lines_are_the_same_however_the_stream_is_cut),
          TEST(a_line_over_the_maximum_is_an_error_whole_or_in_pieces), TEST(an_error_from_the_reader_ends_the_feeding))
