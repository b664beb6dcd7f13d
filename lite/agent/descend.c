/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/descend.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct process {
	pid_t pid, parent;
	bool zombie, ours;
};

static bool read_process(const char *pid, struct process *ret)
{
	char path[64], line[512], *p, state;
	int parent;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	p = strrchr(line, ')'); /* the name may hold anything, brackets too */
	if (!p || sscanf(p + 1, " %c %d", &state, &parent) != 2)
		return false;
	*ret = (struct process) { .pid = (pid_t)strtol(pid, NULL, 10),
		                  .parent = parent,
		                  .zombie = state == 'Z' || state == 'X' };
	return true;
}

static struct process *read_all(size_t *ret_n)
{
	struct process *list = NULL;
	struct dirent *entry;
	size_t n = 0, size = 0;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (n == size) {
			size = size ? 2 * size : 256;
			list = mem_realloc_n(list, size, sizeof(*list));
		}
		n += read_process(entry->d_name, &list[n]);
	}
	if (proc)
		closedir(proc);
	*ret_n = n;
	return list;
}

size_t descend_kill(pid_t root, int sig)
{
	size_t n, found = 0;
	_cleanup_free_ struct process *list = read_all(&n);
	bool more = true;

	/* a child may stand before its parent in the list: go over it until nothing is added */
	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (list[i].ours)
				continue;
			bool child = list[i].parent == root;

			for (size_t k = 0; k < n && !child; k++)
				child = list[k].ours && list[k].pid == list[i].parent;
			list[i].ours = child;
			more |= child;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].ours && !list[i].zombie) {
			found++;
			kill(list[i].pid, sig);
		}
	return found;
}
