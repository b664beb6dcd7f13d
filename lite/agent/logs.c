/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reads the files that the shims' scribes write, and shows their lines with or without times.
 */
#include "lite/agent/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "lite/agent/logfile.h"
#include "lite/pki.h"
#include "lite/web.h"

#define PATH "/containerLogs/"
#define TOKEN_MAX 4096
#define TOKEN_MIN 16
#define SINCE_MAX_S ((int64_t)100 * 365 * 24 * 3600)
#define FOLLOW_SPAN (100 * USEC_MSEC)
#define BLOCK ((size_t)64 << 10)
#define KEPT_MAX (2 * (BLOCK + LOGFILE_HEAD_LEN + LOGFILE_LINE_MAX))

struct logs {
	struct loop *loop;
	struct log_source source;
	struct pki pki;
	char *token;
	struct web *web;
};

/* One log being read. */
struct tail {
	struct logs *logs;
	struct exchange *x;
	struct loop_timer *again;
	int fd;
	int64_t left; /* bytes that may still be sent */
	bool follow;
	char *uid, *container, *path;
	struct log_view view;
	struct buf kept, shown; /* read, and made ready to be sent */
	usec_t run; /* when the run of the container began that is followed */
};

/* ---- sending ---- */

/* Has the run that is followed more to write? */
static bool still_runs(const struct tail *t)
{
	struct run *r = t->follow ? t->logs->source.of_uid(t->logs->source.arg, t->uid) : NULL;
	const struct box_state *b = r ? run_box(r, t->container) : NULL;

	return b && b->phase == BOX_RUNNING && b->started_at == t->run;
}

/* The scribe has begun a new file meanwhile: go on with that. */
static bool next_file(struct tail *t)
{
	struct stat here, there;
	int fd;

	if (!t->follow || fstat(t->fd, &here) < 0 || stat(t->path, &there) < 0 || here.st_ino == there.st_ino)
		return false;
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	close(t->fd);
	t->fd = fd;
	return true;
}

/* More to send, as far as it is there. False when there is nothing (more) in the file. */
static bool fill(struct tail *t)
{
	while (t->shown.len == 0) {
		char *room = buf_reserve(&t->kept, BLOCK);
		ssize_t n = room ? read(t->fd, room, BLOCK) : -1;

		if (n <= 0)
			return false;
		t->kept.len += (size_t)n;
		t->kept.data[t->kept.len] = 0;
		logfile_show(&t->view, &t->kept, &t->shown, BLOCK);
	}
	return true;
}

static ssize_t tail_read(void *arg, char *to, size_t max)
{
	struct tail *t = arg;
	bool runs = still_runs(t); /* asked first: what it wrote before its end is then read */
	size_t n;

	if (t->left > 0 && !fill(t) && !(next_file(t) && fill(t))) {
		if (!runs)
			return -1;
		loop_set_timer(t->again, usec_add(loop_now(t->logs->loop), FOLLOW_SPAN));
		return 0;
	}
	n = MIN_OF(MIN_OF(max, t->shown.len), (size_t)t->left);
	if (n == 0)
		return -1;
	memcpy(to, t->shown.data, n);
	buf_drop_front(&t->shown, n);
	if (t->shown.len == 0)
		logfile_show(&t->view, &t->kept, &t->shown, BLOCK); /* what did not fit before */
	t->left -= (int64_t)n;
	return (ssize_t)n;
}

static void tail_again(void *arg)
{
	xch_wake(((struct tail *)arg)->x);
}

static void tail_closed(void *arg)
{
	struct tail *t = arg;

	loop_remove_timer(t->again);
	close(t->fd);
	buf_done(&t->kept);
	buf_done(&t->shown);
	free(t->uid);
	free(t->container);
	free(t->path);
	free(t);
}

static const struct stream_ops tail_ops = { .read = tail_read, .closed = tail_closed };

/* ---- finding the beginning ---- */

/* Where the last n lines begin. */
static off_t lines_from_end(int fd, off_t size, int64_t n)
{
	_cleanup_free_ char *block = mem_alloc_n(BLOCK, 1);
	off_t at = size;

	if (n == 0)
		return size;
	while (at > 0) {
		size_t len = (size_t)MIN_OF((off_t)BLOCK, at);

		if (pread(fd, block, len, at - (off_t)len) != (ssize_t)len)
			return 0;
		for (size_t i = len; i-- > 0;) { /* the newline at the very end ends the last line */
			if (block[i] == '\n' && at - (off_t)len + (off_t)i != size - 1 && --n == 0)
				return at - (off_t)len + (off_t)i + 1;
		}
		at -= (off_t)len;
	}
	return 0;
}

static off_t beginning(int fd, int64_t tail_lines)
{
	struct stat s;

	return tail_lines < 0 || fstat(fd, &s) < 0 ? 0 : lines_from_end(fd, s.st_size, tail_lines);
}

/* ---- requests ---- */

static void refuse(struct exchange *x, int status, const char *text)
{
	xch_answer(x, status, "text/plain", mem_strdup(text), strlen(text));
}

static bool knows_token(const struct logs *l, const struct exchange *x)
{
	const char *header = xch_header(x, "Authorization");

	return header && str_starts(header, "Bearer ") && strlen(header + 7) == strlen(l->token) &&
	       CRYPTO_memcmp(header + 7, l->token, strlen(l->token)) == 0;
}

static bool flag(const struct exchange *x, const char *key)
{
	const char *v = xch_query(x, key);

	return v && (str_eq(v, "true") || str_eq(v, "1"));
}

static bool number(const struct exchange *x, const char *key, int64_t otherwise, int64_t *ret)
{
	const char *v = xch_query(x, key);

	*ret = otherwise;
	return str_empty(v) || str_to_i64(v, 0, INT64_MAX, ret) == 0;
}

/* While a container waits to be run again, the run before is the one whose log is current. */
static char *log_path(const struct run *r, const char *container, bool previous)
{
	const struct box_state *b = run_box(r, container);
	bool waits = b && b->phase != BOX_RUNNING && str_eq(b->reason, "CrashLoopBackOff");

	return str_printf("%s/%s.log%s", run_dir(r), container, previous && !waits ? BOX_LOG_BEFORE : "");
}

static void send_log(struct logs *l, struct exchange *x, const struct run *r, const char *container)
{
	const struct box_state *b = run_box(r, container);
	_cleanup_free_ char *path = log_path(r, container, flag(x, "previous"));
	int64_t lines, since, limit;
	struct tail *t;
	int fd;

	if (!number(x, "tailLines", -1, &lines) || !number(x, "sinceSeconds", -1, &since) ||
	    !number(x, "limitBytes", INT64_MAX, &limit)) {
		refuse(x, 400, "tailLines, sinceSeconds and limitBytes are numbers");
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		refuse(x, 404, "there is no such log");
		return;
	}
	lseek(fd, beginning(fd, lines), SEEK_SET);
	t = NEW(struct tail);
	*t = (struct tail) { .logs = l,
		             .x = x,
		             .fd = fd,
		             .left = limit,
		             .follow = flag(x, "follow") && !flag(x, "previous"),
		             .uid = mem_strdup(run_uid(r)),
		             .container = mem_strdup(container),
		             .path = TAKE_PTR(path),
		             .kept = BUF(KEPT_MAX),
		             .shown = BUF(KEPT_MAX),
		             .run = b ? b->started_at : 0 };
	log_view_init(&t->view, flag(x, "timestamps"),
	              since < 0 ? 0 : MAX_OF(1, clock_wall(clock_real()) - MIN_OF(since, SINCE_MAX_S) * USEC_SEC));
	t->again = loop_add_timer(l->loop, tail_again, t);
	xch_stream(x, 200, "text/plain", &tail_ops, t);
}

/* Ends this part of a path at its slash; what follows, or NULL. */
static char *next_part(char *part)
{
	char *slash = part ? strchr(part, '/') : NULL;

	if (!slash)
		return NULL;
	*slash = 0;
	return slash + 1;
}

static void handle(void *arg, struct exchange *x)
{
	struct logs *l = arg;
	_cleanup_free_ char *path = NULL;
	char *ns, *name, *container;
	struct run *r;

	if (!knows_token(l, x)) {
		refuse(x, 401, "Unauthorized");
		return;
	}
	if (!str_eq(xch_method(x), "GET") || !str_starts(xch_path(x), PATH)) {
		refuse(x, 404, "only logs are served here");
		return;
	}
	path = mem_strdup(xch_path(x) + strlen(PATH));
	ns = path;
	name = next_part(ns);
	container = next_part(name);
	r = name ? l->source.named(l->source.arg, ns, name) : NULL;
	if (!r || str_empty(container) || strchr(container, '/') || *container == '.')
		refuse(x, 404, "no such container runs on this node");
	else
		send_log(l, x, r, container);
}

static int read_token(struct logs *l, const char *path, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF(TOKEN_MAX);
	int r = buf_read_file(&text, path);

	if (r < 0)
		return err_errno(err, r, "%s", path);
	l->token = mem_strndup(buf_text(&text), strcspn(buf_text(&text), "\n"));
	OPENSSL_cleanse(text.data, text.len);
	return strlen(l->token) >= TOKEN_MIN
	               ? 0
	               : err_set(err, -EINVAL, "%s: a token has at least %d characters", path, TOKEN_MIN);
}

int logs_new(struct loop *loop, const char *token_file, const struct log_source *source, struct logs **ret,
             struct err *err)
{
	struct logs *l = NEW(struct logs);
	int r;

	*l = (struct logs) { .loop = loop, .source = *source };
	r = read_token(l, token_file, err);
	if (r == 0)
		r = pki_make(&l->pki, "127.0.0.1", err);
	if (r == 0)
		r = web_new(loop,
		            &(struct web_options) { .address = "127.0.0.1",
		                                    .cert_pem = l->pki.cert_pem,
		                                    .key_pem = l->pki.key_pem,
		                                    .handle = handle,
		                                    .arg = l },
		            &l->web, err);
	if (r < 0) {
		logs_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	web_free(l->web);
	pki_done(&l->pki);
	if (l->token)
		OPENSSL_cleanse(l->token, strlen(l->token));
	free(l->token);
	free(l);
}

uint16_t logs_port(const struct logs *l)
{
	return l->web ? web_port(l->web) : 0;
}
