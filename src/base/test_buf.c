/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static void test_append_keeps_a_nul_behind_the_text(void **state)
{
	_cleanup_buf_ struct buf b = BUF(1000);

	(void)state;
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(buf_add_str(&b, "ab"), 0);
	assert_int_equal(buf_printf(&b, "%d", 42), 0);
	assert_string_equal(buf_text(&b), "ab42");
	buf_drop_front(&b, 2);
	assert_string_equal(buf_text(&b), "42");
	assert_int_equal(b.len, 2);
}

static void test_going_over_the_maximum_is_sticky_and_keeps_what_was_there(void **state)
{
	_cleanup_buf_ struct buf b = BUF(5);

	(void)state;
	assert_int_equal(buf_add_str(&b, "12345"), 0);
	assert_int_equal(buf_add_char(&b, '6'), -EMSGSIZE);
	assert_int_equal(buf_add(&b, "", 0), -EMSGSIZE);
	assert_string_equal(buf_text(&b), "12345");
	buf_clear(&b);
	assert_int_equal(buf_printf(&b, "%s", "abcdef"), -EMSGSIZE);
	buf_clear(&b);
	assert_int_equal(buf_printf(&b, "%s", "abcde"), 0);
}

static void test_take_gives_the_text_away(void **state)
{
	struct buf b = BUF(10);
	_cleanup_free_ char *text = NULL, *nothing = NULL;

	(void)state;
	buf_add_str(&b, "x");
	text = buf_take(&b);
	nothing = buf_take(&b);
	assert_string_equal(text, "x");
	assert_string_equal(nothing, "");
	assert_null(b.data);
}

static void test_reading_a_file_stops_at_the_maximum(void **state)
{
	char path[] = "/tmp/sunk-buf-XXXXXX";
	_cleanup_fd_ int fd = mkstemp(path);
	_cleanup_buf_ struct buf exact = BUF(8), small = BUF(7);

	(void)state;
	assert_int_equal(write(fd, "12345678", 8), 8);
	assert_int_equal(buf_read_file(&exact, path), 0);
	assert_string_equal(buf_text(&exact), "12345678");
	assert_int_equal(buf_read_file(&small, path), -EFBIG);
	unlink(path);
	assert_int_equal(buf_read_file(&exact, path), -ENOENT);
}

static void test_an_empty_file_is_empty_text(void **state)
{
	_cleanup_buf_ struct buf b = BUF(100);

	(void)state;
	assert_int_equal(buf_read_file(&b, "/dev/null"), 0);
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.len, 0);
}

static void test_reserved_room_is_text_that_ends(void **state)
{
	_cleanup_buf_ struct buf b = BUF(1000);

	(void)state;
	assert_non_null(buf_reserve(&b, 500));
	assert_string_equal(buf_text(&b), "");
	buf_add_str(&b, "x");
	assert_non_null(buf_reserve(&b, 999));
	assert_string_equal(buf_text(&b), "x");
	assert_null(buf_reserve(&b, 1000));
}

static void test_reading_into_a_buffer_that_went_over_fails(void **state)
{
	_cleanup_fd_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct buf b = BUF(2);

	(void)state;
	buf_add_str(&b, "too much");
	assert_int_equal(buf_read_fd(&b, fd), -EMSGSIZE);
	assert_int_equal(buf_read_file(&b, "/"), -EISDIR);
}

TEST_MAIN(TEST(append_keeps_a_nul_behind_the_text), TEST(going_over_the_maximum_is_sticky_and_keeps_what_was_there),
          TEST(take_gives_the_text_away), TEST(reading_a_file_stops_at_the_maximum), TEST(an_empty_file_is_empty_text),
          TEST(reserved_room_is_text_that_ends), TEST(reading_into_a_buffer_that_went_over_fails))
