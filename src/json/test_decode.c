/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "json/json.h"

enum color { COLOR_OTHER, COLOR_RED, COLOR_BLUE };
static const char *const colors[] = { "", "Red", "Blue", NULL };

struct port {
	const char *name;
	int32_t host_port;
};

struct item {
	const char *name;
	struct port *ports;
	uint32_t n_ports;
	bool on;
};

struct thing {
	const char *name, *raw, *deep;
	int32_t small;
	int64_t large, amount;
	bool flag, has_flag, has_large;
	usec_t when;
	int color;
	struct port port;
	struct item *items;
	const char **words;
	struct json_pair *pairs, *some;
	struct json_amount *amounts;
	uint32_t n_items, n_words, n_pairs, n_some, n_amounts;
};

static bool starts_with_x(const char *key)
{
	return key[0] == 'x';
}

static const struct json_field port_fields[] = {
	JSON_STR("name", struct port, name),
	JSON_INT32("hostPort", struct port, host_port),
};
static const struct json_type port_type = JSON_TYPE(struct port, port_fields);

static const struct json_field item_fields[] = {
	JSON_STR_NEEDED("name", struct item, name),
	JSON_ARRAY("ports", struct item, ports, n_ports, port_type),
	JSON_BOOL("on", struct item, on),
};
static const struct json_type item_type = JSON_TYPE(struct item, item_fields);

static const struct json_field inner_fields[] = {
	JSON_STR("deep", struct thing, deep),
};
static const struct json_type inner_type = JSON_TYPE(struct thing, inner_fields);

static const struct json_field outer_fields[] = {
	JSON_INSIDE("inner", inner_type),
};
static const struct json_type outer_type = JSON_TYPE(struct thing, outer_fields);

static const struct json_field thing_fields[] = {
	JSON_STR("name", struct thing, name),
	JSON_RAW("raw", struct thing, raw),
	JSON_INT32("small", struct thing, small),
	JSON_INT64("large", struct thing, large),
	JSON_PRESENT("large", struct thing, has_large),
	JSON_AMOUNT("amount", struct thing, amount),
	JSON_BOOL("flag", struct thing, flag),
	JSON_PRESENT("flag", struct thing, has_flag),
	JSON_TIME("when", struct thing, when),
	JSON_ENUM("color", struct thing, color, colors),
	JSON_INSIDE("outer", outer_type),
	JSON_STRUCT("port", struct thing, port, port_type),
	JSON_ARRAY("items", struct thing, items, n_items, item_type),
	JSON_STRS("words", struct thing, words, n_words),
	JSON_PAIRS("pairs", struct thing, pairs, n_pairs, NULL),
	JSON_PAIRS("some", struct thing, some, n_some, starts_with_x),
	JSON_AMOUNTS("amounts", struct thing, amounts, n_amounts),
};
static const struct json_type thing_type = JSON_TYPE(struct thing, thing_fields);

static struct json_scratch scratch;

static int decode_as(const struct json_type *type, const char *text, void **ret, size_t *ret_size, struct err *err)
{
	yyjson_doc *doc;
	int r;

	if (json_parse_copy(text, strlen(text), &doc, err) < 0)
		fail_msg("test text: %s", err_text(err));
	r = json_decode(type, yyjson_doc_get_root(doc), &scratch, ret, ret_size, err);
	yyjson_doc_free(doc); /* the block must not need it */
	return r;
}

static struct thing *decode(const char *text)
{
	struct err err = { 0 };
	void *thing = NULL;

	if (decode_as(&thing_type, text, &thing, NULL, &err) < 0)
		fail_msg("'%.100s' was refused: %s", text, err.text);
	return thing;
}

static void assert_refused(const char *text, int code, const char *error)
{
	struct err err = { 0 };
	void *thing = &err;
	size_t size = 17;

	assert_int_equal(decode_as(&thing_type, text, &thing, &size, &err), code);
	assert_string_equal(err.text, error);
	assert_ptr_equal(thing, &err);
	assert_int_equal(size, 17);
	assert_int_equal(decode_as(&thing_type, text, &thing, NULL, NULL), code);
}

static void test_every_kind_of_field(void **state)
{
	_cleanup_free_ struct thing *t = decode(
	        "{\"name\":\"a\\u00e9\",\"raw\":{\"x\":[1,\"2\"]},\"small\":-2147483648,\"large\":9223372036854775807,"
	        "\"amount\":\"1.5\",\"flag\":true,\"when\":\"1970-01-01T00:00:01.5Z\",\"color\":\"Blue\",\"unknown\":{"
	        "\"a\":[]},"
	        "\"outer\":{\"x\":1,\"inner\":{\"deep\":\"down\"}},\"port\":{\"name\":\"p\",\"hostPort\":80},"
	        "\"items\":[{\"name\":\"i\",\"ports\":[{\"hostPort\":1},{\"name\":\"q\"}]},{\"name\":\"j\",\"on\":true}"
	        "],"
	        "\"words\":[\"u\",\"\",\"v\"],\"pairs\":{\"k\":\"v\",\"l\":\"\"},\"some\":{\"a\":\"1\",\"x1\":\"2\","
	        "\"b\":\"3\",\"x2\":\"4\"},"
	        "\"amounts\":{\"cpu\":\"100m\",\"memory\":\"1Ki\",\"n\":2,\"f\":0.1}}");

	(void)state;
	assert_string_equal(t->name, "aé");
	assert_string_equal(t->raw, "{\"x\":[1,\"2\"]}");
	assert_int_equal(t->small, INT32_MIN);
	assert_true(t->large == INT64_MAX && t->has_large);
	assert_int_equal(t->amount, 1500);
	assert_true(t->flag && t->has_flag);
	assert_int_equal(t->when, 1500000);
	assert_int_equal(t->color, COLOR_BLUE);
	assert_string_equal(t->deep, "down");
	assert_string_equal(t->port.name, "p");
	assert_int_equal(t->port.host_port, 80);
	assert_int_equal(t->n_items, 2);
	assert_string_equal(t->items[0].name, "i");
	assert_int_equal(t->items[0].n_ports, 2);
	assert_null(t->items[0].ports[0].name);
	assert_int_equal(t->items[0].ports[0].host_port, 1);
	assert_string_equal(t->items[0].ports[1].name, "q");
	assert_true(t->items[1].on && !t->items[1].ports);
	assert_int_equal(t->n_words, 3);
	assert_string_equal(t->words[1], "");
	assert_string_equal(t->words[2], "v");
	assert_int_equal(t->n_pairs, 2);
	assert_string_equal(t->pairs[1].key, "l");
	assert_string_equal(t->pairs[1].value, "");
	assert_int_equal(t->n_some, 2);
	assert_string_equal(t->some[1].key, "x2");
	assert_string_equal(t->some[1].value, "4");
	assert_int_equal(t->n_amounts, 4);
	assert_string_equal(t->amounts[0].name, "cpu");
	assert_int_equal(t->amounts[0].milli, 100);
	assert_int_equal(t->amounts[1].milli, 1024000);
	assert_int_equal(t->amounts[2].milli, 2000);
	assert_int_equal(t->amounts[3].milli, 100);
}

static void test_absent_null_and_empty_leave_zero(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"name\":null,\"raw\":null,\"small\":null,\"large\":null,\"amount\":null,\"flag\":null,\"when\":null,"
		"\"color\":null,"
		"\"outer\":null,\"port\":null,\"items\":null,\"words\":null,\"pairs\":null,\"some\":null,\"amounts\":"
		"null}",
		"{\"outer\":{},\"port\":{},\"items\":[],\"words\":[],\"pairs\":{}}",
		"{\"some\":{\"a\":\"b\"},\"amounts\":{\"x\":null}}",
	};
	static const struct thing zero;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_free_ struct thing *t = decode(texts[i]);

		assert_memory_equal(t, &zero, sizeof(zero));
	}
}

static void test_a_name_that_no_table_knows_gives_the_first(void **state)
{
	_cleanup_free_ struct thing *t = decode("{\"color\":\"Green\"}");

	(void)state;
	assert_int_equal(t->color, COLOR_OTHER);
}

static void test_wrong_kinds_are_refused_with_their_path(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *error;
	} cases[] = {
		{ "[]", -EBADMSG, "expected an object, got an array" },
		{ "{\"name\":1}", -EBADMSG, "name: expected a string, got a number" },
		{ "{\"small\":\"1\"}", -EBADMSG, "small: expected an integer, got a string" },
		{ "{\"small\":1.0}", -EBADMSG, "small: expected an integer, got a number" },
		{ "{\"small\":2147483648}", -ERANGE, "small: 2147483648 is more than 2147483647" },
		{ "{\"small\":-2147483649}", -ERANGE, "small: -2147483649 is less than -2147483648" },
		{ "{\"large\":9223372036854775808}", -ERANGE,
		  "large: 9223372036854775808 is more than 9223372036854775807" },
		{ "{\"flag\":\"true\"}", -EBADMSG, "flag: expected a boolean, got a string" },
		{ "{\"when\":5}", -EBADMSG, "when: expected a time, got a number" },
		{ "{\"when\":\"yesterday\\n\"}", -EBADMSG,
		  "when: expected a time like 2026-11-15T18:15:55Z, got 'yesterday\\n'" },
		{ "{\"amount\":\"5X\"}", -EBADMSG, "amount: expected a quantity like 100m or 2Gi, got '5X'" },
		{ "{\"amount\":[]}", -EBADMSG, "amount: expected a quantity, got an array" },
		{ "{\"color\":3}", -EBADMSG, "color: expected a string, got a number" },
		{ "{\"outer\":{\"inner\":3}}", -EBADMSG, "outer.inner: expected an object, got a number" },
		{ "{\"outer\":{\"inner\":{\"deep\":{}}}}", -EBADMSG,
		  "outer.inner.deep: expected a string, got an object" },
		{ "{\"items\":\"x\"}", -EBADMSG, "items: expected an array, got a string" },
		{ "{\"items\":[{\"name\":\"a\"},null]}", -EBADMSG, "items[1]: expected an object, got null" },
		{ "{\"items\":[{\"name\":\"a\",\"ports\":[{},{},{\"hostPort\":true}]}]}", -EBADMSG,
		  "items[0].ports[2].hostPort: expected an integer, got a boolean" },
		{ "{\"items\":[{\"name\":\"a\"},{}]}", -EBADMSG, "items[1].name: required, but missing" },
		{ "{\"items\":[{\"name\":null}]}", -EBADMSG, "items[0].name: required, but missing" },
		{ "{\"words\":[\"a\",1]}", -EBADMSG, "words[1]: expected a string, got a number" },
		{ "{\"words\":{}}", -EBADMSG, "words: expected an array, got an object" },
		{ "{\"pairs\":{\"a.b/c\\u001b\":1}}", -EBADMSG, "pairs.a.b/c\\x1b: expected a string, got a number" },
		{ "{\"pairs\":[]}", -EBADMSG, "pairs: expected an object, got an array" },
		{ "{\"amounts\":{\"cpu\":\"much\"}}", -EBADMSG,
		  "amounts.cpu: expected a quantity like 100m or 2Gi, got 'much'" },
		{ "{\"amount\":\"1\\u0000\"}", -EBADMSG, "amount: expected a quantity like 100m or 2Gi, got '1\\x00'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_refused(cases[i].text, cases[i].code, cases[i].error);
}

static void test_a_nul_in_a_string_does_not_hide_the_object(void **state)
{
	_cleanup_free_ struct thing *t = decode(
	        "{\"name\":\"\\u0000a\\u0000\\u0000b\\u0000\",\"words\":[\"x\\u0000\",\"x\\u0001\",\"x\",\"\\u0000\"],"
	        "\"pairs\":{\"k\":\"1\",\"k\\u0000\":\"2\",\"k\":\"3\"},\"small\":7}");

	(void)state;
	assert_string_equal(t->name, "\x01"
	                             "a\x01\x01"
	                             "b\x01");
	assert_string_equal(t->words[0], "x\x01");
	assert_string_equal(t->words[1], "x\x01");
	assert_string_equal(t->words[2], "x");
	assert_string_equal(t->words[3], "\x01");
	assert_int_equal(t->n_pairs, 2);
	assert_string_equal(t->pairs[0].key, "k");
	assert_string_equal(t->pairs[0].value, "3");
	assert_string_equal(t->pairs[1].key, "k\x01");
	assert_int_equal(t->small, 7);
}

static void test_of_equal_keys_the_last_wins(void **state)
{
	_cleanup_free_ struct thing *t =
	        decode("{\"name\":\"first and "
	               "long\",\"small\":1,\"items\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"words\":[\"x\",\"y\",\"z\"],"
	               "\"pairs\":{\"b\":\"1\",\"a\":\"2\",\"b\":\"a longer "
	               "one\",\"c\":\"3\",\"a\":\"4\"},\"pairs\":{\"b\":\"1\",\"a\":\"2\",\"b\":"
	               "\"a longer one\",\"c\":\"3\",\"a\":\"4\"},\"amounts\":{\"cpu\":\"1\",\"cpu\":\"2\"},"
	               "\"small\":2,\"name\":\"last\",\"items\":[{\"name\":\"c\"}],\"words\":[]}");

	(void)state;
	assert_string_equal(t->name, "last");
	assert_int_equal(t->small, 2);
	assert_int_equal(t->n_items, 1);
	assert_string_equal(t->items[0].name, "c");
	assert_int_equal(t->n_words, 0);
	assert_int_equal(t->n_pairs, 3);
	assert_string_equal(t->pairs[0].key, "b");
	assert_string_equal(t->pairs[0].value, "a longer one");
	assert_string_equal(t->pairs[1].key, "a");
	assert_string_equal(t->pairs[1].value, "4");
	assert_string_equal(t->pairs[2].key, "c");
	assert_string_equal(t->pairs[2].value, "3");
	assert_int_equal(t->n_amounts, 1);
	assert_int_equal(t->amounts[0].milli, 2000);
}

/* One block, nothing outside of it, equal strings once: the size is exactly what the parts take. */
static void test_the_block_holds_what_it_needs_and_no_more(void **state)
{
	struct err err = { 0 };
	void *block = NULL;
	struct thing *t;
	size_t size;

	(void)state;
	assert_int_equal(decode_as(&thing_type,
	                           "{\"name\":\"same\",\"words\":[\"same\",\"other\",\"same\"],\"some\":{\"a\":\"b\","
	                           "\"x\":\"same\"},"
	                           "\"skipped\":\"a long text that is not kept\"}",
	                           &block, &size, &err),
	                 0);
	t = block;
	assert_int_equal(size, sizeof(*t) + 3 * sizeof(char *) + sizeof(struct json_pair) + sizeof("same") +
	                               sizeof("other") + sizeof("x"));
	assert_true(t->words[2] > (char *)block && t->words[2] < (char *)block + size);
	assert_string_equal(t->words[2], "same");
	assert_ptr_equal(t->words[0], t->name);
	free(block);
}

static void test_too_large_an_object_is_refused(void **state)
{
	_cleanup_buf_ struct buf b = BUF((size_t)16 << 20);

	(void)state;
	buf_add_str(&b, "{\"items\":[");
	for (int i = 0; i < 400000; i++)
		buf_printf(&b, "%s{\"name\":\"\"}", i ? "," : "");
	buf_add_str(&b, "]}");
	assert_refused(b.data, -E2BIG, "items: the object is larger than 8 MiB");

	buf_clear(&b);
	buf_add_str(&b, "{\"name\":\"");
	for (unsigned i = 0; i < JSON_OBJECT_MAX / 8; i++)
		buf_add_str(&b, "01234567");
	buf_add_str(&b, "\"}");
	assert_refused(b.data, -E2BIG, "name: the object is larger than 8 MiB");
}

struct chain {
	const char *name;
	struct chain *next;
	uint32_t n_next;
};

static const struct json_type chain_type;
static const struct json_field chain_fields[] = {
	JSON_STR("name", struct chain, name),
	JSON_ARRAY("next", struct chain, next, n_next, chain_type),
};
static const struct json_type chain_type = JSON_TYPE(struct chain, chain_fields);

static void test_a_table_that_holds_itself_is_bounded_in_depth(void **state)
{
	_cleanup_buf_ struct buf b = BUF(1 << 20);
	struct err err = { 0 };
	void *block = NULL;

	(void)state;
	for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		buf_clear(&b);
		for (int i = 0; i < depth - 1; i++)
			buf_add_str(&b, "{\"next\":[");
		buf_add_str(&b, "{\"name\":\"end\"}");
		for (int i = 0; i < depth - 1; i++)
			buf_add_str(&b, "]}");
		if (depth == JSON_DEPTH_MAX) {
			const struct chain *c;

			assert_int_equal(decode_as(&chain_type, b.data, &block, NULL, &err), 0);
			for (c = block; c->n_next; c = c->next)
				;
			assert_string_equal(c->name, "end");
			free(block);
			continue;
		}
		assert_int_equal(decode_as(&chain_type, b.data, &block, NULL, &err), -E2BIG);
		assert_true(str_ends(err.text, "next[0].next[0]: nested deeper than 64 levels"));
	}
}

struct shelf {
	const char *name, *owner;
	struct port *ports;
	uint32_t n_ports;
};

static bool has_host_port(yyjson_val *port)
{
	return json_int(json_get(port, "hostPort"), 0) > 0;
}

static const struct json_field shelf_fields[] = {
	JSON_STR("name", struct shelf, name),
	JSON_STR("owner", struct shelf, owner),
	JSON_ARRAY_SOME("ports", struct shelf, ports, n_ports, port_type, has_host_port),
};
static const char *const words[] = { "default", "kube-system", "", "default-scheduler", "nodecaad", NULL };
static const struct json_type shelf_type = JSON_TYPE_WORDS(struct shelf, shelf_fields, words);

static void test_words_that_many_objects_have_are_not_copied(void **state)
{
	void *block = NULL;
	struct shelf *shelf;
	size_t size;

	(void)state;
	assert_int_equal(decode_as(&shelf_type, "{\"name\":\"default\",\"owner\":\"defaul\"}", &block, &size, NULL), 0);
	shelf = block;
	assert_ptr_equal(shelf->name, words[0]);
	assert_string_equal(shelf->owner, "defaul");
	assert_int_equal(size, sizeof(*shelf) + sizeof("defaul"));
	free(block);

	free(decode("{\"name\":\"default\"}")); /* another type, without words, in between */
	assert_int_equal(decode_as(&shelf_type, "{\"name\":\"\",\"owner\":\"default-\"}", &block, &size, NULL), 0);
	shelf = block;
	assert_ptr_equal(shelf->name, words[2]);
	assert_string_equal(shelf->owner, "default-");
	free(block);

	/* the beginning of a word that has the same hash is not the word */
	assert_int_equal(decode_as(&shelf_type, "{\"name\":\"node\",\"owner\":\"nodecaad\"}", &block, &size, NULL), 0);
	shelf = block;
	assert_string_equal(shelf->name, "node");
	assert_ptr_equal(shelf->owner, words[4]);
	free(block);

	/* nor is one that goes on behind a NUL */
	assert_int_equal(
	        decode_as(&shelf_type, "{\"name\":\"default\\u0000\",\"owner\":\"\\u0000\"}", &block, &size, NULL), 0);
	shelf = block;
	assert_string_equal(shelf->name, "default\x01");
	assert_string_equal(shelf->owner, "\x01");
	free(block);
}

static void test_only_the_elements_that_matter_are_kept(void **state)
{
	struct err err = { 0 };
	void *block = NULL;
	struct shelf *shelf;

	(void)state;
	assert_int_equal(decode_as(&shelf_type,
	                           "{\"ports\":[{\"name\":\"a\"},{\"name\":\"b\",\"hostPort\":1},7,{\"name\":\"c\","
	                           "\"hostPort\":2}]}",
	                           &block, NULL, NULL),
	                 0);
	shelf = block;
	assert_int_equal(shelf->n_ports, 2);
	assert_string_equal(shelf->ports[0].name, "b");
	assert_string_equal(shelf->ports[1].name, "c");
	free(block);
	assert_int_equal(decode_as(&shelf_type, "{\"ports\":[{\"name\":\"a\"}]}", &block, NULL, NULL), 0);
	shelf = block;
	assert_true(shelf->n_ports == 0 && !shelf->ports);
	free(block);
	/* the path counts as the JSON does */
	assert_true(decode_as(&shelf_type, "{\"ports\":[{},{\"name\":5,\"hostPort\":1}]}", &block, NULL, &err) < 0);
	assert_string_equal(err.text, "ports[1].name: expected a string, got a number");
}

static void test_scratch_is_used_again(void **state)
{
	_cleanup_buf_ struct buf b = BUF((size_t)16 << 20);
	_cleanup_free_ struct thing *t = NULL;
	const char *data;

	(void)state;
	json_scratch_done(&scratch);
	free(decode("{\"name\":\"a\"}"));
	data = scratch.data;
	for (int i = 0; i < 10; i++)
		free(decode("{\"name\":\"b\",\"words\":[\"c\"]}"));
	assert_ptr_equal(scratch.data, data);

	/* but not what one unusually large object needed */
	buf_add_str(&b, "{\"items\":[");
	for (int i = 0; i < 100000; i++)
		buf_printf(&b, "%s{\"name\":\"n%d\"}", i ? "," : "", i);
	buf_add_str(&b, "]}");
	t = decode(b.data);
	assert_string_equal(t->items[99999].name, "n99999");
	assert_null(scratch.data);
}

TEST_MAIN(TEST(every_kind_of_field), TEST(absent_null_and_empty_leave_zero),
          TEST(a_name_that_no_table_knows_gives_the_first), TEST(wrong_kinds_are_refused_with_their_path),
          TEST(a_nul_in_a_string_does_not_hide_the_object), TEST(of_equal_keys_the_last_wins),
          TEST(the_block_holds_what_it_needs_and_no_more), TEST(too_large_an_object_is_refused),
          TEST(a_table_that_holds_itself_is_bounded_in_depth), TEST(words_that_many_objects_have_are_not_copied),
          TEST(only_the_elements_that_matter_are_kept), TEST(scratch_is_used_again))
