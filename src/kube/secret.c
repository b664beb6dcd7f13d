/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/secret.h"

#include <stdint.h>

static void wipe(yyjson_val *v)
{
	yyjson_val *key, *item;
	size_t i, n;

	if (yyjson_is_str(v)) {
		explicit_bzero((char *)(uintptr_t)yyjson_get_str(v), yyjson_get_len(v));
	} else if (yyjson_is_arr(v)) {
		yyjson_arr_foreach(v, i, n, item)
		{
			wipe(item);
		}
	} else if (yyjson_is_obj(v)) {
		yyjson_obj_foreach(v, i, n, key, item)
		{
			wipe(item);
		}
	}
}

void secret_doc_free(yyjson_doc *doc)
{
	wipe(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

bool secret_is_token(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

bool secret_is_pem(const char *s)
{
	return strstr(s, "-----BEGIN ");
}
