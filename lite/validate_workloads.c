/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kinds that make Pods: their selector must find what their template makes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/selector.h"
#include "lite/validate_kinds.h"

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

/* Does the selector find Pods with the template's labels? */
static bool selects(yyjson_mut_val *selector, yyjson_mut_val *labels)
{
	_cleanup_doc_ yyjson_doc *s = yyjson_mut_val_imut_copy(selector, NULL),
	                         *l = labels ? yyjson_mut_val_imut_copy(labels, NULL) : NULL;
	_cleanup_(selector_freep) struct selector *parsed = NULL;

	if (selector_from_object(yyjson_doc_get_root(s), &parsed) < 0)
		return true; /* told elsewhere */
	return selector_matches(parsed, l ? yyjson_doc_get_root(l) : NULL);
}

static void check_template_labels(struct check *c, yyjson_mut_val *spec)
{
	yyjson_mut_val *selector = obj_get(spec, "selector"), *labels = obj_at(spec, "template", "metadata", "labels");
	size_t up;

	if (!obj_size(selector) || selects(selector, labels))
		return;
	up = check_enter(c, "template.metadata");
	if (labels)
		check_add(c, CAUSE_INVALID, "labels", labels, "`selector` does not match template `labels`");
	else
		causes_add(c->causes, CAUSE_INVALID, "spec.template.metadata.labels", "null",
		           "`selector` does not match template `labels`");
	check_leave(c, up);
}

static void check_template(struct check *c, yyjson_mut_val *spec, const char *kind)
{
	yyjson_mut_val *template = obj_get(spec, "template"), *pod = obj_get(template, "spec");
	size_t up = check_enter(c, "template"), in;

	check_labels(c, obj_get(template, "metadata"), "labels");
	in = check_enter(c, "spec");
	if (!str_eq(kind,
	            "StatefulSet")) /* the real server looks at those only when there is a Pod: claims add volumes */
		check_pod_spec(c, pod);
	if (kind && !str_eq(obj_str(obj_get(pod, "restartPolicy")), "Always"))
		check_add_text(c, CAUSE_UNSUPPORTED, "restartPolicy",
		               str_or(obj_str(obj_get(pod, "restartPolicy")), ""), "supported values: \"Always\"");
	if (kind && obj_get(pod, "activeDeadlineSeconds"))
		check_add(c, CAUSE_FORBIDDEN, "activeDeadlineSeconds", NULL,
		          "activeDeadlineSeconds in %s is not Supported", kind);
	check_leave(c, in);
	check_leave(c, up);
}

static void check_set(struct check *c, yyjson_mut_val *spec, const char *kind, const char *empty)
{
	yyjson_mut_val *selector = obj_get(spec, "selector");

	check_min(c, spec, "replicas", 0);
	if (!obj_is_set(selector))
		check_add(c, CAUSE_REQUIRED, "selector", NULL, NULL);
	else
		check_selector(c, spec, "selector");
	if (obj_is_set(selector) && !obj_size(obj_get(selector, "matchLabels")) &&
	    !obj_size(obj_get(selector, "matchExpressions")))
		check_add(c, CAUSE_INVALID, "selector", selector, "empty selector is invalid for %s", empty);
	check_template_labels(c, spec);
	check_template(c, spec, kind);
	check_min(c, spec, "minReadySeconds", 0);
	check_min(c, spec, "revisionHistoryLimit", 0);
}

/* A number of Pods, or a share of them: at least 0, at most 100%. */
void check_share(struct check *c, yyjson_mut_val *obj, const char *member)
{
	yyjson_mut_val *v = obj_get(obj, member);
	const char *text = obj_str(v);
	char *end = NULL;
	long percent;

	check_min(c, obj, member, 0);
	if (!text)
		return;
	percent = strtol(text, &end, 10);
	if (end == text || !str_eq(end, "%") || percent < 0)
		check_add(c, CAUSE_INVALID, member, v,
		          "a valid percent string must be a numeric string followed by an ending '%%' (e.g. '1%%',  or "
		          "'93%%', regex used for "
		          "validation is '[0-9]+%%')");
	else if (percent > 100)
		check_add(c, CAUSE_INVALID, member, v, "must not be greater than 100%%");
}

void check_deployment(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec"), *strategy = obj_get(spec, "strategy"),
	               *rolling = obj_get(strategy, "rollingUpdate");
	const char *type = str_or(obj_str(obj_get(strategy, "type")), "");
	int64_t deadline = obj_int(obj_get(spec, "progressDeadlineSeconds"), INT32_MAX);
	size_t up = check_enter(c, "spec"), in;

	check_set(c, spec, "ReplicaSet", "deployment");
	if (!str_eq(type, "Recreate") && !str_eq(type, "RollingUpdate"))
		check_add(c, CAUSE_UNSUPPORTED, "strategy", strategy,
		          "supported values: \"Recreate\", \"RollingUpdate\"");
	in = check_enter(c, "strategy");
	if (str_eq(type, "Recreate") && rolling)
		check_add(c, CAUSE_FORBIDDEN, "rollingUpdate", NULL,
		          "may not be specified when strategy `type` is 'Recreate'");
	check_enter(c, "rollingUpdate");
	check_share(c, rolling, "maxUnavailable");
	check_share(c, rolling, "maxSurge");
	check_leave(c, in);
	check_min(c, spec, "progressDeadlineSeconds", 0);
	if (deadline <= obj_int(obj_get(spec, "minReadySeconds"), 0))
		check_add(c, CAUSE_INVALID, "progressDeadlineSeconds", obj_get(spec, "progressDeadlineSeconds"),
		          "must be greater than minReadySeconds");
	check_leave(c, up);
}

void check_replica_set(struct check *c, yyjson_mut_val *obj)
{
	size_t up = check_enter(c, "spec");

	check_set(c, obj_get(obj, "spec"), "ReplicaSet", "deployment");
	check_leave(c, up);
}

void check_daemon_set(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec"), *rolling = obj_at(spec, "updateStrategy", "rollingUpdate");
	size_t up = check_enter(c, "spec"), in;

	check_set(c, spec, "DaemonSet", "daemonset");
	in = check_enter(c, "updateStrategy");
	check_word(c, obj_get(spec, "updateStrategy"), "type", WORDS("RollingUpdate", "OnDelete"), true);
	check_enter(c, "rollingUpdate");
	check_share(c, rolling, "maxUnavailable");
	check_share(c, rolling, "maxSurge");
	check_leave(c, in);
	check_leave(c, up);
}

void check_stateful_set(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec");
	size_t up = check_enter(c, "spec");

	check_set(c, spec, "StatefulSet", "statefulset");
	check_word(c, spec, "podManagementPolicy", WORDS("OrderedReady", "Parallel"), true);
	check_leave(c, up);
}

void check_selector_kept(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	size_t up = check_enter(c, "spec");

	check_same(c, obj_get(obj, "spec"), obj_get(old, "spec"), "selector");
	check_leave(c, up);
}

void check_job(struct check *c, yyjson_mut_val *obj)
{
	static const char *const counts[] = { "parallelism",
		                              "completions",
		                              "activeDeadlineSeconds",
		                              "backoffLimit",
		                              "ttlSecondsAfterFinished",
		                              "backoffLimitPerIndex",
		                              "maxFailedIndexes" };
	yyjson_mut_val *spec = obj_get(obj, "spec"), *pod = obj_at(spec, "template", "spec");
	const char *restart = str_or(obj_str(obj_get(pod, "restartPolicy")), "");
	size_t up = check_enter(c, "spec"), in;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		check_min(c, spec, counts[i], 0);
	check_word(c, spec, "completionMode", WORDS("NonIndexed", "Indexed"), false);
	if (str_eq(obj_str(obj_get(spec, "completionMode")), "Indexed") && !obj_is_set(obj_get(spec, "completions")))
		check_add(c, CAUSE_REQUIRED, "completions", NULL, "when completion mode is Indexed");
	check_template(c, spec, NULL);
	in = check_enter(c, "template.spec");
	if (!str_eq(restart, "OnFailure") && !str_eq(restart, "Never")) {
		if (*restart && !str_eq(restart, "Always"))
			check_add_text(c, CAUSE_UNSUPPORTED, "restartPolicy", restart,
			               "supported values: \"OnFailure\", \"Never\"");
		else
			check_add(c, CAUSE_REQUIRED, "restartPolicy", NULL, "valid values: \"OnFailure\", \"Never\"");
	}
	check_leave(c, in);
	if (!obj_is_set(obj_get(spec, "selector")))
		check_add(c, CAUSE_REQUIRED, "selector", NULL, NULL);
	else
		check_selector(c, spec, "selector");
	check_template_labels(c, spec);
	check_leave(c, up);
}

void check_job_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old_job)
{
	static const char *const kept[] = {
		"selector",  "template",     "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
		"managedBy", "successPolicy"
	};
	yyjson_mut_val *spec = obj_get(obj, "spec"), *old = obj_get(old_job, "spec");
	bool indexed = str_eq(obj_str(obj_get(spec, "completionMode")), "Indexed");
	size_t up = check_enter(c, "spec");

	/* An indexed Job may be made larger or smaller as long as all of it runs at once. */
	if (!indexed || !obj_equal(obj_get(spec, "completions"), obj_get(spec, "parallelism")))
		check_same(c, spec, old, "completions");
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		check_same(c, spec, old, kept[i]);
	check_leave(c, up);
}
