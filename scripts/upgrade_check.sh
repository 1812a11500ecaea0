#!/usr/bin/env bash
# Builds an older cubind beside this one and runs tests/e2e/test_upgrade.py with both: old and new clients with old and new daemons,
# and one store under each in turn: upgrade_check.sh COMMIT
# COMMIT's programs are kept in build/old/COMMIT; this tree's are those of build/dev.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { sed -n '2,4s/^# \?//p' "$0" >&2; exit 2; }
commit=$(git rev-parse --verify "$1^{commit}")
old=$PWD/build/old/$commit

if [ ! -x "$old/root/usr/local/bin/cubind" ]; then
  rm -rf "$old"
  mkdir -p "$old/source"
  git archive "$commit" | tar -x -C "$old/source"
  cmake -S "$old/source" -B "$old/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUBIND_TESTS=OFF --log-level=WARNING
  cmake --build "$old/build"
  DESTDIR=$old/root cmake --install "$old/build" >/dev/null
fi

cmake --preset dev --log-level=WARNING
cmake --build build/dev
CUBIND_E2E_OLD_PREFIX=$old/root/usr/local ctest --test-dir build/dev --output-on-failure -R '^(e2e_install|e2e_upgrade)$'
