#!/usr/bin/env bash
# Hunts with libFuzzer, WEIR_FUZZ_SECONDS (60 where not given) on each target.
#   scripts/fuzz.sh [TARGET...]     TARGET: a file of tests/fuzz, or calls_tiny (default: all)
# What is new and interesting goes to build/fuzz/new/TARGET; the corpus in tests/fuzz/corpus stays as it is. An input
# that breaks something is kept as build/fuzz/found/TARGET-*, and told; the exit status is then 1.
set -euo pipefail
seconds=${WEIR_FUZZ_SECONDS:-60}
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/fuzz clang -Dtests=enabled -Dbench=disabled -Db_sanitize=address,undefined -Db_lundef=false \
  -Dc_args="-fsanitize=fuzzer-no-link -fsanitize-coverage-ignorelist=$PWD/tests/fuzz/uncovered.txt"
[ $# -gt 0 ] || set -- calls calls_tiny clf csv identity input limits log open report times
ninja -C build/fuzz --quiet "${@/#/tests/fuzz/fuzz_}"

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
found=build/fuzz/found
mkdir -p "$found"
broken=()
for target; do
  new=build/fuzz/new/$target
  mkdir -p "$new"
  printf '\n== %s, %s s\n' "$target" "$seconds"
  build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=4096 \
    -len_control=0 -entropic=0 -print_final_stats=1 -artifact_prefix="$found/$target-" \
    "$new" "tests/fuzz/corpus/${target%_tiny}" 2>&1 | grep -vE '^(#[0-9]+\s+(NEW|REDUCE|RELOAD)|INFO:|"|###)' ||
    broken+=("$target")
done
[ ${#broken[@]} -eq 0 ] || {
  printf '\nbroken: %s; the inputs are in %s\n' "${broken[*]}" "$found"
  exit 1
}
