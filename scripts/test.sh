#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: everything but the GPU's, then unit and integration tests again under
# AddressSanitizer + UndefinedBehaviorSanitizer and under ThreadSanitizer, and the fuzz targets.
#   --full            the whole matrices instead of the pairwise samples
#   --no-sanitizers   only the first half
set -euo pipefail
cd "$(dirname "$0")/.."

full=0 sanitizers=1
for argument in "$@"; do
  case $argument in
    --full) full=1 ;;
    --no-sanitizers) sanitizers=0 ;;
    *) echo "test: unknown argument \"$argument\"; there are --full and --no-sanitizers" >&2; exit 2 ;;
  esac
done

started=$SECONDS
step() { printf '\n== %s (%d s so far)\n' "$*" $((SECONDS - started)); }

step "setup"
scripts/setup.sh

step "build (dev: tests and fault points)"
cmake --preset dev --log-level=WARNING
cmake --build build/dev

step "tests"
[ $full = 1 ] && export CUBIND_FULL=1
exclude='gpu'
[ $full = 1 ] || exclude='gpu|full'
ctest --test-dir build/dev --output-on-failure -j "$(nproc)" -LE "$exclude"

if [ $sanitizers = 1 ]; then
  for sanitizer in asan tsan; do
    step "build ($sanitizer)"
    cmake --preset $sanitizer --log-level=WARNING
    cmake --build build/$sanitizer --target sanitizer_tests
    step "unit and integration tests ($sanitizer)"
    ctest --test-dir build/$sanitizer --output-on-failure -j "$(nproc)" -L '^(unit|integration)$' -LE 'full|no_sanitizer'
  done
fi

if [ $sanitizers = 1 ]; then
  step "fuzzing, some seconds of each target"
  scripts/fuzz.sh
fi

step "all tests passed"
