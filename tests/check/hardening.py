#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs as they are shipped: position independent, read-only after relocation, no executable stack, and every file
compiled with stack protector and checked libc calls.

usage: hardening.py BUILD PROGRAM...
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FLAGS = ("-fstack-protector-strong", "-D_FORTIFY_SOURCE=3", "-fPIE|-fPIC")


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], capture_output=True, text=True, check=True).stdout


def problems_of(header, segments, dynamic):
    """From the texts of readelf -h, -l and -d: what is missing, as sentences."""
    found = []
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\)\s+(.*)", dynamic))
    stack = re.search(r"GNU_STACK\s+(?:0x[0-9a-f]+\s+){5}(\S+)|GNU_STACK.*?\s([RWE]{2,3})\s", segments)
    if not re.search(r"Type:\s+DYN\b", header) or "PIE" not in flags:
        found.append("is not position independent (PIE)")
    if "GNU_RELRO" not in segments:
        found.append("has no read-only relocations (RELRO)")
    if "NOW" not in flags:
        found.append("resolves symbols lazily: RELRO is only partial")
    if not stack or "E" in next(g for g in stack.groups() if g):
        found.append("has an executable stack")
    if re.search(r"LOAD.*\bRWE\b", segments):
        found.append("has a segment that can be written and executed")
    return found


def problems_of_symbols(symbols):
    """Of all programs together: a small one may have no function that needs either."""
    found = []
    if "__stack_chk_fail" not in symbols:
        found.append("no program has a stack protector")
    if not re.search(r"\b__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        found.append("no program calls a checked function (FORTIFY)")
    return found


def problems_of_commands(commands):
    """From compile_commands.json: files compiled without one of FLAGS."""
    return [f"{c['file']}: compiled without {flag}" for c in commands for flag in FLAGS
            if not re.search(rf"(?<!\S)(?:{flag})(?!\S)", c["command"])]


def main():
    build, programs = Path(sys.argv[1]), sys.argv[2:]
    found = problems_of_commands(json.loads((build / "compile_commands.json").read_text(encoding="utf-8")))
    found += problems_of_symbols("".join(readelf("--dyn-syms", p) for p in programs))
    for program in programs:
        found += [f"{program}: {p}" for p in problems_of(*(readelf(what, program) for what in ("-h", "-l", "-d")))]
    for problem in found:
        print(problem)
    print(f"{len(programs)} programs, {len(found)} problems")
    return 1 if found or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
