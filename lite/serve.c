/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * `sunk-lite serve`: brings the parts together, runs the loop, takes them apart.
 */
#include "lite/serve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/args.h"
#include "base/log.h"
#include "base/str.h"
#include "lite/api.h"
#include "lite/auth.h"
#include "lite/boot.h"
#include "lite/control/control.h"
#include "lite/crd.h"
#include "lite/db.h"
#include "lite/fault.h"
#include "lite/log.h"
#include "lite/pki.h"
#include "lite/server.h"
#include "lite/watch.h"

#define FILE_MAX 65536
#define TIDY_SPAN (30 * USEC_SEC)

struct settings {
	char *dir, *address, *tokens, *audit;
	int64_t port, seed;
	usec_t node_grace;
	bool no_journal, sync, no_controllers, verbose;
};

struct server {
	struct lite lite;
	struct settings set;
	struct pki pki;
	struct loop_timer *tidy;
	int lock;
};

/* ---- commits ---- */

bool lite_commit(struct lite *l)
{
	struct err err = { 0 };

	if (!l->failed && db_commit(l->db, &err) < 0) {
		log_error("the journal cannot be written, stopping: %s", err_text(&err));
		l->failed = true;
		loop_stop(l->loop);
	}
	if (!l->failed && l->sync && l->web)
		web_release(l->web); /* answers that waited for this */
	return !l->failed;
}

static void commit_now(void *arg)
{
	lite_commit(arg);
}

static void commit_wanted(void *arg)
{
	struct lite *l = arg;

	loop_set_timer(l->commit_soon, loop_now(l->loop));
}

static void tidy(void *arg)
{
	struct server *s = arg;
	struct err err = { 0 };

	if (db_tidy(s->lite.db, &err) < 0)
		log_warn("the journal could not be rewritten: %s", err_text(&err));
	loop_set_timer(s->tidy, usec_add(loop_now(s->lite.loop), TIDY_SPAN));
}

/* ---- files ---- */

static char *in_dir(const struct server *s, const char *name)
{
	return str_printf("%s/%s", s->set.dir, name);
}

static int lock_dir(struct server *s, struct err *err)
{
	_cleanup_free_ char *path = in_dir(s, "lock");

	if (mkdir(s->set.dir, 0700) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "making %s", s->set.dir);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_errno(err, -errno, "%s", path);
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "%s is in use by another server", s->set.dir);
	return 0;
}

/* A token: made once, kept. */
static int kept_token(struct server *s, const char *name, char **ret, struct err *err)
{
	_cleanup_free_ char *path = in_dir(s, name), *token = NULL;
	_cleanup_buf_ struct buf text = BUF(FILE_MAX);
	int r = buf_read_file(&text, path);

	if (r == 0 && text.len > 0) {
		*ret = buf_take(&text);
		return 0;
	}
	if (r < 0 && r != -ENOENT)
		return err_errno(err, r, "%s", path);
	token = auth_make_token();
	r = write_file(path, token, strlen(token), 0600, err);
	if (r == 0)
		*ret = TAKE_PTR(token);
	return r;
}

static int open_auth(struct server *s, char **ret_token, struct err *err)
{
	_cleanup_free_ char *token = NULL;
	int r;

	s->lite.auth = auth_new();
	r = kept_token(s, "token", &token, err);
	if (r == 0)
		r = auth_add(s->lite.auth, token, "kubernetes-admin", "", "system:masters", USEC_NEVER, err);
	if (r == 0)
		auth_set_key(s->lite.auth, token);
	if (r == 0 && s->set.tokens)
		r = auth_add_file(s->lite.auth, s->set.tokens, err);
	if (r == 0)
		*ret_token = TAKE_PTR(token);
	return r;
}

/* Without a wish, the port of the last run if it is free: clients keep their address over a restart. */
static uint16_t port_wish(const struct server *s)
{
	_cleanup_free_ char *path = in_dir(s, "port");
	_cleanup_buf_ struct buf text = BUF(16);
	int64_t port;

	if (s->set.port != 0)
		return (uint16_t)s->set.port;
	if (buf_read_file(&text, path) < 0 || str_to_i64(buf_text(&text), 1, 65535, &port) < 0)
		return 0;
	return (uint16_t)port;
}

static int open_web(struct server *s, struct err *err)
{
	struct web_options o = { .address = s->set.address,
		                 .port = port_wish(s),
		                 .cert_pem = s->pki.cert_pem,
		                 .key_pem = s->pki.key_pem,
		                 .body_max = BODY_MAX,
		                 .handle = api_handle,
		                 .settle = api_settle,
		                 .arg = &s->lite };
	_cleanup_free_ char *path = in_dir(s, "port");
	char text[16];
	int r;

	r = web_new(s->lite.loop, &o, &s->lite.web, err);
	if (r == -EADDRINUSE && s->set.port == 0 && o.port != 0) {
		o.port = 0;
		r = web_new(s->lite.loop, &o, &s->lite.web, err);
	}
	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%u", web_port(s->lite.web));
	return write_file(path, text, strlen(text), 0644, err);
}

static char *url_of(const struct server *s)
{
	bool any = str_eq(s->set.address, "0.0.0.0") || str_eq(s->set.address, "::");
	const char *host = any ? "127.0.0.1" : s->set.address;

	return str_printf(strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host, web_port(s->lite.web));
}

static int write_kubeconfig(const struct server *s, const char *token, struct err *err)
{
	_cleanup_free_ char *path = in_dir(s, "kubeconfig"), *ready = in_dir(s, "ready"), *url = url_of(s);
	_cleanup_buf_ struct buf ca = BUF(FILE_MAX), text = BUF(2 * FILE_MAX);
	int r;

	str_add_base64(&ca, s->pki.ca_pem, strlen(s->pki.ca_pem));
	buf_printf(&text,
	           "apiVersion: v1\nkind: Config\nclusters:\n- name: lite\n  cluster:\n    server: %s\n"
	           "    certificate-authority-data: %s\nusers:\n- name: admin\n  user:\n    token: %s\n"
	           "contexts:\n- name: lite\n  context:\n    cluster: lite\n    user: admin\ncurrent-context: lite\n",
	           url, buf_text(&ca), token);
	r = write_file(path, buf_text(&text), text.len, 0600, err);
	if (r < 0)
		return r;
	buf_clear(&text);
	buf_printf(&text, "%s\n", url);
	return write_file(ready, buf_text(&text), text.len, 0644, err);
}

/* ---- start, run, end ---- */

static int open_store(struct server *s, struct err *err)
{
	_cleanup_free_ char *path = in_dir(s, "journal");
	struct lite *l = &s->lite;
	uint64_t cut = 0;
	int r;

	l->db = db_new();
	l->db->wake = commit_wanted;
	l->db->wake_arg = l;
	l->sync = s->set.sync && !s->set.no_journal;
	if (s->set.no_journal)
		return 0;
	r = db_open_journal(l->db, path, s->set.sync, &cut, err);
	if (r == 0 && cut > 0)
		log_warn("%s ended in the middle of a change that was never answered: %llu bytes cut off", path,
		         (unsigned long long)cut);
	return r;
}

static void stop_signal(void *arg, int signal)
{
	struct lite *l = arg;

	log_info("signal %d, stopping", signal);
	loop_stop(l->loop);
}

static int open_server(struct server *s, struct err *err)
{
	struct lite *l = &s->lite;
	_cleanup_free_ char *token = NULL, *agent_token = NULL, *ready = in_dir(s, "ready");
	int r;

	r = lock_dir(s, err);
	if (r < 0)
		return r;
	unlink(ready);
	signal(SIGPIPE, SIG_IGN);
	l->clock = clock_real();
	l->loop = loop_new();
	l->rng = s->set.seed ? rng_seeded((uint64_t)s->set.seed) : rng_from_kernel();
	l->commit_soon = loop_add_timer(l->loop, commit_now, l);
	s->tidy = loop_add_timer(l->loop, tidy, s);
	if ((r = loop_add_signal(l->loop, SIGTERM, stop_signal, l, err)) < 0 ||
	    (r = loop_add_signal(l->loop, SIGINT, stop_signal, l, err)) < 0)
		return r;
	kinds_init(&l->kinds);
	if (s->set.audit && !(l->audit = fopen(s->set.audit, "ae")))
		return err_errno(err, -errno, "%s", s->set.audit);
	if ((r = open_store(s, err)) < 0 || (r = open_auth(s, &token, err)) < 0 ||
	    (r = pki_open(&s->pki, s->set.dir, s->set.address, err)) < 0)
		return r;
	r = kept_token(s, "agent-token", &agent_token, err);
	if (r < 0)
		return r;
	l->logs = logs_new(l->loop, agent_token);
	l->faults = faults_new(l);
	l->watches = watches_new(l);
	l->crds = crds_new(l);
	boot_objects(l);
	if (!lite_commit(l))
		return err_set(err, -EIO, "the journal cannot be written");
	if (!s->set.no_controllers)
		l->control = control_new(
		        l, &(struct control_options) { .node_grace = s->set.node_grace, .ca_pem = s->pki.ca_pem });
	r = open_web(s, err);
	if (r < 0)
		return r;
	tidy(s);
	l->ready = true;
	return write_kubeconfig(s, token, err);
}

static void close_server(struct server *s)
{
	struct lite *l = &s->lite;
	_cleanup_free_ char *ready = in_dir(s, "ready");

	if (s->lock >= 0)
		unlink(ready);
	faults_free(l->faults);
	web_free(TAKE_PTR(l->web));
	if (l->audit)
		fclose(TAKE_PTR(l->audit));
	logs_free(TAKE_PTR(l->logs));
	control_free(TAKE_PTR(l->control));
	watches_free(TAKE_PTR(l->watches));
	crds_free(l->crds);
	auth_free(l->auth);
	if (l->db && !l->failed)
		db_commit(l->db, NULL);
	db_free(l->db);
	kinds_done(&l->kinds);
	pki_done(&s->pki);
	if (l->loop) {
		loop_remove_timer(l->commit_soon);
		loop_remove_timer(s->tidy);
		loop_free(l->loop);
	}
	if (s->lock >= 0)
		close(s->lock);
}

static void wait_down(usec_t span)
{
	struct timespec t = { .tv_sec = span / USEC_SEC, .tv_nsec = span % USEC_SEC * 1000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int run(struct settings *set, bool *ret_again)
{
	struct server s = { .set = *set, .lock = -1 };
	struct err err = { 0 };
	usec_t down = 0;
	int r;

	assert(set->dir && set->address);
	r = open_server(&s, &err);
	if (r == 0) {
		_cleanup_free_ char *url = url_of(&s);

		log_info("serving at %s, %zu kinds, resourceVersion %llu", url, s.lite.kinds.n,
		         (unsigned long long)s.lite.db->rv);
		loop_run(s.lite.loop);
		if (s.lite.failed)
			r = -EIO;
	} else {
		log_error("%s", err_text(&err));
	}
	*ret_again = s.lite.restart && r == 0;
	down = s.lite.down;
	close_server(&s);
	if (*ret_again) {
		log_warn("restarting on command, away for %lld ms", (long long)(down / USEC_MSEC));
		wait_down(down);
	}
	return r;
}

int serve_main(int argc, char **argv)
{
	struct settings set = { .address = (char *)"127.0.0.1", .node_grace = 40 * USEC_SEC };
	bool help = false, again = true;
	struct arg args[] = {
		{ .flag = "dir",
		  .type = ARG_STRING,
		  .value = &set.dir,
		  .unit = "DIR",
		  .help = "Where state, keys and the kubeconfig live; made when missing." },
		{ .flag = "address",
		  .type = ARG_STRING,
		  .value = &set.address,
		  .unit = "ADDRESS",
		  .help = "Address to listen on." },
		{ .flag = "port",
		  .type = ARG_INT,
		  .value = &set.port,
		  .max = 65535,
		  .unit = "PORT",
		  .help = "Port to listen on; 0 takes the one of the last run, or any free one." },
		{ .flag = "tokens",
		  .type = ARG_STRING,
		  .value = &set.tokens,
		  .unit = "FILE",
		  .help = "More users: lines of token,user,uid,\"group1,group2\"." },
		{ .flag = "audit-log",
		  .type = ARG_STRING,
		  .value = &set.audit,
		  .unit = "FILE",
		  .help = "Write there who asks for what, one line of JSON each." },
		{ .flag = "no-journal",
		  .type = ARG_BOOL,
		  .value = &set.no_journal,
		  .help = "Keep nothing on disk: a restart begins empty." },
		{ .flag = "sync",
		  .type = ARG_BOOL,
		  .value = &set.sync,
		  .help = "Answer a write only when it is on the disk, not just with the kernel: survives a power "
		          "cut." },
		{ .flag = "no-controllers",
		  .type = ARG_BOOL,
		  .value = &set.no_controllers,
		  .help = "The API alone: no scheduler, no garbage collection, no workloads." },
		{ .flag = "node-grace",
		  .type = ARG_DURATION,
		  .value = &set.node_grace,
		  .help = "A Node whose lease was not renewed for this long is no longer known to be ready; 0 never." },
		{ .flag = "seed",
		  .type = ARG_INT,
		  .value = &set.seed,
		  .max = INT64_MAX,
		  .unit = "N",
		  .help = "Seed of generated names; 0 draws one." },
		{ .flag = "verbose", .type = ARG_BOOL, .value = &set.verbose, .help = "Log more." },
		{ .flag = "help", .type = ARG_BOOL, .value = &help, .help = "Show this." },
	};
	struct err err = { 0 };
	char **rest;
	int n_rest, r;

	r = args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err);
	if (r == 0 && help) {
		_cleanup_buf_ struct buf text = BUF(1 << 16);

		args_help(args, ARRAY_LEN(args), &text);
		printf("usage: sunk-lite serve --dir DIR [FLAG...]\n\nServes a small Kubernetes API from one "
		       "process.\n\n%s",
		       buf_text(&text));
		args_done(args, ARRAY_LEN(args));
		return 0;
	}
	if (r == 0 && (n_rest > 0 || !set.dir))
		r = err_set(&err, -EINVAL, n_rest > 0 ? "'%s' is no flag" : "--dir is needed",
		            n_rest > 0 ? rest[0] : "");
	if (r < 0) {
		fprintf(stderr, "sunk-lite serve: %s\n", err_text(&err));
		args_done(args, ARRAY_LEN(args));
		return 2;
	}
	log_setup("sunk-lite", set.verbose ? LOG_DEBUG : LOG_INFO, LOG_TEXT, STDERR_FILENO);
	while (again)
		r = run(&set, &again);
	args_done(args, ARRAY_LEN(args));
	return r < 0 ? 1 : 0;
}
