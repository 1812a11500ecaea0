#!/usr/bin/env bash
# Makes what a node installs: the Debian packages cubind, cubinctl, libcubind0 and libcubind-dev, and a tar file with the same that
# runs from any folder of a machine with glibc 2.36 or newer. Works as any user; installs what is missing to build them.
#   scripts/package.sh [DIR]        (default dist/packages; older files of the same names are replaced)
#   --version V                     the .debs' version, instead of the one in debian/changelog
#   --debs-only                     no tar file
# scripts/package_check.sh tries the result.
set -euo pipefail
cd "$(dirname "$0")/.."

out=dist/packages version='' tar=1
while [ $# -gt 0 ]; do
  case $1 in
    --version) version=${2:?--version needs a version}; shift 2 ;;
    --debs-only) tar=0; shift ;;
    -*) echo "package: unknown argument \"$1\"; there are DIR, --version V and --debs-only" >&2; exit 2 ;;
    *) out=$1; shift ;;
  esac
done

scripts/setup.sh debhelper dpkg-dev patchelf
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d "${TMPDIR:-/tmp}/cubind-package.XXXXXX")
# debhelper works in debian/; what it leaves there is no use to anybody.
clean() {
  rm -rf debian/{.debhelper,debhelper-build-stamp,files,tmp,cubind,cubinctl,libcubind0,libcubind-dev}
  rm -f debian/*.{substvars,debhelper}
}
trap 'rm -rf "$work"; clean' EXIT
clean

echo "package: building (some minutes the first time; the log is in build/package.log)"
mkdir -p build
log=build/package.log
CUBIND_DEB_VERSION=$version CUBIND_DEB_DIR=$work DEB_RULES_REQUIRES_ROOT=no make -f debian/rules binary >$log 2>&1 || {
  tail -30 $log >&2
  exit 1
}
mv "$work"/*.deb "$out/"
for name in cubind cubinctl libcubind0 libcubind-dev; do
  ls "$out/$name"_"${version:-$(dpkg-parsechangelog -SVersion)}"_*.deb
done
[ $tar = 1 ] || exit 0

# The same files as in the packages, with the libraries that Debian would bring in a folder that only the programs look at.
name=cubind-$(dpkg-parsechangelog -SVersion)-linux-$(uname -m)
tree=$work/$name
DESTDIR=$work/root cmake --install build/package >/dev/null
mv "$work/root/usr" "$tree"
mv "$work/root/etc" "$tree/etc"
programs=("$tree"/bin/*)
strip --strip-unneeded "${programs[@]}" "$tree"/lib/*/libcubind.so.*.*
mkdir -p "$tree/lib/cubind" "$tree/share/doc/cubind/licences"
for program in "${programs[@]}"; do
  # An RPATH (not a RUNPATH) also holds for the libraries that a library needs.
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib/cubind' "$program"
done
install -m644 LICENSE README.md "$tree/share/doc/cubind/"
scripts/library_closure.sh "$tree/lib/cubind" "${programs[@]}" | while read -r library; do
  package=$(dpkg-query -S "$(readlink -f "$library")" 2>/dev/null || dpkg-query -S "/usr$library" 2>/dev/null || dpkg-query -S "${library#/usr}")
  package=${package%%:*}
  install -m644 "/usr/share/doc/$package/copyright" "$tree/share/doc/cubind/licences/$package"
done
epoch=$(dpkg-parsechangelog -STimestamp)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -C "$work" -c "$name" | gzip -9n >"$out/$name.tar.gz"
ls "$out/$name.tar.gz"
