/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two arrays: senders fill `in` under the lock, the loop's thread swaps it with the empty `out` and works that off
 * without the lock. The eventfd rings only when `in` stops being empty. This is the only lock in the program.
 */
#include "net/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_SIZE 16

struct messages {
	void **list;
	size_t n, size;
};

struct mailbox {
	pthread_mutex_t lock;
	struct messages in;  /* under the lock */
	bool closed;         /* under the lock */
	struct messages out; /* the loop's thread only */
	size_t max;
	int bell; /* eventfd */
	struct loop_fd *watch;
	void (*got)(void *arg, void *message);
	void *arg;
};

static void bell_rang(void *arg, uint32_t events)
{
	struct mailbox *m = arg;
	struct messages taken;
	uint64_t times;

	(void)events;
	(void)!read(m->bell, &times, sizeof(times)); /* first, so that what is posted from now on rings again */
	pthread_mutex_lock(&m->lock);
	taken = m->in;
	m->in = m->out;
	pthread_mutex_unlock(&m->lock);
	m->out = taken;
	for (size_t i = 0; i < m->out.n; i++)
		m->got(m->arg, m->out.list[i]);
	m->out.n = 0;
}

struct mailbox *mailbox_new(struct loop *l, size_t max, void (*got)(void *arg, void *message), void *arg)
{
	struct mailbox *m = NEW(struct mailbox);

	assert(max > 0);
	*m = (struct mailbox) { .max = max, .got = got, .arg = arg };
	pthread_mutex_init(&m->lock, NULL);
	m->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert(m->bell >= 0); /* like memory: without descriptors at the start there is nothing to go on with */
	m->watch = loop_add_fd(l, m->bell, EPOLLIN, bell_rang, m);
	return m;
}

void mailbox_close(struct mailbox *m, void (*drop)(void *message))
{
	struct messages left;

	assert(m->out.n == 0); /* not from within got() */
	pthread_mutex_lock(&m->lock);
	left = m->in;
	m->in = (struct messages) { 0 };
	m->closed = true;
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; drop && i < left.n; i++)
		drop(left.list[i]);
	free(left.list);
}

void mailbox_free(struct mailbox *m, void (*drop)(void *message))
{
	if (!m)
		return;
	mailbox_close(m, drop);
	loop_remove_fd(m->watch);
	close(m->bell);
	pthread_mutex_destroy(&m->lock);
	free(m->out.list);
	free(m);
}

static void append(struct messages *q, void *message)
{
	if (q->n == q->size) {
		q->size = q->size ? q->size * 2 : FIRST_SIZE;
		q->list = mem_realloc_n(q->list, q->size, sizeof(void *));
	}
	q->list[q->n++] = message;
}

int mailbox_post(struct mailbox *m, void *message)
{
	static const uint64_t once = 1;
	bool was_empty;
	int r = 0;

	pthread_mutex_lock(&m->lock);
	was_empty = m->in.n == 0;
	if (m->closed)
		r = -ESHUTDOWN;
	else if (m->in.n == m->max)
		r = -ENOBUFS;
	else
		append(&m->in, message);
	pthread_mutex_unlock(&m->lock);
	if (r < 0)
		return r;
	if (was_empty)
		(void)!write(m->bell, &once, sizeof(once)); /* cannot fail: the counter never comes near its end */
	return 0;
}
