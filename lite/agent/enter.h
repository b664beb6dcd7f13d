/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * `enter [--bind FROM TO | --bind-ro FROM TO]... [--cwd DIR] -- COMMAND...`: runs a command in a mount namespace of its own in which
 * directories stand at other places. This is how a Pod's volumes come to their mount paths: seen by that container and
 * by nobody else. A mount path that does not exist is made, as an empty directory (or file).
 */
#pragma once

int enter_main(int argc, char **argv); /* argv[0] is "enter"; returns only when it failed: 127 */
