/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/str.h"
#include "lite/agent/box.h"
#include "lite/agent/descend.h"
#include "lite/agent/probe.h"
#include "lite/agent/scribe.h"
#include "net/loop.h"

#define BACKOFF_FIRST (10 * USEC_SEC) /* as the kubelet: at once, then 10 s, 20 s … 5 min */
#define BACKOFF_MAX (5 * USEC_MINUTE)
#define BACKOFF_FORGET (10 * USEC_MINUTE)
#define GRACE_MAX (30 * 24 * USEC_HOUR)
#define COMMAND_MAX 128
#define CLIENTS_MAX 16
#define SETTLE_SPAN (20 * USEC_MSEC) /* between two looks whether all processes are gone */

struct box {
	struct shim *shim;
	const struct box_spec *spec;
	struct box_state *st;
	unsigned crashes;
	usec_t start_at;  /* monotonic; when to start it again, USEC_NEVER = not waiting for that */
	usec_t run_since; /* monotonic */
	bool is_init, term_sent, done;
	struct probe *startup, *readiness, *liveness;
	struct scribe *scribe; /* while it runs */
	char message[256];
};

struct client {
	struct link link;
	struct shim *shim;
	int fd;
	struct loop_fd *watch;
	char command[COMMAND_MAX];
	size_t len;
};

struct shim {
	struct loop *loop;
	char *dir;
	struct pod_spec *spec;
	struct pod_state state;
	struct box *inits, *mains;
	bool terminating, changed;
	usec_t kill_at;
	int listener;
	struct loop_timer *timer;
	struct link clients;
	size_t n_clients;
};

/* Telling */

static void write_state_file(struct shim *s, const char *line)
{
	_cleanup_free_ char *new = str_printf("%s/state.json.new", s->dir), *path = str_printf("%s/state.json", s->dir);
	_cleanup_fd_ int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || dprintf(fd, "%s\n", line) < 0 || rename(new, path) < 0)
		log_error("cannot write %s: %s", path, strerror(errno));
}

static void drop_client(struct client *c)
{
	loop_remove_fd(c->watch);
	close(c->fd);
	link_remove(&c->link);
	c->shim->n_clients--;
	free(c);
}

static void tell(struct shim *s)
{
	_cleanup_buf_ struct buf line = BUF(POD_STATE_MAX);

	s->changed = false;
	pod_state_format(&s->state, &line);
	write_state_file(s, buf_text(&line));
	buf_add_char(&line, '\n');
	LIST_EACH (l, &s->clients) {
		struct client *c = LIST_ITEM(l, struct client, link);

		if (send(c->fd, line.data, line.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)line.len)
			drop_client(c); /* it will come back and read the state anew */
	}
}

/* Boxes */

static void stop_probes(struct box *b)
{
	probe_free(b->startup);
	probe_free(b->readiness);
	probe_free(b->liveness);
	b->startup = b->readiness = b->liveness = NULL;
}

static void told_ready(void *arg, bool passing)
{
	struct box *b = arg;

	b->st->ready = passing;
	b->shim->changed = true;
	loop_set_timer(b->shim->timer, loop_now(b->shim->loop));
}

static void told_live(void *arg, bool passing)
{
	struct box *b = arg;

	if (!passing && b->st->pid > 0)
		kill(-b->st->pid, SIGKILL);
}

static void box_started(struct box *b)
{
	struct loop *l = b->shim->loop;

	b->st->started = true;
	b->st->ready = b->spec->readiness.kind == PROBE_NONE;
	b->shim->changed = true;
	if (b->spec->readiness.kind != PROBE_NONE)
		b->readiness = probe_new(l, &b->spec->readiness, b->spec, told_ready, b);
	if (b->spec->liveness.kind != PROBE_NONE)
		b->liveness = probe_new(l, &b->spec->liveness, b->spec, told_live, b);
	loop_set_timer(b->shim->timer, loop_now(l));
}

static void told_startup(void *arg, bool passing)
{
	struct box *b = arg;

	if (passing) {
		probe_free(b->startup);
		b->startup = NULL;
		box_started(b);
	} else if (b->st->pid > 0)
		kill(-b->st->pid, SIGKILL);
}

static const char **with_null(const char **list, uint32_t n)
{
	const char **copy = mem_alloc_n((size_t)n + 1, sizeof(*copy));

	if (n)
		memcpy(copy, list, n * sizeof(*copy));
	return copy;
}

static void box_ended(struct box *b, int status)
{
	struct box_state *st = b->st;
	usec_t now = loop_now(b->shim->loop);

	stop_probes(b);
	scribe_free(b->scribe); /* first: what it said is in its log when its end is told */
	b->scribe = NULL;
	st->exit = (struct box_exit) { .started = st->started_at, .finished = clock_wall(clock_real()) };
	if (WIFSIGNALED(status)) {
		st->exit.signal = WTERMSIG(status);
		st->exit.code = 128 + WTERMSIG(status);
	} else
		st->exit.code = WEXITSTATUS(status);
	st->exit.reason = *b->message ? "StartError" : st->exit.code ? "Error" : "Completed";
	st->message = b->message;
	st->phase = BOX_TERMINATED;
	st->pid = 0;
	st->ready = st->started = false;
	if (now - b->run_since > BACKOFF_FORGET)
		b->crashes = 0;
	b->shim->changed = true;
}

/* Each run has a log of its own; that of the run before is kept. */
static void put_log_away(const struct box *b)
{
	_cleanup_free_ char *before = str_printf("%s" BOX_LOG_BEFORE, b->spec->log),
	                    *old = str_printf("%s" SCRIBE_OLD, b->spec->log);

	if (b->st->phase == BOX_TERMINATED) {
		rename(b->spec->log, before);
		unlink(old);
	}
}

static int box_spawn(struct box *b, pid_t *ret_pid, struct err *err)
{
	_cleanup_free_ const char **argv = with_null(b->spec->argv, b->spec->n_argv),
	                          **env = with_null(b->spec->env, b->spec->n_env);
	_cleanup_fd_ int out = -1;
	int r = scribe_new(b->shim->loop, b->spec->log, SCRIBE_FILE_MAX, &b->scribe, &out, err);

	if (r < 0)
		return r;
	if (b->spec->n_argv == 0)
		return err_set(err, -EINVAL,
		               "the container has no command: images are not used here, so their entry points are "
		               "unknown");
	return spawn(&(struct spawn) { .argv = argv,
	                               .env = env,
	                               .env_only = true,
	                               .cwd = b->spec->cwd,
	                               .in = -1,
	                               .out = out,
	                               .err = out,
	                               .extra = -1 },
	             ret_pid, err);
}

static void box_start(struct box *b)
{
	struct err err = { 0 };
	pid_t pid;

	put_log_away(b);
	if (b->st->phase == BOX_TERMINATED) {
		b->st->last = b->st->exit;
		b->st->has_last = true;
		b->st->restarts++;
	}
	b->start_at = USEC_NEVER;
	b->term_sent = false;
	b->run_since = loop_now(b->shim->loop);
	b->st->started_at = clock_wall(clock_real());
	b->st->reason = "";
	*b->message = 0;
	if (box_spawn(b, &pid, &err) < 0) {
		box_ended(b, 128 << 8);
		str_copy(b->message, sizeof(b->message), err_text(&err));
		b->st->exit.reason = "StartError";
		return;
	}
	b->st->pid = pid;
	b->st->phase = BOX_RUNNING;
	b->st->message = "";
	b->shim->changed = true;
	if (b->spec->startup.kind != PROBE_NONE)
		b->startup = probe_new(b->shim->loop, &b->spec->startup, b->spec, told_startup, b);
	else
		box_started(b);
}

/* Whether a box that ended is to be run again. */
static bool wants_restart(const struct shim *s, const struct box *b)
{
	bool failed = b->st->exit.code != 0;

	if (s->terminating || b->done)
		return false;
	if (b->spec->sidecar || (s->spec->restart == POD_RESTART_ALWAYS && !b->is_init))
		return true;
	return s->spec->restart != POD_RESTART_NEVER && failed;
}

static void schedule_restart(struct box *b)
{
	usec_t wait = 0;

	if (b->crashes > 0) {
		wait = BACKOFF_FIRST;
		for (unsigned i = 1; i < b->crashes && wait < BACKOFF_MAX; i++)
			wait *= 2;
		wait = MIN_OF(wait, BACKOFF_MAX);
		b->st->last = b->st->exit;
		b->st->reason = "CrashLoopBackOff";
	}
	b->crashes++;
	b->start_at = loop_now(b->shim->loop) + wait;
	b->shim->changed = true;
}

/* Starts the box when it is to run and does not. True when it has come to its end for good. */
static bool box_step(struct shim *s, struct box *b)
{
	if (b->st->phase == BOX_RUNNING)
		return false;
	if (b->st->phase == BOX_WAITING || b->start_at <= loop_now(s->loop)) {
		box_start(b);
		if (b->st->phase == BOX_RUNNING)
			return false;
	}
	if (b->start_at != USEC_NEVER)
		return false;
	if (!wants_restart(s, b))
		return true;
	schedule_restart(b);
	return false;
}

/* The Pod */

static bool any_running(const struct box *boxes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (boxes[i].st->phase == BOX_RUNNING)
			return true;
	return false;
}

static void send_term(struct box *boxes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (boxes[i].st->phase == BOX_RUNNING && !boxes[i].term_sent) {
			boxes[i].term_sent = true;
			stop_probes(&boxes[i]);
			boxes[i].st->ready = false;
			kill(-boxes[i].st->pid, SIGTERM);
			boxes[i].shim->changed = true;
		}
}

static void wake_at(usec_t *wake, usec_t at)
{
	if (at < *wake)
		*wake = at;
}

static bool give_to(struct box *boxes, uint32_t n, pid_t pid, int status)
{
	for (uint32_t i = 0; i < n; i++) {
		struct box *b = &boxes[i];

		if (b->st->pid == pid) {
			kill(-pid, SIGKILL); /* what it left in its group */
			box_ended(b, status);
			return true;
		}
		if (probe_child_ended(b->startup, pid, status) || probe_child_ended(b->readiness, pid, status) ||
		    probe_child_ended(b->liveness, pid, status))
			return true;
	}
	return false;
}

/* Buries whoever has ended. True when there is no child left at all. */
static bool reap(struct shim *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!give_to(s->mains, s->spec->n_mains, pid, status))
			give_to(s->inits, s->spec->n_inits, pid, status);
	return pid < 0 && errno == ECHILD;
}

/* Main boxes first, then sidecars; everything that is left when the time is up. True when no process is left. */
static bool wind_down(struct shim *s, usec_t *wake)
{
	bool mains = any_running(s->mains, s->spec->n_mains);

	send_term(s->mains, s->spec->n_mains);
	if (!mains)
		send_term(s->inits, s->spec->n_inits);
	if (mains || any_running(s->inits, s->spec->n_inits)) {
		if (s->terminating && loop_now(s->loop) >= s->kill_at)
			descend_kill(getpid(), SIGKILL);
		wake_at(wake, s->terminating && loop_now(s->loop) < s->kill_at ? s->kill_at
		                                                               : loop_now(s->loop) + SETTLE_SPAN);
		return false;
	}
	/* what the boxes left behind: killed, and buried too, so that not even its number is left */
	if (descend_kill(getpid(), SIGKILL) > 0 || !reap(s)) {
		wake_at(wake, loop_now(s->loop) + SETTLE_SPAN);
		return false;
	}
	return true;
}

/* Init boxes in order; a sidecar counts as passed once it has started. True when all are. */
static bool inits_passed(struct shim *s, bool *ret_failed)
{
	for (uint32_t i = 0; i < s->spec->n_inits; i++) {
		struct box *b = &s->inits[i];
		bool over;

		if (!b->spec->sidecar && b->st->phase == BOX_TERMINATED && b->st->exit.code == 0)
			continue;
		over = box_step(s, b);
		if (b->spec->sidecar && b->st->started)
			continue;
		if (over && b->st->exit.code != 0)
			*ret_failed = true;
		else if (over)
			continue;
		return false;
	}
	return true;
}

static usec_t next_start(const struct box *boxes, uint32_t n)
{
	usec_t at = USEC_NEVER;

	for (uint32_t i = 0; i < n; i++)
		if (boxes[i].st->phase != BOX_RUNNING && boxes[i].start_at < at)
			at = boxes[i].start_at;
	return at;
}

static void step(void *arg)
{
	struct shim *s = arg;
	bool failed = false, over = false;
	usec_t wake = USEC_NEVER;

	if (!s->terminating && inits_passed(s, &failed)) {
		over = true;
		if (!s->state.initialized) {
			s->state.initialized = true;
			s->changed = true;
		}
		for (uint32_t i = 0; i < s->spec->n_mains; i++)
			over &= box_step(s, &s->mains[i]);
	}
	wake_at(&wake, next_start(s->inits, s->spec->n_inits));
	wake_at(&wake, next_start(s->mains, s->spec->n_mains));
	if (over || failed || s->terminating) {
		for (uint32_t i = 0; i < s->spec->n_inits; i++)
			s->inits[i].done = true;
		wake = USEC_NEVER;
		if (wind_down(s, &wake)) {
			s->state.ended = true;
			s->changed = true;
		}
	}
	if (s->changed)
		tell(s);
	if (s->state.ended)
		loop_stop(s->loop);
	else
		loop_set_timer(s->timer, wake);
}

static void got_child(void *arg, int sig)
{
	struct shim *s = arg;

	(void)sig;
	reap(s);
	loop_set_timer(s->timer, loop_now(s->loop));
}

static void terminate(struct shim *s, usec_t grace)
{
	usec_t at = usec_add(loop_now(s->loop), grace);

	if (!s->terminating || at < s->kill_at)
		s->kill_at = at;
	s->terminating = true;
	loop_set_timer(s->timer, loop_now(s->loop));
}

static void got_term(void *arg, int sig)
{
	(void)sig;
	terminate(arg, 0);
}

/* Clients */

static void run_command(struct client *c)
{
	int64_t ms;

	if (!str_starts(c->command, "term ") || str_to_i64(c->command + 5, 0, GRACE_MAX / USEC_MSEC, &ms) < 0)
		log_warn("unknown command '%s'", c->command);
	else
		terminate(c->shim, ms * USEC_MSEC);
}

static void client_ready(void *arg, uint32_t events)
{
	struct client *c = arg;
	char *end;
	ssize_t n = read(c->fd, c->command + c->len, sizeof(c->command) - 1 - c->len);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || c->len + (size_t)n >= sizeof(c->command) - 1) {
		drop_client(c);
		return;
	}
	c->len += (size_t)n;
	c->command[c->len] = 0;
	while ((end = strchr(c->command, '\n'))) {
		*end = 0;
		run_command(c);
		c->len -= (size_t)(end + 1 - c->command);
		memmove(c->command, end + 1, c->len + 1);
	}
}

static void client_came(void *arg, uint32_t events)
{
	struct shim *s = arg;
	_cleanup_buf_ struct buf line = BUF(POD_STATE_MAX);
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *c;

	(void)events;
	if (fd < 0)
		return;
	if (s->n_clients >= CLIENTS_MAX) {
		close(fd);
		return;
	}
	c = NEW(struct client);
	*c = (struct client) { .shim = s, .fd = fd };
	c->watch = loop_add_fd(s->loop, fd, EPOLLIN, client_ready, c);
	list_add_tail(&s->clients, &c->link);
	s->n_clients++;
	pod_state_format(&s->state, &line);
	buf_add_char(&line, '\n');
	if (send(fd, line.data, line.len, MSG_NOSIGNAL) != (ssize_t)line.len)
		drop_client(c);
}

/* Addressed relative to the directory, because a socket's path is at most 107 bytes. */
static int listen_in_dir(struct shim *s, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "sock" };

	if (chdir(s->dir) < 0)
		return err_errno(err, -errno, "cannot enter %s", s->dir);
	unlink(addr.sun_path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(s->listener, 8) < 0)
		return err_errno(err, -errno, "cannot listen on %s/sock", s->dir);
	loop_add_fd(s->loop, s->listener, EPOLLIN, client_came, s);
	return 0;
}

static void set_up_boxes(struct shim *s, const struct box_spec *specs, uint32_t n, bool init, struct box **ret_boxes,
                         struct box_state **ret_states)
{
	struct box *boxes = mem_alloc_n(n, sizeof(*boxes));
	struct box_state *states = mem_alloc_n(n, sizeof(*states));
	const char *waits_for = s->spec->n_inits ? "PodInitializing" : "ContainerCreating";

	for (uint32_t i = 0; i < n; i++) {
		states[i] = (struct box_state) {
			.name = specs[i].name, .phase = BOX_WAITING, .reason = waits_for, .message = ""
		};
		boxes[i] = (struct box) {
			.shim = s, .spec = &specs[i], .st = &states[i], .is_init = init, .start_at = USEC_NEVER
		};
	}
	*ret_boxes = boxes;
	*ret_states = states;
}

/* Who to end, for those who have no agent: "PID STARTTIME", so that a pid used again is not taken for us. */
static void write_pid(struct shim *s)
{
	_cleanup_free_ char *path = str_printf("%s/shim.pid", s->dir);
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	_cleanup_buf_ struct buf stat = BUF(4096);
	unsigned long long started = 0;
	const char *rest;

	if (buf_read_file(&stat, "/proc/self/stat") < 0 || !(rest = strrchr(buf_text(&stat), ')')) ||
	    sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
	           &started) != 1 ||
	    dprintf(fd, "%d %llu\n", getpid(), started) < 0)
		log_warn("cannot write %s", path);
}

static int load(struct shim *s, struct err *err)
{
	_cleanup_free_ char *path = str_printf("%s/spec.json", s->dir);
	_cleanup_buf_ struct buf text = BUF(POD_SPEC_MAX);
	int r = buf_read_file(&text, path);

	if (r < 0)
		return err_errno(err, r, "%s", path);
	r = pod_spec_parse(buf_text(&text), text.len, &s->spec, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	s->state.n_inits = s->spec->n_inits;
	s->state.n_mains = s->spec->n_mains;
	set_up_boxes(s, s->spec->inits, s->spec->n_inits, true, &s->inits, &s->state.inits);
	set_up_boxes(s, s->spec->mains, s->spec->n_mains, false, &s->mains, &s->state.mains);
	return 0;
}

static void box_done(struct box *b)
{
	stop_probes(b);
	scribe_free(b->scribe);
}

static void unload(struct shim *s)
{
	while (!list_empty(&s->clients))
		drop_client(LIST_ITEM(s->clients.next, struct client, link));
	for (uint32_t i = 0; s->spec && i < s->spec->n_inits; i++)
		box_done(&s->inits[i]);
	for (uint32_t i = 0; s->spec && i < s->spec->n_mains; i++)
		box_done(&s->mains[i]);
	fd_closep(&s->listener);
	loop_free(s->loop);
	free(s->inits);
	free(s->mains);
	free(s->state.inits);
	free(s->state.mains);
	free(s->spec);
	free(s->dir);
}

int shim_main(const char *dir)
{
	struct shim s = { .loop = loop_new(), .dir = realpath(dir, NULL), .listener = -1 };
	struct err err = { 0 };
	int r;

	link_init(&s.clients);
	s.timer = loop_add_timer(s.loop, step, &s);
	/* every process that loses its parent becomes our child: none can hide */
	r = s.dir ? prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0 : -errno;
	if (r < 0)
		err_errno(&err, r, "%s", dir);
	if (r == 0)
		r = load(&s, &err);
	if (r == 0)
		r = loop_add_signal(s.loop, SIGCHLD, got_child, &s, &err);
	if (r == 0)
		r = loop_add_signal(s.loop, SIGTERM, got_term, &s, &err);
	if (r == 0)
		r = listen_in_dir(&s, &err);
	if (r == 0) {
		write_pid(&s);
		s.changed = true;
		loop_set_timer(s.timer, loop_now(s.loop));
		loop_run(s.loop);
	} else
		log_error("shim: %s", err_text(&err));
	unload(&s);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
