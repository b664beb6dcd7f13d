/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shim: one small process per Pod that runs its boxes and outlives the agent, as a container runtime's does. It
 * reads DIR/spec.json, keeps DIR/state.json (replaced atomically at every change), and listens on DIR/sock: whoever
 * connects gets the state as a line of JSON now and at every change, and may write "term MILLISECONDS\n" to end the Pod:
 * SIGTERM now, SIGKILL after that long (a later, shorter one counts).
 *
 * What holds: when the state says ended, no process that came from the Pod is left, not even one that left its process
 * group (the shim is the reaper of all of them). The shim ends after that.
 */
#pragma once

#include "lite/agent/box.h"

int shim_main(const char *dir);

/* For those who talk to one. A connected, non-blocking socket, or -errno. */
int shim_connect(const char *dir);
/* The state in its file, NULL when there is none; free() it. */
struct pod_state *shim_left_state(const char *dir);
/* Removes the directory and all in it, never through a mount. */
void shim_remove_dir(const char *dir);
