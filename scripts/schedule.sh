#!/usr/bin/env bash
# Runs the real code under every schedule with one chosen switch more than the tests go through, and ten times as many
# random ones: most of an hour. WEIR_TEST_SCALE=10000 makes the random ones a hundred times as many.
#   scripts/schedule.sh [pairs|triples|starved|crowds|deep...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

declare -A switches=([pairs]=2 [triples]=1 [starved]=2 [crowds]=0 [deep]=3)
configure build/gcc gcc -Dtests=enabled
ninja -C build/gcc --quiet tests/schedule/schedule
[ $# -gt 0 ] || set -- pairs triples starved crowds deep
for casts; do
  WEIR_TEST_SCALE=${WEIR_TEST_SCALE:-1000} build/gcc/tests/schedule/schedule "$casts" "${switches[$casts]}"
done
