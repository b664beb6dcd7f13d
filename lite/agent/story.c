/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/story.h"

#include <stdio.h>

#include "base/str.h"

#define MESSAGE_MAX 1024

struct story {
	const char *pod;
	bool ending;
	story_tell tell;
	void *arg;
};

_printf_(5, 6) static void say(const struct story *s, const char *type, const char *reason, const char *action,
                               const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	s->tell(s->arg, &(struct story_event) { .type = type, .reason = reason, .action = action, .message = message });
}

static bool backs_off(const struct box_state *b)
{
	return b->phase != BOX_RUNNING && str_eq(b->reason, "CrashLoopBackOff");
}

/* A run that we may have seen only the end of. */
static void story_of_box(const struct story *s, const struct box_state *before, const struct box_state *now)
{
	bool ran = now->phase != BOX_WAITING && now->started_at && (!before || now->started_at != before->started_at);

	if (ran && now->phase == BOX_TERMINATED && str_eq(now->exit.reason, "StartError"))
		say(s, "Warning", "Failed", "Starting", "Error: %s", now->message);
	else if (ran) {
		say(s, "Normal", "Pulled", "Pulling",
		    "Container %s runs as a local process; its image is not used on this node", now->name);
		say(s, "Normal", "Created", "Starting", "Created container: %s", now->name);
		say(s, "Normal", "Started", "Starting", "Started container %s", now->name);
	}
	if (!s->ending && before && !ran && before->phase == BOX_RUNNING && now->phase == BOX_RUNNING &&
	    before->ready && !now->ready)
		say(s, "Warning", "Unhealthy", "Probing", "Container %s is no longer ready", now->name);
	if (backs_off(now) && (!before || !backs_off(before) || before->restarts != now->restarts))
		say(s, "Warning", "BackOff", "Restarting", "Back-off restarting failed container %s in pod %s",
		    now->name, s->pod);
}

static void story_of_boxes(const struct story *s, const struct box_state *before, uint32_t n_before,
                           const struct box_state *now, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		story_of_box(s, before && i < n_before ? &before[i] : NULL, &now[i]);
}

void story_of_change(const struct pod_state *before, const struct pod_state *now, const char *pod, bool ending,
                     story_tell tell, void *arg)
{
	struct story s = { .pod = pod, .ending = ending, .tell = tell, .arg = arg };

	story_of_boxes(&s, before ? before->inits : NULL, before ? before->n_inits : 0, now->inits, now->n_inits);
	story_of_boxes(&s, before ? before->mains : NULL, before ? before->n_mains : 0, now->mains, now->n_mains);
}

static void end_of_boxes(const struct story *s, const struct box_state *boxes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (boxes[i].phase == BOX_RUNNING)
			say(s, "Normal", "Killing", "Stopping", "Stopping container %s", boxes[i].name);
}

void story_of_end(const struct pod_state *now, story_tell tell, void *arg)
{
	struct story s = { .tell = tell, .arg = arg };

	if (!now)
		return;
	end_of_boxes(&s, now->inits, now->n_inits);
	end_of_boxes(&s, now->mains, now->n_mains);
}
