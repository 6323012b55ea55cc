#!/bin/sh
# sees.sh PROGRAM ARGUMENT PATTERN...: the sanitizer ends the program, and its report has a line for each PATTERN. The
# options are the run's own, suppressions among them; only the report comes here, not where reports are failures.
set -eu
program=$1 argument=$2
shift 2
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# Options given first are overridden by later ones.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:log_path=stderr
LSAN_OPTIONS=${LSAN_OPTIONS:-}:log_path=stderr
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}:log_path=stderr
export ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
status=0
# shellcheck disable=SC2086 # one word or none
"$program" $argument >"$report" 2>&1 || status=$?
for pattern; do
  grep -E -m 1 -e "$pattern" "$report" || {
    echo "no line of the report matches: $pattern (exit status $status)"
    head -n 60 "$report"
    exit 1
  }
done
[ "$status" -ne 0 ] || {
  echo 'reported, but the program went on'
  exit 1
}
