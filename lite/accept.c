/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/accept.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

#define ENTRY_MAX 512

static const struct {
	const char *as, *group;
	const char *versions[3];
} forms[] = {
	{ "", "", { "" } },
	{ "Table", "meta.k8s.io", { "v1", "v1beta1" } },
	{ "PartialObjectMetadata", "meta.k8s.io", { "v1", "v1beta1" } },
	{ "PartialObjectMetadataList", "meta.k8s.io", { "v1", "v1beta1" } },
	{ "APIGroupDiscoveryList", "apidiscovery.k8s.io", { "v2", "v2beta1" } },
};

static bool known(const struct accept *a)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		for (size_t v = 0; v < ARRAY_LEN(forms[i].versions) && forms[i].versions[v]; v++)
			if (str_eq(a->as, forms[i].as) &&
			    (!*a->as || (str_eq(a->group, forms[i].group) && str_eq(a->version, forms[i].versions[v]))))
				return true;
	return false;
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

static bool parse_entry(char *entry, struct accept *ret)
{
	static const char *const types[] = { "application/json", "*/*", "application/*" };
	struct accept a = { 0 };
	char *save = NULL, *type = strtok_r(entry, ";", &save), *p;
	bool json = false;

	if (!type)
		return false;
	type = trim(type);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		json |= strcasecmp(type, types[i]) == 0;
	while ((p = strtok_r(NULL, ";", &save))) {
		p = trim(p);
		if (str_starts(p, "as="))
			str_copy(a.as, sizeof(a.as), p + 3);
		else if (str_starts(p, "g="))
			str_copy(a.group, sizeof(a.group), p + 2);
		else if (str_starts(p, "v="))
			str_copy(a.version, sizeof(a.version), p + 2);
	}
	if (!json || !known(&a))
		return false;
	*ret = a;
	return true;
}

bool accept_parse(const char *header, struct accept *ret)
{
	char entry[ENTRY_MAX];
	size_t len;

	*ret = (struct accept) { 0 };
	if (str_empty(header))
		return true;
	for (; *header; header += len + (header[len] == ',')) {
		len = strcspn(header, ",");
		if (len >= sizeof(entry))
			continue;
		memcpy(entry, header, len);
		entry[len] = '\0';
		if (parse_entry(entry, ret))
			return true;
	}
	return false;
}

bool media_is(const char *content_type, const char *type)
{
	size_t len = strlen(type);

	return content_type && strncasecmp(content_type, type, len) == 0 &&
	       (content_type[len] == '\0' || content_type[len] == ';' || content_type[len] == ' ');
}
