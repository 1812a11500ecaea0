#!/usr/bin/env bash
# Installs what a Debian 12 machine lacks to build, test and run cubind: Debian packages, and NVRTC from NVIDIA's wheels if no
# CUDA toolkit is installed. Works as root or with sudo; says what it does; does nothing when nothing is missing.
#   scripts/setup.sh [PACKAGE...]   these too: what another script needs
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache pkg-config git python3 python3-pip
  libboost1.81-dev libboost-context1.81-dev libcapnp-dev capnproto librocksdb-dev libspdlog-dev libgtest-dev libgmock-dev
  prometheus-cpp-dev
  libbenchmark-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libssl-dev libsystemd-dev
  clang libclang-rt-14-dev
  binutils procps util-linux systemd valgrind python3-yaml
  "$@"
)

# For tests/e2e/test_board.py, which is skipped without it. Where systemd runs, the package would start a service of its own.
[ -d /run/systemd/system ] || packages+=(prometheus)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    echo "setup: need root to run: $* (no sudo here)" >&2
    exit 1
  fi
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [ "${status:0:2}" = ii ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "setup: all ${#packages[@]} Debian packages are there"
fi

if [ -n "$(scripts/nvrtc_path.sh)" ]; then
  echo "setup: NVRTC at $(scripts/nvrtc_path.sh)"
else
  echo "setup: no CUDA toolkit here; fetching NVRTC 13.0 from NVIDIA's wheels into .cuda/ (about 45 MB)"
  pip_flags=(--quiet --no-deps --target .cuda)
  python3 -m pip install --help | grep -q -- --root-user-action && pip_flags+=(--root-user-action=ignore)
  python3 -m pip install --help | grep -q -- --break-system-packages && pip_flags+=(--break-system-packages)
  python3 -m pip install "${pip_flags[@]}" 'nvidia-cuda-nvrtc==13.0.*'
  echo "setup: NVRTC at $(scripts/nvrtc_path.sh)"
fi
