/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A round: wait, then due timers, then ready descriptors, then what was put off before the round began. What a callback
 * arms or puts off waits for the next round, so no callback can keep the loop to itself.
 *
 * A descriptor removed inside a round may still be named by an event of the same batch: it goes to `removed` and is
 * freed when the round ends. Timers need no such care, because each is taken off every list before it fires.
 *
 * Patient descriptors are in an epoll of their own, which is a descriptor of the first. They are looked at once in each span of
 * patience on average, with some credit after a silence. When that is used up, they are not listened to until there is credit for
 * one look again, or until the loop is awake for another reason.
 */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"

#define EVENTS_PER_ROUND 64
#define SIGNALS_PER_ROUND 8
#define PATIENT_CREDIT 20    /* looks at patient descriptors that come without waiting */
#define PATIENT_ROUNDS 64    /* of reading what is there, before others have their turn */
#define STATUS_UNKNOWN (-1) /* neither WIFEXITED nor WIFSIGNALED: someone else reaped the child */

struct loop_fd {
	struct link link; /* loop.fds or loop.removed */
	struct loop *loop;
	int epoll; /* that it is in */
	int fd;
	uint32_t events;
	void (*ready)(void *arg, uint32_t events); /* NULL: removed */
	void *arg;
};

struct loop_timer {
	struct link all; /* loop.timers */
	struct link due; /* round's list while about to fire */
	struct loop *loop;
	usec_t at;
	uint64_t order; /* of arming: equal times fire in this order */
	size_t slot;    /* index into the heap, NOT_ARMED outside */
	void (*fire)(void *arg);
	void *arg;
};
#define NOT_ARMED SIZE_MAX

struct call {
	void (*call)(void *arg);
	void *arg;
};

struct calls {
	struct call *list;
	size_t n, size;
};

struct child {
	struct link link; /* loop.children */
	int pid, fd;
	struct loop_fd *watch;
	void (*ended)(void *arg, int pid, int status);
	void *arg;
};

struct on_signal {
	void (*got)(void *arg, int signal);
	void *arg;
};

struct loop {
	int epoll, signal_fd;
	bool stop, in_round;
	usec_t now;
	struct link fds, removed, timers, children;
	struct loop_timer **heap; /* armed ones, earliest first */
	size_t n_heap, heap_size;
	uint64_t n_armed; /* ever; gives loop_timer.order */
	struct calls next, current;
	sigset_t signals;
	struct on_signal on_signal[_NSIG];
	struct loop_fd *signal_watch;
	struct epoll_event events[EVENTS_PER_ROUND];
	usec_t patience;
	int patient; /* an epoll; -1: nobody has patience */
	struct loop_fd *patient_watch;
	struct loop_timer *patient_timer;
	bool patient_waits; /* something is there, and is let wait */
	bool patient_woke;  /* something came in this round */
	usec_t patient_debt; /* when all that was looked at since the last silence will have had its share of patience */
};

struct loop *loop_new(void)
{
	struct loop *l = NEW(struct loop);

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert(l->epoll >= 0); /* like memory: without descriptors at the start there is nothing to go on with */
	l->signal_fd = l->patient = -1;
	l->now = clock_mono(clock_real());
	link_init(&l->fds);
	link_init(&l->removed);
	link_init(&l->timers);
	link_init(&l->children);
	sigemptyset(&l->signals);
	return l;
}

static void free_fds(struct link *list)
{
	LIST_EACH (l, list) {
		struct loop_fd *f = LIST_ITEM(l, struct loop_fd, link);

		link_remove(l);
		free(f);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	assert(!l->in_round);
	LIST_EACH (link, &l->children) {
		struct child *c = LIST_ITEM(link, struct child, link);

		close(c->fd);
		free(c);
	}
	LIST_EACH (link, &l->timers)
		free(LIST_ITEM(link, struct loop_timer, all));
	free_fds(&l->fds);
	free_fds(&l->removed);
	fd_closep(&l->signal_fd);
	fd_closep(&l->patient);
	fd_closep(&l->epoll);
	free(l->heap);
	free(l->next.list);
	free(l->current.list);
	free(l);
}

usec_t loop_now(const struct loop *l)
{
	return l->now;
}

/* Descriptors */

struct loop_fd *loop_add_fd(struct loop *l, int fd, uint32_t events, void (*ready)(void *arg, uint32_t events),
                            void *arg)
{
	struct loop_fd *f = NEW(struct loop_fd);
	struct epoll_event e = { .events = events, .data.ptr = f };
	int r;

	*f = (struct loop_fd) { .loop = l, .epoll = l->epoll, .fd = fd, .events = events, .ready = ready, .arg = arg };
	list_add_tail(&l->fds, &f->link);
	r = epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e);
	assert(r == 0); /* a closed descriptor, a plain file or one added twice */
	return f;
}

void loop_change_fd(struct loop_fd *f, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = f };
	int r;

	assert(f->ready);
	if (f->events == events)
		return;
	f->events = events;
	r = epoll_ctl(f->epoll, EPOLL_CTL_MOD, f->fd, &e);
	assert(r == 0);
}

void loop_remove_fd(struct loop_fd *f)
{
	if (!f)
		return;
	assert(f->ready);
	epoll_ctl(f->epoll, EPOLL_CTL_DEL, f->fd, NULL); /* fails when already closed: the kernel removed it */
	f->ready = NULL;
	link_remove(&f->link);
	if (f->loop->in_round)
		list_add_tail(&f->loop->removed, &f->link);
	else
		free(f);
}

static void run_fds(struct loop *l, int n)
{
	for (int i = 0; i < n; i++) {
		struct loop_fd *f = l->events[i].data.ptr;

		if (f->ready)
			f->ready(f->arg, l->events[i].events);
	}
}

/* Patience */

static void look_at_patient(struct loop *l)
{
	int n = 0, round = 0;
	usec_t now;

	if (l->patient_waits) {
		l->patient_waits = false;
		loop_set_timer(l->patient_timer, USEC_NEVER);
		loop_change_fd(l->patient_watch, EPOLLIN);
	}
	/* Until nothing is left: a stream that has more is not let wait. */
	while (round++ < PATIENT_ROUNDS && (n = epoll_wait(l->patient, l->events, EVENTS_PER_ROUND, 0)) > 0)
		run_fds(l, n);
	if (n > 0)
		return;
	now = clock_mono(clock_real());
	/* However often others woke us: nobody waits for longer than the patience. */
	l->patient_debt = MIN_OF(usec_add(MAX_OF(l->patient_debt, now), l->patience),
	                         usec_add(now, (PATIENT_CREDIT + 1) * l->patience));
}

/* It has only woken the loop: the end of the round sees what is due. */
static void patience_is_over(void *arg)
{
	(void)arg;
}

static void patient_ready(void *arg, uint32_t events)
{
	struct loop *l = arg;

	(void)events;
	l->patient_waits = l->patient_woke = true; /* until the end of this round, or of the patience */
}

/* The end of a round in which n descriptors were ready. Where others than patient ones were, the loop is awake anyway. */
static void end_patience(struct loop *l, int n)
{
	usec_t due = l->patient_debt - PATIENT_CREDIT * l->patience;
	bool others = n > l->patient_woke;

	l->patient_woke = false;
	if (!l->patient_waits)
		return;
	if (others || due <= l->now) {
		look_at_patient(l);
	} else if (l->patient_watch->events) {
		loop_change_fd(l->patient_watch, 0);
		loop_set_timer(l->patient_timer, due);
	}
}

void loop_set_patience(struct loop *l, usec_t span)
{
	assert(l->patient < 0);
	l->patience = span;
}

void loop_fd_patient(struct loop_fd *f)
{
	struct loop *l = f->loop;
	struct epoll_event e = { .events = f->events, .data.ptr = f };
	int r;

	if (!l->patience || f->epoll != l->epoll)
		return;
	if (l->patient < 0) {
		l->patient = epoll_create1(EPOLL_CLOEXEC);
		assert(l->patient >= 0);
		l->patient_watch = loop_add_fd(l, l->patient, EPOLLIN, patient_ready, l);
		l->patient_timer = loop_add_timer(l, patience_is_over, l);
	}
	r = epoll_ctl(l->epoll, EPOLL_CTL_DEL, f->fd, NULL);
	assert(r == 0);
	f->epoll = l->patient;
	r = epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->fd, &e);
	assert(r == 0);
}

/* Timers: a binary heap by time, then by order of arming */

static bool earlier(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_put(struct loop *l, size_t slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot;
}

static void heap_up(struct loop *l, struct loop_timer *t)
{
	size_t slot = t->slot;

	while (slot > 0 && earlier(t, l->heap[(slot - 1) / 2])) {
		heap_put(l, slot, l->heap[(slot - 1) / 2]);
		slot = (slot - 1) / 2;
	}
	heap_put(l, slot, t);
}

static void heap_down(struct loop *l, struct loop_timer *t)
{
	size_t slot = t->slot, below;

	while ((below = 2 * slot + 1) < l->n_heap) {
		if (below + 1 < l->n_heap && earlier(l->heap[below + 1], l->heap[below]))
			below++;
		if (!earlier(l->heap[below], t))
			break;
		heap_put(l, slot, l->heap[below]);
		slot = below;
	}
	heap_put(l, slot, t);
}

static void disarm(struct loop_timer *t)
{
	struct loop *l = t->loop;
	struct loop_timer *last;

	link_remove(&t->due);
	if (t->slot == NOT_ARMED)
		return;
	last = l->heap[--l->n_heap];
	if (last != t) {
		heap_put(l, t->slot, last);
		heap_up(l, last);
		heap_down(l, last);
	}
	t->slot = NOT_ARMED;
}

struct loop_timer *loop_add_timer(struct loop *l, void (*fire)(void *arg), void *arg)
{
	struct loop_timer *t = NEW(struct loop_timer);

	*t = (struct loop_timer) { .loop = l, .slot = NOT_ARMED, .fire = fire, .arg = arg };
	link_init(&t->due);
	list_add_tail(&l->timers, &t->all);
	return t;
}

void loop_set_timer(struct loop_timer *t, usec_t at)
{
	struct loop *l = t->loop;

	disarm(t);
	if (at == USEC_NEVER)
		return;
	if (l->n_heap == l->heap_size) {
		l->heap_size = l->heap_size ? l->heap_size * 2 : 16;
		l->heap = mem_realloc_n(l->heap, l->heap_size, sizeof(struct loop_timer *));
	}
	t->at = at;
	t->order = l->n_armed++;
	heap_put(l, l->n_heap++, t);
	heap_up(l, t);
}

void loop_remove_timer(struct loop_timer *t)
{
	if (!t)
		return;
	disarm(t);
	link_remove(&t->all);
	free(t);
}

static void run_timers(struct loop *l)
{
	struct link due, *link;

	link_init(&due);
	while (l->n_heap && l->heap[0]->at <= l->now) {
		struct loop_timer *t = l->heap[0];

		disarm(t);
		list_add_tail(&due, &t->due);
	}
	while ((link = list_take_head(&due))) {
		struct loop_timer *t = LIST_ITEM(link, struct loop_timer, due);

		t->fire(t->arg);
	}
}

/* Work put off */

void loop_defer(struct loop *l, void (*call)(void *arg), void *arg)
{
	struct calls *c = &l->next;

	if (c->n == c->size) {
		c->size = c->size ? c->size * 2 : 16;
		c->list = mem_realloc_n(c->list, c->size, sizeof(struct call));
	}
	c->list[c->n++] = (struct call) { call, arg };
}

static void run_deferred(struct loop *l)
{
	for (size_t i = 0; i < l->current.n; i++)
		l->current.list[i].call(l->current.list[i].arg);
	l->current.n = 0;
}

/* Signals */

static void signals_ready(void *arg, uint32_t events)
{
	struct signalfd_siginfo got[SIGNALS_PER_ROUND];
	struct loop *l = arg;
	ssize_t n = read(l->signal_fd, got, sizeof(got));

	(void)events;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(got[0]); i++) {
		const struct on_signal *on = &l->on_signal[got[i].ssi_signo];

		on->got(on->arg, (int)got[i].ssi_signo);
	}
}

int loop_add_signal(struct loop *l, int signal, void (*got)(void *arg, int signal), void *arg, struct err *err)
{
	sigset_t one, all = l->signals;
	int r, fd;

	if (signal <= 0 || signal >= _NSIG || signal == SIGKILL || signal == SIGSTOP)
		return err_set(err, -EINVAL, "signal %d cannot be caught", signal);
	if (l->on_signal[signal].got)
		return err_set(err, -EEXIST, "signal %d already has its call", signal);
	sigaddset(&all, signal);
	fd = signalfd(l->signal_fd, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(err, -errno, "waiting for signal %d", signal);
	if (l->signal_fd < 0)
		l->signal_watch = loop_add_fd(l, fd, EPOLLIN, signals_ready, l);
	l->signal_fd = fd;
	l->signals = all;
	l->on_signal[signal] = (struct on_signal) { got, arg };
	sigemptyset(&one);
	sigaddset(&one, signal);
	r = pthread_sigmask(SIG_BLOCK, &one, NULL);
	assert(r == 0);
	return 0;
}

/* Children */

static void child_ended(void *arg, uint32_t events)
{
	struct child c = *(struct child *)arg;
	int status = STATUS_UNKNOWN, r;

	(void)events;
	do
		r = waitpid(c.pid, &status, WNOHANG);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return;
	loop_remove_fd(c.watch);
	close(c.fd);
	link_remove(&((struct child *)arg)->link);
	free(arg);
	c.ended(c.arg, c.pid, status);
}

int loop_add_child(struct loop *l, int pid, void (*ended)(void *arg, int pid, int status), void *arg, struct err *err)
{
	int fd = pidfd_open(pid, 0); /* close-on-exec by itself */
	struct child *c;

	if (fd < 0)
		return err_errno(err, -errno, "waiting for process %d", pid);
	c = NEW(struct child);
	*c = (struct child) { .pid = pid, .fd = fd, .ended = ended, .arg = arg };
	c->watch = loop_add_fd(l, fd, EPOLLIN, child_ended, c);
	list_add_tail(&l->children, &c->link);
	return 0;
}

/* Rounds */

static int wait_for_events(struct loop *l, usec_t wait_max)
{
	usec_t wait = wait_max;
	struct timespec ts;
	int n;

	if (l->n_heap)
		wait = MIN_OF(wait, l->heap[0]->at <= l->now ? 0 : l->heap[0]->at - l->now);
	if (l->next.n)
		wait = 0;
	ts.tv_sec = wait / USEC_SEC;
	ts.tv_nsec = wait % USEC_SEC * 1000;
	n = epoll_pwait2(l->epoll, l->events, EVENTS_PER_ROUND, wait == USEC_NEVER ? NULL : &ts, NULL);
	assert(n >= 0 || errno == EINTR);
	return n;
}

void loop_run_once(struct loop *l, usec_t wait_max)
{
	struct calls ran = l->current;
	int n;

	assert(!l->in_round && wait_max >= 0);
	l->now = clock_mono(clock_real());
	n = wait_for_events(l, wait_max);
	l->now = clock_mono(clock_real());
	l->in_round = true;
	l->current = l->next;
	l->next = ran;
	run_timers(l);
	run_fds(l, n);
	run_deferred(l);
	end_patience(l, n);
	l->in_round = false;
	free_fds(&l->removed);
}

void loop_run(struct loop *l)
{
	while (!l->stop)
		loop_run_once(l, USEC_NEVER);
	l->stop = false;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}
