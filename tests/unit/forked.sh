#!/bin/sh
# forked.sh PROGRAM [VALGRIND]: what fails among the tests of failing.c is told by name, and more of it under valgrind.
set -eu
program=$1 valgrind=${2:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# tells EXPECTED COMMAND...: the command fails, and says the expected lines, in whatever order.
tells() {
  printf '%s\n' "$1" | sort >"$scratch/expected"
  shift
  ! "$@" 2>"$scratch/said" || {
    echo "no failure: $*"
    exit 1
  }
  sed 's/^.*failing\.c:[0-9]*: //' "$scratch/said" | sort | diff "$scratch/expected" - || {
    echo "expected (<) of: $*"
    exit 1
  }
}

alone='does not hold: (1) == (2)
does not hold: (4) == (5)
failing/asserts
failing/asserts: failed, status 0x100
failing/asserts_in_a_child
failing/asserts_in_a_child: failed, status 0xffffffff
failing/asserts_with_words
failing/asserts_with_words: failed, status 0x100
failing/comes_to_its_end_in_a_child_alone
failing/comes_to_its_end_in_a_child_alone: failed, status 0xffffffff
failing/ends_as_if_skipped
failing/ends_as_if_skipped: failed, status 0x4d00
failing/ends_half_way
failing/ends_half_way: failed, status 0xffffffff
failing/has_a_fixture
failing/has_a_fixture: failed, status 0xffffffff
failing/holds
failing/is_killed
failing/is_killed: failed, status 0x9
failing/is_skipped
failing/leaks
failing/looks_at_what_was_not_written
for want of cause
not 3'

tells "$alone
12 tests, 1 skipped, 8 failed" "$program"

if [ -z "$valgrind" ]; then
  echo 'valgrind is not looked at: it is not here, or cannot read what this compiler writes'
else
  tells "$alone
failing/leaks: failed, status 0x100
failing/looks_at_what_was_not_written: failed, status 0x100
12 tests, 1 skipped, 10 failed" \
    "$valgrind" --quiet --error-exitcode=1 --leak-check=full --log-file="$scratch/%p" "$program"
fi
