#!/usr/bin/env bash
# Makes a folder that runs on another machine with glibc 2.36 or newer without installing anything: the binaries, the libraries
# they need beside them, gpu tests and benches, examples and scripts.   scripts/bundle.sh [DIR]   (default dist/cubind-bundle)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-dist/cubind-bundle}

scripts/setup.sh
cmake --preset gpu --log-level=WARNING -DCMAKE_INSTALL_PREFIX=/ -DCMAKE_INSTALL_RPATH='$ORIGIN/../lib' \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags \
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_RPATH='$ORIGIN/../lib;$ORIGIN/../../lib'
cmake --build build/gpu --target cubind cubind-worker cubinctl cubind_client boot_model gpu_gemm gpu_runtime kernel_sweep layer_bench

rm -rf "$out"
mkdir -p "$out"/{bin,lib,tests,bench,scripts,examples}
install -m755 build/gpu/bin/cubind build/gpu/bin/cubind-worker build/gpu/bin/cubinctl "$out/bin/"
for program in build/gpu/bin/tests/gpu_* build/gpu/bin/bench/*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  case $program in */tests/*) install -m755 "$program" "$out/tests/" ;; *) install -m755 "$program" "$out/bench/" ;; esac
done
cp -P build/gpu/lib/libcubind.so* "$out/lib/"
cp -r examples/. "$out/examples/"
for example in build/gpu/bin/examples/*; do [ -x "$example" ] && install -m755 "$example" "$out/bin/"; done
cp scripts/quickstart.sh scripts/bench.sh README.md LICENSE "$out/scripts/" && mv "$out"/scripts/{README.md,LICENSE} "$out/"

# The closure of shared libraries, glibc's own left out: those must be the target's.
glibc='^(linux-vdso|ld-linux|libc|libm|libpthread|libdl|librt|libresolv|libutil|libanl|libnss.*)[.-]'
for program in "$out"/bin/* "$out"/tests/* "$out"/bench/*; do
  ldd "$program" 2>/dev/null | awk '$3 ~ /^\// {print $3}'
done | sort -u | while read -r library; do
  name=$(basename "$library")
  echo "$name" | grep -Eq "$glibc" && continue
  [ -e "$out/lib/$name" ] || install -m644 "$(readlink -f "$library")" "$out/lib/$name"
done
strip --strip-unneeded "$out"/bin/* "$out"/tests/* "$out"/bench/* "$out"/lib/*.so* 2>/dev/null || true
echo "bundle: $out ($(du -sh "$out" | cut -f1))"
