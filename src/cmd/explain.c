/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk explain: what is this, what does it wait for, what can be done? Asks both sides once and says it in plain words.
 */
#include "cmd/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/both_sides.h"
#include "cmd/pod_rules.h"
#include "cmd/verb.h"
#include "kube/cred.h"
#include "kube/objects.h"

#define OWN_ROWS 3

static const char *const outputs[] = { "text", "json", NULL };

static const struct kind {
	const char *name, *usage;
	int (*explain)(struct explain_world *w, const char *what, struct explanation *ret, struct err *err);
} kinds[] = {
	{ "pod", "pod [NAMESPACE/]NAME", explain_pod_verb },
	{ "node", "node NAME", explain_node_verb },
	{ "job", "job ID", explain_job_verb },
};

struct settings {
	struct pod_rules rules;
	struct both_sides sides;
	char *ns, *nodeset_ns;
	int output;
};

/* One question at a time */

struct got {
	struct loop *loop;
	bool done;
	yyjson_doc *doc;
	struct slurm_result slurm;
	int r;
	struct err *err;
};

static void wait_for(struct got *g)
{
	while (!g->done)
		loop_run_once(g->loop, USEC_SEC);
}

static void got_reply(void *arg, const struct kube_reply *reply)
{
	struct got *g = arg;
	struct kube_answer answer;

	g->done = true;
	kube_reply_read(reply, &answer);
	if (answer.result.outcome == KUBE_OK)
		g->r = json_parse_copy(reply->http->body, reply->http->body_len, &g->doc, g->err);
	else
		g->r = err_set(g->err, answer.result.outcome == KUBE_NOT_FOUND ? -ENOENT : -EIO, "%s",
		               answer.result.message);
}

int explain_get(struct explain_world *w, const struct kube_request *request, yyjson_doc **ret, struct err *err)
{
	struct got g = { .loop = w->loop, .err = err };

	if (!w->kube)
		return err_set(err, -EIO, "%s", err_text(&w->kube_err));
	kube_call_start(w->kube, request, &(struct kube_call_options) { .retry = true, .timeout = w->timeout },
	                got_reply, &g);
	wait_for(&g);
	if (g.r == 0)
		*ret = g.doc;
	return g.r;
}

int explain_object(struct explain_world *w, const struct kube_ref *ref, void **ret, struct err *err)
{
	_cleanup_request_ struct kube_request request = { 0 };
	struct json_scratch scratch = { 0 };
	yyjson_doc *doc = NULL;
	int r = kube_request_get(&request, ref, NULL, err);

	if (r == 0)
		r = explain_get(w, &request, &doc, err);
	if (r < 0)
		return r;
	r = kube_decode(ref->kind, yyjson_doc_get_root(doc), &scratch, ret, NULL, err);
	json_scratch_done(&scratch);
	yyjson_doc_free(doc);
	return r;
}

int explain_pods(struct explain_world *w, const char *ns, const char *labels, const char *fields,
                 struct explain_pods *ret, struct err *err)
{
	_cleanup_request_ struct kube_request request = { 0 };
	const struct kube_ref all = { .kind = KUBE_PODS, .ns = ns };
	const struct kube_query query = { .label_selector = labels,
		                          .field_selector = fields,
		                          .limit = EXPLAIN_PODS_MAX };
	struct json_scratch scratch = { 0 };
	struct explain_pods found = { 0 };
	yyjson_doc *doc = NULL;
	yyjson_val *items, *v;
	yyjson_arr_iter i;
	int r = kube_request_list(&request, &all, &query, err);

	if (r == 0)
		r = explain_get(w, &request, &doc, err);
	if (r < 0)
		return r;
	items = json_get(yyjson_doc_get_root(doc), "items");
	found.pods = mem_alloc_n(yyjson_arr_size(items), sizeof(*found.pods));
	yyjson_arr_iter_init(items, &i);
	while (r == 0 && (v = yyjson_arr_iter_next(&i))) {
		r = kube_decode(KUBE_PODS, v, &scratch, (void **)&found.pods[found.n], NULL, err);
		found.n += r == 0;
	}
	json_scratch_done(&scratch);
	yyjson_doc_free(doc);
	if (r < 0)
		explain_pods_done(&found);
	else
		*ret = found;
	return r;
}

void explain_pods_done(struct explain_pods *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->pods[i]);
	free(p->pods);
	*p = (struct explain_pods) { 0 };
}

static void got_result(void *arg, struct slurm_result *result)
{
	struct got *g = arg;

	g->done = true;
	if (result->outcome == SLURM_OK) {
		g->slurm = *result;
		result->block = NULL;
	} else
		g->r = err_set(g->err, result->outcome == SLURM_GONE ? -ENOENT : -EIO, "%s", result->message);
}

int explain_ask(struct explain_world *w, const struct slurm_request *request, struct slurm_result *ret, struct err *err)
{
	struct slurm_request rq = *request;
	struct got g = { .loop = w->loop, .err = err };

	rq.timeout = w->timeout;
	w->slurm->ops->call(w->slurm, &rq, got_result, &g);
	wait_for(&g);
	if (g.r == 0)
		*ret = g.slurm;
	return g.r;
}

/* What is said */

static void add_safe(struct buf *out, const char *text)
{
	str_add_safe(out, text, strlen(text), EXPLAIN_TEXT_MAX);
}

static void print_text(const struct explanation *e)
{
	_cleanup_buf_ struct buf out = BUF(256 * 1024);

	add_safe(&out, e->summary);
	buf_add_char(&out, '\n');
	if (*e->waits_for) {
		buf_add_str(&out, "\nWaits for   ");
		add_safe(&out, e->waits_for);
		buf_add_char(&out, '\n');
	}
	for (size_t i = 0; i < e->n_todo; i++) {
		buf_printf(&out, "%s%s", i || *e->waits_for ? "" : "\n", i ? "            " : "To do       ");
		add_safe(&out, e->todo[i]);
		buf_add_char(&out, '\n');
	}
	for (size_t i = 0; i < e->n_facts; i++) {
		bool same = i && str_eq(e->facts[i].about, e->facts[i - 1].about);

		buf_printf(&out, "%s%-12s", i ? "" : "\n", same ? "" : e->facts[i].about);
		add_safe(&out, e->facts[i].text);
		buf_add_char(&out, '\n');
	}
	fputs(buf_text(&out), stdout);
}

static void print_json(const struct explanation *e)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc), *todo, *facts;
	_cleanup_free_ char *text = NULL;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_str(doc, root, "state", e->state);
	yyjson_mut_obj_add_str(doc, root, "summary", e->summary);
	yyjson_mut_obj_add_str(doc, root, "waitsFor", e->waits_for);
	todo = yyjson_mut_obj_add_arr(doc, root, "toDo");
	for (size_t i = 0; i < e->n_todo; i++)
		yyjson_mut_arr_add_str(doc, todo, e->todo[i]);
	facts = yyjson_mut_obj_add_arr(doc, root, "facts");
	for (size_t i = 0; i < e->n_facts; i++) {
		yyjson_mut_val *f = yyjson_mut_arr_add_obj(doc, facts);

		yyjson_mut_obj_add_str(doc, f, "about", e->facts[i].about);
		yyjson_mut_obj_add_str(doc, f, "text", e->facts[i].text);
	}
	text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
	yyjson_mut_doc_free(doc);
	puts(text ? text : "{}");
}

/* The world */

static int run(const struct settings *s, const struct kind *kind, const char *what, bool kill_wait_given)
{
	const struct kube_config_options ko = both_sides_kube(&s->sides);
	const struct slurm_options so = both_sides_slurm(&s->sides);
	struct explain_world w = { .loop = loop_new(),
		                   .timeout = s->sides.timeout,
		                   .kill_wait_given = kill_wait_given };
	struct kube_config *config = NULL;
	struct cred *cred = NULL;
	struct explanation *e = NEW(struct explanation);
	struct err err = { 0 };
	int r;

	if (kube_config_load(&ko, &config, &w.kube_err) == 0) {
		cred = cred_new(w.loop, clock_real(), config, 0);
		w.kube = kube_client_new(w.loop, clock_real(), cred);
	}
	w.ns = !str_empty(s->ns) ? s->ns : config ? config->ns : "default";
	w.nodeset_ns = str_empty(s->nodeset_ns) ? NULL : s->nodeset_ns;
	w.slurm = slurm_open(w.loop, &so, &err);
	pod_rules_apply(&s->rules, &w.rules);
	if (str_empty(w.rules.scheduler_name))
		w.rules.scheduler_name = str_or(getenv("SUNK_SCHEDULER_NAME"), "");
	r = w.slurm ? kind->explain(&w, what, e, &err) : err.code;
	if (r < 0)
		fprintf(stderr, "sunk explain: %s\n", err_text(&err));
	else if (s->output == 1)
		print_json(e);
	else
		print_text(e);
	r = r == 0 && !str_eq(e->state, "absent") ? STATUS_OK : STATUS_FAILED;
	free(e);
	slurm_close(w.slurm);
	kube_client_free(w.kube);
	cred_free(cred);
	kube_config_free(config);
	loop_free(w.loop);
	return r;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_eq(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static void show_help(const struct arg *args, size_t n)
{
	_cleanup_buf_ struct buf help = BUF(32768);

	args_help(args, n, &help);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		printf("%s sunk explain %s [FLAG...]\n", i ? "      " : "usage:", kinds[i].usage);
	printf("\nTells what it is, what it waits for, and what can be done about it. A node goes by its name in Slurm "
	       "or in\n"
	       "Kubernetes.\n"
	       "Exits with 0 when it could be explained, 1 when it is not there or nobody answers.\n\n%s",
	       buf_text(&help));
}

int verb_explain(int argc, char **argv)
{
	struct settings s = { .ns = (char *)"", .nodeset_ns = (char *)"" };
	struct arg args[OWN_ROWS + BOTH_SIDES_ROWS + POD_RULES_ROWS] = {
		{ .flag = "output",
		  .type = ARG_CHOICE,
		  .value = &s.output,
		  .choices = outputs,
		  .help = "For people, or for programs. Also -o." },
		{ .flag = "namespace",
		  .type = ARG_STRING,
		  .value = &s.ns,
		  .unit = "NAME",
		  .help = "The namespace when the name has none; else the kubeconfig's. Also -n." },
		{ .flag = "nodeset-namespace",
		  .type = ARG_STRING,
		  .value = &s.nodeset_ns,
		  .unit = "NAME",
		  .help = "NodeSet Pods of this namespace only, as the daemons' flag of that name; else of all." },
	};
	const size_t own = OWN_ROWS + both_sides_rows(&s.sides, args + OWN_ROWS);
	const size_t n = own + pod_rules_rows(&s.rules, args + own);
	const struct kind *kind = NULL;
	struct err err = { 0 };
	bool kill_wait_given = false;
	int n_rest = 0, status = STATUS_USAGE, r;
	char **rest;

	for (size_t i = 0; i < n; i++)
		args[i].config = NULL; /* there is no config file here */
	both_sides_letters(argc, argv);
	r = args_parse(args, n, argc, argv, &rest, &n_rest, &err);
	for (size_t i = 0; i < n; i++)
		kill_wait_given |= str_eq(args[i].flag, "slurm-kill-wait") && args[i].set_by_flag;
	if (r == 0 && !s.sides.help && n_rest != 2)
		r = err_set(&err, -EINVAL, "what is to be explained? `sunk explain %s` (--help tells more)",
		            kinds[0].usage);
	if (r == 0 && !s.sides.help) {
		kind = find_kind(rest[0]);
		if (!kind)
			r = err_set(&err, -EINVAL, "cannot explain a '%.40s' (--help tells what can be)", rest[0]);
	}
	if (r < 0)
		fprintf(stderr, "sunk explain: %s\n", err_text(&err));
	else if (s.sides.help) {
		show_help(args, n);
		status = STATUS_OK;
	} else if (kind) {
		log_setup("sunk explain", s.sides.debug ? LOG_DEBUG : LOG_WARN, LOG_TEXT, STDERR_FILENO);
		status = run(&s, kind, rest[1], kill_wait_given);
	}
	args_done(args, n);
	return status;
}
