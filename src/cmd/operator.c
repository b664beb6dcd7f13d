/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk operator: the Node, Pod and NodeSet Controllers as a daemon. It needs Kubernetes only.
 */
#include "operator/operator.h"

#include "base/str.h"
#include "cmd/parts.h"
#include "cmd/verb.h"
#include "operator/nodesets.h"

#define ROWS 1

struct operatord {
	struct part part;
	struct arg rows[ROWS];
	char *cluster;
	struct operator* operator;
	struct nodesets *nodesets;
};

static int prepare(void *arg, struct daemon *d, struct err *err)
{
	(void)arg;
	(void)err;
	daemon_lease_is(d, "sunk-operator");
	return 0;
}

static int start(void *arg, struct daemon *d, struct err *err)
{
	struct operatord *o = arg;

	(void)err;
	o->operator= operator_new(&(struct operator_options) { .kube = daemon_kube(d),
	                                                       .clock = daemon_clock(d),
	                                                       .metrics = daemon_metrics(d),
	                                                       .wake = part_wake,
	                                                       .wake_arg = &o->part,
	                                                       .cluster = str_empty(o->cluster) ? NULL : o->cluster });
	o->nodesets = nodesets_new(&(struct nodesets_options) { .kube = daemon_kube(d),
	                                                        .clock = daemon_clock(d),
	                                                        .metrics = daemon_metrics(d),
	                                                        .wake = part_wake,
	                                                        .wake_arg = &o->part });
	return 0;
}

static usec_t step(void *arg)
{
	struct operatord *o = arg;
	usec_t a = operator_step(o->operator), b = nodesets_step(o->nodesets);

	return MIN_OF(a, b);
}

static void leading(void *arg, bool lead)
{
	struct operatord *o = arg;

	operator_leading(o->operator, lead);
	nodesets_leading(o->nodesets, lead);
}

static bool ready(void *arg, struct err *ret_why)
{
	return operator_ready(((struct operatord *)arg)->operator, ret_why);
}

static void done(void *arg)
{
	struct operatord *o = arg;

	nodesets_free(TAKE_PTR(o->nodesets));
	operator_free(TAKE_PTR(o->operator));
}

struct part *operator_part_new(void)
{
	struct operatord *o = NEW(struct operatord);

	*o = (struct operatord) {
		.part = { .name = "operator",
		          .arg = o,
		          .prepare = prepare,
		          .start = start,
		          .step = step,
		          .leading = leading,
		          .ready = ready,
		          .done = done },
		.cluster = (char *)"",
	};
	o->rows[0] = (struct arg) {
		.flag = "cluster",
		.config = "operator.cluster",
		.type = ARG_STRING,
		.value = &o->cluster,
		.unit = "NAME",
		.help = "What the label sunk.coreweave.com/cluster of a Node says when its NodeSet Pod has "
		        "neither that label nor app.kubernetes.io/part-of."
	};
	o->part.rows = o->rows;
	o->part.n_rows = ROWS;
	return &o->part;
}

void operator_part_free(struct part *p)
{
	free(p ? p->arg : NULL);
}

int verb_operator(int argc, char **argv)
{
	_cleanup_(operator_part_freep) struct part *part = operator_part_new();
	const struct daemon_program program = {
		.name = "operator",
		.about = "The operator: locks a Node before a Slurm job starts there and unlocks it afterwards, tells "
		         "Nodes what "
		         "Slurm\n"
		         "says of them, and the Pods that run slurmd what Kubernetes says of their Node. Runs until it "
		         "is told "
		         "to end (SIGTERM).",
		.parts = &part,
		.n_parts = 1,
		.no_slurm = true,
	};

	return daemon_main(&program, argc, argv);
}
