#!/usr/bin/env python3
"""Writes client/weights/repack_ptx.cpp from repack_kernel.cuh, or with --check says whether it is what the sources give.

usage: repack_ptx.py [--check] LIBNVRTC    exit code 1 if it differs, 77 if this NVRTC is another than the one that made it
"""
import ctypes
import pathlib
import re
import sys

WEIGHTS = pathlib.Path(__file__).resolve().parents[1] / "client/weights"
# Virtual target and PTX version: the oldest GPUs that have kernels here, and drivers from CUDA 11.0 on. NVRTC writes its own version;
# nothing in the text needs more than this one, which ptxas would refuse otherwise.
TARGET, PTX_VERSION = "compute_75", "7.0"

FILE = """// Written by scripts/repack_ptx.py from repack_kernel.cuh; {release}.
#include "client/weights/repack_ptx.hpp"

namespace cubind {{

// clang-format off
const char kRepackPtx[] = R"PTX({ptx})PTX";
// clang-format on

}}  // namespace cubind
"""


def compiled(library):
    nvrtc, program, size = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_size_t()
    source = (WEIGHTS / "repack_kernel.cuh").read_bytes()
    options = [f"--gpu-architecture={TARGET}".encode(), b"--std=c++17", b"--no-cache"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"repack_kernel.cuh", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size_of, text_of = (nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog) if failed else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    size_of(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    text_of(program, text)
    if failed:
        sys.exit(text.value.decode())
    return text.value.decode()


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) != (3 if check else 2):
        sys.exit(__doc__)
    text = compiled(sys.argv[-1])
    release = re.search(r"release (\S+), V(\S+)", text)
    release = f"NVRTC {release[2]}"
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//")]
    ptx = re.sub(r"^\.version .*$", f".version {PTX_VERSION}", "\n".join(lines), flags=re.MULTILINE) + "\n"
    path = WEIGHTS / "repack_ptx.cpp"
    made = FILE.format(release=release, ptx=ptx)
    if not check:
        path.write_text(made)
        return 0
    there = path.read_text()
    if release not in there.splitlines()[0]:
        print(f"{path.name} was made by another NVRTC than {release}")
        return 77
    if there != made:
        print(f"{path.name} is not what repack_kernel.cuh gives: run scripts/repack_ptx.py {sys.argv[-1]}")
    return 0 if there == made else 1


if __name__ == "__main__":
    sys.exit(main())
