/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "cmd/verb.h"

int verb_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("sunk %s\n", SUNK_VERSION);
	return STATUS_OK;
}
