/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk status: nodes and Pods at a glance, as both sides see them. Reads only; a side that is away is said to be, and what the other
 * knows is shown. With --watch Kubernetes' changes come by watch, and Slurm is asked again and again.
 */
#include "cmd/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/both_sides.h"
#include "cmd/verb.h"
#include "kube/kube.h"

#define OWN_ROWS 5
#define LOOK_SPAN (20 * USEC_MSEC)

static const char *const outputs[] = { "text", "json", NULL };

struct settings {
	struct both_sides sides;
	char *ns, *nodeset_ns;
	usec_t every;
	int output;
	bool watch;
};

enum question { ASK_CONF, ASK_NODES, ASK_JOBS, QUESTIONS };
static const enum slurm_verb verbs[] = {
	[ASK_CONF] = SLURM_LOAD_CONF,
	[ASK_NODES] = SLURM_LOAD_NODES,
	[ASK_JOBS] = SLURM_LOAD_JOBS,
};

struct answer { /* the last good one, and what is wrong now */
	struct looker *l;

	struct slurm_result result;
	struct err err;
	bool pending;
};

struct looker {
	const struct settings *s;
	struct loop *loop;
	struct loop_timer *timer;
	struct kube *kube;
	struct err kube_err;
	struct store *pods, *knodes;
	struct slurm_port *slurm;
	struct answer answers[QUESTIONS];
	usec_t deadline, next;
	struct buf shown;
	bool ok, closing, looking;
};

/* ---- Slurm ---- */

static void got_answer(void *arg, struct slurm_result *r)
{
	struct answer *a = arg;

	a->pending = false;
	if (a->l->closing || r->outcome == SLURM_UNCHANGED) {
		a->err = (struct err) { 0 };
		return;
	}
	if (r->outcome != SLURM_OK) {
		err_set(&a->err, -EIO, "%s", r->message);
		return;
	}
	a->err = (struct err) { 0 };
	free(a->result.block);
	a->result = *r;
	r->block = NULL;
}

static void ask_slurm(struct looker *l)
{
	for (int i = 0; i < QUESTIONS; i++) {
		struct answer *a = &l->answers[i];

		if (a->pending)
			continue;
		a->pending = true;
		l->slurm->ops->call(l->slurm,
		                    &(struct slurm_request) { .verb = verbs[i],
		                                              .since = i == ASK_CONF ? 0 : a->result.as_of,
		                                              .timeout = l->s->sides.timeout },
		                    got_answer, a);
	}
}

/* What is wrong with Slurm now; NULL = nothing. */
static const char *slurm_error(const struct looker *l)
{
	for (int i = 0; i < QUESTIONS; i++) {
		if (l->answers[i].err.code)
			return err_text(&l->answers[i].err);
		if (!l->answers[i].result.block)
			return "it does not answer";
	}
	return NULL;
}

/* ---- Kubernetes ---- */

static const struct err *store_error(const struct looker *l, const struct store *store)
{
	const struct informer *informer;

	for (size_t i = 0; (informer = kube_port_informer(kube_port(l->kube), i)); i++)
		if (informer_store(informer) == store)
			return informer_error(informer);
	return NULL;
}

static const char *kube_error(const struct looker *l, const struct store *store)
{
	const struct err *err;

	if (!l->kube)
		return err_text(&l->kube_err);
	err = store_error(l, store);
	if (err)
		return err_text(err);
	return store_synced(store) ? NULL : "it does not answer";
}

static bool kube_is_known(const struct looker *l)
{
	return !l->kube || ((store_synced(l->pods) || store_error(l, l->pods)) &&
	                    (store_synced(l->knodes) || store_error(l, l->knodes)));
}

static const void **list_store(const struct store *store, uint32_t *ret_n)
{
	const void **list = mem_alloc_n(store ? store_count(store) : 0, sizeof(*list));
	const void *object;
	size_t walk = 0;
	uint32_t n = 0;

	while (store && (object = store_next(store, &walk)))
		list[n++] = object;
	*ret_n = n;
	return list;
}

/* ---- what is shown ---- */

static bool use_colour(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && str_empty(getenv("NO_COLOR")) && !str_empty(term) && !str_eq(term, "dumb");
}

static void render(struct looker *l, struct buf *out)
{
	const struct answer *a = l->answers;
	struct status_scene scene = { .slurm_error = slurm_error(l),
		                      .pods_error = kube_error(l, l->pods),
		                      .knodes_error = kube_error(l, l->knodes),
		                      .server = l->kube ? kube_config(l->kube)->server : NULL,
		                      .now = clock_wall(clock_real()),
		                      .colour = l->s->output == 0 && use_colour() };
	struct status_view v = { .slurm_known = !scene.slurm_error,
		                 .pods_known = !scene.pods_error,
		                 .nodeset_ns = str_empty(l->s->nodeset_ns) ? NULL : l->s->nodeset_ns,
		                 .knodes_known = !scene.knodes_error };
	struct status status;

	if (v.slurm_known) {
		scene.cluster = a[ASK_CONF].result.conf->cluster;
		scene.version = a[ASK_CONF].result.conf->version;
		v.snodes = a[ASK_NODES].result.nodes;
		v.n_snodes = a[ASK_NODES].result.n;
		v.jobs = a[ASK_JOBS].result.jobs;
		v.n_jobs = a[ASK_JOBS].result.n;
	}
	v.pods = (const struct pod *const *)list_store(v.pods_known ? l->pods : NULL, &v.n_pods);
	v.knodes = (const struct knode *const *)list_store(v.knodes_known ? l->knodes : NULL, &v.n_knodes);
	status_make(&v, &status);
	scene.s = &status;
	if (l->s->output == 1)
		status_print_json(&scene, !l->s->watch, out);
	else
		status_print_text(&scene, out);
	l->ok = v.slurm_known && v.pods_known && v.knodes_known;
	status_done(&status);
	free((void *)v.pods);
	free((void *)v.knodes);
}

/* On a terminal the screen is cleared; elsewhere only what is new is printed. */
static void show(struct looker *l)
{
	_cleanup_buf_ struct buf out = BUF(STATUS_TEXT_MAX);
	bool terminal = isatty(STDOUT_FILENO) && l->s->output == 0;

	render(l, &out);
	if (l->s->watch && str_eq(buf_text(&out), buf_text(&l->shown)))
		return;
	if (l->s->watch && terminal)
		fputs("\033[H\033[2J", stdout);
	else if (l->shown.len && l->s->output == 0)
		fputs("\n", stdout);
	fputs(buf_text(&out), stdout);
	fflush(stdout);
	buf_clear(&l->shown);
	buf_add(&l->shown, buf_text(&out), out.len);
}

/* ---- when ---- */

static bool all_known(const struct looker *l)
{
	for (int i = 0; i < QUESTIONS; i++)
		if (l->answers[i].pending)
			return false;
	return kube_is_known(l);
}

static void look(void *arg)
{
	struct looker *l = arg;
	usec_t now = loop_now(l->loop);

	if (!l->looking) {
		ask_slurm(l);
		l->deadline = usec_add(now, l->s->sides.timeout);
		l->looking = true;
	}
	if (!all_known(l) && now < l->deadline) {
		loop_set_timer(l->timer, now + LOOK_SPAN);
		return;
	}
	l->looking = false;
	show(l);
	if (l->s->watch && !ferror(stdout))
		loop_set_timer(l->timer, now + l->s->every);
	else
		loop_stop(l->loop);
}

static void got_signal(void *arg, int sig)
{
	(void)sig;
	loop_stop(((struct looker *)arg)->loop);
}

static void open_kube(struct looker *l)
{
	const struct settings *s = l->s;
	const struct kube_options o = { .config = both_sides_kube(&s->sides),
		                        .controller = "sunk.coreweave.com/status",
		                        .instance = "status" };
	const char *ns = str_empty(s->ns) ? NULL : s->ns;
	struct kube_port *port;

	if (kube_open(l->loop, clock_real(), &o, &l->kube, &l->kube_err) < 0)
		return;
	port = kube_port(l->kube);
	l->pods = port->ops->watch(port, KUBE_PODS, ns, NULL, NULL);
	l->knodes = port->ops->watch(port, KUBE_NODES, NULL, NULL, NULL);
}

static int run(const struct settings *s)
{
	const struct slurm_options so = both_sides_slurm(&s->sides);
	struct looker l = { .s = s, .loop = loop_new(), .shown = BUF(STATUS_TEXT_MAX) };
	struct err err = { 0 };
	int r = loop_add_signal(l.loop, SIGTERM, got_signal, &l, &err);

	for (int i = 0; i < QUESTIONS; i++)
		l.answers[i] = (struct answer) { .l = &l };
	if (r == 0)
		r = loop_add_signal(l.loop, SIGINT, got_signal, &l, &err);
	if (r == 0) {
		l.slurm = slurm_open(l.loop, &so, &err);
		r = l.slurm ? 0 : err.code;
	}
	if (r == 0) {
		open_kube(&l);
		l.timer = loop_add_timer(l.loop, look, &l);
		loop_set_timer(l.timer, loop_now(l.loop));
		loop_run(l.loop);
	} else
		fprintf(stderr, "sunk status: %s\n", err_text(&err));
	l.closing = true;
	slurm_close(l.slurm);
	kube_close(l.kube);
	for (int i = 0; i < QUESTIONS; i++)
		free(l.answers[i].result.block);
	buf_done(&l.shown);
	loop_free(l.loop);
	return r == 0 && l.ok ? STATUS_OK : STATUS_FAILED;
}

int verb_status(int argc, char **argv)
{
	struct settings s = { .ns = (char *)"", .nodeset_ns = (char *)"", .every = 2 * USEC_SEC };
	struct arg args[OWN_ROWS + BOTH_SIDES_ROWS] = {
		{ .flag = "output",
		  .type = ARG_CHOICE,
		  .value = &s.output,
		  .choices = outputs,
		  .help = "For people, or for programs. Also -o." },
		{ .flag = "watch",
		  .type = ARG_BOOL,
		  .value = &s.watch,
		  .help = "Look again and again, and show what changed. Also -w." },
		{ .flag = "every",
		  .type = ARG_DURATION,
		  .value = &s.every,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "How often with --watch." },
		{ .flag = "namespace",
		  .type = ARG_STRING,
		  .value = &s.ns,
		  .unit = "NAME",
		  .help = "Look at Pods of this namespace only: for those who may not read all. Also -n." },
		{ .flag = "nodeset-namespace",
		  .type = ARG_STRING,
		  .value = &s.nodeset_ns,
		  .unit = "NAME",
		  .help = "NodeSet Pods of this namespace only, as the daemons' flag of that name; else of all." },
	};
	const size_t n = OWN_ROWS + both_sides_rows(&s.sides, args + OWN_ROWS);
	_cleanup_buf_ struct buf help = BUF(32768);
	struct err err = { 0 };
	int n_rest = 0, status = STATUS_USAGE, r;
	char **rest;

	both_sides_letters(argc, argv);
	r = args_parse(args, n, argc, argv, &rest, &n_rest, &err);
	if (r == 0 && n_rest)
		r = err_set(&err, -EINVAL, "unexpected '%.40s'; for one node: `sunk explain node NAME`", rest[0]);
	if (r < 0)
		fprintf(stderr, "sunk status: %s\n", err_text(&err));
	else if (s.sides.help) {
		args_help(args, n, &help);
		printf("usage: sunk status [FLAG...]\n\n"
		       "Shows nodes and Pods at a glance, as both sides see them. It only reads. PODS are those that "
		       "Slurm placed\n"
		       "there, OTHER the rest; a star behind the state means that slurmd does not respond.\n"
		       "Exits with 0 when both sides answered, 1 when not; what is known is shown all the same.\n\n%s",
		       buf_text(&help));
		status = STATUS_OK;
	} else {
		log_setup("sunk status", s.sides.debug ? LOG_DEBUG : LOG_ERROR, LOG_TEXT, STDERR_FILENO);
		status = run(&s);
	}
	args_done(args, n);
	return status;
}
