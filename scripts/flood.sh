#!/usr/bin/env bash
# Builds and runs the flood of spoofed keys in full: 50 million, without and with max_keys; arguments go to it: another
# number, and counter or log. `make test` runs it with a million.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

[ $# -gt 0 ] || set -- 50000000
configure build/gcc gcc -Dtests=enabled -Dwerror=true
ninja -C build/gcc --quiet tests/hostile/flood
exec build/gcc/tests/hostile/flood "$@"
