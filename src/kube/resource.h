/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The kinds of objects we speak about: where the API server keeps them and what they become in memory. One table; and
 * the paths made from it. Pure. A path is bounded and every part of it escaped; a name that could leave its place is
 * refused, not escaped.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/http_client.h"
#include "port/kube.h"

struct kube_resource {
	const char *group; /* "" = core */
	const char *version, *plural;
	const char *kind; /* "Pod" */
	bool namespaced;
	bool strategic; /* takes strategic merge patches; custom resources answer those with 415 */
};

const struct kube_resource *kube_resource(enum kube_kind kind);

const char *kube_api_version(enum kube_kind kind, char text[64]); /* "v1", "coordination.k8s.io/v1" */

/* "Pod ns/name" or "Pods in ns" for messages. */
#define KUBE_WHAT_MAX 600
const char *kube_what(const struct kube_ref *ref, char text[KUBE_WHAT_MAX]);

/* What goes behind the '?'. Zero and NULL and "" mean: not asked for. */
struct kube_query {
	const char *label_selector, *field_selector;
	const char *resource_version, *continue_token;
	const char *field_manager;
	unsigned limit, timeout_s;
	bool watch; /* with bookmarks */
	bool force; /* apply patches: take fields over */
};

#define KUBE_PATH_MAX (HTTP_URL_MAX - 1024) /* leaves room for the server's URL */
#define KUBE_PATH(name) struct buf name = BUF(KUBE_PATH_MAX)

/* Appends the path, with query, of an object (ref->name), or of the collection when ref->name is NULL (ns NULL = all
 * namespaces). `sub` is a subresource ("status") or NULL; query may be NULL. */
int kube_path(struct buf *out, const struct kube_ref *ref, const char *sub, const struct kube_query *query,
              struct err *err);
