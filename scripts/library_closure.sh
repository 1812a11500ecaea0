#!/usr/bin/env bash
# Copies the shared libraries that programs need into a folder, once each and stripped, without what must be the target's own: glibc,
# and NVRTC with what comes with it. Prints the path of each library that it copied. Fails if a program still finds a library
# elsewhere, so the programs must have their RPATH to the folder already.
#   scripts/library_closure.sh FOLDER PROGRAM...
set -euo pipefail
folder=$(realpath "$1")
shift
programs=("$@")

theirs='^(linux-vdso|ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libutil|libanl|libnss.*|libnvrtc.*)\.so'
# ldd asks the loader, which finds nothing in the folder yet and so answers with this machine's libraries.
ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r library; do
  name=$(basename "$library")
  if ! [[ $name =~ $theirs ]] && ! [ -e "$folder/$name" ]; then
    install -m644 "$(readlink -f "$library")" "$folder/$name"
    strip --strip-unneeded "$folder/$name"
    echo "$library"
  fi
done

# Nothing may be left that only this machine answers.
if ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r library; do
  [[ $(basename "$library") =~ $theirs ]] || [ "$(realpath "$(dirname "$library")")" = "$folder" ] || echo "$library"
done | grep . >&2; then
  echo "library_closure: these libraries are not found in $folder" >&2
  exit 1
fi
