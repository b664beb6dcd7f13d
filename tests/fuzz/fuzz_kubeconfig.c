/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes: a configuration that holds together, or an error of one line that names the file.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "kube/config.h"
#include "kube/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_config(const struct kube_config *c)
{
	assert(str_starts(c->server, "https://") || str_starts(c->server, "http://"));
	assert(!str_ends(c->server, "/"));
	assert(c->ns && *c->ns);
	assert(c->context && c->cluster && c->origin);
	assert(!(c->token && c->token_file));
	assert(!c->exec || !(c->token || c->token_file));
	assert(!(c->ca.path && c->ca.text));
	assert(!(c->cert.path || c->cert.text) == !(c->key.path || c->key.text));
	assert(!c->exec || (c->exec->command && c->exec->args && c->exec->env && c->exec->api_version));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char version[] = "client.authentication.k8s.io/v1";
	struct plugin_result given = { 0 };
	struct kube_config *c = NULL;
	struct err err = { 0 };
	int r = kube_config_parse((const char *)data, size, "/dir/f", NULL, &c, &err);

	assert(r == 0 ? c && !err.code : !c && err.code == r);
	if (c)
		check_config(c);
	else
		assert(str_starts(err.text, "/dir/f:") && !str_has_control(err.text, strlen(err.text)));
	kube_config_free(c);

	/* the same bytes as what a plugin printed */
	if (plugin_parse((const char *)data, size, version, &given, &err) == 0)
		assert(given.token || (given.cert_pem && given.key_pem));
	plugin_result_done(&given);
	return 0;
}
