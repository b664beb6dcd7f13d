/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What Slurm writes as text or number, read as values: resources, versions, names of RPCs. Pure; knows no libslurm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "port/slurm.h"

/* The oldest controller we talk to: on 22.05 an update of a job's extra ends slurmctld. */
#define SLURM_VERSION_LEAST 2302

/* GPUs in a gres or tres text: "gpu:h100:2(IDX:0-1),shard:4", "gres/gpu=2", "gres:gpu:2", "cpu=4,mem=1G,gres/gpu=4,
 * gres/gpu:h100=4" (the total and its parts: 4). "gpu" alone is one. NULL and texts without GPUs give 0. */
uint32_t words_gpus(const char *text);

/* The memory in a tres text: "cpu=4,mem=1500M,node=1" gives 1500; 0 when there is none. */
uint64_t words_memory_mb(const char *text);

/* "24.11.5" gives 2411. -EINVAL for what is no version, -EPROTONOSUPPORT below SLURM_VERSION_LEAST. */
int words_version(const char *text, uint32_t *ret_number, struct err *err);

/* "REQUEST_JOB_INFO" for 2003; NULL when unknown. */
const char *words_rpc_name(uint16_t id);

/* True for numbers that say that no answer came from the controller: errno's, messages that did not get through,
 * sockets, munge. False for what the controller itself said. */
bool words_is_transport(int code);

/* What a request is about, for messages: "cancel job 12", "change node n1", "submit default.web-0". */
void words_add_subject(struct buf *out, const struct slurm_request *rq);
