/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Pods in what a person gives to `kubectl apply -f`: YAML or JSON, any number of documents; Pods, and the Pod
 * templates of what makes Pods.
 */
#pragma once

#include "base/err.h"
#include "model/pod.h"

#define MANIFEST_BYTES_MAX ((size_t)1 << 20)

struct manifest_item {
	const char *file;
	unsigned document;      /* counted from 1 */
	const char *kind;       /* "Pod", "Deployment"; "" when it does not say */
	const struct pod *pod; /* of a template: named after what it belongs to; NULL: has no Pods, or cannot be read */
	const struct err *err; /* why it cannot be read, or NULL */
};

/* Calls back for each document (each item of a List), in order. What is borrowed is good until the callback returns.
 * `ns` is where objects live that do not say. Fails when the text as a whole is neither YAML nor JSON; then there was no
 * callback. */
int manifest_each(const char *text, size_t len, const char *file, const char *ns,
                  void (*item)(void *arg, const struct manifest_item *item), void *arg, struct err *err);
