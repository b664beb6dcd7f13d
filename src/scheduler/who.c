/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who cancelled a Pod's job? slurmctld does not keep it, accounting does. Where there is a slurmdbd it is asked before the event is
 * told; nothing else waits for that, and the Pod may be gone by then. The record arrives there a little later than the job's end
 * here, so it is asked for until it is there or the time is up; then the event is told without a name.
 */
#include "scheduler/inside.h"

#include "base/str.h"

#define WHO_MAX 256                  /* events that wait for a name; more are told without one */
#define WHO_PATIENCE (6 * USEC_SEC)
#define WHO_PAUSE (250 * USEC_MSEC)  /* before the record is asked for, and between two tries */
#define WHO_TIMEOUT (3 * USEC_SEC)   /* of one question */

struct who {
	struct link link;
	char *key, uid[POD_UID_MAX];
	uint32_t job;
	usec_t submitted, due, until;
	const char *and_so;
};

static void who_free(struct who *w)
{
	link_remove(&w->link);
	free(w->key);
	free(w);
}

static void told(struct scheduler *s, struct who *w, const char *by)
{
	char text[DECISION_TEXT_MAX];

	cancelled_text(w->job, by, w->and_so, text);
	effects_send(s, w->key, w->uid, true, "Cancelled", text);
	who_free(w);
}

bool who_tell(struct scheduler *s, const struct entry *e, const struct decision *d)
{
	const struct known_job *j = jobs_get(s, d->event_job);
	struct who *w;

	if (!s->accounting || !d->and_so || s->n_who >= WHO_MAX)
		return false;
	w = NEW(struct who);
	w->key = mem_strdup(e->key);
	str_copy(w->uid, sizeof(w->uid), e->uid);
	w->job = d->event_job;
	w->submitted = j ? j->submitted : 0;
	w->and_so = d->and_so;
	w->due = usec_add(now_of(s), WHO_PAUSE);
	w->until = usec_add(now_of(s), WHO_PATIENCE);
	list_add_tail(&s->who, &w->link);
	s->n_who++;
	wake(s);
	return true;
}

static void answered(void *arg, struct slurm_result *r)
{
	struct scheduler *s = arg;
	struct who *w = list_empty(&s->who) ? NULL : LIST_ITEM(s->who.next, struct who, link);
	usec_t now = now_of(s);

	s->who_asking = false;
	wake(s);
	if (!w || w->job != s->who_job)
		return; /* another leader's by now */
	if (r->outcome == SLURM_OK && r->n && r->jobs[0].user_cancelled_by) {
		s->n_who--;
		told(s, w, r->jobs[0].user_cancelled_by);
	} else if (now >= w->until) {
		s->n_who--;
		told(s, w, NULL);
	} else { /* behind the others */
		w->due = usec_add(now, WHO_PAUSE);
		link_remove(&w->link);
		list_add_tail(&s->who, &w->link);
	}
}

/* One at a time: whoever else wants to know something of Slurm finds its workers free. */
void who_step(struct scheduler *s, usec_t now)
{
	while (!s->who_asking && !list_empty(&s->who)) {
		struct who *w = LIST_ITEM(s->who.next, struct who, link);

		if (now >= usec_add(w->until, WHO_TIMEOUT)) { /* many wait, and slurmdbd is slow */
			s->n_who--;
			told(s, w, NULL);
			continue;
		}
		if (now < w->due)
			return;
		s->who_asking = true;
		s->who_job = w->job;
		s->o.slurm->ops->call(s->o.slurm,
		                      &(struct slurm_request) { .verb = SLURM_LOAD_RECORD,
		                                                .job_id = w->job,
		                                                .since = w->submitted,
		                                                .timeout = WHO_TIMEOUT },
		                      answered, s);
	}
}

usec_t who_next(const struct scheduler *s)
{
	return s->who_asking || list_empty(&s->who) ? USEC_NEVER : LIST_ITEM(s->who.next, struct who, link)->due;
}

void who_forget(struct scheduler *s)
{
	struct link *l;

	while ((l = list_take_head(&s->who)))
		who_free(LIST_ITEM(l, struct who, link));
	s->n_who = 0;
}
