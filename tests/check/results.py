#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns what test runners leave behind into one line for each test program, for dev/test.

usage: results.py meson STAGE testlog.json       meson test
       results.py junit STAGE results.xml        pytest --junitxml

Prints: STAGE, name, seconds, passed, failed, skipped, and why it failed; separated by tabs. Each case of a cmocka or unittest
program counts; a program that dies without naming a failed case is one failure. What failed is shown on stderr with its output.
"""

import json
import re
import sys
import xml.etree.ElementTree as ET

OUTPUT_MAX = 20000
WHY_MAX = 300
CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+)$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\n(OK|FAILED)(?: \(([^)]*)\))?", re.M)
GOOD = {"OK", "EXPECTEDFAIL"}
NEVER_RAN = {"IGNORED", "PENDING"}


def cases(result, output):
    """(passed, failed, skipped) of one program."""
    found = dict((name, word) for word, name in reversed(CASE.findall(output)))
    words = list(found.values())
    passed, failed, skipped = (words.count(w) for w in ("OK", "FAILED", "SKIPPED"))
    unit = UNITTEST.search(output)
    if not words and unit:
        counts = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", unit[3] or "")}
        failed, skipped = counts.get("failures", 0) + counts.get("errors", 0), counts.get("skipped", 0)
        passed = int(unit[1]) - failed - skipped
    if result == "SKIP":
        return 0, 0, max(1, passed + failed + skipped)
    if result in GOOD and not passed + failed + skipped:
        return 1, 0, 0
    if result not in GOOD and not failed:
        failed = 1
    if result == "EXPECTEDFAIL":
        return 1, 0, 0
    return passed, failed, skipped


def one_line(text):
    """For a table: the first line that says something."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return "".join(c if c.isprintable() else " " for c in line).strip()[:WHY_MAX]


def meson_rows(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            if test["result"] in NEVER_RAN:
                continue
            name = re.split(r"[/:]", test["name"])[-1].strip()
            output = test.get("stdout", "") + "\n" + test.get("stderr", "")
            bad = [case for word, case in CASE.findall(output) if word == "FAILED"]
            why = ", ".join(dict.fromkeys(bad)) or one_line("\n".join(reversed(output.splitlines())))
            yield name, test.get("duration", 0.0), *cases(test["result"], output), test["result"], one_line(why), output


def junit_rows(path):
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"
        bad = [e for e in case if e.tag in ("failure", "error")]
        skipped = any(e.tag == "skipped" for e in case)
        said = [e for e in case if bad and e.tag in ("system-out", "system-err")]  # the logs of its world among them
        output = "\n".join([e.text or "" for e in said] + [(e.get("message") or "") + "\n" + (e.text or "") for e in bad])
        why = one_line(bad[0].get("message") or bad[0].text or "") if bad else ""
        yield name, float(case.get("time", 0)), int(not bad and not skipped), int(bool(bad)), int(skipped), "FAIL", why, output


def main():
    kind, stage, path = sys.argv[1:]
    for name, seconds, passed, failed, skipped, result, why, output in {"meson": meson_rows, "junit": junit_rows}[kind](path):
        print(stage, name, f"{seconds:.2f}", passed, failed, skipped, why if failed else "", sep="\t")
        if failed:
            output = output.strip()
            if len(output) > OUTPUT_MAX:
                output = output[: OUTPUT_MAX // 4] + "\n[…]\n" + output[-OUTPUT_MAX * 3 // 4 :]
            print(f"--- {stage}: {name}: {result} after {seconds:.1f} s\n{output}\n", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
