/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/sweep.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "lite/agent/shim.h"

#define SPAN (200 * USEC_MSEC)

struct sweep {
	struct loop *loop;
	struct loop_timer *timer;
	char *dir;
	bool (*known)(void *arg);
	bool (*wanted)(void *arg, const char *uid);
	void *arg;
};

/* True when nothing of it is left. A shim that still answers is told to end; it is looked at again. */
static bool take_away(const char *dir)
{
	_cleanup_fd_ int fd = shim_connect(dir);

	if (fd >= 0) {
		(void)!send(fd, "term 0\n", 7, MSG_NOSIGNAL); /* it may be going right now */
		return false;
	}
	log_info("removing %s: its Pod went away while no agent ran", dir);
	shim_remove_dir(dir);
	return true;
}

static void look(void *arg)
{
	struct sweep *s = arg;
	DIR *all = s->known(s->arg) ? opendir(s->dir) : NULL;
	bool clean = all;
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		_cleanup_free_ char *path = str_printf("%s/%s", s->dir, entry->d_name),
		                    *spec = str_printf("%s/spec.json", path);

		if (entry->d_name[0] == '.' || s->wanted(s->arg, entry->d_name) || access(spec, F_OK) < 0)
			continue;
		clean &= take_away(path);
	}
	if (all)
		closedir(all);
	if (!clean)
		loop_set_timer(s->timer, loop_now(s->loop) + SPAN);
}

struct sweep *sweep_new(struct loop *l, const char *dir, bool (*known)(void *arg),
                        bool (*wanted)(void *arg, const char *uid), void *arg)
{
	struct sweep *s = NEW(struct sweep);

	*s = (struct sweep) { .loop = l, .dir = mem_strdup(dir), .known = known, .wanted = wanted, .arg = arg };
	s->timer = loop_add_timer(l, look, s);
	loop_set_timer(s->timer, loop_now(l) + SPAN);
	return s;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	loop_remove_timer(s->timer);
	free(s->dir);
	free(s);
}
