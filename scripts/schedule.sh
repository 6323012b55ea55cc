#!/usr/bin/env bash
# Runs the real code under every schedule with up to SWITCHES chosen switches (default 2: some quarter of an hour), where
# the tests go through those with one.
#   SWITCHES=3 RUNS=10000 scripts/schedule.sh [pairs|triples|starved...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/gcc gcc -Dtests=enabled
ninja -C build/gcc --quiet tests/schedule/schedule
[ $# -gt 0 ] || set -- pairs triples starved
for casts; do
  build/gcc/tests/schedule/schedule "$casts" "${SWITCHES:-2}" "${RUNS:-1000}"
done
