/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the client must make of each recorded exchange: one row per file of tests/kube-samples. Tests walk it: the
 * reading of answers by itself, and the whole client against a server that replays them.
 */
#pragma once

#include "base/time.h"
#include "port/kube.h"

enum sample_role {
	SAMPLE_READ,   /* the answer to a get or list that is no page to decode */
	SAMPLE_EFFECT, /* the answer to something that changes something */
	SAMPLE_LIST,   /* a page */
	SAMPLE_WATCH,  /* a stream */
	SAMPLE_PLAIN,  /* /version, /readyz */
	SAMPLE_OTHER,  /* does not concern a client: `text` says why */
};

struct sample_case {
	const char *file;
	enum sample_role role;
	enum kube_outcome outcome; /* LIST: OK or RETRY; WATCH: RETRY when it ends with an error */
	const char *reason;        /* of READ and EFFECT */
	/* READ, EFFECT: in the message. LIST and WATCH: the names then in the store. OTHER: why. */
	const char *text;
	const char *version; /* of the object as written, of the page; WATCH: to go on from */
	usec_t retry_after;
	bool maybe_done;
	bool expired;
};

extern const struct sample_case sample_cases[];
extern const size_t n_sample_cases;
