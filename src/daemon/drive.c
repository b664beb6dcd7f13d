/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/drive.h"

struct drive {
	struct loop *loop;
	const struct clock *clock;
	struct part *part;
	struct loop_timer *timer;
	struct histogram *seconds;
	bool woken, stopped;
};

static void step(void *arg)
{
	struct drive *d = arg;
	usec_t began, next;

	d->woken = false;
	if (d->stopped)
		return;
	began = clock_mono(d->clock);
	next = d->part->step(d->part->arg);
	histogram_observe(d->seconds, (double)(clock_mono(d->clock) - began) / USEC_SEC);
	if (!d->stopped)
		loop_set_timer(d->timer, next);
}

void drive_wake(struct drive *d)
{
	if (d->woken || d->stopped)
		return;
	d->woken = true;
	loop_defer(d->loop, step, d);
}

static void fired(void *arg)
{
	drive_wake(arg);
}

void part_wake(void *part)
{
	struct part *p = part;

	if (p->driver)
		drive_wake(p->driver);
}

struct drive *drive_new(struct loop *l, const struct clock *clock, struct metrics *metrics, struct part *part)
{
	static const double bounds[] = { 0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5 };
	const struct metric_label labels[] = { { "part", part->name }, { NULL } };
	struct drive *d = NEW(struct drive);

	*d = (struct drive) {
		.loop = l,
		.clock = clock,
		.part = part,
		.timer = loop_add_timer(l, fired, d),
		.seconds = metrics_histogram(metrics, "sunk_step_seconds", "How long a part was at work in one go.",
		                             labels, bounds, ARRAY_LEN(bounds)),
	};
	part->driver = d;
	return d;
}

void drive_stop(struct drive *d)
{
	d->stopped = true;
	loop_set_timer(d->timer, USEC_NEVER);
}

void drive_free(struct drive *d)
{
	if (!d)
		return;
	d->part->driver = NULL;
	loop_remove_timer(d->timer);
	free(d);
}
