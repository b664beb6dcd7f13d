/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Draws docs/node-locking.svg by asking policy/lock what it does, step by step: the picture cannot say anything else than the code.
 *
 * usage: lock-svg            prints the picture
 *        lock-svg FILE       fails when FILE is not that picture
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "policy/lock.h"

#define BOX_W 206
#define BOX_H 74
#define GAP 58
#define ROW_H 168
#define LEFT 20
#define PICTURE_MAX 65536

struct scene {
	const char *title, *event;
	enum lock_level request;
	bool new_epoch;
	size_t blockers; /* in the way at first; they leave once the picture shows it */
};

static const struct scene scenes[] = {
	{ "A job is about to start on an idle node", "prolog → syncer", LEVEL_NORMAL, true, 1 },
	{ "A placeholder job joins it: the same lock, stricter", "prolog → syncer", LEVEL_STRICT, true, 1 },
	{ "The last job has ended", "epilog → syncer", LEVEL_NONE, false, 0 },
};

static const char *const who[] = {
	[LOCK_TAINT] = "Node Controller", [LOCK_SHOW] = "Pod Controller",     [LOCK_CONFIRM] = "Node Controller",
	[LOCK_HIDE] = "Pod Controller",   [LOCK_UNTAINT] = "Node Controller",
};

static void words(const struct lock_words *w, bool node, char text[64])
{
	if (w->state == LOCK_FALSE && !w->state_for)
		snprintf(text, 64, "%s", node && w->taint ? "taint" : "–");
	else
		snprintf(text, 64, "%s%s (%" PRIu64 ")", node && w->taint ? "taint, " : "", lock_state_text(w->state),
		         w->state_for);
}

static void box(struct buf *out, int x, int y, const struct lock_view *v)
{
	char request[64], pod[64], node[64];
	bool open = v->pod.request && lock_satisfies(&v->pod, v->pod.request);

	if (v->pod.request)
		snprintf(request, sizeof(request), "%s, epoch %" PRIu64, lock_level_text(v->pod.request), v->pod.epoch);
	else
		snprintf(request, sizeof(request), "–");
	words(&v->pod, false, pod);
	words(&v->node, true, node);
	buf_printf(out, "<rect x='%d' y='%d' width='%d' height='%d' rx='6' fill='%s' stroke='#57606a'/>\n", x, y, BOX_W,
	           BOX_H,
	           open             ? "#dafbe1"
	           : v->pod.request ? "#fff8c5"
	                            : "#f6f8fa");
	buf_printf(out, "<text x='%d' y='%d'>asked: %s</text>\n", x + 10, y + 20, request);
	buf_printf(out, "<text x='%d' y='%d'>Node: %s</text>\n", x + 10, y + 41, node);
	buf_printf(out, "<text x='%d' y='%d'>Pod: %s</text>\n", x + 10, y + 62, pod);
	if (open)
		buf_printf(out, "<text x='%d' y='%d' class='ok'>pre-hook answers</text>\n", x + 10, y + BOX_H + 16);
	if (v->n_blockers)
		buf_printf(out, "<text x='%d' y='%d' class='no'>a Pod is in the way</text>\n", x + 10, y + BOX_H + 16);
}

static void arrow(struct buf *out, int x, int y, const char *label)
{
	const char *space = strchr(label, ' ');

	buf_printf(out, "<path d='M%d %d h%d' stroke='#57606a' marker-end='url(#a)'/>\n", x, y, GAP - 8);
	buf_printf(out, "<text x='%d' y='%d' class='who'>%.*s</text>\n", x + GAP / 2 - 3, y - 20,
	           (int)(space ? space - label : (int)strlen(label)), label);
	if (space)
		buf_printf(out, "<text x='%d' y='%d' class='who'>%s</text>\n", x + GAP / 2 - 3, y - 7, space + 1);
}

static void apply(struct lock_view *v, const struct lock_decision *d)
{
	switch (d->step) {
	case LOCK_TAINT:
	case LOCK_CONFIRM:
		v->node.taint = true;
		v->node.state = d->node_state;
		v->node.state_for = d->epoch;
		break;
	case LOCK_UNTAINT: v->node = (struct lock_words) { 0 }; break;
	case LOCK_SHOW:
	case LOCK_HIDE:
		v->pod.state = d->pod_state;
		v->pod.state_for = d->step == LOCK_SHOW ? d->epoch : 0;
		break;
	case LOCK_REST: break;
	}
}

static int draw_scene(struct buf *out, const struct scene *s, struct lock_view *v, int y)
{
	int x = LEFT;

	buf_printf(out, "<text x='%d' y='%d' class='title'>%s</text>\n", LEFT, y, s->title);
	y += 24;
	box(out, x, y, v);
	v->pod.request = s->request;
	v->pod.epoch += s->new_epoch;
	v->n_blockers = s->blockers;
	arrow(out, x + BOX_W + 2, y + BOX_H / 2, s->event);
	x += BOX_W + GAP;
	box(out, x, y, v);
	for (int n = 0; n < 8; n++) {
		struct lock_decision d = lock_decide(v);

		if (d.step == LOCK_REST && v->n_blockers) {
			v->n_blockers = 0; /* evicted, by Kubernetes */
			d = lock_decide(v);
		}
		if (d.step == LOCK_REST)
			break;
		apply(v, &d);
		arrow(out, x + BOX_W + 2, y + BOX_H / 2, who[d.step]);
		x += BOX_W + GAP;
		box(out, x, y, v);
	}
	return x + BOX_W + LEFT;
}

static void draw(struct buf *out)
{
	struct lock_view v = { .pod_there = true, .pods_are_fresh = true };
	_cleanup_buf_ struct buf body = BUF(PICTURE_MAX);
	int width = 0, y = 34;

	for (size_t i = 0; i < ARRAY_LEN(scenes); i++, y += ROW_H) {
		int w = draw_scene(&body, &scenes[i], &v, y);

		width = w > width ? w : width;
	}
	buf_printf(out,
	           "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
	           "font-family='sans-serif' "
	           "font-size='13'>\n<title>The lock of a node, step by step</title>\n"
	           "<style>.title{font-weight:bold;font-size:15px}.who{font-size:11px;text-anchor:middle;fill:#57606a}"
	           ".ok{fill:#1a7f37}.no{fill:#9a6700}</style>\n"
	           "<defs><marker id='a' markerWidth='8' markerHeight='8' refX='7' refY='4' orient='auto'>"
	           "<path d='M0 0 L8 4 L0 8 z' fill='#57606a'/></marker></defs>\n"
	           "<rect width='%d' height='%d' fill='#ffffff'/>\n%s</svg>\n",
	           width, y - 10, width, y - 10, width, y - 10, buf_text(&body));
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf picture = BUF(PICTURE_MAX), file = BUF(PICTURE_MAX);

	draw(&picture);
	if (argc < 2) {
		fputs(buf_text(&picture), stdout);
		return 0;
	}
	if (buf_read_file(&file, argv[1]) < 0 || strcmp(buf_text(&file), buf_text(&picture)) != 0) {
		fprintf(stderr, "%s is not what policy/lock does: write it anew with lock-svg\n", argv[1]);
		return 1;
	}
	printf("%s is what policy/lock does\n", argv[1]);
	return 0;
}
