/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A shim's directory, seen from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/str.h"
#include "lite/agent/shim.h"

#define REMOVE_FDS 16

/* A socket's path is at most 107 bytes, a directory's may be longer: go through its descriptor. */
int shim_connect(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_fd_ int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	int connected;

	if (at < 0)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/sock", at);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	connected = fd;
	fd = -1;
	return connected;
}

struct pod_state *shim_left_state(const char *dir)
{
	_cleanup_free_ char *path = str_printf("%s/state.json", dir);
	_cleanup_buf_ struct buf text = BUF(POD_STATE_MAX);
	struct pod_state *state = NULL;

	if (buf_read_file(&text, path) < 0 || pod_state_parse(buf_text(&text), text.len, &state, NULL) < 0)
		return NULL;
	return state;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void shim_remove_dir(const char *dir)
{
	nftw(dir, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
