/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/meta.h"

#include <stddef.h>

#include "base/str.h"

const char *pair_get(const struct pair *pairs, uint32_t n, const char *key)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(pairs[i].key, key))
			return pairs[i].value;
	return NULL;
}

const struct condition *condition_get(const struct condition *conditions, uint32_t n, const char *type)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(conditions[i].type, type))
			return &conditions[i];
	return NULL;
}

int64_t amount_get(const struct amount *amounts, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(amounts[i].name, name))
			return amounts[i].milli;
	return 0;
}

const struct owner *meta_controller(const struct meta *m)
{
	for (uint32_t i = 0; i < m->n_owners; i++)
		if (m->owners[i].controller)
			return &m->owners[i];
	return NULL;
}

bool annotation_matters(const char *key)
{
	static const char *const prefixes[] = {
		"sunk.coreweave.com/",
		"node.coreweave.cloud/",
		"kubernetes.io/config.mirror", /* marks a static Pod */
		"volume.kubernetes.io/",
	};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (str_starts(key, prefixes[i]))
			return true;
	return false;
}
