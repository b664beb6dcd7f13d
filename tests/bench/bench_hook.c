/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-hook: from starting the process to the first byte of its request at the server. Beside it, in the same run, the
 * same measure of a program that does nothing but connect (this one, with "connect PORT"), which is what starting a
 * process costs on this machine at this moment.
 *
 *	bench-hook PATH-OF-SUNK-HOOK
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/time.h"

enum { ROUNDS = 200 };

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

/* Starts argv, answers the one request it makes; when the first byte came, since the start. */
static usec_t start_to_first_byte(int listener, const char *const *argv)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	usec_t start = clock_mono(clock_real()), span;
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
	span = clock_mono(clock_real()) - start;
	(void)!write(conn, answer, sizeof(answer) - 1);
	close(conn);
	waitpid(pid, NULL, 0);
	return span;
}

static double ms(usec_t span)
{
	return (double)span / (double)USEC_MSEC;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	usec_t hook[ROUNDS], plain[ROUNDS];
	char url[64], port[16];

	if (argc == 3 && str_eq(argv[1], "connect"))
		return connect_and_write(atoi(argv[2]));
	if (argc != 2) {
		fprintf(stderr, "usage: %s PATH-OF-SUNK-HOOK\n", argv[0]);
		return 2;
	}
	if (bind(listener, (struct sockaddr *)&addr, len) < 0 || listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) < 0)
		abort();
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(addr.sin_port));
	snprintf(port, sizeof(port), "%d", ntohs(addr.sin_port));
	for (int i = 0; i < ROUNDS; i++) {
		hook[i] = start_to_first_byte(listener, (const char *const[]) { argv[1], "ping", "--url", url, NULL });
		plain[i] = start_to_first_byte(listener,
		                               (const char *const[]) { "/proc/self/exe", "connect", port, NULL });
	}
	qsort(hook, ROUNDS, sizeof(hook[0]), compare);
	qsort(plain, ROUNDS, sizeof(plain[0]), compare);
	printf("sunk-hook, start to first byte sent: p50 %.1f ms, p90 %.1f ms (%d rounds)\n", ms(hook[ROUNDS / 2]),
	       ms(hook[ROUNDS * 9 / 10]), ROUNDS);
	printf("a program that only connects:        p50 %.1f ms, p90 %.1f ms\n", ms(plain[ROUNDS / 2]),
	       ms(plain[ROUNDS * 9 / 10]));
	printf("ratio at p50: %.1f\n", (double)hook[ROUNDS / 2] / (double)plain[ROUNDS / 2]);
	return 0;
}
