/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/answer.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

#define BODY_MAX 1024
#define OK "HTTP/1.1 200 OK\r\n"

/* In pieces of this size, and then the end if it is not over by itself. */
static int read_pieces(struct answer *a, const char *text, size_t len, size_t piece, struct err *err)
{
	answer_init(a, BODY_MAX);
	for (size_t at = 0; at < len && !a->over; at += piece) {
		/* of its own size: a byte read too far is seen */
		_cleanup_free_ char *bytes = mem_dup(text + at, MIN_OF(piece, len - at));
		int r = answer_feed(a, bytes, MIN_OF(piece, len - at), err);

		if (r < 0)
			return r;
	}
	return answer_end(a, err);
}

static const struct {
	const char *text;
	int status;
	const char *body;
	bool by_end; /* of the connection */
} good[] = {
	{ OK "Content-Length: 4\r\n\r\nfine", 200, "fine" },
	{ OK "Content-Length: 0\r\n\r\n", 200, "" },
	{ "HTTP/1.1 204 No Content\r\n\r\n", 204, "" },
	{ "HTTP/1.1 304 Same\r\n\r\n", 304, "" },
	{ "HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\nx", 404, "x" },
	{ "\r\n" OK "content-length:   2   \r\nX-Empty:\r\n\r\nab", 200, "ab" },
	{ OK "Content-Length: 2\r\nConnection: close\r\n\r\nab", 200, "ab" },
	{ "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, "ab" },
	{ OK "\r\nuntil the end", 200, "until the end", true },
	{ OK "\r\n", 200, "", true },
	{ OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;why=so\r\nde\r\n0\r\n\r\n", 200, "abcde" },
	{ OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\nX-More: 8\r\n\r\n", 200, "a" },
	{ "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", 200, "x" },
	{ "HTTP/1.1 102 Wait\r\nX: y\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\nx",
	  503, "x" },
	{ "HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 101, "" },
};

static void test_an_answer_is_the_same_however_it_comes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		size_t len = strlen(good[i].text);

		for (size_t piece = 1; piece <= len; piece++) {
			struct err err = { 0 };
			struct answer a;

			if (read_pieces(&a, good[i].text, len, piece, &err) < 0)
				fail_msg("case %zu, pieces of %zu: %s", i, piece, err_text(&err));
			assert_int_equal(a.status, good[i].status);
			assert_string_equal(buf_text(&a.body), good[i].body);
			answer_done(&a);
		}
	}
}

/* All but the last byte are not it, unless the end of the connection is the end of the answer. */
static void test_an_answer_that_breaks_off_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const char *head_end = strstr(good[i].text, "\r\n\r\n");
		size_t len = good[i].by_end ? (size_t)(head_end - good[i].text) + 4 : strlen(good[i].text);

		for (size_t cut = 0; cut < len; cut++) {
			struct err err = { 0 };
			struct answer a;

			if (read_pieces(&a, good[i].text, cut, len, &err) != -ECONNRESET)
				fail_msg("case %zu is taken after %zu bytes", i, cut);
			assert_non_null(strstr(err_text(&err), cut ? "in the middle" : "without an answer"));
			answer_done(&a);
		}
	}
}

static void test_what_is_no_answer_is_refused(void **state)
{
	static const char *const cases[] = {
		"SSH-2.0-OpenSSH_9.2\r\n",
		"<html>\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"HTTP/1.1 abc\r\n\r\n",
		"HTTP/1.1 000 x\r\n\r\n",
		"HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n",
		"HTTP/9.9 200 OK\r\n\r\n",
		OK "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
		OK "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
		OK "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Content-Length: -1\r\n\r\n",
		OK "Content-Length: 0x4\r\n\r\nabcd",
		OK "Content-Length: 99999999999999999999999\r\n\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		OK "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		OK "a header without colon\r\n\r\n",
		OK "X: a\x01\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t piece = 1; piece <= strlen(cases[i]); piece++) {
			struct err err = { 0 };
			struct answer a;

			if (read_pieces(&a, cases[i], strlen(cases[i]), piece, &err) != -EBADMSG)
				fail_msg("case %zu, pieces of %zu: %d, %s", i, piece, a.status, err_text(&err));
			assert_non_null(strstr(err_text(&err), "no HTTP: "));
			answer_done(&a);
		}
	}
}

static int read_text(const struct buf *text, size_t piece, struct err *err)
{
	struct answer a;
	int r = read_pieces(&a, buf_text(text), text->len, piece, err);

	answer_done(&a);
	return r;
}

static void test_limits_are_kept(void **state)
{
	_cleanup_buf_ struct buf text = BUF(1 << 20);
	struct err err = { 0 };

	(void)state;
	buf_printf(&text, OK "Content-Length: %d\r\n\r\n%*s", BODY_MAX, BODY_MAX, "x");
	assert_int_equal(read_text(&text, 100, &err), 0);
	buf_clear(&text);
	buf_printf(&text, OK "Content-Length: %d\r\n\r\n%*s", BODY_MAX + 1, BODY_MAX + 1, "x");
	assert_int_equal(read_text(&text, 100, &err), -EMSGSIZE);
	assert_string_equal(err_text(&err), "answer larger than 1 KiB");

	buf_clear(&text);
	buf_printf(&text, OK "X: %*s\r\n\r\n", (int)ANSWER_HEAD_MAX - 100, "x");
	assert_int_equal(read_text(&text, 4096, &err), 0);
	buf_clear(&text);
	buf_printf(&text, OK "X: %*s", (int)ANSWER_HEAD_MAX + 1, "x");
	text.data[strlen(OK) + 3] = 'x'; /* blanks before a value do not count */
	assert_int_equal(read_text(&text, 4096, &err), -EMSGSIZE);
	assert_non_null(strstr(err_text(&err), "headers"));
}

static void test_what_never_gets_to_the_point_is_cut_off(void **state)
{
	static const char *const endless[][2] = {
		{ "", "\r\n" },
		{ "", "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n", "1;aaaaaaaaaaaaaaaa=b\r\nx\r\n" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n" },
		{ OK, "A: b\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(endless); i++) {
		_cleanup_buf_ struct buf text = BUF(1 << 20);
		struct err err = { 0 };

		buf_add_str(&text, endless[i][0]);
		while (text.len < 500000)
			buf_add_str(&text, endless[i][1]);
		if (read_text(&text, 1000, &err) != -EMSGSIZE)
			fail_msg("case %zu: %s", i, err_text(&err));
	}
}

static void test_what_is_behind_an_answer_is_not_of_it(void **state)
{
	static const char text[] = OK "Content-Length: 1\r\n\r\nx" OK;
	struct answer a;

	(void)state;
	assert_int_equal(read_pieces(&a, text, strlen(text), strlen(text), NULL), 0);
	assert_string_equal(buf_text(&a.body), "x");
	assert_int_equal(a.status, 200);
	answer_done(&a);
}

TEST_MAIN(TEST(an_answer_is_the_same_however_it_comes), TEST(an_answer_that_breaks_off_is_none),
          TEST(what_is_no_answer_is_refused), TEST(limits_are_kept), TEST(what_never_gets_to_the_point_is_cut_off),
          TEST(what_is_behind_an_answer_is_not_of_it))
