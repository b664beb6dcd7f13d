/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What accounting (slurmdbd) has of one job. slurmctld forgets who cancelled a job; the record says it. A connection for each
 * question: they are rare, and slurmdbd comes and goes as it likes.
 */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>

#include "base/str.h"
#include "slurm/compat.h"
#include "slurm/rpc.h"

#define NAME_BUFFER 4096

/* "user alice (uid 1000)", or "user 1000" when nobody here has that number. */
static char *person(uint32_t uid)
{
	char text[NAME_BUFFER];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found)
		return str_printf("user %s (uid %" PRIu32 ")", found->pw_name, uid);
	return str_printf("user %" PRIu32, uid);
}

static void tell(const struct slurm_request *rq, const slurmdb_job_rec_t *record, struct buf *out)
{
	struct job job = { .id = rq->job_id };
	struct slurm_result r = { .outcome = SLURM_OK, .jobs = &job, .n = 1 };
	_cleanup_free_ char *by = NULL;

	if (!record) {
		rpc_fail(rq, ESLURM_INVALID_JOB_ID, out);
		return;
	}
	job.submitted = record->submit * USEC_SEC;
	job.ended = record->end * USEC_SEC;
	job.uid = record->uid;
	if ((record->state & JOB_STATE_BASE) == LIBSLURM_JOB_CANCELLED && record->requid != INFINITE &&
	    record->requid != NO_VAL)
		by = person(record->requid);
	job.user_cancelled_by = by;
	rpc_done(rq, &r, out);
}

/* Numbers begin anew when a controller loses its state: the record is that of the job that was submitted then. */
static const slurmdb_job_rec_t *find(list_t *records, const struct slurm_request *rq)
{
	list_itr_t *i = slurm_list_iterator_create(records);
	const slurmdb_job_rec_t *record, *found = NULL;

	while ((record = slurm_list_next(i)))
		if (record->jobid == rq->job_id && (!rq->since || record->submit == rq->since / USEC_SEC))
			found = record;
	slurm_list_iterator_destroy(i);
	return found;
}

void rpc_load_record(const struct slurm_request *rq, struct buf *out)
{
	slurm_selected_step_t step = SLURM_SELECTED_STEP_INITIALIZER;
	slurmdb_job_cond_t ask = { .flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_WAIT |
		                            JOBCOND_FLAG_NO_DEFAULT_USAGE,
		                   .db_flags = SLURMDB_JOB_FLAG_NOTSET };
	list_t *records = NULL;
	uint16_t flags = 0;
	void *db;

	errno = 0;
	db = slurmdb_connection_get(&flags);
	if (!db) {
		rpc_fail(rq, ESLURM_DB_CONNECTION, out);
		return;
	}
	step.step_id.job_id = rq->job_id;
	ask.step_list = slurm_list_create(NULL);
	slurm_list_append(ask.step_list, &step);
	records = slurmdb_jobs_get(db, &ask);
	if (records)
		tell(rq, find(records, rq), out);
	else
		rpc_fail(rq, ESLURM_DB_CONNECTION, out);
	if (records)
		slurm_list_destroy(records);
	slurm_list_destroy(ask.step_list);
	slurmdb_connection_close(&db);
}
