/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a NodeSet tells a person: the condition Ready, with what to do.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "policy/nodeset_plan.h"

static void say_lost(const struct nodeset_outlook *o, char message[NODESET_MESSAGE_MAX])
{
	char more[64] = "";

	if (o->n_lost > 1)
		snprintf(more, sizeof(more), " (and %zu more like it)", o->n_lost - 1);
	snprintf(message, NODESET_MESSAGE_MAX,
	         "Node %s is gone while Slurm node %s may run a job%s: it is drained, but Kubernetes deletes Pods "
	         "without a "
	         "Node after a minute or so, and the job with it. If the machine is there, restart its kubelet: it "
	         "registers the Node again and the Pod stays. Else end or requeue the job",
	         str_or(nodeset_pod_node(o->lost), "?"), o->lost->meta.name, more);
}

static void say_strange(const struct nodeset *set, char message[NODESET_MESSAGE_MAX])
{
	snprintf(message, NODESET_MESSAGE_MAX,
	         "%s: this operator does not know that, it is of a later version. No Pod is %staken away or updated "
	         "meanwhile: "
	         "upgrade the operator (helm upgrade sunk), or take that out of the NodeSet",
	         set->strange, set->unreadable ? "made, " : "");
}

bool nodeset_ready(const struct nodeset *set, const struct nodeset_outlook *o, const char **ret_reason,
                   char message[NODESET_MESSAGE_MAX])
{
	const struct nodeset_status *s = &o->status;
	const char *reason = "AsWanted";

	snprintf(message, NODESET_MESSAGE_MAX, "%" PRId32 " Pods are ready", s->ready);
	if (o->n_lost) {
		reason = "NodeGone";
		say_lost(o, message);
	} else if (!set->meta.deletion && *set->strange) {
		reason = "LaterVersion";
		say_strange(set, message);
	} else if (!set->meta.deletion && o->n_foreign) {
		reason = "LaterVersion";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%zu Pods were made by another version of the operator (label %s); they stay as they are: "
		         "upgrade "
		         "this operator, or mark a Pod of your choice to be made anew by removing that label",
		         o->n_foreign, LABEL_REVISION);
	} else if (o->n_unsure) {
		reason = "SlurmUnknown";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%zu Pods are to go, but nobody says whether a job runs there: is the syncer running? "
		         "Annotation "
		         "%s on a Pod deletes it all the same",
		         o->n_unsure, ANNOTATION_FORCE_DELETE);
	} else if (o->n_busy) {
		reason = "WaitingForJobs";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%zu Pods are to go and wait until their Slurm nodes are drained and idle", o->n_busy);
	} else if (set->meta.deletion) {
		reason = "Deleting";
		snprintf(message, NODESET_MESSAGE_MAX, "%" PRId32 " Pods are left", s->replicas);
	} else if (o->n_nameless) {
		reason = "NameClash";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "for %zu Nodes every name is taken by another Pod: give the NodeSet a namePrefix of its own",
		         o->n_nameless);
	} else if (!s->feasible && !s->current && o->n_taken && !(set->has_replicas && !set->replicas)) {
		reason = "NodesTaken";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "no Node is free: %zu that fit have a Pod of another NodeSet. Let the other shrink, or give "
		         "each "
		         "Nodes of its own by nodeSelector",
		         o->n_taken);
	} else if (!s->feasible && s->desired >= s->current && !s->current) {
		reason = set->has_replicas && !set->replicas ? "AsWanted" : "NoFeasibleNode";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "no Node fits: look at affinity, nodeSelector, tolerations and requests%s",
		         o->n_cordoned ? "; some are cordoned" : "");
		if (str_eq(reason, "AsWanted"))
			snprintf(message, NODESET_MESSAGE_MAX, "no Pods are wanted");
	} else if (s->desired > s->feasible && s->current >= s->feasible) {
		reason = "NotEnoughNodes";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%" PRId32 " Pods are wanted, but only %" PRId32 " Nodes fit%s%s", s->desired, s->feasible,
		         o->n_cordoned ? "; some more are cordoned" : "",
		         o->n_taken ? "; some more have a Pod of another NodeSet" : "");
	} else if (s->updated < s->current && !nodeset_is_rolling(set) && set->update == UPDATE_UNKNOWN) {
		reason = "UnknownUpdateStrategy";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%" PRId32 " of %" PRId32
		         " Pods are of the template as it is now, and this operator does not know the "
		         "updateStrategy: upgrade it, or choose RollingUpdate or OnDelete",
		         s->updated, s->current);
	} else if (s->updated < s->current && nodeset_is_rolling(set)) {
		reason = "Updating";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%" PRId32 " of %" PRId32 " Pods are of the template as it is now", s->updated, s->current);
	} else if (s->unavailable || s->leaving) {
		reason = "NotReady";
		snprintf(message, NODESET_MESSAGE_MAX,
		         "%" PRId32 " of %" PRId32 " Pods are not ready, %" PRId32 " are leaving", s->unavailable,
		         s->desired, s->leaving);
	}
	*ret_reason = reason;
	return str_eq(reason, "AsWanted");
}
