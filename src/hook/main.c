/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-hook: what runs on compute nodes. One table of verbs. The token comes from a file or from the environment, never
 * from the command line, where every user of the node could read it.
 *
 * It is built twice (hook/try.h): sunk-hook, for plain http, starts fast, and becomes sunk-hook-tls when the address is https.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/str.h"
#include "hook/call.h"
#include "hook/placeholder.h"
#include "hook/prolog.h"
#include "hook/try.h"

enum { EXIT_USAGE = 2 };
#define PING_TIMEOUT (5 * USEC_SEC)
#define TLS_PROGRAM "sunk-hook-tls"

struct settings {
	char *url, *token_file, *ca_file, *uid_file;
	usec_t timeout;
	bool retry, help;
};

struct verb {
	const char *name, *help;
	int (*run)(const struct settings *s);
	bool by_environment; /* takes no flags */
};

/* The token as the caller gave it: file, then environment, then none. */
static int find_token(const struct settings *s, char **ret, struct err *err)
{
	const char *env = getenv("SUNK_HOOK_TOKEN");

	if (!str_empty(s->token_file))
		return hook_read_token(s->token_file, ret, err);
	if (!str_empty(env) && strlen(env) > HOOK_TOKEN_MAX)
		return err_set(err, -E2BIG, "SUNK_HOOK_TOKEN is longer than %d bytes", HOOK_TOKEN_MAX);
	if (!str_empty(env) && str_has_control(env, strlen(env)))
		return err_set(err, -EINVAL, "SUNK_HOOK_TOKEN has control characters");
	*ret = str_empty(env) ? NULL : mem_strdup(env);
	return 0;
}

static int run_ping(const struct settings *s)
{
	struct hook_answer answer = { 0 };
	struct err err = { 0 };
	_cleanup_free_ char *token = NULL, *url = str_printf("%s/healthz", s->url);
	int r = find_token(s, &token, &err);

	if (r == 0)
		r = hook_call(&(struct hook_call) { .method = "GET",
		                                    .url = url,
		                                    .token = token,
		                                    .ca_file = str_empty(s->ca_file) ? NULL : s->ca_file,
		                                    .deadline = clock_mono(clock_real()) +
		                                                (s->timeout ? s->timeout : PING_TIMEOUT),
		                                    .retry = s->retry },
		              &answer, &err);
	if (token)
		explicit_bzero(token, strlen(token));
	if (r < 0) {
		fprintf(stderr, "sunk-hook ping: %s\n", err_text(&err));
		return EXIT_FAILURE;
	}
	if (answer.status != 200)
		fprintf(stderr, "sunk-hook ping: %s answered %d\n", url, answer.status);
	buf_done(&answer.body);
	return answer.status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_placeholder(const struct settings *s)
{
	(void)s;
	return placeholder_run();
}

static int run_in_slurmd(const struct settings *s, int (*run)(const struct prolog *p), usec_t timeout)
{
	_cleanup_free_ char *token = NULL, *uid = NULL;
	struct err err = { 0 };
	int r = find_token(s, &token, &err);

	if (r == 0 && run == prolog_run && !str_empty(s->uid_file))
		r = prolog_read_uid(s->uid_file, &uid, &err);
	if (r < 0) {
		fprintf(stderr, "sunk-hook: %s\n", err_text(&err));
		return EXIT_FAILURE;
	}
	r = run(&(struct prolog) { .url = s->url,
	                           .token = token,
	                           .ca_file = str_empty(s->ca_file) ? NULL : s->ca_file,
	                           .node = getenv("SLURMD_NODENAME"),
	                           .job = getenv("SLURM_JOB_ID"),
	                           .extra = getenv("SLURM_JOB_EXTRA"),
	                           .slurmd_uid = uid,
	                           .timeout = s->timeout ? s->timeout : timeout });
	if (token)
		explicit_bzero(token, strlen(token));
	return r;
}

static int run_prolog(const struct settings *s)
{
	return run_in_slurmd(s, prolog_run, PROLOG_TIMEOUT);
}

static int run_epilog(const struct settings *s)
{
	return run_in_slurmd(s, epilog_run, EPILOG_HOLD_TIMEOUT);
}

static const struct verb verbs[] = {
	{ "prolog", "in Slurm's Prolog: wait until the node is locked, or drain it", run_prolog },
	{ "epilog", "in Slurm's Epilog: tell that a job has ended; hold the node until a placeholder's Pod is gone",
	  run_epilog },
	{ "ping", "ask the hook API whether it is there", run_ping },
	{ "placeholder", "the body of a placeholder job: hold its node until its Pod is over", run_placeholder, true },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static void usage(FILE *to, struct arg *args, size_t n)
{
	_cleanup_buf_ struct buf help = BUF(16384);

	fputs("usage: sunk-hook VERB [FLAG...]\n\nCalls the hook API of sunk's daemons from a compute "
	      "node.\n\nVerbs:\n",
	      to);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(to, "  %-12s %s\n", verbs[i].name, verbs[i].help);
	args_help(args, n, &help);
	fprintf(to,
	        "\nFlags:\n%s\nEnvironment: SUNK_HOOK_URL, SUNK_HOOK_TOKEN_FILE, SUNK_HOOK_CA_FILE, SUNK_POD_UID_FILE "
	        "are the "
	        "defaults of the flags;\n"
	        "SUNK_HOOK_TOKEN is the token itself, used when no file is named. placeholder takes all it needs from "
	        "the\n"
	        "environment: SUNK_POD, SUNK_HOOK_URL, SUNK_HOOK_TOKEN, SUNK_KILL_WAIT, SUNK_HOOK_CA, and Slurm's "
	        "own.\n",
	        buf_text(&help));
}

static char *env_or_empty(const char *name)
{
	char *v = getenv(name);

	return v ? v : (char *)"";
}

/* The same program with libcurl, beside this one. Returns only when that cannot be. */
static int become_tls(char **argv)
{
	char path[PATH_MAX + sizeof(TLS_PROGRAM)];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	path[MAX_OF(len, 0)] = 0;
	slash = strrchr(path, '/');
	if (slash) { /* else there is no /proc; one in the working directory could be anybody's */
		str_copy(slash + 1, sizeof(TLS_PROGRAM), TLS_PROGRAM);
		execv(path, argv);
	}
	fprintf(stderr, "sunk-hook: https needs %s, which cannot be run: %s\n", slash ? path : TLS_PROGRAM,
	        strerrordesc_np(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char **argv_given = mem_dup(argv, ((size_t)argc + 1) * sizeof(*argv));
	struct settings s = { .url = env_or_empty("SUNK_HOOK_URL"),
		              .token_file = env_or_empty("SUNK_HOOK_TOKEN_FILE"),
		              .ca_file = env_or_empty("SUNK_HOOK_CA_FILE"),
		              .uid_file = env_or_empty("SUNK_POD_UID_FILE"),
		              .timeout = 0 };
	struct arg args[] = {
		{ .flag = "url",
		  .type = ARG_STRING,
		  .value = &s.url,
		  .unit = "URL",
		  .help = "Where the hook API is, like http://slurm-syncer:8090." },
		{ .flag = "token-file",
		  .type = ARG_STRING,
		  .value = &s.token_file,
		  .unit = "FILE",
		  .help = "File with the bearer token." },
		{ .flag = "ca-file",
		  .type = ARG_STRING,
		  .value = &s.ca_file,
		  .unit = "FILE",
		  .help = "CA certificates that the server's is checked against; else the system's." },
		{ .flag = "pod-uid-file",
		  .type = ARG_STRING,
		  .value = &s.uid_file,
		  .unit = "FILE",
		  .help = "File with the uid of the Pod that slurmd runs in: prolog goes on by this Pod's lock only. "
		          "One that "
		          "is not there counts as not given." },
		{ .flag = "timeout",
		  .type = ARG_DURATION,
		  .value = &s.timeout,
		  .max = 24 * USEC_HOUR,
		  .help = "The call is over after this, whatever happens. 0: 5s for ping, 90s for prolog and for the "
		          "epilog of a placeholder job; other epilogs take 3s at most." },
		{ .flag = "retry",
		  .type = ARG_BOOL,
		  .value = &s.retry,
		  .help = "Keep trying while the API is away, until the timeout." },
		{ .flag = "help", .type = ARG_BOOL, .value = &s.help, .help = "Show this." },
	};
	const struct verb *verb;
	struct err err = { 0 };
	char **rest;
	int n_rest, status = EXIT_USAGE;

	if (args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err) < 0)
		fprintf(stderr, "sunk-hook: %s\n", err_text(&err));
	else if (s.help) {
		usage(stdout, args, ARRAY_LEN(args));
		status = EXIT_SUCCESS;
	} else if (n_rest == 0)
		usage(stderr, args, ARRAY_LEN(args));
	else if (n_rest > 1)
		fprintf(stderr, "sunk-hook: one verb only, '%.40s' is too much\n", rest[1]);
	else if (!(verb = find_verb(rest[0])))
		fprintf(stderr, "sunk-hook: there is no verb '%.40s' (--help lists them)\n", rest[0]);
	else if (str_empty(s.url) && !verb->by_environment)
		fputs("sunk-hook: where is the hook API? Give --url or set SUNK_HOOK_URL\n", stderr);
	else if (!hook_speaks_tls &&
	         str_starts(verb->by_environment ? env_or_empty("SUNK_HOOK_URL") : s.url, "https://"))
		status = become_tls(argv_given);
	else
		status = verb->run(&s);
	args_done(args, ARRAY_LEN(args));
	return status;
}
