#!/usr/bin/env bash
# unpack.sh FROM TO: unpacks what fetch.sh brought into FROM, once.
set -euo pipefail
from=$1 to=$2
[ ! -e "$to/ready" ] || exit 0
mkdir -p "$to"
for file in "$from"/*.so.xz; do
  python3 -c 'import lzma, sys; open(sys.argv[2], "wb").write(lzma.open(sys.argv[1]).read())' "$file" "$to/$(basename "${file%.xz}")"
done
cp "$from"/scalar_type.py "$from"/versions.txt "$to/"
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$to" "$from"/humming_kernels-*.whl
touch "$to/ready"
