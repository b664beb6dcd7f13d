/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/cleanup.h"

#include "policy/slurm_conditions.h"

struct cleanup_decision cleanup_decide(const struct cleanup_view *v)
{
	struct cleanup_decision d = { .again = USEC_NEVER };

	if (!v->known || v->listed || v->pod || !v->ours || !(v->node->flags & NODEF_DYNAMIC))
		return d;
	d.missing = v->missing ? v->missing : v->now;
	if (snode_is_running(v->node))
		return d; /* its end is news, and makes us look */
	if (v->now < usec_add(d.missing, CLEANUP_SETTLES))
		d.again = usec_add(d.missing, CLEANUP_SETTLES);
	else if (v->asked <= d.missing)
		d.wants_news = true;
	else if (v->no_pod <= d.missing || v->now > usec_add(v->no_pod, CLEANUP_JUST_NOW))
		d.ask_pod = true;
	else
		d.remove = true;
	return d;
}
