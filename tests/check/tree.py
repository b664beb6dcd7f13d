#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules about the files of the tree, one function each.

usage: tree.py [--build DIR] [ROOT]

With --build, every C file must also have been compiled there: a test that is in no meson.build tests nothing.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

LICENSE_LINE = "/* SPDX-License-Identifier: GPL-2.0-or-later"
SOURCE_FOLDERS = ("src", "lite", "tests")

# Functions that product code does not call, and what it uses instead.
FORBIDDEN_CALLS = {
    "system": "base/spawn.h, never a shell",
    "popen": "base/spawn.h, never a shell",
    "gets": "a buffer with a limit",
    "strcpy": "str_copy()",
    "strcat": "base/buf.h",
    "sprintf": "snprintf() or base/buf.h",
    "vsprintf": "vsnprintf() or base/buf.h",
    "strtok": "str_each()",
    "atoi": "str_to_i64()",
    "atol": "str_to_i64()",
    "atoll": "str_to_i64()",
    "tmpnam": "mkstemp()",
    "mktemp": "mkstemp()",
    "rand": "base/rand.h",
    "random": "base/rand.h",
    "gmtime": "base/time.h",
    "localtime": "base/time.h",
}

# Where packages and images come from is the machine's choice (its apt sources, its mirrors), never ours. Written in
# pieces, so that this list is not found by itself.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("deb", "debian", "org"),
        ("ftp", "debian", "org"),
        ("security", "debian", "org"),
        ("snapshot", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("dl-cdn", "alpinelinux", "org"),
        ("proxy", "golang", "org"),
        ("sum", "golang", "org"),
        ("go", "dev"),
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("crates", "io"),
        ("static", "crates", "io"),
        ("index", "crates", "io"),
        ("rubygems", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("docker", "io"),
        ("registry-1", "docker", "io"),
        ("index", "docker", "io"),
        ("hub", "docker", "com"),
        ("quay", "io"),
        ("ghcr", "io"),
        ("gcr", "io"),
        ("k8s", "gcr", "io"),
        ("registry", "k8s", "io"),
        ("dl", "k8s", "io"),
        ("pkgs", "k8s", "io"),
        ("mcr", "microsoft", "com"),
        ("public", "ecr", "aws"),
        ("nvcr", "io"),
        ("download", "schedmd", "com"),
    )
]
HOST = re.compile(r"(?<![\w.-])(?:" + "|".join(re.escape(h) for h in REGISTRY_HOSTS) + r")(?![\w-]|\.\w)", re.I)
RECORDED = "tests/kube-samples/"  # what a real server said, image names included: data, nothing is fetched from there


def tracked(root):
    """The files that are part of the project: git's, or all that are not hidden or built."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0 and git.stdout:
        names = git.stdout.decode().split("\0")
    else:
        names = [p.relative_to(root).as_posix() for p in root.rglob("*")]
        names = [n for n in names if not any(part.startswith((".", "build")) for part in Path(n).parts)]
    return sorted({n for n in names if n and (root / n).is_file()})


def text_of(root, name):
    """None for what is no text."""
    data = (root / name).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_source(name):
    return name.endswith((".c", ".h"))


def without_comments_and_strings(text):
    """The code of a C file, line numbers kept."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_license(root, names):
    """Every C file opens with its licence."""
    for name in filter(is_source, names):
        text = text_of(root, name)
        if text is None or not text.startswith(LICENSE_LINE):
            yield f"{name}:1: does not open with '{LICENSE_LINE}'"


def check_calls(root, names):
    """Product code calls none of FORBIDDEN_CALLS."""
    call = re.compile(r"(?<![\w.>])(" + "|".join(FORBIDDEN_CALLS) + r")\s*\(")
    for name in filter(is_source, names):
        if name.startswith("tests/") or Path(name).name.startswith("test_"):
            continue
        code = without_comments_and_strings(text_of(root, name) or "")
        for match in call.finditer(code):
            yield f"{name}:{line_of(code, match.start())}: calls {match[1]}(): use {FORBIDDEN_CALLS[match[1]]}"


def check_hosts(root, names):
    """No file names a place that packages or images come from."""
    for name in names:
        if name.startswith(RECORDED):
            continue
        text = text_of(root, name) or ""
        for match in HOST.finditer(text):
            yield f"{name}:{line_of(text, match.start())}: names the registry {match[0]}: use what the machine is set up with"


def check_whitespace(root, names):
    """Lines end without blanks, files with a newline, in the one way .editorconfig says."""
    for name in names:
        if not (is_source(name) or name.endswith((".py", ".sh", ".md", "meson.build")) or name.startswith("dev/")):
            continue
        text = text_of(root, name)
        if not text:
            continue
        if not text.endswith("\n"):
            yield f"{name}: does not end with a newline"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield f"{name}:{number}: blanks or a carriage return at the end of the line"


def check_compiled(root, names, build):
    """Every C file is part of the build."""
    path = Path(build) / "compile_commands.json"
    commands = json.loads(path.read_text(encoding="utf-8"))
    compiled = {(Path(c["directory"]) / c["file"]).resolve() for c in commands}
    for name in names:
        if name.endswith(".c") and name.split("/")[0] in SOURCE_FOLDERS and (root / name).resolve() not in compiled:
            yield f"{name}: is in no meson.build, nothing compiles it"


CHECKS = (check_license, check_calls, check_hosts, check_whitespace)


def run(root, build=None):
    root = Path(root)
    names = tracked(root)
    problems = [p for check in CHECKS for p in check(root, names)]
    if build:
        problems += check_compiled(root, names, build)
    return names, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=Path(__file__).parents[2], type=Path)
    parser.add_argument("--build", help="a build folder of meson")
    args = parser.parse_args()
    names, problems = run(args.root.resolve(), args.build)
    for p in problems:
        print(p)
    print(f"{len(names)} files, {len(problems)} problems")
    return 1 if problems or not any(map(is_source, names)) else 0


if __name__ == "__main__":
    sys.exit(main())
