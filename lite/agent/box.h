/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the node agent tells a Pod's shim to run, and what the shim tells back: plain values and their JSON form. A *box*
 * is a container without the container: a process with its arguments, environment, directory and log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"
#include "json/json.h"

#define POD_BOXES_MAX 64
#define POD_SPEC_MAX (4u << 20)
#define POD_STATE_MAX (256u << 10)
#define PROBE_PERIOD_MIN USEC_SEC
#define BOX_LOG_BEFORE ".before" /* the log of the run before is LOG.before */

enum probe_kind { PROBE_NONE, PROBE_EXEC, PROBE_TCP, PROBE_HTTP };
enum pod_restart { POD_RESTART_ALWAYS, POD_RESTART_ON_FAILURE, POD_RESTART_NEVER };

struct probe_spec {
	int kind; /* enum probe_kind */
	const char **argv;
	uint32_t n_argv;
	const char *host, *path;
	int32_t port;
	int32_t initial_ms, period_ms, timeout_ms, failures, successes;
};

struct box_spec {
	const char *name, *cwd, *log;
	const char **argv, **env;
	uint32_t n_argv, n_env;
	bool sidecar; /* an init container that stays */
	struct probe_spec startup, readiness, liveness;
};

struct pod_spec {
	const char *uid;
	int restart; /* enum pod_restart */
	struct box_spec *inits, *mains;
	uint32_t n_inits, n_mains;
};

enum box_phase { BOX_WAITING, BOX_RUNNING, BOX_TERMINATED };

struct box_exit {
	int32_t code, signal;
	usec_t started, finished; /* wall */
	const char *reason;       /* "Completed", "Error", "StartError" */
};

struct box_state {
	const char *name;
	int phase;          /* enum box_phase */
	const char *reason; /* of waiting: "PodInitializing", "ContainerCreating", "CrashLoopBackOff"; "" */
	const char *message;
	int32_t pid, restarts;
	bool ready, started;
	usec_t started_at;
	struct box_exit exit, last; /* of TERMINATED; of the run before */
	bool has_last;
};

struct pod_state {
	bool initialized, ended;
	struct box_state *inits, *mains;
	uint32_t n_inits, n_mains;
};

/* The block is freed with free(). */
int pod_spec_parse(const char *text, size_t len, struct pod_spec **ret, struct err *err);
int pod_state_parse(const char *text, size_t len, struct pod_state **ret, struct err *err);
/* One line of JSON, without a newline. */
void pod_state_format(const struct pod_state *s, struct buf *out);
