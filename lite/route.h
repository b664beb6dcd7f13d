/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Path and method → what is asked for. Pure: knows the shape of the API's paths, not what is served.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ROUTE_PATH_MAX 2048
#define ROUTE_PARTS_MAX 12

struct route {
	char text[ROUTE_PATH_MAX]; /* what the others point into */
	bool resource;             /* a path of the resource API; else only `path` counts */
	const char *path;
	const char *verb; /* "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; of other
	                      paths the method in lower case */
	const char *group; /* "" = core */
	const char *version, *plural;
	const char *ns, *name, *sub; /* "" where there is none */
};

/* watch: ?watch was asked for. False for a path that is too long. A method that is none of the API's gives verb "". */
bool route_parse(struct route *r, const char *method, const char *path, bool watch);
