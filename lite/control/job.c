/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Jobs: Pods until enough of them have succeeded, or too many have failed.
 */
#include <string.h>

#include "base/str.h"
#include "lite/condition.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "json/json.h"

#define BACKOFF_FIRST (10 * USEC_SEC)
#define BACKOFF_MAX (6 * USEC_MINUTE)
#define BACKOFF_LIMIT 6

static const struct kind *kind(void)
{
	return kind_of("batch", "jobs");
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->jobs && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->pods)
		mark_controller(c, e, "Job");
}

struct progress {
	struct item *item;
	yyjson_val *root;
	char *ns;
	struct vpod **active;
	int64_t n_active, succeeded, failed, ready;
	usec_t last_failure;
	const char *condition, *reason, *message; /* how it ended, NULL: not yet */
};

static bool has_condition(yyjson_val *root, const char *type)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(val_at(root, "status", "conditions"), i, n,
	                   v) if (str_eq(json_str(json_get(v, "type")), type) &&
	                          str_eq(json_str(json_get(v, "status")), "True")) return true;
	return false;
}

static usec_t ended_at(const struct pod *p)
{
	usec_t at = p->meta.created;

	for (uint32_t i = 0; i < p->n_statuses; i++)
		at = MAX_OF(at, p->statuses[i].finished);
	return at;
}

static void count(struct controller *c, struct progress *j)
{
	struct link *pods = view_pods_of(c->control->view, item_uid(j->root));
	size_t n = 0;

	VPODS_EACH(p, pods)
	n += p != NULL;
	j->active = mem_alloc_n(n, sizeof(struct vpod *));
	VPODS_EACH(p, pods)
	{
		if (p->pod->phase == POD_SUCCEEDED) {
			j->succeeded++;
		} else if (p->pod->phase == POD_FAILED || p->pod->meta.deletion > 0) {
			j->failed++;
			j->last_failure = MAX_OF(j->last_failure, ended_at(p->pod));
		} else {
			j->active[j->n_active++] = p;
			j->ready += pod_is_ready(p->pod);
		}
	}
	/* Pods that were removed since stay counted. */
	j->succeeded = MAX_OF(j->succeeded, json_int(val_at(j->root, "status", "succeeded"), 0));
	j->failed = MAX_OF(j->failed, json_int(val_at(j->root, "status", "failed"), 0));
}

static usec_t started_at(yyjson_val *root)
{
	const char *text = json_str(val_at(root, "status", "startTime"));
	usec_t at = 0;

	if (text)
		time_parse_rfc3339(text, strlen(text), &at);
	return at;
}

static void judge(struct controller *c, struct progress *j)
{
	yyjson_val *spec = json_get(j->root, "spec"), *completions = json_get(spec, "completions");
	int64_t limit = json_int(json_get(spec, "backoffLimit"), BACKOFF_LIMIT),
	        deadline = json_int(json_get(spec, "activeDeadlineSeconds"), 0);
	usec_t start = started_at(j->root), now = lite_now(c->lite);

	if (j->failed > limit) {
		j->condition = "Failed";
		j->reason = "BackoffLimitExceeded";
		j->message = "Job has reached the specified backoff limit";
	} else if (deadline > 0 && start > 0 && now >= start + deadline * USEC_SEC) {
		j->condition = "Failed";
		j->reason = "DeadlineExceeded";
		j->message = "Job was active longer than specified deadline";
	} else if (completions ? j->succeeded >= json_int(completions, 1) : j->succeeded > 0 && j->n_active == 0) {
		j->condition = "Complete";
		j->reason = "CompletionsReached";
		j->message = "Reached expected number of succeeded pods";
	}
	if (deadline > 0 && start > 0 && !j->condition)
		mark_item(c, j->item, start + deadline * USEC_SEC - now);
}

static void remove_active(struct controller *c, struct progress *j, int64_t n)
{
	sort_for_removal(j->active, (size_t)j->n_active);
	for (int64_t i = 0; i < MIN_OF(n, j->n_active); i++)
		if (delete_object(c, kind_of("", "pods"), j->ns, j->active[i]->pod->meta.name, &DELETE_USUAL) == 0)
			tell(c, kind(), j->item, "Normal", "SuccessfulDelete", "Deleted pod: %s",
			     j->active[i]->pod->meta.name);
}

static int64_t wanted(const struct progress *j)
{
	yyjson_val *spec = json_get(j->root, "spec"), *completions = json_get(spec, "completions");
	int64_t parallel = json_int(json_get(spec, "parallelism"), 1);

	if (j->condition || json_bool(json_get(spec, "suspend"), false))
		return 0;
	if (!completions)
		return j->succeeded > 0 ? j->n_active : parallel;
	return MAX_OF(MIN_OF(parallel, json_int(completions, 1) - j->succeeded), 0);
}

/* After failures new Pods wait, longer each time. */
static usec_t wait_for_backoff(struct controller *c, const struct progress *j)
{
	usec_t span = BACKOFF_FIRST;

	if (j->failed == 0)
		return 0;
	for (int64_t i = 1; i < j->failed && span < BACKOFF_MAX; i++)
		span *= 2;
	return MAX_OF(j->last_failure + MIN_OF(span, BACKOFF_MAX) - lite_now(c->lite), 0);
}

static void add_pods(struct controller *c, struct progress *j, int64_t n)
{
	usec_t wait = wait_for_backoff(c, j);

	if (wait > 0) {
		mark_item(c, j->item, wait);
		return;
	}
	for (int64_t i = 0; i < MIN_OF(n, (int64_t)CREATE_AT_ONCE_MAX); i++) {
		_cleanup_(item_unrefp) struct item *pod = NULL;

		if (create_object(c, kind_of("", "pods"), j->ns, from_template(kind(), j->item, j->root), &pod) < 0) {
			mark_item(c, j->item, USEC_SEC);
			return;
		}
		tell(c, kind(), j->item, "Normal", "SuccessfulCreate", "Created pod: %s", pod->name);
		j->n_active++;
	}
}

static void set_count(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *key, int64_t value)
{
	if (value > 0)
		obj_set_int(doc, status, key, value);
	else
		obj_drop(status, key);
}

static void write_progress(struct controller *c, struct progress *j)
{
	struct item *i = reg_get(c->lite, kind(), j->ns, j->item->name);
	yyjson_mut_doc *doc = i ? reg_doc(kind(), i) : NULL;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *status;
	char now[TIME_TEXT_MAX];
	bool suspended = json_bool(val_at(j->root, "spec", "suspend"), false);

	if (!doc)
		return;
	status = obj_make(doc, root, "status");
	time_format(lite_now(c->lite), now);
	if (!obj_get(status, "startTime") && !suspended)
		obj_set_str(doc, status, "startTime", now);
	set_count(doc, status, "active", j->condition ? 0 : j->n_active);
	set_count(doc, status, "succeeded", j->succeeded);
	set_count(doc, status, "failed", j->failed);
	obj_set_int(doc, status, "ready", j->condition ? 0 : j->ready);
	if (suspended)
		set_condition(doc, "Suspended", "True", "JobSuspended", "Job suspended", lite_now(c->lite));
	if (j->condition) {
		set_condition(doc, str_eq(j->condition, "Complete") ? "SuccessCriteriaMet" : "FailureTarget", "True",
		              j->reason, j->message, lite_now(c->lite));
		set_condition(doc, j->condition, "True", j->reason, j->message, lite_now(c->lite));
		if (str_eq(j->condition, "Complete"))
			obj_set_str(doc, status, "completionTime", now);
	}
	if (write_status(c, kind(), i, doc) == 0 && j->condition)
		tell(c, kind(), i, str_eq(j->condition, "Complete") ? "Normal" : "Warning",
		     str_eq(j->condition, "Complete") ? "Completed" : j->reason, "%s",
		     str_eq(j->condition, "Complete") ? "Job completed" : j->message);
}

/* One that is over goes when its time to live is. */
static void expire(struct controller *c, const struct item *i, yyjson_val *root)
{
	yyjson_val *ttl = val_at(root, "spec", "ttlSecondsAfterFinished"), *v;
	_cleanup_free_ char *ns = mem_strndup(i->key, i->ns_len);
	struct delete_options o = DELETE_USUAL;
	usec_t at = 0, each;
	size_t k, n;

	if (!ttl)
		return;
	yyjson_arr_foreach(val_at(root, "status", "conditions"), k, n, v)
	{
		const char *text = json_str(json_get(v, "lastTransitionTime"));

		if (text && time_parse_rfc3339(text, strlen(text), &each) == 0)
			at = MAX_OF(at, each);
	}
	at += json_int(ttl, 0) * USEC_SEC;
	o.propagation = PROPAGATE_BACKGROUND;
	if (at <= lite_now(c->lite))
		delete_object(c, kind(), ns, i->name, &o);
	else
		mark_item(c, i, at - lite_now(c->lite));
}

static void look(struct controller *c, const char *key)
{
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->jobs, key));
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	struct progress j = { .item = i };
	int64_t more;

	if (!doc || is_deleting(yyjson_doc_get_root(doc)))
		return;
	j.root = yyjson_doc_get_root(doc);
	if (has_condition(j.root, "Complete") || has_condition(j.root, "Failed")) {
		expire(c, i, j.root);
		return;
	}
	j.ns = mem_strndup(i->key, i->ns_len);
	count(c, &j);
	judge(c, &j);
	more = wanted(&j) - j.n_active;
	if (more < 0) {
		remove_active(c, &j, -more);
		j.n_active += more;
	} else if (more > 0) {
		add_pods(c, &j, more);
	}
	write_progress(c, &j);
	free(j.active);
	free(j.ns);
}

const struct controller_ops job_ops = { "job-controller", NULL, NULL, changed, look };
