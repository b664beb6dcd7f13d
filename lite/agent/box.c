/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/box.h"

#include <errno.h>

#include "base/str.h"
#include "json/decode.h"

static const char *const probe_kinds[] = { "none", "exec", "tcp", "http", NULL };
static const char *const restarts[] = { "Always", "OnFailure", "Never", NULL };
static const char *const phases[] = { "waiting", "running", "terminated", NULL };

static const struct json_field probe_fields[] = {
	JSON_ENUM("kind", struct probe_spec, kind, probe_kinds),
	JSON_STRS("argv", struct probe_spec, argv, n_argv),
	JSON_STR("host", struct probe_spec, host),
	JSON_STR("path", struct probe_spec, path),
	JSON_INT32("port", struct probe_spec, port),
	JSON_INT32("initialMs", struct probe_spec, initial_ms),
	JSON_INT32("periodMs", struct probe_spec, period_ms),
	JSON_INT32("timeoutMs", struct probe_spec, timeout_ms),
	JSON_INT32("failures", struct probe_spec, failures),
	JSON_INT32("successes", struct probe_spec, successes),
};
static const struct json_type probe_type = JSON_TYPE(struct probe_spec, probe_fields);

static const struct json_field box_fields[] = {
	JSON_STR_NEEDED("name", struct box_spec, name),
	JSON_STR("cwd", struct box_spec, cwd),
	JSON_STR_NEEDED("log", struct box_spec, log),
	JSON_STRS("argv", struct box_spec, argv, n_argv),
	JSON_STRS("env", struct box_spec, env, n_env),
	JSON_BOOL("sidecar", struct box_spec, sidecar),
	JSON_STRUCT("startup", struct box_spec, startup, probe_type),
	JSON_STRUCT("readiness", struct box_spec, readiness, probe_type),
	JSON_STRUCT("liveness", struct box_spec, liveness, probe_type),
};
static const struct json_type box_type = JSON_TYPE(struct box_spec, box_fields);

static const struct json_field pod_spec_fields[] = {
	JSON_STR_NEEDED("uid", struct pod_spec, uid),
	JSON_ENUM("restart", struct pod_spec, restart, restarts),
	JSON_ARRAY("inits", struct pod_spec, inits, n_inits, box_type),
	JSON_ARRAY("mains", struct pod_spec, mains, n_mains, box_type),
};
static const struct json_type pod_spec_type = JSON_TYPE(struct pod_spec, pod_spec_fields);

static const struct json_field exit_fields[] = {
	JSON_INT32("code", struct box_exit, code),       JSON_INT32("signal", struct box_exit, signal),
	JSON_INT64("started", struct box_exit, started), JSON_INT64("finished", struct box_exit, finished),
	JSON_STR("reason", struct box_exit, reason),
};
static const struct json_type exit_type = JSON_TYPE(struct box_exit, exit_fields);

static const struct json_field box_state_fields[] = {
	JSON_STR_NEEDED("name", struct box_state, name),
	JSON_ENUM("phase", struct box_state, phase, phases),
	JSON_STR("reason", struct box_state, reason),
	JSON_STR("message", struct box_state, message),
	JSON_INT32("pid", struct box_state, pid),
	JSON_INT32("restarts", struct box_state, restarts),
	JSON_BOOL("ready", struct box_state, ready),
	JSON_BOOL("started", struct box_state, started),
	JSON_INT64("startedAt", struct box_state, started_at),
	JSON_STRUCT("exit", struct box_state, exit, exit_type),
	JSON_STRUCT("last", struct box_state, last, exit_type),
	JSON_PRESENT("last", struct box_state, has_last),
};
static const struct json_type box_state_type = JSON_TYPE(struct box_state, box_state_fields);

static const struct json_field pod_state_fields[] = {
	JSON_BOOL("initialized", struct pod_state, initialized),
	JSON_BOOL("ended", struct pod_state, ended),
	JSON_ARRAY("inits", struct pod_state, inits, n_inits, box_state_type),
	JSON_ARRAY("mains", struct pod_state, mains, n_mains, box_state_type),
};
static const struct json_type pod_state_type = JSON_TYPE(struct pod_state, pod_state_fields);

static int parse(const struct json_type *type, const char *text, size_t len, void **ret, struct err *err)
{
	struct json_scratch scratch = { 0 };
	yyjson_doc *doc;
	int r = json_parse_copy(text, len, &doc, err);

	if (r < 0)
		return r;
	r = json_decode(type, yyjson_doc_get_root(doc), &scratch, ret, NULL, err);
	json_scratch_done(&scratch);
	yyjson_doc_free(doc);
	return r;
}

int pod_spec_parse(const char *text, size_t len, struct pod_spec **ret, struct err *err)
{
	struct pod_spec *spec = NULL;
	int r = parse(&pod_spec_type, text, len, (void **)&spec, err);

	if (r < 0)
		return r;
	if (spec->n_mains == 0 || spec->n_mains > POD_BOXES_MAX || spec->n_inits > POD_BOXES_MAX) {
		free(spec);
		return err_set(err, -EINVAL, "a Pod has 1 to %d containers and at most as many init containers",
		               POD_BOXES_MAX);
	}
	*ret = spec;
	return 0;
}

int pod_state_parse(const char *text, size_t len, struct pod_state **ret, struct err *err)
{
	return parse(&pod_state_type, text, len, (void **)ret, err);
}

static yyjson_mut_val *exit_value(yyjson_mut_doc *doc, const struct box_exit *e)
{
	yyjson_mut_val *o = yyjson_mut_obj(doc);

	yyjson_mut_obj_add_int(doc, o, "code", e->code);
	yyjson_mut_obj_add_int(doc, o, "signal", e->signal);
	yyjson_mut_obj_add_sint(doc, o, "started", e->started);
	yyjson_mut_obj_add_sint(doc, o, "finished", e->finished);
	yyjson_mut_obj_add_strcpy(doc, o, "reason", str_or(e->reason, ""));
	return o;
}

static void add_boxes(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *key, const struct box_state *boxes,
                      uint32_t n)
{
	yyjson_mut_val *list = yyjson_mut_arr(doc);

	for (uint32_t i = 0; i < n; i++) {
		const struct box_state *b = &boxes[i];
		yyjson_mut_val *o = yyjson_mut_arr_add_obj(doc, list);

		yyjson_mut_obj_add_strcpy(doc, o, "name", b->name);
		yyjson_mut_obj_add_str(doc, o, "phase", phases[b->phase]);
		yyjson_mut_obj_add_strcpy(doc, o, "reason", str_or(b->reason, ""));
		yyjson_mut_obj_add_strcpy(doc, o, "message", str_or(b->message, ""));
		yyjson_mut_obj_add_int(doc, o, "pid", b->pid);
		yyjson_mut_obj_add_int(doc, o, "restarts", b->restarts);
		yyjson_mut_obj_add_bool(doc, o, "ready", b->ready);
		yyjson_mut_obj_add_bool(doc, o, "started", b->started);
		yyjson_mut_obj_add_sint(doc, o, "startedAt", b->started_at);
		if (b->phase == BOX_TERMINATED)
			yyjson_mut_obj_add_val(doc, o, "exit", exit_value(doc, &b->exit));
		if (b->has_last)
			yyjson_mut_obj_add_val(doc, o, "last", exit_value(doc, &b->last));
	}
	yyjson_mut_obj_add_val(doc, root, key, list);
}

void pod_state_format(const struct pod_state *s, struct buf *out)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	_cleanup_free_ char *text = NULL;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_bool(doc, root, "initialized", s->initialized);
	yyjson_mut_obj_add_bool(doc, root, "ended", s->ended);
	add_boxes(doc, root, "inits", s->inits, s->n_inits);
	add_boxes(doc, root, "mains", s->mains, s->n_mains);
	text = yyjson_mut_write(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
	yyjson_mut_doc_free(doc);
	buf_add_str(out, text ? text : "{}");
}
