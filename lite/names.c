/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/names.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define SUBDOMAIN_MAX 253
#define LABEL_MAX 63

#define LABEL_RE "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define KEY_RE "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define KEY_SAYS                                                                                                       \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "       \
	"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" KEY_RE "')"

static void add(struct name_errors *e, const char *fmt, ...) _printf_(2, 3);

static void add(struct name_errors *e, const char *fmt, ...)
{
	va_list ap;

	if (e->n == NAME_ERRORS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(e->text[e->n++], sizeof(e->text[0]), fmt, ap);
	va_end(ap);
}

const char *name_errors_text(const struct name_errors *errors, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < errors->n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", i ? "; " : "", errors->text[i]);
	return text;
}

/* ------------------------------------------------------------------------------------------------------ characters */

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* Alphanumeric at both ends, also `inner` characters in between; not empty. */
static bool has_form(const char *s, size_t len, bool (*edge)(char), const char *inner)
{
	if (!len || !edge(s[0]) || !edge(s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!edge(s[i]) && !strchr(inner, s[i]))
			return false;
	return true;
}

static bool is_subdomain(const char *s)
{
	for (;; s++) {
		size_t len = strcspn(s, ".");

		if (!has_form(s, len, is_lower_alnum, "-"))
			return false;
		s += len;
		if (!*s)
			return true;
	}
}

/* ----------------------------------------------------------------------------------------------------------- rules */

static void subdomain(const char *name, const char *before, struct name_errors *e)
{
	/* The real server counts the same, but calls it bytes in labels. */
	if (strlen(name) > SUBDOMAIN_MAX)
		add(e, "%smust be no more than %d %s", before, SUBDOMAIN_MAX, *before ? "bytes" : "characters");
	if (!is_subdomain(name))
		add(e,
		    "%sa lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
		    "and must "
		    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
		    "'%s')",
		    before, LABEL_RE "(\\." LABEL_RE ")*");
}

size_t name_dns_subdomain(const char *name, struct name_errors *ret)
{
	ret->n = 0;
	subdomain(name, "", ret);
	return ret->n;
}

size_t name_dns_label(const char *name, struct name_errors *ret)
{
	ret->n = 0;
	if (strlen(name) > LABEL_MAX)
		add(ret, "must be no more than %d characters", LABEL_MAX);
	if (has_form(name, strlen(name), is_lower_alnum, "-"))
		return ret->n;
	/* A hint for what is a fine subdomain: only the dots are wrong. */
	if (is_subdomain(name))
		add(ret, "must not contain dots");
	else
		add(ret, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
		         "must start "
		         "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
		         "validation is "
		         "'" LABEL_RE "')");
	return ret->n;
}

size_t name_dns1035_label(const char *name, struct name_errors *ret)
{
	ret->n = 0;
	if (strlen(name) > LABEL_MAX)
		add(ret, "must be no more than %d characters", LABEL_MAX);
	if (!has_form(name, strlen(name), is_lower_alnum, "-") || isdigit((unsigned char)name[0]))
		add(ret,
		    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
		    "alphabetic "
		    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
		    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
	return ret->n;
}

size_t name_label_key(const char *name, struct name_errors *ret)
{
	const char *slash = strchr(name, '/'), *part = slash ? slash + 1 : name;

	ret->n = 0;
	if (slash && strchr(part, '/')) {
		add(ret, "a valid label key " KEY_SAYS
		         " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
		return ret->n;
	}
	if (slash) {
		_cleanup_free_ char *prefix = mem_strndup(name, (size_t)(slash - name));

		if (!*prefix)
			add(ret, "prefix part must be non-empty");
		else
			subdomain(prefix, "prefix part ", ret);
	}
	if (!*part)
		add(ret, "name part must be non-empty");
	else if (strlen(part) > LABEL_MAX)
		add(ret, "name part must be no more than %d bytes", LABEL_MAX);
	if (!has_form(part, strlen(part), is_alnum, "-_."))
		add(ret, "name part " KEY_SAYS);
	return ret->n;
}

size_t name_label_value(const char *name, struct name_errors *ret)
{
	ret->n = 0;
	if (strlen(name) > LABEL_MAX)
		add(ret, "must be no more than %d bytes", LABEL_MAX);
	if (*name && !has_form(name, strlen(name), is_alnum, "-_."))
		add(ret, "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
		         "'.', and must "
		         "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
		         "regex used "
		         "for validation is '(" KEY_RE ")?')");
	return ret->n;
}

size_t name_config_key(const char *name, struct name_errors *ret)
{
	bool ok = *name;

	ret->n = 0;
	for (const char *p = name; *p; p++)
		ok = ok && (is_alnum(*p) || strchr("-._", *p));
	if (strlen(name) > SUBDOMAIN_MAX)
		add(ret, "must be no more than %d characters", SUBDOMAIN_MAX);
	if (!ok)
		add(ret,
		    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
		    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
	if (str_eq(name, "."))
		add(ret, "must not be '.'");
	else if (str_eq(name, ".."))
		add(ret, "must not be '..'");
	else if (str_starts(name, ".."))
		add(ret, "must not start with '..'");
	return ret->n;
}

size_t name_env_var(const char *name, struct name_errors *ret)
{
	bool ok = true;

	ret->n = 0;
	for (const char *p = name; *p; p++)
		ok = ok && *p >= ' ' && *p < 0x7f && *p != '=';
	if (!*name)
		add(ret, "environment variable name must be non-empty");
	else if (!ok)
		add(ret,
		    "a valid environment variable name must consist only of printable ASCII characters other than '='");
	return ret->n;
}

size_t name_port(const char *name, struct name_errors *ret)
{
	size_t len = strlen(name);
	bool chars = len > 0, letter = false;

	ret->n = 0;
	for (const char *p = name; *p; p++) {
		chars = chars && (is_lower_alnum(*p) || *p == '-');
		letter = letter || (*p >= 'a' && *p <= 'z');
	}
	if (len > 15)
		add(ret, "must be no more than 15 characters");
	if (!chars)
		add(ret, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
	if (!letter)
		add(ret, "must contain at least one letter (a-z)");
	if (strstr(name, "--"))
		add(ret, "must not contain consecutive hyphens");
	if (len && (name[0] == '-' || name[len - 1] == '-'))
		add(ret, "must not begin or end with a hyphen");
	return ret->n;
}

size_t name_path_segment(const char *name, struct name_errors *ret)
{
	ret->n = 0;
	if (str_eq(name, ".") || str_eq(name, ".."))
		add(ret, "may not be '%s'", name);
	else {
		if (strchr(name, '/'))
			add(ret, "may not contain '/'");
		if (strchr(name, '%'))
			add(ret, "may not contain '%%'");
	}
	return ret->n;
}
