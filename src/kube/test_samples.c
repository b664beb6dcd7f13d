/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/test_samples.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/test.h"

#define SAMPLE_BYTES_MAX (4u << 20)

static const char *sample_dir(void)
{
	const char *dir = getenv("SUNK_KUBE_SAMPLES");

	if (!dir)
		fail_msg("SUNK_KUBE_SAMPLES is not set");
	return dir;
}

static void take_request_line(struct sample *s, char *line)
{
	char *path = strchr(line, ' '), *end;

	if (!path || s->method)
		return;
	end = strchr(path + 1, ' ');
	assert_non_null(end);
	*path = *end = '\0';
	s->method = line;
	s->path = path + 1;
}

static void take_answer_line(struct sample *s, char *line, size_t *n)
{
	if (str_starts(line, "HTTP/")) {
		s->status = atoi(strchr(line, ' '));
	} else if (strchr(line, ':')) {
		assert_true(*n < SAMPLE_HEADERS_MAX);
		s->headers[(*n)++] = line;
	}
}

static void take_exchange(struct sample *s)
{
	char *line = s->text, *end;
	size_t n = 0;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (str_starts(line, "--- full"))
			break;
		if (str_starts(line, "--- body"))
			break;
		if (str_starts(line, "> "))
			take_request_line(s, line + 2);
		else if (str_starts(line, "< "))
			take_answer_line(s, line + 2, &n);
	}
}

struct sample *sample_read(const char *name)
{
	_cleanup_free_ char *path = str_printf("%s/%s", sample_dir(), name);
	struct buf text = BUF(SAMPLE_BYTES_MAX);
	struct sample *s = NEW(struct sample);
	const char *length;
	char *body;

	if (buf_read_file(&text, path) < 0)
		fail_msg("cannot read %s", path);
	body = strstr((char *)buf_text(&text), "\n--- body");
	if (!body) {
		s->body_len = text.len;
		s->body = s->text = buf_take(&text);
		return s;
	}
	body = strchr(body + 1, '\n') + 1;
	s->body_len = text.len - (size_t)(body - text.data);
	s->body = mem_alloc(s->body_len + 8); /* padding to parse it in place */
	memcpy(s->body, body, s->body_len);
	s->text = buf_take(&text);
	take_exchange(s);
	length = sample_header(s, "Content-Length");
	if (*length && (size_t)atoll(length) <= s->body_len) {
		s->body_len = (size_t)atoll(length);
	} else if (s->body_len && s->body[s->body_len - 1] == '\n') {
		s->body_len--; /* the recorder's own */
	}
	s->body[s->body_len] = '\0';
	return s;
}

void sample_free(struct sample *s)
{
	if (!s)
		return;
	if (s->body != s->text)
		free(s->body);
	free(s->text);
	free(s);
}

const char *sample_header(const struct sample *s, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; s->headers[i]; i++)
		if (!strncasecmp(s->headers[i], name, len) && s->headers[i][len] == ':')
			return s->headers[i] + len + 1 + strspn(s->headers[i] + len + 1, " ");
	return "";
}

void sample_make_pods(struct sample *s)
{
	static const char from[] = "\"kind\":\"ConfigMap\"", to[] = "\"kind\":\"Pod\"      ";
	char *at = s->body;

	static_assert(sizeof(from) == sizeof(to), "in place");
	while ((at = strstr(at, from)))
		memcpy(at, to, strlen(to));
}

struct http_answer sample_answer(const struct sample *s)
{
	return (struct http_answer) {
		.status = s->status,
		.sent = true,
		.body = s->body,
		.body_len = s->body_len,
		.content_type = sample_header(s, "Content-Type"),
		.retry_after = atoll(sample_header(s, "Retry-After")) * USEC_SEC,
	};
}

static int is_sample(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

char **sample_names(void)
{
	struct dirent **entries = NULL;
	int n = scandir(sample_dir(), &entries, is_sample, alphasort);
	char **names;

	assert_true(n > 0);
	names = mem_alloc_n((size_t)n + 1, sizeof(*names));
	for (int i = 0; i < n; i++) {
		names[i] = mem_strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return names;
}
