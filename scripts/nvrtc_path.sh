#!/usr/bin/env bash
# Prints the NVRTC library that builds and tests here use, or nothing: of the newest installed CUDA toolkit, else of the wheel that
# scripts/setup.sh put into .cuda/.
shopt -s nullglob
cd "$(dirname "$0")/.."
found=(/usr/local/cuda*/lib64/libnvrtc.so.[0-9]* /usr/local/cuda*/targets/x86_64-linux/lib/libnvrtc.so.[0-9]*
  /usr/lib/x86_64-linux-gnu/libnvrtc.so.[0-9]*)
[ ${#found[@]} -gt 0 ] || found=("$PWD"/.cuda/nvidia/*/lib/libnvrtc.so.[0-9]*)
for file in "${found[@]}"; do
  echo "${file##*libnvrtc.so.} $file"
done | sort -rV | head -1 | cut -d' ' -f2-
