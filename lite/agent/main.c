/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-lite-agent: the node agent, and the two small programs it starts from itself.
 */
#include <stdio.h>

#include "base/str.h"
#include "lite/agent/agent.h"
#include "lite/agent/enter.h"
#include "lite/agent/shim.h"

int main(int argc, char **argv)
{
	if (argc == 3 && str_eq(argv[1], "shim"))
		return shim_main(argv[2]);
	if (argc > 1 && str_eq(argv[1], "enter"))
		return enter_main(argc - 1, argv + 1);
	return agent_main(argc, argv);
}
