/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An HTTP/2 script for test_peer: answers by what the path asks for.
 *
 *	/ok      200 "ok"
 *	/watch   200 "one ", and the stream stays open
 *	/reset   RST_STREAM instead of an answer
 *	/goaway  GOAWAY that takes the request back: it was not processed
 *	/dead    from here on the connection is read, but nothing is ever sent again
 */
#pragma once

#include "net/test_peer.h"

void serve_h2(struct peer_conn *c, void *arg);
