#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every #include against the table of rooms in docs/ARCHITECTURE.md.

usage: includes.py [ROOT]

The table is the rule: a room includes only itself, the rooms its row names, the libraries its row names, and libc.
A room without a row and a row without a room are errors, and so are rows that use each other in a circle.
Files named test_* may also use base/test.h (cmocka) and any library but Slurm's; what is in tests/ may use every room.
"""

import re
import sys
from pathlib import Path

TABLE = "docs/ARCHITECTURE.md"
COLUMNS = ("room", "may use", "system libraries")

# Headers that are no part of libc, and the name of their library in the table.
LIBRARIES = {
    "cmocka.h": "cmocka",
    "curl": "curl",
    "llhttp.h": "llhttp",
    "nghttp2": "nghttp2",
    "microhttpd.h": "microhttpd",
    "nghttp2": "nghttp2",
    "openssl": "openssl",
    "slurm": "slurm",
    "yaml.h": "yaml",
    "yyjson.h": "yyjson",
}
LIBC_FOLDERS = {"arpa", "asm", "linux", "net", "netinet", "sys"}
LIBC = set(
    """alloca assert byteswap complex crypt ctype dirent dlfcn elf endian err errno error execinfo fcntl features fenv
    float fnmatch ftw getopt glob grp iconv ifaddrs inttypes iso646 langinfo libgen limits link locale malloc math
    mntent mqueue netdb nl_types paths poll printf pthread pty pwd regex resolv sched search semaphore setjmp shadow
    signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdio_ext stdlib stdnoreturn string strings
    sysexits syslog termios tgmath threads time uchar ucontext unistd utime utmp wait wchar wctype wordexp""".split()
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.M)
TEST_HEADER = "base/test.h"


def words(cell):
    """`base`, `json` → {base, json}; a dash or nothing → none."""
    found = (w.strip().strip("`").rstrip("/") for w in re.split(r"[,\s]+", cell))
    return {w for w in found if w and w not in ("—", "-", "–", "none")}


def read_table(text):
    """The rows of the first table whose header starts with COLUMNS: {folder: (rooms, libraries)}."""
    rows, inside = {}, False
    for line in text.splitlines():
        if not line.strip().startswith("|"):
            if inside and rows:
                break
            inside = False
            continue
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not inside:
            inside = tuple(c.lower() for c in cells[: len(COLUMNS)]) == COLUMNS
            continue
        if set("".join(cells)) <= set("-: "):
            continue
        if len(cells) < len(COLUMNS):
            raise ValueError(f"a row with fewer than {len(COLUMNS)} columns: {line}")
        folder = cells[0].strip("`").rstrip("/")
        if folder in rows:
            raise ValueError(f"two rows for {folder}")
        rows[folder] = (words(cells[1]), words(cells[2]))
    if not rows:
        raise ValueError(f"no table with the columns {' | '.join(COLUMNS)}")
    return rows


def short_name(folder):
    """How includes and the table's second column call it: src/base → base."""
    return folder.removeprefix("src/")


def sources(root, *tops):
    for top in tops:
        yield from sorted(p for p in (root / top).rglob("*") if p.suffix in (".c", ".h") and p.is_file())


def find_circle(rows):
    """Names in a circle of 'may use', or None."""
    uses = {short_name(f): rooms for f, (rooms, _) in rows.items()}
    done = set()

    def walk(name, path):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return None
        for other in sorted(uses.get(name, ())):
            circle = walk(other, path + [name])
            if circle:
                return circle
        done.add(name)
        return None

    for name in uses:
        circle = walk(name, [])
        if circle:
            return circle
    return None


def check_rows(root, rows):
    """The table itself: rooms and rows belong together."""
    problems = []
    names = {short_name(f) for f in rows}
    for folder, (rooms, libraries) in rows.items():
        if not (root / folder).is_dir():
            problems.append(f"{TABLE}: the row '{folder}' has no room: there is no such folder")
        for unknown in sorted(rooms - names):
            problems.append(f"{TABLE}: '{folder}' may use '{unknown}', which has no row")
        for unknown in sorted(libraries - set(LIBRARIES.values())):
            problems.append(f"{TABLE}: '{folder}' names the library '{unknown}', whose headers are unknown here")
    circle = find_circle(rows)
    if circle:
        problems.append(f"{TABLE}: rooms use each other in a circle: {' → '.join(circle)}")
    for path in sources(root, "src", "lite"):
        if not folder_of(rows, path.relative_to(root)):
            problems.append(f"{path.relative_to(root)}: its room has no row in {TABLE}")
    return problems


def folder_of(rows, path):
    """The row that a file belongs to: the longest folder that holds it."""
    holding = [f for f in rows if path.as_posix().startswith(f + "/")]
    return max(holding, key=len, default=None)


def check_system(name, where, libraries):
    top = name.split("/")[0]
    library = LIBRARIES.get(top) or LIBRARIES.get(name)
    if library:
        return None if library in libraries else f"{where}: <{name}> is of {library}, which its row does not name"
    if top in LIBC_FOLDERS or ("/" not in name and name.removesuffix(".h") in LIBC):
        return None
    return f"{where}: <{name}> is neither of libc nor of a library known to this check"


def check_own(root, rows, name, where, room, rooms, is_test):
    target = next((f"{top}{name}" for top in ("src/", "") if (root / f"{top}{name}").is_file()), None)
    if not target or "/" not in name or ".." in name:
        return f'{where}: "{name}" is no file of a room; includes are written "room/file.h"'
    folder = folder_of(rows, Path(target))
    if not folder:
        return None if is_test and target.startswith("tests/") else f'{where}: "{name}" is in no room'
    if not is_test and Path(name).name.startswith("test") and (name == TEST_HEADER or "/test_" in name):
        return f'{where}: "{name}" is for tests only'
    if folder == room or rooms is None or short_name(folder) in rooms or (is_test and name == TEST_HEADER):
        return None
    return f'{where}: "{name}" is of {short_name(folder)}, which its row does not name'


def check(root):
    """All problems, as lines."""
    root = Path(root)
    try:
        rows = read_table((root / TABLE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        return [f"{TABLE}: {e}"]
    problems = check_rows(root, rows)
    for path in sources(root, "src", "lite", "tests"):
        relative = path.relative_to(root)
        room = folder_of(rows, relative)
        in_tests = relative.parts[0] == "tests"
        if not room and not in_tests:
            continue  # said above
        is_test = in_tests or path.name.startswith("test_")
        rooms, libraries = (None, set()) if in_tests else rows[room]
        if is_test:
            libraries = libraries | set(LIBRARIES.values()) - {"slurm", "cmocka"}
        if relative.as_posix() == "src/" + TEST_HEADER:
            libraries = libraries | {"cmocka"}
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            where = f"{relative}:{text.count(chr(10), 0, match.start()) + 1}"
            if match[1]:
                problem = check_system(match[1], where, libraries)
            else:
                problem = check_own(root, rows, match[2], where, room, rooms, is_test)
            if problem:
                problems.append(problem)
    return problems


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2])
    problems = check(root)
    for p in problems:
        print(p)
    files = sum(1 for _ in sources(root, "src", "lite", "tests"))
    print(f"{files} files, {len(problems)} problems")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
