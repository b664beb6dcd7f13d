/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The node agent: a plain API client that stands for any number of kubelets. Registers Nodes and runs the Pods bound to
 * them as local processes (images are not used), or only pretends to (hollow nodes).
 */
#pragma once

int agent_main(int argc, char **argv);
