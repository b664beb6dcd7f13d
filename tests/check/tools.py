#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a tool of others over the files it is for.

usage: tools.py format|cppcheck|shellcheck|tidy [--build DIR] [ROOT]

format      every C file is as clang-format writes it (`dev/test --fix` rewrites them)
cppcheck    over all C files but tests
shellcheck  over every shell script
tidy        clang-tidy over the product's C files (src/, without tests), as they are compiled in DIR. A file that was clean and is the same
            after its includes are read is not looked at again: the proof is kept in DIR/tidy.

Exit code 77 (skipped) when the tool is not there.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77
FOLDERS = ("src", "lite", "tests")


def c_files(root, with_tests):
    found = [p for top in FOLDERS for p in (root / top).rglob("*.[ch]")]
    if not with_tests:
        found = [p for p in found if p.suffix == ".c" and not is_test(root, p)]
    return sorted(p.relative_to(root).as_posix() for p in found)


def is_test(root, path):
    return path.name.startswith("test_") or path.is_relative_to(root / "tests")


def scripts(root):
    """Files of dev/, .ci/ and tests/ that start with #!/bin/sh or bash."""
    found = [p for top in ("dev", ".ci", "tests") for p in (root / top).rglob("*") if p.is_file()]
    return sorted(p.relative_to(root).as_posix() for p in found if is_script(p))


def is_script(path):
    with path.open("rb") as f:
        first = f.readline(100)
    return first.startswith(b"#!") and first.rstrip().endswith((b"/sh", b"bash", b" sh", b" bash"))


def run(root, *command):
    return subprocess.run(command, cwd=root, check=False).returncode


def check_format(root, _build):
    files = c_files(root, with_tests=True)
    found = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=root, capture_output=True, text=True, check=False)
    places = re.findall(r"^([^:\n]+):(\d+):\d+: error: code should be clang-formatted", found.stderr, re.M)
    for name in sorted({name for name, _ in places}):
        print(f"{name}: lines {', '.join(sorted({at for n, at in places if n == name}, key=int))} (dev/test --fix rewrites them)")
    print(f"{len(files)} files")
    if found.returncode and not places:
        print(found.stderr)
    return found.returncode


def check_cppcheck(root, _build):
    files = c_files(root, with_tests=False)
    print(f"{len(files)} files")
    config = Path(__file__).parent / "cppcheck.cfg"
    # Uninitialised variables: compilers and clang-tidy know better what a macro or a called function sets.
    suppressed = ("missingIncludeSystem", "normalCheckLevelMaxBranches", "nullPointerOutOfResources", "uninitvar",
                  "legacyUninitvar", "internalAstError", "pointerSize")
    return run(root, "cppcheck", "-j2", "--quiet", "--error-exitcode=1", "--enable=warning,performance,portability",
               "--inline-suppr", "--std=c11", "--template={file}:{line}: {severity}: {message} [{id}]",
               f"--library={config}", *(f"--suppress={s}" for s in suppressed), "-Isrc", "-I.", *files)


def check_shellcheck(root, _build):
    files = scripts(root)
    print(f"{len(files)} files")
    return run(root, "shellcheck", "--severity=warning", "-x", "-P", "SCRIPTDIR", *files)


def preprocessed(entry):
    """What the compiler reads for one entry of compile_commands.json, comments included (they may say NOLINT)."""
    command, skip = ["clang", "-E", "-C"], False
    for word in shlex.split(entry["command"])[1:]:
        if skip or word in ("-o", "-MF", "-MQ"):
            skip = not skip
        elif word not in ("-c", "-MD"):
            command.append(word)
    return subprocess.run(command, cwd=entry["directory"], capture_output=True, check=False).stdout


def check_tidy(root, build):
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    entries = {}
    for entry in commands:
        path = Path(os.path.normpath(Path(entry["directory"]) / entry["file"]))
        if path.is_relative_to(root / "src") and not is_test(root, path):
            entries.setdefault(path, entry)
    rules = (root / ".clang-tidy").read_bytes() + subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    proofs = build / "tidy"
    proofs.mkdir(exist_ok=True)
    fresh = []

    def look(item):
        path, entry = item
        proof = proofs / hashlib.sha256(rules + os.fsencode(path) + preprocessed(entry)).hexdigest()
        if proof.exists():
            os.utime(proof)
            return 0
        found = subprocess.run(["clang-tidy", "--quiet", "-p", build, path], cwd=root, capture_output=True, text=True, check=False)
        fresh.append(path)
        if found.returncode == 0:
            proof.touch()
        else:
            print(found.stdout.replace(f"{root}/", ""), flush=True)
        return found.returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(1 for r in pool.map(look, sorted(entries.items())) if r)
    forget_old(proofs, 4 * len(entries))
    print(f"{len(entries)} files, {len(fresh)} looked at, {bad} with problems")
    return 1 if bad or not entries else 0


def forget_old(folder, keep):
    for path in sorted(folder.iterdir(), key=lambda p: p.stat().st_mtime)[:-keep or None]:
        path.unlink()


TOOLS = {
    "format": ("clang-format", check_format),
    "cppcheck": ("cppcheck", check_cppcheck),
    "shellcheck": ("shellcheck", check_shellcheck),
    "tidy": ("clang-tidy", check_tidy),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("root", nargs="?", default=Path(__file__).parents[2], type=Path)
    parser.add_argument("--build", type=Path, help="a build folder of meson (tidy)")
    args = parser.parse_args()
    program, check = TOOLS[args.tool]
    if not shutil.which(program):
        print(f"{program} is not installed")
        return SKIPPED
    return check(args.root.resolve(), args.build and args.build.resolve())


if __name__ == "__main__":
    sys.exit(main())
