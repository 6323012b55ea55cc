#!/bin/sh
# exports.sh LIBRARY SOURCE: the dynamic symbols of libweir.so are the functions that the public headers declare.
set -eu
. "$(dirname "$0")/common.sh"
need nm
scratch

nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$scratch/exported"

# Inline functions need no export; what they call does.
for header in "$2"/include/weir/*.h; do
  echo "#include <weir/$(basename "$header")>"
done | $CC -E -P -I "$2/include" - | grep -oE '(inline [a-z_0-9 *]*)?\bweir_[a-z0-9_]+ *\(' | grep -v '^inline' |
  tr -d ' (' | sort -u >"$scratch/declared"

[ "$(wc -l <"$scratch/declared")" -ge 15 ] || {
  echo 'the public headers declare less than 15 functions: this test reads them wrongly'
  exit 1
}
# Columns: declared but not exported, exported but not declared.
comm -3 "$scratch/declared" "$scratch/exported" | tee "$scratch/different"
[ ! -s "$scratch/different" ]
if nm -D --defined-only "$1" | awk '$2 != "A"' | grep -v '@@WEIR_0$'; then
  echo 'these have no version'
  exit 1
fi
