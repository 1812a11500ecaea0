#!/usr/bin/env python3
"""Holds the code to the table of who may include whom (docs/ARCHITECTURE.md). Reads the sources; needs no compiler.

Exit code 0 and one line if all is well; otherwise one line for each include that breaks a rule, and 1.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Files of a layer, most specific first, and the layers each may include (itself always).
LAYERS = [
    ("device", ["codegen/device/"]),
    ("wire", ["protocol/codec", "protocol/schema/"]),
    ("model", ["protocol/"]),
    ("base", ["base/"]),
    ("codegen", ["codegen/"]),
    ("cache", ["cache/"]),
    ("cli", ["client/cli/"]),
    ("hf_model", ["client/model/"]),
    ("client", ["client/"]),
    ("daemon", ["daemon/"]),
]
MAY = {
    "base": set(),
    "model": {"base"},
    "wire": {"base", "model"},
    "device": set(),  # and protocol/dtype.hpp, protocol/kernel_abi.hpp: see DEVICE_EXTRA
    "codegen": {"base", "model", "device"},
    "cache": {"base", "model"},
    "client": {"base", "model"},
    "hf_model": {"base", "model"},
    "cli": {"base", "model", "client", "hf_model", "codegen", "device"},
    "daemon": {"base", "model", "wire", "codegen", "device", "cache"},
}
DEVICE_EXTRA = {"protocol/dtype.hpp", "protocol/kernel_abi.hpp"}

# Third-party headers and the only places that may see them.
THIRD_PARTY = [
    (re.compile(r"^(capnp|kj)/|\.capnp\.h$"), ["protocol/codec", "protocol/schema/"]),
    (re.compile(r"^rocksdb/"), ["cache/rocks_"]),
    (re.compile(r"^boost/"), ["daemon/app", "daemon/server", "daemon/session", "daemon/metrics_http", "daemon/zygote", "daemon/compile_pool"]),
    (re.compile(r"^prometheus/"), ["daemon/metrics_page"]),
    (re.compile(r"^spdlog/"), ["base/log"]),
    (re.compile(r"^openssl/"), ["base/sha256", "base/ed25519"]),
    (re.compile(r"^nlohmann/"), ["client/cli/", "client/model/"]),
    (re.compile(r"^CLI/"), ["client/cli/", "daemon/config", "daemon/main"]),
    (re.compile(r"^toml"), ["daemon/config"]),
    (re.compile(r"^systemd/"), ["daemon/systemd_notify", "daemon/server"]),
    (re.compile(r"^nvrtc\.h$"), ["codegen/nvrtc/"]),
    (re.compile(r"^cuda\.h$"), ["client/driver/"]),
]


def layer_of(path):
    for name, prefixes in LAYERS:
        if any(path.startswith(p) for p in prefixes):
            return name
    return None


def check_file(path, text):
    rel = path.relative_to(ROOT).as_posix()
    layer = layer_of(rel)
    if layer is None:
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match.group(1) == '"', match.group(2)
        for pattern, places in THIRD_PARTY:
            if pattern.search(name) and not any(rel.startswith(p) for p in places):
                yield f"{rel}:{number}: <{name}> may be included only in {', '.join(places)}"
        if layer == "device" and not quoted:
            yield f"{rel}:{number}: device code includes no standard or toolkit header, found <{name}>"
        target = layer_of(name) if "/" in name and quoted else None
        if target is None or target == layer:
            continue
        if layer == "device" and name in DEVICE_EXTRA:
            continue
        if target not in MAY[layer]:
            yield f"{rel}:{number}: {layer} may not include {target} ({name})"


def main():
    problems, seen = [], 0
    for top in sorted({p.split("/")[0] for _, prefixes in LAYERS for p in prefixes}):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in {".hpp", ".cpp", ".h", ".cuh", ".c"}:
                seen += 1
                problems += check_file(path, path.read_text())
    if seen == 0:
        problems.append("no source files found: is this the project's tree?")
    print("\n".join(problems) if problems else f"{seen} files keep to the include table")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
