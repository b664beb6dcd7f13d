#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each check can fail: a small tree that is right, and one change for each thing that a check must see."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hardening  # noqa: E402
import includes  # noqa: E402
import results  # noqa: E402
import tools  # noqa: E402
import tree  # noqa: E402

SPDX = tree.LICENSE_LINE + " */\n"
TABLE = """# Architecture

| other | table |
|---|---|
| a | b |

| room | may use | system libraries | what it is |
|---|---|---|---|
| `src/base` | — | — | the ground |
| `src/json` | `base` | yyjson, yaml | text |
| `src/slurm` | `base`, `json` | slurm | the only one |
| `lite` | `base` | - | small |

| room | colour |
|---|---|
| `src/none` | red |
"""
FILES = {
    "docs/ARCHITECTURE.md": TABLE,
    "src/base/a.h": SPDX + "#pragma once\n#include <stdio.h>\n#include <sys/stat.h>\n",
    "src/base/a.c": SPDX + '#include "base/a.h"\n',
    "src/base/test.h": SPDX + "#include <cmocka.h>\n",
    "src/base/test_a.c": SPDX + '#include "base/a.h"\n#include "base/test.h"\n',
    "src/json/j.h": SPDX + "#include <yyjson.h>\n",
    "src/json/test_j.c": SPDX + '#include "json/j.h"\n#include "base/test.h"\n',
    "src/slurm/s.c": SPDX + '#include <slurm/slurm.h>\n#include "json/j.h"\n',
    "lite/agent/x.h": SPDX + '#include "base/a.h"\n',
    "lite/l.c": SPDX + '#include "lite/agent/x.h"\n',
    "tests/fuzz/f.c": SPDX + '#include "json/j.h"\n#include <yyjson.h>\n',
}


class Tree(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def assert_one(self, problems, *parts):
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])


class Includes(Tree):
    def problems(self):
        return includes.check(self.root)

    def add(self, name, line):
        self.write(name, (self.root / name).read_text(encoding="utf-8") + line + "\n")

    def test_a_tree_that_follows_the_table_passes(self):
        self.assertEqual(self.problems(), [])

    def test_looking_up_is_refused(self):
        self.add("src/base/a.c", '#include "json/j.h"')
        self.assert_one(self.problems(), "src/base/a.c:3", "json")

    def test_an_indented_include_is_seen(self):
        self.add("src/base/a.c", ' #  include "json/j.h"')
        self.assert_one(self.problems(), "src/base/a.c:3", "json")

    def test_a_test_may_not_look_up_either(self):
        self.add("src/base/test_a.c", '#include "json/j.h"')
        self.assert_one(self.problems(), "src/base/test_a.c", "json")

    def test_a_library_that_the_row_does_not_name_is_refused(self):
        self.add("src/base/a.c", "#include <yyjson.h>")
        self.assert_one(self.problems(), "<yyjson.h>", "yyjson")
        self.setUp()
        self.add("src/json/j.h", "#include <slurm/slurm_errno.h>")
        self.assert_one(self.problems(), "<slurm/slurm_errno.h>")

    def test_slurm_is_refused_in_tests_too(self):
        self.add("tests/fuzz/f.c", "#include <slurm/slurm.h>")
        self.assert_one(self.problems(), "tests/fuzz/f.c", "slurm")

    def test_a_test_may_use_any_library_but_slurm(self):
        self.add("src/base/test_a.c", "#include <curl/curl.h>")
        self.assertEqual(self.problems(), [])
        self.add("src/base/test_a.c", "#include <slurm/slurm.h>")
        self.assert_one(self.problems(), "src/base/test_a.c:5", "slurm")

    def test_an_unknown_header_is_refused(self):
        self.add("src/json/j.h", "#include <zlib.h>")
        self.assert_one(self.problems(), "<zlib.h>", "neither")
        self.setUp()
        self.add("src/json/j.h", "#include <boost/x.h>")
        self.assert_one(self.problems(), "<boost/x.h>", "neither")

    def test_product_code_uses_no_test_header(self):
        self.add("src/base/a.c", '#include "base/test.h"')
        self.assert_one(self.problems(), "tests only")
        self.setUp()
        self.add("src/base/a.c", "#include <cmocka.h>")
        self.assert_one(self.problems(), "cmocka")

    def test_includes_are_written_with_their_room(self):
        self.add("src/base/a.c", '#include "a.h"')
        self.assert_one(self.problems(), "room/file.h")
        self.setUp()
        self.add("src/json/j.h", '#include "base/../base/a.h"')
        self.assert_one(self.problems(), "room/file.h")
        self.setUp()
        self.add("src/json/j.h", '#include "base/gone.h"')
        self.assert_one(self.problems(), "base/gone.h")

    def test_a_room_without_a_row_is_refused(self):
        self.write("src/policy/p.c", SPDX)
        self.assert_one(self.problems(), "src/policy/p.c", "no row")

    def test_a_file_beside_the_rooms_is_refused(self):
        self.write("src/p.c", SPDX)
        self.assert_one(self.problems(), "src/p.c", "no row")

    def test_a_row_without_a_room_is_refused(self):
        self.write(includes.TABLE, TABLE.replace("| `lite`", "| `src/gone` | `base` | — | x |\n| `lite`"))
        self.assert_one(self.problems(), "src/gone", "no room")

    def test_a_circle_is_refused(self):
        self.write(includes.TABLE, TABLE.replace("| `src/base` | — |", "| `src/base` | `slurm` |"))
        self.assert_one(self.problems(), "circle")

    def test_names_that_mean_nothing_are_refused(self):
        self.write(includes.TABLE, TABLE.replace("| `base` | yyjson", "| `base`, `bas` | yyjson"))
        self.assert_one(self.problems(), "'bas'")
        self.write(includes.TABLE, TABLE.replace("yyjson, yaml", "yyjson, yaml, zip"))
        self.assert_one(self.problems(), "'zip'")

    def test_a_missing_table_is_refused(self):
        self.write(includes.TABLE, "# Architecture\n")
        self.assert_one(self.problems(), "no table")
        (self.root / includes.TABLE).unlink()
        self.assert_one(self.problems(), includes.TABLE)

    def test_two_rows_for_one_room_are_refused(self):
        self.write(includes.TABLE, TABLE.replace("| `lite`", "| `src/base` | — | — | again |\n| `lite`"))
        self.assert_one(self.problems(), "two rows")


class Rules(Tree):
    def problems(self, build=None):
        return tree.run(self.root, build)[1]

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.problems(), [])

    def test_a_file_without_licence_is_refused(self):
        self.write("src/base/b.h", "/* hello */\n")
        self.assert_one(self.problems(), "src/base/b.h", "SPDX")

    def test_a_shell_is_refused_in_product_code(self):
        for call in ("system(x)", "popen (x, y)", "if (system(x))"):
            self.write("src/base/b.c", SPDX + f"int f(void)\n{{\n\t{call};\n}}\n")
            self.assert_one(self.problems(), "src/base/b.c:4", "calls")

    def test_every_forbidden_call_is_seen(self):
        for name in tree.FORBIDDEN_CALLS:
            self.write("src/base/b.c", SPDX + f"\tx = {name}(y);\n")
            self.assert_one(self.problems(), f"calls {name}()")

    def test_what_only_looks_like_a_call_is_not_one(self):
        self.write("src/base/b.c", SPDX + '/* system(x) */\n// popen(x)\nmy_system(x); p->system(x); s.system(x); "system(x)";\n')
        self.write("src/base/test_b.c", SPDX + "system(x);\n")
        self.assertEqual(self.problems(), [])

    def test_a_registry_is_refused_anywhere(self):
        for host in tree.REGISTRY_HOSTS:
            for text in (f"https://{host}/x", f"{host}/image:1", f"from {host}.", f'"{host.upper()}"'):
                self.write("dev/x", text + "\n")
                self.assert_one(self.problems(), "dev/x:1")

    def test_other_names_are_no_registry(self):
        k8s = ".".join(("k8s", "io"))
        self.write("dev/x", f"coordination.{k8s}/v1 https://kubernetes.io/docs my{tree.REGISTRY_HOSTS[0]} django.go.device\n")
        self.assertEqual(self.problems(), [])

    def test_what_was_recorded_may_name_one(self):
        self.write("tests/kube-samples/x.txt", tree.REGISTRY_HOSTS[0] + "\n")
        self.assertEqual(self.problems(), [])

    def test_blanks_at_the_end_are_refused(self):
        self.write("src/base/b.c", SPDX + "int x; \n")
        self.assert_one(self.problems(), "src/base/b.c:2", "blanks")
        self.write("src/base/b.c", SPDX + "int x;\r\n")
        self.assert_one(self.problems(), "src/base/b.c:2")
        self.write("src/base/b.c", SPDX + "int x;")
        self.assert_one(self.problems(), "newline")

    def test_a_file_that_nothing_compiles_is_refused(self):
        names = [n for n in FILES if n.endswith(".c")]
        commands = [{"directory": str(self.root / "build"), "file": f"../{n}"} for n in names]
        self.write("build/compile_commands.json", json.dumps(commands))
        self.assertEqual(self.problems(self.root / "build"), [])
        self.write("src/base/test_b.c", SPDX)
        self.assert_one(self.problems(self.root / "build"), "src/base/test_b.c", "nothing compiles it")


class Tools(Tree):
    """Each tool of others finds something in a file that is wrong, and nothing in one that is right."""

    def setUp(self):
        super().setUp()
        saved = os.environ.copy()
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(saved)))
        os.environ["SUNK_CACHE"] = str(self.root / "cache")

    def copy(self):
        """The same tree in another place, with the same cache."""
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        shutil.copytree(self.root, folder.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("cache"))
        self.root = Path(folder.name)

    def run_tool(self, name, build=None):
        program, check = tools.TOOLS[name]
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")
        with contextlib.redirect_stdout(io.StringIO()) as said, captured_output():
            return check(self.root.resolve(), build), said.getvalue()

    def test_format_sees_what_is_not_formatted(self):
        self.write(".clang-format", "BasedOnStyle: LLVM\nSortIncludes: Never\n")
        self.write("src/base/b.c", SPDX + "int x;\n")
        self.assertEqual(self.run_tool("format")[0], 0)
        self.write("src/base/b.c", SPDX + "int  x ;\n")
        code, said = self.run_tool("format")
        self.assertNotEqual(code, 0)
        self.assertIn("src/base/b.c: lines 2 ", said)
        self.copy()
        self.assertNotEqual(self.run_tool("format")[0], 0)
        self.write("src/base/b.c", SPDX + "int x;\n")
        self.assertIn(" 0 looked at", self.run_tool("format")[1])

    def test_cppcheck_sees_a_mistake(self):
        self.assertEqual(self.run_tool("cppcheck")[0], 0)
        self.copy()
        self.assertIn(" 0 looked at", self.run_tool("cppcheck")[1])
        for _ in range(2):  # what has a mistake is looked at again
            self.write("src/base/a.h", "static inline int f(void) { int a[2]; a[0] = 1; a[2] = 1; return a[0]; }\n")
            code, said = self.run_tool("cppcheck")
            self.assertIn(" 2 looked at", said)  # a.c and what of lite/ includes something that includes it
            self.assertNotEqual(code, 0)
        self.write("src/base/a.h", FILES["src/base/a.h"])
        self.assertIn(" 0 looked at", self.run_tool("cppcheck")[1])
        self.write("src/base/b.c", SPDX + "int f(void) { int a[2]; a[0] = 1; a[2] = 1; return a[0]; }\n")
        self.assertNotEqual(self.run_tool("cppcheck")[0], 0)

    def test_shellcheck_sees_a_mistake(self):
        self.write("dev/x", "#!/bin/sh\necho ok\n")
        self.assertEqual(self.run_tool("shellcheck")[0], 0)
        self.copy()
        self.assertIn(" 0 looked at", self.run_tool("shellcheck")[1])
        self.write("tests/deep/x", "#!/usr/bin/env bash\ncd /nowhere\nrm -r x\n")
        self.assertNotEqual(self.run_tool("shellcheck")[0], 0)

    def prepare_tidy(self, command="cc"):
        build = self.root.resolve() / "build"
        entry = {"directory": str(build), "file": "../src/base/b.c",
                 "command": f"{command} -ffile-prefix-map={self.root.resolve()}=. -I../src -MD -MQ x -MF y -o z -c ../src/base/b.c"}
        self.write("build/compile_commands.json", json.dumps([entry]))
        return build

    def test_tidy_sees_a_mistake_and_remembers_what_was_clean(self):
        self.write(".clang-tidy", "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n")
        self.write("src/base/b.h", "#define LIMIT 3\n")
        self.write("src/base/b.c", SPDX + '#include "base/b.h"\nint f(int a);\nint f(int a) { return a > LIMIT; }\n')
        build = self.prepare_tidy()
        self.assertIn("1 looked at, 0 with", self.run_tool("tidy", build)[1])
        self.assertIn("0 looked at, 0 with", self.run_tool("tidy", build)[1])
        self.copy()
        build = self.prepare_tidy("ccache cc")
        self.assertIn("0 looked at, 0 with", self.run_tool("tidy", build)[1])
        for _ in range(2):
            self.write("src/base/b.h", "#define LIMIT sizeof(sizeof(a))\n")  # what changed is in a header
            code, said = self.run_tool("tidy", build)
            self.assertIn("1 looked at, 1 with", said)
            self.assertEqual(code, 1)
        self.write("src/base/b.h", "#define LIMIT 3\n")
        self.write(".clang-tidy", "Checks: '-*,bugprone-*,readability-magic-numbers'\nWarningsAsErrors: '*'\n")
        self.assertIn("1 looked at", self.run_tool("tidy", build)[1])

    def test_what_the_compiler_cannot_read_is_looked_at_again_and_again(self):
        self.write(".clang-tidy", "Checks: '-*,bugprone-*'\n")
        self.write("src/base/b.c", SPDX + "int x;\n")
        build = self.prepare_tidy("cc nothing.c")
        for _ in range(2):
            self.assertIn("1 looked at", self.run_tool("tidy", build)[1])

    def test_a_proof_is_the_same_wherever_the_tree_lies_among_system_headers(self):
        """Such as /tmp/a and /work/a, before and behind /usr."""
        self.write("m/usr/h.h", "int h;\n")
        keys = set()
        for place in ("a/tree", "z/tree"):
            self.write(f"{place}/x.c", "int x;\n")
            proofs = tools.Proofs(self.root / place, "true", None, (), ())
            keys.add(proofs.of([self.root / place / "x.c", self.root / "m/usr/h.h"]))
        self.assertEqual(len(keys), 1)

    def test_old_proofs_are_forgotten(self):
        saved, tools.PROOFS_MAX = tools.PROOFS_MAX, 3
        try:
            for n in range(5):
                self.write("dev/x", f"#!/bin/sh\necho {n}\n")
                self.run_tool("shellcheck")
        finally:
            tools.PROOFS_MAX = saved
        self.assertEqual(len(list((self.root / "cache/lint/shellcheck").iterdir())), 3)


@contextlib.contextmanager
def captured_output():
    """What programs write goes nowhere."""
    sys.stdout.flush()
    saved, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    saved_err = os.dup(2)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.dup2(saved_err, 2)
        for fd in (saved, saved_err, nowhere):
            os.close(fd)


class Results(unittest.TestCase):
    """dev/test counts what there is, and never takes a crash for a success."""

    CMOCKA = "[ RUN      ] test_a\n[       OK ] test_a\n[ RUN      ] test_b\n[       OK ] test_b\n"

    def test_cases_of_a_program_are_counted(self):
        self.assertEqual(results.cases("OK", self.CMOCKA), (2, 0, 0))
        with_failed = self.CMOCKA + "[  FAILED  ] test_c\n[  SKIPPED ] test_d\n[  FAILED  ] tests: 1 test(s)\n[  FAILED  ] test_c\n"
        self.assertEqual(results.cases("FAIL", with_failed), (2, 1, 1))
        self.assertEqual(results.cases("OK", "Ran 7 tests in 1s\n\nOK (skipped=2)\n"), (5, 0, 2))
        self.assertEqual(results.cases("FAIL", "Ran 7 tests in 1s\n\nFAILED (failures=1, errors=2)\n"), (4, 3, 0))

    def test_a_program_without_cases_is_one(self):
        self.assertEqual(results.cases("OK", "fine\n"), (1, 0, 0))
        self.assertEqual(results.cases("FAIL", "not fine\n"), (0, 1, 0))
        self.assertEqual(results.cases("SKIP", ""), (0, 0, 1))
        self.assertEqual(results.cases("EXPECTEDFAIL", ""), (1, 0, 0))
        self.assertEqual(results.cases("UNEXPECTEDPASS", ""), (0, 1, 0))

    def test_a_crash_or_a_timeout_is_a_failure_whatever_passed_before(self):
        for result in ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT"):
            self.assertEqual(results.cases(result, self.CMOCKA + "[ RUN      ] test_c\n"), (2, 1, 0))


class Hardening(unittest.TestCase):
    GOOD = (
        "  Type:                              DYN (Position-Independent Executable file)\n",
        "  LOAD  0x0 0x0 0x0 0x1 0x1 R E 0x1000\n  GNU_STACK      0x000000 0x0000000000000000 0x0000000000000000 0x000000 "
        "0x000000 RW  0x10\n  GNU_RELRO      0x00 0x00 0x00 0x1 0x1 R   0x1\n",
        " 0x000000000000001e (FLAGS)              BIND_NOW\n 0x000000006ffffffb (FLAGS_1)            Flags: NOW PIE\n",
    )

    def test_a_hardened_program_passes(self):
        self.assertEqual(hardening.problems_of(*self.GOOD), [])

    def test_each_thing_that_is_missing_is_seen(self):
        changes = (
            (0, "DYN", "EXEC", "PIE"),
            (2, "NOW PIE", "NOW", "PIE"),
            (1, "GNU_RELRO", "NOTHING", "RELRO"),
            (2, "NOW", "", "lazily"),
            (1, "0x000000 RW  0x10", "0x000000 RWE 0x10", "executable stack"),
            (1, "GNU_STACK", "NOTHING", "executable stack"),
            (1, "R E 0x1000", "RWE 0x1000", "written and executed"),
        )
        for index, old, new, want in changes:
            texts = list(self.GOOD)
            self.assertIn(old, texts[index])
            texts[index] = texts[index].replace(old, new)
            found = hardening.problems_of(*texts)
            self.assertEqual(len(found), 1, (old, new, found))
            self.assertIn(want, found[0])

    def test_missing_symbols_are_seen(self):
        both = " UND __stack_chk_fail@GLIBC_2.4 (3)\n UND __snprintf_chk@GLIBC\n"
        self.assertEqual(hardening.problems_of_symbols(both), [])
        self.assertIn("protector", hardening.problems_of_symbols(" UND __snprintf_chk@GLIBC\n")[0])
        self.assertIn("FORTIFY", hardening.problems_of_symbols(" UND __stack_chk_fail@GLIBC_2.4 (3)\n")[0])

    def test_missing_flags_are_seen(self):
        good = "cc -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=3 -fPIC -c a.c"
        self.assertEqual(hardening.problems_of_commands([{"file": "a.c", "command": good}]), [])
        for flag in good.split()[2:5]:
            found = hardening.problems_of_commands([{"file": "a.c", "command": good.replace(flag, "")}])
            self.assertEqual(len(found), 1, found)
            self.assertIn("a.c", found[0])


if __name__ == "__main__":
    unittest.main()
