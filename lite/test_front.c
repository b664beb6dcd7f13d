/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a request is before any rule looks at it: its path, its Accept header, its token, its continue token.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "lite/accept.h"
#include "lite/account.h"
#include "lite/auth.h"
#include "lite/route.h"
#include "lite/token.h"

static const char *route_text(const char *method, const char *path, bool watch)
{
	static char text[3000];
	struct route r;

	if (!route_parse(&r, method, path, watch))
		return "too long";
	if (!r.resource)
		snprintf(text, sizeof(text), "%s %s", r.verb, r.path);
	else
		snprintf(text, sizeof(text), "%s %s/%s/%s ns=%s name=%s sub=%s", r.verb, r.group, r.version, r.plural,
		         r.ns, r.name, r.sub);
	return text;
}

static void test_paths_and_methods_say_what_is_asked(void **state)
{
	static const struct {
		const char *method, *path, *want;
		bool watch;
	} cases[] = {
		{ "GET", "/api/v1/pods", "list /v1/pods ns= name= sub=" },
		{ "GET", "/api/v1/pods", "watch /v1/pods ns= name= sub=", true },
		{ "GET", "/api/v1/namespaces/a/pods/b", "get /v1/pods ns=a name=b sub=" },
		{ "GET", "/api/v1/namespaces/a/pods/b", "watch /v1/pods ns=a name=b sub=", true },
		{ "POST", "/api/v1/namespaces/a/pods/b/binding", "create /v1/pods ns=a name=b sub=binding" },
		{ "PATCH", "/api/v1/nodes/n/status", "patch /v1/nodes ns= name=n sub=status" },
		{ "GET", "/api/v1/namespaces", "list /v1/namespaces ns= name= sub=" },
		{ "GET", "/api/v1/namespaces/a", "get /v1/namespaces ns= name=a sub=" },
		{ "PUT", "/api/v1/namespaces/a/finalize", "update /v1/namespaces ns= name=a sub=finalize" },
		{ "PUT", "/api/v1/namespaces/a/status", "update /v1/namespaces ns= name=a sub=status" },
		{ "DELETE", "/apis/apps/v1/namespaces/a/deployments",
		  "deletecollection apps/v1/deployments ns=a name= sub=" },
		{ "DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete apps/v1/deployments ns=a name=d sub=" },
		{ "HEAD", "/api/v1/nodes", "list /v1/nodes ns= name= sub=" },
		{ "GET", "/healthz", "get /healthz" },
		{ "GET", "/api/v1", "get /api/v1" },
		{ "GET", "/apis/apps/v1", "get /apis/apps/v1" },
		{ "POST", "/lite/faults", "post /lite/faults" },
		{ "GET", "/", "get /" },
		{ "BREW", "/api/v1/pods", " /v1/pods ns= name= sub=" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(route_text(cases[i].method, cases[i].path, cases[i].watch), cases[i].want);
}

static void test_a_path_without_end_is_refused(void **state)
{
	char path[ROUTE_PATH_MAX + 2];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_string_equal(route_text("GET", path, false), "too long");
	assert_string_equal(route_text("GET", "/api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m", false),
	                    "get /api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m");
}

static void test_the_first_form_we_can_serve_is_taken(void **state)
{
	static const struct {
		const char *header;
		bool ok;
		const char *as, *version;
	} cases[] = {
		{ NULL, true, "", "" },
		{ "", true, "", "" },
		{ "*/*", true, "", "" },
		{ "application/json", true, "", "" },
		{ "application/json; charset=utf-8", true, "", "" },
		{ "application/vnd.kubernetes.protobuf,application/json", true, "", "" },
		{ "application/vnd.kubernetes.protobuf", false, "", "" },
		{ "text/xml", false, "", "" },
		{ "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
		  "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
		  true, "Table", "v1" },
		{ "application/json;as=Table;v=v9;g=meta.k8s.io, application/json", true, "", "" },
		{ "application/json;as=Table;v=v9;g=meta.k8s.io", false, "", "" },
		{ "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", true, "PartialObjectMetadataList",
		  "v1" },
		{ "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json", true,
		  "APIGroupDiscoveryList", "v2" },
	};
	struct accept a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(accept_parse(cases[i].header, &a), cases[i].ok);
		if (!cases[i].ok)
			continue;
		assert_string_equal(a.as, cases[i].as);
		assert_string_equal(a.version, cases[i].version);
	}
	assert_true(media_is("application/json; charset=utf-8", "application/json"));
	assert_false(media_is("application/jsonx", "application/json"));
	assert_false(media_is(NULL, "application/json"));
}

static void test_continue_tokens_are_the_real_servers(void **state)
{
	_cleanup_free_ char *one = token_make(261, "p1"), *old = token_make(-1, "c2");
	struct page_token t;

	(void)state;
	assert_string_equal(one, "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjYxLCJzdGFydCI6Ii9wMVx1MDAwMCJ9");
	assert_int_equal(token_parse(one, &t, NULL), 0);
	assert_int_equal(t.rv, 261);
	assert_string_equal(t.after, "p1");
	assert_int_equal(token_parse(old, &t, NULL), 0);
	assert_int_equal(t.rv, -1);
	/* One that the real server made, without the leading slash. */
	assert_int_equal(token_parse("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYzJcdTAwMDAifQ", &t, NULL),
	                 0);
	assert_string_equal(t.after, "c2");
	assert_int_equal(t.rv, -1);
}

static void test_bad_continue_tokens_are_refused_in_the_real_servers_words(void **state)
{
	static const char *const bad[] = { "abc", "!!!", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0" };
	struct page_token t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;

		assert_true(token_parse(bad[i], &t, &st) < 0);
		assert_int_equal(st.code, 400);
		assert_non_null(strstr(st.body, "invalid continue token: continue key is not valid: "));
		if (i == 0)
			assert_non_null(strstr(st.body, "invalid character 'i' looking for beginning of value"));
	}
}

static void test_tokens_say_who_asks(void **state)
{
	_cleanup_(auth_freep) struct auth *a = auth_new();
	const struct user *u;

	(void)state;
	assert_int_equal(auth_add(a, "secret", "admin", "1", "system:masters", USEC_NEVER, NULL), 0);
	assert_int_equal(auth_add(a, "brief", "guest", NULL, NULL, 1000, NULL), 0);
	u = auth_user(a, "Bearer secret", 5000);
	assert_string_equal(u->name, "admin");
	assert_true(user_in_group(u, "system:masters"));
	assert_true(user_in_group(u, "system:authenticated"));
	assert_string_equal(auth_user(a, NULL, 0)->name, "system:anonymous");
	assert_null(auth_user(a, "Bearer secre", 0));
	assert_null(auth_user(a, "Bearer secret ", 0));
	assert_null(auth_user(a, "Bearer ", 0));
	assert_null(auth_user(a, "Basic secret", 0));
	assert_string_equal(auth_user(a, "Bearer brief", 999)->name, "guest");
	assert_null(auth_user(a, "Bearer brief", 1000));
	assert_true(auth_add(a, "", "x", NULL, NULL, USEC_NEVER, NULL) < 0);
}

static void test_service_accounts_bring_tokens_that_outlive_a_restart(void **state)
{
	const struct account who = { .uid = "u-1", .ns = "tenant", .name = "syn.cer", .expires = 2000 * USEC_SEC };
	_cleanup_free_ char *token = account_token("key", &who), *header = str_printf("Bearer %s", token);
	_cleanup_free_ char *other = account_token("another key", &who), *wrong = str_printf("Bearer %s", other);
	_cleanup_(auth_freep) struct auth *a = auth_new();
	const struct user *u;

	(void)state;
	assert_null(auth_user(a, header, 0)); /* no key, no accounts */
	auth_set_key(a, "key");
	u = auth_user(a, header, 1000 * USEC_SEC);
	assert_non_null(u);
	assert_string_equal(u->name, "system:serviceaccount:tenant:syn.cer");
	assert_string_equal(u->uid, "u-1");
	assert_true(user_in_group(u, "system:serviceaccounts"));
	assert_true(user_in_group(u, "system:serviceaccounts:tenant"));
	assert_true(user_in_group(u, "system:authenticated"));
	assert_null(auth_user(a, header, 2000 * USEC_SEC)); /* over */
	assert_null(auth_user(a, wrong, 0));
	header[strlen("Bearer account:")]++; /* a later end: not what was signed */
	assert_null(auth_user(a, header, 0));
	assert_null(auth_user(a, "Bearer account:", 0));
	assert_null(auth_user(a, "Bearer account:1:2:3:4:5", 0));
}

static void test_users_come_from_a_file_of_tokens(void **state)
{
	char path[] = "/tmp/lite-tokens-XXXXXX";
	int fd = mkstemp(path);
	_cleanup_(auth_freep) struct auth *a = auth_new();
	struct err err = { 0 };
	const struct user *u;

	(void)state;
	dprintf(fd, "# comment\nt1,alice,7,\"dev,ops\"\r\n\n\"t,2\",bob,8\nt3,\"o\"\"hara\",9,dev\n");
	assert_int_equal(auth_add_file(a, path, &err), 0);
	u = auth_user(a, "Bearer t1", 0);
	assert_string_equal(u->name, "alice");
	assert_string_equal(u->uid, "7");
	assert_true(user_in_group(u, "dev") && user_in_group(u, "ops"));
	assert_string_equal(auth_user(a, "Bearer t,2", 0)->name, "bob");
	assert_string_equal(auth_user(a, "Bearer t3", 0)->name, "o\"hara");
	dprintf(fd, "lonely\n");
	assert_true(auth_add_file(a, path, &err) < 0);
	assert_non_null(strstr(err_text(&err), ":6: "));
	assert_null(strstr(err_text(&err), "lonely"));
	close(fd);
	unlink(path);
}

TEST_MAIN(TEST(paths_and_methods_say_what_is_asked), TEST(a_path_without_end_is_refused),
          TEST(the_first_form_we_can_serve_is_taken), TEST(continue_tokens_are_the_real_servers),
          TEST(bad_continue_tokens_are_refused_in_the_real_servers_words), TEST(tokens_say_who_asks),
          TEST(service_accounts_bring_tokens_that_outlive_a_restart), TEST(users_come_from_a_file_of_tokens))
