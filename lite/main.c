/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-lite: the table of verbs, and nothing else.
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "lite/serve.h"

static const struct {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "serve", "serve a small Kubernetes API, with its controllers", serve_main },
	{ "fault", "make a running server fail on command", fault_main },
};

static void usage(FILE *to)
{
	fputs("usage: sunk-lite VERB [FLAG...]\n\nA small Kubernetes for one machine.\n\nVerbs:\n", to);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(to, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n`sunk-lite VERB --help` tells about one.\n", to);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h") || str_eq(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verbs[i].name, argv[1]))
			return verbs[i].run(argc - 1, argv + 1);
	fprintf(stderr, "sunk-lite: there is no verb '%.40s' (sunk-lite --help lists them)\n", argv[1]);
	return 2;
}
