/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/podjob.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/hostlist.h"
#include "base/quantity.h"
#include "base/str.h"
#include "policy/resources.h"

#define NS_MAX 63
#define NAME_MAX_BYTES 253
#define EXCLUDED_MAX ((size_t)HOSTLIST_NAMES_MAX * 2 * (HOSTLIST_NAME_MAX + 3))
#define MIB (INT64_C(1) << 20)

#define MARK_STARTED ": started"

/* Identity */

const char *pod_identity(const struct pod *pod, char text[POD_IDENTITY_MAX])
{
	snprintf(text, POD_IDENTITY_MAX, "%.*s/%.*s/%.*s", NS_MAX, str_or(pod->meta.ns, ""), NAME_MAX_BYTES,
	         str_or(pod->meta.name, ""), POD_UID_MAX - 1, str_or(pod->meta.uid, ""));
	return text;
}

/* Takes the characters that a name may have, and the slash behind it; false when there are none, or more than fit. */
static bool take(const char **p, const char *allowed, bool slash, char *to, size_t size)
{
	size_t len = strspn(*p, allowed);

	if (len == 0 || len >= size || (slash && (*p)[len] != '/'))
		return false;
	memcpy(to, *p, len);
	to[len] = 0;
	*p += len + slash;
	return true;
}

/* " 3": the number of a run, as extra_format() writes it and in no other way. */
static bool take_restarts(const char *p, uint32_t *ret)
{
	int64_t v;

	if (!*p) {
		*ret = 0;
		return true;
	}
	if (p[0] != ' ' || p[1] == '0' || str_to_i64(p + 1, 1, UINT32_MAX, &v) < 0)
		return false;
	*ret = (uint32_t)v;
	return true;
}

#define LABEL_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

bool extra_parse(const char *extra, struct extra_id *ret)
{
	struct extra_id id = { 0 };
	const char *p = str_or(extra, "");

	if (!take(&p, LABEL_CHARS, true, id.ns, sizeof(id.ns)) ||
	    !take(&p, LABEL_CHARS ".", true, id.name, sizeof(id.name)) ||
	    !take(&p, LABEL_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ", false, id.uid, sizeof(id.uid)))
		return false;
	if (str_starts(p, MARK_STARTED)) {
		id.mark = EXTRA_STARTED;
		if (!take_restarts(p + strlen(MARK_STARTED), &id.restarts))
			return false;
	} else if (*p)
		return false;
	*ret = id;
	return true;
}

const char *extra_format(const struct extra_id *id, char text[EXTRA_MAX])
{
	int n = snprintf(text, EXTRA_MAX, "%s/%s/%s", id->ns, id->name, id->uid);
	size_t room = EXTRA_MAX - (size_t)n;

	switch (id->mark) {
	case EXTRA_PLAIN: break;
	case EXTRA_STARTED:
		if (id->restarts)
			snprintf(text + n, room, MARK_STARTED " %" PRIu32, id->restarts);
		else
			snprintf(text + n, room, MARK_STARTED);
	}
	return text;
}

/* Behind its mark; false when there is none. Earlier versions wrote "sunk: released" and no more. */
static bool read_admin_comment(const char *text, struct extra_id *id, bool *ret_released)
{
	static const char bare[] = "sunk: released";
	const char *p = str_or(text, "");

	*ret_released = str_starts(p, bare);
	if (str_starts(p, RELEASED_MARK))
		p += strlen(RELEASED_MARK);
	else if (str_starts(p, OURS_MARK))
		p += strlen(OURS_MARK);
	else
		return false;
	return extra_parse(p, id) && id->mark == EXTRA_PLAIN;
}

bool job_claim_of(const struct job *job, struct job_claim *ret)
{
	struct job_claim c = { 0 };
	struct extra_id said;
	bool says = extra_parse(job->extra, &said);

	c.sure = read_admin_comment(job->admin_comment, &c.id, &c.released);
	c.misnamed = c.sure && (!says || !str_eq(said.uid, c.id.uid));
	if (!c.sure) {
		char name[sizeof(said.ns) + sizeof(said.name)];

		if (!says)
			return false;
		snprintf(name, sizeof(name), "%s.%s", said.ns, said.name);
		if (!str_eq(job->name, name))
			return false;
	}
	if (!c.misnamed)
		c.id = said;
	*ret = c;
	return true;
}

/* The Pod itself names the job. */
static bool is_named(const struct job *job, const struct extra_id *id, const struct pod *pod)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, job->id);
	return pod && str_eq(pod->meta.uid, id->uid) &&
	       str_eq(pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_JOB_ID), text);
}

bool job_is_ours(const struct job *job, const struct job_claim *claim, const struct extra_id *known,
                 const struct pod *pod, const struct rules *rules, struct job_claim *ret)
{
	if (known && !(claim && (claim->sure || str_eq(claim->id.uid, known->uid)))) {
		*ret = (struct job_claim) { .id = *known, .misnamed = true };
		return true;
	}
	if (!claim || !rules_have_namespace(rules, claim->id.ns))
		return false;
	*ret = *claim;
	return known || claim->sure || job->uid == rules->uid || is_named(job, &claim->id, pod);
}

/* GPUs. The type is what the label of the node must be, when everything the Pod accepts comes to the same type. */

#define GPU_VALUES_MAX 64 /* in one requirement; a list that is longer names no type */

static bool has_value(const struct requirement *r, const char *value)
{
	for (uint32_t i = 0; i < r->n_values; i++)
		if (str_eq(r->values[i], value))
			return true;
	return false;
}

/* Does the term, with the node selector beside it, allow the value of the label? */
static bool allows(const struct selector_term *term, const char *selected, const char *label, const char *value)
{
	if (selected && !str_eq(selected, value))
		return false;
	for (uint32_t i = 0; i < term->n_labels; i++) {
		const struct requirement *r = &term->labels[i];

		if (!str_eq(r->key, label))
			continue;
		if ((r->op == SEL_IN && !has_value(r, value)) || (r->op == SEL_NOT_IN && has_value(r, value)) ||
		    r->op == SEL_DOES_NOT_EXIST)
			return false;
	}
	return true;
}

/* One type so far; `many` once there is another, or a node without a type would do. */
struct type_found {
	const char *type;
	bool many;
};

static void add_value(struct type_found *f, const struct rules *rules, const char *value)
{
	const char *type = pair_get(rules->gpu_types, rules->n_gpu_types, value);

	if (str_empty(type) || (f->type && !str_eq(f->type, type)))
		f->many = true;
	else
		f->type = type;
}

/* The first requirement that lists values; the others only narrow it. */
static const struct requirement *list_of(const struct selector_term *term, const char *label)
{
	for (uint32_t i = 0; i < term->n_labels; i++)
		if (term->labels[i].op == SEL_IN && str_eq(term->labels[i].key, label))
			return &term->labels[i];
	return NULL;
}

static bool too_long(const struct selector_term *term)
{
	for (uint32_t i = 0; i < term->n_labels; i++)
		if (term->labels[i].n_values > GPU_VALUES_MAX)
			return true;
	return false;
}

static void add_term(struct type_found *f, const struct selector_term *term, const char *selected,
                     const struct rules *rules)
{
	const struct requirement *list = list_of(term, rules->gpu_type_label);

	if (term->n_labels == 0 && term->n_fields == 0)
		return; /* matches nothing */
	if (too_long(term) || (!list && !selected)) {
		f->many = true;
		return;
	}
	if (!list) {
		if (allows(term, selected, rules->gpu_type_label, selected))
			add_value(f, rules, selected);
		return;
	}
	for (uint32_t i = 0; i < list->n_values; i++)
		if (allows(term, selected, rules->gpu_type_label, list->values[i]))
			add_value(f, rules, list->values[i]);
}

static const char *gpu_type(const struct pod *pod, const struct rules *rules)
{
	const char *selected;
	struct type_found found = { 0 };

	if (str_empty(rules->gpu_type_label))
		return NULL;
	selected = pair_get(pod->node_selector, pod->n_node_selector, rules->gpu_type_label);
	if (!pod->n_required_nodes && selected)
		add_value(&found, rules, selected);
	for (uint32_t i = 0; i < pod->n_required_nodes && !found.many; i++)
		add_term(&found, &pod->required_nodes[i], selected, rules);
	return found.many ? NULL : found.type;
}

static char *gpu_request(const struct pod *pod, const struct rules *rules)
{
	const char *resource = NULL, *type;
	int64_t n = 0;

	for (uint32_t i = 0; i < rules->n_gpu_resources && !n; i++) {
		resource = rules->gpu_resources[i];
		n = quantity_units(resources_effective(pod, resource));
	}
	if (!n)
		return NULL;
	type = pair_get(rules->gpu_types, rules->n_gpu_types, resource); /* a slice: nvidia.com/mig-1g.10gb */
	if (str_empty(type))
		type = gpu_type(pod, rules);
	return str_printf("gres:gpu%s%s:%" PRId64, type ? ":" : "", type ? type : "", n);
}

/* Nodes */

static char *join_nodes(const char *asked, const char *infeasible)
{
	_cleanup_hostlist_ struct hostlist all = HOSTLIST_INIT;
	_cleanup_buf_ struct buf text = BUF(EXCLUDED_MAX);

	if (str_empty(asked) && str_empty(infeasible))
		return NULL;
	if (hostlist_parse(&all, asked, NULL) < 0 || hostlist_parse(&all, infeasible, NULL) < 0)
		/* too many to be looked at one by one: Slurm takes them as they are */
		return str_printf("%s%s%s", str_or(asked, ""), str_empty(asked) || str_empty(infeasible) ? "" : ",",
		                  str_or(infeasible, ""));
	hostlist_sort_unique(&all);
	hostlist_format(&all, &text);
	return buf_take(&text);
}

/* The job */

static const char *own(struct podjob *j, char *text)
{
	assert(j->n_text < (int)ARRAY_LEN(j->text));
	j->text[j->n_text++] = text;
	return text;
}

static int64_t whole_mib(int64_t milli_bytes)
{
	int64_t bytes = quantity_units(milli_bytes);

	return bytes / MIB + (bytes % MIB != 0);
}

void podjob_make(const struct pod *pod, const struct wishes *wishes, const struct rules *rules, const char *excluded,
                 struct podjob *ret)
{
	struct podjob j = { 0 };
	struct job_spec *s = &j.spec;
	char identity[POD_IDENTITY_MAX];

	s->name = own(&j, str_printf("%.*s.%.*s", NS_MAX, str_or(pod->meta.ns, ""), NAME_MAX_BYTES,
	                             str_or(pod->meta.name, "")));
	s->extra = own(&j, mem_strdup(pod_identity(pod, identity)));
	s->admin_comment = own(&j, str_printf(OURS_MARK "%s", identity));
	s->comment = wishes->comment;
	s->account = wishes->account;
	s->partition = wishes->partition;
	s->qos = wishes->qos;
	s->reservation = wishes->reservation;
	s->features = wishes->constraints;
	s->prefer = wishes->prefer;
	s->required = wishes->required_nodes;
	s->excluded = own(&j, join_nodes(wishes->excluded_nodes, excluded));
	s->work_dir = str_or(wishes->work_dir, "/");
	s->std_out = s->std_err = "/dev/null";
	s->tres_per_node = own(&j, gpu_request(pod, rules));
	s->uid = wishes->user_id < 0 ? rules->uid : (uint32_t)wishes->user_id;
	s->gid = wishes->group_id < 0 ? rules->gid : (uint32_t)wishes->group_id;
	s->cpus = (uint32_t)quantity_units(resources_effective(pod, "cpu"));
	s->memory_mb = (uint64_t)whole_mib(resources_effective(pod, "memory"));
	s->time_limit_min = wishes->timeout_min < 0 ? 0 : (uint32_t)wishes->timeout_min;
	s->hold = wishes->priority == 0;
	s->has_priority = wishes->priority > 0;
	s->priority = s->has_priority ? (uint32_t)wishes->priority : 0;
	s->shared = wishes->shared;
	s->kill_on_node_fail = 1;
	*ret = j;
}

void podjob_narrow(struct podjob *j)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;

	if (hostlist_parse(&h, j->spec.required, NULL) < 0)
		return;
	hostlist_sort_unique(&h);
	if (h.n > 1)
		j->spec.required = NULL;
}

void podjob_done(struct podjob *j)
{
	for (int i = 0; i < j->n_text; i++)
		free(j->text[i]);
	*j = (struct podjob) { 0 };
}

/* The end of a Pod */

static bool is_sidecar(const struct pod *pod, const char *name)
{
	for (uint32_t i = 0; i < pod->n_init_containers; i++)
		if (pod->init_containers[i].restart == RESTART_ALWAYS && str_eq(pod->init_containers[i].name, name))
			return true;
	return false;
}

static int code_of(const struct container_status *s)
{
	if (s->signal > 0 && s->signal < 128)
		return 128 + s->signal;
	return s->exit_code > 0 && s->exit_code < 256 ? s->exit_code : 1;
}

/* Did `a` fail before `b`? When nobody knows, b did. */
static bool before(const struct container_status *a, const struct container_status *b)
{
	return !b || (a->finished && (!b->finished || a->finished < b->finished));
}

static const struct container_status *first_failed(const struct pod *pod, bool sidecars)
{
	const struct container_status *found = NULL;

	for (uint32_t i = 0; i < pod->n_init_statuses + pod->n_statuses; i++) {
		const struct container_status *s =
		        i < pod->n_init_statuses ? &pod->init_statuses[i] : &pod->statuses[i - pod->n_init_statuses];

		if (!s->terminated || (s->exit_code == 0 && s->signal == 0))
			continue;
		if (is_sidecar(pod, s->name) == sidecars && before(s, found))
			found = s;
	}
	return found;
}

int pod_exit_code(const struct pod *pod)
{
	const struct container_status *failed;

	if (pod->phase == POD_SUCCEEDED)
		return 0;
	/* what a sidecar ended with is mostly a consequence: it counts only when nothing else failed */
	failed = first_failed(pod, false);
	if (!failed)
		failed = first_failed(pod, true);
	return failed ? code_of(failed) : 1;
}
