/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long one watch event takes from bytes to store: cut into lines, parsed, decoded, put. The events are those of
 * real Pods under a real kubelet, read in pieces as a socket gives them. Beside it a plain yyjson parse of the same
 * bytes.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "base/str.h"
#include "base/time.h"
#include "kube/feed.h"
#include "kube/lines.h"

#define ROUNDS 200
#define PIECE ((size_t)16 << 10) /* curl's buffer */
#define LINE_BYTES_MAX ((size_t)8 << 20)
#define FILE_BYTES_MAX ((size_t)16 << 20)

static const struct store_kind pods = { .name = "pods" };

static int got_line(void *arg, const char *line, size_t len, struct err *err)
{
	const char *version;
	enum feed_event event;

	return feed_line(arg, line, len, &event, &version, err);
}

static int got_line_plain(void *arg, const char *line, size_t len, struct err *err)
{
	yyjson_doc *doc = yyjson_read(line, len, 0);

	(void)err;
	*(size_t *)arg += doc != NULL;
	yyjson_doc_free(doc);
	return 0;
}

/* The thread's own time in µs: other programs on the machine do not count. */
static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run(const struct buf *stream, lines_got got, void *arg)
{
	double start = cpu_us();
	struct err err = { 0 };
	struct lines lines;

	lines_init(&lines, LINE_BYTES_MAX);
	for (size_t at = 0; at < stream->len; at += PIECE) {
		size_t n = stream->len - at < PIECE ? stream->len - at : PIECE;

		if (lines_feed(&lines, stream->data + at, n, got, arg, &err) < 0)
			fprintf(stderr, "bench_watch: %s\n", err.text);
	}
	lines_done(&lines);
	return cpu_us() - start;
}

int main(void)
{
	_cleanup_free_ char *path = str_printf("%s/30-kubelet-lifecycle.jsonl", str_or(getenv("SUNK_SAMPLES"), "."));
	_cleanup_buf_ struct buf stream = BUF(FILE_BYTES_MAX);
	struct store *store = store_new(&pods);
	double ours = 1e12, plain = 1e12, events;
	size_t n = 0;
	struct feed feed;

	if (buf_read_file(&stream, path) < 0) {
		fprintf(stderr, "bench_watch: cannot read %s\n", path);
		store_free(store);
		return 1;
	}
	feed_init(&feed, KUBE_PODS, store);
	for (int round = 0; round < ROUNDS; round++) { /* the best of many: the rest is noise */
		double a = run(&stream, got_line, &feed), b = run(&stream, got_line_plain, &n);

		ours = a < ours ? a : ours;
		plain = b < plain ? b : plain;
	}
	events = (double)feed.events / ROUNDS;
	printf("watch events         %.0f of %.0f bytes on average\n", events, (double)stream.len / events);
	printf("bytes to store       %.2f µs per event, %.0f MB/s (wanted: at most 10 µs)\n", ours / events,
	       (double)stream.len / ours);
	printf("plain yyjson parse   %.2f µs per event, ratio %.2f\n", plain / events, ours / plain);
	feed_done(&feed);
	store_free(store);
	return 0;
}
