/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/lease.h"

#include <errno.h>

#include "base/str.h"
#include "json/json.h"
#include "json/patch.h"

/* Absent and null leave *ret at 0. */
static int decode_time(yyjson_val *spec, const char *key, usec_t *ret, struct err *err)
{
	yyjson_val *v = json_get(spec, key);
	const char *text = json_str(v);

	if (!v || yyjson_is_null(v))
		return 0;
	if (!text || time_parse_rfc3339(text, strlen(text), ret) < 0)
		return err_set(err, -EBADMSG, "lease: spec.%s is no time", key);
	return 0;
}

static int decode_number(yyjson_val *spec, const char *key, int32_t *ret, struct err *err)
{
	yyjson_val *v = json_get(spec, key);
	int64_t n = json_int(v, -1);

	if (!v || yyjson_is_null(v))
		return 0;
	if (n < 0 || n > INT32_MAX)
		return err_set(err, -EBADMSG, "lease: spec.%s is no number from 0 to %d", key, INT32_MAX);
	*ret = (int32_t)n;
	return 0;
}

static int decode(yyjson_val *root, struct lease *l, struct err *err)
{
	yyjson_val *spec = json_get(root, "spec");
	int r;

	if (!str_eq(json_str(json_get(root, "kind")), "Lease"))
		return err_set(err, -EBADMSG, "expected a Lease, got something else");
	if (!str_copy(l->version, sizeof(l->version),
	              json_str(json_get(json_get(root, "metadata"), "resourceVersion"))))
		return err_set(err, -EBADMSG, "lease: metadata.resourceVersion is longer than %d bytes",
		               LEASE_VERSION_MAX);
	if (!str_copy(l->holder, sizeof(l->holder), json_str(json_get(spec, "holderIdentity"))))
		return err_set(err, -EBADMSG, "lease: spec.holderIdentity is longer than %d bytes", LEASE_HOLDER_MAX);
	r = decode_number(spec, "leaseDurationSeconds", &l->duration_s, err);
	if (r == 0)
		r = decode_number(spec, "leaseTransitions", &l->transitions, err);
	if (r == 0)
		r = decode_time(spec, "acquireTime", &l->acquired, err);
	if (r == 0)
		r = decode_time(spec, "renewTime", &l->renewed, err);
	return r;
}

int lease_decode(const char *json, size_t len, struct lease *ret, struct err *err)
{
	struct lease l = { 0 };
	yyjson_doc *doc;
	int r;

	r = json_parse_copy(json, len, &doc, err);
	if (r < 0)
		return err_wrap(err, r, "lease");
	r = decode(yyjson_doc_get_root(doc), &l, err);
	yyjson_doc_free(doc);
	if (r < 0)
		return r;
	*ret = l;
	return 0;
}

char *lease_encode(const struct lease *l, const char *ns, const char *name, size_t *ret_len)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();

	patch_str(p, "coordination.k8s.io/v1", PATH("apiVersion"));
	patch_str(p, "Lease", PATH("kind"));
	patch_str(p, name, PATH("metadata", "name"));
	patch_str(p, ns, PATH("metadata", "namespace"));
	if (l->version[0])
		patch_str(p, l->version, PATH("metadata", "resourceVersion"));
	patch_str(p, l->holder, PATH("spec", "holderIdentity"));
	patch_int(p, l->duration_s, PATH("spec", "leaseDurationSeconds"));
	patch_int(p, l->transitions, PATH("spec", "leaseTransitions"));
	patch_micro_time(p, l->acquired, PATH("spec", "acquireTime"));
	patch_micro_time(p, l->renewed, PATH("spec", "renewTime"));
	return patch_text(p, ret_len);
}
