/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hook/call.h"
#include "hook/placeholder.h"

#define JOB_ID_MAX 0x7fffffff
#define KILL_WAIT_MAX_S 65535
#define PATH_TEXT_MAX 4096

/* A variable as printable ASCII without blanks. */
static int read_text(const char *name, size_t max, const char **ret, struct err *err)
{
	const char *v = getenv(name);

	if (str_empty(v))
		return err_set(err, -EINVAL, "%s is not set", name);
	if (strnlen(v, max + 1) > max)
		return err_set(err, -EINVAL, "%s is longer than %zu bytes", name, max);
	for (const char *c = v; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return err_set(err, -EINVAL, "%s has a blank, a control character or no ASCII in it", name);
	*ret = v;
	return 0;
}

static int read_number(const char *name, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
	const char *v = NULL;
	int r = read_text(name, 32, &v, err);

	if (r == 0 && str_to_i64(v, min, max, ret) < 0)
		r = err_set(err, -EINVAL, "%s is '%s', not a number from %lld to %lld", name, v, (long long)min,
		            (long long)max);
	return r;
}

/* Names as Kubernetes has them: what goes into an address and into a job's extra needs no quoting then. */
static int read_pod(struct placeholder_env *e, struct err *err)
{
	const char *v = NULL;
	size_t slashes = 0, part = 0;
	bool ok = true;
	int r = read_text("SUNK_POD", PLACEHOLDER_POD_MAX, &v, err);

	if (r < 0)
		return r;
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
	const char *v = NULL;
	size_t len;
	int r = read_text("SUNK_HOOK_URL", PLACEHOLDER_URL_MAX, &v, err);

	if (r < 0)
		return r;
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
	char *v = getenv("SUNK_HOOK_TOKEN");
	const char *text = NULL;
	int r = read_text("SUNK_HOOK_TOKEN", HOOK_TOKEN_MAX, &text, err);

	if (r == 0)
		e->token = mem_strdup(text);
	if (v)
		explicit_bzero(v, strlen(v));
	unsetenv("SUNK_HOOK_TOKEN");
	return r;
}

int placeholder_env_read(struct placeholder_env *e, struct err *err)
{
	int64_t job_id = 0, restarts = 0, kill_wait = 0;
	const char *ca = NULL;
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
	if (r == 0 && !str_empty(getenv("SUNK_HOOK_CA")))
		r = read_text("SUNK_HOOK_CA", PATH_TEXT_MAX, &ca, err);
	e->ca_file = mem_strdup(ca);
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
	*e = (struct placeholder_env) { 0 };
}
