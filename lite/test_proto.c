/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/proto.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/test.h"
#include "lite/obj.h"
#include "lite/types.h"

/* What `kubectl create configmap x --from-literal=a=b` sends. */
static const unsigned char configmap[] = {
	0x6b, 0x38, 0x73, 0x00, 0x0a, 0x0f, 0x0a, 0x02, 0x76, 0x31, 0x12, 0x09, 0x43, 0x6f, 0x6e, 0x66, 0x69, 0x67,
	0x4d, 0x61, 0x70, 0x12, 0x1b, 0x0a, 0x11, 0x0a, 0x01, 0x78, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x00, 0x2a, 0x00,
	0x32, 0x00, 0x38, 0x00, 0x42, 0x00, 0x12, 0x06, 0x0a, 0x01, 0x61, 0x12, 0x01, 0x62, 0x1a, 0x00, 0x22, 0x00,
};

/* What `kubectl create deployment d --image=x` sends. */
static const unsigned char deployment[] = {
	0x6b, 0x38, 0x73, 0x00, 0x0a, 0x15, 0x0a, 0x07, 0x61, 0x70, 0x70, 0x73, 0x2f, 0x76, 0x31, 0x12, 0x0a, 0x44,
	0x65, 0x70, 0x6c, 0x6f, 0x79, 0x6d, 0x65, 0x6e, 0x74, 0x12, 0x9b, 0x01, 0x0a, 0x1b, 0x0a, 0x01, 0x64, 0x12,
	0x00, 0x1a, 0x00, 0x22, 0x00, 0x2a, 0x00, 0x32, 0x00, 0x38, 0x00, 0x42, 0x00, 0x5a, 0x08, 0x0a, 0x03, 0x61,
	0x70, 0x70, 0x12, 0x01, 0x64, 0x12, 0x6e, 0x08, 0x01, 0x12, 0x0a, 0x0a, 0x08, 0x0a, 0x03, 0x61, 0x70, 0x70,
	0x12, 0x01, 0x64, 0x1a, 0x56, 0x0a, 0x1a, 0x0a, 0x00, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x00, 0x2a, 0x00, 0x32,
	0x00, 0x38, 0x00, 0x42, 0x00, 0x5a, 0x08, 0x0a, 0x03, 0x61, 0x70, 0x70, 0x12, 0x01, 0x64, 0x12, 0x38, 0x12,
	0x1a, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x78, 0x2a, 0x00, 0x42, 0x00, 0x6a, 0x00, 0x72, 0x00, 0x80, 0x01, 0x00,
	0x88, 0x01, 0x00, 0x90, 0x01, 0x00, 0xa2, 0x01, 0x00, 0x1a, 0x00, 0x32, 0x00, 0x42, 0x00, 0x4a, 0x00, 0x52,
	0x00, 0x58, 0x00, 0x60, 0x00, 0x68, 0x00, 0x82, 0x01, 0x00, 0x8a, 0x01, 0x00, 0x9a, 0x01, 0x00, 0xc2, 0x01,
	0x00, 0x22, 0x02, 0x0a, 0x00, 0x28, 0x00, 0x38, 0x00, 0x1a, 0x0c, 0x08, 0x00, 0x10, 0x00, 0x18, 0x00, 0x20,
	0x00, 0x28, 0x00, 0x38, 0x00, 0x1a, 0x00, 0x22, 0x00,
};

static yyjson_mut_doc *decoded(const struct type *type, const void *data, size_t len)
{
	_cleanup_free_ char *text = NULL;
	struct err err = { 0 };
	size_t n;

	if (proto_to_json(type, data, len, &text, &n, &err) < 0)
		fail_msg("%s", err_text(&err));
	return obj_parse(text);
}

static void test_what_kubectl_sends_is_read(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *cm =
	        decoded(kind_builtin("", "configmaps")->type, configmap, sizeof(configmap));
	_cleanup_mut_doc_ yyjson_mut_doc *d =
	        decoded(kind_builtin("apps", "deployments")->type, deployment, sizeof(deployment));
	yyjson_mut_val *root = yyjson_mut_doc_get_root(cm), *spec;

	(void)state;
	assert_string_equal(obj_str(obj_get(root, "kind")), "ConfigMap");
	assert_string_equal(obj_str(obj_get(root, "apiVersion")), "v1");
	assert_string_equal(obj_str(obj_at(root, "metadata", "name")), "x");
	assert_string_equal(obj_str(obj_at(root, "data", "a")), "b");
	spec = obj_get(yyjson_mut_doc_get_root(d), "spec");
	assert_int_equal(obj_int(obj_get(spec, "replicas"), 0), 1);
	assert_string_equal(obj_str(obj_at(spec, "selector", "matchLabels", "app")), "d");
	assert_string_equal(
	        obj_str(obj_get(yyjson_mut_arr_get_first(obj_at(spec, "template", "spec", "containers")), "image")),
	        "x");
}

static void test_a_cut_off_body_is_refused_at_every_byte(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(deployment); len++) {
		_cleanup_free_ char *copy = mem_dup(deployment, len + 1), *text = NULL;
		size_t n;
		int r = proto_to_json(kind_builtin("apps", "deployments")->type, copy, len, &text, &n, NULL);

		/* Cut between two fields of the envelope it is whole, only emptier. */
		assert_true(r == -EINVAL || len == 4 || len == 27 || len + 4 == sizeof(deployment) ||
		            len + 2 == sizeof(deployment));
	}
}

static void put_len(struct buf *b, unsigned number, const struct buf *inner)
{
	size_t len = inner->len;

	buf_add_char(b, (char)(number << 3 | 2));
	for (; len >= 128; len >>= 7)
		buf_add_char(b, (char)(len | 0x80));
	buf_add_char(b, (char)len);
	buf_add(b, buf_text(inner), inner->len);
}

static void put_text(struct buf *b, unsigned number, const char *text)
{
	_cleanup_buf_ struct buf inner = BUF(1000);

	buf_add_str(&inner, text);
	put_len(b, number, &inner);
}

/* An envelope with one field of the object. */
static void wrap(struct buf *out, const char *kind, const struct buf *object)
{
	_cleanup_buf_ struct buf meta = BUF(1000);

	buf_add(out, "k8s", 4);
	put_text(&meta, 1, "v1");
	put_text(&meta, 2, kind);
	put_len(out, 1, &meta);
	put_len(out, 2, object);
}

static void test_fields_that_json_inlines_come_out_inline(void **state)
{
	_cleanup_buf_ struct buf out = BUF(10000), pod = BUF(10000), spec = BUF(10000), volume = BUF(1000),
	                         source = BUF(1000), claim = BUF(1000);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	yyjson_mut_val *v;

	(void)state;
	put_text(&claim, 1, "data");
	put_len(&source, 10, &claim); /* persistentVolumeClaim */
	put_text(&volume, 1, "v");
	put_len(&volume, 2, &source); /* VolumeSource */
	put_len(&spec, 1, &volume);
	put_len(&pod, 2, &spec);
	wrap(&out, "Pod", &pod);
	doc = decoded(kind_builtin("", "pods")->type, out.data, out.len);
	v = yyjson_mut_arr_get_first(obj_at(yyjson_mut_doc_get_root(doc), "spec", "volumes"));
	assert_string_equal(obj_str(obj_get(v, "name")), "v");
	assert_string_equal(obj_str(obj_at(v, "persistentVolumeClaim", "claimName")), "data");
}

static void test_bytes_times_and_numbers_take_their_json_form(void **state)
{
	_cleanup_buf_ struct buf out = BUF(10000), secret = BUF(10000), entry = BUF(1000), meta = BUF(1000),
	                         time = BUF(100);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	yyjson_mut_val *root;

	(void)state;
	buf_add(&time, "\x08\xdb\xdf\xe3\xd7\x06", 6); /* seconds */
	put_len(&meta, 8, &time);                      /* creationTimestamp */
	put_len(&secret, 1, &meta);
	put_text(&entry, 1, "k");
	put_text(&entry, 2, "\x01\xff");
	put_len(&secret, 2, &entry);
	buf_add(&secret, "\x28\x01", 2); /* immutable */
	wrap(&out, "Secret", &secret);
	doc = decoded(kind_builtin("", "secrets")->type, out.data, out.len);
	root = yyjson_mut_doc_get_root(doc);
	assert_string_equal(obj_str(obj_at(root, "data", "k")), "Af8=");
	assert_true(obj_bool(obj_get(root, "immutable"), false));
	assert_string_equal(obj_str(obj_at(root, "metadata", "creationTimestamp")), "2026-11-14T23:33:47Z");
}

static void test_what_is_no_protobuf_or_too_deep_is_refused(void **state)
{
	const struct type *type = kind_builtin("", "pods")->type;
	_cleanup_free_ char *text = NULL;
	size_t n;

	(void)state;
	assert_int_equal(proto_to_json(type, "{}", 2, &text, &n, NULL), -EINVAL);
	assert_int_equal(proto_to_json(type, "k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 15, &text, &n, NULL),
	                 -EINVAL);
	assert_int_equal(proto_to_json(kind_builtin("apiextensions.k8s.io", "customresourcedefinitions")->type,
	                               (const char *)configmap, sizeof(configmap), &text, &n, NULL),
	                 -ENOTSUP);
}

/* A name that the types do not have would never be read: the table and the types drift apart. */
static void test_every_kind_kubectl_makes_has_numbers(void **state)
{
	static const char *const kinds[][2] = {
		{ "", "pods" },
		{ "", "services" },
		{ "", "serviceaccounts" },
		{ "", "secrets" },
		{ "", "namespaces" },
		{ "", "nodes" },
		{ "", "events" },
		{ "apps", "replicasets" },
		{ "apps", "daemonsets" },
		{ "batch", "jobs" },
		{ "policy", "poddisruptionbudgets" },
		{ "coordination.k8s.io", "leases" },
		{ "rbac.authorization.k8s.io", "roles" },
		{ "authorization.k8s.io", "selfsubjectaccessreviews" },
		{ "scheduling.k8s.io", "priorityclasses" },
		{ "", "persistentvolumeclaims" },
		{ "", "persistentvolumes" },
		{ "storage.k8s.io", "storageclasses" },
	};
	_cleanup_buf_ struct buf out = BUF(1000), empty = BUF(10);

	(void)state;
	wrap(&out, "X", &empty);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		_cleanup_free_ char *text = NULL;
		size_t n;

		assert_int_equal(
		        proto_to_json(kind_builtin(kinds[i][0], kinds[i][1])->type, out.data, out.len, &text, &n, NULL),
		        0);
	}
}

TEST_MAIN(TEST(what_kubectl_sends_is_read), TEST(a_cut_off_body_is_refused_at_every_byte),
          TEST(fields_that_json_inlines_come_out_inline), TEST(bytes_times_and_numbers_take_their_json_form),
          TEST(what_is_no_protobuf_or_too_deep_is_refused), TEST(every_kind_kubectl_makes_has_numbers))
