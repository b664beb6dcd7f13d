/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/address.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define SCHEME "http://"
#define PORT_DEFAULT "80"
#define PORT_MAX 65535

static_assert(sizeof(struct found) <= PIPE_BUF, "is written and read as a whole");

static int no_address(const char *url, const char *why, struct err *err)
{
	return err_set(err, -EINVAL, "'%.100s' is no address: %s", str_or(url, ""), why);
}

/* Host and port of "host:port", "[host]:port" and both without port. */
static int split_authority(const char *text, size_t len, struct address *a)
{
	const char *end = text + len, *host = text, *host_end, *port;
	int64_t number;

	if (*text == '[') {
		host = text + 1;
		host_end = memchr(host, ']', (size_t)(end - host));
		port = host_end ? host_end + 1 : NULL;
	} else {
		host_end = memchr(host, ':', len);
		host_end = host_end ? host_end : end;
		port = host_end;
	}
	if (!host_end || host_end == host || host_end - host > ADDRESS_HOST_MAX || (port < end && *port != ':'))
		return -EINVAL;
	a->host = mem_strndup(host, (size_t)(host_end - host));
	a->port = port + 1 < end ? mem_strndup(port + 1, (size_t)(end - port - 1)) : mem_strdup(PORT_DEFAULT);
	if (str_to_i64(a->port, 1, PORT_MAX, &number) < 0)
		return -EINVAL;
	a->authority = mem_strndup(text, (size_t)(str_eq(a->port, PORT_DEFAULT) ? port - text : end - text));
	return 0;
}

int address_split(const char *url, struct address *ret, struct err *err)
{
	struct address a = { 0 };
	const char *authority, *path;
	size_t len;

	if (!url || !str_starts(url, SCHEME))
		return no_address(url, "it must begin with " SCHEME " or https://", err);
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return no_address(url, "a blank, a control character or no ASCII is in it", err);
	authority = url + strlen(SCHEME);
	len = strcspn(authority, "/?#");
	if (memchr(authority, '@', len))
		return no_address("", "a user is in it", err); /* and a password, maybe */
	path = authority + len;
	if (split_authority(authority, len, &a) < 0) {
		address_done(&a);
		return no_address(url, "host and port are not right", err);
	}
	a.path = str_printf("%s%.*s", *path == '/' ? "" : "/", (int)strcspn(path, "#"), path);
	*ret = a;
	return 0;
}

void address_done(struct address *a)
{
	free(a->host);
	free(a->port);
	free(a->authority);
	free(a->path);
	*a = (struct address) { 0 };
}

static void look_up(const struct address *a, int flags, struct found *ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags }, *list = NULL;

	*ret = (struct found) { .code = getaddrinfo(a->host, a->port, &hints, &list) };
	if (ret->code)
		return;
	for (const struct addrinfo *i = list; i && ret->n < ADDRESSES_MAX; i = i->ai_next) {
		if (i->ai_addrlen > sizeof(ret->at[0].to))
			continue;
		memcpy(&ret->at[ret->n].to, i->ai_addr, i->ai_addrlen);
		ret->at[ret->n++].len = i->ai_addrlen;
	}
	freeaddrinfo(list);
}

static _Noreturn void be_the_child(const struct address *a, pid_t parent, int to)
{
	struct found found;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dup2(to, STDIN_FILENO);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0); /* a connection that the parent ends ends */
	look_up(a, 0, &found);
	_exit(write(STDIN_FILENO, &found, sizeof(found)) != sizeof(found));
}

int lookup_start(struct lookup *l, const struct address *a, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	*l = LOOKUP_NONE;
	look_up(a, AI_NUMERICHOST, &l->found);
	if (l->found.n)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, -errno, "cannot look up '%s'", a->host);
	l->pid = fork();
	if (l->pid == 0)
		be_the_child(a, parent, ends[1]);
	close(ends[1]);
	l->fd = ends[0];
	if (l->pid < 0) {
		int r = -errno;

		l->pid = 0;
		lookup_stop(l);
		return err_errno(err, r, "cannot look up '%s'", a->host);
	}
	fcntl(l->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

int lookup_look(struct lookup *l, const struct address *a, struct err *err)
{
	ssize_t n;

	if (l->fd < 0)
		return 0;
	n = read(l->fd, &l->found, sizeof(l->found));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	lookup_stop(l);
	if (n != sizeof(l->found))
		return err_set(err, -EIO, "the lookup of '%s' broke off", a->host);
	if (l->found.code || !l->found.n)
		return err_set(err, -EHOSTUNREACH, "the name '%s' is not known: %s", a->host,
		               l->found.code ? gai_strerror(l->found.code) : "no addresses");
	return 0;
}

void lookup_stop(struct lookup *l)
{
	fd_closep(&l->fd);
	l->fd = -1;
	if (!l->pid)
		return;
	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->pid = 0;
}
