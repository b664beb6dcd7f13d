/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

int serve_main(int argc, char **argv);
int fault_main(int argc, char **argv);
