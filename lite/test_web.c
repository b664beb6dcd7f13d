/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The server and a client, both on one loop.
 */
#include "lite/web.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/test.h"
#include "lite/pki.h"
#include "net/http_client.h"

#define DEADLINE (20 * USEC_SEC)
#define BODY_MAX 1000

struct fixture {
	char dir[64];
	struct pki pki;
	struct loop *loop;
	struct web *web;
	struct exchange *kept; /* a request to answer later, or a stream */
	struct buf out;        /* what the stream has to send */
	bool end;
	int closed, handled, settles;
	bool unsettled;
	struct http_client *client;
};

static ssize_t out_read(void *arg, char *to, size_t max)
{
	struct fixture *f = arg;
	size_t n = MIN_OF(max, f->out.len);

	if (n == 0)
		return f->end ? -1 : 0;
	memcpy(to, f->out.data, n);
	buf_drop_front(&f->out, n);
	return (ssize_t)n;
}

static void out_closed(void *arg)
{
	struct fixture *f = arg;

	f->closed++;
	f->kept = NULL;
}

static const struct stream_ops out_ops = { out_read, out_closed };

static void handle(void *arg, struct exchange *x)
{
	struct fixture *f = arg;
	const char *body, *path = xch_path(x);
	size_t len;

	f->handled++;
	body = xch_body(x, &len);
	if (xch_too_large(x)) {
		xch_answer(x, 413, "text/plain", mem_strdup("too large"), 9);
	} else if (str_eq(path, "/later")) {
		f->kept = x;
	} else if (str_eq(path, "/stream")) {
		f->kept = x;
		xch_stream(x, 200, "application/json", &out_ops, f);
	} else if (str_eq(path, "/drop")) {
		xch_drop(x);
	} else {
		char *text = str_printf("%s %s q=%s %.*s", xch_method(x), path, str_or(xch_query(x, "q"), "-"),
		                        (int)len, body);

		xch_add_header(x, "Warning", "299 - \"hm\"");
		xch_answer(x, 201, "text/plain", text, strlen(text));
	}
}

static bool settle(void *arg)
{
	struct fixture *f = arg;

	f->settles++;
	return !f->unsettled;
}

static int setup(void **state)
{
	struct fixture *f = NEW(struct fixture);
	struct err err = { 0 };

	strcpy(f->dir, "/tmp/lite-web-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	if (pki_open(&f->pki, f->dir, "127.0.0.1", &err) < 0)
		fail_msg("%s", err_text(&err));
	f->loop = loop_new();
	f->out = BUF(1 << 20);
	if (web_new(f->loop,
	            &(struct web_options) { "127.0.0.1", 0, f->pki.cert_pem, f->pki.key_pem, BODY_MAX, handle, settle,
	                                    f },
	            &f->web, &err) < 0)
		fail_msg("%s", err_text(&err));
	f->client = http_client_new(f->loop, "test");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[100];

	http_client_free(f->client);
	web_free(f->web);
	loop_free(f->loop);
	pki_done(&f->pki);
	buf_done(&f->out);
	snprintf(path, sizeof(path), "%s/ca.crt", f->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/ca.key", f->dir);
	unlink(path);
	rmdir(f->dir);
	free(f);
	return 0;
}

struct client {
	struct fixture *fixture;
	struct http_call *call;
	struct buf got;
	bool done, failed;
	int status;
};

static int got_chunk(void *arg, const char *data, size_t len, struct err *err)
{
	struct client *c = arg;

	(void)err;
	return buf_add(&c->got, data, len);
}

static void got_answer(void *arg, struct http_answer *answer)
{
	struct client *c = arg;

	c->call = NULL;
	c->done = true;
	c->failed = answer->error;
	c->status = answer->status;
	buf_add_str(&c->got, answer->body);
}

static void start(struct fixture *f, struct client *c, const char *path, const char *body)
{
	struct http_tls tls = { .ca_pem = f->pki.ca_pem };
	char url[200];

	*c = (struct client) { .fixture = f, .got = BUF(1 << 20) };
	snprintf(url, sizeof(url), "https://localhost:%u%s", web_port(f->web), path);
	c->call = http_start(f->client,
	                     &(struct http_request) { .method = body ? "POST" : "GET",
	                                              .url = url,
	                                              .body = body,
	                                              .body_len = body ? strlen(body) : 0,
	                                              .tls = &tls,
	                                              .timeout = DEADLINE },
	                     got_chunk, got_answer, c);
}

static void stop(struct fixture *f, struct client *c)
{
	(void)f;
	if (c->call)
		http_cancel(c->call);
	buf_done(&c->got);
}

/* Runs both sides until `reached` says so. */
static void run_until(struct fixture *f, bool (*reached)(struct fixture *f, struct client *c), struct client *c)
{
	usec_t end = clock_mono(clock_real()) + DEADLINE;

	while (clock_mono(clock_real()) < end) {
		loop_run_once(f->loop, 2 * USEC_MSEC);
		if (reached(f, c))
			return;
	}
	fail_msg("not reached; got '%s'", buf_text(&c->got));
}

static void run_a_while(struct fixture *f)
{
	for (int i = 0; i < 50; i++)
		loop_run_once(f->loop, USEC_MSEC);
}

static bool ended(struct fixture *f, struct client *c)
{
	(void)f;
	return c->done;
}

static bool is_kept(struct fixture *f, struct client *c)
{
	(void)c;
	return f->kept;
}

static bool got_something(struct fixture *f, struct client *c)
{
	(void)f;
	return c->got.len > 0;
}

static bool is_closed(struct fixture *f, struct client *c)
{
	(void)c;
	return f->closed > 0;
}

static void test_a_request_arrives_whole_and_is_answered(void **state)
{
	struct fixture *f = *state;
	struct client c;

	start(f, &c, "/a%20b?q=x%2By+z", "hello");
	run_until(f, ended, &c);
	assert_int_equal(c.status, 201);
	assert_string_equal(buf_text(&c.got), "POST /a b q=x+y z hello");
	assert_int_equal(f->settles, 1);
	stop(f, &c);
	assert_int_equal(web_exchanges(f->web), 0);
}

static void test_an_answer_may_come_later(void **state)
{
	struct fixture *f = *state;
	struct client a, b;

	start(f, &a, "/later", NULL);
	run_until(f, is_kept, &a);
	start(f, &b, "/now", NULL);
	run_until(f, ended, &b);
	xch_answer(f->kept, 200, "text/plain", mem_strdup("at last"), 7);
	run_until(f, ended, &a);
	assert_string_equal(buf_text(&a.got), "at last");
	stop(f, &a);
	stop(f, &b);
}

static void test_a_body_over_the_limit_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *big = mem_alloc(BODY_MAX + 2);
	struct client c;

	memset(big, 'x', BODY_MAX + 1);
	start(f, &c, "/x", big);
	run_until(f, ended, &c);
	assert_int_equal(c.status, 413);
	stop(f, &c);
	big[BODY_MAX] = '\0';
	start(f, &c, "/x", big);
	run_until(f, ended, &c);
	assert_int_equal(c.status, 201);
	stop(f, &c);
}

static void test_a_stream_sends_as_things_come_and_ends(void **state)
{
	struct fixture *f = *state;
	struct client c;

	start(f, &c, "/stream", NULL);
	run_until(f, is_kept, &c);
	run_a_while(f);
	buf_add_str(&f->out, "one\n");
	xch_wake(f->kept);
	run_until(f, got_something, &c);
	buf_add_str(&f->out, "two\n");
	f->end = true;
	xch_wake(f->kept);
	run_until(f, ended, &c);
	assert_false(c.failed);
	assert_string_equal(buf_text(&c.got), "one\ntwo\n");
	assert_int_equal(f->closed, 1);
	stop(f, &c);
}

static void test_a_client_that_leaves_a_quiet_stream_is_noticed(void **state)
{
	struct fixture *f = *state;
	struct client c;

	start(f, &c, "/stream", NULL);
	buf_add_str(&f->out, "one\n");
	run_until(f, got_something, &c);
	http_cancel(TAKE_PTR(c.call));
	http_client_forget_connections(f->client);
	run_until(f, is_closed, &c);
	stop(f, &c);
	assert_int_equal(web_exchanges(f->web), 0);
}

static void test_a_stream_can_be_cut(void **state)
{
	struct fixture *f = *state;
	struct client c;

	start(f, &c, "/stream", NULL);
	buf_add_str(&f->out, "one\n");
	run_until(f, got_something, &c);
	xch_break(f->kept);
	run_until(f, ended, &c);
	assert_true(c.failed);
	assert_int_equal(f->closed, 1);
	stop(f, &c);
}

static void test_an_answer_can_be_lost(void **state)
{
	struct fixture *f = *state;
	struct client c;

	start(f, &c, "/drop", NULL);
	run_until(f, ended, &c);
	assert_true(c.failed);
	assert_int_equal(c.status, 0);
	stop(f, &c);
}

static bool settled_once(struct fixture *f, struct client *c)
{
	(void)c;
	return f->settles == 1;
}

static void test_no_answer_leaves_before_the_world_has_settled(void **state)
{
	struct fixture *f = *state;
	struct client c;

	f->unsettled = true;
	start(f, &c, "/x", NULL);
	run_until(f, settled_once, &c);
	run_a_while(f);
	assert_false(c.done);
	assert_int_equal(f->handled, 1);
	f->unsettled = false;
	web_release(f->web);
	run_until(f, ended, &c);
	assert_int_equal(c.status, 201);
	assert_int_equal(f->handled, 1);
	stop(f, &c);
}

static void test_stopping_ends_streams_and_requests_that_wait(void **state)
{
	struct fixture *f = *state;
	struct client a, b;

	start(f, &a, "/later", NULL);
	run_until(f, is_kept, &a);
	f->kept = NULL;
	start(f, &b, "/stream", NULL);
	buf_add_str(&f->out, "one\n");
	run_until(f, got_something, &b);
	web_free(f->web);
	f->web = NULL;
	assert_int_equal(f->closed, 1);
	stop(f, &a);
	stop(f, &b);
}

static void test_keys_are_for_the_owner_only_and_kept(void **state)
{
	struct fixture *f = *state;
	struct pki again;
	struct stat st;
	char path[100];

	snprintf(path, sizeof(path), "%s/ca.key", f->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(pki_open(&again, f->dir, "example.com", NULL), 0);
	assert_string_equal(again.ca_pem, f->pki.ca_pem);
	assert_string_not_equal(again.cert_pem, f->pki.cert_pem);
	pki_done(&again);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_not_equal(pki_open(&again, f->dir, "example.com", NULL), 0);
}

#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(WITH_SERVER(a_request_arrives_whole_and_is_answered), WITH_SERVER(an_answer_may_come_later),
          WITH_SERVER(a_body_over_the_limit_is_refused), WITH_SERVER(a_stream_sends_as_things_come_and_ends),
          WITH_SERVER(a_client_that_leaves_a_quiet_stream_is_noticed), WITH_SERVER(a_stream_can_be_cut),
          WITH_SERVER(an_answer_can_be_lost), WITH_SERVER(no_answer_leaves_before_the_world_has_settled),
          WITH_SERVER(stopping_ends_streams_and_requests_that_wait), WITH_SERVER(keys_are_for_the_owner_only_and_kept))
