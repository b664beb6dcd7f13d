/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * struct kube_change → JSON to send. Pure. Metadata and spec are a merge patch: what is not named stays. Conditions are
 * a strategic merge patch on /status: merged by type on the server, so that other writers' conditions stay. The status of
 * custom resources, which take none of those, is a merge patch, and its conditions are all there are. Given
 * preconditions (uid, resourceVersion) travel in the patch's metadata, where the server compares them.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "port/kube.h"

/* The metadata and spec part; *ret is NULL when the change has none. The caller frees. */
int kube_change_main(const struct kube_change *c, char **ret, size_t *ret_len, struct err *err);

/* The conditions; *ret is NULL when there are none. `version` is the resourceVersion to insist on or NULL: after the
 * main part that is the one it gave. A condition without a time of its own gets `now` (wall). */
int kube_change_status(const struct kube_change *c, const char *version, usec_t now, char **ret, size_t *ret_len,
                       struct err *err);

/* The same JSON object with metadata.resourceVersion set; the caller frees. */
char *kube_body_with_version(const char *json, size_t len, const char *version, size_t *ret_len);
