/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For LD_PRELOAD: a process whose wall clock is SHIFT_CLOCK_S seconds ahead of the machine's. Other clocks are as they are.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void)
{
	const char *text = getenv("SHIFT_CLOCK_S");

	return text ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ret->tv_sec += shift();
	return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*ret = (struct timeval) { t.tv_sec, t.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}
