/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Logs of a Pod's containers: asked of the node agent that runs it.
 */
#include "lite/registry.h"
#include "lite/subs.h"

int sub_log(struct call *c, struct status *st)
{
	struct item *i = NULL;
	int r = reg_find(c->lite, c->kind, c->route.ns, c->route.name, &i, st);

	return r < 0 ? r : status_internal(st, "no node agent serves logs");
}
