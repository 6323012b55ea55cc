#!/bin/sh
# exports.sh LIBRARY VERSION SOURCE LEAST HEADER...: the dynamic symbols of a library are the functions that its public
# headers declare, and bear its version. There are at least so many, or this test reads them wrongly.
set -eu
. "$(dirname "$0")/common.sh"
need nm
scratch

library=$1 version=$2 source=$3 least=$4
shift 4

nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$scratch/exported"

# Inline functions need no export; what they call does. What a header includes of another library is not its own.
for header; do
  echo "#include <weir/$header>"
done | $CC -E -I "$source/include" - | awk -v headers="$*" '
  BEGIN { count = split(headers, header, " ") }
  /^# / { own = 0; for (i = 1; i <= count; i++) if (index($3, "/weir/" header[i] "\"")) own = 1; next }
  own' | grep -oE '(inline [a-z_0-9 *]*)?\bweir_[a-z0-9_]+ *\(' | grep -v '^inline' |
  tr -d ' (' | sort -u >"$scratch/declared"

[ "$(wc -l <"$scratch/declared")" -ge "$least" ] || {
  echo "the public headers declare less than $least functions: this test reads them wrongly"
  exit 1
}
# Columns: declared but not exported, exported but not declared.
comm -3 "$scratch/declared" "$scratch/exported" | tee "$scratch/different"
[ ! -s "$scratch/different" ]
if nm -D --defined-only "$library" | awk '$2 != "A"' | grep -v "@@$version\$"; then
  echo 'these have no version'
  exit 1
fi
