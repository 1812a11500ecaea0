#!/usr/bin/env bash
# The daemon's exit codes and its one line of reason: daemon_flags.sh CUBIND SOURCE_DIR
set -u
cubind=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE LINES_ON_STDERR ARGUMENT...
expect() {
  local code=$1 lines=$2
  shift 2
  "$cubind" "$@" >"$work/out" 2>"$work/err"
  local got=$? said
  said=$(wc -l <"$work/err")
  if [ "$got" != "$code" ] || [ "$said" != "$lines" ]; then
    echo "cubind $*: exit code $got with $said lines, expected $code with $lines: $(cat "$work/err")"
    failed=1
  fi
}

printf '[store]\nroof = "/x"\n' >"$work/unknown.toml"
printf '[compile]\nworkers = -1\n' >"$work/bad.toml"
expect 0 0 --config "$source/systemd/cubind.toml" --check-config
expect 0 0 --version
expect 0 0 --help
expect 0 0 --config "$source/systemd/cubind.toml" --print-config
cp "$work/out" "$work/printed.toml"
expect 0 0 --config "$work/printed.toml" --check-config
expect 2 1 --config "$work/unknown.toml" --check-config
expect 2 1 --config "$work/bad.toml"
expect 2 1 --config "$work/absent.toml"
expect 2 1 --workers many
expect 2 1 --socket relative.sock
expect 2 1 --what
expect 1 1 --socket "$work/absent-folder/cubind.sock" --store "$work/store" --log-level off
touch "$work/file"
expect 1 1 --socket "$work/cubind.sock" --store "$work/file" --log-level off
[ ! -e "$work/cubind.sock" ] || { echo "a daemon that did not start left its socket behind"; failed=1; }
exit $failed
