/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/placeholder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/mark.h"
#include "hook/outcome.h"
#include "hook/plan.h"
#include "hook/requests.h"

enum { EXIT_USAGE = 2 };

/* The server answers parked calls after 60 s at the latest, or when it is told to; an older one does not listen to that. */
#define PARKED_MAX (90 * USEC_SEC)
#define WAIT_S 300 /* a Pod may run for weeks, and thousands of them do */
#define SHORT_MAX (30 * USEC_SEC)

static const struct hook_of {
	const char *method, *name;
	usec_t limit;
} hooks[TASKS] = {
	[TASK_STARTED] = { "POST", "started", WAIT_S *USEC_SEC + SHORT_MAX },
	[TASK_WAIT] = { "GET", "wait", WAIT_S *USEC_SEC + SHORT_MAX },
	[TASK_TERMINATE] = { "POST", "terminate", PARKED_MAX },
	[TASK_DRAIN] = { "POST", "drain", SHORT_MAX },
};

struct placeholder {
	struct placeholder_env env;
	struct plan plan;
	struct requests *requests;
	struct one_call {
		struct placeholder *owner;
		enum plan_task task;
		char *url;
		struct request *request; /* NULL: none is under way */
	} calls[TASKS];
	struct mark mark;
	int signals;
};

static usec_t now_mono(void)
{
	return clock_mono(clock_real());
}

static void say(const char *text)
{
	fprintf(stderr, "sunk-hook placeholder: %s\n", text);
}

static void say_news(const struct placeholder *p, enum plan_news news, int status, const struct err *err)
{
	static const char *const texts[NEWS_KINDS] = {
		[NEWS_UNREACHABLE] = "the scheduler's hook does not answer, trying until it does",
		[NEWS_REFUSED] =
		        "the scheduler's hook refuses this job's token, trying on (has the secret changed? This job "
		        "holds its node for as long as its Pod may run)",
		[NEWS_ODD] =
		        "the scheduler's hook gives an answer that makes no sense, trying on (is SUNK_HOOK_URL right?)",
		[NEWS_UNKNOWN] = "the scheduler knows neither this job nor its Pod, nothing is left to wait for",
		[NEWS_NOT_MARKED] = "the job's extra could not be marked as started",
		[NEWS_NOT_DRAINED] =
		        "the Pod is still there shortly before Slurm kills this job, and the hook could not be "
		        "told to drain the node",
	};
	char answered[PLACEHOLDER_URL_MAX + 32], line[PLACEHOLDER_URL_MAX + 512];

	if (news == NEWS_NONE)
		return;
	snprintf(answered, sizeof(answered), "%s answered %d", p->env.url, status);
	snprintf(line, sizeof(line), "%s: %s", texts[news], status ? answered : err_text(err));
	say(line);
}

/* Calls */

static void call_done(void *arg, int status, const struct buf *body, const struct err *err)
{
	struct one_call *c = arg;
	struct placeholder *p = c->owner;
	struct outcome o = { .exit_code = -1 };
	bool readable = status == 200 && outcome_read(buf_text(body), body->len, &o) == 0;
	struct plan_answer a = { .status = status, .readable = readable, .over = o.over, .exit_code = o.exit_code };

	c->request = NULL;
	say_news(p, plan_answered(&p->plan, c->task, &a, now_mono()), status, err);
}

static int start_call(struct placeholder *p, enum plan_task t, struct err *err)
{
	struct one_call *c = &p->calls[t];
	struct hook_call call = { .method = hooks[t].method,
		                  .url = c->url,
		                  .token = p->env.token,
		                  .ca_file = p->env.ca_file,
		                  .deadline = now_mono() + hooks[t].limit };

	c->request = request_start(p->requests, &call, call_done, c, err);
	if (!c->request)
		return err->code;
	requests_push(p->requests);
	return 0;
}

static int start_mark(struct placeholder *p, struct err *err)
{
	_cleanup_free_ char *extra = p->env.restarts ? str_printf("%s: started %u", p->env.pod, p->env.restarts)
	                                             : str_printf("%s: started", p->env.pod);

	return mark_start(&p->mark, p->env.job_id, extra, err);
}

static void look_at_mark(struct placeholder *p)
{
	struct plan_answer a = { .status = PLAN_NO_ANSWER };
	struct err err = { 0 };
	int r;

	if (!mark_ended(&p->mark, &r, &err))
		return;
	if (r == 0)
		a.status = 200;
	say_news(p, plan_answered(&p->plan, TASK_MARK, &a, now_mono()), 0, &err);
}

static void start(struct placeholder *p, enum plan_task t)
{
	struct plan_answer none = { .status = PLAN_NO_ANSWER };
	struct err err = { 0 };
	int r;

	plan_began(&p->plan, t, now_mono());
	r = t == TASK_MARK ? start_mark(p, &err) : start_call(p, t, &err);
	if (r < 0)
		say_news(p, plan_answered(&p->plan, t, &none, now_mono()), 0, &err);
}

static void stop(struct placeholder *p, enum plan_task t)
{
	if (t == TASK_MARK)
		mark_stop(&p->mark);
	else
		request_cancel(TAKE_PTR(p->calls[t].request));
	plan_stopped(&p->plan, t);
}

/* What runs becomes what is wanted. */
static void follow_plan(struct placeholder *p)
{
	for (enum plan_task t = 0; t < TASKS; t++) {
		bool runs = p->plan.tries[t].running, wanted = plan_wants(&p->plan, t, now_mono());

		if (wanted && !runs)
			start(p, t);
		else if (runs && !wanted)
			stop(p, t);
	}
}

/* Signals */

static const int ending_signals[] = { SIGTERM, SIGINT, SIGHUP };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };

/* From here on they wait to be read; also those that came while this program started. Others (`scancel --signal=USR1`) would
 * end or stop this program under its Pod: they wait for ever. Blocked, not ignored: that is one call, and mark.c undoes it. */
static int catch_signals(struct placeholder *p, struct err *err)
{
	sigset_t set, blocked;

	sigfillset(&blocked);
	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigdelset(&blocked, crashes[i]);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
		sigaddset(&set, ending_signals[i]);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL); /* if it was ignored, children would vanish without their status */
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signals < 0 ? err_errno(err, -errno, "cannot listen to signals") : 0;
}

static void read_signals(struct placeholder *p)
{
	struct signalfd_siginfo info;

	while (read(p->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			look_at_mark(p);
		else
			plan_end(&p->plan, now_mono());
	}
}

static int hold(struct placeholder *p)
{
	while (!plan_is_over(&p->plan, now_mono())) {
		usec_t now, next;

		read_signals(p);
		follow_plan(p);
		now = now_mono();
		next = plan_next(&p->plan, now);
		requests_run(p->requests, p->signals, next == USEC_NEVER ? USEC_MINUTE : next - now);
	}
	return p->plan.exit_status;
}

static void placeholder_done(struct placeholder *p)
{
	mark_stop(&p->mark);
	requests_free(p->requests);
	for (enum plan_task t = 0; t < TASKS; t++)
		free(p->calls[t].url);
	placeholder_env_done(&p->env);
	fd_closep(&p->signals);
}

static char *make_url(const struct placeholder_env *e, enum plan_task t)
{
	/* so that the scheduler need not ask Slurm for what it knows */
	_cleanup_free_ char *node = t == TASK_STARTED && e->node ? str_printf("&node=%s", e->node) : NULL;
	_cleanup_free_ char *seconds = t == TASK_STARTED || t == TASK_WAIT ? str_printf("&seconds=%d", WAIT_S) : NULL;

	return str_printf("%s/v1/jobs/%u/%s?uid=%s&run=%u%s%s", e->url, e->job_id, hooks[t].name, e->uid, e->restarts,
	                  str_or(node, ""), str_or(seconds, ""));
}

int placeholder_run(void)
{
	_cleanup_(placeholder_done) struct placeholder p = { .mark = MARK_NONE, .signals = -1 };
	struct err err = { 0 };

	if (catch_signals(&p, &err) < 0 || placeholder_env_read(&p.env, &err) < 0) {
		say(err_text(&err));
		return EXIT_USAGE;
	}
	prctl(PR_SET_DUMPABLE, 0); /* no core file has the token */
	p.requests = requests_new();
	for (enum plan_task t = 0; t < TASKS; t++) {
		p.calls[t] = (struct one_call) { .owner = &p, .task = t };
		if (hooks[t].name)
			p.calls[t].url = make_url(&p.env, t);
	}
	plan_init(&p.plan, p.env.kill_wait, rng_from_kernel());
	return hold(&p);
}
