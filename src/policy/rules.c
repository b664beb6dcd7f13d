/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/rules.h"

#include "base/str.h"

bool rules_have_namespace(const struct rules *rules, const char *ns)
{
	for (uint32_t i = 0; i < rules->n_namespaces; i++)
		if (str_eq(rules->namespaces[i], ns))
			return true;
	return rules->n_namespaces == 0;
}
