/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * main() of every daemon: settings, start, run, end.
 */
#include "daemon/daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/config.h"
#include "daemon/drive.h"
#include "daemon/listen.h"
#include "daemon/measure.h"
#include "daemon/pages.h"
#include "daemon/settings.h"
#include "daemon/vitals.h"
#include "kube/kube.h"
#include "kube/resource.h"
#include "slurm/open.h"

#define PARTS_MAX 8
#define LOOK_PERIOD (1 * USEC_SEC)      /* at what is ready, to log when that changes */
#define SETTLE_PERIOD (20 * USEC_MSEC)  /* at the end, for what is still under way */
#define RELEASE_TIMEOUT (5 * USEC_SEC)  /* for giving the lease back */
#define LISTEN_FILE_MAX 4096
#define HELP_MAX (64 * 1024)

/* The end goes through these in order. */
enum phase { STARTING, RUNNING, SETTLING, RELEASING };

struct daemon {
	const struct daemon_program *program;
	char name[64]; /* "sunk scheduler" */
	struct settings s;
	struct arg *rows;
	char **flags; /* owned: those of parts that have them in common */
	size_t n_rows, n_flags;
	char instance[256], ns[256], host[256], *lease;

	struct loop *loop;
	const struct clock *clock;
	struct metrics *metrics;
	struct kube_config *config; /* until the kube has it */
	struct kube *kube;
	struct slurm_port *real_slurm, *slurm;
	struct kube_port *kport;
	struct pages *pages;
	struct vitals vitals;
	struct drive *drives[PARTS_MAX];
	size_t n_started;
	struct buf listening; /* for --listen-file */
	double *terms;

	enum phase phase;
	bool leading, told_not_installed;
	struct check shown[CHECKS_MAX]; /* as last logged */
	uint64_t unreadable_told[KUBE_STORES_MAX]; /* how many objects, of each kind that is kept */
	struct loop_timer *look, *end;
	usec_t settle_until;
	int status;
};

/* What parts ask */

bool daemon_given(const struct daemon *d, const char *flag)
{
	for (size_t i = 0; i < d->n_rows; i++)
		if (str_eq(d->rows[i].flag, flag))
			return d->rows[i].set_by_flag || d->rows[i].set_by_config;
	assert(!"there is such a flag");
	return false;
}

const char *daemon_namespace(const struct daemon *d)
{
	return d->ns;
}

const char *daemon_host(const struct daemon *d)
{
	return d->host;
}

const char *daemon_slurm_conf(const struct daemon *d)
{
	return str_empty(d->s.slurm_conf) ? NULL : d->s.slurm_conf;
}

void daemon_lease_is(struct daemon *d, const char *name)
{
	if (!d->lease)
		d->lease = mem_strdup(name);
}

struct loop *daemon_loop(const struct daemon *d)
{
	return d->loop;
}

const struct clock *daemon_clock(const struct daemon *d)
{
	return d->clock;
}

struct metrics *daemon_metrics(const struct daemon *d)
{
	return d->metrics;
}

struct kube_port *daemon_kube(const struct daemon *d)
{
	return d->kport;
}

struct slurm_port *daemon_slurm(const struct daemon *d)
{
	return d->slurm;
}

static bool wants_bell(const struct daemon_program *p)
{
	for (size_t i = 0; i < p->n_parts; i++)
		if (p->parts[i]->bell)
			return !p->no_slurm;
	return false;
}

static usec_t patience(const struct daemon_program *p)
{
	usec_t least = USEC_NEVER;

	for (size_t i = 0; i < p->n_parts; i++)
		least = MIN_OF(least, p->parts[i]->patience);
	return least;
}

static bool has_bell(const struct daemon *d)
{
	return wants_bell(d->program) && !str_eq(d->s.doorbell_address, "none");
}

const char *daemon_bell_host(const struct daemon *d)
{
	if (!has_bell(d))
		return NULL;
	return str_empty(d->s.doorbell_address) ? d->host : d->s.doorbell_address;
}

uint16_t daemon_bell_port(const struct daemon *d)
{
	return slurm_bell_port(d->real_slurm);
}

void daemon_listens(struct daemon *d, const char *what, const char *url)
{
	log_info("%s is at %s", what, url);
	buf_printf(&d->listening, "%s %s\n", what, url);
}

/* Readiness */

/* Our own kinds may not have been installed yet: all else works without. */
static bool is_not_installed(struct daemon *d, const struct informer *i, const struct err *e)
{
	enum kube_kind kind = informer_about(i).kind;
	bool missing = e && e->code == -ENOENT && (kind == KUBE_NODESETS || kind == KUBE_NODESLICES);

	if (missing && !d->told_not_installed)
		log_warn("%s. NodeSets wait for their definitions (charts/sunk/crds): install them, or upgrade sunk "
		         "when they "
		         "are of a later version; everything else works without",
		         e->text);
	d->told_not_installed |= missing;
	return missing;
}

static void check_kube(struct daemon *d, struct check *c)
{
	const struct elect *elect = kube_elect(d->kube);
	const struct err *e = elect ? elect_error(elect) : NULL;
	const struct informer *i;

	for (size_t n = 0; !e && (i = kube_port_informer(kube_port(d->kube), n)); n++) {
		e = informer_error(i);
		if (is_not_installed(d, i, e))
			e = NULL;
	}
	*c = (struct check) { .name = "kubernetes", .ready = !e };
	if (e)
		c->why = *e;
}

static size_t find_checks(void *arg, struct check checks[CHECKS_MAX])
{
	struct daemon *d = arg;
	size_t n = 0;

	static_assert(PARTS_MAX + 3 <= CHECKS_MAX, "room for all checks");
	check_kube(d, &checks[n++]);
	if (d->slurm) {
		checks[n] = (struct check) { .name = "slurm" };
		checks[n].ready = d->slurm->ops->ready(d->slurm, &checks[n].why);
		n++;
	}
	for (size_t i = 0; i < d->n_started; i++, n++) {
		const struct part *p = d->program->parts[i];

		checks[n] = (struct check) { .name = p->name };
		checks[n].ready = p->ready(p->arg, &checks[n].why);
	}
	if (d->phase >= SETTLING) {
		checks[n] = (struct check) { .name = "daemon" };
		err_set(&checks[n++].why, -ESHUTDOWN, "it is ending");
	}
	return n;
}

static void write_parts(void *arg, struct buf *out)
{
	struct daemon *d = arg;

	for (size_t i = 0; i < d->n_started; i++) {
		const struct part *p = d->program->parts[i];

		if (p->metrics)
			p->metrics(p->arg, out);
	}
}

static bool find_leader(void *arg, const char **ret_holder)
{
	const struct daemon *d = arg;
	const struct elect *elect = kube_elect(d->kube);

	*ret_holder = elect ? elect_holder(elect) : d->instance;
	return d->leading;
}

/* An object that cannot be read stays as it was for us, whatever becomes of it: nobody would know. One line for each kind
 * and look, however many there are. */
static void tell_unreadable(struct daemon *d)
{
	const struct informer *i;
	struct informer_stats s;

	for (size_t n = 0; (i = kube_port_informer(kube_port(d->kube), n)); n++) {
		informer_read_stats(i, &s);
		if (s.unreadable == d->unreadable_told[n])
			continue;
		log_error("%s that cannot be read and are taken as they were before: %" PRIu64 ", the last of them %s",
		          kube_resource(informer_about(i).kind)->plural, s.unreadable - d->unreadable_told[n],
		          err_text(informer_unreadable(i)));
		d->unreadable_told[n] = s.unreadable;
	}
}

/* Logs what became ready, or is so no longer. */
static void look(void *arg)
{
	struct daemon *d = arg;
	struct check checks[CHECKS_MAX] = { 0 };
	size_t n = find_checks(d, checks);

	for (size_t i = 0; i < n; i++) {
		struct check *was = &d->shown[i];

		if (checks[i].ready && (!was->name || !was->ready))
			log_info("%s is ready", checks[i].name);
		else if (!checks[i].ready && !(was->name && !was->ready && str_eq(was->why.text, checks[i].why.text)))
			log_warn("%s is not ready: %s", checks[i].name, err_text(&checks[i].why));
		*was = checks[i];
	}
	tell_unreadable(d);
	loop_set_timer(d->look, loop_now(d->loop) + LOOK_PERIOD);
}

/* Leadership */

static void tell_leading(struct daemon *d, bool leading)
{
	if (d->leading == leading)
		return;
	d->leading = leading;
	if (leading)
		*d->terms += 1;
	for (size_t i = 0; i < d->n_started; i++) {
		d->program->parts[i]->leading(d->program->parts[i]->arg, leading);
		drive_wake(d->drives[i]);
	}
}

static void election_changed(void *arg, bool leading, const char *holder)
{
	struct daemon *d = arg;

	if (leading != d->leading)
		log_info("%s", leading ? "we lead" : "we do not lead any more");
	if (!leading && *holder && d->phase < SETTLING)
		log_info("the leader is %s", holder);
	if (d->phase < SETTLING || !leading)
		tell_leading(d, leading);
}

/* The end */

static void finish(struct daemon *d)
{
	loop_set_timer(d->end, USEC_NEVER);
	loop_stop(d->loop);
}

static void released(void *arg)
{
	struct daemon *d = arg;

	log_info("the lease is given back");
	finish(d);
}

static size_t under_way(const struct daemon *d)
{
	return kube_port_effects(kube_port(d->kube)) + (d->slurm ? slurm_measured_changes(d->slurm) : 0);
}

/* The end, from one look to the next. */
static void look_at_end(void *arg)
{
	struct daemon *d = arg;

	if (d->phase == RELEASING) {
		log_warn("the lease could not be given back in time; others wait until it runs out");
		finish(d);
		return;
	}
	if (under_way(d) && loop_now(d->loop) < d->settle_until) {
		loop_set_timer(d->end, loop_now(d->loop) + SETTLE_PERIOD);
		return;
	}
	if (under_way(d))
		log_warn("requests still without an answer: %zu; not waiting any longer", under_way(d));
	d->phase = RELEASING;
	if (!kube_elect(d->kube)) {
		finish(d);
		return;
	}
	loop_set_timer(d->end, loop_now(d->loop) + RELEASE_TIMEOUT);
	kube_release(d->kube, released, d);
}

static void got_signal(void *arg, int sig)
{
	struct daemon *d = arg;

	if (d->phase >= SETTLING) {
		log_warn("told to end once more (%s): ending at once", strsignal(sig));
		d->status = DAEMON_FAILED;
		finish(d);
		return;
	}
	log_info("told to end (%s)", strsignal(sig));
	d->phase = SETTLING;
	d->settle_until = loop_now(d->loop) + d->s.stop_timeout;
	for (size_t i = 0; i < d->n_started; i++) {
		drive_stop(d->drives[i]);
		if (d->program->parts[i]->stop)
			d->program->parts[i]->stop(d->program->parts[i]->arg);
	}
	loop_set_timer(d->end, loop_now(d->loop));
}

/* The start */

/* The part's address where others reach it, or the name of the host. */
static void find_ourselves(struct daemon *d)
{
	char hostname[HOST_NAME_MAX + 1] = "localhost";

	if (gethostname(hostname, sizeof(hostname)) < 0)
		log_debug("gethostname: %m");
	hostname[sizeof(hostname) - 1] = 0;
	str_copy(d->host, sizeof(d->host), str_or(getenv("POD_IP"), hostname));
	if (!str_empty(d->s.instance))
		str_copy(d->instance, sizeof(d->instance), d->s.instance);
	else
		str_copy(d->instance, sizeof(d->instance), str_or(getenv("POD_NAME"), hostname));
	str_copy(d->ns, sizeof(d->ns), str_or(getenv("POD_NAMESPACE"), d->config->ns));
}

static int prepare(struct daemon *d, struct err *err)
{
	const struct kube_config_options o = { .path = str_empty(d->s.kubeconfig) ? NULL : d->s.kubeconfig,
		                               .context = str_empty(d->s.context) ? NULL : d->s.context };
	int r = kube_config_load(&o, &d->config, err);

	if (r < 0)
		return r;
	if (d->config->warning)
		log_warn("%s", d->config->warning);
	find_ourselves(d);
	if (!str_empty(d->s.lease_name))
		daemon_lease_is(d, d->s.lease_name);
	for (size_t i = 0; i < d->program->n_parts; i++) {
		struct part *p = d->program->parts[i];

		r = p->prepare ? p->prepare(p->arg, d, err) : 0;
		if (r < 0)
			return d->program->n_parts > 1 ? err_wrap(err, r, "%s", p->name) : r;
	}
	return 0;
}

static int open_kube(struct daemon *d, struct err *err)
{
	_cleanup_free_ char *controller = str_printf("sunk.coreweave.com/%s", d->program->name);
	_cleanup_free_ char *lease = d->lease ? mem_strdup(d->lease) : str_printf("sunk-%s", d->program->name);
	const struct kube_options o = {
		.controller = controller,
		.instance = d->instance,
		.lease = d->s.leader_elect ? lease : NULL,
		.lease_ns = str_empty(d->s.lease_namespace) ? d->ns : d->s.lease_namespace,
		.lease_duration = d->s.lease_duration,
		.renew_deadline = d->s.renew_deadline,
		.retry_period = d->s.retry_period,
		.changed = election_changed,
		.arg = d,
	};
	int r;

	log_info("Kubernetes is %s (%s)", d->config->server, d->config->origin);
	r = kube_open_config(d->loop, d->clock, &o, TAKE_PTR(d->config), &d->kube, err);
	if (r < 0)
		return r;
	d->kport = kube_measured_new(kube_port(d->kube), d->clock, d->metrics);
	return 0;
}

static int open_slurm(struct daemon *d, struct err *err)
{
	const char *host = daemon_bell_host(d);
	/* On loopback for loopback; else on all addresses, because what others call us need not be one of ours. */
	const char *at = host && str_starts(host, "127.") ? host : host && strchr(host, ':') ? "::" : "0.0.0.0";
	const struct slurm_options o = {
		.pool = { .gate = kube_gate(d->kube),
		          .conf = daemon_slurm_conf(d),
		          .workers = (int)d->s.slurm_pool_size },
		.bell_address = host ? at : NULL,
		.bell_port = (uint16_t)d->s.doorbell_port,
	};

	d->real_slurm = slurm_open(d->loop, &o, err);
	if (!d->real_slurm)
		return err_wrap(err, err->code, "--doorbell-port %u", o.bell_port);
	d->slurm = slurm_measured_new(d->real_slurm, d->clock, d->metrics);
	if (host)
		log_info("Slurm's doorbell is at %s port %u", host, daemon_bell_port(d));
	return 0;
}

static int open_pages(struct daemon *d, struct err *err)
{
	const struct pages_options o = { .metrics = d->metrics,
		                         .more_metrics = write_parts,
		                         .checks = find_checks,
		                         .leading = find_leader,
		                         .arg = d };
	char url[LISTEN_URL_MAX];
	struct listen at;
	int r;

	d->vitals = (struct vitals) { .metrics = d->metrics,
		                      .clock = d->clock,
		                      .kube = d->kube,
		                      .slurm = d->real_slurm,
		                      .checks = find_checks,
		                      .leading = find_leader,
		                      .arg = d };
	vitals_start(&d->vitals);
	if (str_eq(d->s.listen, "none"))
		return 0;
	r = listen_parse(d->s.listen, &at, err);
	if (r == 0) {
		d->pages = pages_new(d->loop, &at, &o, err);
		r = d->pages ? 0 : err->code;
	}
	if (r < 0)
		return err_wrap(err, r, "--listen");
	daemon_listens(d, "http", listen_url("http", at.address, pages_port(d->pages), url));
	return 0;
}

/* Appears whole or not at all: someone waits for it. */
static int write_listening(const struct daemon *d, struct err *err)
{
	_cleanup_free_ char *new = str_printf("%s.new", d->s.listen_file);
	_cleanup_fd_ int fd = -1;

	if (str_empty(d->s.listen_file))
		return 0;
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, buf_text(&d->listening), d->listening.len) != (ssize_t)d->listening.len ||
	    rename(new, d->s.listen_file) < 0)
		return err_errno(err, -errno, "--listen-file %s", d->s.listen_file);
	return 0;
}

static int start_parts(struct daemon *d, struct err *err)
{
	assert(d->program->n_parts <= PARTS_MAX);
	for (size_t i = 0; i < d->program->n_parts; i++) {
		struct part *p = d->program->parts[i];
		int r;

		d->drives[i] = drive_new(d->loop, d->clock, d->metrics, p);
		d->n_started = i + 1; /* also one that fails half-way is to be freed */
		r = p->start(p->arg, d, err);
		if (r < 0)
			return err_wrap(err, r, "%s", p->name);
		drive_wake(d->drives[i]);
	}
	return 0;
}

static int start(struct daemon *d, struct err *err)
{
	int r = loop_add_signal(d->loop, SIGTERM, got_signal, d, err);

	if (r == 0)
		r = loop_add_signal(d->loop, SIGINT, got_signal, d, err);
	if (r == 0)
		r = open_kube(d, err);
	if (r == 0 && !d->program->no_slurm)
		r = open_slurm(d, err);
	if (r == 0)
		r = open_pages(d, err);
	if (r == 0)
		r = start_parts(d, err);
	if (r == 0)
		r = write_listening(d, err);
	return r;
}

static void end(struct daemon *d)
{
	if (d->slurm)
		slurm_measured_mute(d->slurm);
	if (d->kport)
		kube_measured_mute(d->kport);
	pages_free(d->pages);
	for (size_t i = d->n_started; i-- > 0;) {
		d->program->parts[i]->done(d->program->parts[i]->arg);
		drive_free(d->drives[i]);
	}
	if (d->slurm) {
		slurm_close(d->real_slurm);
		slurm_measured_free(d->slurm);
	}
	kube_close(d->kube);
	kube_measured_free(d->kport);
	kube_config_free(d->config);
	metrics_free(d->metrics);
	loop_remove_timer(d->look);
	loop_remove_timer(d->end);
	loop_free(d->loop);
	buf_done(&d->listening);
	free(d->lease);
}

static int run(struct daemon *d)
{
	struct err err = { 0 };
	int r;

	signal(SIGPIPE, SIG_IGN); /* whoever reads our log, or waits for an answer, may go before us */
	log_info("sunk %s starts", SUNK_VERSION);
	d->clock = clock_real();
	d->loop = loop_new();
	loop_set_patience(d->loop, patience(d->program));
	d->metrics = metrics_new();
	d->listening = BUF(LISTEN_FILE_MAX);
	d->look = loop_add_timer(d->loop, look, d);
	d->end = loop_add_timer(d->loop, look_at_end, d);
	d->terms =
	        metrics_counter(d->metrics, "sunk_leader_terms_total", "Times that this process began to lead.", NULL);
	r = prepare(d, &err);
	if (r == 0)
		r = start(d, &err);
	if (r < 0) {
		log_error("%s", err_text(&err));
		d->status = DAEMON_FAILED;
	} else {
		d->phase = RUNNING;
		if (!kube_elect(d->kube))
			tell_leading(d, true);
		loop_set_timer(d->look, loop_now(d->loop) + LOOK_PERIOD);
		loop_run(d->loop);
		log_info("ended");
	}
	end(d);
	return d->status;
}

static bool has_flag(const struct part *p, const char *flag)
{
	for (size_t i = 0; i < p->n_rows; i++)
		if (str_eq(p->rows[i].flag, flag))
			return true;
	return false;
}

/* What two parts call the same is told apart by their names: --syncer-hook-listen. */
static void name_apart(struct daemon *d, const struct part *p, struct arg *rows)
{
	for (size_t i = 0; i < p->n_rows; i++) {
		bool common = false;

		for (size_t k = 0; rows[i].flag && k < d->program->n_parts; k++)
			common |= d->program->parts[k] != p && has_flag(d->program->parts[k], rows[i].flag);
		if (!common)
			continue;
		d->flags[d->n_flags] = str_printf("%s-%s", p->name, rows[i].flag);
		rows[i].flag = d->flags[d->n_flags++];
	}
}

/* The settings of all parts, then our own: one table. */
static void make_rows(struct daemon *d)
{
	struct arg own[SETTINGS_MAX];
	size_t n_own = settings_rows(&d->s, !d->program->no_slurm, wants_bell(d->program), own), n = n_own;

	for (size_t i = 0; i < d->program->n_parts; i++)
		n += d->program->parts[i]->n_rows;
	d->rows = mem_alloc_n(n, sizeof(*d->rows));
	d->flags = mem_alloc_n(n, sizeof(*d->flags));
	for (size_t i = 0; i < d->program->n_parts; i++) {
		const struct part *p = d->program->parts[i];

		if (p->n_rows)
			memcpy(d->rows + d->n_rows, p->rows, p->n_rows * sizeof(*p->rows));
		name_apart(d, p, d->rows + d->n_rows);
		d->n_rows += p->n_rows;
	}
	memcpy(d->rows + d->n_rows, own, n_own * sizeof(*own));
	d->n_rows += n_own;
}

static void show_help(const struct daemon *d)
{
	_cleanup_buf_ struct buf help = BUF(HELP_MAX);

	args_help(d->rows, d->n_rows, &help);
	printf("usage: %s [FLAG...]\n\n%s\n\n%s", d->name, d->program->about, buf_text(&help));
}

int daemon_main(const struct daemon_program *program, int argc, char **argv)
{
	struct daemon d = { .program = program, .status = DAEMON_OK };
	struct err err = { 0 };
	char **rest;
	int n_rest, status = DAEMON_USAGE, r;

	heap_set_up();
	snprintf(d.name, sizeof(d.name), "sunk %s", program->name);
	make_rows(&d);
	r = args_parse(d.rows, d.n_rows, argc, argv, &rest, &n_rest, &err);
	if (r == 0 && n_rest)
		r = err_set(&err, -EINVAL, "takes no argument '%.40s' (--help tells)", rest[0]);
	if (r == 0 && !d.s.help && !str_empty(d.s.config_file))
		r = config_read(d.rows, d.n_rows, d.s.config_file, &err);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", d.name, err_text(&err));
	else if (d.s.help) {
		show_help(&d);
		status = DAEMON_OK;
	} else {
		log_setup(d.name, (enum log_level)d.s.log_level, (enum log_format)d.s.log_format, STDERR_FILENO);
		status = run(&d);
	}
	args_done(d.rows, d.n_rows);
	for (size_t i = 0; i < d.n_flags; i++)
		free(d.flags[i]);
	free(d.flags);
	free(d.rows);
	return status;
}
