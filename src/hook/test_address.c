/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/str.h"
#include "base/test.h"

#define DEADLINE_MS 30000

static void test_an_address_has_host_port_and_path(void **state)
{
	static const struct {
		const char *url, *host, *port, *authority, *path;
	} cases[] = {
		{ "http://h", "h", "80", "h", "/" },
		{ "http://h/", "h", "80", "h", "/" },
		{ "http://h:8090/v1/x?a=b&c=d", "h", "8090", "h:8090", "/v1/x?a=b&c=d" },
		{ "http://h:80/x", "h", "80", "h", "/x" },
		{ "http://h:/x", "h", "80", "h", "/x" },
		{ "http://h?a=b", "h", "80", "h", "/?a=b" },
		{ "http://h:1/a#part", "h", "1", "h:1", "/a" },
		{ "http://h#part", "h", "80", "h", "/" },
		{ "http://127.0.0.1:65535/a:b@c", "127.0.0.1", "65535", "127.0.0.1:65535", "/a:b@c" },
		{ "http://[::1]/", "::1", "80", "[::1]", "/" },
		{ "http://[fe80::1%eth0]:8090/x", "fe80::1%eth0", "8090", "[fe80::1%eth0]:8090", "/x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct address a;
		struct err err = { 0 };

		if (address_split(cases[i].url, &a, &err) < 0)
			fail_msg("%s: %s", cases[i].url, err_text(&err));
		assert_string_equal(a.host, cases[i].host);
		assert_string_equal(a.port, cases[i].port);
		assert_string_equal(a.authority, cases[i].authority);
		assert_string_equal(a.path, cases[i].path);
		address_done(&a);
	}
}

static void test_what_is_no_address_is_refused(void **state)
{
	static const char *const cases[] = {
		NULL,
		"",
		"h",
		"https://h/",
		"file:///etc/passwd",
		"http://",
		"http:///x",
		"http://:80/",
		"http://h:0/",
		"http://h:65536/",
		"http://h:8090x/",
		"http://h:-1/",
		"http://[::1/",
		"http://[]:80/",
		"http://[::1]x/",
		"http://[::1]8090/",
		"http://user:secret@h/",
		"http://h/a b",
		"http://h/\r\nX: y",
		"http://h\n/",
		"http://h/\x80",
	};
	_cleanup_free_ char *too_long = str_printf("http://%0*d/", ADDRESS_HOST_MAX + 1, 0);
	struct address a;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (address_split(cases[i], &a, &err) != -EINVAL)
			fail_msg("%s", cases[i]);
		assert_non_null(strstr(err_text(&err), "is no address: "));
		assert_null(strstr(err_text(&err), "secret"));
	}
	assert_int_equal(address_split(too_long, &a, &err), -EINVAL);
}

static int look(const char *url, struct lookup *l, struct err *err)
{
	struct address a;
	int r;

	assert_int_equal(address_split(url, &a, err), 0);
	assert_int_equal(lookup_start(l, &a, err), 0);
	while ((r = lookup_look(l, &a, err)) == -EAGAIN) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	}
	address_done(&a);
	assert_int_equal(l->fd, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	return r;
}

static void test_numbers_need_no_lookup(void **state)
{
	const struct sockaddr_in6 *six;
	const struct sockaddr_in *four;
	struct address a;
	struct lookup l;

	(void)state;
	assert_int_equal(address_split("http://127.0.0.1:8090", &a, NULL), 0);
	assert_int_equal(lookup_start(&l, &a, NULL), 0);
	assert_int_equal(l.fd, -1);
	assert_int_equal(lookup_look(&l, &a, NULL), 0);
	assert_int_equal(l.found.n, 1);
	four = (const struct sockaddr_in *)&l.found.at[0].to;
	assert_int_equal(four->sin_family, AF_INET);
	assert_int_equal(four->sin_port, htons(8090));
	assert_int_equal(four->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	address_done(&a);

	assert_int_equal(address_split("http://[::1]", &a, NULL), 0);
	assert_int_equal(lookup_start(&l, &a, NULL), 0);
	assert_int_equal(l.found.n, 1);
	six = (const struct sockaddr_in6 *)&l.found.at[0].to;
	assert_int_equal(six->sin6_family, AF_INET6);
	assert_int_equal(six->sin6_port, htons(80));
	address_done(&a);
}

static void test_a_name_is_looked_up(void **state)
{
	struct lookup l;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(look("http://localhost:8090/", &l, &err), 0);
	assert_true(l.found.n >= 1);
}

static void test_a_name_that_is_none_is_said_plainly(void **state)
{
	struct lookup l;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(look("http://no..name:8090/", &l, &err), -EHOSTUNREACH);
	assert_non_null(strstr(err_text(&err), "the name 'no..name' is not known: "));
}

static void test_a_lookup_can_be_stopped(void **state)
{
	struct address a;
	struct lookup l;

	(void)state;
	assert_int_equal(address_split("http://somewhere.invalid/", &a, NULL), 0);
	assert_int_equal(lookup_start(&l, &a, NULL), 0);
	assert_true(l.pid > 0);
	lookup_stop(&l);
	assert_int_equal(l.fd, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	lookup_stop(&l);
	address_done(&a);
}

/* Whatever ends the child: here it is a signal. */
static void test_a_lookup_that_breaks_off_is_an_error(void **state)
{
	struct pollfd p = { .events = POLLIN };
	struct err err = { 0 };
	struct address a;
	struct lookup l;
	int r;

	(void)state;
	assert_int_equal(address_split("http://somewhere.invalid/", &a, NULL), 0);
	assert_int_equal(lookup_start(&l, &a, NULL), 0);
	kill(l.pid, SIGKILL);
	p.fd = l.fd;
	assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
	r = lookup_look(&l, &a, &err); /* it may have been quicker than the signal */
	assert_true(r == -EIO || r == -EHOSTUNREACH);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	address_done(&a);
}

TEST_MAIN(TEST(an_address_has_host_port_and_path), TEST(what_is_no_address_is_refused), TEST(numbers_need_no_lookup),
          TEST(a_name_is_looked_up), TEST(a_name_that_is_none_is_said_plainly), TEST(a_lookup_can_be_stopped),
          TEST(a_lookup_that_breaks_off_is_an_error))
