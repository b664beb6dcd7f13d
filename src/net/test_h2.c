/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/test_h2.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "base/str.h"

#define STREAMS_MAX 64

struct h2_stream {
	int id;
	char path[100];
	const char *body;
	bool open_end;
};

struct h2 {
	struct peer_conn *conn;
	struct h2_stream streams[STREAMS_MAX];
	size_t n_streams;
	bool dead;
};

static struct h2_stream *find_stream(struct h2 *h, int id)
{
	for (size_t i = 0; i < h->n_streams; i++)
		if (h->streams[i].id == id)
			return &h->streams[i];
	assert(h->n_streams < STREAMS_MAX);
	h->streams[h->n_streams].id = id;
	return &h->streams[h->n_streams++];
}

static nghttp2_ssize read_body(nghttp2_session *session, int32_t id, uint8_t *data, size_t size, uint32_t *flags,
                               nghttp2_data_source *source, void *arg)
{
	struct h2_stream *s = source->ptr;
	size_t n = strlen(s->body);

	(void)session, (void)id, (void)arg;
	assert(n <= size);
	if (n == 0 && s->open_end)
		return NGHTTP2_ERR_DEFERRED;
	memcpy(data, s->body, n);
	s->body += n;
	if (!s->open_end)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (nghttp2_ssize)n;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *arg)
{
	struct h2_stream *s = find_stream(arg, frame->hd.stream_id);

	(void)session, (void)flags;
	if (name_len == 5 && memcmp(name, ":path", 5) == 0 && value_len < sizeof(s->path))
		memcpy(s->path, value, value_len);
	return 0;
}

static void answer(nghttp2_session *session, struct h2 *h, struct h2_stream *s)
{
	nghttp2_nv status = { (uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NONE };
	nghttp2_data_provider2 body = { .source.ptr = s, .read_callback = read_body };

	if (str_eq(s->path, "/dead"))
		h->dead = true;
	else if (str_eq(s->path, "/reset"))
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
	else if (str_eq(s->path, "/goaway"))
		nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, s->id - 2, NGHTTP2_NO_ERROR, NULL, 0);
	else {
		s->open_end = str_eq(s->path, "/watch");
		s->body = s->open_end ? "one " : "ok";
		nghttp2_submit_response2(session, s->id, &status, 1, &body);
	}
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h = arg;

	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		answer(session, h, find_stream(h, frame->hd.stream_id));
	return 0;
}

static bool send_all(nghttp2_session *session, struct h2 *h)
{
	const uint8_t *data;
	nghttp2_ssize n;

	while (!h->dead && (n = nghttp2_session_mem_send2(session, &data)) > 0)
		if (!peer_send(h->conn, data, (size_t)n))
			return false;
	return true;
}

void serve_h2(struct peer_conn *c, void *arg)
{
	struct h2 h = { .conn = c };
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	char data[4096];
	size_t n;

	(void)arg;
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_server_new(&session, callbacks, &h);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	while (send_all(session, &h) && (n = peer_read(c, data, sizeof(data))) > 0)
		if (nghttp2_session_mem_recv2(session, (const uint8_t *)data, n) < 0)
			break;
	nghttp2_session_del(session);
}
