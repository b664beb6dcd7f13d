/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How long one scrape of a large cluster takes: 5,000 nodes and 50,000 jobs, of which 10,000 run, as text. Beside it, in the
 * same run, the time to copy that text once: what no exporter can do without.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "syncer/exporter.h"

#define NODES 5000
#define JOBS 50000
#define RUNNING 10000
#define ROUNDS 9
#define NOW (1700000000 * USEC_SEC)

static struct snode nodes[NODES];
static struct job jobs[JOBS];
static struct job_on_node places[RUNNING];

static void make_cluster(void)
{
	static const struct {
		const char *user, *account;
	} who[] = { { "ann", "ml" }, { "bob", "ml" }, { "cem", "physics" }, { "dora", "ops" } };

	for (uint32_t i = 0; i < NODES; i++)
		nodes[i] = (struct snode) { .name = str_printf("gpu-%03u-%03u", i / 250, i % 250),
			                    .state = NODE_MIXED,
			                    .partitions = "main,high",
			                    .cpus = 128,
			                    .cpus_alloc = 64,
			                    .gpus = 8,
			                    .gpus_alloc = 4,
			                    .memory_mb = 1000000,
			                    .memory_alloc_mb = 500000 };
	for (uint32_t i = 0; i < RUNNING; i++)
		places[i] = (struct job_on_node) { .node = nodes[i % NODES].name, .cpus = 32, .gpus = 2 };
	for (uint32_t i = 0; i < JOBS; i++)
		jobs[i] = (struct job) { .id = 100000 + i,
			                 .name = str_printf("train-run-%u", i),
			                 .user = who[i % 4].user,
			                 .account = who[i % 4].account,
			                 .partition = i % 10 ? "main" : "high",
			                 .array_tasks = 1,
			                 .state = i < RUNNING ? JOB_RUNNING : JOB_PENDING,
			                 .reason = "Resources",
			                 .started = NOW - 100 * USEC_SEC,
			                 .on_nodes = i < RUNNING ? &places[i] : NULL,
			                 .n_on_nodes = i < RUNNING };
}

int main(void)
{
	static const struct slurm_stats stats;
	struct slurm_snapshot s = { .jobs = jobs,
		                    .n_jobs = JOBS,
		                    .jobs_at = NOW,
		                    .nodes = nodes,
		                    .n_nodes = NODES,
		                    .nodes_at = NOW,
		                    .stats = &stats,
		                    .stats_at = NOW };
	usec_t best = USEC_NEVER, worst = 0, copy = USEC_NEVER;
	size_t len = 0, lines = 0;

	make_cluster();
	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_buf_ struct buf out = BUF(EXPORT_TEXT_MAX);
		usec_t start = clock_mono(clock_real()), took;
		_cleanup_free_ char *again = NULL;

		exporter_write(&s, NOW, &out);
		took = clock_mono(clock_real()) - start;
		best = MIN_OF(best, took);
		worst = MAX_OF(worst, took);
		start = clock_mono(clock_real());
		again = mem_dup(out.data, out.len);
		copy = MIN_OF(copy, clock_mono(clock_real()) - start);
		len = out.len;
		lines = 0;
		for (const char *p = out.data; (p = strchr(p, '\n')); p++)
			lines++;
	}
	printf("%d nodes, %d jobs (%d running): %zu lines, %.1f MB\n", NODES, JOBS, RUNNING, lines, (double)len / 1e6);
	printf("one scrape: best %.1f ms, worst %.1f ms; copying that text once: %.1f ms\n", (double)best / 1e3,
	       (double)worst / 1e3, (double)copy / 1e3);
	return 0;
}
