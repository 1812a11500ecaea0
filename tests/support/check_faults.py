#!/usr/bin/env python3
"""Holds docs/faults.md to the tree: every test that a row names exists, every row says what is done, and every row that is
marked neither later nor open has a test. Prints how many of the numbered rows, those of public reports, apply and are tested.

    check_faults.py SOURCE_DIR
"""
import json
import pathlib
import re
import sys

REPORT = re.compile(r"^\| ([A-P]\d+) \|([^|]*)\|([^|]*)\|([^|]*)\|$", re.M)
OTHER = re.compile(r"^\| ([^|`]{3,}) \|([^|]*)\|([^|]*)\|$", re.M)


def tests_of(source):
    """Names of all tests, as the table writes them."""
    found = set()
    for path in source.glob("tests/**/*.cpp"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(), re.M):
            found.add(f"{suite}.{name}")
    for path in source.glob("tests/e2e/test_*.py"):
        suite = ""
        for line in path.read_text().splitlines():
            if match := re.match(r"class (\w+)", line):
                suite = match[1]
            elif match := re.match(r"    def (test_\w+)", line):
                found.add(f"{path.stem}.{suite}.{match[1]}")
    for path in source.glob("tests/fuzz/fuzz_*.cpp"):
        found.add("fuzz:" + path.stem.removeprefix("fuzz_"))
    return found


def main():
    source = pathlib.Path(sys.argv[1])
    text = (source / "docs/faults.md").read_text()
    rows = REPORT.findall(text)
    others = [row for row in OTHER.findall(text) if row[0] != "what" and not row[0].startswith("---")]
    known = tests_of(source)
    wrong, applying, tested = [], 0, 0
    if len(rows) < 100 or len({row for row, *_ in rows}) != len(rows):
        wrong.append(f"{len(rows)} rows, some of them twice or gone")
    for row, _, named, what in rows:
        if not what.strip():
            wrong.append(f"{row}: does not say what is done")
        if named.strip() == "later":
            continue
        applying += 1
        if named.strip() == "open":
            continue
        names = re.findall(r"`([^`]+)`", named)
        missing = [name for name in names if name not in known]
        if names and not missing:
            tested += 1
        wrong += [f"{row}: there is no test {name}" for name in missing] or ([] if names else [f"{row}: names no test"])
    if len(others) < 10:
        wrong.append(f"only {len(others)} rows beyond the reports")
    for what, named, done in others:
        names = re.findall(r"`([^`]+)`", named)
        wrong += [f"{what}: there is no test {name}" for name in names if name not in known]
        if not names or not done.strip():
            wrong.append(f"{what}: names no test, or does not say what is done")
    print(json.dumps({"rows": len(rows), "apply": applying, "tested": tested}))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
