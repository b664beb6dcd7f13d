/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hook/call.h"
#include "hook/placeholder.h"
#include "hook/prolog.h"

#define JOB_ID_MAX 0x7fffffff
#define KILL_WAIT_MAX_S 65535
#define PATH_TEXT_MAX 4096
#define NUMBER_TEXT_MAX 32

/* A variable as printable ASCII without blanks; NULL with an error when it is not. */
static const char *read_text(const char *name, size_t max, struct err *err)
{
	const char *v = getenv(name);

	if (str_empty(v)) {
		err_set(err, -EINVAL, "%s is not set", name);
		return NULL;
	}
	if (strnlen(v, max + 1) > max) {
		err_set(err, -EINVAL, "%s is longer than %zu bytes", name, max);
		return NULL;
	}
	for (const char *c = v; *c; c++) {
		if (*c > ' ' && *c < 0x7f)
			continue;
		err_set(err, -EINVAL, "%s has a blank, a control character or no ASCII in it", name);
		return NULL;
	}
	return v;
}

static int read_number(const char *name, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
	const char *v = read_text(name, NUMBER_TEXT_MAX, err);

	if (!v)
		return -EINVAL;
	if (str_to_i64(v, min, max, ret) < 0)
		return err_set(err, -EINVAL, "%s is '%s', not a number from %lld to %lld", name, v, (long long)min,
		               (long long)max);
	return 0;
}

/* Names as Kubernetes has them: what goes into an address and into a job's extra needs no quoting then. */
static int read_pod(struct placeholder_env *e, struct err *err)
{
	const char *v = read_text("SUNK_POD", PLACEHOLDER_POD_MAX, err);
	size_t slashes = 0, part = 0;
	bool ok = true;

	if (!v)
		return -EINVAL;
	for (const char *c = v; *c; c++) {
		if (*c == '/') {
			ok = ok && part > 0;
			slashes++;
			part = 0;
			continue;
		}
		ok = ok && (isalnum((unsigned char)*c) || *c == '-' || *c == '.' || *c == '_');
		part++;
	}
	if (!ok || slashes != 2 || part == 0)
		return err_set(err, -EINVAL, "SUNK_POD is not <namespace>/<name>/<uid>");
	e->pod = mem_strdup(v);
	e->uid = strrchr(e->pod, '/') + 1;
	return 0;
}

static int read_url(struct placeholder_env *e, struct err *err)
{
	const char *v = read_text("SUNK_HOOK_URL", PLACEHOLDER_URL_MAX, err);
	size_t len;

	if (!v)
		return -EINVAL;
	if (!str_starts(v, "http://") && !str_starts(v, "https://"))
		return err_set(err, -EINVAL, "SUNK_HOOK_URL does not begin with http:// or https://");
	len = strlen(v);
	while (v[len - 1] == '/')
		len--;
	e->url = mem_strndup(v, len);
	return 0;
}

/* Its memory is what /proc/PID/environ shows. */
static int take_token(struct placeholder_env *e, struct err *err)
{
	char *shown = getenv("SUNK_HOOK_TOKEN");
	const char *v = read_text("SUNK_HOOK_TOKEN", HOOK_TOKEN_MAX, err);

	e->token = mem_strdup(v);
	if (shown)
		explicit_bzero(shown, strlen(shown));
	unsetenv("SUNK_HOOK_TOKEN");
	return e->token ? 0 : -EINVAL;
}

static int read_ca(struct placeholder_env *e, struct err *err)
{
	if (str_empty(getenv("SUNK_HOOK_CA")))
		return 0;
	e->ca_file = mem_strdup(read_text("SUNK_HOOK_CA", PATH_TEXT_MAX, err));
	return e->ca_file ? 0 : -EINVAL;
}

/* Only makes things faster: without it the scheduler asks Slurm. */
static void read_node(struct placeholder_env *e)
{
	const char *v = getenv("SLURMD_NODENAME");

	if (node_name_is_sane(v))
		e->node = mem_strdup(v);
}

int placeholder_env_read(struct placeholder_env *e, struct err *err)
{
	int64_t job_id = 0, restarts = 0, kill_wait = 0;
	int r;

	*e = (struct placeholder_env) { 0 };
	r = take_token(e, err);
	if (r == 0)
		r = read_pod(e, err);
	if (r == 0)
		r = read_url(e, err);
	if (r == 0)
		r = read_number("SUNK_KILL_WAIT", 1, KILL_WAIT_MAX_S, &kill_wait, err);
	if (r == 0)
		r = read_number("SLURM_JOB_ID", 1, JOB_ID_MAX, &job_id, err);
	if (r == 0 && getenv("SLURM_RESTART_COUNT"))
		r = read_number("SLURM_RESTART_COUNT", 0, INT32_MAX, &restarts, err);
	if (r == 0)
		r = read_ca(e, err);
	read_node(e);
	e->kill_wait = kill_wait * USEC_SEC;
	e->job_id = (uint32_t)job_id;
	e->restarts = (uint32_t)restarts;
	return r;
}

void placeholder_env_done(struct placeholder_env *e)
{
	if (e->token)
		explicit_bzero(e->token, strlen(e->token));
	free(e->pod);
	free(e->url);
	free(e->token);
	free(e->ca_file);
	free(e->node);
	*e = (struct placeholder_env) { 0 };
}
