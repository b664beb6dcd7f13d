/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/cred.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/rand.h"
#include "base/str.h"
#include "kube/plugin.h"
#include "kube/secret.h"

#define READS_MAX 3           /* until a set of files that rotate is read from one moment */
#define PLUGIN_RETRY USEC_SEC /* after a plugin failed, doubling … */
#define PLUGIN_RETRY_MAX USEC_MINUTE

enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_TOKEN, N_FILES };

static const char *const file_words[N_FILES] = { "CA certificates", "client certificate", "client key", "token" };

struct text {
	char *text;
	struct stat st; /* of the file it was read from */
};

struct cred_wait {
	struct link link;
	struct cred *cred;
	cred_ready ready;
	void *arg;
};

struct cred {
	struct loop *loop;
	const struct clock *clock;
	const struct kube_config *config;
	usec_t plugin_timeout;
	struct rng rng;

	const char *paths[N_FILES]; /* NULL = no such file */
	struct text texts[N_FILES];
	bool loaded;
	usec_t look_at, token_at; /* monotonic: when to look at files, and to read the token, again */
	struct err problem;

	struct plugin *plugin; /* runs now */
	struct plugin_result given;
	bool have_given;
	usec_t renew_at;         /* wall */
	usec_t ran_at, retry_at; /* monotonic: when it last ended well; not again before */
	unsigned failures;       /* in a row */
	struct err plugin_error;

	struct link waiting;
	size_t n_waiting;
	struct loop_timer *timer; /* serves those who wait */
	struct cred_view view;
};

static void serve(void *arg);

struct cred *cred_new(struct loop *l, const struct clock *clock, const struct kube_config *config,
                      usec_t plugin_timeout)
{
	struct cred *c = NEW(struct cred);

	*c = (struct cred) { .loop = l,
		             .clock = clock,
		             .config = config,
		             .rng = rng_from_kernel(),
		             .plugin_timeout = plugin_timeout ? plugin_timeout : CRED_PLUGIN_TIMEOUT };
	c->paths[FILE_CA] = config->ca.path;
	c->paths[FILE_CERT] = config->cert.path;
	c->paths[FILE_KEY] = config->key.path;
	c->paths[FILE_TOKEN] = config->token_file;
	c->view.serial = c->view.tls_serial = 1;
	link_init(&c->waiting);
	c->timer = loop_add_timer(l, serve, c);
	return c;
}

static void texts_done(struct text *texts)
{
	for (int i = 0; i < N_FILES; i++) {
		secret_free(texts[i].text);
		texts[i] = (struct text) { 0 };
	}
}

void cred_free(struct cred *c)
{
	struct link *l;

	if (!c)
		return;
	plugin_free(c->plugin);
	while ((l = list_take_head(&c->waiting)))
		free(LIST_ITEM(l, struct cred_wait, link));
	loop_remove_timer(c->timer);
	texts_done(c->texts);
	plugin_result_done(&c->given);
	free(c);
}

/* Files */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int read_one(int which, const char *path, struct text *ret, struct err *err)
{
	size_t max = which == FILE_TOKEN ? KUBE_TOKEN_MAX : KUBE_PEM_BYTES_MAX;
	_cleanup_(secret_buf_done) struct buf b = BUF(max);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "%s (%s)", path, file_words[which]);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s (%s): this is no regular file", path, file_words[which]);
	buf_reserve(&b, max);
	r = buf_read_fd(&b, fd);
	if (r == -EFBIG)
		return err_set(err, r, "%s (%s): larger than %zu KiB", path, file_words[which], max >> 10);
	if (r < 0)
		return err_errno(err, r, "%s (%s)", path, file_words[which]);
	if (which == FILE_TOKEN)
		secret_buf_trim(&b);
	if (b.len == 0)
		return err_set(err, -EBADMSG, "%s (%s): it is empty", path, file_words[which]);
	if (strlen(b.data) != b.len || !(which == FILE_TOKEN ? secret_is_token(b.data) : secret_is_pem(b.data)))
		return err_set(err, -EBADMSG, "%s (%s): %s", path, file_words[which],
		               which == FILE_TOKEN ? "a token has no blanks or special characters in it"
		                                   : "this is no PEM text (-----BEGIN …)");
	ret->text = mem_strdup(b.data);
	ret->st = st;
	return 0;
}

static bool has_changed(const char *path, const struct text *t)
{
	struct stat st;

	return path && (stat(path, &st) < 0 || !is_same_file(&st, &t->st));
}

/* All files as of one moment: a certificate must not meet the key of another. */
static int read_all(struct cred *c, struct text texts[N_FILES], struct err *err)
{
	for (int try = 0; try < READS_MAX; try++) {
		bool changed = false;
		int r = 0;

		for (int i = 0; i < N_FILES && r == 0; i++)
			r = c->paths[i] ? read_one(i, c->paths[i], &texts[i], err) : 0;
		for (int i = 0; i < N_FILES && r == 0; i++)
			changed |= has_changed(c->paths[i], &texts[i]);
		if (r == 0 && !changed)
			return 0;
		texts_done(texts);
		if (r < 0)
			return r;
	}
	return err_set(err, -EAGAIN, "credential files change while they are read");
}

static bool is_view_of(const struct cred_view *a, const struct cred_view *b)
{
	return str_eq(a->tls.ca_pem, b->tls.ca_pem) && str_eq(a->tls.cert_pem, b->tls.cert_pem) &&
	       str_eq(a->tls.key_pem, b->tls.key_pem);
}

/* Puts together what is known now. `was` holds the strings of the view before, still alive. */
static void make_view(struct cred *c)
{
	const struct kube_config *k = c->config;
	const struct cred_view was = c->view;
	struct cred_view v = {
		.server = k->server,
		.proxy = k->proxy,
		.bearer = c->texts[FILE_TOKEN].text ? c->texts[FILE_TOKEN].text : k->token,
		.tls = {
			.ca_pem = c->texts[FILE_CA].text ? c->texts[FILE_CA].text : k->ca.text,
			.cert_pem = c->texts[FILE_CERT].text ? c->texts[FILE_CERT].text : k->cert.text,
			.key_pem = c->texts[FILE_KEY].text ? c->texts[FILE_KEY].text : k->key.text,
			.server_name = k->tls_server_name,
			.insecure = k->insecure,
		},
		.serial = was.serial,
		.tls_serial = was.tls_serial,
	};

	if (c->given.token)
		v.bearer = c->given.token;
	if (c->given.cert_pem) {
		v.tls.cert_pem = c->given.cert_pem;
		v.tls.key_pem = c->given.key_pem;
	}
	if (was.server && !is_view_of(&was, &v))
		v.tls_serial++;
	if (was.server && (v.tls_serial != was.tls_serial || !str_eq(was.bearer, v.bearer)))
		v.serial++;
	c->view = v;
}

/* What was read before stays in use when this fails. */
static int load(struct cred *c, usec_t now)
{
	struct text fresh[N_FILES] = { 0 }, old[N_FILES];
	struct err err = { 0 };
	int r = read_all(c, fresh, &err);

	c->look_at = now + CRED_FILE_SPAN;
	if (r < 0) {
		c->problem = err;
		return err_wrap(&c->problem, r, "%s", c->config->origin);
	}
	c->problem = (struct err) { 0 };
	c->token_at = c->paths[FILE_TOKEN] ? now + CRED_TOKEN_SPAN : USEC_NEVER;
	memcpy(old, c->texts, sizeof(old));
	memcpy(c->texts, fresh, sizeof(fresh));
	make_view(c);
	texts_done(old);
	c->loaded = true;
	return 0;
}

static void look(struct cred *c)
{
	usec_t now = clock_mono(c->clock);
	bool changed = false;

	if (c->loaded && now < c->look_at && now < c->token_at)
		return;
	c->look_at = now + CRED_FILE_SPAN;
	/* Read again after a failure, or when another file is there; the token when its time has come. */
	for (int i = 0; i < FILE_TOKEN && c->loaded; i++)
		changed |= has_changed(c->paths[i], &c->texts[i]);
	if (!c->loaded || changed || c->problem.code || now >= c->token_at)
		load(c, now);
}

/* Plugin */

static bool is_given_good(const struct cred *c)
{
	return c->have_given && (c->given.expires == 0 || clock_wall(c->clock) < c->given.expires);
}

static int check_expiry(const struct cred *c, const struct plugin_result *result, struct err *err)
{
	char text[TIME_TEXT_MAX];

	if (result->expires == 0 || result->expires > clock_wall(c->clock))
		return 0;
	return err_set(err, -ESTALE,
	               "plugin %s: what it gave expired at %s already: is the clock of this machine right?",
	               c->config->exec->command, time_format(result->expires, text));
}

static void plugin_failed(struct cred *c, const struct err *error)
{
	usec_t span = backoff_span(&c->rng, c->failures++, PLUGIN_RETRY, PLUGIN_RETRY_MAX);

	c->retry_at = clock_mono(c->clock) + span;
	c->plugin_error = *error;
	err_wrap(&c->plugin_error, c->plugin_error.code, "%s", c->config->origin);
}

static void plugin_worked(struct cred *c, struct plugin_result *result)
{
	usec_t wall = clock_wall(c->clock), life = result->expires - wall;
	struct plugin_result old = c->given;

	c->given = *result;
	*result = (struct plugin_result) { 0 };
	c->have_given = true;
	make_view(c);
	plugin_result_done(&old);
	c->renew_at = c->given.expires ? c->given.expires - MIN_OF(CRED_EXPIRY_SPAN, life / 2) : USEC_NEVER;
	c->ran_at = clock_mono(c->clock);
	c->retry_at = 0;
	c->failures = 0;
	c->plugin_error = (struct err) { 0 };
}

static void plugin_ended(void *arg, struct plugin_result *result, const struct err *error)
{
	struct cred *c = arg;
	struct err stale;

	c->plugin = NULL;
	if (!result)
		plugin_failed(c, error);
	else if (check_expiry(c, result, &stale) < 0)
		plugin_failed(c, &stale);
	else
		plugin_worked(c, result);
	serve(c);
}

/* Runs the plugin unless it runs or failed a moment ago. */
static void want_plugin(struct cred *c)
{
	struct err err = { 0 };

	if (c->plugin || clock_mono(c->clock) < c->retry_at)
		return;
	c->plugin = plugin_start(c->loop, c->config, c->view.tls.ca_pem, c->plugin_timeout, plugin_ended, c, &err);
	if (!c->plugin)
		plugin_failed(c, &err);
}

/* Asking */

const struct cred_view *cred_now(struct cred *c)
{
	look(c);
	if (!c->loaded)
		return NULL;
	if (!c->config->exec)
		return &c->view;
	if (!is_given_good(c))
		return NULL;
	if (clock_wall(c->clock) >= c->renew_at)
		want_plugin(c); /* and use what is there meanwhile */
	return &c->view;
}

static void answer_all(struct cred *c, const struct cred_view *view, const struct err *error)
{
	struct link batch, *l;

	/* Those who ask again from their callback wait for the next round. */
	link_init(&batch);
	while ((l = list_take_head(&c->waiting)))
		list_add_tail(&batch, l);
	while ((l = list_take_head(&batch))) {
		struct cred_wait *w = LIST_ITEM(l, struct cred_wait, link);
		cred_ready ready = w->ready;
		void *arg = w->arg;

		c->n_waiting--;
		free(w);
		ready(arg, view, error);
	}
}

static void serve(void *arg)
{
	struct cred *c = arg;
	const struct cred_view *view;

	if (list_empty(&c->waiting))
		return;
	view = cred_now(c);
	if (!view && c->loaded)
		want_plugin(c);
	if (!view && c->plugin)
		return;
	if (view) {
		answer_all(c, view, NULL);
	} else {
		struct err error = c->loaded ? c->plugin_error : c->problem;

		answer_all(c, NULL, &error);
	}
}

struct cred_wait *cred_get(struct cred *c, cred_ready ready, void *arg)
{
	struct cred_wait *w;

	if (c->n_waiting == CRED_WAITERS_MAX)
		return NULL;
	w = NEW(struct cred_wait);
	*w = (struct cred_wait) { .cred = c, .ready = ready, .arg = arg };
	list_add_tail(&c->waiting, &w->link);
	c->n_waiting++;
	loop_set_timer(c->timer, 0);
	return w;
}

void cred_cancel(struct cred_wait *w)
{
	if (!w)
		return;
	link_remove(&w->link);
	w->cred->n_waiting--;
	free(w);
}

bool cred_refresh(struct cred *c, uint64_t serial)
{
	if (serial != c->view.serial)
		return true;
	load(c, clock_mono(c->clock));
	if (serial != c->view.serial)
		return true;
	if (!c->config->exec || clock_mono(c->clock) < c->retry_at)
		return false;
	if (c->plugin)
		return true;
	if (c->have_given && clock_mono(c->clock) < c->ran_at + CRED_REFRESH_SPAN)
		return false;
	c->have_given = false;
	return true;
}

const char *cred_problem(const struct cred *c)
{
	if (c->problem.code)
		return err_text(&c->problem);
	return c->plugin_error.code ? err_text(&c->plugin_error) : NULL;
}
