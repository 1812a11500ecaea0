#!/usr/bin/env python3
"""Holds docs/faults.md to the tree: every test that a row names exists, every row says what is done, and every row that is
not marked later has a test. Prints "rows tested / rows that apply" as JSON. check_faults.py SOURCE_DIR
"""
import json
import pathlib
import re
import sys

ROW = re.compile(r"^\| ([A-P]\d+) \|([^|]*)\|([^|]*)\|([^|]*)\|$", re.M)


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
    rows = ROW.findall((source / "docs/faults.md").read_text())
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
        names = re.findall(r"`([^`]+)`", named)
        missing = [name for name in names if name not in known]
        if names and not missing:
            tested += 1
        wrong += [f"{row}: there is no test {name}" for name in missing] or ([] if names else [f"{row}: names no test"])
    print(json.dumps({"rows": len(rows), "apply": applying, "tested": tested}))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
