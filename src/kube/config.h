/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How to reach an API server and as whom: kubeconfig files or the service account of the Pod we run in → one plain
 * struct. Nothing is fetched and nothing is run here; cred.h turns this into live credentials.
 *
 * Looked at in this order: the given path; $KUBECONFIG (a list, merged as kubectl does: the first that names a thing
 * wins, missing files are skipped); ~/.kube/config; the service account, when KUBERNETES_SERVICE_HOST is set.
 *
 * What holds: errors and warnings name the file, the cause and what to do, and never hold a secret. What we cannot do
 * (password log-in, auth-provider, impersonation, plugins that must ask a person) is refused here, not ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define KUBE_CONFIG_BYTES_MAX (1u << 20) /* one kubeconfig */
#define KUBE_CONFIG_FILES_MAX 32         /* in $KUBECONFIG */
#define KUBE_CONFIG_NAME_MAX 253         /* of a context, cluster, user or namespace */
#define KUBE_CONFIG_VALUE_MAX 4096       /* a path, URL, argument or variable */
#define KUBE_PEM_BYTES_MAX (512u << 10)  /* a CA bundle, certificate or key */
#define KUBE_TOKEN_MAX (64u << 10)
#define KUBE_EXEC_ARGS_MAX 64
#define KUBE_EXEC_ENV_MAX 64
#define KUBE_EXEC_CONFIG_MAX (64u << 10) /* JSON that a cluster holds for its plugin */

#define KUBE_IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* PEM text, either in the kubeconfig (text) or in a file that may change (path). Both NULL: none. */
struct kube_pem {
	char *path, *text;
};

struct kube_exec {
	char *command; /* made absolute when the kubeconfig gives a relative path; a bare name is looked up in PATH */
	char **args;   /* without the command, NULL-terminated */
	char **env;    /* "K=V", NULL-terminated */
	char *api_version;    /* "client.authentication.k8s.io/v1" or "…/v1beta1" */
	char *install_hint;   /* what to tell when the command is missing; may be NULL */
	char *cluster_config; /* JSON from the cluster's client.authentication.k8s.io/exec extension; may be NULL */
	bool provide_cluster_info;
};

struct kube_config {
	char *origin; /* for messages: `/home/a/.kube/config, context "x"`, `service account in /var/run/…` */
	bool in_cluster;
	char *context, *cluster, *user; /* NULL in a cluster */
	char *ns;                /* of the context or service account; "default" when neither says */
	char *server;                   /* "https://host:port" or with a path, no slash at its end */
	char *proxy;                    /* NULL = none */
	char *tls_server_name;          /* NULL = the URL's host */
	bool insecure;
	struct kube_pem ca, cert, key;
	char *token, *token_file; /* at most one is set */
	struct kube_exec *exec;   /* NULL when there is a token */
	char *warning;            /* a sentence for the person who runs this, or NULL */
};

struct kube_config_options {
	const char *path;           /* --kubeconfig; NULL = look in the places above */
	const char *context;        /* --context; NULL = the file's current-context */
	const char *in_cluster_dir; /* NULL = KUBE_IN_CLUSTER_DIR; for tests */
};

/* o may be NULL. -ENOENT when there is neither a kubeconfig nor a service account. */
int kube_config_load(const struct kube_config_options *o, struct kube_config **ret, struct err *err);

/* One kubeconfig from memory; `where` names it in errors and its directory is where relative paths start. */
int kube_config_parse(const char *text, size_t len, const char *where, const char *context, struct kube_config **ret,
                      struct err *err);

void kube_config_free(struct kube_config *c); /* wipes what is secret */
DEFINE_FREEP(struct kube_config, kube_config_free)
