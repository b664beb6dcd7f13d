/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/kinds.h"

#include "lite/test_samples.h"
#include "lite/types.h"

static void test_every_built_in_kind_has_its_type(void **state)
{
	struct kinds set;
	const struct kind *k;
	char text[100];

	(void)state;
	kinds_init(&set);
	for (size_t i = 0; i < set.n; i++) {
		assert_non_null(set.list[i]->type);
		assert_string_equal(set.list[i]->type->name, set.list[i]->kind);
		assert_non_null(type_field(set.list[i]->type, "apiVersion", 10));
		assert_ptr_equal(kinds_find(&set, set.list[i]->group, set.list[i]->version, set.list[i]->plural),
		                 set.list[i]);
	}
	k = kinds_find(&set, "apps", "v1", "deployments");
	assert_string_equal(k->list, "DeploymentList");
	assert_string_equal(k->singular, "deployment");
	assert_string_equal(kind_api_version(k, text, sizeof(text)), "apps/v1");
	assert_string_equal(kind_resource_name(k, text, sizeof(text)), "deployments.apps");
	assert_string_equal(kind_sub(k, "scale")->type->name, "Scale");
	assert_null(kind_sub(k, "log"));
	assert_null(kinds_find(&set, "apps", "v1beta1", "deployments"));
	assert_ptr_equal(kinds_find_kind(&set, "", "v1", "Pod"), kind_builtin("", "pods"));
	assert_true(kinds_has_group(&set, "apps", NULL));
	assert_false(kinds_has_group(&set, "example.com", NULL));
	kinds_done(&set);
}

static void test_kinds_come_and_go(void **state)
{
	static const struct kind widget = {
		.group = "example.com", .version = "v1", .kind = "Widget", .plural = "widgets"
	};
	struct kinds set;

	(void)state;
	kinds_init(&set);
	kinds_add(&set, &widget);
	assert_ptr_equal(kinds_find(&set, "example.com", "v1", "widgets"), &widget);
	kinds_remove(&set, &widget);
	kinds_remove(&set, &widget);
	assert_null(kinds_find(&set, "example.com", "v1", "widgets"));
	assert_false(kinds_has_group(&set, "example.com", "v1"));
	assert_non_null(kinds_find(&set, "", "v1", "pods"));
	kinds_done(&set);
}

static const struct field *field(const char *package, const char *type, const char *name)
{
	const struct type *t = type_named(package, type);
	const struct field *f;

	assert_non_null(t);
	f = type_field(t, name, strlen(name));
	if (!f)
		fail_msg("%s has no %s", type, name);
	return f;
}

static void test_types_say_how_fields_merge_and_look(void **state)
{
	const char *core = "io.k8s.api.core.v1";
	const struct field *f;

	(void)state;
	f = field(core, "PodSpec", "containers");
	assert_true(f->required && f->always && f->patch_merge && !f->pointer);
	assert_int_equal(f->type->kind, TYPE_LIST);
	assert_int_equal(f->type->merge, MERGE_MAP);
	assert_string_equal(f->type->keys[0], "name");
	assert_null(f->type->keys[1]);
	assert_string_equal(f->type->elem->name, "Container");
	f = field(core, "Container", "ports");
	assert_string_equal(f->merge_key, "containerPort");
	assert_string_equal(f->type->keys[1], "protocol");
	f = field(core, "PodSpec", "volumes");
	assert_true(f->retain_keys);
	/* Inlined: a volume has its sources as its own fields. */
	assert_string_equal(field(core, "Volume", "configMap")->type->name, "ConfigMapVolumeSource");
	assert_string_equal(field(core, "ConfigMapVolumeSource", "name")->type->name, "string");
	assert_string_equal(field(core, "Probe", "periodSeconds")->fallback, "10");
	assert_string_equal(field(core, "PodSpec", "schedulerName")->fallback, "\"default-scheduler\"");
	assert_true(field(core, "Container", "resources")->always);
	assert_true(field(core, "PodCondition", "lastProbeTime")->always);
	assert_false(field(core, "PodSpec", "securityContext")->always);
	assert_int_equal(type_named(core, "ObjectReference")->merge, MERGE_ATOMIC);
	assert_int_equal(field(core, "PodSpec", "nodeSelector")->type->merge, MERGE_ATOMIC);
	f = field("io.k8s.api.batch.v1", "JobStatus", "conditions");
	assert_true(f->patch_merge);
	assert_int_equal(f->type->merge, MERGE_ATOMIC);
	/* Two packages have an EventSeries: each Event means its own. */
	assert_string_equal(field("io.k8s.api.events.v1", "Event", "series")->type->package, "io.k8s.api.events.v1");
	assert_string_equal(field(core, "Event", "series")->type->package, core);
	assert_null(type_named(core, "Nonsense"));
}

TEST_MAIN(TEST(every_built_in_kind_has_its_type), TEST(kinds_come_and_go), TEST(types_say_how_fields_merge_and_look))
