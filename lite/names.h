/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules for names: what may stand in metadata.name, labels, keys of config maps, ports. Each rule gives the real
 * server's sentences about what is wrong; none when the name is fine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME_ERRORS_MAX 4

struct name_errors {
	size_t n;
	char text[NAME_ERRORS_MAX][640];
};

typedef size_t name_rule(const char *name, struct name_errors *ret); /* returns ret->n */

name_rule name_dns_subdomain; /* lower case, '-' and '.', up to 253: most objects */
name_rule name_dns_label;     /* lower case and '-', up to 63: namespaces, containers, volumes */
name_rule name_dns1035_label; /* the same, beginning with a letter: services */
name_rule name_label_key;     /* "example.com/my.name": labels, annotations, taints, finalizers */
name_rule name_label_value;
name_rule name_config_key; /* keys of config maps and secrets */
name_rule name_env_var;
name_rule name_port;
name_rule name_path_segment; /* anything but "/", "%", "." and "..": roles, custom resources' parts of URLs */

/* All sentences joined by "; ", for messages that show them so. */
const char *name_errors_text(const struct name_errors *errors, char *text, size_t size);
