/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/boot.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "lite/registry.h"

void boot_object(struct lite *l, const char *group, const char *plural, const char *ns, const char *json)
{
	const struct kind *k = kind_builtin(group, plural);
	const struct write_options o = { .manager = "kube-apiserver" };
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_(item_unrefp) struct item *i = NULL;
	yyjson_mut_doc *doc = NULL;
	int r;

	r = decode_body(k, NULL, json, strlen(json), FIELDS_IGNORE, &doc, NULL, &st);
	if (r == 0)
		r = reg_create(l, k, ns, doc, &o, &i, &st);
	if (r < 0 && st.code != 409)
		log_error("making a %s: %s", k->kind, str_or(st.body, "?"));
}

void boot_objects(struct lite *l)
{
	static const char *const namespaces[] = { "default", "kube-system", "kube-public", "kube-node-lease" };
	static const char *const classes[] = {
		"{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,\"description\":\"Used for "
		"system "
		"critical pods that must not be moved from their current node.\"}",
		"{\"metadata\":{\"name\":\"system-cluster-critical\"},\"value\":2000000000,\"description\":\"Used for "
		"system "
		"critical pods that must run in the cluster, but can be moved to another node if necessary.\"}",
	};

	/* Directories of the node agent, where the Pod runs: claims that name no class just work. */
	static const char storage[] =
	        "{\"metadata\":{\"name\":\"standard\",\"annotations\":{\"storageclass.kubernetes.io/"
	        "is-default-class\":\"true\"}},\"provisioner\":\"lite.sunk.coreweave.com\",\"volumeBindingMode\":"
	        "\"WaitForFirstConsumer\"}";

	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		_cleanup_free_ char *json = str_printf("{\"metadata\":{\"name\":\"%s\"}}", namespaces[i]);

		boot_object(l, "", "namespaces", NULL, json);
		boot_object(l, "", "serviceaccounts", namespaces[i], "{\"metadata\":{\"name\":\"default\"}}");
	}
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		boot_object(l, "scheduling.k8s.io", "priorityclasses", NULL, classes[i]);
	boot_object(l, "storage.k8s.io", "storageclasses", NULL, storage);
}
