/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/fault.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/list.h"
#include "base/rand.h"
#include "base/str.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/watch.h"
#include "json/json.h"

#define MILLION 1000000
#define WORD_MAX 128
#define APF_TEXT "Too many requests, please try again later.\n"

enum fault_kind { LATENCY, ERROR, LOSE_ANSWER, DROP_WATCH, STALL_WATCH, EXPIRE_WATCH, COMPACT, RESTART };
static const char *const kind_names[] = { "latency",     "error",        "lose-answer", "drop-watch",
	                                  "stall-watch", "expire-watch", "compact",     "restart" };

struct rule {
	enum fault_kind kind;
	char verb[WORD_MAX], resource[WORD_MAX], ns[WORD_MAX], user[WORD_MAX]; /* "*": any */
	uint64_t share;   /* millionths */
	int code;         /* ERROR */
	usec_t span;      /* LATENCY, STALL_WATCH, RESTART */
	usec_t until;     /* monotonic */
	int64_t left;     /* hits to go; -1: no end */
	uint64_t asked, hit;
};

struct delayed {
	struct link link;
	struct loop_timer *timer;
	struct call *call;
	void (*run)(struct call *c);
};

struct faults {
	struct lite *lite;
	struct rng rng;
	uint64_t seed;
	struct rule rules[FAULT_RULES_MAX];
	size_t n;
	struct link delayed;
};

struct faults *faults_new(struct lite *l)
{
	struct faults *f = NEW(struct faults);

	f->lite = l;
	f->rng = rng_seeded(0);
	link_init(&f->delayed);
	return f;
}

static void delayed_free(struct delayed *d)
{
	link_remove(&d->link);
	loop_remove_timer(d->timer);
	free(d);
}

void faults_free(struct faults *f)
{
	if (!f)
		return;
	LIST_EACH (l, &f->delayed) {
		struct delayed *d = LIST_ITEM(l, struct delayed, link);

		warnings_done(&d->call->warnings);
		free(d->call);
		delayed_free(d);
	}
	free(f);
}

/* ---- does it hit? ---- */

static bool word_fits(const char *pattern, const char *word)
{
	return str_eq(pattern, "*") || str_eq(pattern, word);
}

/* "pods", "pods/status", "leases.coordination.k8s.io" */
static bool resource_fits(const char *pattern, const char *group, const char *plural, const char *sub)
{
	char whole[4 * WORD_MAX];

	if (str_eq(pattern, "*"))
		return true;
	snprintf(whole, sizeof(whole), "%s%s%s", plural, *sub ? "/" : "", sub);
	if (str_eq(pattern, whole))
		return true;
	snprintf(whole, sizeof(whole), "%s%s%s%s%s", plural, *group ? "." : "", group, *sub ? "/" : "", sub);
	return str_eq(pattern, whole);
}

static bool draw(struct faults *f, struct rule *r)
{
	r->asked++;
	if (r->left == 0 || loop_now(f->lite->loop) >= r->until)
		return false;
	if (r->share < MILLION && rng_below(&f->rng, MILLION) >= r->share)
		return false;
	if (r->left > 0)
		r->left--;
	r->hit++;
	return true;
}

static bool rule_hits(struct faults *f, struct rule *r, const struct call *c)
{
	const struct route *route = &c->route;

	if (!route->resource || !word_fits(r->verb, route->verb) || !word_fits(r->ns, route->ns) ||
	    !word_fits(r->user, c->user->name) || !resource_fits(r->resource, route->group, route->plural, route->sub))
		return false;
	return draw(f, r);
}

/* ---- what happens ---- */

static void run_delayed(void *arg)
{
	struct delayed *d = arg;
	void (*run)(struct call *c) = d->run;
	struct call *c = d->call;

	delayed_free(d);
	run(c);
}

static void delay(struct faults *f, struct call *c, usec_t span, void (*run)(struct call *c))
{
	struct delayed *d = NEW(struct delayed);

	d->call = c;
	d->run = run;
	d->timer = loop_add_timer(f->lite->loop, run_delayed, d);
	list_add_tail(&f->delayed, &d->link);
	loop_set_timer(d->timer, usec_add(loop_now(f->lite->loop), span));
}

static void answer_error(struct call *c, int code)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	const struct route *r = &c->route;

	switch (code) {
	case 429:
		xch_add_header(c->x, "Retry-After", "1");
		call_text(c, 429, APF_TEXT);
		return;
	case 409: status_modified(&st, r->group, r->plural, r->name); break;
	case 410: status_expired(&st, NULL, "The resourceVersion for the provided list is too old."); break;
	case 503:
		status_fail(&st, 503, "ServiceUnavailable", NULL,
		            "the server is currently unable to handle the request");
		break;
	case 504:
		status_fail(&st, 504, "Timeout", &(struct status_details) { .group = r->group, .kind = r->plural },
		            "Timeout: request did not complete within the allotted timeout");
		break;
	default: status_internal(&st, "injected fault"); break;
	}
	call_send_status(c, &st);
}

enum fault_act fault_call(struct faults *f, struct call *c, void (*run)(struct call *c))
{
	usec_t span = 0;
	int code = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct rule *r = &f->rules[i];

		if (r->kind > LOSE_ANSWER || !rule_hits(f, r, c))
			continue;
		if (r->kind == LATENCY)
			span = usec_add(span, r->span);
		else if (r->kind == LOSE_ANSWER)
			c->lose_answer = true;
		else if (!code)
			code = r->code;
	}
	if (code) {
		answer_error(c, code);
		return FAULT_ANSWERED;
	}
	if (span == 0)
		return FAULT_NONE;
	delay(f, c, span, run);
	return FAULT_DELAYED;
}

/* ---- watches ---- */

struct picking {
	struct faults *faults;
	struct rule *rule;
};

static bool pick(void *arg, const struct kind *k, const char *ns)
{
	struct picking *p = arg;

	return word_fits(p->rule->ns, ns) && resource_fits(p->rule->resource, k->group, k->plural, "") &&
	       draw(p->faults, p->rule);
}

static enum watch_fault watch_fault_of(enum fault_kind kind)
{
	return kind == DROP_WATCH ? WATCH_DROP : kind == STALL_WATCH ? WATCH_STALL : WATCH_EXPIRE;
}

static bool is_watch_fault(enum fault_kind kind)
{
	return kind == DROP_WATCH || kind == STALL_WATCH || kind == EXPIRE_WATCH;
}

void fault_new_watch(struct lite *l, struct watch *w, const struct kind *k, const char *ns)
{
	struct faults *f = l->faults;

	for (size_t i = 0; i < f->n; i++)
		if (is_watch_fault(f->rules[i].kind) && pick(&(struct picking) { f, &f->rules[i] }, k, ns))
			watch_fault(w, watch_fault_of(f->rules[i].kind), f->rules[i].span);
}

/* ---- the endpoint ---- */

static int word_of(yyjson_val *rule, const char *key, char to[WORD_MAX], struct status *st)
{
	yyjson_val *v = json_get(rule, key);

	if (!str_copy(to, WORD_MAX, v ? json_str(v) : "*") || (v && !json_str(v)))
		return status_bad_request(st, "%s: not a text of at most %d bytes", key, WORD_MAX - 1);
	return 0;
}

static int number_of(yyjson_val *rule, const char *key, double otherwise, double max, double *ret, struct status *st)
{
	yyjson_val *v = json_get(rule, key);

	*ret = v ? yyjson_get_num(v) : otherwise;
	if (v && (!yyjson_is_num(v) || !(*ret >= 0) || *ret > max))
		return status_bad_request(st, "%s: not a number from 0 to %g", key, max);
	return 0;
}

static int kind_of(yyjson_val *rule, enum fault_kind *ret, struct status *st)
{
	const char *name = str_or(json_str(json_get(rule, "kind")), "");

	for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
		if (str_eq(name, kind_names[i])) {
			*ret = (enum fault_kind)i;
			return 0;
		}
	return status_bad_request(
	        st,
	        "kind: '%.40s' is none of latency, error, lose-answer, drop-watch, stall-watch, expire-watch, "
	        "compact, restart",
	        name);
}

static int check_keys(yyjson_val *rule, struct status *st)
{
	static const char *const known[] = { "verb",  "resource", "namespace", "user", "kind",
		                             "share", "code",     "seconds",   "for",  "count" };
	yyjson_val *key, *v;
	size_t i, n;

	if (!yyjson_is_obj(rule))
		return status_bad_request(st, "a rule is not an object");
	yyjson_obj_foreach(rule, i, n, key, v)
	{
		bool found = false;

		(void)v;
		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			found |= str_eq(yyjson_get_str(key), known[k]);
		if (!found)
			return status_bad_request(st, "'%.40s' is no part of a rule", yyjson_get_str(key));
	}
	return 0;
}

static int parse_rule(struct faults *f, yyjson_val *v, struct rule *r, struct status *st)
{
	double share, seconds, life, code, count;
	int e;

	*r = (struct rule) { .until = USEC_NEVER, .left = -1 };
	if ((e = check_keys(v, st)) < 0 || (e = kind_of(v, &r->kind, st)) < 0 ||
	    (e = word_of(v, "verb", r->verb, st)) < 0 || (e = word_of(v, "resource", r->resource, st)) < 0 ||
	    (e = word_of(v, "namespace", r->ns, st)) < 0 || (e = word_of(v, "user", r->user, st)) < 0 ||
	    (e = number_of(v, "share", 1, 1, &share, st)) < 0 ||
	    (e = number_of(v, "seconds", 0, 86400, &seconds, st)) < 0 ||
	    (e = number_of(v, "for", 0, 1e9, &life, st)) < 0 || (e = number_of(v, "code", 500, 599, &code, st)) < 0 ||
	    (e = number_of(v, "count", 0, 1e15, &count, st)) < 0)
		return e;
	r->share = (uint64_t)llround(share * MILLION);
	r->span = (usec_t)llround(seconds * (double)USEC_SEC);
	r->code = (int)code;
	if (r->kind == ERROR && r->code < 400)
		return status_bad_request(st, "code: %d is no error", r->code);
	if (life > 0)
		r->until = usec_add(loop_now(f->lite->loop), (usec_t)llround(life * (double)USEC_SEC));
	if (count > 0)
		r->left = (int64_t)count;
	return 0;
}

static void compact(struct faults *f, const struct rule *r)
{
	struct collection *c;
	size_t i = 0;

	lite_commit(f->lite);
	while ((c = map_next(&f->lite->db->collections, &i)))
		if (str_eq(r->resource, "*") || str_eq(r->resource, c->name))
			db_forget(f->lite->db, c);
}

/* Turns a rule on: what it does to what is there happens now; only what also waits for calls is kept. */
static void start_rule(struct faults *f, struct rule r)
{
	if (r.kind == COMPACT) {
		compact(f, &r);
		return;
	}
	if (r.kind == RESTART) {
		f->lite->restart = true;
		f->lite->down = r.span;
		loop_stop(f->lite->loop);
		return;
	}
	if (is_watch_fault(r.kind))
		watches_fault(f->lite->watches, watch_fault_of(r.kind), r.span, pick, &(struct picking) { f, &r });
	if (!is_watch_fault(r.kind) || r.until != USEC_NEVER)
		f->rules[f->n++] = r;
}

static void add_rule(struct buf *out, const struct rule *r)
{
	buf_printf(out, "{\"kind\":\"%s\",\"verb\":\"%s\",\"resource\":\"%s\",\"namespace\":\"%s\",\"user\":",
	           kind_names[r->kind], r->verb, r->resource, r->ns);
	obj_add_quoted(out, r->user);
	buf_printf(out, ",\"share\":%.6f,\"code\":%d,\"seconds\":%.3f,\"asked\":%llu,\"hit\":%llu}",
	           (double)r->share / MILLION, r->code, (double)r->span / (double)USEC_SEC,
	           (unsigned long long)r->asked, (unsigned long long)r->hit);
}

static int answer_rules(struct call *c)
{
	_cleanup_buf_ struct buf out = BUF(BODY_MAX);
	struct faults *f = c->lite->faults;

	buf_printf(&out, "{\"seed\":%llu,\"rules\":[", (unsigned long long)f->seed);
	for (size_t i = 0; i < f->n; i++) {
		if (i > 0)
			buf_add_char(&out, ',');
		add_rule(&out, &f->rules[i]);
	}
	buf_add_str(&out, "]}");
	return call_json(c, 200, &out);
}

static int set_rules(struct call *c, struct status *st)
{
	struct faults *f = c->lite->faults;
	_cleanup_doc_ yyjson_doc *doc = NULL;
	_cleanup_free_ struct rule *rules = mem_alloc_n(FAULT_RULES_MAX, sizeof(struct rule));
	yyjson_val *root, *v;
	struct err err = { 0 };
	size_t i, n, count = 0;
	const char *text;
	int r;

	text = xch_body(c->x, &n);
	if (json_parse_copy(text, n, &doc, &err) < 0)
		return status_bad_request(st, "%s", err_text(&err));
	root = yyjson_doc_get_root(doc);
	yyjson_arr_foreach(json_get(root, "rules"), i, n, v)
	{
		if (f->n + count >= FAULT_RULES_MAX)
			return status_bad_request(st, "more than %d rules", FAULT_RULES_MAX);
		r = parse_rule(f, v, &rules[count++], st);
		if (r < 0)
			return r;
	}
	if (json_get(root, "seed")) {
		f->seed = (uint64_t)json_int(json_get(root, "seed"), 0);
		f->rng = rng_seeded(f->seed);
	}
	for (i = 0; i < count; i++)
		start_rule(f, rules[i]);
	return answer_rules(c);
}

int fault_endpoint(struct call *c, struct status *st)
{
	if (!user_in_group(c->user, "system:masters"))
		return status_fail(st, 403, "Forbidden", NULL, "faults are for the admin");
	if (str_eq(c->route.verb, "get"))
		return answer_rules(c);
	if (str_eq(c->route.verb, "post"))
		return set_rules(c, st);
	if (!str_eq(c->route.verb, "delete"))
		return status_method_not_allowed(st);
	c->lite->faults->n = 0;
	return answer_rules(c);
}
