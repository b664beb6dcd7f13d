/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/test_replay_h2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/test_replay.h"

#define STREAMS_MAX 64
#define TEXT_MAX 1024

struct stream {
	int id;
	char method[16], path[TEXT_MAX], authorization[TEXT_MAX];
	struct replay_rule rule;
	size_t len, sent;
};

struct session {
	struct peer_conn *conn;
	struct replay *replay;
	struct stream streams[STREAMS_MAX];
	size_t n_streams;
	bool closing; /* after what is queued */
};

static struct stream *find_stream(struct session *h, int id)
{
	for (size_t i = 0; i < h->n_streams; i++)
		if (h->streams[i].id == id)
			return &h->streams[i];
	if (h->n_streams == STREAMS_MAX)
		abort();
	h->streams[h->n_streams].id = id;
	return &h->streams[h->n_streams++];
}

static nghttp2_ssize read_body(nghttp2_session *session, int32_t id, uint8_t *data, size_t size, uint32_t *flags,
                               nghttp2_data_source *source, void *arg)
{
	struct stream *s = source->ptr;
	size_t n = MIN_OF(size, s->len - s->sent);

	(void)session, (void)id, (void)arg;
	if (n == 0 && s->rule.end == REPLAY_HOLD)
		return NGHTTP2_ERR_DEFERRED;
	memcpy(data, (const char *)s->rule.body + s->sent, n);
	s->sent += n;
	if (s->sent == s->len && s->rule.end != REPLAY_HOLD)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (nghttp2_ssize)n;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct stream *s = find_stream(arg, frame->hd.stream_id);
	char key[32], text[TEXT_MAX];

	(void)session, (void)flags;
	snprintf(key, sizeof(key), "%.*s", (int)name_len, (const char *)name);
	snprintf(text, sizeof(text), "%.*s", (int)value_len, (const char *)value);
	if (str_eq(key, ":method"))
		str_copy(s->method, sizeof(s->method), text);
	else if (str_eq(key, ":path"))
		str_copy(s->path, sizeof(s->path), text);
	else if (str_eq(key, "authorization"))
		str_copy(s->authorization, sizeof(s->authorization), text);
	return 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv) { (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
		              NGHTTP2_NV_FLAG_NONE };
}

static void answer(nghttp2_session *session, struct session *h, struct stream *s)
{
	_cleanup_free_ char *request =
	        str_printf("%s %s HTTP/2\r\nAuthorization: %s\r\n\r\n", s->method, s->path, s->authorization);
	nghttp2_data_provider2 body = { .source.ptr = s, .read_callback = read_body };
	nghttp2_nv headers[3];
	size_t n = 0;
	char status[8];

	s->rule = replay_find(h->replay, request);
	s->len = s->rule.len ? s->rule.len : strlen(str_or(s->rule.body, ""));
	snprintf(status, sizeof(status), "%d", s->rule.status);
	headers[n++] = header(":status", status);
	headers[n++] = header("content-type", str_or(s->rule.content_type, "application/json"));
	if (s->rule.headers)
		headers[n++] = header("retry-after", strstr(s->rule.headers, "10") ? "10" : "1");
	nghttp2_submit_response2(session, s->id, headers, n, &body);
	if (s->rule.end == REPLAY_CLOSE) {
		nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR, NULL, 0);
		h->closing = true;
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		answer(session, arg, find_stream(arg, frame->hd.stream_id));
	return 0;
}

static bool send_all(nghttp2_session *session, const struct session *h)
{
	const uint8_t *data;
	nghttp2_ssize n;

	while ((n = nghttp2_session_mem_send2(session, &data)) > 0)
		if (!peer_send(h->conn, data, (size_t)n))
			return false;
	return !h->closing;
}

void replay_serve_h2(struct peer_conn *c, void *arg)
{
	struct session *h = NEW(struct session);
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	char data[4096];
	size_t n;

	h->conn = c;
	h->replay = arg;
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_server_new(&session, callbacks, h);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	while (send_all(session, h) && (n = peer_read(c, data, sizeof(data))) > 0)
		if (nghttp2_session_mem_recv2(session, (const uint8_t *)data, n) < 0)
			break;
	nghttp2_session_del(session);
	free(h);
}
