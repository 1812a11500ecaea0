#!/usr/bin/env bash
# Installs what is missing, builds, and does cubind's main job on this machine: a model's config goes in, its kernels are compiled
# once for eight processes that start together, and a restarted daemon hands them out again without compiling. With a GPU it also
# launches every layer and checks the numbers.
#   --bundle DIR   use the binaries of a folder made by scripts/bundle.sh instead of installing and building
#   --config FILE  another model's config.json
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

bundle='' config=''
while [ $# -gt 0 ]; do
  case $1 in
    --bundle) bundle=$(cd "${2:?--bundle needs a folder}" && pwd); shift 2 ;;
    --config) config=$(realpath "${2:?--config needs a file}"); shift 2 ;;
    *) echo "quickstart: unknown argument \"$1\"; there are --bundle DIR and --config FILE" >&2; exit 2 ;;
  esac
done

if [ -n "$bundle" ]; then
  bin=$bundle/bin examples=$bundle/examples boot=$bundle/bin/boot_model bench=$bundle/bench
else
  "$here/scripts/setup.sh"
  echo "quickstart: building (a few minutes the first time)"
  cd "$here"
  cmake --preset release -DCUBIND_TESTS=OFF --log-level=WARNING
  cmake --build build/release
  bin=$here/build/release/bin examples=$here/examples boot=$here/build/release/bin/examples/boot_model
  bench=$here/build/release/bin/bench
fi
[ -n "$("$here/scripts/nvrtc_path.sh")" ] || {
  echo "quickstart: no NVRTC on this machine (looked in /usr/local/cuda* and /usr/lib/x86_64-linux-gnu): install a CUDA toolkit" >&2
  exit 1
}
config=${config:-$examples/llama-3.1-8b-awq.json}
arch=sm_90a max_m=8192 processes=8

root=$(mktemp -d "${TMPDIR:-/tmp}/cubind-quickstart.XXXXXX")
chmod 755 "$root"
daemon=''
stop_daemon() { [ -z "$daemon" ] || { kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; daemon=''; }; }
trap 'stop_daemon; rm -rf "$root"' EXIT
export CUBIND_SOCKET=$root/run/cubind.sock
mkdir -m 755 "$root/run" "$root/store"

wheels=()
[ -d "$here/.cuda" ] && wheels=(--wheel-root "$here/.cuda")
start_daemon() {
  "$bin/cubind" --socket "$CUBIND_SOCKET" --store "$root/store" "${wheels[@]}" --allow-any-filesystem 2>>"$root/daemon.log" &
  daemon=$!
  for _ in $(seq 100); do
    "$bin/cubinctl" health >/dev/null 2>&1 && return
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  echo "quickstart: the daemon did not start:" >&2
  tail -5 "$root/daemon.log" >&2
  exit 1
}
counter() { "$bin/cubinctl" stats | awk -v name="$1" '$1 == name {print $2}'; }

# Two tables with an empty line between them: layer, count, n, k, format; and arch, kernel.
plan=$("$bin/cubinctl" prewarm "$config" --arch $arch --tp 1 --max-m $max_m --dry-run)
table() { awk -v RS= -v FS='\n' -v wanted="$1" 'NR == wanted {for (i = 2; i <= NF; ++i) print $i}' <<<"$plan"; }
mapfile -t layers < <(table 1 | awk '{print $1 ":" $3 ":" $4}')
formats=$(table 1 | awk '{print $5}' | sort -u)
kernels=$(table 2 | wc -l)
[ "$(wc -l <<<"$formats")" = 1 ] || { echo "quickstart: the model's layers have several formats: $formats" >&2; exit 1; }
format=$formats

echo
echo "$(basename "$config"): ${#layers[@]} distinct layers (${layers[*]}), $format, m up to $max_m, $arch"
echo "distinct kernels: $kernels"

boot_all() {  # all processes together; prints their lines
  local pids=() i
  for i in $(seq $processes); do
    "$boot" --format "$format" --max-m $max_m --arch $arch --sm-count 132 "${layers[@]}" >"$root/boot.$i" 2>&1 &
    pids+=($!)
  done
  local failed=0
  for i in "${pids[@]}"; do wait "$i" || failed=1; done
  cat "$root"/boot.* | sort | uniq -c | sort -rn | sed 's/^/    /'
  [ $failed = 0 ] || { echo "quickstart: a client failed" >&2; tail -5 "$root/daemon.log" >&2; exit 1; }
}
slowest() { cat "$root"/boot.* | sed 's/.* ms=//' | sort -n | tail -1; }

echo
echo "1. Cold store, $processes processes start together"
start_daemon
boot_all
compiled=$(counter cubind_compiles_succeeded_total)
wanted=$(sed -n 's/^kernels=\([0-9]*\).*/\1/p' "$root/boot.1")
seconds=$(counter cubind_compile_milliseconds_total | awk '{printf "%.1f", $1 / 1000}')
echo "  compiles done: $compiled for $wanted distinct kernels in use, $seconds s of compiling; slowest process $(slowest) ms"
[ "$compiled" = "$wanted" ] || { echo "quickstart: expected $wanted compiles" >&2; exit 1; }

echo
echo "2. The rest of the catalogue, so that no n, k or GPU size can miss"
"$bin/cubinctl" prewarm "$config" --arch $arch --tp 1 --max-m $max_m | sed 's/^/  /'

echo
echo "3. The daemon restarts, the same $processes processes start together"
stop_daemon
start_daemon
boot_all
compiled=$(counter cubind_compiles_started_total)
echo "  compiles: $compiled; every kernel in hand after $(slowest) ms in the slowest process"
[ "$compiled" = 0 ] || { echo "quickstart: expected no compile" >&2; exit 1; }

echo
if [ -x "$bench/layer_bench" ] && ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  echo "4. GPU: every layer at several m, checked against float64"
  shapes=$(printf '%s\n' "${layers[@]}" | sed 's/^[^:]*:\([0-9]*\):\([0-9]*\)$/\1x\2/' | paste -sd,)
  "$bench/layer_bench" --format "$format" --shapes "$shapes"
elif ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  echo "4. GPU here, but this build has no layer_bench: scripts/bundle.sh makes a bundle with it"
else
  echo "4. No GPU here: launching is skipped (with one, every layer is launched, checked and timed)"
fi
echo
echo "quickstart: done"
