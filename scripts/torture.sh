#!/usr/bin/env bash
# Builds and runs the torture, half of the time with the usual segments and half with tiny ones.
#   scripts/torture.sh [SECONDS [SANITIZERS]]     default: 60, none; SANITIZERS as in meson's b_sanitize
# WEIR_SEED=... repeats a run: the same rounds, though threads come in another order.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

seconds=${1:-60} sanitizers=${2:-none} directory=build/torture
[ "$sanitizers" = none ] || directory=build/torture-${sanitizers//,/-}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

configure "$directory" "${CC:-cc}" -Dtests=enabled -Dbench=disabled -Dtools=disabled \
  "-Db_sanitize=$sanitizers" -Db_lundef=false
ninja -C "$directory" --quiet tests/torture/torture tests/torture/torture_tiny
for program in torture torture_tiny; do
  "$directory/tests/torture/$program" $(((seconds + 1) / 2))
done
