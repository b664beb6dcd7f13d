/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hook API's routes with a syncer that answers as a test says: at once, later, or never.
 */
#include "syncer/routes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/test_call.h"

#define TOKEN "a-token-of-some-length"
#define KEPT_MAX 600

/* What the routes know of it is its address. */
struct syncer {
	bool keep;
	int n, n_kept;
	enum syncer_hook hook;
	char node[SYNCER_NODE_MAX + 1];
	bool strict;
	char pod[256], slurmd_uid[256];
	usec_t timeout;
	struct syncer_ask kept[KEPT_MAX];
};

void syncer_hook(struct syncer *s, const struct syncer_ask *ask)
{
	s->n++;
	s->hook = ask->hook;
	s->strict = ask->strict;
	s->timeout = ask->timeout;
	str_copy(s->pod, sizeof(s->pod), str_or(ask->pod, ""));
	str_copy(s->slurmd_uid, sizeof(s->slurmd_uid), str_or(ask->slurmd_uid, ""));
	str_copy(s->node, sizeof(s->node), ask->node);
	if (!s->keep) {
		ask->reply(ask->arg, 200, "{\"lock\":\"locked\"}");
		return;
	}
	assert_true(s->n_kept < KEPT_MAX);
	s->kept[s->n_kept++] = *ask;
}

static usec_t later; /* how far the clock of the routes is ahead */

static usec_t mono(const struct clock *c)
{
	(void)c;
	return clock_mono(clock_real()) + later;
}

static const struct clock test_clock = { mono, NULL };

struct fixture {
	struct syncer syncer;
	struct loop *loop;
	struct syncer_routes *routes;
	struct http_client *client;
	char file[64];
};

static void write_token(struct fixture *f, const char *text)
{
	FILE *to = fopen(f->file, "w");

	assert_non_null(to);
	fputs(text, to);
	assert_int_equal(fclose(to), 0);
}

static struct fixture *fixture_new(void)
{
	struct fixture *f = NEW(struct fixture);
	struct err err = { 0 };
	int fd;

	str_copy(f->file, sizeof(f->file), "/tmp/sunk-token.XXXXXX");
	fd = mkstemp(f->file);
	assert_true(fd >= 0);
	close(fd);
	write_token(f, TOKEN "\n");
	later = 0;
	f->loop = loop_new();
	f->routes = syncer_routes_new(f->loop,
	                              &(struct syncer_routes_options) { .http = { .address = "127.0.0.1" },
	                                                                .token_file = f->file,
	                                                                .syncer = &f->syncer,
	                                                                .clock = &test_clock },
	                              &err);
	assert_string_equal(err_text(&err), "no error");
	f->client = http_client_new(f->loop, "sunk-test");
	return f;
}

static void fixture_free(struct fixture *f)
{
	http_client_free(f->client);
	syncer_routes_free(f->routes);
	for (int i = 0; i < f->syncer.n_kept; i++)
		f->syncer.kept[i].reply(f->syncer.kept[i].arg, 503, "{}");
	loop_free(f->loop);
	unlink(f->file);
	free(f);
}
DEFINE_FREEP(struct fixture, fixture_free)
#define _cleanup_fixture_ _cleanup_(fixture_freep)

static void start(struct fixture *f, const char *method, const char *target, const char *token, const char *body,
                  struct result *ret)
{
	_cleanup_free_ char *url = str_printf("http://127.0.0.1:%d%s", syncer_routes_port(f->routes), target);

	result_done(ret);
	http_start(f->client,
	           &(struct http_request) { .method = method,
	                                    .url = url,
	                                    .bearer = token,
	                                    .body = body,
	                                    .body_len = body ? strlen(body) : 0,
	                                    .body_max = 65536 },
	           NULL, keep_result, ret);
}

static int ask(struct fixture *f, const char *method, const char *target, const char *token, const char *body,
               struct result *ret)
{
	start(f, method, target, token, body, ret);
	wait_for(f->loop, &ret->n, 1);
	return ret->status;
}

static void test_each_call_reaches_the_syncer_as_what_it_is(void **state)
{
	static const struct {
		const char *target, *body, *node;
		enum syncer_hook hook;
		bool strict;
		const char *pod;
		usec_t timeout;
		const char *slurmd_uid;
	} calls[] = {
		{ "/v1/nodes/n1/pre-hook", NULL, "n1", SYNCER_PRE_HOOK, false },
		{ "/v1/nodes/n1/pre-hook", "{\"jobId\":7,\"strict\":false}", "n1", SYNCER_PRE_HOOK, false },
		{ "/v1/nodes/a-012-002/pre-hook", "{\"jobId\":7,\"strict\":true,\"more\":[]}", "a-012-002",
		  SYNCER_PRE_HOOK, true },
		{ "/v1/nodes/n%20%22x/pre-hook", " {}\n", "n \"x", SYNCER_PRE_HOOK, false },
		{ "/v1/nodes/n1/post-hook", "{\"jobId\":7,\"strict\":false}", "n1", SYNCER_POST_HOOK, false },
		{ "/v1/nodes/n2/reboot", NULL, "n2", SYNCER_REBOOT, false },
		{ "/v1/nodes/n1/post-hook?timeoutMs=1500", "{\"pod\":\"ns/p/u-1\"}", "n1", SYNCER_POST_HOOK, false,
		  "ns/p/u-1", 1500 * USEC_MSEC },
		{ "/v1/nodes/n1/pre-hook", "{\"jobId\":7,\"slurmdUid\":\"u-2\"}", "n1", SYNCER_PRE_HOOK, false, NULL, 0,
		  "u-2" },
		{ "/v1/nodes/n1/pre-hook", "{\"slurmdUid\":null}", "n1", SYNCER_PRE_HOOK },
		{ "/v1/nodes/n1/pre-hook?timeoutMs=99999999999", NULL, "n1", SYNCER_PRE_HOOK },
		{ "/v1/nodes/n1/pre-hook?timeoutMs=-1", NULL, "n1", SYNCER_PRE_HOOK },
		{ "/v1/nodes/n1/pre-hook?timeoutMs=soon", NULL, "n1", SYNCER_PRE_HOOK },
	};
	_cleanup_fixture_ struct fixture *f = fixture_new();
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_int_equal(ask(f, "POST", calls[i].target, TOKEN, calls[i].body, &r), 200);
		assert_string_equal(r.body, "{\"lock\":\"locked\"}");
		assert_int_equal(f->syncer.n, (int)i + 1);
		assert_int_equal(f->syncer.hook, calls[i].hook);
		assert_string_equal(f->syncer.node, calls[i].node);
		assert_int_equal(f->syncer.strict, calls[i].strict);
		assert_string_equal(f->syncer.pod, str_or(calls[i].pod, ""));
		assert_string_equal(f->syncer.slurmd_uid, str_or(calls[i].slurmd_uid, ""));
		assert_int_equal(f->syncer.timeout, calls[i].timeout);
	}
}

static void test_a_request_of_the_wrong_form_never_reaches_the_syncer(void **state)
{
	static const struct {
		const char *method, *target, *token, *body;
		int status;
	} calls[] = {
		{ "POST", "/v1/nodes/n1/pre-hook", NULL, NULL, 401 },
		{ "POST", "/v1/nodes/n1/pre-hook", "", NULL, 401 },
		{ "POST", "/v1/nodes/n1/pre-hook", TOKEN "x", NULL, 401 },
		{ "POST", "/nowhere", "wrong", NULL, 401 }, /* who has no token learns nothing */
		{ "POST", "/nowhere", TOKEN, NULL, 404 },
		{ "POST", "/v1/nodes/n1", TOKEN, NULL, 404 },
		{ "POST", "/v1/nodes//pre-hook", TOKEN, NULL, 404 },
		{ "POST", "/v1/nodes/a/b/pre-hook", TOKEN, NULL, 404 },
		{ "POST", "/v1/nodes/n1/other-hook", TOKEN, NULL, 404 },
		{ "GET", "/v1/nodes/n1/pre-hook", TOKEN, NULL, 405 },
		{ "POST", "/v1/nodes/n1/pre-hook", TOKEN, "garbage", 400 },
		{ "POST", "/v1/nodes/n1/pre-hook", TOKEN, "[true]", 400 },
		{ "POST", "/v1/nodes/n1/pre-hook", TOKEN, "{\"strict\":\"yes\"}", 400 },
		{ "POST", "/v1/nodes/n1/post-hook", TOKEN, "{\"pod\":7}", 400 },
		{ "POST", "/v1/nodes/n1/pre-hook", TOKEN, "{\"slurmdUid\":7}", 400 },
	};
	_cleanup_fixture_ struct fixture *f = fixture_new();
	_cleanup_result_ struct result r = { 0 };
	_cleanup_free_ char *longer = mem_alloc(8192), *name = mem_alloc(400);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		int got = ask(f, calls[i].method, calls[i].target, calls[i].token, calls[i].body, &r);

		if (got != calls[i].status)
			fail_msg("%s %s %s: %d", calls[i].method, calls[i].target, str_or(calls[i].body, ""), got);
		assert_non_null(strstr(r.body, "\"error\""));
	}
	memset(longer, ' ', 8000);
	assert_int_equal(ask(f, "POST", "/v1/nodes/n1/pre-hook", TOKEN, longer, &r), 413);
	strcpy(name, "/v1/nodes/");
	memset(name + strlen(name), 'x', 300);
	strcat(name, "/pre-hook");
	assert_int_equal(ask(f, "POST", name, TOKEN, NULL, &r), 404);
	assert_int_equal(f->syncer.n, 0);
	assert_int_equal(ask(f, "GET", "/healthz", NULL, NULL, &r), 200);
}

static int raw_open(const struct fixture *f)
{
	static const char text[] =
	        "POST /v1/nodes/n1/pre-hook HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " TOKEN "\r\n"
	        "Connection: close\r\nContent-Length: 0\r\n\r\n";
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		                 .sin_port = htons(syncer_routes_port(f->routes)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

static void test_hundreds_wait_and_are_answered_together(void **state)
{
	enum { MANY = 300 };
	_cleanup_fixture_ struct fixture *f = fixture_new();
	int fds[MANY];

	(void)state;
	f->syncer.keep = true;
	for (int i = 0; i < MANY; i++)
		fds[i] = raw_open(f);
	wait_for(f->loop, &f->syncer.n_kept, MANY);
	for (int i = 0; i < MANY; i++)
		f->syncer.kept[i].reply(f->syncer.kept[i].arg, 200, "{}");
	f->syncer.n_kept = 0;
	for (int i = 0; i < MANY; i++) { /* the server's thread sends */
		char head[16] = { 0 };

		assert_int_equal(recv(fds[i], head, sizeof(head) - 1, MSG_WAITALL), (ssize_t)sizeof(head) - 1);
		assert_true(str_starts(head, "HTTP/1.1 200"));
		close(fds[i]);
	}
}

static void test_whoever_waits_at_the_end_is_sent_away(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new();
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	f->syncer.keep = true;
	start(f, "POST", "/v1/nodes/n1/pre-hook", TOKEN, NULL, &r);
	wait_for(f->loop, &f->syncer.n_kept, 1);
	syncer_routes_free(TAKE_PTR(f->routes));
	wait_for(f->loop, &r.n, 1);
	assert_int_equal(r.status, 503);
}

static void test_a_replaced_token_counts_soon_and_a_broken_file_changes_nothing(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new();
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	write_token(f, "another-token-of-length");
	later += SYNCER_TOKEN_REREAD;
	assert_int_equal(ask(f, "POST", "/v1/nodes/n1/pre-hook", TOKEN, NULL, &r), 401);
	assert_int_equal(ask(f, "POST", "/v1/nodes/n1/pre-hook", "another-token-of-length", NULL, &r), 200);
	write_token(f, "");
	later += SYNCER_TOKEN_REREAD;
	assert_int_equal(ask(f, "POST", "/v1/nodes/n1/pre-hook", "another-token-of-length", NULL, &r), 200);
}

static void test_without_a_good_token_nobody_is_served(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new();
	static const char *const texts[] = { "", "short", "\n\n", "with a \x01 in the middle of it" };
	struct syncer_routes_options o = { .http = { .address = "127.0.0.1" },
		                           .syncer = &f->syncer,
		                           .clock = &test_clock };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct err err = { 0 };

		write_token(f, texts[i]);
		o.token_file = f->file;
		assert_null(syncer_routes_new(f->loop, &o, &err));
		assert_non_null(strstr(err.text, f->file));
	}
	o.token_file = "/nowhere/at/all";
	assert_null(syncer_routes_new(f->loop, &o, NULL));
}

TEST_MAIN(TEST(each_call_reaches_the_syncer_as_what_it_is), TEST(a_request_of_the_wrong_form_never_reaches_the_syncer),
          TEST(hundreds_wait_and_are_answered_together), TEST(whoever_waits_at_the_end_is_sent_away),
          TEST(a_replaced_token_counts_soon_and_a_broken_file_changes_nothing),
          TEST(without_a_good_token_nobody_is_served))
