/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/translate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "json/json.h"

static yyjson_val *get_object(void *arg, const char *kind, const char *name)
{
	static yyjson_doc *map, *secret, *claim, *half, *made, *host;

	(void)arg;
	if (!map) {
		static const char m[] = "{\"data\":{\"a\":\"1\",\"b\":\"two\\nlines\"}}",
		                  s[] = "{\"data\":{\"pw\":\"c2VjcmV0\"}}";

		static const char c[] = "{\"spec\":{\"volumeName\":\"pv-1\"},\"status\":{\"phase\":\"Bound\"}}",
		                  h[] = "{\"spec\":{\"volumeName\":\"pv-h\"},\"status\":{\"phase\":\"Bound\"}}",
		                  v[] = "{\"spec\":{\"csi\":{\"driver\":\"d\"}}}",
		                  p[] = "{\"spec\":{\"hostPath\":{\"path\":\"/srv/h\"}}}";

		claim = yyjson_read(c, strlen(c), 0);
		half = yyjson_read(h, strlen(h), 0);
		made = yyjson_read(v, strlen(v), 0);
		host = yyjson_read(p, strlen(p), 0);
		map = yyjson_read(m, strlen(m), 0);
		secret = yyjson_read(s, strlen(s), 0);
	}
	if (str_eq(kind, "configmaps") && str_eq(name, "cm"))
		return yyjson_doc_get_root(map);
	if (str_eq(kind, "secrets") && str_eq(name, "sec"))
		return yyjson_doc_get_root(secret);
	if (str_eq(kind, "persistentvolumeclaims"))
		return str_eq(name, "data") || str_eq(name, "web-e") ? yyjson_doc_get_root(claim)
		       : str_eq(name, "host")                        ? yyjson_doc_get_root(half)
		       : str_eq(name, "early")                       ? yyjson_doc_get_root(made)
		                                                     : NULL;
	if (str_eq(kind, "persistentvolumes"))
		return str_eq(name, "pv-1") ? yyjson_doc_get_root(made) : yyjson_doc_get_root(host);
	return NULL;
}

struct outcome {
	int r;
	struct err err;
	char *json;
	struct link files;
};

/* Translates a Pod named web/uid-1 with the given spec. */
static void translate(struct outcome *o, const char *spec)
{
	_cleanup_free_ char *text = str_printf("{\"metadata\":{\"name\":\"web\",\"namespace\":\"ns\",\"uid\":\"uid-1\","
	                                       "\"labels\":{\"app.x/y\":\"z\"}},\"spec\":%s}",
	                                       spec);
	const struct translate_env env = { .dir = "/pods/1",
		                           .volumes_dir = "/pods/volumes",
		                           .self = "/bin/sunk-lite",
		                           .host_ip = "10.0.0.1",
		                           .pod_ip = "127.0.0.1",
		                           .more_env = (const char *const[]) { "MORE=yes", NULL },
		                           .get = get_object };
	yyjson_doc *pod = yyjson_read(text, strlen(text), 0);
	yyjson_mut_doc *out = yyjson_mut_doc_new(NULL);
	*o = (struct outcome) { 0 };
	assert_non_null(pod);
	link_init(&o->files);
	o->r = translate_pod(yyjson_doc_get_root(pod), &env, out, &o->files, &o->err);
	o->json = yyjson_mut_write(out, YYJSON_WRITE_NOFLAG, NULL);
	yyjson_mut_doc_free(out);
	yyjson_doc_free(pod);
}

static void done(struct outcome *o)
{
	volume_files_free(&o->files);
	free(o->json);
}

#define HAS(o, text) assert_non_null(strstr((o).json, text))

static void test_command_and_environment_are_expanded_as_kubernetes_does(void **state)
{
	struct outcome o;

	translate(&o, "{\"nodeName\":\"n1\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"command\":["
	              "\"sh\",\"$(A)\"],"
	              "\"args\":[\"$$(A)\",\"$(NOPE)\",\"$(B)\"],\"workingDir\":\"/"
	              "tmp\",\"resources\":{\"limits\":{\"cpu\":\"1500m\"}},\"env\":["
	              "{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"<$(A)>\"},"
	              "{\"name\":\"N\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},"
	              "{\"name\":\"L\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.labels['app.x/y']\"}}},"
	              "{\"name\":\"NODE\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.nodeName\"}}},"
	              "{\"name\":\"CPU\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}},"
	              "{\"name\":\"CM\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\",\"key\":\"a\"}}},"
	              "{\"name\":\"PW\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"sec\",\"key\":\"pw\"}}},"
	              "{\"name\":\"OPT\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"none\",\"key\":\"pw\","
	              "\"optional\":true}}}],"
	              "\"envFrom\":[{\"prefix\":\"X_\",\"configMapRef\":{\"name\":\"cm\"}}]}]}");

	(void)state;
	assert_int_equal(o.r, 0);
	HAS(o, "\"argv\":[\"sh\",\"1\",\"$(A)\",\"$(NOPE)\",\"<1>\"]");
	HAS(o, "\"cwd\":\"/tmp\"");
	HAS(o, "\"restart\":\"Never\"");
	HAS(o, "\"N=web\"");
	HAS(o, "\"L=z\"");
	HAS(o, "\"NODE=n1\"");
	HAS(o, "\"CPU=2\"");
	HAS(o, "\"CM=1\"");
	HAS(o, "\"PW=secret\"");
	HAS(o, "\"X_a=1\"");
	HAS(o, "\"MORE=yes\"");
	assert_null(strstr(o.json, "OPT="));
	done(&o);
}

static void test_volumes_become_files_and_mounts(void **state)
{
	struct outcome o;

	translate(&o, "{\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"b\",\"path\":"
	              "\"sub/b.txt\"}]}},"
	              "{\"name\":\"s\",\"secret\":{\"secretName\":\"sec\",\"defaultMode\":256}},{\"name\":\"e\","
	              "\"emptyDir\":{}},"
	              "{\"name\":\"h\",\"hostPath\":{\"path\":\"/srv\"}}],"
	              "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"],\"volumeMounts\":[{\"name\":\"v\","
	              "\"mountPath\":\"/etc/v\"},"
	              "{\"name\":\"s\",\"mountPath\":\"/etc/s\",\"readOnly\":true},{\"name\":\"h\",\"mountPath\":\"/"
	              "data\",\"subPath\":\"x\"}]}]}");
	static const char *const paths[] = { "/pods/1/volumes/v", "/pods/1/volumes/v/sub/b.txt", "/pods/1/volumes/s",
		                             "/pods/1/volumes/s/pw", "/pods/1/volumes/e" };
	size_t n = 0;

	(void)state;
	assert_int_equal(o.r, 0);
	HAS(o, "\"argv\":[\"/bin/sunk-lite\",\"enter\",\"--bind\",\"/pods/1/volumes/v\",\"/etc/v\",\"--bind-ro\",\"/"
	       "pods/1/volumes/s\","
	       "\"/etc/s\",\"--bind\",\"/srv/x\",\"/data\",\"--cwd\",\"/\",\"--\",\"true\"]");
	LIST_EACH (l, &o.files) {
		struct volume_file *f = LIST_ITEM(l, struct volume_file, link);

		assert_string_equal(f->path, paths[n++]);
		if (str_ends(f->path, "/pw")) {
			assert_string_equal(f->data, "secret");
			assert_int_equal(f->mode, 0400);
		}
	}
	assert_int_equal(n, ARRAY_LEN(paths));
	done(&o);
}

/* As a real API server gives one to every Pod for its service account. */
static void test_a_projected_volume_has_all_its_sources_but_the_token(void **state)
{
	struct outcome o;

	translate(&o, "{\"volumes\":[{\"name\":\"p\",\"projected\":{\"sources\":["
	              "{\"serviceAccountToken\":{\"path\":\"token\"}},"
	              "{\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a\",\"path\":\"ca.crt\"}]}},"
	              "{\"secret\":{\"name\":\"sec\"}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
	              "\"fieldRef\":{\"fieldPath\":\"metadata.namespace\"}}]}}]}}],"
	              "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"],\"volumeMounts\":[{\"name\":\"p\","
	              "\"mountPath\":\"/run/p\",\"readOnly\":true}]}]}");
	static const char *const want[] = { "ca.crt=1", "pw=secret", "namespace=ns" };
	size_t n = 0;

	(void)state;
	assert_int_equal(o.r, 0);
	HAS(o, "\"--bind-ro\",\"/pods/1/volumes/p\",\"/run/p\"");
	LIST_EACH (l, &o.files) {
		struct volume_file *f = LIST_ITEM(l, struct volume_file, link);
		_cleanup_free_ char *line = NULL;

		if (!f->data) {
			assert_string_equal(f->path, "/pods/1/volumes/p");
			continue;
		}
		line = str_printf("%s=%s", strrchr(f->path, '/') + 1, f->data);
		assert_true(n < ARRAY_LEN(want));
		assert_string_equal(line, want[n++]);
	}
	assert_int_equal(n, ARRAY_LEN(want));
	done(&o);
}

static void count_need(void *arg, const char *kind, const char *name)
{
	struct buf *b = arg;

	buf_printf(b, "%s/%s ", kind, name);
}

#define MOUNTS(n) "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"],\"volumeMounts\":[" n "]}]"

static void test_claims_become_directories_that_outlive_the_pod(void **state)
{
	static const char spec[] =
	        "{\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}},{\"name\":\"e\","
	        "\"ephemeral\":{}},{\"name\":\"h\",\"persistentVolumeClaim\":{\"claimName\":\"host\",\"readOnly\":"
	        "true}}]," MOUNTS("{\"name\":\"v\",\"mountPath\":\"/v\"},{\"name\":\"e\",\"mountPath\":\"/e\"},"
	                          "{\"name\":\"h\",\"mountPath\":\"/h\"}") "}";
	_cleanup_free_ char *pod = str_printf("{\"metadata\":{\"name\":\"web\"},\"spec\":%s}", spec);
	_cleanup_buf_ struct buf needs = BUF(1000);
	yyjson_doc *doc = yyjson_read(pod, strlen(pod), 0);
	struct outcome o;
	size_t n = 0;

	(void)state;
	translate(&o, spec);
	assert_int_equal(o.r, 0);
	HAS(o, "\"--bind\",\"/pods/volumes/pv-1\",\"/v\",\"--bind\",\"/pods/volumes/pv-1\",\"/e\",\"--bind-ro\",\"/srv/"
	       "h\",\"/h\"");
	LIST_EACH (l, &o.files) {
		assert_string_equal(LIST_ITEM(l, struct volume_file, link)->path, "/pods/volumes/pv-1");
		n++;
	}
	assert_int_equal(n, 2);
	done(&o);
	translate_needs(yyjson_doc_get_root(doc), count_need, &needs);
	assert_string_equal(buf_text(&needs), "persistentvolumeclaims/data persistentvolumeclaims/web-e "
	                                      "persistentvolumeclaims/host ");
	yyjson_doc_free(doc);
}

static void test_a_claim_that_is_missing_or_not_bound_is_waited_for(void **state)
{
	static const char *const cases[][2] = { { "none", "persistentvolumeclaim \"none\" not found" },
		                                { "early", "persistentvolumeclaim \"early\" is not bound" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_free_ char *spec = str_printf("{\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":"
		                                       "{\"claimName\":\"%s\"}}]}",
		                                       cases[i][0]);
		struct outcome o;

		translate(&o, spec);
		assert_int_equal(o.r, -ENOENT);
		assert_string_equal(o.err.text, cases[i][1]);
		done(&o);
	}
}

static void test_probes_are_carried_over(void **state)
{
	struct outcome o;

	translate(&o, "{\"containers\":[{\"name\":\"c\",\"command\":[\"x\"],\"ports\":[{\"name\":\"web\","
	              "\"containerPort\":81}],"
	              "\"readinessProbe\":{\"httpGet\":{\"path\":\"/r\",\"port\":\"web\"},\"periodSeconds\":3},"
	              "\"livenessProbe\":{\"tcpSocket\":{\"port\":82}},\"startupProbe\":{\"exec\":{\"command\":[\"up\"]"
	              "}}}]}");

	(void)state;
	assert_int_equal(o.r, 0);
	HAS(o, "\"readiness\":{\"kind\":\"http\",\"host\":\"127.0.0.1\",\"port\":81,\"path\":\"/"
	       "r\",\"initialMs\":0,\"periodMs\":3000");
	HAS(o, "\"liveness\":{\"kind\":\"tcp\",\"host\":\"127.0.0.1\",\"port\":82");
	HAS(o, "\"startup\":{\"kind\":\"exec\",\"argv\":[\"up\"]");
	done(&o);
}

static void test_what_is_missing_or_malicious_is_refused(void **state)
{
	static const struct {
		const char *spec, *text;
		int r;
	} cases[] = {
		{ "{\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"none\"}}],\"containers\":[]}",
		  "configmap \"none\" not found", -ENOENT },
		{ "{\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a\",\"path\":\".."
		  "/../x\"}]}}]}",
		  "cannot be called", -EINVAL },
		{ "{\"volumes\":[{\"name\":\"../v\",\"emptyDir\":{}}]}", "volume's name", -EINVAL },
		{ "{\"containers\":[{\"name\":\"../../c\"}]}", "container's name", -EINVAL },
		{ "{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"secretKeyRef\":{\"name\":"
		  "\"sec\",\"key\":\"no\"}}}]}]}",
		  "couldn't find key no", -ENOENT },
		{ "{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{"
		  "\"fieldPath\":\"spec.x\"}}}]}]}",
		  "not known here", -EINVAL },
		{ "{\"containers\":[{\"name\":\"c\",\"command\":[\"x\"],\"volumeMounts\":[{\"name\":\"no\","
		  "\"mountPath\":\"/x\"}]}]}",
		  "does not have", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct outcome o;

		translate(&o, cases[i].spec);
		assert_int_equal(o.r, cases[i].r);
		assert_non_null(strstr(err_text(&o.err), cases[i].text));
		done(&o);
	}
}

static void count(void *arg, const char *kind, const char *name)
{
	struct buf *out = arg;

	buf_printf(out, "%s/%s ", kind, name);
}

static void test_everything_a_pod_mentions_is_needed(void **state)
{
	static const char pod[] = "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"a\"}},{\"secret\":"
	                          "{\"secretName\":\"b\"}}],"
	                          "\"initContainers\":[{\"envFrom\":[{\"configMapRef\":{\"name\":\"c\"}},{"
	                          "\"secretRef\":{\"name\":\"d\"}}]}],"
	                          "\"containers\":[{\"env\":[{\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"e\"}}},"
	                          "{\"valueFrom\":{\"secretKeyRef\":{\"name\":\"f\"}}}]}]}}";
	_cleanup_buf_ struct buf out = BUF(1000);
	yyjson_doc *doc = yyjson_read(pod, strlen(pod), 0);

	(void)state;
	translate_needs(yyjson_doc_get_root(doc), count, &out);
	assert_string_equal(buf_text(&out), "configmaps/c secrets/d configmaps/e secrets/f configmaps/a secrets/b ");
	yyjson_doc_free(doc);
}

TEST_MAIN(TEST(command_and_environment_are_expanded_as_kubernetes_does), TEST(volumes_become_files_and_mounts),
          TEST(a_projected_volume_has_all_its_sources_but_the_token),
          TEST(claims_become_directories_that_outlive_the_pod),
          TEST(a_claim_that_is_missing_or_not_bound_is_waited_for), TEST(probes_are_carried_over),
          TEST(what_is_missing_or_malicious_is_refused), TEST(everything_a_pod_mentions_is_needed))
