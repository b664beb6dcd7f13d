/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stages go forward only. Whatever happens (an answer, a line from the shim, a timer, a new version of the Pod) ends in
 * advance(), which looks at the whole and does the next thing.
 */
#include "lite/agent/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/spawn.h"
#include "base/str.h"
#include "lite/agent/box.h"
#include "lite/agent/raw.h"
#include "lite/agent/shim.h"
#include "lite/agent/status.h"
#include "lite/agent/translate.h"
#include "policy/resources.h"
#include "json/json.h"

#define RETRY_SPAN USEC_SEC
#define GATHER_AGAIN_SPAN (5 * USEC_SEC)
#define CONNECT_SPAN (5 * USEC_MSEC)
#define CONNECT_TRIES 2000
#define ADOPT_TRIES 20 /* of a shim that should be there already */
#define NEEDS_MAX 128
#define POD_IP "127.0.0.1"

enum stage {
	STAGE_FETCH,   /* the object, as JSON */
	STAGE_GATHER,  /* its config maps and secrets */
	STAGE_CONNECT, /* to its shim */
	STAGE_RUN,
	STAGE_ENDED, /* no process is left */
};

struct need {
	char *kind, *name;
	yyjson_doc *doc; /* NULL: not there */
	struct raw *call;
	struct run *run;
	bool answered;
};

struct run {
	struct run_context c;
	struct agent_node *node;
	char *ns, *name, *uid, *dir;
	enum stage stage;
	bool admitted, removed, deleting, final_written, held, shim_told;
	bool adopted; /* what happened before its first state was told by the agent before this one */
	int64_t grace_s, told_grace_s, deadline_s;
	int64_t cpu, memory, gpus; /* what it asks for */
	yyjson_doc *pod;
	struct need needs[NEEDS_MAX];
	size_t n_needs;
	struct pod_state *state;
	usec_t started; /* wall */
	char failed_reason[64], failed_message[512], waiting_message[512];
	bool sandbox, waiting;
	/* the shim */
	int fd;
	struct loop_fd *watch;
	struct buf in;
	unsigned connect_tries;
	/* the API */
	struct raw *call;
	bool dirty;
	int seen_ready; /* enum cond_status */
	struct loop_timer *timer;
	usec_t retry_at;
};

static void advance(struct run *r);

const char *run_uid(const struct run *r)
{
	return r->uid;
}

const char *run_ns(const struct run *r)
{
	return r->ns;
}

const char *run_name(const struct run *r)
{
	return r->name;
}

const char *run_dir(const struct run *r)
{
	return r->dir;
}

bool run_is(const struct run *r, const char *ns, const char *name)
{
	return !r->removed && str_eq(r->ns, ns) && str_eq(r->name, name);
}

static const struct box_state *box_named(const struct box_state *boxes, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(boxes[i].name, name))
			return &boxes[i];
	return NULL;
}

const struct box_state *run_box(const struct run *r, const char *container)
{
	const struct box_state *b = r->state ? box_named(r->state->mains, r->state->n_mains, container) : NULL;

	return b || !r->state ? b : box_named(r->state->inits, r->state->n_inits, container);
}

struct agent_node *run_node(const struct run *r)
{
	return r->node;
}

bool run_holds_resources(const struct run *r)
{
	return r->admitted && r->stage != STAGE_ENDED;
}

int64_t run_request(const struct run *r, const char *resource)
{
	if (str_eq(resource, "cpu"))
		return r->cpu;
	if (str_eq(resource, "memory"))
		return r->memory;
	return str_eq(resource, agent_node_spec(r->node)->gpu_resource) ? r->gpus : 0;
}

static bool hollow(const struct run *r)
{
	return agent_node_spec(r->node)->hollow;
}

static void wake(struct run *r, usec_t span)
{
	r->retry_at = loop_now(r->c.loop) + span;
	loop_set_timer(r->timer, r->retry_at);
}

/* Files */

static void remove_dir(struct run *r)
{
	if (!hollow(r))
		shim_remove_dir(r->dir);
}

static int make_parents(const char *path)
{
	_cleanup_free_ char *p = mem_strdup(path);

	for (char *at = strchr(p + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		if (mkdir(p, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return 0;
}

static int write_file(const char *path, const char *data, size_t len, int mode, struct err *err)
{
	_cleanup_free_ char *new = str_printf("%s.new", path);
	_cleanup_fd_ int fd = -1;

	make_parents(path);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || fchmod(fd, (mode_t)mode) < 0 || rename(new, path) < 0)
		return err_errno(err, -errno, "%s", path);
	return 0;
}

static int write_volumes(struct link *files, struct err *err)
{
	LIST_EACH (l, files) {
		struct volume_file *f = LIST_ITEM(l, struct volume_file, link);
		int r = 0;

		if (f->data)
			r = write_file(f->path, f->data, f->len, f->mode, err);
		else if (make_parents(f->path) < 0 || (mkdir(f->path, (mode_t)f->mode) < 0 && errno != EEXIST))
			r = err_errno(err, -errno, "%s", f->path);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Telling the API */

static struct status_facts facts_of(struct run *r)
{
	return (struct status_facts) { .state = r->state,
		                       .host_ip = agent_node_spec(r->node)->ip,
		                       .pod_ip = POD_IP,
		                       .started = r->started,
		                       .sandbox = r->sandbox,
		                       .hold_terminal = !r->held,
		                       .failed_reason = *r->failed_reason ? r->failed_reason : NULL,
		                       .failed_message = r->failed_message,
		                       .waiting_reason = r->waiting ? "CreateContainerConfigError" : NULL,
		                       .waiting_message = r->waiting_message };
}

static void keep_object(struct run *r, yyjson_val *object)
{
	yyjson_mut_doc *copy;

	if (!object)
		return;
	copy = yyjson_mut_doc_new(NULL);
	yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, object));
	yyjson_doc_free(r->pod);
	r->pod = yyjson_mut_doc_imut_copy(copy, NULL);
	yyjson_mut_doc_free(copy);
}

/* Whether the API says other than what we told it last. Others write this condition, too: of a Node that was silent for a while the
 * controllers say that its Pods are not ready, and a kubelet that lives says again what is true. */
static bool untrue(const struct run *r)
{
	const char *told = r->stage == STAGE_RUN ? status_ready(yyjson_doc_get_root(r->pod)) : NULL;

	return told && r->seen_ready != COND_UNKNOWN && (r->seen_ready == COND_TRUE) != str_eq(told, "True");
}

static void status_written(void *arg, const struct kube_result *result, yyjson_val *object)
{
	struct run *r = arg;

	r->call = NULL;
	if (result->outcome == KUBE_OK) {
		keep_object(r, object);
		if (untrue(r)) /* most likely its news is still under way */
			wake(r, RETRY_SPAN);
	} else if (result->outcome == KUBE_NOT_FOUND)
		r->removed = true;
	else {
		log_warn("pod %s/%s: %s", r->ns, r->name, result->message);
		r->dirty = true;
		r->final_written = false;
		wake(r, RETRY_SPAN);
		return;
	}
	advance(r);
}

/* A Pod that runs and then is over shows one state in between: ended containers, phase not final yet. */
static void write_status(struct run *r)
{
	struct status_facts f = facts_of(r);
	struct patch *p = patch_new();
	_cleanup_free_ char *body = NULL, *path = str_printf("/api/v1/namespaces/%s/pods/%s/status", r->ns, r->name);

	r->dirty = false;
	if (r->state && r->state->ended && !r->held) {
		r->held = true;
		r->dirty = true; /* once more, for the end */
	} else
		f.hold_terminal = false;
	r->final_written = status_is_final(status_phase_of(&f));
	status_patch(yyjson_doc_get_root(r->pod), &f, clock_wall(clock_real()), p);
	body = patch_text(p, NULL);
	r->call = raw_send(r->c.lane, "PATCH", path, RAW_STRATEGIC, body, status_written, r);
	patch_free(p);
}

static void deleted(void *arg, const struct kube_result *result, yyjson_val *object)
{
	struct run *r = arg;

	(void)object;
	r->call = NULL;
	if (result->outcome == KUBE_OK || result->outcome == KUBE_NOT_FOUND || result->outcome == KUBE_CONFLICT)
		r->removed = true;
	else {
		log_warn("pod %s/%s: %s", r->ns, r->name, result->message);
		wake(r, RETRY_SPAN);
		return;
	}
	advance(r);
}

static void delete_object(struct run *r)
{
	_cleanup_free_ char *path = str_printf("/api/v1/namespaces/%s/pods/%s", r->ns, r->name);
	_cleanup_free_ char *body =
	        str_printf("{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,"
	                   "\"preconditions\":{\"uid\":\"%s\"}}",
	                   r->uid);

	r->call = raw_send(r->c.lane, "DELETE", path, "application/json", body, deleted, r);
}

/* Events */

static void tell(void *arg, const struct story_event *e)
{
	struct run *r = arg;

	if (!hollow(r) && !r->removed)
		r->c.tell(r->c.arg, r, e);
}

static void tell_warning(struct run *r, const char *reason, const char *action, const char *message)
{
	tell(r, &(struct story_event) { .type = "Warning", .reason = reason, .action = action, .message = message });
}

static void tell_change(struct run *r, const struct pod_state *state)
{
	_cleanup_free_ char *pod = str_printf("%s_%s(%s)", r->name, r->ns, r->uid);

	if (!r->adopted)
		story_of_change(r->state, state, pod, r->shim_told, tell, r);
	r->adopted = false;
}

/* Ended */

static void take_state(struct run *r, struct pod_state *state)
{
	tell_change(r, state);
	free(r->state);
	r->state = state;
	r->dirty = true;
	r->waiting = false;
	if (state->ended)
		r->stage = STAGE_ENDED;
}

/* All containers as if they had been killed: the shim is gone and left no word. */
static struct pod_state *lost_state(struct run *r)
{
	_cleanup_buf_ struct buf text = BUF(POD_STATE_MAX);
	yyjson_val *containers, *container;
	struct pod_state *state = NULL;
	yyjson_arr_iter iter;

	containers = r->pod ? json_get(json_get(yyjson_doc_get_root(r->pod), "spec"), "containers") : NULL;
	buf_add_str(&text, "{\"initialized\":true,\"ended\":true,\"mains\":[");
	if (yyjson_arr_iter_init(containers, &iter))
		while ((container = yyjson_arr_iter_next(&iter)))
			buf_printf(&text,
			           "%s{\"name\":\"%s\",\"phase\":\"terminated\",\"exit\":{\"code\":137,\"reason\":"
			           "\"ContainerStatusUnknown\"}}",
			           str_ends(buf_text(&text), "[") ? "" : ",",
			           str_or(json_str(json_get(container, "name")), ""));
	buf_add_str(&text, "]}");
	if (pod_state_parse(buf_text(&text), text.len, &state, NULL) < 0)
		abort(); /* names were checked by the API */
	return state;
}

static void disconnect(struct run *r)
{
	loop_remove_fd(r->watch);
	r->watch = NULL;
	fd_closep(&r->fd);
	buf_clear(&r->in);
}

/* The shim */

static void shim_over(struct run *r)
{
	struct pod_state *state = shim_left_state(r->dir);

	disconnect(r);
	if (!state || !state->ended) {
		log_error("pod %s/%s: its shim is gone and left no end", r->ns, r->name);
		free(state);
		state = lost_state(r);
	}
	take_state(r, state);
}

static void shim_ready(void *arg, uint32_t events)
{
	struct run *r = arg;
	char bytes[16384], *end;
	ssize_t n = read(r->fd, bytes, sizeof(bytes));

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || buf_add(&r->in, bytes, (size_t)n) < 0)
		shim_over(r);
	while (r->fd >= 0 && (end = memchr(r->in.data, '\n', r->in.len))) {
		struct pod_state *state = NULL;
		struct err err = { 0 };

		if (pod_state_parse(r->in.data, (size_t)(end - r->in.data), &state, &err) == 0)
			take_state(r, state);
		else
			log_error("pod %s/%s: %s", r->ns, r->name, err_text(&err));
		buf_drop_front(&r->in, (size_t)(end + 1 - r->in.data));
	}
	if (r->stage == STAGE_ENDED)
		disconnect(r);
	advance(r);
}

static int connect_shim(struct run *r)
{
	int fd = shim_connect(r->dir);

	if (fd < 0)
		return fd;
	r->fd = fd;
	r->watch = loop_add_fd(r->c.loop, r->fd, EPOLLIN, shim_ready, r);
	return 0;
}

static void try_connect(struct run *r)
{
	int e = connect_shim(r);
	struct pod_state *state;

	if (e == 0) {
		r->stage = STAGE_RUN;
		return;
	}
	state = shim_left_state(r->dir);
	if (state && (state->ended || r->connect_tries == CONNECT_TRIES))
		shim_over(r);
	else if (r->connect_tries++ >= CONNECT_TRIES)
		shim_over(r);
	else
		wake(r, CONNECT_SPAN);
	free(state);
}

/* Its state tells more than its exit status; this only takes the body away. */
static void shim_reaped(void *arg, int pid, int status)
{
	(void)arg;
	log_debug("shim %d ended with status %d", pid, status);
}

static int start_shim(struct run *r, struct err *err)
{
	_cleanup_free_ char *log = str_printf("%s/shim.log", r->dir);
	_cleanup_fd_ int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	pid_t pid;
	int e = spawn(&(struct spawn) { .argv = (const char *const[]) { r->c.self, "shim", r->dir, NULL },
	                                .in = -1,
	                                .out = fd,
	                                .err = fd,
	                                .extra = -1 },
	              &pid, err);

	return e < 0 ? e : loop_add_child(r->c.loop, pid, shim_reaped, NULL, err);
}

static void told_shim(struct run *r, int64_t grace_s)
{
	if (r->shim_told && grace_s >= r->told_grace_s)
		return;
	if (!r->shim_told)
		story_of_end(r->state, tell, r);
	r->shim_told = true;
	r->told_grace_s = grace_s;
	if (dprintf(r->fd, "term %lld\n", (long long)grace_s * 1000) < 0)
		log_warn("pod %s/%s: cannot reach its shim: %s", r->ns, r->name, strerror(errno));
}

/* Hollow Pods */

static void pretend(struct run *r, bool ended)
{
	_cleanup_buf_ struct buf text = BUF(POD_STATE_MAX);
	yyjson_val *containers = json_get(json_get(yyjson_doc_get_root(r->pod), "spec"), "containers"), *container;
	usec_t now = clock_wall(clock_real());
	struct pod_state *state = NULL;
	yyjson_arr_iter iter;

	buf_printf(&text, "{\"initialized\":true,\"ended\":%s,\"mains\":[", ended ? "true" : "false");
	if (yyjson_arr_iter_init(containers, &iter))
		while ((container = yyjson_arr_iter_next(&iter)))
			buf_printf(
			        &text,
			        "%s{\"name\":\"%s\",\"phase\":\"%s\",\"ready\":%s,\"started\":true,\"startedAt\":%lld,"
			        "\"exit\":{\"code\":0,\"reason\":\"Completed\",\"started\":%lld,\"finished\":%lld}}",
			        str_ends(buf_text(&text), "[") ? "" : ",",
			        str_or(json_str(json_get(container, "name")), ""), ended ? "terminated" : "running",
			        ended ? "false" : "true", (long long)now, (long long)now, (long long)now);
	buf_add_str(&text, "]}");
	if (pod_state_parse(buf_text(&text), text.len, &state, NULL) < 0)
		abort();
	take_state(r, state);
	if (!ended)
		r->stage = STAGE_RUN;
}

/* Before it runs */

static yyjson_val *find_need(void *arg, const char *kind, const char *name)
{
	struct run *r = arg;

	for (size_t i = 0; i < r->n_needs; i++)
		if (str_eq(r->needs[i].kind, kind) && str_eq(r->needs[i].name, name))
			return r->needs[i].doc ? yyjson_doc_get_root(r->needs[i].doc) : NULL;
	return NULL;
}

static void drop_needs(struct run *r)
{
	for (size_t i = 0; i < r->n_needs; i++) {
		raw_cancel(r->needs[i].call);
		yyjson_doc_free(r->needs[i].doc);
		free(r->needs[i].kind);
		free(r->needs[i].name);
	}
	r->n_needs = 0;
}

static void wait_for_parts(struct run *r, const struct err *err)
{
	log_debug("pod %s/%s: %s", r->ns, r->name, err_text(err));
	drop_needs(r);
	if (!r->waiting || !str_eq(r->waiting_message, err_text(err)))
		tell_warning(r, "Failed", "Starting", err_text(err));
	r->waiting = r->dirty = true;
	str_copy(r->waiting_message, sizeof(r->waiting_message), err_text(err));
	wake(r, GATHER_AGAIN_SPAN);
}

/* Everything is here: files, command lines, shim. */
static int prepare(struct run *r, struct err *err)
{
	_cleanup_free_ char *volumes_dir = str_printf("%s/volumes", r->c.dir);
	const struct translate_env env = { .dir = r->dir,
		                           .volumes_dir = volumes_dir,
		                           .self = r->c.self,
		                           .host_ip = agent_node_spec(r->node)->ip,
		                           .pod_ip = POD_IP,
		                           .more_env = r->c.pod_env,
		                           .get = find_need,
		                           .arg = r };
	_cleanup_free_ char *path = str_printf("%s/spec.json", r->dir), *text = NULL;
	yyjson_mut_doc *spec = yyjson_mut_doc_new(NULL);
	struct link files;
	size_t len = 0;
	int e;

	link_init(&files);
	e = translate_pod(yyjson_doc_get_root(r->pod), &env, spec, &files, err);
	if (e == 0 && make_parents(path) < 0)
		e = err_errno(err, -errno, "%s", r->dir);
	if (e == 0)
		e = write_volumes(&files, err);
	if (e == 0) {
		text = yyjson_mut_write(spec, 0, &len);
		e = write_file(path, text, len, 0600, err);
	}
	if (e == 0)
		e = start_shim(r, err);
	volume_files_free(&files);
	yyjson_mut_doc_free(spec);
	return e;
}

static void start(struct run *r)
{
	struct err err = { 0 };

	if (prepare(r, &err) < 0) {
		wait_for_parts(r, &err);
		return;
	}
	drop_needs(r);
	r->sandbox = r->dirty = true;
	r->waiting = false;
	r->stage = STAGE_CONNECT;
	r->connect_tries = 0;
	try_connect(r);
}

static bool all_answered(const struct run *r)
{
	for (size_t i = 0; i < r->n_needs; i++)
		if (!r->needs[i].answered)
			return false;
	return true;
}

static void got_need(void *arg, const struct kube_result *result, yyjson_val *object);

static void ask_for(struct need *n)
{
	_cleanup_free_ char *path = str_eq(n->kind, "persistentvolumes")
	                                    ? str_printf("/api/v1/persistentvolumes/%s", n->name)
	                                    : str_printf("/api/v1/namespaces/%s/%s/%s", n->run->ns, n->kind, n->name);

	n->call = raw_send(n->run->c.lane, "GET", path, NULL, NULL, got_need, n);
}

static struct need *add_need(struct run *r, const char *kind, const char *name)
{
	for (size_t i = 0; i < r->n_needs; i++)
		if (str_eq(r->needs[i].kind, kind) && str_eq(r->needs[i].name, name))
			return NULL;
	if (r->n_needs == NEEDS_MAX)
		return NULL;
	r->needs[r->n_needs] = (struct need) { .kind = mem_strdup(kind), .name = mem_strdup(name), .run = r };
	return &r->needs[r->n_needs++];
}

static void need_mentioned(void *arg, const char *kind, const char *name)
{
	add_need(arg, kind, name);
}

/* A claim that is there names its volume: that is needed as well. */
static void need_volume(struct run *r, yyjson_val *claim)
{
	const char *name = json_str(json_get(json_get(claim, "spec"), "volumeName"));
	struct need *n = str_empty(name) ? NULL : add_need(r, "persistentvolumes", name);

	if (n)
		ask_for(n);
}

static void got_need(void *arg, const struct kube_result *result, yyjson_val *object)
{
	struct need *n = arg;
	struct run *r = n->run;

	n->call = NULL;
	n->answered = true;
	if (object) {
		yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);

		yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, object));
		n->doc = yyjson_mut_doc_imut_copy(copy, NULL);
		yyjson_mut_doc_free(copy);
		if (str_eq(n->kind, "persistentvolumeclaims"))
			need_volume(r, object);
	} else if (result->outcome != KUBE_NOT_FOUND && result->outcome != KUBE_OK)
		log_warn("pod %s/%s: %s", r->ns, r->name, result->message);
	if (all_answered(r))
		advance(r);
}

static void gather(struct run *r)
{
	drop_needs(r);
	translate_needs(yyjson_doc_get_root(r->pod), need_mentioned, r);
	for (size_t i = 0; i < r->n_needs; i++)
		ask_for(&r->needs[i]);
	if (!r->n_needs)
		start(r);
}

static void got_pod(void *arg, const struct kube_result *result, yyjson_val *object)
{
	struct run *r = arg;
	_cleanup_free_ char *spec = str_printf("%s/spec.json", r->dir);
	const char *phase, *started;

	r->call = NULL;
	if (!object || !str_eq(json_str(json_get(json_get(object, "metadata"), "uid")), r->uid)) {
		if (result->outcome == KUBE_NOT_FOUND || object) {
			r->removed = true;
			advance(r);
			return;
		}
		log_warn("pod %s/%s: %s", r->ns, r->name, result->message);
		wake(r, RETRY_SPAN);
		return;
	}
	keep_object(r, object);
	phase = str_or(json_str(json_get(json_get(object, "status"), "phase")), "");
	started = json_str(json_get(json_get(object, "status"), "startTime"));
	if (started)
		time_parse_rfc3339(started, strlen(started), &r->started);
	if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed")) { /* over before we came */
		r->stage = STAGE_ENDED;
		r->final_written = r->held = true;
	} else if (*r->failed_reason) {
		r->stage = STAGE_ENDED;
		r->held = r->dirty = true;
		tell_warning(r, r->failed_reason, "Admitting", r->failed_message);
	} else if (!hollow(r) && access(spec, F_OK) == 0) { /* it ran when the agent went away */
		r->sandbox = r->adopted = true;
		r->stage = STAGE_CONNECT;
		r->connect_tries = CONNECT_TRIES - ADOPT_TRIES;
		try_connect(r);
	} else {
		r->stage = STAGE_GATHER;
		r->dirty = true;
		if (!hollow(r))
			gather(r);
	}
	advance(r);
}

static void fetch(struct run *r)
{
	_cleanup_free_ char *path = str_printf("/api/v1/namespaces/%s/pods/%s", r->ns, r->name);

	r->call = raw_send(r->c.lane, "GET", path, NULL, NULL, got_pod, r);
}

/* The whole */

static void check_deadline(struct run *r)
{
	usec_t end = usec_add(r->started, r->deadline_s * USEC_SEC), now = clock_wall(clock_real());

	if (!r->deadline_s || r->stage == STAGE_ENDED || *r->failed_reason)
		return;
	if (now < end) {
		usec_t at = loop_now(r->c.loop) + (end - now);

		if (r->retry_at <= loop_now(r->c.loop) || at < r->retry_at)
			loop_set_timer(r->timer, at);
		return;
	}
	str_copy(r->failed_reason, sizeof(r->failed_reason), "DeadlineExceeded");
	str_copy(r->failed_message, sizeof(r->failed_message),
	         "Pod was active on the node longer than the specified deadline");
	tell(r, &(struct story_event) { .type = "Normal",
	                                .reason = r->failed_reason,
	                                .action = "Stopping",
	                                .message = r->failed_message });
	r->dirty = true;
}

/* It is to end: by deletion, deadline, or because it is no longer in the API. */
static void end_it(struct run *r)
{
	int64_t grace = r->removed ? 0 : r->grace_s;

	if (r->stage == STAGE_RUN && hollow(r))
		pretend(r, true);
	else if (r->stage == STAGE_RUN)
		told_shim(r, grace);
	else if (r->stage == STAGE_GATHER || (r->stage == STAGE_FETCH && r->removed)) {
		drop_needs(r);
		r->stage = STAGE_ENDED;
		r->held = true;
		if (r->pod && !r->state)
			take_state(r, lost_state(r));
	}
}

static void advance(struct run *r)
{
	if (r->stage == STAGE_GATHER && !r->removed && !r->deleting) {
		if (hollow(r))
			pretend(r, false);
		else if (r->n_needs && all_answered(r))
			start(r);
	}
	check_deadline(r);
	if (r->removed || r->deleting || *r->failed_reason)
		end_it(r);
	if (r->removed) {
		if (r->stage != STAGE_ENDED)
			return;
		raw_cancel(r->call);
		r->call = NULL;
		remove_dir(r);
		r->c.gone(r->c.arg, r); /* frees r */
		return;
	}
	if (r->call || r->stage == STAGE_FETCH)
		return;
	if (r->dirty)
		write_status(r);
	else if (r->stage == STAGE_ENDED && r->deleting && r->final_written)
		delete_object(r);
}

static void tick(void *arg)
{
	struct run *r = arg;

	r->retry_at = 0;
	if (r->stage == STAGE_FETCH && !r->call)
		fetch(r);
	else if (r->stage == STAGE_GATHER && !r->n_needs && !hollow(r))
		gather(r);
	else if (r->stage == STAGE_CONNECT)
		try_connect(r);
	else if (!r->call && untrue(r))
		r->dirty = true;
	advance(r);
}

void run_update(struct run *r, const struct pod *pod)
{
	const struct condition *ready = condition_get(pod->conditions, pod->n_conditions, "Ready");

	r->deadline_s = pod->active_deadline_s;
	if (pod->meta.deletion) {
		r->deleting = true;
		r->grace_s = pod->meta.deletion_grace_s;
	} else
		r->grace_s = pod->grace_s;
	if (ready)
		r->seen_ready = ready->status;
	if (!r->call && untrue(r))
		r->dirty = true;
	if (r->stage != STAGE_FETCH)
		advance(r);
}

void run_removed(struct run *r)
{
	_cleanup_free_ char *spec = str_printf("%s/spec.json", r->dir);

	r->removed = true;
	if (r->stage == STAGE_FETCH) {
		raw_cancel(r->call);
		r->call = NULL;
		if (!hollow(r) && access(spec, F_OK) == 0) { /* an agent before this one had started it */
			r->stage = STAGE_CONNECT;
			r->connect_tries = CONNECT_TRIES - ADOPT_TRIES;
			try_connect(r);
		}
	}
	advance(r);
}

struct run *run_new(const struct run_context *context, struct agent_node *node, const struct pod *pod)
{
	struct run *r = NEW(struct run);
	const struct node_spec *spec = agent_node_spec(node);
	bool over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;

	*r = (struct run) {
		.c = *context, .node = node, .fd = -1, .in = BUF(2 * POD_STATE_MAX), .started = clock_wall(clock_real())
	};
	r->ns = mem_strdup(pod->meta.ns);
	r->name = mem_strdup(pod->meta.name);
	r->uid = mem_strdup(pod->meta.uid);
	r->dir = str_printf("%s/%s", context->dir, r->uid);
	r->cpu = resources_effective(pod, "cpu");
	r->memory = resources_effective(pod, "memory");
	r->gpus = str_empty(spec->gpu_resource) ? 0 : resources_effective(pod, spec->gpu_resource);
	r->timer = loop_add_timer(context->loop, tick, r);
	r->admitted = !over && context->fits(context->arg, r, pod, r->failed_reason, sizeof(r->failed_reason),
	                                     r->failed_message, sizeof(r->failed_message));
	fetch(r);
	run_update(r, pod);
	return r;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	raw_cancel(r->call);
	drop_needs(r);
	disconnect(r);
	buf_done(&r->in);
	loop_remove_timer(r->timer);
	yyjson_doc_free(r->pod);
	free(r->state);
	free(r->ns);
	free(r->name);
	free(r->uid);
	free(r->dir);
	free(r);
}
