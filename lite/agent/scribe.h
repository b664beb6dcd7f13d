/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writes down what one run of a container says: reads the pipe that is its output and its errors, and puts every line with
 * its time into a file (logfile.h). A file that has grown to its maximum becomes PATH.old and a new one is begun, so that a
 * container can never fill the disk with more than twice that. Runs on the shim's loop.
 */
#pragma once

#include "base/err.h"
#include "net/loop.h"

#define SCRIBE_FILE_MAX ((size_t)64 << 20)
#define SCRIBE_OLD ".old"

struct scribe;

/* ret_fd: the end of the pipe for the container; the caller closes it. */
int scribe_new(struct loop *l, const char *path, size_t file_max, struct scribe **ret, int *ret_fd, struct err *err);

/* The run is over: writes down what is still in the pipe, and ends. NULL is fine. */
void scribe_free(struct scribe *s);
