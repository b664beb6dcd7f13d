/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes sent to a real server, which lives as long as the process: what reaches the core keeps the promises of
 * http_server.h, and the server still answers others. And the same bytes as the target of a request.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "net/http_server.h"
#include "net/http_target.h"

#define BODY_MAX 1000
#define DECODED_MAX 300
#define ANSWER_WAIT (30 * USEC_SEC)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct http_server *server;

static void handle(void *arg, struct http_incoming *in)
{
	const char *path = http_in_path(in);
	size_t len;

	(void)arg;
	assert(path[0] == '/' && str_is_utf8(path, strlen(path)) && !str_has_control(path, strlen(path)));
	assert(http_in_method(in)[0]);
	assert(str_eq(http_in_peer(in), "127.0.0.1"));
	http_in_body(in, &len);
	assert(len <= BODY_MAX && http_in_body(in, NULL)[len] == 0);
	assert(!http_in_bearer_is(in, ""));
	if (http_in_bearer_is(in, "s3cret"))
		assert(http_in_header(in, "authorization"));
	if (http_in_query(in, "x") || http_in_header(in, "X"))
		http_reply_error(in, 400, "%s", path);
	else
		http_reply(in, 200, "text/plain", path, strlen(path));
}

static void stop(void)
{
	http_server_free(server);
	loop_free(loop);
}

static void start(void)
{
	struct http_server_options o = { .address = "127.0.0.1", .body_max = BODY_MAX };
	struct err err;

	loop = loop_new();
	server = http_server_new(loop, &o, handle, NULL, &err);
	assert(server);
	atexit(stop);
}

static int open_and_send(const void *data, size_t size)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed = 0;
	socklen_t len = sizeof(failed);

	assert(fd >= 0);
	a.sin_port = htons(http_server_port(server));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		assert(errno == EINTR); /* libFuzzer's own alarm; the kernel goes on connecting */
		while (poll(&p, 1, -1) < 0)
			assert(errno == EINTR);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len);
		assert(failed == 0);
	}
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0) /* refused, or more than anybody reads at once */
			break;
		data = (const char *)data + n;
		size -= (size_t)n;
	}
	return fd;
}

static void close_hard(int fd)
{
	struct linger hard = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

static void send_raw(const uint8_t *data, size_t size)
{
	static const char good[] = "GET /good HTTP/1.1\r\nHost: h\r\n\r\n", wanted[] = "HTTP/1.1 200 OK\r\n";
	int fd = open_and_send(data, size), other = open_and_send(good, strlen(good));
	usec_t end = clock_mono(clock_real()) + ANSWER_WAIT;
	struct pollfd p = { .fd = other, .events = POLLIN };
	char answer[sizeof(wanted)] = "";

	do {
		assert(clock_mono(clock_real()) < end);
		loop_run_once(loop, USEC_MSEC);
	} while (poll(&p, 1, 0) == 0);
	for (size_t n = 0; n < strlen(wanted);) {
		ssize_t r = recv(other, answer + n, strlen(wanted) - n, 0);

		assert(r > 0 || (r < 0 && errno == EINTR));
		n += r > 0 ? (size_t)r : 0;
	}
	assert(str_eq(answer, wanted));
	close_hard(other);
	close_hard(fd);
}

static void decode_target(const uint8_t *data, size_t size)
{
	_cleanup_buf_ struct buf out = BUF(DECODED_MAX);
	_cleanup_free_ char *target = mem_strndup((const char *)data, size);
	struct err err = { 0 };
	const char *at, *end;
	size_t n = 0;

	if (http_target_decode(target, &out, &err) < 0) {
		assert(err.code || out.error);
		return;
	}
	assert(out.data[0] == '/' && out.data[out.len - 1] == 0);
	at = out.data + strlen(out.data) + 1;
	end = out.data + out.len;
	assert(!http_pairs_find(at, (size_t)(end - at), "there is no such key", false) || strstr(target, "there"));
	for (const char *key = at; key < end; n++) {
		assert(http_pairs_find(at, (size_t)(end - at), key, false));
		key += strlen(key) + 1;
		key += strlen(key) + 1;
		assert(key <= end);
	}
	assert(n <= HTTP_QUERY_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!server)
		start();
	decode_target(data, size);
	send_raw(data, size);
	return 0;
}
