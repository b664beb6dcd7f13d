/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What all daemons share: the loop, both ports, leader election, one HTTP listener for /healthz, /readyz and /metrics, signals
 * and a clean end. A daemon is a table of parts (scheduler, syncer, operator); `sunk all` runs several in one process. Core
 * thread.
 */
#pragma once

struct daemon;
