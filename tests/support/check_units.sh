#!/usr/bin/env bash
# Installs into a folder and holds what came there to systemd's own opinion: check_units.sh BUILD_DIR
# Exit code 77: skipped, with the reason.
set -euo pipefail
build=$1
command -v systemd-analyze >/dev/null || { echo "skipped: there is no systemd-analyze here"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root cmake --install "$build" >"$root/install.log" || { cat "$root/install.log"; exit 1; }
service=$(find "$root" -name cubind.service)
units=$(dirname "$service")
# verify looks for programs under the real root: the copies name those of the installation.
work=$root/verify
mkdir "$work"
for unit in "$units"/cubind*; do
  sed -E "s#^(ExecStart=)(/[^ ]*)#\1$root\2#" "$unit" >"$work/$(basename "$unit")"
done
mv "$work/cubind-prewarm@.service" "$work/cubind-prewarm@model.service"
said=$(cd "$work" && SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no ./cubind.socket ./cubind-metrics.socket ./cubind.service ./cubind-prewarm@model.service 2>&1 || echo "verify failed")
[ -z "$said" ] || { echo "$said"; exit 1; }
# 15 is an exposure of 1.5.
systemd-analyze security --offline=true --threshold=15 --no-pager "$work/cubind.service" >"$root/security" 2>&1 || {
  cat "$root/security"
  exit 1
}
tail -n 1 "$root/security"
echo "systemd-analyze verify is clean on $(ls "$work" | wc -l) units"
