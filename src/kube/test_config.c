/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/test.h"
#include "kube/test_dir.h"

#define SECRET "s3cr3t-canary"
#define PEM_DATA "LS0tLS1CRUdJTiBYLS0tLS0K" /* -----BEGIN X----- */

struct world {
	struct test_dir dir;
};

static int setup(void **state)
{
	struct world *w = NEW(struct world);

	test_dir_init(&w->dir);
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	setenv("HOME", w->dir.path, 1);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	test_dir_done(&w->dir);
	free(w);
	return 0;
}

/* Loads what must load. */
static struct kube_config *load(const char *path, const char *context)
{
	struct kube_config_options o = { .path = path, .context = context };
	struct kube_config *c = NULL;
	struct err err = { 0 };

	if (kube_config_load(&o, &c, &err) < 0)
		fail_msg("%s", err_text(&err));
	return c;
}

static int load_error(const struct kube_config_options *o, struct err *err)
{
	struct kube_config *c = NULL;
	int r = kube_config_load(o, &c, err);

	assert_true(r < 0);
	assert_int_equal(r, err->code);
	assert_null(c);
	return r;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static const char full[] =
        "apiVersion: v1\n"
        "kind: Config\n"
        "current-context: one\n"
        "preferences: {}\n"
        "contexts:\n"
        "- name: one\n"
        "  context: {cluster: c1, user: cert, namespace: team}\n"
        "- name: two\n"
        "  context: {cluster: c2, user: token}\n"
        "- name: three\n"
        "  context: {cluster: c2, user: file}\n"
        "- name: four\n"
        "  context: {cluster: c3, user: plugin}\n"
        "- name: nobody\n"
        "  context: {cluster: c2}\n"
        "- name: both\n"
        "  context: {cluster: c2, user: token-and-plugin}\n"
        "clusters:\n"
        "- name: c1\n"
        "  cluster:\n"
        "    server: https://10.0.0.1:6443/k8s/\n"
        "    certificate-authority: pki/ca.crt\n"
        "    tls-server-name: api.example\n"
        "    proxy-url: socks5://127.0.0.1:1080\n"
        "- name: c2\n"
        "  cluster: {server: 'https://10.0.0.2', insecure-skip-tls-verify: true}\n"
        "- name: c3\n"
        "  cluster:\n"
        "    server: https://10.0.0.3\n"
        "    certificate-authority-data: " PEM_DATA "\n"
        "    extensions:\n"
        "    - name: client.authentication.k8s.io/exec\n"
        "      extension: {audience: me, n: 1}\n"
        "users:\n"
        "- name: cert\n"
        "  user: {client-certificate: /abs/c.crt, client-key-data: " PEM_DATA "}\n"
        "- name: token\n"
        "  user: {token: " SECRET "}\n"
        "- name: file\n"
        "  user: {token: " SECRET ", tokenFile: tokens/t}\n"
        "- name: token-and-plugin\n"
        "  user: {token: " SECRET ", exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
        "interactiveMode: Never}}\n"
        "- name: plugin\n"
        "  user:\n"
        "    exec:\n"
        "      apiVersion: client.authentication.k8s.io/v1\n"
        "      command: bin/plugin\n"
        "      args: [get-token, --cluster, c3]\n"
        "      env: [{name: A, value: b}, {name: EMPTY, value: ''}]\n"
        "      installHint: install it\n"
        "      interactiveMode: IfAvailable\n"
        "      provideClusterInfo: true\n";

static void test_a_client_certificate_and_every_cluster_setting_is_taken(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_write(&w->dir, "config", full, 0600);
	struct kube_config *c = load(path, NULL);

	assert_string_equal(c->context, "one");
	assert_string_equal(c->cluster, "c1");
	assert_string_equal(c->user, "cert");
	assert_string_equal(c->ns, "team");
	assert_string_equal(c->server, "https://10.0.0.1:6443/k8s");
	assert_string_equal(c->ca.path, test_dir_path(&w->dir, "pki/ca.crt"));
	assert_null(c->ca.text);
	assert_string_equal(c->tls_server_name, "api.example");
	assert_string_equal(c->proxy, "socks5://127.0.0.1:1080");
	assert_false(c->insecure);
	assert_string_equal(c->cert.path, "/abs/c.crt");
	assert_string_equal(c->key.text, "-----BEGIN X-----\n");
	assert_null(c->token);
	assert_null(c->token_file);
	assert_null(c->exec);
	assert_null(c->warning);
	assert_false(c->in_cluster);
	assert_contains(c->origin, path);
	kube_config_free(c);
}

static void test_another_context_is_taken_when_asked_for(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_write(&w->dir, "config", full, 0600);
	struct kube_config *c = load(path, "two");

	assert_string_equal(c->server, "https://10.0.0.2");
	assert_true(c->insecure);
	assert_string_equal(c->token, SECRET);
	assert_string_equal(c->ns, "default");
	kube_config_free(c);
	c = load(path, "nobody");
	assert_null(c->user);
	assert_null(c->token);
	kube_config_free(c);
}

static void test_a_token_file_wins_over_a_token_and_a_token_over_a_plugin(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_write(&w->dir, "config", full, 0600);
	struct kube_config *c = load(path, "three");

	assert_null(c->token);
	assert_string_equal(c->token_file, test_dir_path(&w->dir, "tokens/t"));
	kube_config_free(c);
	c = load(path, "both");
	assert_string_equal(c->token, SECRET);
	assert_null(c->exec);
	kube_config_free(c);
}

static void test_a_plugin_is_taken_with_all_it_has(void **state)
{
	struct world *w = *state;
	struct kube_config *c = load(test_dir_write(&w->dir, "config", full, 0600), "four");

	assert_non_null(c->exec);
	assert_string_equal(c->exec->command, test_dir_path(&w->dir, "bin/plugin"));
	assert_string_equal(c->exec->args[1], "--cluster");
	assert_string_equal(c->exec->args[2], "c3");
	assert_null(c->exec->args[3]);
	assert_string_equal(c->exec->env[0], "A=b");
	assert_string_equal(c->exec->env[1], "EMPTY=");
	assert_null(c->exec->env[2]);
	assert_string_equal(c->exec->api_version, "client.authentication.k8s.io/v1");
	assert_string_equal(c->exec->install_hint, "install it");
	assert_string_equal(c->exec->cluster_config, "{\"audience\":\"me\",\"n\":1}");
	assert_true(c->exec->provide_cluster_info);
	assert_string_equal(c->ca.text, "-----BEGIN X-----\n");
	kube_config_free(c);
}

static void test_json_is_fine_too(void **state)
{
	static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"a\","
	                           "\"contexts\":[{\"name\":\"a\",\"context\":{\"cluster\":\"b\",\"user\":\"c\"}}],"
	                           "\"clusters\":[{\"name\":\"b\",\"cluster\":{\"server\":\"http://[::1]:8080\"}}],"
	                           "\"users\":[{\"name\":\"c\",\"user\":{\"token\":\"t\"}}]}";
	struct kube_config *c = NULL;
	struct err err;

	(void)state;
	assert_int_equal(kube_config_parse(json, strlen(json), "x", NULL, &c, &err), 0);
	assert_string_equal(c->server, "http://[::1]:8080");
	assert_string_equal(c->token, "t");
	kube_config_free(c);
}

static void test_a_secret_that_everybody_can_read_is_warned_about(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_write(&w->dir, "config", full, 0644);
	struct kube_config *c = load(path, "two");

	assert_non_null(c->warning);
	assert_contains(c->warning, path);
	assert_contains(c->warning, "chmod 600");
	assert_null(strstr(c->warning, SECRET));
	kube_config_free(c);
	c = load(path, "four"); /* a plugin is no secret */
	assert_null(c->warning);
	kube_config_free(c);
	test_dir_write(&w->dir, "config", full, 0640);
	c = load(path, "two");
	assert_null(c->warning);
	kube_config_free(c);
}

/* Where it comes from */

static const char first_file[] = "current-context: x\n"
                                 "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                 "clusters: [{name: c, cluster: {server: 'https://first'}}]\n";
static const char second_file[] = "current-context: y\n"
                                  "contexts: [{name: x, context: {cluster: other}}, {name: y, context: {cluster: c}}]\n"
                                  "clusters: [{name: c, cluster: {server: 'https://second'}}]\n"
                                  "users: [{name: u, user: {tokenFile: t}}]\n";

static void test_files_of_the_environment_are_merged_and_the_first_wins(void **state)
{
	struct world *w = *state;
	char list[4 * TEST_PATH_MAX];
	struct kube_config *c;

	assert_int_equal(mkdir(test_dir_path(&w->dir, "sub"), 0700), 0);
	snprintf(list, sizeof(list), "%s:%s::%s", test_dir_path(&w->dir, "missing"),
	         test_dir_write(&w->dir, "first", first_file, 0600),
	         test_dir_write(&w->dir, "sub/second", second_file, 0600));
	setenv("KUBECONFIG", list, 1);
	c = load(NULL, NULL);
	assert_string_equal(c->context, "x");
	assert_string_equal(c->server, "https://first");
	assert_string_equal(c->token_file, test_dir_path(&w->dir, "sub/t")); /* beside the file that names it */
	kube_config_free(c);
	c = load(NULL, "y");
	assert_string_equal(c->server, "https://first");
	kube_config_free(c);
}

static void test_an_environment_that_names_no_file_is_an_error(void **state)
{
	struct kube_config_options o = { 0 };
	struct err err;

	(void)state;
	setenv("KUBECONFIG", "/nowhere/a:/nowhere/b", 1);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	assert_int_equal(load_error(&o, &err), -ENOENT);
	assert_contains(err.text, "/nowhere/a:/nowhere/b");
}

static void test_the_file_in_the_home_directory_is_found_last(void **state)
{
	struct world *w = *state;
	struct kube_config *c;

	assert_int_equal(mkdir(test_dir_path(&w->dir, ".kube"), 0700), 0);
	test_dir_write(&w->dir, ".kube/config", full, 0600);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	c = load(NULL, NULL);
	assert_string_equal(c->context, "one");
	kube_config_free(c);
	setenv("KUBECONFIG", test_dir_write(&w->dir, "first", first_file, 0600), 1);
	c = load(test_dir_write(&w->dir, "given", second_file, 0600), "y");
	assert_string_equal(c->server, "https://second");
	kube_config_free(c);
}

static void test_paths_from_the_command_line_start_at_the_current_directory(void **state)
{
	struct world *w = *state;
	struct kube_config *c;
	char *cwd = getcwd(NULL, 0);

	test_dir_write(&w->dir, "config", full, 0600);
	assert_int_equal(chdir(w->dir.path), 0);
	c = load("config", "three");
	assert_string_equal(c->token_file, test_dir_path(&w->dir, "tokens/t"));
	kube_config_free(c);
	assert_int_equal(chdir(cwd), 0);
	free(cwd);
}

static void test_the_service_account_is_used_inside_a_pod(void **state)
{
	struct world *w = *state;
	struct kube_config_options o = { .in_cluster_dir = w->dir.path };
	struct kube_config *c = NULL;
	struct err err;

	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
	assert_int_equal(load_error(&o, &err), -ENOENT);
	assert_contains(err.text, "automountServiceAccountToken");
	test_dir_write(&w->dir, "token", "t\n", 0600);
	assert_int_equal(kube_config_load(&o, &c, &err), 0);
	assert_string_equal(c->ns, "default");
	kube_config_free(c);
	test_dir_write(&w->dir, "namespace", "sunk-system\n", 0600);
	assert_int_equal(kube_config_load(&o, &c, &err), 0);
	assert_true(c->in_cluster);
	assert_string_equal(c->server, "https://[fd00::1]:6443");
	assert_string_equal(c->ns, "sunk-system");
	assert_string_equal(c->token_file, test_dir_path(&w->dir, "token"));
	assert_string_equal(c->ca.path, test_dir_path(&w->dir, "ca.crt"));
	kube_config_free(c);
	setenv("KUBERNETES_SERVICE_HOST", "10.1.2.3", 1);
	unsetenv("KUBERNETES_SERVICE_PORT");
	assert_int_equal(kube_config_load(&o, &c, &err), 0);
	assert_string_equal(c->server, "https://10.1.2.3:443");
	kube_config_free(c);
	o.context = "x";
	load_error(&o, &err);
	assert_contains(err.text, "no kubeconfig to find context \"x\" in");
	o.context = NULL;
	setenv("KUBERNETES_SERVICE_PORT", "http", 1);
	load_error(&o, &err);
	assert_contains(err.text, "KUBERNETES_SERVICE_PORT is no port number");
	setenv("KUBERNETES_SERVICE_HOST", "a/b", 1);
	load_error(&o, &err);
	assert_contains(err.text, "KUBERNETES_SERVICE_HOST is no address");
}

static void test_nothing_at_all_says_what_to_give(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(load_error(NULL, &err), -ENOENT);
	assert_contains(err.text, "--kubeconfig");
	assert_contains(err.text, "~/.kube/config");
}

static void test_files_that_cannot_be_read_are_named(void **state)
{
	struct world *w = *state;
	struct kube_config_options o = { 0 };
	struct err err;
	char *big = mem_alloc(KUBE_CONFIG_BYTES_MAX + 2);

	o.path = test_dir_path(&w->dir, "missing");
	assert_int_equal(load_error(&o, &err), -ENOENT);
	assert_contains(err.text, o.path);
	assert_contains(err.text, "No such file");
	o.path = w->dir.path;
	assert_int_equal(load_error(&o, &err), -EISDIR);
	assert_contains(err.text, w->dir.path);
	memset(big, '#', KUBE_CONFIG_BYTES_MAX + 1);
	o.path = test_dir_write(&w->dir, "big", big, 0600);
	free(big);
	assert_int_equal(load_error(&o, &err), -EFBIG);
	assert_contains(err.text, "larger than 1024 KiB");
	/* in the environment a file that is there must be right, too */
	setenv("KUBECONFIG", test_dir_write(&w->dir, "broken", "{", 0600), 1);
	o.path = NULL;
	load_error(&o, &err);
	assert_contains(err.text, "broken:2:1: did not find expected node content");
}

static void test_names_are_looked_for_in_all_files(void **state)
{
	struct world *w = *state;
	struct kube_config_options o = { 0 };
	struct err err;
	char list[2 * TEST_PATH_MAX];

	snprintf(list, sizeof(list), "%s:%s", test_dir_write(&w->dir, "first", first_file, 0600),
	         test_dir_write(&w->dir, "third", "users: []", 0600));
	setenv("KUBECONFIG", list, 1);
	load_error(&o, &err);
	assert_contains(err.text, "names user \"u\", which is in none of the files of KUBECONFIG");
}

/* Broken ones: each is the file that would do, with one thing changed. */

#define CONTEXT "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://s'}}]\n"
#define USER(fields) CONTEXT CLUSTER "users: [{name: u, user: {" fields "}}]\n"
#define SERVER(fields) CONTEXT "clusters: [{name: c, cluster: {" fields "}}]\nusers: [{name: u, user: {}}]\n"
#define EXEC_V1 "apiVersion: client.authentication.k8s.io/v1"
#define LONG_50 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
#define LONG_300 LONG_50 LONG_50 LONG_50 LONG_50 LONG_50 LONG_50

static const struct {
	const char *text, *says;
} broken[] = {
	{ "", "f: no current-context is set: choose one of its contexts (none)" },
	{ "just words", "f: this is no kubeconfig: it must have clusters, users and contexts" },
	{ "[1, 2]", "f: this is no kubeconfig" },
	{ "<html><body>404</body></html>", "f: this is no kubeconfig" },
	{ "{", "f:2:1: did not find expected node content" },
	{ "a: b: c", "f:1:5: mapping values are not allowed in this context" },
	{ "\tx: y", "f:1:1: found character that cannot start any token" },
	{ "kind: Secret\napiVersion: v1", "its kind is not \"Config\"" },
	{ "kind: Config\napiVersion: v2", "must have apiVersion \"v1\"" },
	{ "contexts: [{name: p}, {name: q}]", "choose one of its contexts (p, q) with --context" },
	{ "current-context: x", "there is no context \"x\": its contexts are none" },
	{ "current-context: 7", "current-context must be a text, but is a number (put it in quotes)" },
	{ "current-context: x\ncontexts: {x: y}", "f: contexts must be a list, but is a mapping" },
	{ "current-context: x\ncontexts: [{context: {}}]", "f: entry 1 of contexts has no name" },
	{ "current-context: x\ncontexts: [x]", "f: entry 1 of contexts has no name" },
	{ "current-context: x\ncontexts: [{name: x}]", "f: context \"x\": it must have a mapping \"context\"" },
	{ "current-context: x\ncontexts: [{name: x, context: {}}]", "f: context \"x\": it names no cluster" },
	{ "current-context: x\ncontexts: [{name: x, context: {cluster: c}}, {name: x, context: {cluster: d}}]",
	  "f: contexts has two entries with the name \"x\"" },
	{ "current-context: x\ncontexts: [{name: x, context: {cluster: y}}]",
	  "f: context \"x\" names cluster \"y\", which is not in the file" },
	{ CONTEXT CLUSTER, "f: context \"x\" names user \"u\", which is not in the file" },
	{ CONTEXT CLUSTER "users: [{name: u, user: " SECRET "}]", "user \"u\": it must have a mapping \"user\"" },
	{ "current-context: x\ncontexts: [{name: x, context: {cluster: " LONG_300 "}}]",
	  "context \"x\": cluster is longer than 253 bytes" },
	{ "current-context: x\ncontexts: [{name: x, context: {cluster: \"a\\nb\"}}]",
	  "context \"x\": cluster has a line break" },
	{ SERVER(""), "f: cluster \"c\": it has no server: set it to" },
	{ SERVER("server: 1"), "cluster \"c\": server must be a text" },
	{ SERVER("server: 'host:6443'"), "cluster \"c\": server must be a URL like https://host:6443" },
	{ SERVER("server: 'https:///x'"), "cluster \"c\": server has no host in it" },
	{ SERVER("server: 'https://a b'"), "server has a character in it that does not belong into a URL" },
	{ SERVER("server: 'https://h?" SECRET "'"), "server has a character in it that does not belong into a URL" },
	{ SERVER("server: 'https://u:" SECRET "@h'"), "server must not have a user name in it" },
	{ SERVER("server: 'https://h', proxy-url: 'ftp://" SECRET "@x'"), "cluster \"c\": proxy-url must be a URL" },
	{ SERVER("server: 'https://h', insecure-skip-tls-verify: 'yes'"),
	  "insecure-skip-tls-verify must be true or false (without quotes)" },
	{ SERVER("server: 'https://h', certificate-authority-data: '%%%'"),
	  "cluster \"c\": certificate-authority-data is not valid base64" },
	{ SERVER("server: 'https://h', certificate-authority-data: aGVsbG8="),
	  "cluster \"c\": certificate-authority-data is base64 of something that is no PEM text" },
	{ SERVER("server: 'https://h', certificate-authority-data: [a]"),
	  "certificate-authority-data must be a text, but is a list" },
	{ SERVER("server: 'https://h', certificate-authority: ca, certificate-authority-data: " PEM_DATA),
	  "certificate-authority and certificate-authority-data are both set: remove one" },
	{ SERVER("server: 'https://h', certificate-authority: ca, insecure-skip-tls-verify: true"),
	  "insecure-skip-tls-verify and a certificate-authority are both set" },
	{ USER("username: me, password: " SECRET), "user \"u\": logging in with a password is not supported" },
	{ USER("password: " SECRET), "user \"u\": logging in with a password is not supported" },
	{ USER("auth-provider: {name: gcp}"), "user \"u\": auth-provider is not supported" },
	{ USER("token: " SECRET ", as: root"), "user \"u\": impersonation is not supported" },
	{ USER("as-groups: [admins]"), "user \"u\": impersonation is not supported" },
	{ USER("token: 12345"), "user \"u\": token must be a text, but is a number (put it in quotes)" },
	{ USER("token: \"" SECRET "\\n\""), "user \"u\": token has a line break" },
	{ USER("token: '" SECRET " x'"), "user \"u\": token has a blank or another character" },
	{ USER("client-certificate: c"), "it has a client-certificate and no client-key: both are needed" },
	{ USER("client-key: k"), "it has a client-key and no client-certificate" },
	{ USER("client-certificate: c, client-key-data: '" SECRET "!'"), "client-key-data is not valid base64" },
	{ USER("exec: run-me"), "user \"u\": exec must be a mapping" },
	{ USER("exec: {" EXEC_V1 ", interactiveMode: Never}"), "user \"u\": exec: it has no command" },
	{ USER("exec: {command: p}"), "exec: it has no apiVersion: set it to client.authentication.k8s.io/v1" },
	{ USER("exec: {command: p, apiVersion: client.authentication.k8s.io/v1alpha1}"),
	  "exec: apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1" },
	{ USER("exec: {command: p, " EXEC_V1 "}"), "exec: it has no interactiveMode: set it to Never or IfAvailable" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Always}"),
	  "exec: interactiveMode is Always, but there is nobody to ask here" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Maybe}"),
	  "interactiveMode must be Never or IfAvailable" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Never, args: a}"), "exec: args must be a list" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Never, args: [1]}"), "each of args must be a text" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Never, env: [{value: x}]}"),
	  "exec: each of env must have a name" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Never, env: [{name: A, value: 1}]}"),
	  "exec: the value in env must be a text, but one is a number" },
	{ USER("exec: {command: p, " EXEC_V1 ", interactiveMode: Never, provideClusterInfo: 'no'}"),
	  "provideClusterInfo must be true or false" },
	/* the parser's own errors show no piece of the file */
	{ USER("token: &" SECRET " x"), "f:4:33: anchors ('&') are not supported" },
	{ USER("token: *" SECRET), "f:4:33: aliases ('*') are not supported" },
	{ USER("token: !" SECRET " x"), "f:4:33: tags ('!') are not supported" },
	{ USER("token: 1e999999"), "f:4:33: a number is out of range: put it in quotes" },
	{ USER(SECRET ": 1, " SECRET ": 2"), "f:4:44: a key is there twice" },
	{ CONTEXT CLUSTER "users:\n- name: u\n  user:\n    token: \"" SECRET, "f:7" },
};

static void test_every_broken_file_is_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct kube_config *c = NULL;
		struct err err = { 0 };
		int r = kube_config_parse(broken[i].text, strlen(broken[i].text), "f", NULL, &c, &err);

		if (r >= 0 || c)
			fail_msg("accepted: %s", broken[i].text);
		assert_contains(err.text, broken[i].says);
		assert_true(str_starts(err.text, "f:"));
		if (strstr(err.text, SECRET) || strstr(err.text, "999999"))
			fail_msg("shows a secret: %s", err.text);
	}
}

static void test_a_token_that_is_only_half_there_does_not_crash(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(full); len++) {
		struct kube_config *c = NULL;
		struct err err = { 0 };

		if (kube_config_parse(full, len, "f", "four", &c, &err) < 0)
			assert_null(c);
		kube_config_free(c);
	}
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(IN_WORLD(a_client_certificate_and_every_cluster_setting_is_taken),
          IN_WORLD(another_context_is_taken_when_asked_for),
          IN_WORLD(a_token_file_wins_over_a_token_and_a_token_over_a_plugin),
          IN_WORLD(a_plugin_is_taken_with_all_it_has), TEST(json_is_fine_too),
          IN_WORLD(a_secret_that_everybody_can_read_is_warned_about),
          IN_WORLD(files_of_the_environment_are_merged_and_the_first_wins),
          IN_WORLD(an_environment_that_names_no_file_is_an_error),
          IN_WORLD(the_file_in_the_home_directory_is_found_last),
          IN_WORLD(paths_from_the_command_line_start_at_the_current_directory),
          IN_WORLD(the_service_account_is_used_inside_a_pod), IN_WORLD(nothing_at_all_says_what_to_give),
          IN_WORLD(files_that_cannot_be_read_are_named), IN_WORLD(names_are_looked_for_in_all_files),
          TEST(every_broken_file_is_explained), TEST(a_token_that_is_only_half_there_does_not_crash))
