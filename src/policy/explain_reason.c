/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_reason.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* The first that fits counts. */
static const struct slurm_reason reasons[] = {
	{ "None", "Slurm's scheduler to look at it; it does so about once a second", NULL },
	{ "Resources", "free resources: it is its turn, but no node that it may use has enough of them now",
	  "nothing; it runs when jobs or Pods end. Asking for less, or for more kinds of nodes, makes it sooner" },
	{ "Priority", "jobs of higher priority that are before it",
	  "nothing; `squeue --start -j #` guesses when, `sprio` tells why" },
	{ "JobHeldUser", "someone to release it: its owner, or Slurm after a failed start, holds it",
	  "`scontrol release #`" },
	{ "JobHeldAdmin",
	  "someone to release it: an administrator holds it, or Slurm does because it cannot start it as this user",
	  "`scontrol show job #` may tell why; then `scontrol release #`, or correct the annotation user-id" },
	{ "JobHold*", "someone to release it", "`scontrol release #`" },
	{ "BeginTime", "its start time; a job that is put back into the queue waits two minutes", NULL },
	{ "Dependency*", "another job that it depends on", "`scontrol show job #` names it" },
	{ "PartitionDown", "its partition, which is down",
	  "an administrator can set it up: `scontrol update partition=… state=up`" },
	{ "PartitionInactive", "its partition, which is inactive",
	  "an administrator can set it up: `scontrol update partition=… state=up`" },
	{ "Partition*", "nothing that can come: it asks for more than its partition allows",
	  "ask for less, or choose another partition with annotation sunk.coreweave.com/partition" },
	{ "ReqNodeNotAvail*", "nodes that are down, drained or reserved: the others may not be used for it",
	  "`sinfo -R` tells why they are drained; `kubectl get nodes` which are cordoned" },
	{ "NodeDown", "a node that is down", "`sinfo -R` tells why" },
	{ "BadConstraints", "nodes with the features it asks for: there are none",
	  "correct annotation sunk.coreweave.com/constraints; `sinfo -o '%n %f'` shows the features" },
	{ "Reservation*", "its reservation to begin, or to have room", "`scontrol show reservation`" },
	{ "InvalidAccount", "nothing that can come: Slurm does not know its account",
	  "correct annotation sunk.coreweave.com/account" },
	{ "InvalidQOS", "nothing that can come: Slurm does not know its QOS",
	  "correct annotation sunk.coreweave.com/qos" },
	{ "QOS*", "its QOS, of which a limit is reached",
	  "nothing; others of the same QOS must end first. `sacctmgr show qos` shows the limits" },
	{ "Assoc*", "its account or user, of which a limit is reached",
	  "nothing; others of the same account must end first. `sacctmgr show assoc` shows the limits" },
	{ "Max*", "its account, user or partition, of which a limit is reached",
	  "`sacctmgr show assoc` and `scontrol show partition` show the limits" },
	{ "Licenses*", "a licence that is in use", "`scontrol show licenses`" },
	{ "Cleaning", "what is left of its former run to be cleaned up", NULL },
	{ "Prolog", "the prolog of its node to end", NULL },
	{ "DeadLine", "nothing that can come: its deadline cannot be met any more", NULL },
};

static const struct slurm_reason unknown = { "", "what Slurm calls by this word", "`scontrol show job #` tells more" };

static bool fits(const char *pattern, const char *word)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, word, len - 1) == 0;
	return str_eq(pattern, word);
}

const struct slurm_reason *slurm_reason_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (fits(reasons[i].word, str_empty(word) ? "None" : word))
			return &reasons[i];
	return &unknown;
}
