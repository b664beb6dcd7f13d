#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a tool of others over the files it is for.

usage: tools.py format|cppcheck|shellcheck|tidy [--build DIR] [ROOT]

format      every C file is as clang-format writes it (`dev/test --fix` rewrites them)
cppcheck    over all C files but tests
shellcheck  over every shell script
tidy        clang-tidy over the product's C files (src/, without tests), as they are compiled in DIR

What was clean is not looked at again while nothing of it changed: neither the tool, nor how it is called, nor any file that it reads. The proof is
an empty file named by all of that, in $SUNK_CACHE/lint (dev/root sets it, so that it is the same for all checkouts), else in DIR/lint, else nowhere.

Exit code 77 (skipped) when the tool is not there.
"""

import argparse
import contextlib
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
PROOFS_MAX = 10000  # for each tool; the ones that nobody asked for longest are forgotten


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


def run_text(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


class Proofs:
    """What was clean, for one tool: by everything that decided about it."""

    def __init__(self, root, program, build, how, config):
        folder = os.environ.get("SUNK_CACHE") or build
        self.folder = Path(folder) / "lint" / program if folder else None
        self.root = root
        self.read = {}  # files: what is in them
        self.base = hashed(run_text(program, "--version").stdout, *how, self.of(config))

    def of(self, paths):
        """One word for the names and contents of files; where the tree lies does not matter."""
        found = {}
        for path in paths:
            if path not in self.read:
                self.read[path] = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)] = self.read[path]
        return hashed(*(word for item in sorted(found.items()) for word in item))

    def path(self, key):
        return self.folder / hashed(self.base, key)

    def has(self, key):
        if not key or not self.folder:
            return False
        try:
            os.utime(self.path(key))
        except OSError:
            return False
        return True

    def add(self, *keys):
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            for key in filter(None, keys):
                self.path(key).touch()

    def forget_old(self):
        """Others may do the same at the same time."""
        ages = []
        for path in self.folder.iterdir() if self.folder and self.folder.exists() else ():
            with contextlib.suppress(OSError):
                ages.append((path.stat().st_mtime, path))
        for _, path in sorted(ages)[:-PROOFS_MAX]:
            path.unlink(missing_ok=True)


def hashed(*words):
    """Of a list of words, which no other list has."""
    return hashlib.sha256("".join(f"{len(w)} {w}" for w in words).encode("utf-8", "surrogateescape")).hexdigest()


def check_format(root, build):
    files = c_files(root, with_tests=True)
    proofs = Proofs(root, "clang-format", build, (), root.glob(".clang-format"))
    keys = {name: proofs.of([root / name]) for name in files}
    fresh = [name for name in files if not proofs.has(keys[name])]
    print(f"{len(files)} files, {len(fresh)} looked at")
    if not fresh:
        return 0
    found = run_text("clang-format", "--dry-run", "-Werror", *fresh, cwd=root)
    places = re.findall(r"^([^:\n]+):(\d+):\d+: error: code should be clang-formatted", found.stderr, re.M)
    for name in sorted({name for name, _ in places}):
        print(f"{name}: lines {', '.join(sorted({at for n, at in places if n == name}, key=int))} (dev/test --fix rewrites them)")
    if found.returncode == 0:
        proofs.add(*(keys[name] for name in fresh))
        proofs.forget_old()
    elif not places:
        print(found.stderr)
    return found.returncode


INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)


def with_includes(path, folders, known):
    """A file and all that it could ever include of these folders, whatever is defined."""
    found, more = set(), [path]
    while more:
        path = more.pop()
        if path in found:
            continue
        found.add(path)
        if path not in known:
            names = [os.fsdecode(name) for name in INCLUDE.findall(path.read_bytes())]
            known[path] = [Path(os.path.normpath(f / name)) for name in names for f in (path.parent, *folders) if (f / name).is_file()]
        more += known[path]
    return found


def check_cppcheck(root, build):
    files = c_files(root, with_tests=False)
    config = Path(__file__).parent.resolve() / "cppcheck.cfg"
    # Uninitialised variables: compilers and clang-tidy know better what a macro or a called function sets.
    suppressed = ("missingIncludeSystem", "normalCheckLevelMaxBranches", "nullPointerOutOfResources", "uninitvar",
                  "legacyUninitvar", "internalAstError", "pointerSize")
    options = ("--quiet", "--error-exitcode=1", "--enable=warning,performance,portability", "--inline-suppr", "--std=c11",
               "--template={file}:{line}: {severity}: {message} [{id}]", *(f"--suppress={s}" for s in suppressed), "-Isrc", "-I.")
    proofs, known = Proofs(root, "cppcheck", build, options, [config]), {}
    keys = {name: proofs.of(with_includes(root / name, (root / "src", root), known)) for name in files}
    fresh = [name for name in files if not proofs.has(keys[name])]
    print(f"{len(files)} files, {len(fresh)} looked at", flush=True)
    # Several at once: it looks at each file by itself then, so that one proof is for one file.
    code = run(root, "cppcheck", "-j2", *options, f"--library={config}", *fresh) if fresh else 0
    if code == 0:
        proofs.add(*(keys[name] for name in fresh))
        proofs.forget_old()
    return code


def check_shellcheck(root, build):
    files = scripts(root)
    options = ("--severity=warning", "-x", "-P", "SCRIPTDIR")
    proofs = Proofs(root, "shellcheck", build, options, ())
    read = {root / name for name in files} | {p for top in ("dev", ".ci", "tests") for p in (root / top).rglob("*.sh")}  # one reads the other
    key = proofs.of(read)
    known = proofs.has(key)
    print(f"{len(files)} files, {0 if known else len(files)} looked at", flush=True)
    code = 0 if known else run(root, "shellcheck", *options, *files)
    if code == 0:
        proofs.add(key)
        proofs.forget_old()
    return code


def compiled(root, entry, proofs):
    """Of one entry of compile_commands.json: how clang reads it, and every byte that it reads, as one word; None when it cannot."""
    words = shlex.split(entry["command"])
    del words[: 2 if Path(words[0]).name == "ccache" else 1]
    flags, skip = [], False
    for word in words:
        if skip or word in ("-o", "-MF", "-MQ"):
            skip = not skip
        elif word not in ("-c", "-MD"):
            flags.append(word)
    found = run_text("clang", "-M", *flags, cwd=entry["directory"])
    if found.returncode or ": " not in found.stdout:
        return None
    read = shlex.split(found.stdout.split(": ", 1)[1].replace("\\\n", " "))
    where = Path(entry["directory"])
    return hashed(*(f.replace(str(root), ".") for f in flags), proofs.of(Path(os.path.normpath(where / p)) for p in read))


def check_tidy(root, build):
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    entries = {}
    for entry in commands:
        path = Path(os.path.normpath(Path(entry["directory"]) / entry["file"]))
        if path.is_relative_to(root / "src") and not is_test(root, path):
            entries.setdefault(path, entry)
    proofs = Proofs(root, "clang-tidy", build, (), (*root.glob(".clang-tidy"), *(root / "src").rglob(".clang-tidy")))
    fresh = []

    def look(item):
        path, entry = item
        key = compiled(root, entry, proofs)
        if proofs.has(key):
            return 0
        found = run_text("clang-tidy", "--quiet", "-p", build, path, cwd=root)
        fresh.append(path)
        if found.returncode == 0:
            proofs.add(key)
        else:
            print(found.stdout.replace(f"{root}/", ""), flush=True)
        return found.returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = sum(1 for r in pool.map(look, sorted(entries.items())) if r)
    proofs.forget_old()
    print(f"{len(entries)} files, {len(fresh)} looked at, {bad} with problems")
    return 1 if bad or not entries else 0


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
