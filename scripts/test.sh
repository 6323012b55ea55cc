#!/usr/bin/env bash
# Runs the tests; the last line is "N passed, N failed, N skipped", the sums over all runs.
#   scripts/test.sh [RUN...]     RUN: gcc clang gcc-asan clang-asan gcc-tsan clang-tsan valgrind arm64 (default: all)
# A run is a build directory under build/ and the suites that make sense in it. WEIR_TEST_SCALE (percent) shortens the
# heavy tests where every step is slow, or where another run has done them in full.
#
# What a sanitizer or valgrind finds in a process that no test judges (a child, a server, a test that Criterion has
# heard the end of) would be lost. So they write into files of their own, and a file that is not empty is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

passed=0 failed=0 skipped=0 broken=

# run NAME DIRECTORY COMPILER "SETUP OPTIONS" "SUITES" [MESON TEST OPTION...]
run() {
  local name=$1 directory=build/$2 compiler=$3 options=$4 suites=$5 suite
  shift 5
  local chosen=() logs log=$directory/tests.json reports=$PWD/$directory/reports status=0 ok bad skip found
  for suite in $suites; do chosen+=(--suite "$suite"); done

  printf '\n== %s\n' "$name"
  # shellcheck disable=SC2086 # the options are several words
  if ! configure "$directory" "$compiler" -Dtests=enabled $options; then
    failed=$((failed + 1))
    return
  fi
  if [ "$options" = "$plain" ] && ! ninja -C "$directory" --quiet; then
    failed=$((failed + 1))
    return
  fi
  logs=$directory/meson-logs/$name # and more: a run under a wrapper has the wrapper's name in it too
  rm -rf "$logs"*.json "$reports"
  mkdir "$reports"
  # ThreadSanitizer heeds UBSAN_OPTIONS too, and reports on purpose in one test: there meson is the judge.
  if [ "$options" = "$sanitize_thread" ]; then
    export TSAN_OPTIONS=$tsan_options
    unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
  else
    export ASAN_OPTIONS=$asan_options:log_path=$reports/asan LSAN_OPTIONS=log_path=$reports/lsan
    export UBSAN_OPTIONS=$ubsan_options:log_path=$reports/ubsan
  fi
  # One more at a time than there are processors: some of them wait.
  WEIR_REPORTS=$reports meson test -C "$directory" --num-processes $(($(nproc) + 1)) --print-errorlogs \
    --logbase "$name" "${chosen[@]}" "$@" </dev/null || status=$?

  cat "$logs"*.json >"$log" 2>/dev/null || true
  ok=0 bad=0 skip=0
  if [ -s "$log" ]; then
    ok=$(count "$log" '["OK", "EXPECTEDFAIL"]')
    skip=$(count "$log" '["SKIP"]')
    bad=$(($(jq -s length "$log") - ok - skip))
    jq -r 'select(.result == "SKIP") | .name + ": " + (.stdout // "" | rtrimstr("\n") | split("\n") | last // "")' "$log"
  fi
  found=$(find "$reports" -type f -size +0 | wc -l)
  if [ "$found" -gt 0 ]; then
    find "$reports" -type f -size +0 -exec head -n 60 {} +
    [ "$bad" -ge "$found" ] || bad=$found
  fi
  # A build that broke has no log, and a run without a test proves nothing.
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$ok" -eq 0 ]; }; then bad=1; fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  [ "$bad" -eq 0 ] || broken+=$name": "$(names "$log" "$found")$'\n'
}

# Built for arm64 and run under qemu: on a processor with the atomic instructions of Armv8.1, then what stands or falls
# with atomics on one that has load-exclusive and store-exclusive alone.
arm64() {
  local status=0
  mkdir -p build
  scripts/arm64-sysroot.sh >build/arm64-sysroot.said || status=$?
  if [ "$status" -ne 0 ]; then
    printf '\n== arm64\narm64: %s\n' "$(cat build/arm64-sysroot.said)"
    if [ "$status" -eq 77 ]; then skipped=$((skipped + 1)); else failed=$((failed + 1)); fi
    return
  fi
  WEIR_TEST_SCALE=2 run arm64 arm64 cc "$cross" 'unit conformance threads arm64' -t 4
  WEIR_TEST_SCALE=5 QEMU_CPU=cortex-a57 run arm64-a57 arm64 cc "$cross" 'unit threads' -t 4 \
    test_sync_atomic test_sync_gate test_limiter_cell_tiny test_table_migrate_tiny \
    each_tiny exact exact_tiny revive_tiny steps_tiny windows_tiny
  WEIR_TEST_SCALE=10 run arm64-swaps arm64 cc "$cross" unit -t 4 test_sync_atomic
}

# count LOG RESULTS: tests of the log whose result is among them.
count() { jq -s --argjson results "$2" '[.[] | select(.result as $r | $results | index($r))] | length' "$1"; }

# names LOG REPORTS: the tests of the log that failed, by name, and how many reports there were of sanitizers or valgrind.
names() {
  jq -rs --arg reports "$2" '[.[] | select(.result as $r | ["OK", "EXPECTEDFAIL", "SKIP"] | index($r) | not)
    | "\(.name) (\(.result))"] + (if $reports == "0" then [] else [$reports + " reports"] end)
    | if . == [] then "no test ran to its end" else join(", ") end' "$1" 2>/dev/null || echo 'the build'
}

# -g1: reports and valgrind need the lines alone.
plain='-Dwerror=true -Ddebug=false -Dc_args=-g1'
functional='forked property faults threads serial host'
# -O1, and none for unit tests (tests/unit/meson.build): half the compiler's time; the sanitizers' own work hides what
# more would gain.
sanitizing='-Doptimization=1 -Ddebug=false -Dc_args=-g1 -Dwarning_level=0 -Db_lundef=false -Dbench=disabled'
sanitize_address="-Db_sanitize=address,undefined $sanitizing"
sanitize_thread="-Db_sanitize=thread $sanitizing"
cross='-Dwerror=true -Dbench=disabled --cross-file build/arm64-sysroot/sysroot.ini --cross-file scripts/arm64.ini'
asan_options=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
ubsan_options=halt_on_error=1:print_stacktrace=1
memcheck="valgrind --quiet --trace-children=yes --error-exitcode=1 --leak-check=full --log-file=%q{WEIR_REPORTS}/%p"
tsan_options=halt_on_error=1:second_deadlock_stack=1:suppressions=$PWD/tests/tsan.supp

one() {
  case $1 in
  gcc) run gcc gcc gcc "$plain" '' -t 2 --no-suite forked ;;
  clang)
    WEIR_TEST_SCALE=30 run clang clang clang "$plain" 'unit conformance threads serial host hostile' -t 2
    ;;
  gcc-asan)
    WEIR_TEST_SCALE=20 run gcc-asan gcc-asan gcc "$sanitize_address" \
      "$functional schedule redis torture hostile conformance cli fuzz" -t 4 --no-suite long
    ;;
  clang-asan) WEIR_TEST_SCALE=20 run clang-asan clang-asan clang "$sanitize_address" "$functional" -t 4 ;;
  gcc-tsan) WEIR_TEST_SCALE=10 run gcc-tsan gcc-tsan gcc "$sanitize_thread" 'threads serial torture redis-threads' -t 4 ;;
  clang-tsan) WEIR_TEST_SCALE=5 run clang-tsan clang-tsan clang "$sanitize_thread" 'threads serial' -t 4 ;;
  valgrind)
    WEIR_TEST_SCALE=10 run valgrind gcc gcc "$plain" forked -t 10 --wrap "$memcheck"
    ;;
  arm64) arm64 ;;
  esac
}

runs='gcc clang gcc-asan clang-asan gcc-tsan clang-tsan valgrind arm64'
# shellcheck disable=SC2086 # several words
[ $# -gt 0 ] || set -- $runs
for name; do
  tr ' ' '\n' <<<"$runs" | grep -qxF -e "$name" || {
    echo "test.sh: no run is called $name: there are $runs" >&2
    exit 2
  }
done
for name; do one "$name"; done

printf '\n%s%d passed, %d failed, %d skipped\n' "${broken:+failed in $broken}" "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
