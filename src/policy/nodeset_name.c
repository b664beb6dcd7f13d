/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names that a NodeSet gives: of its Pods, and of its template's revision. They outlive the process, so the hash is one that never
 * changes (FNV-1a).
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "policy/nodeset_plan.h"

static uint64_t fnv(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h;
}

const char *nodeset_prefix(const struct nodeset *set)
{
	return str_empty(set->name_prefix) ? set->meta.name : set->name_prefix;
}

void nodeset_revision(const struct nodeset *set, char revision[REVISION_MAX])
{
	snprintf(revision, REVISION_MAX, "%016" PRIx64, fnv(set->template_json));
}

bool nodeset_is_revision(const char *text)
{
	return text && strlen(text) == REVISION_MAX - 1 && strspn(text, "0123456789abcdef") == REVISION_MAX - 1;
}

const char *nodeset_pod_node(const struct pod *pod)
{
	if (!str_empty(pod->node_name))
		return pod->node_name;
	for (uint32_t i = 0; i < pod->n_required_nodes; i++) {
		const struct selector_term *t = &pod->required_nodes[i];

		for (uint32_t j = 0; j < t->n_fields; j++)
			if (str_eq(t->fields[j].key, "metadata.name") && t->fields[j].op == SEL_IN &&
			    t->fields[j].n_values == 1)
				return t->fields[j].values[0];
	}
	return NULL;
}

static bool find_ipv4(const struct knode *node, unsigned char octets[4])
{
	for (uint32_t i = 0; i < node->n_addresses; i++)
		if (str_eq(node->addresses[i].type, "InternalIP") && node->addresses[i].address &&
		    inet_pton(AF_INET, node->addresses[i].address, octets) == 1)
			return true;
	return false;
}

/* A host name has letters, digits and dashes; what a Node's name has besides becomes a dash. */
static void add_host_name(char *name, size_t size, const char *from)
{
	size_t n = strlen(name);

	for (; *from && n + 1 < size; from++)
		name[n++] = isalnum((unsigned char)*from) ? (char)tolower((unsigned char)*from) : '-';
	while (n > 0 && name[n - 1] == '-')
		n--;
	name[n] = 0;
}

void nodeset_pod_name(const struct nodeset *set, const struct knode *node, bool again, char name[NODESET_POD_NAME_MAX])
{
	const char *given = set->name_label ? pair_get(node->meta.labels, node->meta.n_labels, set->name_label) : NULL;
	unsigned char octets[4];
	uint64_t hash = fnv(node->meta.name);
	size_t n;

	snprintf(name, NODESET_POD_NAME_MAX, "%.40s-", nodeset_prefix(set));
	n = strlen(name);
	if (!str_empty(given)) {
		name[0] = 0;
		add_host_name(name, NODESET_POD_NAME_MAX - 5, given);
	} else if (find_ipv4(node, octets)) {
		snprintf(name + n, NODESET_POD_NAME_MAX - n, "%03u-%03u", octets[2], octets[3]);
	} else if (n + strlen(node->meta.name) < NODESET_POD_NAME_MAX - 5) {
		add_host_name(name, NODESET_POD_NAME_MAX, node->meta.name);
	} else {
		snprintf(name + n, NODESET_POD_NAME_MAX - n, "%016" PRIx64, hash);
	}
	n = strlen(name);
	if (again)
		snprintf(name + n, NODESET_POD_NAME_MAX - n, "-%04" PRIx64, hash & 0xffff);
}

int32_t nodeset_max_unavailable(const char *text, int32_t desired)
{
	int64_t n = 1;
	char digits[16];
	size_t len;

	if (str_empty(text))
		return 1;
	text += *text == '"';
	len = strspn(text, "0123456789");
	if (len == 0 || len >= sizeof(digits))
		return 1;
	str_copy(digits, len + 1, text);
	if (str_to_i64(digits, 0, INT32_MAX, &n) < 0)
		return 1;
	if (text[len] == '%')
		n = ((int64_t)desired * n + 99) / 100;
	return (int32_t)(n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : n);
}
