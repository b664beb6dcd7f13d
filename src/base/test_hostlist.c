/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hostlist.h"

#include <errno.h>
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"

#define JOINED_MAX ((size_t)4 << 20)

/* Expands and joins with blanks. */
static void assert_names(const char *text, const char *want)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	_cleanup_buf_ struct buf joined = BUF(JOINED_MAX);
	struct err err = { 0 };

	if (hostlist_parse(&h, text, &err) < 0)
		fail_msg("'%s': %s", text, err_text(&err));
	for (size_t i = 0; i < h.n; i++)
		buf_printf(&joined, "%s%s", i ? " " : "", h.names[i]);
	assert_string_equal(buf_text(&joined), want);
}

static void assert_short_form(const char *names, const char *want)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT, again = HOSTLIST_INIT;
	_cleanup_buf_ struct buf out = BUF(JOINED_MAX);
	struct err err = { 0 };

	assert_int_equal(hostlist_parse(&h, names, &err), 0);
	hostlist_format(&h, &out);
	assert_string_equal(buf_text(&out), want);
	assert_int_equal(hostlist_parse(&again, buf_text(&out), &err), 0);
	assert_int_equal(again.n, h.n);
	for (size_t i = 0; i < h.n; i++)
		assert_string_equal(again.names[i], h.names[i]);
}

static void test_expands_in_the_order_written(void **state)
{
	(void)state;
	assert_names("login", "login");
	assert_names("n[1-4,07],login", "n1 n2 n3 n4 n07 login");
	assert_names("n[8-11]", "n8 n9 n10 n11");
	assert_names("n[008-011]", "n008 n009 n010 n011");
	assert_names("b,a,b", "b a b");
	assert_names("n[3,1,2]", "n3 n1 n2");
	assert_names("[1-3]", "1 2 3");
	assert_names("rack-1.x_[2]", "rack-1.x_2");
	assert_names("", "");
	assert_names(NULL, "");
	assert_names("n[0]", "n0");
	assert_names("n[999999998-999999999]", "n999999998 n999999999");
	assert_names("n[08-100]x,z",
	             "n08x n09x n10x n11x n12x n13x n14x n15x n16x n17x n18x n19x n20x n21x n22x n23x n24x n25x "
	             "n26x n27x n28x n29x n30x n31x n32x n33x n34x n35x n36x n37x n38x n39x n40x n41x n42x n43x n44x "
	             "n45x n46x "
	             "n47x n48x n49x n50x n51x n52x n53x n54x n55x n56x n57x n58x n59x n60x n61x n62x n63x n64x n65x "
	             "n66x n67x "
	             "n68x n69x n70x n71x n72x n73x n74x n75x n76x n77x n78x n79x n80x n81x n82x n83x n84x n85x n86x "
	             "n87x n88x "
	             "n89x n90x n91x n92x n93x n94x n95x n96x n97x n98x n99x n100x z");
}

static void test_several_brackets_multiply(void **state)
{
	(void)state;
	assert_names("r[1-2]n[1-3]", "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3");
	assert_names("[1-2]x[08-09]-[5,7]", "1x08-5 1x08-7 1x09-5 1x09-7 2x08-5 2x08-7 2x09-5 2x09-7");
	assert_names("a[1][2][3]", "a123");
}

static void test_what_is_no_hostlist_is_refused_and_nothing_is_added(void **state)
{
	static const char *const bad[] = { "n[",
		                           "n[1",
		                           "n[1-",
		                           "n]",
		                           "n[]",
		                           "n[1-]",
		                           "n[-1]",
		                           "n[a]",
		                           "n[1,]",
		                           "n[,1]",
		                           "n[3-1]",
		                           ",",
		                           "a,",
		                           ",a",
		                           "a,,b",
		                           "a b",
		                           "a;b",
		                           "a/b",
		                           "../x",
		                           "$(x)",
		                           "n[1-2-3]",
		                           "n[1 2]",
		                           "n[[1]]",
		                           "n[0x1]",
		                           "n[1]]",
		                           "é",
		                           "a\nb",
		                           "n[1234567890]",
		                           "n[1-9999999999]",
		                           "[1-2][a",
		                           "n[1;2]",
		                           "a'b",
		                           "a\"b",
		                           "*",
		                           "ALL!" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
		struct err err = { 0 };

		hostlist_add(&h, "was-there");
		if (hostlist_parse(&h, bad[i], &err) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_true(str_starts(err.text, "hostlist '"));
		assert_int_equal(h.n, 1);
		assert_string_equal(h.names[0], "was-there");
	}
}

static void test_no_expression_gives_more_names_than_the_limit(void **state)
{
	static const char *const many[] = { "n[1-100001]",
		                            "n[0-999][0-999]",
		                            "n[1-999999999]",
		                            "[0-9][0-9][0-9][0-9][0-9][0-9]",
		                            "a[1-50000],b[1-50000],c",
		                            "a[1-60000]b[1-60000]c[1-60000]" };
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(many); i++) {
		assert_int_equal(hostlist_parse(&h, many[i], &err), -E2BIG);
		assert_non_null(strstr(err.text, "more than 100000 names"));
		assert_int_equal(h.n, 0);
	}
	assert_int_equal(hostlist_parse(&h, "n[1-100000]", &err), 0);
	assert_int_equal(h.n, HOSTLIST_NAMES_MAX);
	/* the limit is one expression's, not the list's */
	assert_int_equal(hostlist_parse(&h, "m[1-2]", &err), 0);
	assert_int_equal(h.n, HOSTLIST_NAMES_MAX + 2);
}

/* Or else a short text could keep us busy for minutes. */
static void test_brackets_in_a_name_are_bounded(void **state)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(hostlist_parse(&h, "[0][1][2][3][4][5][6][7],a[1]", &err), 0);
	assert_int_equal(h.n, 2);
	assert_string_equal(h.names[0], "01234567");
	assert_int_equal(hostlist_parse(&h, "[0-99999][0][0][0][0][0][0][0][0]", &err), -E2BIG);
	assert_string_equal(err.text, "hostlist '[0-99999][0][0][0][0][0][0][0][0]': more than 8 brackets in a name");
	assert_int_equal(h.n, 2);
}

static void test_no_name_is_longer_than_the_limit(void **state)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	char text[HOSTLIST_NAME_MAX + 8];
	struct err err = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text));
	text[HOSTLIST_NAME_MAX] = 0;
	assert_int_equal(hostlist_parse(&h, text, &err), 0);
	text[HOSTLIST_NAME_MAX] = 'x';
	text[HOSTLIST_NAME_MAX + 1] = 0;
	assert_int_equal(hostlist_parse(&h, text, &err), -E2BIG);
	strcpy(text + HOSTLIST_NAME_MAX - 1, "[8-9]");
	assert_int_equal(hostlist_parse(&h, text, &err), 0);
	strcpy(text + HOSTLIST_NAME_MAX - 1, "[9-10]");
	assert_int_equal(hostlist_parse(&h, text, &err), -E2BIG);
	assert_int_equal(h.n, 3);
}

static void test_the_short_form_joins_what_can_be_joined(void **state)
{
	(void)state;
	assert_short_form("", "");
	assert_short_form("login", "login");
	assert_short_form("n1", "n1");
	assert_short_form("n1,n2,n3", "n[1-3]");
	assert_short_form("n1,n2,n3,n4,n07,login", "n[1-4,07],login");
	assert_short_form("n8,n9,n10,n11", "n[8-11]");
	assert_short_form("n98,n99,n100", "n[98-100]");
	assert_short_form("n098,n099,n100", "n[098-100]");
	assert_short_form("n08,n09,n10", "n[08-10]");
	assert_short_form("n08,n9,n10", "n[08,9-10]");
	assert_short_form("n9,n010", "n[9,010]");
	assert_short_form("n09,n010", "n[09,010]");
	assert_short_form("n3,n2,n1", "n[3,2,1]");
	assert_short_form("n1,n1,n2", "n[1,1-2]");
	assert_short_form("a1,b1,a2", "a1,b1,a2");
	assert_short_form("1,2,3", "[1-3]");
	assert_short_form("n1-2,n1-3", "n1-[2-3]");
	assert_short_form("x1y,x2y", "x1y,x2y");
	assert_short_form("n0000000001,n0000000002", "n0[000000001-000000002]");
	assert_short_form("n999999999,n1000000000", "n999999999,n1000000000");
}

static void test_sorting_puts_2_before_10_and_keeps_each_name_once(void **state)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT, none = HOSTLIST_INIT;
	_cleanup_buf_ struct buf out = BUF(1000);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(hostlist_parse(&h, "n10,n2,login,n1,n2,n02,gpu3,n,n10,gpu20", &err), 0);
	hostlist_sort_unique(&h);
	for (size_t i = 0; i < h.n; i++)
		buf_printf(&out, "%s ", h.names[i]);
	assert_string_equal(buf_text(&out), "gpu3 gpu20 login n n1 n02 n2 n10 ");
	hostlist_sort_unique(&none);
	assert_int_equal(none.n, 0);
}

static void test_has_looks_for_the_whole_name(void **state)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(hostlist_parse(&h, "n[1-3]", &err), 0);
	assert_true(hostlist_has(&h, "n2"));
	assert_false(hostlist_has(&h, "n"));
	assert_false(hostlist_has(&h, "n22"));
	assert_false(hostlist_has(&h, "n02"));
}

/* Random names, sorted or not: the short form expands to the same names in the same order. */
static void test_any_names_survive_the_short_form(void **state)
{
	static const char *const stems[] = { "n", "gpu-", "n1-", "", "x.y", "n0" };
	struct rng rng = rng_seeded(17);

	(void)state;
	for (int round = 0; round < 500; round++) {
		_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT, again = HOSTLIST_INIT;
		_cleanup_buf_ struct buf out = BUF(JOINED_MAX);
		struct err err = { 0 };

		for (size_t n = 1 + rng_below(&rng, 60); n > 0; n--) {
			_cleanup_free_ char *name = str_printf("%s%0*d", stems[rng_below(&rng, ARRAY_LEN(stems))],
			                                       (int)rng_below(&rng, 4), (int)rng_below(&rng, 120));

			hostlist_add(&h, name);
		}
		if (rng_below(&rng, 2))
			hostlist_sort_unique(&h);
		hostlist_format(&h, &out);
		if (hostlist_parse(&again, buf_text(&out), &err) < 0)
			fail_msg("%s", err_text(&err));
		assert_int_equal(again.n, h.n);
		for (size_t i = 0; i < h.n; i++)
			assert_string_equal(again.names[i], h.names[i]);
	}
}

TEST_MAIN(TEST(expands_in_the_order_written), TEST(several_brackets_multiply),
          TEST(what_is_no_hostlist_is_refused_and_nothing_is_added),
          TEST(no_expression_gives_more_names_than_the_limit), TEST(brackets_in_a_name_are_bounded),
          TEST(no_name_is_longer_than_the_limit), TEST(the_short_form_joins_what_can_be_joined),
          TEST(sorting_puts_2_before_10_and_keeps_each_name_once), TEST(has_looks_for_the_whole_name),
          TEST(any_names_survive_the_short_form))
