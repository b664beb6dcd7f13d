/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/test_peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

struct peer_conn {
	struct peer *peer;
	int fd, number;
	SSL *ssl;
	pthread_t thread;
	char client_name[100];
};

struct peer {
	struct peer_options o;
	SSL_CTX *tls;
	int fd, port;
	pthread_t thread;
	atomic_int n_conns, n_ended;
	struct peer_conn conns[PEER_CONNECTIONS_MAX];
};

static int pick_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                     unsigned int in_len, void *arg)
{
	const char *want = arg;
	size_t len = strlen(want);

	(void)ssl;
	for (unsigned int i = 0; i + 1 + len <= in_len; i += 1U + in[i]) {
		if (in[i] != len || memcmp(in + i + 1, want, len) != 0)
			continue;
		*out = in + i + 1;
		*out_len = (unsigned char)len;
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_NOACK;
}

static bool handshake(struct peer_conn *c)
{
	X509 *client;

	if (!c->peer->tls)
		return true;
	c->ssl = SSL_new(c->peer->tls);
	SSL_set_fd(c->ssl, c->fd);
	if (SSL_accept(c->ssl) <= 0)
		return false;
	client = SSL_get1_peer_certificate(c->ssl);
	if (client)
		X509_NAME_get_text_by_NID(X509_get_subject_name(client), NID_commonName, c->client_name,
		                          sizeof(c->client_name));
	X509_free(client);
	return true;
}

static void *serve_one(void *arg)
{
	struct peer_conn *c = arg;
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	if (handshake(c))
		c->peer->o.serve(c, c->peer->o.arg);
	if (c->ssl)
		SSL_shutdown(c->ssl);
	shutdown(c->fd, SHUT_RDWR); /* closed when the peer stops, so that its number stays ours */
	atomic_fetch_add(&c->peer->n_ended, 1);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct peer *p = arg;

	for (int n = 0; n < PEER_CONNECTIONS_MAX; n++) {
		struct peer_conn *c = &p->conns[n];
		int r;

		*c = (struct peer_conn) { .peer = p, .number = n, .fd = accept(p->fd, NULL, NULL) };
		if (c->fd < 0)
			break;
		r = pthread_create(&c->thread, NULL, serve_one, c);
		assert(r == 0);
		atomic_store(&p->n_conns, n + 1);
	}
	return NULL;
}

static SSL_CTX *make_tls(const struct peer_options *o)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	assert(ctx);
	SSL_CTX_use_certificate(ctx, o->cert->x509);
	SSL_CTX_use_PrivateKey(ctx, o->cert->key);
	if (o->alpn)
		SSL_CTX_set_alpn_select_cb(ctx, pick_alpn, (void *)o->alpn);
	if (o->client_ca) {
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), o->client_ca->x509);
	}
	return ctx;
}

struct peer *peer_start(const struct peer_options *o)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct peer *p = NEW(struct peer);
	int r;

	p->o = *o;
	p->tls = o->cert ? make_tls(o) : NULL;
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	r = bind(p->fd, (struct sockaddr *)&a, sizeof(a));
	assert(r == 0);
	r = listen(p->fd, PEER_CONNECTIONS_MAX);
	assert(r == 0);
	getsockname(p->fd, (struct sockaddr *)&a, &len);
	p->port = ntohs(a.sin_port);
	r = pthread_create(&p->thread, NULL, accept_all, p);
	assert(r == 0);
	return p;
}

void peer_stop(struct peer *p)
{
	if (!p)
		return;
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	for (int i = 0; i < atomic_load(&p->n_conns); i++) {
		shutdown(p->conns[i].fd, SHUT_RDWR);
		pthread_join(p->conns[i].thread, NULL);
		SSL_free(p->conns[i].ssl);
		close(p->conns[i].fd);
	}
	close(p->fd);
	SSL_CTX_free(p->tls);
	free(p);
}

int peer_port(const struct peer *p)
{
	return p->port;
}

int peer_accepted(struct peer *p)
{
	return atomic_load(&p->n_conns);
}

int peer_ended(struct peer *p)
{
	return atomic_load(&p->n_ended);
}

int peer_number(const struct peer_conn *c)
{
	return c->number;
}

const char *peer_client_name(const struct peer_conn *c)
{
	return c->client_name;
}

size_t peer_read(struct peer_conn *c, void *data, size_t size)
{
	ssize_t n = c->ssl ? SSL_read(c->ssl, data, (int)size) : read(c->fd, data, size);

	return n > 0 ? (size_t)n : 0;
}

bool peer_send(struct peer_conn *c, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = c->ssl ? SSL_write(c->ssl, at, (int)len) : send(c->fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool peer_say(struct peer_conn *c, const char *text)
{
	return peer_send(c, text, strlen(text));
}

bool peer_read_request(struct peer_conn *c, char *text, size_t size)
{
	size_t len = 0, n, body = 0;
	const char *end = NULL, *length;

	while (!end || len < (size_t)(end + 4 - text) + body) {
		assert(len + 1 < size);
		n = peer_read(c, text + len, size - len - 1);
		if (n == 0)
			return false;
		len += n;
		text[len] = 0;
		end = strstr(text, "\r\n\r\n");
		length = strcasestr(text, "\r\nContent-Length: ");
		body = length ? strtoul(length + 18, NULL, 10) : 0;
	}
	return true;
}

void peer_wait_gone(struct peer_conn *c)
{
	char waste[4096];

	while (peer_read(c, waste, sizeof(waste)) > 0)
		;
}

void peer_reset(struct peer_conn *c)
{
	struct linger hard = { .l_onoff = 1, .l_linger = 0 };
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	connect(c->fd, &none, sizeof(none)); /* resets at once, while the number stays ours */
}
