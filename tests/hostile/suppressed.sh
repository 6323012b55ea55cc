#!/bin/sh
# suppressed.sh SOURCE: nothing is hidden from the sanitizers and valgrind but what is liburcu's own, each with
# a reason.
set -eu
cd "$1"
failed=0
# only WHAT PATTERN: reads lines; each must match.
only() {
  ! grep -vE -e "$2" || {
    echo "^ $1"
    return 1
  }
}
# A rule stands behind a comment.
explained() {
  awk -v file="$1" '/^#/ { told = 1 }
    /^$/ { told = 0 }
    /^[^#[]/ && !told { print file ": " $0 ": without a reason"; bad = 1 }
    END { exit bad }' "$1" || failed=1
}
for file in tests/tsan.supp tests/ubsan.ignore; do
  [ -s "$file" ]
  explained "$file"
done
grep -vE '^(#|$)' tests/tsan.supp | only 'tests/tsan.supp names what is not of liburcu' '^[a-z_]+:urcu_' || failed=1
grep -vE '^(#|$)' tests/ubsan.ignore |
  only 'tests/ubsan.ignore names more than one header' '^(\[alignment\]|src:\*/urcu/static/urcu-bp\.h)$' || failed=1

# Only these two files, and no other way of hiding.
find . -path ./build -prune -o \( -name '*.supp' -o -name '*.ignore' \) -print |
  only 'another file of suppressions' '^\./tests/(tsan\.supp|ubsan\.ignore)$' || failed=1
own_options='__(asan|tsan|ubsan|lsan)_default_(options|suppressions)'
! grep -rnE "no_sanitize|__lsan_(ignore|disable)|VALGRIND_|RUNNING_ON_VALGRIND|$own_options" \
  src include bench examples || failed=1
! grep -rnE "$own_options" tests --include='*.[ch]' || failed=1
grep -hoE -e '-fno-sanitize[a-z-]*=[a-z,-]+' meson.build src/meson.build tests/meson.build tests/*/meson.build |
  only 'a check is turned off' '^-fno-sanitize=alignment$' || failed=1
! grep -nE -e '--suppressions|--gen-suppressions|--undef-value-errors=no' scripts/*.sh || failed=1
! grep -nE 'detect_leaks=0|report_bugs=0|exitcode=0' scripts/*.sh || failed=1
exit $failed
