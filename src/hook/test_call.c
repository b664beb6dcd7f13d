/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hook_call() against a small server in a child process that plays a script: one line of behaviour per connection.
 */
#include "hook/call.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/test_listen.h"

enum act { END, CLOSE, HANG, ANSWER_200, ANSWER_503, ANSWER_504, ANSWER_ENDLESS, ANSWER_ECHO_AUTH, ANSWER_ECHO_PATH };

struct server {
	pid_t pid;
	char url[64];
};

static void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

static void endless(int fd)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	say(fd, "HTTP/1.1 200 OK\r\n\r\n");
	while (write(fd, block, sizeof(block)) > 0)
		;
}

static void echo_auth(int fd, const char *request)
{
	const char *at = strcasestr(request, "authorization: ");
	size_t len = at ? strcspn(at, "\r\n") : 0;
	_cleanup_free_ char *text =
	        str_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s", len, (int)len, at ? at : "");

	say(fd, text);
}

static void echo_path(int fd, const char *request)
{
	size_t len = strcspn(request, "\r\n");
	_cleanup_free_ char *text =
	        str_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s", len, (int)len, request);

	say(fd, text);
}

static void act_out(int fd, enum act act)
{
	char request[8192] = "";
	size_t len = 0;
	ssize_t n;

	if (act == CLOSE)
		return;
	while (!strstr(request, "\r\n\r\n") && (n = read(fd, request + len, sizeof(request) - 1 - len)) > 0)
		request[len += (size_t)n] = 0;
	switch (act) {
	case ANSWER_200: say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"); break;
	case ANSWER_503: say(fd, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"); break;
	case ANSWER_504: say(fd, "HTTP/1.1 504 No\r\nContent-Length: 3\r\n\r\npod"); break;
	case ANSWER_ENDLESS: endless(fd); break;
	case ANSWER_ECHO_AUTH: echo_auth(fd, request); break;
	case ANSWER_ECHO_PATH: echo_path(fd, request); break;
	case HANG: pause(); break;
	default: break;
	}
}

static struct server serve(const enum act *script)
{
	uint16_t port = 0;
	int fd = test_listen(&port);
	struct server s = { 0 };

	snprintf(s.url, sizeof(s.url), "http://127.0.0.1:%u/x", port);
	s.pid = fork();
	if (s.pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		for (; *script != END; script++) {
			int conn = accept(fd, NULL, NULL);

			act_out(conn, *script);
			close(conn);
		}
		_exit(0);
	}
	close(fd);
	return s;
}

static void end(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

static int call(struct server *s, bool retry, usec_t timeout, const char *token, struct hook_answer *ret,
                struct err *err)
{
	return hook_call(&(struct hook_call) { .method = "POST",
	                                       .url = s->url,
	                                       .token = token,
	                                       .body = "{}",
	                                       .retry = retry,
	                                       .deadline = clock_mono(clock_real()) + timeout },
	                 ret, err);
}

/* The other side answers before we give up, in every try anew. */
static void test_each_try_tells_how_long_it_waits(void **state)
{
	struct server s = serve((enum act[]) { CLOSE, ANSWER_ECHO_PATH, END });
	struct hook_answer a;
	const char *at;
	int64_t ms = 0;

	(void)state;
	assert_int_equal(hook_call(&(struct hook_call) { .method = "POST",
	                                                 .url = s.url,
	                                                 .body = "{}",
	                                                 .retry = true,
	                                                 .tell_time = true,
	                                                 .deadline = clock_mono(clock_real()) + 20 * USEC_SEC },
	                           &a, NULL),
	                 0);
	at = strstr(buf_text(&a.body), "POST /x?timeoutMs=");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "POST /x?timeoutMs=%" SCNd64, &ms), 1);
	assert_true(ms > 10000 && ms < 19000);
	buf_done(&a.body);
	end(&s);
}

static void test_an_answer_comes_back_whole(void **state)
{
	struct server s = serve((enum act[]) { ANSWER_200, END });
	struct hook_answer a;

	(void)state;
	assert_int_equal(call(&s, false, 5 * USEC_SEC, NULL, &a, NULL), 0);
	assert_int_equal(a.status, 200);
	assert_string_equal(buf_text(&a.body), "fine");
	buf_done(&a.body);
	end(&s);
}

static void test_the_token_is_sent_as_bearer(void **state)
{
	struct server s = serve((enum act[]) { ANSWER_ECHO_AUTH, END });
	struct hook_answer a;

	(void)state;
	assert_int_equal(call(&s, false, 5 * USEC_SEC, "t0ken", &a, NULL), 0);
	assert_string_equal(buf_text(&a.body), "Authorization: Bearer t0ken");
	buf_done(&a.body);
	end(&s);
}

static void test_a_server_that_is_away_is_tried_again_until_it_answers(void **state)
{
	struct server s = serve((enum act[]) { CLOSE, ANSWER_503, CLOSE, ANSWER_200, END });
	struct hook_answer a;

	(void)state;
	assert_int_equal(call(&s, true, 20 * USEC_SEC, NULL, &a, NULL), 0);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.attempts, 4);
	buf_done(&a.body);
	end(&s);
}

static void test_a_504_is_an_answer_and_not_tried_again(void **state)
{
	struct server s = serve((enum act[]) { ANSWER_504, END });
	struct hook_answer a;

	(void)state;
	assert_int_equal(call(&s, true, 5 * USEC_SEC, NULL, &a, NULL), 0);
	assert_int_equal(a.status, 504);
	assert_string_equal(buf_text(&a.body), "pod");
	buf_done(&a.body);
	end(&s);
}

static void test_silence_ends_at_the_deadline_and_names_the_address(void **state)
{
	struct server s = serve((enum act[]) { HANG, END });
	struct hook_answer a;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(call(&s, true, 300 * USEC_MSEC, NULL, &a, &err), -ETIMEDOUT);
	assert_non_null(strstr(err_text(&err), s.url));
	end(&s);
}

static void test_nobody_listening_is_said_plainly(void **state)
{
	struct server s = serve((enum act[]) { END });
	struct hook_answer a;
	struct err err = { 0 };

	(void)state;
	waitpid(s.pid, NULL, 0);
	assert_int_equal(call(&s, false, 5 * USEC_SEC, "secret", &a, &err), -ECONNREFUSED);
	assert_non_null(strstr(err_text(&err), s.url));
	assert_null(strstr(err_text(&err), "secret"));
}

static void test_an_endless_answer_is_cut_off(void **state)
{
	struct server s = serve((enum act[]) { ANSWER_ENDLESS, ANSWER_ENDLESS, END });
	struct hook_answer a;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(call(&s, true, 20 * USEC_SEC, NULL, &a, &err), -EMSGSIZE);
	assert_non_null(strstr(err_text(&err), "larger than 256 KiB"));
	end(&s);
}

static void test_an_address_that_is_none_is_refused(void **state)
{
	struct hook_answer a;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(hook_call(&(struct hook_call) { .method = "GET", .url = "file:///etc/passwd" }, &a, &err),
	                 -EINVAL);
	assert_int_equal(hook_call(&(struct hook_call) { .method = "GET" }, &a, &err), -EINVAL);
}

static int token_of(const char *content, size_t len, char **ret, struct err *err)
{
	char path[] = "/tmp/sunk-token-XXXXXX";
	int fd = mkstemp(path), r;

	assert_int_equal(write(fd, content, len), (ssize_t)len);
	close(fd);
	r = hook_read_token(path, ret, err);
	unlink(path);
	return r;
}

static void test_a_token_file_holds_one_word(void **state)
{
	_cleanup_free_ char *token = NULL, *big = mem_alloc(HOOK_TOKEN_MAX + 1);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(token_of(" abc\n", 5, &token, &err), 0);
	assert_string_equal(token, "abc");
	assert_int_equal(token_of("\n", 1, &token, &err), -EINVAL);
	assert_int_equal(token_of("a b", 3, &token, &err), -EINVAL);
	assert_null(strstr(err_text(&err), "a b"));
	assert_int_equal(token_of("a\0b", 3, &token, &err), -EINVAL);
	memset(big, 'a', HOOK_TOKEN_MAX + 1);
	assert_int_equal(token_of(big, HOOK_TOKEN_MAX + 1, &token, &err), -EFBIG);
	assert_int_equal(hook_read_token("/nonexistent/token", &token, &err), -ENOENT);
	assert_non_null(strstr(err_text(&err), "/nonexistent/token"));
}

TEST_MAIN(TEST(each_try_tells_how_long_it_waits), TEST(an_answer_comes_back_whole), TEST(the_token_is_sent_as_bearer),
          TEST(a_server_that_is_away_is_tried_again_until_it_answers), TEST(a_504_is_an_answer_and_not_tried_again),
          TEST(silence_ends_at_the_deadline_and_names_the_address), TEST(nobody_listening_is_said_plainly),
          TEST(an_endless_answer_is_cut_off), TEST(an_address_that_is_none_is_refused),
          TEST(a_token_file_holds_one_word))
