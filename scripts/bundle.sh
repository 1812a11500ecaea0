#!/usr/bin/env bash
# Makes a folder that runs on another machine with glibc 2.36 or newer without installing anything but a CUDA toolkit's NVRTC:
#   bin/            daemon, worker, cubinctl, the example        lib/       libcubind.so and the libraries all of these need, once
#   tests/, bench/  the gpu tests and benches                    scripts/   quickstart.sh, bench.sh
#   bench/peers/    the kernels beside those of others (python3 with PyTorch)
#   bench/service/  what `scripts/bench.sh service` measures: a daemon with fault points, and the programs it is compared with
# Every program finds lib/ by an RPATH relative to itself, so also when it is started with an empty environment.
#   scripts/bundle.sh [DIR]   (default dist/cubind-bundle; what is there is replaced)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-dist/cubind-bundle}

scripts/setup.sh
# An RPATH (not a RUNPATH) also holds for the libraries that a library needs.
relocatable=(--log-level=WARNING -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib;$ORIGIN/../../lib'
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags)
cmake --preset gpu "${relocatable[@]}"
cmake --preset bench "${relocatable[@]}"
cmake --build build/gpu --target cubind cubind-worker cubinctl cubind_client boot_model gpu_programs
cmake --build build/bench --target load_bench

programs_of() { find "$1" -maxdepth 1 -type f -executable; }
rm -rf "$out"
mkdir -p "$out"/{bin,lib,tests,bench/service,bench/peers,scripts,examples}
install -m755 build/gpu/bin/{cubind,cubind-worker,cubinctl,examples/boot_model} "$out/bin/"
programs_of build/gpu/bin/tests | grep '/gpu_' | xargs install -m755 -t "$out/tests/"
programs_of build/gpu/bin/bench | xargs install -m755 -t "$out/bench/"
install -m755 build/bench/bin/{cubind,cubind-worker,cubind-service-bench,cubind-load-bench} build/bench/bin/cubind-bench-* "$out/bench/service/"
install -m644 build/bench/lib/libcubind_nvrtc_counter.so build/bench/share/cubind/*.json "$out/bench/service/"
install -m644 build/gpu/lib/libcubind.so.0 "$out/lib/"
ln -s libcubind.so.0 "$out/lib/libcubind.so"
install -m644 bench/kernels/peers/*.{py,cu} "$out/bench/peers/"
install -m755 bench/kernels/peers/*.sh "$out/bench/peers/"
install -m644 examples/*.json examples/*.cpp "$out/examples/"
install -m755 scripts/{quickstart.sh,bench.sh,nvrtc_path.sh} "$out/scripts/"
install -m644 README.md LICENSE "$out/"

mapfile -t programs < <(find "$out"/bin "$out"/tests "$out"/bench -type f -executable ! -name '*.sh')
strip --strip-unneeded "${programs[@]}" "$out"/bench/service/*.so "$out"/lib/libcubind.so.0
scripts/library_closure.sh "$out/lib" "${programs[@]}" >/dev/null
echo "bundle: $out ($(du -sm --apparent-size "$out" | cut -f1) MiB)"
