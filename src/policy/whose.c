/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/whose.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/drain.h"
#include "policy/undrain.h"

static const char *const words[] = {
	[WHOSE_NOBODY] = "",         [WHOSE_KUBERNETES] = "kubernetes", [WHOSE_SCHEDULER] = "scheduler",
	[WHOSE_VERIFIER] = "verify", [WHOSE_SLURM] = "slurm",           [WHOSE_PERSON] = "person",
};
static_assert(ARRAY_LEN(words) == WHOSE_KINDS, "a word for each");

static const struct slurm_finding findings[] = {
	{ "Prolog error", "a job's prolog failed there", "see why in slurmd's log on #, then undrain it" },
	{ "Epilog error", "a job's epilog failed there", "see why in slurmd's log on #, then undrain it" },
	{ "Kill task failed", "processes of a job did not die when they were killed",
	  "look on # for processes that hang (ps, state D), often in a file system; then undrain or reboot it" },
	{ "batch job complete failure", "slurmd could not tell the end of a job",
	  "see why in slurmd's log on #; CPUs that the kubelet pins for a Pod are a known cause" },
	{ "Not responding", "slurmd did not answer for longer than SlurmdTimeout", "see whether slurmd on # runs" },
	{ "Node unexpectedly rebooted", "the machine was rebooted without Slurm knowing",
	  "see that # is well, then undrain it" },
	{ "Low RealMemory", "the machine has less memory than slurm.conf says", "repair #, or correct slurm.conf" },
	{ "Low TmpDisk", "the machine has less disk than slurm.conf says", "repair #, or correct slurm.conf" },
	{ "Low socket*core*thread", "the machine has fewer CPUs than slurm.conf says",
	  "repair #, or correct slurm.conf" },
	{ "Low CPUs", "the machine has fewer CPUs than slurm.conf says", "repair #, or correct slurm.conf" },
	{ "gres/", "the machine has fewer devices (GPUs) than slurm.conf says",
	  "look at the devices of # (nvidia-smi); repair it, or correct gres.conf" },
	{ "Duplicate jobid", "slurmd knows another job of the same number", "see slurmd's log on #, then undrain it" },
	{ "ResumeTimeout reached", "it was powered up and did not come in time", "see whether # has started" },
	{ "Scheduled reboot", "it is about to be rebooted", "nothing; it comes back by itself" },
	{ "Reboot ASAP", "it is about to be rebooted", "nothing; it comes back by itself" },
};

const struct slurm_finding *slurm_finding_of(const char *reason)
{
	for (size_t i = 0; !str_empty(reason) && i < ARRAY_LEN(findings); i++)
		if (strncasecmp(reason, findings[i].begins, strlen(findings[i].begins)) == 0)
			return &findings[i];
	return NULL;
}

enum whose whose_drain(const struct snode *n)
{
	switch (drain_owner(n)) {
	case DRAIN_NONE: return WHOSE_NOBODY;
	case DRAIN_OURS: return WHOSE_KUBERNETES;
	case DRAIN_SCHEDULER: return WHOSE_SCHEDULER;
	case DRAIN_FOREIGN: break;
	}
	if (n->reason && strstr(n->reason, VERIFY_UNDRAIN))
		return WHOSE_VERIFIER;
	return slurm_finding_of(n->reason) ? WHOSE_SLURM : WHOSE_PERSON;
}

const char *whose_word(enum whose w)
{
	return words[w];
}
