/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/exporter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

#define NOW (2000 * USEC_SEC)
#define TEXT_MAX ((size_t)16 << 20)

/* The contract, as it was given: not made from the table. */
/* clang-format off */
static const struct {
	const char *name, *unit, *labels;
} contract[] = {
	{ "slurm_controller_rpc_count", "count", "message_type" },
	{ "slurm_controller_rpc_mean_duration_seconds", "seconds", "message_type" },
	{ "slurm_job_state", "", "partition account user id name state" },
	{ "slurm_job_cpus_allocated", "count", "partition account user id node" },
	{ "slurm_job_gpus_allocated", "count", "partition account user id node" },
	{ "slurm_job_uptime_seconds", "seconds", "partition account user id node" },
	{ "slurm_jobs_pending", "count", "partition account user" },
	{ "slurm_jobs_running", "count", "partition account user" },
	{ "slurm_jobs_suspended", "count", "partition account user" },
	{ "slurm_node_state", "", "node partition state" },
	{ "slurm_node_cpu_alloc", "count", "node" },
	{ "slurm_node_cpu_idle", "count", "node" },
	{ "slurm_node_cpu_total", "count", "node" },
	{ "slurm_node_mem_alloc", "MB", "node" },
	{ "slurm_node_mem_total", "MB", "node" },
	{ "slurm_node_gpu_alloc", "count", "node" },
	{ "slurm_node_gpu_idle", "count", "node" },
	{ "slurm_node_gpu_total", "count", "node" },
	{ "slurm_nodes_alloc", "count", "" },
	{ "slurm_nodes_comp", "count", "" },
	{ "slurm_nodes_down", "count", "" },
	{ "slurm_nodes_drain", "count", "" },
	{ "slurm_nodes_err", "count", "" },
	{ "slurm_nodes_fail", "count", "" },
	{ "slurm_nodes_idle", "count", "" },
	{ "slurm_nodes_maint", "count", "" },
	{ "slurm_nodes_mix", "count", "" },
	{ "slurm_nodes_resv", "count", "" },
	{ "slurm_nodes_total", "count", "" },
	{ "slurm_nodes_not_responding", "count", "" },
	{ "slurm_partition_cpu_alloc", "count", "partition" },
	{ "slurm_partition_cpu_idle", "count", "partition" },
	{ "slurm_partition_cpu_total", "count", "partition" },
	{ "slurm_partition_mem_alloc", "MB", "partition" },
	{ "slurm_partition_mem_total", "MB", "partition" },
	{ "slurm_partition_gpu_alloc", "count", "partition" },
	{ "slurm_partition_gpu_idle", "count", "partition" },
	{ "slurm_partition_gpu_total", "count", "partition" },
	{ "slurm_queue_canceled", "count", "" },
	{ "slurm_queue_completed", "count", "" },
	{ "slurm_queue_completing", "count", "" },
	{ "slurm_queue_configuring", "count", "" },
	{ "slurm_queue_failed", "count", "" },
	{ "slurm_queue_node_fail", "count", "" },
	{ "slurm_queue_pending", "count", "" },
	{ "slurm_queue_pending_dependency", "count", "" },
	{ "slurm_queue_preempted", "count", "" },
	{ "slurm_queue_running", "count", "" },
	{ "slurm_queue_suspended", "count", "" },
	{ "slurm_queue_timeout", "count", "" },
	{ "slurm_scheduler_backfill_cycle_last_seconds", "seconds", "" },
	{ "slurm_scheduler_backfill_cycle_mean_seconds", "seconds", "" },
	{ "slurm_scheduler_backfill_depth_mean", "count", "" },
	{ "slurm_scheduler_backfilled_jobs_total", "count", "" },
	{ "slurm_scheduler_backfilled_jobs_cycle_total", "count", "" },
	{ "slurm_scheduler_backfilled_jobs_heterogeneous_total", "count", "" },
	{ "slurm_scheduler_cycle_last_seconds", "seconds", "" },
	{ "slurm_scheduler_cycle_mean_seconds", "seconds", "" },
	{ "slurm_scheduler_cycles_per_minute", "opm", "" },
	{ "slurm_scheduler_dbd_queue", "count", "" },
	{ "slurm_scheduler_jobs_submitted", "count", "" },
	{ "slurm_scheduler_jobs_started", "count", "" },
	{ "slurm_scheduler_jobs_completed", "count", "" },
	{ "slurm_scheduler_jobs_failed", "count", "" },
	{ "slurm_scheduler_jobs_cancelled", "count", "" },
	{ "slurm_scheduler_jobs_pending", "count", "" },
	{ "slurm_scheduler_jobs_running", "count", "" },
	{ "slurm_scheduler_queue", "count", "" },
	{ "slurm_scheduler_threads", "count", "" },
	{ "slurm_scheduler_cycle_mean_depth", "count", "" },
};
/* clang-format on */

/* ---- a small cluster ---- */

static const struct job_on_node two_nodes[] = { { .node = "n1", .cpus = 8, .gpus = 2 },
	                                        { .node = "n2", .cpus = 4, .gpus = 1 } };
static const struct job_on_node one_node[] = { { .node = "n2", .cpus = 1 } };

#define WHO .partition = "main", .account = "ml", .user = "ann"

static const struct job jobs[] = {
	{ .id = 1,
	  WHO,
	  .name = "train",
	  .state = JOB_RUNNING,
	  .array_tasks = 1,
	  .started = NOW - 90 * USEC_SEC,
	  .on_nodes = (struct job_on_node *)two_nodes,
	  .n_on_nodes = 2 },
	{ .id = 2,
	  WHO,
	  .name = "sweep",
	  .state = JOB_PENDING,
	  .array_job_id = 2,
	  .array_task_id = UINT32_MAX,
	  .array_tasks = 7,
	  .reason = "Resources" },
	{ .id = 3,
	  WHO,
	  .name = "sweep",
	  .state = JOB_RUNNING,
	  .array_job_id = 2,
	  .array_task_id = 0,
	  .array_tasks = 1,
	  .started = NOW - USEC_SEC,
	  .on_nodes = (struct job_on_node *)one_node,
	  .n_on_nodes = 1 },
	{ .id = 4,
	  .partition = "high",
	  .account = "ops",
	  .user = "bob",
	  .name = "after",
	  .state = JOB_PENDING,
	  .array_tasks = 1,
	  .reason = "Dependency" },
	{ .id = 5,
	  WHO,
	  .name = "end",
	  .state = JOB_RUNNING,
	  .flags = JOBF_COMPLETING,
	  .array_tasks = 1,
	  .on_nodes = (struct job_on_node *)one_node,
	  .n_on_nodes = 1 },
	{ .id = 6, WHO, .name = "boot", .state = JOB_RUNNING, .flags = JOBF_CONFIGURING, .array_tasks = 1 },
	{ .id = 7, WHO, .name = "wait", .state = JOB_SUSPENDED, .array_tasks = 1 },
	{ .id = 8, WHO, .name = "a", .state = JOB_CANCELLED, .array_tasks = 1 },
	{ .id = 9, WHO, .name = "b", .state = JOB_COMPLETE, .array_tasks = 1 },
	{ .id = 10, WHO, .name = "c", .state = JOB_FAILED, .array_tasks = 1 },
	{ .id = 11, WHO, .name = "d", .state = JOB_NODE_FAIL, .array_tasks = 1 },
	{ .id = 12, WHO, .name = "e", .state = JOB_PREEMPTED, .array_tasks = 1 },
	{ .id = 13, WHO, .name = "f", .state = JOB_TIMEOUT, .array_tasks = 1 },
};

#define HAS(c, m, g) .cpus = (c), .memory_mb = (m), .gpus = (g)

static const struct snode nodes[] = {
	{ .name = "n1",
	  .state = NODE_MIXED,
	  .partitions = "main,high",
	  HAS(16, 1000, 8),
	  .cpus_alloc = 8,
	  .memory_alloc_mb = 300,
	  .gpus_alloc = 2 },
	{ .name = "n2",
	  .state = NODE_ALLOCATED,
	  .partitions = "main",
	  HAS(4, 500, 1),
	  .cpus_alloc = 4,
	  .memory_alloc_mb = 500,
	  .gpus_alloc = 1 },
	{ .name = "n3", .state = NODE_IDLE, .flags = NODEF_DRAIN, .partitions = "main", HAS(16, 1000, 8) },
	{ .name = "n4", .state = NODE_DOWN, .flags = NODEF_NO_RESPOND, .partitions = "main", HAS(16, 1000, 8) },
	{ .name = "n5", .state = NODE_IDLE, .partitions = NULL, HAS(2, 100, 0) },
	{ .name = "n6", .state = NODE_IDLE, .flags = NODEF_COMPLETING, HAS(1, 1, 0) },
	{ .name = "n7", .state = NODE_ERROR, HAS(1, 1, 0) },
	{ .name = "n8", .state = NODE_IDLE, .flags = NODEF_FAIL, HAS(1, 1, 0) },
	{ .name = "n9", .state = NODE_IDLE, .flags = NODEF_MAINT, HAS(1, 1, 0) },
	{ .name = "n10", .state = NODE_IDLE, .flags = NODEF_RESERVED, HAS(1, 1, 0) },
	{ .name = "n11", .state = NODE_IDLE, .flags = NODEF_PLANNED, HAS(1, 1, 0) },
	{ .name = "n12", .state = NODE_MIXED, .flags = NODEF_DRAIN, HAS(4, 1, 0), .cpus_alloc = 1 },
};

static const struct spartition partitions[] = { { .name = "main" }, { .name = "high" }, { .name = "empty" } };

static const struct slurm_rpc_stat rpcs[] = {
	{ "REQUEST_JOB_INFO", 1234, 1500 },
	{ "REQUEST_PING", 1, 0 },
};
static const struct slurm_stats stats = {
	.jobs_submitted = 101,
	.jobs_started = 102,
	.jobs_completed = 103,
	.jobs_failed = 104,
	.jobs_cancelled = 105,
	.jobs_pending = 106,
	.jobs_running = 107,
	.threads = 108,
	.agent_queue = 109,
	.dbd_queue = 110,
	.cycle_last = 111,
	.cycle_mean = 1120000,
	.bf_cycle_last = 2 * USEC_SEC,
	.bf_cycle_mean = 100,
	.cycles_per_minute = 115,
	.cycle_mean_depth = 116,
	.bf_depth_mean = 117,
	.bf_jobs_total = 118,
	.bf_jobs_cycle = 119,
	.bf_jobs_het = 120,
	.schedule_queue = 121,
	.rpcs = (struct slurm_rpc_stat *)rpcs,
	.n_rpcs = 2,
};

static struct slurm_snapshot snapshot(void)
{
	return (struct slurm_snapshot) {
		.jobs = jobs,
		.n_jobs = ARRAY_LEN(jobs),
		.jobs_at = NOW,
		.nodes = nodes,
		.n_nodes = ARRAY_LEN(nodes),
		.nodes_at = NOW,
		.partitions = partitions,
		.n_partitions = ARRAY_LEN(partitions),
		.partitions_at = NOW,
		.stats = &stats,
		.stats_at = NOW,
	};
}

static struct buf text_of(const struct slurm_snapshot *s)
{
	struct buf out = BUF(TEXT_MAX);

	exporter_write(s, NOW + 2 * USEC_SEC, &out);
	assert_int_equal(out.error, 0);
	return out;
}

static bool has_line(const struct buf *text, const char *line)
{
	_cleanup_free_ char *whole = str_printf("\n%s\n", line);

	return strstr(buf_text(text), whole) != NULL;
}

static size_t count_lines(const struct buf *text, const char *prefix)
{
	_cleanup_free_ char *at_start = str_printf("\n%s", prefix);
	size_t n = 0;

	for (const char *p = buf_text(text); (p = strstr(p, at_start)); p++)
		n++;
	return n;
}

/* ---- a strict reader of the format, with what promtool finds fault with ---- */

struct family {
	char name[128], type[16];
	char labels[128]; /* names, as first seen */
	bool help, sampled;
};

#define FAIL_LINE(what) fail_msg("%s: %.*s", what, (int)strcspn(line, "\n"), line)

static const char *take_word(const char *p, char *to, size_t size)
{
	size_t len = strcspn(p, " {\n");

	assert_true(len > 0 && len < size);
	memcpy(to, p, len);
	to[len] = 0;
	return p + len;
}

static bool is_name(const char *s, bool label)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_' && (label || *s != ':'))
			return false;
	return true;
}

/* {a="x",b="y"}: collects the names; returns what follows. */
static const char *read_labels(const char *line, const char *p, char *names, size_t size)
{
	*names = 0;
	if (*p != '{')
		return p;
	for (p++; *p != '}'; p += *p == ',') {
		char name[64];
		size_t len = strcspn(p, "=");

		if (len == 0 || len >= sizeof(name) || p[len + 1] != '"')
			FAIL_LINE("a label without a name or value");
		memcpy(name, p, len);
		name[len] = 0;
		if (!is_name(name, true) || strlen(names) + len + 2 > size)
			FAIL_LINE("not the name of a label");
		if (*names)
			strcat(names, " ");
		strcat(names, name);
		for (p += len + 2; *p != '"'; p++) {
			if (*p == '\n' || !*p)
				FAIL_LINE("a value without an end");
			if (*p == '\\' && !strchr("\\\"n", *++p))
				FAIL_LINE("an unknown escape");
		}
		p++;
		if (*p != ',' && *p != '}')
			FAIL_LINE("something behind a value");
	}
	return p + 1;
}

/* Checks every line; gives the families by name. */
static void read_text(const struct buf *text, struct map *families, struct map *seen)
{
	struct family *f = NULL;

	assert_true(str_is_utf8(text->data, text->len) && text->data[text->len - 1] == '\n');
	for (const char *line = buf_text(text); *line; line = strchr(line, '\n') + 1) {
		char name[128], labels[128], *end, *series;
		const char *p;

		if (str_starts(line, "# HELP ")) {
			f = NEW(struct family);
			p = take_word(line + 7, f->name, sizeof(f->name));
			f->help = *p == ' ' && p[1] && p[1] != '\n';
			if (!is_name(f->name, false) || map_put(families, f->name, f))
				FAIL_LINE("no name of a metric, or twice");
			continue;
		}
		if (str_starts(line, "# TYPE ")) {
			p = take_word(line + 7, name, sizeof(name));
			if (!f || !str_eq(name, f->name) || *f->type)
				FAIL_LINE("a type without its help before it");
			take_word(p + 1, f->type, sizeof(f->type));
			continue;
		}
		p = take_word(line, name, sizeof(name));
		if (!f || !str_eq(f->name, name) || !*f->type)
			FAIL_LINE("a sample outside of its family");
		p = read_labels(line, p, labels, sizeof(labels));
		if (f->sampled && !str_eq(f->labels, labels))
			FAIL_LINE("other labels than before");
		strcpy(f->labels, labels);
		f->sampled = true;
		series = mem_strndup(line, (size_t)(p - line));
		if (map_put(seen, series, series))
			FAIL_LINE("the same series twice");
		if (*p != ' ' || strtod(p + 1, &end) < 0 || *end != '\n' || end == p + 1)
			FAIL_LINE("no number");
	}
}

/* What `promtool check metrics` says about names and types. */
static void lint(const struct family *f)
{
	static const char *const abbreviations[] = { "s",  "ms", "us", "ns", "sec", "b", "kb",
		                                     "mb", "gb", "tb", "pb", "m",   "h", "d" };
	static const char *const types[] = { "counter", "gauge", "histogram", "summary" };
	bool untyped = str_eq(f->type, "untyped");

	if (!f->help)
		fail_msg("%s: no help", f->name);
	for (const char *p = f->name; *p; p++)
		if (isupper((unsigned char)*p))
			fail_msg("%s: camel case", f->name);
	if (!untyped && str_eq(f->type, "counter") != str_ends(f->name, "_total"))
		fail_msg("%s: _total and the type %s", f->name, f->type);
	if (!untyped && (str_ends(f->name, "_count") || str_ends(f->name, "_sum") || str_ends(f->name, "_bucket")))
		fail_msg("%s: a reserved suffix", f->name);
	for (size_t i = 0; i < ARRAY_LEN(abbreviations); i++) {
		_cleanup_free_ char *in = str_printf("_%s_", abbreviations[i]),
		                    *at_end = str_printf("_%s", abbreviations[i]);

		if (strstr(f->name, in) || str_ends(f->name, at_end))
			fail_msg("%s: an abbreviated unit", f->name);
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		_cleanup_free_ char *in = str_printf("_%s_", types[i]), *at_end = str_printf("_%s", types[i]);

		if (strstr(f->name, in) || str_ends(f->name, at_end))
			fail_msg("%s: its type in its name", f->name);
	}
}

static void free_all(struct map *m)
{
	void *v;
	size_t i = 0;

	while ((v = map_next(m, &i)))
		free(v);
	map_done(m);
}

/* ---- tests ---- */

static void test_the_table_is_the_contract(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_LEN(contract), 70);
	assert_int_equal(n_metric_rows, 72);
	for (size_t i = 0; i < ARRAY_LEN(contract); i++) {
		assert_string_equal(metric_rows[i].name, contract[i].name);
		assert_string_equal(metric_rows[i].unit, contract[i].unit);
		assert_string_equal(metric_rows[i].labels, contract[i].labels);
	}
}

static void test_every_metric_is_written_with_exactly_its_labels(void **state)
{
	struct slurm_snapshot s = snapshot();
	_cleanup_buf_ struct buf text = text_of(&s);
	struct map families = MAP_INIT, seen = MAP_INIT;

	(void)state;
	read_text(&text, &families, &seen);
	assert_int_equal(map_count(&families), n_metric_rows);
	for (size_t i = 0; i < n_metric_rows; i++) {
		const struct family *f = map_get(&families, metric_rows[i].name);

		if (!f || !f->sampled)
			fail_msg("%s is not there", metric_rows[i].name);
		assert_string_equal(f->labels, metric_rows[i].labels);
		assert_string_equal(f->type, metric_type(&metric_rows[i]));
		lint(f);
	}
	free_all(&families);
	free_all(&seen);
}

static void test_counters_are_counters_where_their_name_allows(void **state)
{
	static const struct {
		const char *name, *type;
	} cases[] = {
		{ "slurm_scheduler_backfilled_jobs_total", "counter" },
		{ "slurm_scheduler_jobs_submitted", "untyped" },
		{ "slurm_controller_rpc_count", "untyped" },
		{ "slurm_nodes_total", "untyped" },
		{ "slurm_nodes_idle", "gauge" },
		{ "slurm_scheduler_jobs_pending", "gauge" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t k = 0; k < n_metric_rows; k++)
			if (str_eq(metric_rows[k].name, cases[i].name))
				assert_string_equal(metric_type(&metric_rows[k]), cases[i].type);
}

static void test_every_value_is_what_slurm_told(void **state)
{
	static const char *const lines[] = {
		"slurm_controller_rpc_count{message_type=\"REQUEST_JOB_INFO\"} 1234",
		"slurm_controller_rpc_mean_duration_seconds{message_type=\"REQUEST_JOB_INFO\"} 0.0015",
		"slurm_controller_rpc_mean_duration_seconds{message_type=\"REQUEST_PING\"} 0",
		"slurm_job_state{partition=\"main\",account=\"ml\",user=\"ann\",id=\"1\",name=\"train\",state="
		"\"running\"} 1",
		"slurm_job_state{partition=\"main\",account=\"ml\",user=\"ann\",id=\"2\",name=\"sweep\",state="
		"\"pending\"} 7",
		"slurm_job_state{partition=\"main\",account=\"ml\",user=\"ann\",id=\"5\",name=\"end\",state="
		"\"completing\"} 1",
		"slurm_job_state{partition=\"main\",account=\"ml\",user=\"ann\",id=\"9\",name=\"b\",state="
		"\"completed\"} 1",
		"slurm_job_cpus_allocated{partition=\"main\",account=\"ml\",user=\"ann\",id=\"1\",node=\"n1\"} 8",
		"slurm_job_cpus_allocated{partition=\"main\",account=\"ml\",user=\"ann\",id=\"1\",node=\"n2\"} 4",
		"slurm_job_gpus_allocated{partition=\"main\",account=\"ml\",user=\"ann\",id=\"1\",node=\"n1\"} 2",
		"slurm_job_gpus_allocated{partition=\"main\",account=\"ml\",user=\"ann\",id=\"3\",node=\"n2\"} 0",
		"slurm_job_uptime_seconds{partition=\"main\",account=\"ml\",user=\"ann\",id=\"1\",node=\"n2\"} 90",
		"slurm_jobs_pending{partition=\"main\",account=\"ml\",user=\"ann\"} 7",
		"slurm_jobs_pending{partition=\"high\",account=\"ops\",user=\"bob\"} 1",
		"slurm_jobs_running{partition=\"main\",account=\"ml\",user=\"ann\"} 2",
		"slurm_jobs_running{partition=\"high\",account=\"ops\",user=\"bob\"} 0",
		"slurm_jobs_suspended{partition=\"main\",account=\"ml\",user=\"ann\"} 1",
		"slurm_node_state{node=\"n1\",partition=\"main\",state=\"mixed\"} 1",
		"slurm_node_state{node=\"n1\",partition=\"high\",state=\"mixed\"} 1",
		"slurm_node_state{node=\"n3\",partition=\"main\",state=\"drained\"} 1",
		"slurm_node_state{node=\"n5\",partition=\"\",state=\"idle\"} 1",
		"slurm_node_cpu_alloc{node=\"n1\"} 8",
		"slurm_node_cpu_idle{node=\"n1\"} 8",
		"slurm_node_cpu_total{node=\"n1\"} 16",
		"slurm_node_cpu_idle{node=\"n3\"} 0",
		"slurm_node_cpu_idle{node=\"n4\"} 0",
		"slurm_node_mem_alloc{node=\"n1\"} 300",
		"slurm_node_mem_total{node=\"n1\"} 1000",
		"slurm_node_gpu_alloc{node=\"n1\"} 2",
		"slurm_node_gpu_idle{node=\"n1\"} 6",
		"slurm_node_gpu_total{node=\"n1\"} 8",
		"slurm_nodes_alloc 1",
		"slurm_nodes_comp 1",
		"slurm_nodes_down 1",
		"slurm_nodes_drain 2",
		"slurm_nodes_err 1",
		"slurm_nodes_fail 1",
		"slurm_nodes_idle 2",
		"slurm_nodes_maint 1",
		"slurm_nodes_mix 1",
		"slurm_nodes_resv 1",
		"slurm_nodes_total 12",
		"slurm_nodes_not_responding 1",
		"slurm_partition_cpu_alloc{partition=\"main\"} 12",
		"slurm_partition_cpu_idle{partition=\"main\"} 8",
		"slurm_partition_cpu_total{partition=\"main\"} 52",
		"slurm_partition_cpu_total{partition=\"high\"} 16",
		"slurm_partition_cpu_total{partition=\"empty\"} 0",
		"slurm_partition_mem_alloc{partition=\"main\"} 800",
		"slurm_partition_mem_total{partition=\"main\"} 3500",
		"slurm_partition_gpu_alloc{partition=\"main\"} 3",
		"slurm_partition_gpu_idle{partition=\"main\"} 6",
		"slurm_partition_gpu_total{partition=\"main\"} 25",
		"slurm_queue_canceled 1",
		"slurm_queue_completed 1",
		"slurm_queue_completing 1",
		"slurm_queue_configuring 1",
		"slurm_queue_failed 1",
		"slurm_queue_node_fail 1",
		"slurm_queue_pending 8",
		"slurm_queue_pending_dependency 1",
		"slurm_queue_preempted 1",
		"slurm_queue_running 2",
		"slurm_queue_suspended 1",
		"slurm_queue_timeout 1",
		"slurm_scheduler_backfill_cycle_last_seconds 2",
		"slurm_scheduler_backfill_cycle_mean_seconds 0.0001",
		"slurm_scheduler_backfill_depth_mean 117",
		"slurm_scheduler_backfilled_jobs_total 118",
		"slurm_scheduler_backfilled_jobs_cycle_total 119",
		"slurm_scheduler_backfilled_jobs_heterogeneous_total 120",
		"slurm_scheduler_cycle_last_seconds 0.000111",
		"slurm_scheduler_cycle_mean_seconds 1.12",
		"slurm_scheduler_cycles_per_minute 115",
		"slurm_scheduler_dbd_queue 110",
		"slurm_scheduler_jobs_submitted 101",
		"slurm_scheduler_jobs_started 102",
		"slurm_scheduler_jobs_completed 103",
		"slurm_scheduler_jobs_failed 104",
		"slurm_scheduler_jobs_cancelled 105",
		"slurm_scheduler_jobs_pending 106",
		"slurm_scheduler_jobs_running 107",
		"slurm_scheduler_queue 121",
		"slurm_scheduler_threads 108",
		"slurm_scheduler_cycle_mean_depth 116",
		"sunk_syncer_snapshot_age_seconds{part=\"jobs\"} 2",
		"sunk_syncer_series_dropped 0",
	};
	struct slurm_snapshot s = snapshot();
	_cleanup_buf_ struct buf text = text_of(&s);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (!has_line(&text, lines[i]))
			fail_msg("not there: %s", lines[i]);
	/* every metric of the contract is among them */
	for (size_t i = 0; i < ARRAY_LEN(contract); i++) {
		bool found = false;

		for (size_t k = 0; k < ARRAY_LEN(lines); k++)
			found |= str_starts(lines[k], contract[i].name);
		assert_true(found);
	}
}

static void test_only_running_jobs_have_resources(void **state)
{
	struct slurm_snapshot s = snapshot();
	_cleanup_buf_ struct buf text = text_of(&s);

	(void)state;
	assert_int_equal(count_lines(&text, "slurm_job_cpus_allocated{"), 3);
	assert_int_equal(count_lines(&text, "slurm_job_gpus_allocated{"), 3);
	assert_int_equal(count_lines(&text, "slurm_job_uptime_seconds{"), 3);
	assert_int_equal(count_lines(&text, "slurm_job_state{"), ARRAY_LEN(jobs));
}

static void test_strange_texts_do_not_break_the_format(void **state)
{
	static char longer[2000];
	struct job strange[] = {
		{ .id = 1, .name = "a\"b\\c\nd", .partition = "p", .state = JOB_PENDING },
		{ .id = 2, .name = "\xff\xfe{}", .account = "a,b", .user = "}", .state = JOB_PENDING },
		{ .id = 3, .name = longer, .partition = longer, .state = JOB_PENDING },
		{ .id = 4, .state = JOB_PENDING },
	};
	struct slurm_snapshot s = { .jobs = strange, .n_jobs = ARRAY_LEN(strange), .jobs_at = NOW };
	struct map families = MAP_INIT, seen = MAP_INIT;
	struct buf text;

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(longer); i += 2)
		memcpy(longer + i, "\xc3\xbc", 3);
	text = text_of(&s);
	read_text(&text, &families, &seen);
	assert_true(has_line(&text,
	                     "slurm_job_state{partition=\"p\",account=\"\",user=\"\",id=\"1\",name=\"a\\\"b\\\\c\\nd\","
	                     "state=\"pending\"} 1"));
	assert_true(has_line(&text, "slurm_job_state{partition=\"\",account=\"a,b\",user=\"}\",id=\"2\",name=\"??{}\","
	                            "state=\"pending\"} 1"));
	assert_true(has_line(&text, "slurm_queue_pending 4"));
	assert_true(text.len < 20000);
	free_all(&families);
	free_all(&seen);
	buf_done(&text);
}

static void test_what_was_never_read_has_no_series(void **state)
{
	struct slurm_snapshot s = snapshot();
	struct buf text;

	(void)state;
	s.jobs_at = 0;
	text = text_of(&s);
	assert_int_equal(count_lines(&text, "slurm_job"), 0);
	assert_int_equal(count_lines(&text, "slurm_queue"), 0);
	assert_int_equal(count_lines(&text, "# TYPE slurm_queue"), 0);
	assert_null(strstr(buf_text(&text), "part=\"jobs\""));
	assert_true(has_line(&text, "slurm_nodes_total 12"));
	buf_done(&text);
	s = (struct slurm_snapshot) { 0 };
	text = text_of(&s);
	assert_int_equal(count_lines(&text, "slurm_"), 0);
	buf_done(&text);
}

static void test_a_stale_part_is_shown_as_stale_and_not_as_zero(void **state)
{
	struct slurm_snapshot s = snapshot();
	struct buf text;

	(void)state;
	s.nodes_at = NOW - EXPORT_STALE; /* with the two seconds since: too old */
	text = text_of(&s);
	assert_int_equal(count_lines(&text, "slurm_node"), 0);
	assert_int_equal(count_lines(&text, "slurm_partition"), 0);
	assert_true(has_line(&text, "sunk_syncer_snapshot_age_seconds{part=\"nodes\"} 302"));
	assert_true(has_line(&text, "slurm_queue_pending 8"));
	buf_done(&text);
	s.nodes_at += 2 * USEC_SEC;
	text = text_of(&s);
	assert_true(has_line(&text, "slurm_nodes_total 12"));
	buf_done(&text);
}

static void test_what_does_not_fit_is_left_out_whole_and_counted(void **state)
{
	static struct job many[5000];
	struct slurm_snapshot s = { .jobs = many, .n_jobs = ARRAY_LEN(many), .jobs_at = NOW };
	struct map families = MAP_INIT, seen = MAP_INIT;
	_cleanup_buf_ struct buf text = BUF(256 << 10);
	const char *line;
	size_t written;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct job) { .id = i + 1, .name = "x", .state = JOB_PENDING };
	exporter_write(&s, NOW, &text);
	assert_int_equal(text.error, 0);
	read_text(&text, &families, &seen);
	written = count_lines(&text, "slurm_job_state{");
	assert_between(written, 100, 4999);
	line = strstr(buf_text(&text), "\nsunk_syncer_series_dropped ");
	assert_non_null(line);
	assert_true(strtoul(line + strlen("\nsunk_syncer_series_dropped "), NULL, 10) >= ARRAY_LEN(many) - written);
	free_all(&families);
	free_all(&seen);
}

#define BEGIN_MARK "<!-- made from src/syncer/exporter_table.c: begin -->\n"
#define END_MARK "<!-- made from src/syncer/exporter_table.c: end -->\n"

static void test_the_reference_in_the_docs_is_the_table(void **state)
{
	const char *docs = getenv("SUNK_DOCS"), *begin, *end;
	_cleanup_buf_ struct buf old = BUF(1 << 20), new = BUF(1 << 20);
	_cleanup_free_ char *path = NULL;

	(void)state;
	assert_non_null(docs);
	path = str_printf("%s/metrics.md", docs);
	assert_int_equal(buf_read_file(&old, path), 0);
	begin = strstr(buf_text(&old), BEGIN_MARK);
	assert_non_null(begin);
	end = strstr(begin, END_MARK);
	assert_non_null(end);
	begin += strlen(BEGIN_MARK);
	buf_add(&new, buf_text(&old), (size_t)(begin - buf_text(&old)));
	exporter_reference(&new);
	buf_add_str(&new, end);
	assert_int_equal(new.error, 0);
	if (getenv("SUNK_UPDATE_DOCS")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_int_equal(fwrite(buf_text(&new), 1, new.len, f), new.len);
		assert_int_equal(fclose(f), 0);
	} else if (!str_eq(buf_text(&old), buf_text(&new)))
		fail_msg("%s is not what the table says: run this test with SUNK_UPDATE_DOCS=1", path);
}

TEST_MAIN(TEST(the_table_is_the_contract), TEST(every_metric_is_written_with_exactly_its_labels),
          TEST(counters_are_counters_where_their_name_allows), TEST(every_value_is_what_slurm_told),
          TEST(only_running_jobs_have_resources), TEST(strange_texts_do_not_break_the_format),
          TEST(what_was_never_read_has_no_series), TEST(a_stale_part_is_shown_as_stale_and_not_as_zero),
          TEST(what_does_not_fit_is_left_out_whole_and_counted), TEST(the_reference_in_the_docs_is_the_table))
