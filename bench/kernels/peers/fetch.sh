#!/usr/bin/env bash
# Brings the peers into DIR (default: peers-carry), ready for a machine with a Hopper GPU, CUDA 13, Python 3.12 and PyTorch 2.11.
# Humming is a small wheel. vLLM's wheel is large: only the library of its dense operators (Marlin, Machete) is kept, and machine code
# for other architectures than Hopper is blanked out, so that all of it packs to about 26 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-peers-carry}
vllm=${VLLM_VERSION:-0.25.1}      # the newest whose wheel is built for PyTorch 2.11 and CUDA 13
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
get() { python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform any -d "$tmp" "$1"; }
get humming-kernels
get "vllm==$vllm"
cp "$tmp"/humming_kernels-*.whl "$dir"/
python3 "$here/strip_vllm.py" "$tmp"/vllm-*.whl "$dir"
du -sh "$dir"
