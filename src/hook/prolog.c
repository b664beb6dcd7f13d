/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/prolog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/str.h"
#include "hook/call.h"

#define CAUSE_MAX 400
#define BODY_MAX 2048
#define NODE_NAME_MAX 253
#define UID_FILE_MAX 256
#define SCONTROL_MAX (10 * USEC_SEC)
#define SHOWN_MAX 16384 /* of a node, as scontrol shows it */
#define UNKNOWN_PAUSE (500 * USEC_MSEC)

bool extra_is_placeholder(const char *extra)
{
	const char *name = extra ? strchr(extra, '/') : NULL;
	const char *uid = name ? strchr(name + 1, '/') : NULL;

	return uid && name > extra && uid > name + 1 && strcspn(uid + 1, ":/ ") >= 8;
}

bool node_name_is_sane(const char *node)
{
	size_t len = node ? strlen(node) : 0;

	return len > 0 && len <= NODE_NAME_MAX &&
	       strspn(node, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

void prolog_cause(const char *body, size_t len, struct buf *out)
{
	static const char before[] = "\"error\":\"";
	_cleanup_buf_ struct buf text = BUF(8192);
	const char *at, *end;

	if (buf_add(&text, body, MIN_OF(len, (size_t)8000)) < 0)
		return;
	at = strstr(buf_text(&text), before);
	if (!at) {
		str_add_safe(out, buf_text(&text), text.len, CAUSE_MAX);
		return;
	}
	at += sizeof(before) - 1;
	for (end = at; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	str_add_safe(out, at, (size_t)(end - at), CAUSE_MAX);
}

bool node_is_drained_by_others(const char *shown)
{
	const char *state = strstr(shown, " State="), *reason = strstr(shown, "\n   Reason=");
	size_t len;

	if (!state || !reason)
		return false;
	state += strlen(" State=");
	len = strcspn(state, " \n");
	if (!memmem(state, len, "DRAIN", strlen("DRAIN")))
		return false;
	reason += strlen("\n   Reason=");
	len = strcspn(reason, "\n");
	return !str_starts(reason, "k8s:") && !memmem(reason, len, "(sunk:", strlen("(sunk:"));
}

/* Its exit status, or -1. What it says goes to out (-1: nowhere). */
static int scontrol(const char *const argv[], int out, struct err *err)
{
	usec_t end = clock_mono(clock_real()) + SCONTROL_MAX;
	int status = 0;
	pid_t pid;

	if (spawn(&(struct spawn) { .argv = argv, .in = -1, .out = out, .err = -1, .extra = -1 }, &pid, err) < 0)
		return -1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_mono(clock_real()) >= end) {
			kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			break;
		}
		usleep(10000);
	}
	return status;
}

static bool is_drained_by_others(const char *node)
{
	const char *const argv[] = { "scontrol", "show", "node", node, NULL };
	_cleanup_fd_ int said = memfd_create("scontrol", MFD_CLOEXEC);
	char text[SHOWN_MAX];
	struct err err = { 0 };
	ssize_t n;

	if (said < 0 || scontrol(argv, said, &err) != 0)
		return false;
	n = pread(said, text, sizeof(text) - 1, 0);
	text[MAX_OF(n, 0)] = 0;
	return node_is_drained_by_others(text);
}

/* slurmctld drains the node by itself when a prolog or an epilog fails, but keeps a reason that is there already. So do we, when it is a
 * person's: ours would be lifted one day, and their drain with it. */
static void drain(const char *verb, const char *node, const char *reason)
{
	_cleanup_free_ char *name = str_printf("NodeName=%s", node);
	const char *const argv[] = { "scontrol", "update", name, "State=DRAIN", reason, NULL };
	struct err err = { 0 };
	int status;

	if (is_drained_by_others(node)) {
		fprintf(stderr, "sunk-hook %s: node %s is drained already, by somebody else: it stays theirs\n", verb,
		        node);
		return;
	}
	status = scontrol(argv, -1, &err);
	if (status < 0)
		fprintf(stderr, "sunk-hook %s: node %s cannot be drained: %s\n", verb, node, err_text(&err));
	else if (status)
		fprintf(stderr,
		        "sunk-hook %s: node %s could not be drained with our reason; Slurm drains it with its own\n",
		        verb, node);
}

void prolog_body(const struct prolog *p, struct buf *out)
{
	bool placeholder = extra_is_placeholder(p->extra);

	buf_printf(out, "{\"jobId\":%s,\"strict\":%s", p->job, placeholder ? "true" : "false");
	if (placeholder) {
		buf_add_str(out, ",\"pod\":\"");
		for (const char *c = p->extra; *c && *c != ':' && out->len < BODY_MAX - 16; c++)
			if (*c > ' ' && *c < 127 && *c != '"' && *c != '\\')
				buf_add_char(out, *c);
		buf_add_char(out, '"');
	}
	if (p->slurmd_uid)
		buf_printf(out, ",\"slurmdUid\":\"%s\"", p->slurmd_uid);
	buf_add_char(out, '}');
}

int prolog_read_uid(const char *path, char **ret, struct err *err)
{
	_cleanup_buf_ struct buf b = BUF(UID_FILE_MAX);
	int r = buf_read_file(&b, path);

	if (r == -ENOENT) {
		*ret = NULL;
		return 0;
	}
	if (r < 0)
		return err_errno(err, r, "%s", path);
	while (b.len && strchr(" \t\r\n", b.data[b.len - 1]))
		b.data[--b.len] = 0;
	if (strlen(buf_text(&b)) != b.len || !node_name_is_sane(buf_text(&b)))
		return err_set(err, -EINVAL, "%s: that is no uid of a Pod", path);
	*ret = mem_strdup(buf_text(&b));
	return 0;
}

static int ask(const struct prolog *p, const char *what, usec_t deadline, bool retry, struct hook_answer *answer,
               struct err *err)
{
	_cleanup_free_ char *url = str_printf("%s/v1/nodes/%s/%s", p->url, p->node, what);
	_cleanup_buf_ struct buf body = BUF(BODY_MAX);

	prolog_body(p, &body);

	return hook_call(&(struct hook_call) { .method = "POST",
	                                       .url = url,
	                                       .token = p->token,
	                                       .ca_file = p->ca_file,
	                                       .body = buf_text(&body),
	                                       .tell_time = true,
	                                       .deadline = deadline,
	                                       .retry = retry },
	                 answer, err);
}

static bool environment_is_sane(const struct prolog *p, const char *verb)
{
	int64_t job;

	if (!node_name_is_sane(p->node)) {
		fprintf(stderr,
		        "sunk-hook %s: SLURMD_NODENAME is not set or is no name of a node: is this run by slurmd?\n",
		        verb);
		return false;
	}
	if (!p->job || str_to_i64(p->job, 1, UINT32_MAX, &job) < 0) {
		fprintf(stderr, "sunk-hook %s: SLURM_JOB_ID is not set or is no number: is this run by slurmd?\n",
		        verb);
		return false;
	}
	return true;
}

int prolog_run(const struct prolog *p)
{
	usec_t began = clock_mono(clock_real()), deadline = began + p->timeout;
	_cleanup_buf_ struct buf cause = BUF(CAUSE_MAX + 64);
	struct hook_answer answer = { 0 };
	struct err err = { 0 };
	bool going;
	int r;

	if (!environment_is_sane(p, "prolog"))
		return 1;
	for (;;) {
		r = ask(p, "pre-hook", deadline, true, &answer, &err);
		if (r < 0 || answer.status != 404 || clock_mono(clock_real()) - began >= PROLOG_UNKNOWN_MAX)
			break;
		buf_done(&answer.body);
		answer = (struct hook_answer) { 0 };
		usleep((useconds_t)UNKNOWN_PAUSE);
	}
	if (r == 0 && answer.status == 200) {
		buf_done(&answer.body);
		return 0;
	}
	going = r == 0 && answer.status == PROLOG_GOING;
	if (r < 0)
		str_add_safe(&cause, err_text(&err), strlen(err_text(&err)), CAUSE_MAX);
	else
		prolog_cause(buf_text(&answer.body), answer.body.len, &cause);
	fprintf(stderr, "sunk-hook prolog: node %s is not free for job %s: %s\n", p->node, p->job, buf_text(&cause));
	buf_done(&answer.body);
	drain("prolog", p->node, going ? "Reason=" PROLOG_GOING_REASON : "Reason=" PROLOG_REASON);
	return 1;
}

/* The placeholder's script holds its node until its Pod is gone. When it was killed before that (KillWait, kill -9), this does: Slurm keeps a
 * node COMPLETING while its epilog runs. */
static int hold_until_gone(const struct prolog *p)
{
	usec_t deadline = clock_mono(clock_real()) + MAX_OF(p->timeout, EPILOG_TIMEOUT);
	_cleanup_buf_ struct buf cause = BUF(CAUSE_MAX + 64);
	struct hook_answer answer = { 0 };
	struct err err = { 0 };
	int r = ask(p, "post-hook", deadline, true, &answer, &err);
	bool gone = r == 0 && (answer.status == 200 || answer.status == 404 || answer.status == 409);

	if (r < 0)
		str_add_safe(&cause, err_text(&err), strlen(err_text(&err)), CAUSE_MAX);
	else
		prolog_cause(buf_text(&answer.body), answer.body.len, &cause);
	buf_done(&answer.body);
	if (gone)
		return 0;
	fprintf(stderr, "sunk-hook epilog: node %s is drained: the Pod of job %s may still be there: %s\n", p->node,
	        p->job, buf_text(&cause));
	drain("epilog", p->node, "Reason=" EPILOG_REASON);
	return 1; /* only then does slurmd log what we said */
}

int epilog_run(const struct prolog *p)
{
	struct hook_answer answer = { 0 };
	struct err err = { 0 };

	if (!environment_is_sane(p, "epilog"))
		return 0;
	if (extra_is_placeholder(p->extra))
		return hold_until_gone(p);
	if (ask(p, "post-hook", clock_mono(clock_real()) + EPILOG_TIMEOUT, false, &answer, &err) < 0)
		fprintf(stderr, "sunk-hook epilog: %s (the syncer will see it by itself)\n", err_text(&err));
	buf_done(&answer.body);
	return 0;
}
