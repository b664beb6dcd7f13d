/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hook API's routes with a scheduler that answers as a test says: at once, later, or never.
 */
#include "scheduler/routes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/test_call.h"

#define KEPT_MAX 16
#define ANY_TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* What the routes know of it is its address. */
struct scheduler {
	bool keep;
	int status;
	const char *json;
	int n; /* asks so far */
	enum scheduler_hook hook; /* of the last one */
	uint32_t job_id, run;
	usec_t park;
	char uid[ROUTES_UID_MAX + 1], token[128], node[64];
	struct hook_ask kept[KEPT_MAX];
	int n_kept;
};

void scheduler_hook(struct scheduler *s, const struct hook_ask *ask)
{
	s->n++;
	s->hook = ask->hook;
	s->job_id = ask->job_id;
	s->run = ask->run;
	s->park = ask->park;
	str_copy(s->uid, sizeof(s->uid), ask->uid);
	str_copy(s->token, sizeof(s->token), ask->token);
	str_copy(s->node, sizeof(s->node), str_or(ask->node, ""));
	if (!s->keep) {
		ask->reply(ask->arg, s->status, s->json);
		return;
	}
	assert_true(s->n_kept < KEPT_MAX);
	s->kept[s->n_kept++] = *ask;
}

static void answer_kept(struct scheduler *s, int status, const char *json)
{
	for (int i = 0; i < s->n_kept; i++)
		s->kept[i].reply(s->kept[i].arg, status, json);
	s->n_kept = 0;
}

struct fixture {
	struct scheduler scheduler;
	struct loop *loop;
	struct metrics *metrics;
	struct routes *routes;
	struct http_client *client;
};

static struct fixture *fixture_new(const struct http_server_options *options, bool with_metrics)
{
	struct http_server_options o = options ? *options : (struct http_server_options) { 0 };
	struct fixture *f = NEW(struct fixture);
	struct err err = { 0 };

	f->scheduler.status = 200;
	f->loop = loop_new();
	f->metrics = with_metrics ? metrics_new() : NULL;
	o.address = "127.0.0.1";
	f->routes = routes_new(f->loop, &o, &f->scheduler, f->metrics, &err);
	assert_string_equal(err_text(&err), "no error");
	assert_non_null(f->routes);
	f->client = http_client_new(f->loop, "sunk-test");
	return f;
}

static void fixture_free(struct fixture *f)
{
	http_client_free(f->client);
	routes_free(f->routes);
	answer_kept(&f->scheduler, 503, NULL);
	metrics_free(f->metrics);
	loop_free(f->loop);
	free(f);
}
DEFINE_FREEP(struct fixture, fixture_free)
#define _cleanup_fixture_ _cleanup_(fixture_freep)

static void start(struct fixture *f, const char *method, const char *target, const char *token, const char *body,
                  struct result *ret)
{
	_cleanup_free_ char *url = str_printf("http://127.0.0.1:%d%s", routes_port(f->routes), target);
	struct http_request q = { .method = method,
		                  .url = url,
		                  .bearer = token,
		                  .body = body,
		                  .body_len = body ? strlen(body) : 0,
		                  .body_max = 65536 };

	result_done(ret);
	http_start(f->client, &q, NULL, keep_result, ret);
}

static int ask(struct fixture *f, const char *method, const char *target, const char *token, const char *body,
               struct result *ret)
{
	start(f, method, target, token, body, ret);
	wait_for(f->loop, &ret->n, 1);
	return ret->status;
}

static bool counted(struct fixture *f, const char *line)
{
	_cleanup_buf_ struct buf out = BUF(65536);

	metrics_write(f->metrics, &out);
	return strstr(buf_text(&out), line);
}

static int raw_open(const struct fixture *f, const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		                 .sin_port = htons(routes_port(f->routes)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

static void test_each_call_reaches_the_scheduler_as_what_it_is(void **state)
{
	static const struct {
		const char *method, *target;
		enum scheduler_hook hook;
		uint32_t id, run;
		const char *node;
		usec_t park;
	} calls[] = {
		{ "POST", "/v1/jobs/1/started?uid=u-1&run=3", HOOK_STARTED, 1, 3 },
		{ "POST", "/v1/jobs/1/started?uid=u-1&run=3&node=gpu-012-002", HOOK_STARTED, 1, 3, "gpu-012-002" },
		{ "POST", "/v1/jobs/1/started?uid=u-1&run=3&node=n1&seconds=300", HOOK_STARTED, 1, 3, "n1",
		  .park = 300 * USEC_SEC },
		{ "GET", "/v1/jobs/67108863/wait?uid=u-1&run=0", HOOK_WAIT, 67108863, 0 },
		{ "GET", "/v1/jobs/2/wait?uid=u-1&run=0&seconds=300", HOOK_WAIT, 2, 0, .park = 300 * USEC_SEC },
		{ "POST", "/v1/jobs/2147483647/terminate?uid=u-1&run=4294967295", HOOK_TERMINATE, 2147483647,
		  UINT32_MAX },
		{ "POST", "/v1/jobs/42/drain?x=y&uid=u%2D1", HOOK_DRAIN, 42, 0 },
	};
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	f->scheduler.json = "{\"phase\":\"Failed\",\"exitCode\":3}";
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_int_equal(ask(f, calls[i].method, calls[i].target, ANY_TOKEN, NULL, &r), 200);
		assert_string_equal(r.body, f->scheduler.json);
		assert_string_equal(r.content_type, "application/json");
		assert_int_equal(f->scheduler.n, (int)i + 1);
		assert_int_equal(f->scheduler.hook, calls[i].hook);
		assert_int_equal(f->scheduler.job_id, calls[i].id);
		assert_int_equal(f->scheduler.run, calls[i].run);
		assert_int_equal(f->scheduler.park, calls[i].park);
		assert_string_equal(f->scheduler.node, str_or(calls[i].node, ""));
		assert_string_equal(f->scheduler.uid, "u-1");
		assert_string_equal(f->scheduler.token, ANY_TOKEN);
	}
	assert_true(counted(f, "sunk_scheduler_hook_requests_total{hook=\"drain\",code=\"200\"} 1\n"));
	assert_true(counted(f, "sunk_scheduler_hook_requests_total{hook=\"wait\",code=\"200\"} 2\n"));
	assert_true(counted(f, "sunk_scheduler_hook_requests_total{hook=\"started\",code=\"200\"} 3\n"));
}

static void test_what_the_scheduler_says_is_the_answer(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	f->scheduler.status = 204;
	f->scheduler.json = "never sent";
	assert_int_equal(ask(f, "GET", "/v1/jobs/1/wait?uid=u", ANY_TOKEN, NULL, &r), 204);
	assert_int_equal(r.body_len, 0);
	f->scheduler.status = 403;
	f->scheduler.json = "{\"error\":\"another Pod's job\"}";
	assert_int_equal(ask(f, "GET", "/v1/jobs/1/wait?uid=u", ANY_TOKEN, NULL, &r), 403);
	assert_string_equal(r.body, f->scheduler.json);
	f->scheduler.status = 200;
	f->scheduler.json = NULL;
	assert_int_equal(ask(f, "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, " {} \n", &r), 200);
	assert_string_equal(r.body, "{}");
	assert_true(counted(f, "{hook=\"wait\",code=\"403\"} 1\n"));
}

static void test_a_request_of_the_wrong_form_is_told_so_and_never_reaches_the_scheduler(void **state)
{
	static const struct {
		const char *method, *target, *token, *body;
		int status;
	} calls[] = {
		{ "GET", "/", ANY_TOKEN, NULL, 404 },
		{ "GET", "/v1/jobs", ANY_TOKEN, NULL, 404 },
		{ "GET", "/v1/jobs/1", ANY_TOKEN, NULL, 404 },
		{ "GET", "/v1/jobs/1/", ANY_TOKEN, NULL, 404 },
		{ "GET", "/v1/jobs/1/wait/", ANY_TOKEN, NULL, 404 },
		{ "GET", "/v1/jobs//wait/more?uid=u", ANY_TOKEN, NULL, 404 },
		{ "POST", "/v1/jobs/1/kill?uid=u", ANY_TOKEN, NULL, 404 },
		{ "POST", "/v2/jobs/1/drain?uid=u", ANY_TOKEN, NULL, 404 },
		{ "POST", "/v1/jobs/1/wait?uid=u", ANY_TOKEN, NULL, 405 },
		{ "GET", "/v1/jobs/1/started?uid=u", ANY_TOKEN, NULL, 405 },
		{ "GET", "/v1/jobs/1/terminate?uid=u", ANY_TOKEN, NULL, 405 },
		{ "DELETE", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, NULL, 405 },
		{ "GET", "/v1/jobs/1/wait?uid=u", NULL, NULL, 401 },
		{ "GET", "/v1/jobs/x/wait?uid=u", NULL, NULL, 401 },
		{ "GET", "/v1/jobs/1/wait?uid=u&seconds=0", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=u&seconds=1e9", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/0/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/-1/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/+1/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/%201/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1x/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs//wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/2147483648/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/99999999999999999999/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1%2f2/wait?uid=u", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=u&run=-1", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=u&run=4294967296", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=u&run=x", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=u&run=", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=a%0ab", ANY_TOKEN, NULL, 400 },
		{ "GET", "/v1/jobs/1/wait?uid=%ff", ANY_TOKEN, NULL, 400 },
		{ "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, "garbage", 400 },
		{ "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, "{", 400 },
		{ "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, "{}}", 400 },
		{ "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, "{\"reason\":\"$(reboot)\"}", 400 },
	};
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		int status = ask(f, calls[i].method, calls[i].target, calls[i].token, calls[i].body, &r);

		if (status != calls[i].status)
			fail_msg("%s %s: %d instead of %d", calls[i].method, calls[i].target, status, calls[i].status);
		assert_memory_equal(r.body, "{\"error\": \"", 11);
		assert_null(strstr(r.body, ANY_TOKEN));
	}
	assert_int_equal(f->scheduler.n, 0);
	assert_true(counted(f, "{hook=\"other\",code=\"404\"} 8\n"));
	assert_true(counted(f, "{hook=\"wait\",code=\"405\"} 1\n"));
	assert_true(counted(f, "{hook=\"wait\",code=\"401\"} 2\n"));
}

static void test_an_authorization_that_is_no_bearer_is_none(void **state)
{
	static const char *const given[] = { "Basic dTpw", "Bearer", "Bearer  ", "Bearerx", "" };
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, false);
	_cleanup_free_ char *url = str_printf("http://127.0.0.1:%d/v1/jobs/1/wait?uid=u", routes_port(f->routes));
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(given); i++) {
		_cleanup_free_ char *header = str_printf("Authorization: %s", given[i]);

		do_call(f->loop, f->client,
		        &(struct http_request) { .method = "GET", .url = url, .headers = { header }, .body_max = 9999 },
		        &r);
		assert_int_equal(r.status, 401);
	}
	do_call(f->loop, f->client,
	        &(struct http_request) {
	                .method = "GET", .url = url, .headers = { "Authorization: bearer  t" }, .body_max = 9999 },
	        &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(f->scheduler.token, "t");
}

static void test_a_long_uid_and_a_large_body_are_refused(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, false);
	_cleanup_result_ struct result r = { 0 };
	char target[ROUTES_UID_MAX + 64], body[ROUTES_BODY_MAX + 2];
	size_t at = (size_t)snprintf(target, sizeof(target), "/v1/jobs/1/drain?uid=");

	(void)state;
	memset(target + at, 'u', ROUTES_UID_MAX);
	target[at + ROUTES_UID_MAX] = 0;
	assert_int_equal(ask(f, "POST", target, ANY_TOKEN, NULL, &r), 200);
	target[at + ROUTES_UID_MAX] = 'u';
	target[at + ROUTES_UID_MAX + 1] = 0;
	assert_int_equal(ask(f, "POST", target, ANY_TOKEN, NULL, &r), 400);
	memset(body, ' ', sizeof(body) - 1);
	body[sizeof(body) - 1] = 0;
	assert_int_equal(ask(f, "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, body, &r), 413);
	assert_int_equal(f->scheduler.n, 1);
}

static void test_a_slow_body_keeps_nobody_waiting(void **state)
{
	_cleanup_fixture_ struct fixture *f =
	        fixture_new(&(struct http_server_options) { .read_timeout = USEC_SEC }, false);
	_cleanup_fd_ int slow =
	        raw_open(f, "POST /v1/jobs/1/drain?uid=u HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n"
	                    "Content-Length: 100\r\n\r\nx");
	struct timeval patience = { .tv_sec = TEST_DEADLINE / USEC_SEC };
	_cleanup_result_ struct result r = { 0 };
	char text[512];
	ssize_t n;

	(void)state;
	assert_int_equal(ask(f, "POST", "/v1/jobs/1/drain?uid=u", ANY_TOKEN, NULL, &r), 200);
	setsockopt(slow, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while ((n = recv(slow, text, sizeof(text), 0)) > 0)
		;
	assert_int_equal(n, 0);
	assert_int_equal(f->scheduler.n, 1);
}

static void test_a_call_stays_parked_until_the_scheduler_answers(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	_cleanup_result_ struct result parked = { 0 }, other = { 0 };

	(void)state;
	f->scheduler.keep = true;
	start(f, "POST", "/v1/jobs/1/terminate?uid=u", ANY_TOKEN, NULL, &parked);
	wait_for(f->loop, &f->scheduler.n_kept, 1);
	assert_int_equal(routes_parked(f->routes), 1);
	assert_int_equal(ask(f, "GET", "/healthz", NULL, NULL, &other), 200);
	assert_int_equal(parked.n, 0);
	assert_false(counted(f, "hook=\"terminate\""));
	answer_kept(&f->scheduler, 200, "{\"phase\":\"Gone\"}");
	wait_for(f->loop, &parked.n, 1);
	assert_int_equal(parked.status, 200);
	assert_string_equal(parked.body, "{\"phase\":\"Gone\"}");
	assert_int_equal(routes_parked(f->routes), 0);
	assert_true(counted(f, "{hook=\"terminate\",code=\"200\"} 1\n"));
}

static void test_a_client_that_leaves_while_parked_leaves_nothing_behind(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	_cleanup_result_ struct result r = { 0 };
	int fd;

	(void)state;
	f->scheduler.keep = true;
	fd = raw_open(f, "GET /v1/jobs/1/wait?uid=u HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
	wait_for(f->loop, &f->scheduler.n_kept, 1);
	close(fd);
	f->scheduler.keep = false;
	assert_int_equal(ask(f, "POST", "/v1/jobs/2/started?uid=u", ANY_TOKEN, NULL, &r), 200);
	answer_kept(&f->scheduler, 200, "{}");
	assert_int_equal(routes_parked(f->routes), 0);
	assert_int_equal(ask(f, "POST", "/v1/jobs/2/started?uid=u", ANY_TOKEN, NULL, &r), 200);
}

static void test_the_end_answers_who_is_parked_and_the_scheduler_may_still_answer(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, true);
	int fd;
	char text[512] = "";

	(void)state;
	f->scheduler.keep = true;
	fd = raw_open(f, "GET /v1/jobs/1/wait?uid=u HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
	wait_for(f->loop, &f->scheduler.n_kept, 1);
	routes_free(TAKE_PTR(f->routes));
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	assert_memory_equal(text, "HTTP/1.1 503", 12);
	close(fd);
	answer_kept(&f->scheduler, 200, "{}");
}

static void test_an_address_that_is_taken_is_said(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(NULL, false);
	struct err err = { 0 };

	(void)state;
	assert_null(routes_new(f->loop,
	                       &(struct http_server_options) { .address = "127.0.0.1", .port = routes_port(f->routes) },
	                       &f->scheduler, NULL, &err));
	assert_non_null(strstr(err_text(&err), "cannot listen on 127.0.0.1"));
	routes_free(NULL);
}

TEST_MAIN(TEST(each_call_reaches_the_scheduler_as_what_it_is), TEST(what_the_scheduler_says_is_the_answer),
          TEST(a_request_of_the_wrong_form_is_told_so_and_never_reaches_the_scheduler),
          TEST(an_authorization_that_is_no_bearer_is_none), TEST(a_long_uid_and_a_large_body_are_refused),
          TEST(a_slow_body_keeps_nobody_waiting), TEST(a_call_stays_parked_until_the_scheduler_answers),
          TEST(a_client_that_leaves_while_parked_leaves_nothing_behind),
          TEST(the_end_answers_who_is_parked_and_the_scheduler_may_still_answer),
          TEST(an_address_that_is_taken_is_said))
