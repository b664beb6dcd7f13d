/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The config file: YAML whose maps are the dots in the settings' keys.
 *
 *	scheduler:
 *	  name: tenant-slurm        # scheduler.name
 *	  gpuTypes: {H100: h100}    # a map
 *	  namespaces: [a, b]        # a list, or "a,b"
 *
 * What holds: every key is a setting, or the file is refused with the line of the one that is not. Flags win.
 */
#pragma once

#include "base/args.h"

#define CONFIG_BYTES_MAX (1u << 20)

int config_read(struct arg *args, size_t n, const char *path, struct err *err);
/* The same from memory; `where` names it in errors. */
int config_parse(struct arg *args, size_t n, const char *text, size_t len, const char *where, struct err *err);
