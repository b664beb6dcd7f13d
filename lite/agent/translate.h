/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A Pod as the API has it → what the shim runs: command lines, environments, probes, and the files of its volumes. Pure
 * but for memory: what it needs of config maps and secrets is handed in, what is to be written comes out.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/err.h"
#include "base/list.h"

struct translate_env {
	const char *dir;  /* the Pod's own directory: logs, volumes */
	const char *volumes_dir; /* of the volumes that outlive Pods: a directory each, named as the PersistentVolume */
	const char *self; /* path of this program, for `enter` */
	const char *host_ip, *pod_ip;
	const char *const *more_env; /* "K=V" for every container, NULL-terminated; the Pod's own win */
	/* The object, or NULL when there is none. kind is one of those that translate_needs() names, or
	 * "persistentvolumes": the volume that a claim names. */
	yyjson_val *(*get)(void *arg, const char *kind, const char *name);
	void *arg;
};

/* Calls back for each config map ("configmaps"), secret and claim ("persistentvolumeclaims") the Pod mentions; some may
 * come twice. */
void translate_needs(yyjson_val *pod, void (*need)(void *arg, const char *kind, const char *name), void *arg);

/* A directory or file to make below the Pod's directory before it starts. */
struct volume_file {
	struct link link;
	char *path; /* absolute; data NULL = a directory */
	char *data;
	size_t len;
	int mode;
};

void volume_files_free(struct link *files);

/* Fills spec (root object made here) as box.h describes it, and files. -ENOENT when a config map, secret, key or volume
 * that is not optional is missing: to be tried again; -EINVAL: it never will work. */
int translate_pod(yyjson_val *pod, const struct translate_env *env, yyjson_mut_doc *spec, struct link *files,
                  struct err *err);
