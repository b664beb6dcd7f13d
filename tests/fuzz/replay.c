/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs a fuzz target without a fuzzer: every file of the directories (or files) given, whole and cut short at many
 * places, each as a block of exactly its size so that a sanitizer sees a read behind the end. What was running when it
 * crashes is written to stderr. No file at all is a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

#define INPUT_MAX ((size_t)16 << 20)
#define PATH_TEXT_MAX 4096
#define CUTS_EACH 256   /* every length below this is tried … */
#define CUTS_SPREAD 256 /* … and this many, evenly, above */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static char running[PATH_TEXT_MAX + 64];
static size_t n_inputs, n_files;

static void say_what_was_running(void)
{
	static const char before[] = "died while replaying ";

	(void)!write(STDERR_FILENO, before, sizeof(before) - 1);
	(void)!write(STDERR_FILENO, running, strlen(running));
	(void)!write(STDERR_FILENO, "\n", 1);
}

static void on_signal(int number)
{
	say_what_was_running();
	signal(number, SIG_DFL);
	raise(number);
}

static void run(const char *path, const char *data, size_t len, size_t whole)
{
	void *copy = mem_dup(data, len);

	if (len < whole)
		snprintf(running, sizeof(running), "%s cut to %zu of %zu bytes", path, len, whole);
	else
		snprintf(running, sizeof(running), "%s", path);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
	n_inputs++;
}

static int replay_file(const char *path)
{
	_cleanup_buf_ struct buf b = BUF(INPUT_MAX);
	size_t step;
	int r = buf_read_file(&b, path);

	if (r < 0) {
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(-r));
		return r;
	}
	step = MAX_OF(b.len / CUTS_SPREAD, (size_t)1);
	run(path, buf_text(&b), b.len, b.len);
	for (size_t len = 0; len < b.len; len += len < CUTS_EACH ? 1 : step)
		run(path, buf_text(&b), len, b.len);
	n_files++;
	return 0;
}

static int replay(const char *path)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int r = 0;

	if (stat(path, &st) < 0) {
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_free_ char *inside = str_printf("%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.')
			r = replay_file(inside);
	}
	closedir(dir);
	return r;
}

int main(int argc, char **argv)
{
	static const int fatal[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGTERM };

	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_what_was_running);
	else
		for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
			signal(fatal[i], on_signal);
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) < 0)
			return 1;
	printf("%zu files, %zu inputs\n", n_files, n_inputs);
	if (n_files == 0)
		fprintf(stderr, "nothing to replay\n");
	return n_files == 0;
}
