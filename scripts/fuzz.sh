#!/usr/bin/env bash
# Builds the fuzz targets and runs each on its corpus: fuzz.sh [--seconds N] [--jobs N] [--keep] [TARGET...]
#   --seconds N   of each target (default 5)
#   --jobs N      targets at a time (default: one for each processor)
#   --keep        adds what covers something new to tests/fuzz/corpus, minimized
# Prints one JSON object for each target: {"target", "executions", "findings"}. Exit code 1 if one finds something; its input is
# then in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=5 jobs=$(nproc) keep=0 targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?fuzz: --seconds needs a number}; shift 2 ;;
    --jobs) jobs=${2:?fuzz: --jobs needs a number}; shift 2 ;;
    --keep) keep=1; shift ;;
    -*) echo "fuzz: unknown argument \"$1\"" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
all=$(cd tests/fuzz && ls fuzz_*.cpp | sed 's/^fuzz_//; s/\.cpp$//')
[ ${#targets[@]} -gt 0 ] || mapfile -t targets <<<"$all"

cmake --preset fuzz --log-level=WARNING >&2
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}" >&2

# Seeds that the tree has anyway.
seeds() {
  case $1 in
    cubin) echo tests/golden/cubin ;;
    model) echo tests/golden/models ;;
    record) echo tests/golden/record ;;
    config) echo systemd ;;
  esac
}

# The libraries that are not ours are not instrumented: their containers are not annotated.
export ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
out=build/fuzz/findings
mkdir -p "$out"
run_one() {
  local target=$1 corpus=tests/fuzz/corpus/$1 work=build/fuzz/corpus/$1 log=build/fuzz/$1.log code=0
  mkdir -p "$work"
  local folders=("$work")
  for folder in "$corpus" $(seeds "$target"); do [ -d "$folder" ] && folders+=("$folder"); done
  local before
  before=$(ls "$out" | wc -l)
  build/fuzz/bin/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$out/$target-" "${folders[@]}" >"$log" 2>&1 || code=$?
  local executions
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '{"target": "%s", "executions": %s, "findings": %s}\n' "$target" "${executions:-0}" $((code == 0 ? 0 : 1))
  [ $code = 0 ] || { tail -n 40 "$log" >&2; return 1; }
  if [ $keep = 1 ]; then
    mkdir -p "$corpus"
    build/fuzz/bin/fuzz/fuzz_"$target" -merge=1 "$corpus" "$work" >>"$log" 2>&1
  fi
}

failed=0
running=()
for target in "${targets[@]}"; do
  run_one "$target" &
  running+=($!)
  if [ ${#running[@]} -ge "$jobs" ]; then
    wait "${running[0]}" || failed=1
    running=("${running[@]:1}")
  fi
done
for process in "${running[@]}"; do wait "$process" || failed=1; done
exit $failed
