#!/usr/bin/env bash
# Measures and prints one JSON object a line: {"figure", "value", "bound", "holds", "detail"}.
#   service [ARGUMENT...]   the daemon, its clients and its store; ARGUMENTs go to cubind-service-bench (--quick, --only GROUP)
#   load [ARGUMENT...]      10 million hits, 10,000 connections, 30 minutes of mixed load; ARGUMENTs go to cubind-load-bench
#                           (--quick, --seconds N, --only GROUP)
#   faults [ARGUMENT...]    a restart with 2 GB, 500 kills and more at named steps, 10 minutes of each fuzz target, the table of
#                           docs/faults.md (--quick, --kills N, --only GROUP)
#   gpu [ARGUMENT...]       the kernels on this machine's GPU, right and timed; ARGUMENTs go to gpu_gemm (--small, --only TEXT)
#   kernels [ARGUMENT...]   the kernels beside those of others, in one run, other lines: see bench/kernels/peers/measure.py; ARGUMENTs go
#                           there. $CUBIND_PEERS is the folder that bench/kernels/peers/fetch.sh filled (unset: only PyTorch's own);
#                           lines and tables are also written to $CUBIND_RESULTS (default: bench/results), kernels-DATE.{jsonl,md}
# In a source tree it builds first; in a folder made by scripts/bundle.sh it runs what is there. Exit code 0 if all holds.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,12s/^# \?//p' "$0" >&2; exit 2; }
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

nvrtc_or_stop() {
  nvrtc=$("$here/scripts/nvrtc_path.sh")
  [ -n "$nvrtc" ] || { echo "bench: no NVRTC on this machine: install a CUDA toolkit" >&2; exit 1; }
}

# figure NAME VALUE BOUND HOLDS DETAIL: one line of those that no program prints.
figure() {
  printf '{"figure": "%s", "value": %s, "bound": "%s", "holds": %s, "detail": "%s"}\n' "$@"
  [ "$4" = true ] || failed=1
}

case $what in
  service)
    build bench service_bench
    nvrtc_or_stop
    run "$service/cubind-service-bench" --nvrtc "$nvrtc" "$@"
    ;;
  load)
    build bench load_bench
    nvrtc_or_stop
    run "$service/cubind-load-bench" load --nvrtc "$nvrtc" "$@"
    ;;
  faults)
    build bench load_bench
    nvrtc_or_stop
    run "$service/cubind-load-bench" faults --nvrtc "$nvrtc" "$@"
    if [ -f "$here/CMakeLists.txt" ] && [[ " $* " != *" --only "* ]]; then  # what only a source tree has
      seconds=600
      [[ " $* " != *" --quick "* ]] || seconds=5
      read -r targets executions findings < <("$here/scripts/fuzz.sh" --seconds $seconds | python3 -c '
import json, sys
runs = [json.loads(line) for line in sys.stdin]
print(len(runs), sum(run["executions"] for run in runs), sum(run["findings"] for run in runs) if runs else 1)')
      figure faults.fuzz_findings "$findings" "= 0" "$([ "$findings" = 0 ] && echo true || echo false)" \
        "$executions executions of $targets targets, $seconds s each, under AddressSanitizer and UndefinedBehaviorSanitizer"
      read -r tested apply < <(python3 "$here/tests/support/check_faults.py" "$here" | python3 -c '
import json, sys
table = json.load(sys.stdin)
print(table["tested"], table["apply"])')
      figure faults.rows_tested "$(python3 -c "print(round($tested / $apply, 3))")" "= 1" \
        "$([ "$tested" = "$apply" ] && echo true || echo false)" "$tested of the $apply rows of docs/faults.md that apply"
    fi
    ;;
  gpu)
    build gpu cubind cubind-worker gpu_programs
    run "$tests/gpu_gemm" "$@"
    run "$tests/gpu_configs"
    run "$tests/gpu_runtime"
    run "$bench/layer_bench" --json
    ;;
  kernels)
    build gpu cubind cubind-worker cubind_client
    nvrtc_or_stop
    [ -d "$here/bench/peers" ] && peers=$here/bench/peers || peers=$here/bench/kernels/peers
    [ -d "$service/../lib" ] && root=$service/.. || root=$here
    results=${CUBIND_RESULTS:-$here/bench/results}
    mkdir -p "$results"
    name=$results/kernels-$(date +%F)
    if [ -n "${CUBIND_PEERS:-}" ]; then
      unpacked=$(mktemp -d)
      trap 'rm -rf "$unpacked"' EXIT
      "$peers/unpack.sh" "$CUBIND_PEERS" "$unpacked" >&2
      set -- --peers-folder "$unpacked" "$@"
      export PYTHONPATH=$unpacked${PYTHONPATH:+:$PYTHONPATH}
    fi
    export CUBIND_NVRTC=$nvrtc PYTHONDONTWRITEBYTECODE=1
    python3 "$peers/measure.py" --library "$root/lib/libcubind.so" --daemon "$root/bin/cubind" "$@" | tee "$name.jsonl" || failed=1
    python3 "$peers/report.py" "$name.jsonl" > "$name.md"
    echo "bench: $name.md" >&2
    ;;
  *) usage ;;
esac
exit $failed
