#!/bin/sh
# breaks.sh SOURCE: every patch of tests/mutation applies to the sources as they are, says what it breaks, and names
# tests that are there. That they catch it is shown by scripts/mutation.sh, which takes longer.
set -eu
. "$(dirname "$0")/common.sh"
need patch
scratch
cd "$1"
failed=0

# The names of all tests: a program's source, the same with _tiny where it is built twice, or a script.
find tests -name '*.c' -o -name '*.sh' | sed 's,.*/,,; s,\.c$,,' >"$scratch/tests"
sed -n "s/^ *'\([a-z_]*\)': both,$/\1_tiny/p" tests/*/meson.build >>"$scratch/tests"
sort -u "$scratch/tests" >"$scratch/known"

# Of each head: its first line is a sentence, and the tests it names ("file test").
awk -v known="$scratch/known" '
  BEGIN { while ((getline name < known) > 0) is[name] = 1 }
  FNR == 1 {
    if (!/^[^ ].*\.$/) print FILENAME " does not begin with a sentence on what it breaks"
    head = 1
    named[FILENAME] = 0
  }
  /^--- / { head = 0 }
  head && /^Survives: / { survives[FILENAME] = 1 }
  head && /^(Caught-by|Tried): / {
    named[FILENAME]++
    if (!($2 in is)) print FILENAME ": there is no test " $2
    tried[FILENAME] = tried[FILENAME] || /^Tried/
  }
  END {
    for (file in named)
      if (named[file] == 0 || tried[file] != survives[file])
        print file " names no test, or of the wrong kind"
  }' tests/mutation/*.patch | tee "$scratch/wrong"
[ ! -s "$scratch/wrong" ] || failed=1

number=0
for file in tests/mutation/*.patch; do
  number=$((number + 1))
  patch --dry-run --quiet --force --fuzz=0 -p1 -i "$file" >"$scratch/said" || {
    echo "$file does not apply:"
    cat "$scratch/said"
    failed=1
  }
done
echo "$number breaks"
exit $failed
