#!/usr/bin/env bash
# Measures and prints one JSON object a line: {"figure", "value", "bound", "holds", "detail"}.
#   service [ARGUMENT...]   the daemon, its clients and its store; ARGUMENTs go to cubind-service-bench (--quick, --only GROUP)
#   gpu [ARGUMENT...]       the kernels on this machine's GPU, right and timed; ARGUMENTs go to gpu_gemm (--small, --only TEXT)
# In a source tree it builds first; in a folder made by scripts/bundle.sh it runs what is there. Exit code 0 if all holds.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,5s/^# \?//p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
what=$1
shift

# build PRESET TARGET...: sets service, tests and bench to where the programs are.
build() {
  if [ ! -f "$here/CMakeLists.txt" ]; then
    service=$here/bench/service tests=$here/tests bench=$here/bench
    return
  fi
  local preset=$1
  shift
  cd "$here"
  scripts/setup.sh >&2
  cmake --preset "$preset" --log-level=WARNING >&2
  cmake --build "build/$preset" --target "$@" >&2
  service=$here/build/$preset/bin tests=$here/build/$preset/bin/tests bench=$here/build/$preset/bin/bench
}

failed=0
run() { "$@" || failed=1; }

case $what in
  service)
    build bench service_bench
    nvrtc=$("$here/scripts/nvrtc_path.sh")
    [ -n "$nvrtc" ] || { echo "bench: no NVRTC on this machine: install a CUDA toolkit" >&2; exit 1; }
    run "$service/cubind-service-bench" --nvrtc "$nvrtc" "$@"
    ;;
  gpu)
    build gpu cubind cubind-worker gpu_programs
    run "$tests/gpu_gemm" "$@"
    run "$tests/gpu_runtime"
    run "$bench/layer_bench" --json
    ;;
  *) usage ;;
esac
exit $failed
