/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-hook and sunk-hook-tls: from starting the process to the first byte of its request at the server, and the CPU time it took
 * until its end. Beside them, in the same run and in turn, the same measure of a program that does nothing but connect (this one,
 * with "connect PORT"), which is what starting a process costs on this machine at this moment.
 *
 *	bench-hook PATH-OF-PROGRAM...
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/time.h"

enum { ROUNDS = 200, PROGRAMS_MAX = 8 };

struct span {
	usec_t first_byte[ROUNDS], cpu[ROUNDS];
};

static int compare(const void *a, const void *b)
{
	usec_t x = *(const usec_t *)a, y = *(const usec_t *)b;

	return x < y ? -1 : x > y;
}

static int connect_and_write(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons((uint16_t)port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || write(fd, "G", 1) != 1)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

static usec_t usec_of(struct timeval t)
{
	return t.tv_sec * USEC_SEC + t.tv_usec;
}

/* Starts argv, answers the one request it makes; when the first byte came, since the start, and all CPU time. */
static void measure(int listener, const char *const *argv, usec_t *ret_first_byte, usec_t *ret_cpu)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	usec_t start = clock_mono(clock_real());
	struct rusage usage;
	struct err err = { 0 };
	char bytes[4096];
	pid_t pid;
	int conn;

	if (spawn(&(struct spawn) { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 }, &pid, &err) < 0) {
		fprintf(stderr, "%s\n", err_text(&err));
		exit(EXIT_FAILURE);
	}
	conn = accept(listener, NULL, NULL);
	if (read(conn, bytes, sizeof(bytes)) <= 0)
		abort();
	*ret_first_byte = clock_mono(clock_real()) - start;
	(void)!write(conn, answer, sizeof(answer) - 1);
	close(conn);
	if (wait4(pid, NULL, 0, &usage) != pid)
		abort();
	*ret_cpu = usec_of(usage.ru_utime) + usec_of(usage.ru_stime);
}

static double ms(usec_t span)
{
	return (double)span / (double)USEC_MSEC;
}

static void show(const char *name, struct span *s)
{
	qsort(s->first_byte, ROUNDS, sizeof(s->first_byte[0]), compare);
	qsort(s->cpu, ROUNDS, sizeof(s->cpu[0]), compare);
	printf("%-30s start to first byte sent: p50 %.2f ms, p90 %.2f ms; CPU: p50 %.2f ms\n", name,
	       ms(s->first_byte[ROUNDS / 2]), ms(s->first_byte[ROUNDS * 9 / 10]), ms(s->cpu[ROUNDS / 2]));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static struct span spans[PROGRAMS_MAX], plain;
	char url[64], port[16];

	if (argc == 3 && str_eq(argv[1], "connect"))
		return connect_and_write(atoi(argv[2]));
	if (argc < 2 || argc > PROGRAMS_MAX) {
		fprintf(stderr, "usage: %s PATH-OF-PROGRAM...\n", argv[0]);
		return 2;
	}
	if (bind(listener, (struct sockaddr *)&addr, len) < 0 || listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) < 0)
		abort();
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(addr.sin_port));
	snprintf(port, sizeof(port), "%d", ntohs(addr.sin_port));
	for (int i = 0; i < ROUNDS; i++) {
		for (int p = 1; p < argc; p++)
			measure(listener, (const char *const[]) { argv[p], "ping", "--url", url, NULL },
			        &spans[p].first_byte[i], &spans[p].cpu[i]);
		measure(listener, (const char *const[]) { "/proc/self/exe", "connect", port, NULL },
		        &plain.first_byte[i], &plain.cpu[i]);
	}
	show("a program that only connects:", &plain);
	for (int p = 1; p < argc; p++) {
		show(base_name(argv[p]), &spans[p]);
		printf("  ratio at p50: %.1f, of the CPU time: %.1f (%d rounds)\n",
		       (double)spans[p].first_byte[ROUNDS / 2] / (double)plain.first_byte[ROUNDS / 2],
		       (double)spans[p].cpu[ROUNDS / 2] / (double)plain.cpu[ROUNDS / 2], ROUNDS);
	}
	return 0;
}
