#!/usr/bin/env python3
"""check_library.py LIBCUBIND: what a library in other people's processes may bring along and show.

It needs libc.so.6 and the loader only, uses no glibc symbol newer than 2.35 (Ubuntu 22.04's), exports exactly the
functions of the public headers, has no executable stack and no text relocations, and no symbol that ties it to one process-wide
instance (STB_GNU_UNIQUE keeps dlclose from unloading).
"""
import pathlib
import re
import subprocess
import sys

NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
NEWEST_GLIBC = (2, 35)
HEADERS = sorted((pathlib.Path(__file__).resolve().parents[2] / "client/include/cubind").glob("*.h"))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems(library):
    dynamic = run("readelf", "-dW", library)
    extra = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)) - NEEDED
    if extra:
        yield f"needs {', '.join(sorted(extra))}"
    if "(TEXTREL)" in dynamic:
        yield "has text relocations"
    if re.search(r"GNU_STACK.*RWE", run("readelf", "-lW", library)):
        yield "has an executable stack"

    symbols = run("readelf", "--dyn-syms", "-W", library)
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([0-9.]+)", symbols)}
    newer = sorted(v for v in versions if v[:2] > NEWEST_GLIBC)
    if newer:
        yield "uses GLIBC_" + ", GLIBC_".join(".".join(map(str, v)) for v in newer)
    if " UNIQUE " in symbols:
        yield "has STB_GNU_UNIQUE symbols"

    defined = {
        line.split()[7].split("@")[0]
        for line in symbols.splitlines()
        if len(line.split()) >= 8 and line.split()[6] != "UND" and line.split()[3] in ("FUNC", "OBJECT")
        and line.split()[4] in ("GLOBAL", "WEAK")
    } - {"CUBIND_0"}
    declared = set()
    for header in HEADERS:
        found = re.findall(r"^CUBIND_API [^;(]*?(cubind_\w+)\(", header.read_text(), re.MULTILINE)
        if not found:
            yield f"no functions found in {header}"
        declared |= set(found)
    for name in sorted(defined - declared):
        yield f"exports {name}, which no public header declares"
    for name in sorted(declared - defined):
        yield f"does not export {name}, which a public header declares"


def main():
    if len(sys.argv) != 2:
        print("usage: check_library.py LIBCUBIND", file=sys.stderr)
        return 2
    found = [f"{sys.argv[1]} {problem}" for problem in problems(sys.argv[1])]
    print("\n".join(found) if found else f"{sys.argv[1]} keeps to itself")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
