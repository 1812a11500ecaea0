#!/usr/bin/env bash
# Tries the packages of scripts/package.sh in a bare Debian 12 of their own: lintian, install, upgrade, remove and purge with a daemon that
# serves in between, the tar file at two places, and the steps of docs/deploy/Containerfile with the commands of docs/deploy/daemonset.yaml. After
# each step what is there is compared with what should be. Needs root (chroot) and Debian's archive; some minutes. Kernels are
# compiled if this machine has an NVRTC. There is no systemd in the chroot: units are held to systemd's opinion by the test `units`.
#   scripts/package_check.sh [DIR]   (default dist/packages: what scripts/package.sh made)
#   --bare DIR                       where the bare Debian is kept for the next time (default build/package-check/bare)
# $CUBIND_DEBIAN_MIRROR: the archive debootstrap takes it from, if not its own default.
set -euo pipefail
cd "$(dirname "$0")/.."
# Mounts are of this process only and go away with it.
[ "${CUBIND_OWN_MOUNTS:-}" = 1 ] || exec env CUBIND_OWN_MOUNTS=1 unshare --mount --propagation private "$0" "$@"

dir=dist/packages work=build/package-check bare=build/package-check/bare
while [ $# -gt 0 ]; do
  case $1 in
    --bare) bare=${2:?--bare needs a folder}; shift 2 ;;
    -*) echo "package_check: unknown argument \"$1\"; there are DIR and --bare DIR" >&2; exit 2 ;;
    *) dir=$1; shift ;;
  esac
done
fail() { echo "package_check: $*" >&2; [ ! -e "${log:-}" ] || tail -15 "$log" >&2; exit 1; }
step() { printf '\n== %s\n' "$*"; }

scripts/setup.sh debootstrap lintian dpkg-dev
version=$(dpkg-parsechangelog -SVersion)
older=0.0.9
for name in cubind cubinctl libcubind0 libcubind-dev; do
  [ -e "$dir/${name}_${version}_amd64.deb" ] || fail "there is no ${name}_${version}_amd64.deb in $dir: run scripts/package.sh first"
done
mkdir -p "$work"
work=$(realpath "$work") dir=$(realpath "$dir")

step "lintian"
lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$dir"/*_"$version"_amd64.deb

step "packages of an older version, $older, from this tree"
scripts/package.sh --version $older --debs-only "$work/older"

step "a bare Debian 12"
[ -e "$bare/bin/sh" ] || { debootstrap --variant=minbase bookworm "$bare.new" ${CUBIND_DEBIAN_MIRROR:+"$CUBIND_DEBIAN_MIRROR"} >"$work/debootstrap.log"; mv "$bare.new" "$bare"; }
bare=$(realpath "$bare")

root='' log=''
daemon=''
stop_daemon() { [ -z "$daemon" ] || { kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; daemon=''; }; }
drop_root() {  # what is mounted in there must not be removed with it
  [ -n "$root" ] || return 0
  stop_daemon
  umount "$root/mnt" "$root/proc"
  rm -rf --one-file-system "$root"
  root=''
}
trap 'drop_root' EXIT
clean_environment=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)
inside() { "${clean_environment[@]}" chroot "$root" "$@" </dev/null; }
inside_as() { local who=$1; shift; "${clean_environment[@]}" chroot --userspec="$who" "$root" "$@" </dev/null; }
bare_copy() {  # bare_copy NAME: a new root; the packages are seen at /mnt
  drop_root
  log=$work/$1.log
  local new
  new=$(mktemp -d "$work/root.XXXXXX")
  chmod 755 "$new"
  cp -a --reflink=auto "$bare/." "$new"
  cp /etc/resolv.conf "$new/etc/"
  mount -t proc proc "$new/proc"
  mount --bind -o ro "$work/mnt" "$new/mnt"
  root=$new
  : >"$log"
}
# As an unattended upgrade: an edited config stays, without a question.
apt() { inside apt-get -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "$@" >>"$log" 2>&1 || fail "apt-get $* failed"; }

nvrtc=$(scripts/nvrtc_path.sh)
rm -rf "$work/mnt"
mkdir -p "$work/mnt/nvrtc/nvidia/cuda_nvrtc/lib"
cp "$dir"/*_"$version"_amd64.deb "$dir"/cubind-*.tar.gz "$work/older"/*_"$older"_amd64.deb examples/llama-3.1-8b-awq.json "$work/mnt/"
if [ -n "$nvrtc" ]; then
  cp -L "$nvrtc" "$(dirname "$(realpath "$nvrtc")")"/libnvrtc-builtins.so.[0-9]*.[0-9] "$work/mnt/nvrtc/nvidia/cuda_nvrtc/lib/"
else
  echo "no NVRTC here: nothing will be compiled"
fi

start_daemon() {  # start_daemon USER COMMAND...: in the chroot, until it answers
  local who=$1; shift
  "${clean_environment[@]}" chroot --userspec="$who" "$root" "$@" </dev/null 2>>"$log" &  # not a function: its pid is the daemon's
  daemon=$!
  for _ in $(seq 150); do
    inside_as "$who" "${ctl[@]}" health --alive >/dev/null 2>&1 && return
    kill -0 $daemon 2>/dev/null || break
    sleep 0.2
  done
  fail "the daemon does not answer"
}
start_packaged() {
  # systemd makes the sockets in a folder that is root's (and an installation makes it root's again); a daemon started by hand makes its own.
  inside chown cubind:cubind /run/cubind
  start_daemon cubind:cubind cubind --config /etc/cubind/cubind.toml
}
counter() { inside "${ctl[@]}" stats | awk -v name="$1" '$1 == name {print $2}'; }
compiled_is() {  # compiled_is N|some: compiles since the start
  [ -n "$nvrtc" ] || return 0
  inside "${ctl[@]}" prewarm /mnt/llama-3.1-8b-awq.json --arch sm_90 --max-m 16 >"$work/prewarm" || fail "prewarm failed"
  tail -1 "$work/prewarm"
  local compiles
  compiles=$(counter cubind_compiles_succeeded_total)
  case $1 in
    some) [ "$compiles" -gt 0 ] || fail "nothing was compiled" ;;
    *) [ "$compiles" = "$1" ] || fail "$compiles compiles where $1 were expected" ;;
  esac
}
same() {  # same WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { diff <(echo "$2") <(echo "$3") >&2; fail "$1 is not what it should be (left: expected)"; }
}
named_cubind() { (cd "$root" && find . -xdev \( -name '*cubind*' -o -name '*cubinctl*' \) ! -path './proc/*' ! -path './mnt/*' "$@" | sort); }
ctl=(cubinctl)

step "install $older"
bare_copy packages
before=$(named_cubind)
same "the bare Debian" "" "$before"
apt update
apt install /mnt/{cubind,cubinctl,libcubind0,libcubind-dev}_${older}_amd64.deb
same "the folders' rights" "/etc/cubind drwxr-xr-x root:root
/etc/cubind/cubind.toml -rw-r--r-- root:root
/run/cubind drwxr-xr-x root:cubind
/var/lib/cubind drwx------ cubind:cubind" "$(inside stat -c '%n %A %U:%G' /etc/cubind /etc/cubind/cubind.toml /run/cubind /var/lib/cubind)"
same "the user" "cubind:/var/lib/cubind:/usr/sbin/nologin" "$(inside getent passwd cubind | cut -d: -f1,6,7)"
enabled="./etc/systemd/system/multi-user.target.wants/cubind.service
./etc/systemd/system/sockets.target.wants/cubind-metrics.socket
./etc/systemd/system/sockets.target.wants/cubind.socket"
same "what is enabled" "$enabled" "$(named_cubind -path './etc/systemd/*')"
inside cubind --config /etc/cubind/cubind.toml --check-config || fail "the config is refused"
inside dpkg --verify cubind cubinctl libcubind0 libcubind-dev || fail "installed files differ from the packages'"

step "a daemon without NVRTC says what is missing"
start_packaged
inside_as cubind:cubind "${ctl[@]}" health && fail "health does not tell that there is no NVRTC"
grep -q no_toolchain "$log" || fail "the log does not tell that there is no NVRTC"
stop_daemon

step "the daemon of $older serves"
if [ -n "$nvrtc" ]; then
  sed -i 's|^#wheel_roots = .*|wheel_roots = ["/mnt/nvrtc"]|' "$root/etc/cubind/cubind.toml"
fi
start_packaged
compiled_is some

step "upgrade to $version under the running daemon"
edited=$(sha256sum <"$root/etc/cubind/cubind.toml")
apt install /mnt/{cubind,cubinctl,libcubind0,libcubind-dev}_${version}_amd64.deb
same "the versions" "$version $version $version $version" \
  "$(echo $(inside dpkg-query -W -f '${Version}\n' cubind cubinctl libcubind0 libcubind-dev))"
same "the edited config" "$edited" "$(sha256sum <"$root/etc/cubind/cubind.toml")"
same "what is enabled" "$enabled" "$(named_cubind -path './etc/systemd/*')"
inside "${ctl[@]}" health --alive
stop_daemon
start_packaged
compiled_is 0

step "a reload, as the unit does it, takes a changed config and no request fails"
sed -i 's|^#disk_limit = .*|disk_limit = "3GiB"|' "$root/etc/cubind/cubind.toml"
reload=$(sed -n "s/^ExecReload=//p" "$root/lib/systemd/system/cubind.service")
for _ in $(seq 20); do inside "${ctl[@]}" ls >/dev/null || fail "a request failed"; done &
asking=$!
inside sh -c "${reload//\$MAINPID/$daemon}" || fail "ExecReload=$reload fails"
wait $asking
for _ in $(seq 50); do grep -q ' reload .*store.disk_limit' "$log" && break; sleep 0.1; done
grep ' reload .*store.disk_limit' "$log" || fail "the config was not read again"

step "downgrade and back"
apt install --allow-downgrades /mnt/{cubind,cubinctl,libcubind0,libcubind-dev}_${older}_amd64.deb
stop_daemon
start_packaged
compiled_is 0
stop_daemon
apt install /mnt/{cubind,cubinctl,libcubind0,libcubind-dev}_${version}_amd64.deb

step "remove: programs go, state and config stay"
apt remove cubind cubinctl libcubind0 libcubind-dev
same "what is left" "./etc/cubind
./etc/cubind/cubind.toml
$enabled
./run/cubind
./var/lib/cubind
./var/lib/dpkg/info/cubind.list
./var/lib/dpkg/info/cubind.postrm
./var/lib/systemd/deb-systemd-helper-enabled/cubind-metrics.socket.dsh-also
./var/lib/systemd/deb-systemd-helper-enabled/cubind.service.dsh-also
./var/lib/systemd/deb-systemd-helper-enabled/cubind.socket.dsh-also
./var/lib/systemd/deb-systemd-helper-enabled/multi-user.target.wants/cubind.service
./var/lib/systemd/deb-systemd-helper-enabled/sockets.target.wants/cubind-metrics.socket
./var/lib/systemd/deb-systemd-helper-enabled/sockets.target.wants/cubind.socket" "$(named_cubind | grep -Ev '^./run/cubind/|\.dpkg-dist$')"
[ -z "$nvrtc" ] || [ -n "$(find "$root/var/lib/cubind" -name '*.sst' -o -name '*.log' | head -1)" ] || fail "the store is gone"

step "purge: nothing is left but the user"
apt purge cubind
same "what is left" "" "$(named_cubind)"
grep -q 'cubind: removing /var/lib/cubind' "$log" || fail "purge does not say what it removes"
inside getent passwd cubind >/dev/null || fail "the user is gone"

step "the tar file at two places of a bare Debian"
bare_copy tar
for place in /opt "/srv/a b"; do
  mkdir -p "$root$place"
  tar -C "$root$place" -xzf "$work"/mnt/cubind-*.tar.gz --no-same-owner
  folder=$place/$(basename "$work"/mnt/cubind-*.tar.gz .tar.gz)
  rm -rf "$root/srv/state"
  inside install -d -o nobody -g nogroup -m 755 /srv/state
  ctl=(env CUBIND_SOCKET=/srv/state/cubind.sock "$folder/bin/cubinctl")
  start_daemon nobody:nogroup "$folder/bin/cubind" --socket /srv/state/cubind.sock --store /srv/state/store --socket-mode 0666 \
    --wheel-root /mnt/nvrtc
  compiled_is some
  stop_daemon
  rm -rf "$root$folder"
done
ctl=(cubinctl)

step "the steps of the Containerfile, and the commands of the DaemonSet"
bare_copy container
inside apt-get -qq update >>"$log"
rm -rf "$work/context"
mkdir "$work/context"
cp -l "$work"/mnt/*_"$version"_amd64.deb "$work/context/"
cp -al "$work/mnt/nvrtc" "$work/context/"
/usr/bin/python3 tests/packaging/containerfile.py docs/deploy/Containerfile "$work/context" "$root" >>"$log" 2>&1 || fail "a step failed"
/usr/bin/python3 tests/packaging/daemonset.py docs/deploy "$root" "$work/container"  # its config goes into the root
words() { mapfile -t command <"$work/container/$1"; }
words init && inside "${command[@]}"
user=$(cat "$work/container/user")
words command && start_daemon "$user" "${command[@]}"
compiled_is some
for probe in livenessProbe readinessProbe HEALTHCHECK; do
  words $probe
  echo "$probe: ${command[*]}"
  inside_as "$user" "${command[@]}" || [ -z "$nvrtc" ] || fail "$probe fails"
done
stop_daemon

step "packages, tar file and container steps are as they should be"
