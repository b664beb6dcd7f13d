/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How fast and how small a list of 10,000 Pods becomes a store: pages of 500 as an API server sends them, each parsed
 * in place, decoded, and put. The Pods are one that a real kubelet ran (kube-samples), with names, labels, owners and
 * places of their own. Prints only; compares with a plain yyjson parse of the same bytes in the same run.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "kube/objects.h"
#include "port/store.h"
#include "json/list.h"

#define PODS 10000
#define PAGE 500
#define NODES 250
#define ROUNDS 7
#define EVENTS 20000
#define TEXT_MAX ((size_t)16 << 20)

/* ---- the Pods ---- */

/* Texts of the sample that each Pod has its own of. */
static const char *const varied[] = { "\"nodeName\":\"node1\"", "\"podIP\":\"10.244.1.16\"", "c8b226edd59a1551" };
static const char *const forms[] = { "\"nodeName\":\"node%u\"", "\"podIP\":\"10.244.%u.16\"", "%016x" };

static char *pod_rest; /* the sample from "managedFields" on */

/* Finds the Pod that runs and is ready. */
static int read_sample(void)
{
	_cleanup_buf_ struct buf b = BUF(TEXT_MAX);
	_cleanup_free_ char *path =
	        str_printf("%s/30-kubelet-lifecycle.jsonl", str_or(getenv("SUNK_SAMPLES"), "tests/kube-samples"));
	int r = buf_read_file(&b, path);
	const char *at, *end;

	if (r < 0) {
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(-r));
		return r;
	}
	at = strstr(buf_text(&b),
	            "\"name\":\"ok\",\"namespace\":\"real\",\"uid\":\"ee9c2bea-b08b-4470-beb4-dcb8f240e887\","
	            "\"resourceVersion\":\"962\"");
	at = at ? strstr(at, "\"managedFields\"") : NULL;
	end = at ? strchr(at, '\n') : NULL;
	if (!end)
		return fprintf(stderr, "%s has no such Pod\n", path), -1;
	pod_rest = mem_strndup(at, (size_t)(end - at) - 1); /* the last brace is the event's */
	return 0;
}

static void add_pod(struct buf *b, unsigned i, unsigned version)
{
	const char *at = pod_rest;
	unsigned set = i / 50;

	buf_printf(
	        b,
	        "{\"metadata\":{\"name\":\"trainer-%u-7d4b9c6f5-%05x\",\"generateName\":\"trainer-%u-7d4b9c6f5-\","
	        "\"namespace\":\"team-%u\","
	        "\"uid\":\"%08x-b08b-4470-beb4-dcb8f240e887\",\"resourceVersion\":\"%u\",\"generation\":1,"
	        "\"creationTimestamp\":\"2026-11-15T18:26:09Z\",\"labels\":{\"app.kubernetes.io/name\":\"trainer-%u\","
	        "\"app.kubernetes.io/part-of\":\"platform\",\"pod-template-hash\":\"7d4b9c6f5\"},\"annotations\":{"
	        "\"prometheus.io/scrape\":\"true\",\"sunk.coreweave.com/"
	        "job-id\":\"%u\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
	        "\"kind\":\"ReplicaSet\",\"name\":\"trainer-%u-7d4b9c6f5\",\"uid\":\"%08x-0c5d-4a2b-9d6e-"
	        "1f2a3b4c5d6e\","
	        "\"controller\":true,\"blockOwnerDeletion\":true}],",
	        set, i, set, set % 20, i * 2654435761u, version, set, 100000 + i, set, set * 40503u);
	for (size_t k = 0; k < ARRAY_LEN(varied); k++) {
		const char *next = strstr(at, varied[k]);

		if (!next)
			continue;
		buf_add(b, at, (size_t)(next - at));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		buf_printf(b, forms[k], k == 0 ? i % NODES : k == 1 ? i % 256 : i);
#pragma GCC diagnostic pop
		at = next + strlen(varied[k]);
	}
	buf_add_str(b, at);
}

static void make_page(struct buf *b, unsigned page)
{
	buf_clear(b);
	buf_add_str(
	        b,
	        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"99999\"},\"items\":[");
	for (unsigned i = 0; i < PAGE; i++) {
		if (i)
			buf_add_char(b, ',');
		add_pod(b, page * PAGE + i, 1000 + page * PAGE + i);
	}
	buf_add_str(b, "]}\n");
	buf_reserve(b, YYJSON_PADDING_SIZE);
}

/* ---- the store ---- */

static void by_node(const void *object, store_index_add add, void *arg)
{
	const struct pod *p = object;

	if (p->node_name)
		add(arg, p->node_name);
}

static void by_owner(const void *object, store_index_add add, void *arg)
{
	const struct owner *o = meta_controller(object);

	if (o)
		add(arg, o->uid);
}

static const struct store_kind pods = { .name = "pods", .indexes = { by_node, by_owner } };

struct sink {
	struct json_parser *parser;
	struct json_scratch scratch;
	struct store *store;
};

static int put(void *arg, size_t i, yyjson_val *value, struct err *err)
{
	struct sink *sink = arg;
	void *object;
	size_t size;
	int r = kube_decode(KUBE_PODS, value, &sink->scratch, &object, &size, err);

	(void)i;
	if (r == 0)
		store_put(sink->store, object, size);
	return r;
}

static int skip(void *arg, const char *key, yyjson_val *value, struct err *err)
{
	(void)arg;
	(void)key;
	(void)value;
	(void)err;
	return 0;
}

static void take_page(struct sink *sink, struct buf *page)
{
	static const struct json_list_calls calls = { skip, put };
	struct err err = { 0 };

	if (json_list_walk(sink->parser, page->data, page->len, "items", &calls, sink, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static void take_event(struct sink *sink, struct buf *event)
{
	struct err err = { 0 };
	yyjson_doc *doc;

	if (json_parse(sink->parser, event->data, event->len, true, &doc, &err) < 0 ||
	    put(sink, 0, json_get(yyjson_doc_get_root(doc), "object"), &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static struct sink sink_new(void)
{
	return (struct sink) { .parser = json_parser_new(), .store = store_new(&pods) };
}

static void sink_done(struct sink *sink)
{
	json_parser_free(sink->parser);
	json_scratch_done(&sink->scratch);
	store_free(sink->store);
	*sink = (struct sink) { 0 };
}

/* ---- measuring ---- */

static usec_t now(void)
{
	return clock_mono(clock_real());
}

static double resident_mb(void)
{
	_cleanup_buf_ struct buf b = BUF(4096);
	long total = 0, resident = 0;

	if (buf_read_file(&b, "/proc/self/statm") < 0 || sscanf(buf_text(&b), "%ld %ld", &total, &resident) != 2)
		return 0;
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double allocated_mb(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)(m.uordblks + m.hblkhd) / 1e6;
}

static double mb_per_s(size_t bytes, usec_t span)
{
	return (double)bytes / (double)MAX_OF(span, (usec_t)1);
}

struct round {
	size_t bytes;
	usec_t decode, plain;
	double resident_before, resident_peak, resident_after, allocated_after;
	size_t store_bytes;
};

/* One whole list. With `memory`, nothing but what a client needs is allocated; without, the plain parse is timed too.
 */
static void run_round(struct round *r, bool memory)
{
	struct buf page = BUF(TEXT_MAX);
	double allocated = allocated_mb();
	struct sink sink;

	*r = (struct round) { .resident_before = resident_mb() };
	sink = sink_new();
	for (unsigned i = 0; i < PODS / PAGE; i++) {
		usec_t start;

		make_page(&page, i);
		r->bytes += page.len;
		if (!memory) {
			start = now();
			yyjson_doc_free(yyjson_read(page.data, page.len, 0));
			r->plain += now() - start;
		}
		start = now();
		take_page(&sink, &page);
		r->decode += now() - start;
		r->resident_peak = MAX_OF(r->resident_peak, resident_mb());
	}
	buf_done(&page);
	malloc_trim(0);
	r->resident_after = resident_mb();
	r->allocated_after = allocated_mb() - allocated;
	r->store_bytes = store_memory(sink.store);
	sink_done(&sink);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double micros(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* The time of each event, sorted. */
static double *run_events(size_t *ret_bytes)
{
	double *took = mem_alloc_n(EVENTS, sizeof(*took));
	struct sink sink = sink_new();
	struct buf event = BUF(TEXT_MAX);

	for (unsigned i = 0; i < EVENTS; i++) {
		double start;

		buf_clear(&event);
		buf_add_str(&event, "{\"type\":\"MODIFIED\",\"object\":");
		add_pod(&event, i % 1000, i);
		buf_add_str(&event, "}");
		buf_reserve(&event, YYJSON_PADDING_SIZE);
		*ret_bytes = event.len;
		start = micros();
		take_event(&sink, &event);
		took[i] = micros() - start;
	}
	qsort(took, EVENTS, sizeof(*took), by_size);
	buf_done(&event);
	sink_done(&sink);
	return took;
}

int main(void)
{
	struct round memory, best = { 0 }, r;
	size_t event_bytes;
	double *events;

	if (read_sample() < 0)
		return 1;
	run_round(&memory, true);
	for (int i = 0; i < ROUNDS; i++) {
		run_round(&r, false);
		best.bytes = r.bytes;
		best.decode = best.decode ? MIN_OF(best.decode, r.decode) : r.decode;
		best.plain = best.plain ? MIN_OF(best.plain, r.plain) : r.plain;
	}
	events = run_events(&event_bytes);
	printf("list of %d Pods, pages of %d: %.1f MB, %zu bytes a Pod\n", PODS, PAGE, (double)best.bytes / 1e6,
	       best.bytes / PODS);
	printf("  parse, decode, store  %7.0f MB/s   (target >= 200)\n", mb_per_s(best.bytes, best.decode));
	printf("  plain yyjson parse    %7.0f MB/s   ratio %.2f\n", mb_per_s(best.bytes, best.plain),
	       (double)best.plain / (double)best.decode);
	printf("  memory while listing  %7.1f MB     (page, its values, store; target <= 15)\n",
	       memory.resident_peak - memory.resident_before);
	printf("  memory of the store   %7.1f MB     resident %.1f, accounted %.1f (target <= 12)\n",
	       memory.allocated_after, memory.resident_after - memory.resident_before,
	       (double)memory.store_bytes / 1e6);
	printf("  a kept Pod            %7zu bytes\n", memory.store_bytes / PODS);
	printf("watch event of %zu bytes %6.1f us      median; 99%% within %.1f (parse, decode, store; target <= 10)\n",
	       event_bytes, events[EVENTS / 2], events[EVENTS * 99 / 100]);
	free(events);
	free(pod_rest);
	return 0;
}
