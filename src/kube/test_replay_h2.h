/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The HTTP/2 side of test_replay.h.
 */
#pragma once

#include "net/test_peer.h"

/* A script for test_peer; arg is the struct replay. */
void replay_serve_h2(struct peer_conn *c, void *arg);
