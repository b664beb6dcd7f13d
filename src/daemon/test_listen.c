/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/listen.h"

#include "base/test.h"

static void test_addresses_are_read_as_people_write_them(void **state)
{
	static const struct {
		const char *text, *address;
		uint16_t port;
	} cases[] = {
		{ "0.0.0.0:8080", "0.0.0.0", 8080 }, { ":8080", "0.0.0.0", 8080 },  { "127.0.0.1:0", "127.0.0.1", 0 },
		{ "[::1]:443", "::1", 443 },         { "[::]:65535", "::", 65535 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		struct listen at;

		assert_int_equal(listen_parse(cases[i].text, &at, &err), 0);
		assert_string_equal(at.address, cases[i].address);
		assert_int_equal(at.port, cases[i].port);
	}
}

static void test_what_is_no_address_is_told(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "8080", "'8080' is no ADDRESS:PORT, as in 0.0.0.0:8080 or :8080" },
		{ "", "'' is no ADDRESS:PORT, as in 0.0.0.0:8080 or :8080" },
		{ "1.2.3.4:", "'1.2.3.4:' has no port from 0 to 65535 behind its last colon" },
		{ "1.2.3.4:65536", "'1.2.3.4:65536' has no port from 0 to 65535 behind its last colon" },
		{ "localhost:80", "'localhost:80': 'localhost' is no address in numbers" },
		{ "::1:80", "'::1:80': an IPv6 address needs brackets, as in [::1]:8080" },
		{ "[::1:80", "'[::1:80': an IPv6 address needs brackets, as in [::1]:8080" },
		{ "[]:80", "'[]:80': '' is no address in numbers" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		struct listen at = { .port = 7 };

		assert_true(listen_parse(cases[i].text, &at, &err) < 0);
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(at.port, 7);
	}
}

static void test_urls_put_brackets_around_ipv6(void **state)
{
	char url[LISTEN_URL_MAX];

	(void)state;
	assert_string_equal(listen_url("http", "10.0.0.7", 8090, url), "http://10.0.0.7:8090");
	assert_string_equal(listen_url("https", "::1", 8090, url), "https://[::1]:8090");
	assert_string_equal(listen_url("http", "host.name", 1, url), "http://host.name:1");
}

TEST_MAIN(TEST(addresses_are_read_as_people_write_them), TEST(what_is_no_address_is_told),
          TEST(urls_put_brackets_around_ipv6))
