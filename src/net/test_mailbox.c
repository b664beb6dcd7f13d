/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/test.h"

#define SENDERS 4
#define PER_SENDER 5000
#define DEADLINE (60 * USEC_SEC)

struct message {
	int sender, number;
};

struct sender {
	struct mailbox *mailbox;
	int number;
	pthread_t thread;
};

struct counts {
	int total, next[SENDERS];
};

static void *send_all(void *arg)
{
	const struct sender *s = arg;

	for (int i = 0; i < PER_SENDER; i++) {
		struct message *m = NEW(struct message);

		*m = (struct message) { s->number, i };
		while (mailbox_post(s->mailbox, m) == -ENOBUFS)
			sched_yield();
	}
	return NULL;
}

static void take_one(void *arg, void *message)
{
	struct counts *c = arg;
	struct message *m = message;

	assert_int_equal(m->number, c->next[m->sender]);
	c->next[m->sender]++;
	c->total++;
	free(m);
}

static void test_every_message_of_every_thread_comes_once_and_in_order(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct counts counts = { 0 };
	struct mailbox *m = mailbox_new(l, 64, take_one, &counts);
	usec_t end = clock_mono(clock_real()) + DEADLINE;
	struct sender senders[SENDERS];

	(void)state;
	for (int i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender) { .mailbox = m, .number = i };
		assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
	}
	while (counts.total < SENDERS * PER_SENDER && clock_mono(clock_real()) < end)
		loop_run_once(l, USEC_SEC);
	assert_int_equal(counts.total, SENDERS * PER_SENDER);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i].thread, NULL);
	mailbox_free(m, NULL);
}

static int dropped;

static void drop(void *message)
{
	dropped++;
	free(message);
}

static void test_a_full_mailbox_refuses_and_the_rest_is_dropped_at_the_end(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct counts counts = { 0 };
	struct mailbox *m = mailbox_new(l, 3, take_one, &counts);
	struct message *over = NEW(struct message);

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct message *one = NEW(struct message);

		one->number = i;
		assert_int_equal(mailbox_post(m, one), 0);
	}
	over->number = 3;
	assert_int_equal(mailbox_post(m, over), -ENOBUFS);
	loop_run_once(l, DEADLINE);
	assert_int_equal(counts.total, 3);
	assert_int_equal(mailbox_post(m, over), 0);
	dropped = 0;
	mailbox_free(m, drop);
	assert_int_equal(dropped, 1);
	assert_int_equal(counts.total, 3);
	mailbox_free(NULL, drop);
}

static void test_a_closed_mailbox_gives_back_what_is_inside_and_refuses_more(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct counts counts = { 0 };
	struct mailbox *m = mailbox_new(l, 3, take_one, &counts);

	(void)state;
	assert_int_equal(mailbox_post(m, NEW(struct message)), 0);
	dropped = 0;
	mailbox_close(m, drop);
	assert_int_equal(dropped, 1);
	assert_int_equal(mailbox_post(m, &counts), -ESHUTDOWN);
	loop_run_once(l, 0);
	assert_int_equal(counts.total, 0);
	mailbox_free(m, drop);
	assert_int_equal(dropped, 1);
}

struct echo {
	struct mailbox *mailbox;
	int left, rounds;
};

static void post_again(void *arg, void *message)
{
	struct echo *e = arg;

	e->rounds++;
	if (e->left-- > 0)
		assert_int_equal(mailbox_post(e->mailbox, message), 0);
}

static void test_posting_from_within_comes_in_a_later_round(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct echo e = { .left = 2 };

	(void)state;
	e.mailbox = mailbox_new(l, 1, post_again, &e);
	assert_int_equal(mailbox_post(e.mailbox, &e), 0);
	for (int i = 1; i <= 3; i++) {
		loop_run_once(l, DEADLINE);
		assert_int_equal(e.rounds, i);
	}
	mailbox_free(e.mailbox, NULL);
}

TEST_MAIN(TEST(every_message_of_every_thread_comes_once_and_in_order),
          TEST(a_full_mailbox_refuses_and_the_rest_is_dropped_at_the_end),
          TEST(a_closed_mailbox_gives_back_what_is_inside_and_refuses_more),
          TEST(posting_from_within_comes_in_a_later_round))
