/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/vitals.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/str.h"
#include "kube/resource.h"
#include "port/store.h"
#include "slurm/open.h"

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static double resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*d %ld", &pages) != 1) /* NOLINT(cert-err34-c): the kernel's own number */
		pages = 0;
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	double n = 0;

	if (!d)
		return 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", ".." and the directory itself */
}

static void fill_process(const struct vitals *v)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	*metrics_gauge(v->metrics, "sunk_process_resident_memory_bytes",
	               "Memory that is in use, without the Slurm workers'.", NULL) = resident_bytes();
	*metrics_counter(v->metrics, "sunk_process_cpu_seconds_total",
	                 "CPU time, with that of Slurm workers that have ended.", NULL) =
	        seconds(&own.ru_utime) + seconds(&own.ru_stime) + seconds(&children.ru_utime) +
	        seconds(&children.ru_stime);
	*metrics_gauge(v->metrics, "sunk_process_open_fds", "Open file descriptors.", NULL) = open_descriptors();
}

static void fill_store(const struct vitals *v, const struct informer *i)
{
	const struct informer_options about = informer_about(i);
	const struct store *store = informer_store(i);
	_cleanup_free_ char *selector =
	        str_printf("%s%s%s", str_or(about.label_selector, ""),
	                   about.label_selector && about.field_selector ? ";" : "", str_or(about.field_selector, ""));
	const struct metric_label labels[] = { { "kind", kube_resource(about.kind)->plural },
		                               { "namespace", about.ns },
		                               { "selector", selector },
		                               { NULL } };
	struct informer_stats s;

	informer_read_stats(i, &s);
	*metrics_gauge(v->metrics, "sunk_kube_objects", "Objects of Kubernetes that are kept.", labels) =
	        (double)store_count(store);
	*metrics_gauge(v->metrics, "sunk_kube_objects_bytes", "Memory that they take.", labels) =
	        (double)store_memory(store);
	*metrics_gauge(v->metrics, "sunk_kube_objects_age_seconds", "Since when nothing has been heard of them.",
	               labels) =
	        store_synced(store) ? (double)(clock_mono(v->clock) - store_seen_alive(store)) / USEC_SEC : -1;
	*metrics_counter(v->metrics, "sunk_kube_lists_total", "Full lists that were read.", labels) = (double)s.lists;
	*metrics_counter(v->metrics, "sunk_kube_list_failures_total", "Lists that failed.", labels) =
	        (double)s.list_failures;
	*metrics_counter(v->metrics, "sunk_kube_watches_total",
	                 "Watches that were begun; each after the first is a restart.", labels) = (double)s.watches;
	*metrics_counter(v->metrics, "sunk_kube_watch_failures_total", "Watches that failed.", labels) =
	        (double)s.watch_failures;
	*metrics_counter(v->metrics, "sunk_kube_watches_expired_total", "Watches that had to list again.", labels) =
	        (double)s.expired;
	*metrics_counter(v->metrics, "sunk_kube_watch_events_total", "Changes that watches told.", labels) =
	        (double)s.events;
	*metrics_counter(v->metrics, "sunk_kube_unreadable_total", "Objects that could not be read.", labels) =
	        (double)s.unreadable;
}

static void fill_slurm(const struct vitals *v)
{
	struct pool_counts c = slurm_counts(v->slurm);

	*metrics_gauge(v->metrics, "sunk_slurm_requests_waiting", "Requests that wait for a worker.", NULL) =
	        (double)c.waiting;
	*metrics_gauge(v->metrics, "sunk_slurm_requests_running", "Requests that a worker is at.", NULL) =
	        (double)c.running;
	*metrics_counter(v->metrics, "sunk_slurm_requests_failed_total", "Requests without an answer of Slurm's.",
	                 NULL) = (double)c.failed;
	*metrics_counter(v->metrics, "sunk_slurm_workers_started_total", "Worker processes ever started.", NULL) =
	        (double)c.started;
}

static void fill(void *arg)
{
	const struct vitals *v = arg;
	struct check checks[CHECKS_MAX] = { 0 };
	size_t n = v->checks(v->arg, checks);
	const struct informer *i;
	const char *holder;

	fill_process(v);
	if (v->slurm)
		fill_slurm(v);
	for (size_t k = 0; (i = kube_port_informer(kube_port(v->kube), k)); k++)
		fill_store(v, i);
	for (size_t k = 0; k < n; k++)
		*metrics_gauge(v->metrics, "sunk_ready", "Whether what must be ready is.",
		               (const struct metric_label[]) { { "check", checks[k].name }, { NULL } }) =
		        checks[k].ready;
	*metrics_gauge(v->metrics, "sunk_leader", "Whether this process is the one that acts.", NULL) =
	        v->leading(v->arg, &holder);
}

void vitals_start(const struct vitals *v)
{
	*metrics_gauge(v->metrics, "sunk_build_info", "Which version this is.",
	               (const struct metric_label[]) { { "version", SUNK_VERSION }, { NULL } }) = 1;
	*metrics_gauge(v->metrics, "sunk_start_time_seconds", "When it started, since 1970.", NULL) =
	        (double)clock_wall(v->clock) / USEC_SEC;
	metrics_on_write(v->metrics, fill, (void *)(uintptr_t)v);
}
