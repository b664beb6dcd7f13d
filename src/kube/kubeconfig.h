/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kubeconfig documents → struct kube_config: names are followed from context to cluster and user, across files, and
 * every value is checked. Reads no file and no environment. Used by config.c only.
 */
#pragma once

#include <yyjson.h>

#include "kube/config.h"

struct kubeconfig {
	char *path;
	yyjson_doc *doc;
	bool world_readable;
};

/* The text of one file. Says where it is no YAML, without showing what is there. `path` is copied. */
int kubeconfig_parse(struct kubeconfig *k, const char *path, const char *text, size_t len, struct err *err);
void kubeconfig_done(struct kubeconfig *k); /* wipes it */

/* The first of the files that names a thing wins. n > 0. */
int kubeconfig_resolve(const struct kubeconfig *files, size_t n, const char *context, struct kube_config **ret,
                       struct err *err);

/* Inside: where a value is taken from, for errors like `/path/config: user "x": …` */
struct place {
	const struct kubeconfig *file;
	const char *kind, *name;
	struct err *err;
};

int place_refuse(const struct place *p, int code, const char *fmt, ...) _printf_(3, 4);

/* A text of one line; absent, null and "" leave *ret alone. */
int place_str(const struct place *p, yyjson_val *obj, const char *key, size_t max, char **ret);

int place_cluster(const struct place *p, yyjson_val *obj, struct kube_config *c);
int place_user(const struct place *p, yyjson_val *obj, struct kube_config *c);
int place_plugin_config(const struct place *p, yyjson_val *cluster, char **ret);

const char *json_words(yyjson_val *v); /* what it is, in words: "a list" */
void kube_exec_free(struct kube_exec *e);
