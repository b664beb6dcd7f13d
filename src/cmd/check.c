/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk check: can we reach Kubernetes and Slurm, as whom, and if not, what is wrong? Looks once, or with --watch again and
 * again, printing what changed. The shortest complete user of both sides.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/both_sides.h"
#include "cmd/verb.h"
#include "kube/client.h"
#include "kube/cred.h"
#include "net/loop.h"
#include "json/json.h"

#define OWN_ROWS 3
#define VERDICT_MAX 2048

enum side { KUBERNETES, SLURM, SIDES };
static const char *const side_names[] = { "Kubernetes", "Slurm" };
static const char *const only_choices[] = { "both", "kubernetes", "slurm", NULL };

struct settings {
	struct both_sides sides;
	usec_t every;
	int only;
	bool watch;
};

struct verdict {
	bool known, ok;
	char text[VERDICT_MAX];
};

struct check {
	const struct settings *s;
	struct loop *loop;
	struct loop_timer *again[SIDES];
	struct verdict shown[SIDES];
	bool wanted[SIDES], closing;
	/* Kubernetes */
	struct kube_config *config;
	struct cred *cred;
	struct kube_client *client;
	char version[64];
	/* Slurm */
	struct slurm_port *slurm;
};

static bool all_known(const struct check *c)
{
	for (int i = 0; i < SIDES; i++)
		if (c->wanted[i] && !c->shown[i].known)
			return false;
	return true;
}

/* Prints a verdict when it is new, and looks again later when asked to. */
static void conclude(struct check *c, enum side side, bool ok, const char *text)
{
	struct verdict *v = &c->shown[side];
	_cleanup_buf_ struct buf safe = BUF(4 * VERDICT_MAX);

	if (c->closing)
		return;
	if (!v->known || v->ok != ok || !str_eq(v->text, text)) {
		str_add_safe(&safe, text, strlen(text), VERDICT_MAX);
		printf("%-12s%-6s%s\n", side_names[side], ok ? "ok" : "FAILS", buf_text(&safe));
		fflush(stdout);
	}
	v->known = true;
	v->ok = ok;
	str_copy(v->text, sizeof(v->text), text);
	if (c->s->watch)
		loop_set_timer(c->again[side], loop_now(c->loop) + c->s->every);
	else if (all_known(c))
		loop_stop(c->loop);
}

/* Kubernetes: who answers (/version needs no rights), then whether it knows us (403 is an answer to someone it knows). */

static void ask_kube(struct check *c, const char *path, kube_call_done done)
{
	struct kube_request request = { 0 };

	kube_request_plain(&request, path);
	kube_call_start(c->client, &request, &(struct kube_call_options) { .timeout = c->s->sides.timeout }, done, c);
	kube_request_done(&request);
}

static void got_namespaces(void *arg, const struct kube_reply *reply)
{
	struct check *c = arg;
	struct kube_answer answer;
	char text[VERDICT_MAX];

	kube_reply_read(reply, &answer);
	if (answer.result.outcome != KUBE_OK && answer.result.http_status != 403) {
		conclude(c, KUBERNETES, false, answer.result.message);
		return;
	}
	snprintf(text, sizeof(text), "%s at %s (%s)%s", c->version, c->config->server, c->config->origin,
	         answer.result.http_status == 403 ? ", may not list namespaces" : "");
	conclude(c, KUBERNETES, true, text);
}

static void got_version(void *arg, const struct kube_reply *reply)
{
	struct check *c = arg;
	struct kube_answer answer;
	yyjson_doc *doc = NULL;
	struct err err = { 0 };

	kube_reply_read(reply, &answer);
	if (answer.result.outcome != KUBE_OK) {
		conclude(c, KUBERNETES, false, answer.result.message);
		return;
	}
	if (json_parse_copy(reply->http->body, reply->http->body_len, &doc, &err) < 0) {
		conclude(c, KUBERNETES, false, err_text(&err));
		return;
	}
	str_copy(c->version, sizeof(c->version),
	         str_or(json_str(json_get(yyjson_doc_get_root(doc), "gitVersion")), "unknown version"));
	yyjson_doc_free(doc);
	ask_kube(c, "/api/v1/namespaces?limit=1", got_namespaces);
}

static void look_at_kube(void *arg)
{
	struct check *c = arg;
	struct err err = { 0 };

	if (!c->client) { /* the kubeconfig may have been repaired since */
		const struct kube_config_options o = both_sides_kube(&c->s->sides);

		if (kube_config_load(&o, &c->config, &err) < 0) {
			conclude(c, KUBERNETES, false, err_text(&err));
			return;
		}
		if (c->config->warning)
			log_warn("%s", c->config->warning);
		c->cred = cred_new(c->loop, clock_real(), c->config, 0);
		c->client = kube_client_new(c->loop, clock_real(), c->cred);
	}
	ask_kube(c, "/version", got_version);
}

/* Slurm */

static void got_conf(void *arg, struct slurm_result *result)
{
	struct check *c = arg;
	char text[VERDICT_MAX];

	if (result->outcome != SLURM_OK) {
		conclude(c, SLURM, false, result->message);
		return;
	}
	snprintf(text, sizeof(text), "%s, cluster %s, KillWait %us%s%s", result->conf->version, result->conf->cluster,
	         result->conf->kill_wait_s, str_empty(c->s->sides.slurm_conf) ? "" : ", ", c->s->sides.slurm_conf);
	conclude(c, SLURM, true, text);
}

static void look_at_slurm(void *arg)
{
	struct check *c = arg;

	c->slurm->ops->call(c->slurm,
	                    &(struct slurm_request) { .verb = SLURM_LOAD_CONF, .timeout = c->s->sides.timeout },
	                    got_conf, c);
}

static void got_signal(void *arg, int sig)
{
	(void)sig;
	loop_stop(((struct check *)arg)->loop);
}

static void look(struct check *c)
{
	if (c->wanted[KUBERNETES])
		look_at_kube(c);
	if (c->wanted[SLURM])
		look_at_slurm(c);
	loop_run(c->loop);
}

static int run(const struct settings *s)
{
	struct check c = { .s = s, .loop = loop_new(), .wanted = { s->only != 2, s->only != 1 } };
	const struct slurm_options options = both_sides_slurm(&s->sides);
	struct err err = { 0 };
	bool ok = true;
	int r = loop_add_signal(c.loop, SIGTERM, got_signal, &c, &err);

	if (r == 0)
		r = loop_add_signal(c.loop, SIGINT, got_signal, &c, &err);
	if (r == 0 && c.wanted[SLURM]) {
		c.slurm = slurm_open(c.loop, &options, &err);
		r = c.slurm ? 0 : err.code;
	}
	c.again[KUBERNETES] = loop_add_timer(c.loop, look_at_kube, &c);
	c.again[SLURM] = loop_add_timer(c.loop, look_at_slurm, &c);
	if (r == 0)
		look(&c);
	else
		fprintf(stderr, "sunk check: %s\n", err_text(&err));
	for (int i = 0; i < SIDES; i++)
		ok &= !c.wanted[i] || (c.shown[i].known && c.shown[i].ok);
	c.closing = true;
	kube_client_free(c.client);
	cred_free(c.cred);
	kube_config_free(c.config);
	slurm_close(c.slurm);
	loop_free(c.loop);
	return r == 0 && ok ? STATUS_OK : STATUS_FAILED;
}

int verb_check(int argc, char **argv)
{
	struct settings s = { .every = 5 * USEC_SEC };
	struct arg args[OWN_ROWS + BOTH_SIDES_ROWS] = {
		{ .flag = "only",
		  .type = ARG_CHOICE,
		  .value = &s.only,
		  .choices = only_choices,
		  .help = "Which side to look at." },
		{ .flag = "watch",
		  .type = ARG_BOOL,
		  .value = &s.watch,
		  .help = "Keep looking, and print what changes." },
		{ .flag = "every",
		  .type = ARG_DURATION,
		  .value = &s.every,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "With --watch: how long to wait between two looks." },
	};
	const size_t n = OWN_ROWS + both_sides_rows(&s.sides, args + OWN_ROWS);
	struct err err = { 0 };
	char **rest;
	int n_rest, status = STATUS_USAGE;

	if (args_parse(args, n, argc, argv, &rest, &n_rest, &err) < 0)
		fprintf(stderr, "sunk check: %s\n", err_text(&err));
	else if (n_rest)
		fprintf(stderr, "sunk check: takes no argument '%.40s' (--help tells)\n", rest[0]);
	else if (s.sides.help) {
		_cleanup_buf_ struct buf help = BUF(16384);

		args_help(args, n, &help);
		printf("usage: sunk check [FLAG...]\n\nTells whether Kubernetes and Slurm can be reached, and if not, "
		       "what is wrong.\n"
		       "Exits with 0 when all is well, 1 when something is not.\n\n%s",
		       buf_text(&help));
		status = STATUS_OK;
	} else {
		log_setup("sunk check", s.sides.debug ? LOG_DEBUG : LOG_WARN, LOG_TEXT, STDERR_FILENO);
		status = run(&s);
	}
	args_done(args, n);
	return status;
}
