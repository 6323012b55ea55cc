#!/bin/sh
# headers.sh SOURCE: every public header compiles alone, twice in a row, as C11 and C++17; every private one as the
# library's own C.
set -eu
. "$(dirname "$0")/common.sh"
need pkg-config
warnings='-Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only'
tried=0

# compile COMPILER LANGUAGE STANDARD HEADER OPTION...
compile() {
  compiler=$1 language=$2 standard=$3 header=$4
  shift 4
  # shellcheck disable=SC2086 # the warnings are several words
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
    $compiler -x "$language" "-std=$standard" $warnings "$@" - || {
    echo "$header does not compile with $compiler -std=$standard"
    exit 1
  }
  tried=$((tried + 1))
}

for pair in gcc:c:c11 clang:c:c11 g++:c++:c++17 clang++:c++:c++17; do
  compiler=${pair%%:*}
  command -v "$compiler" >/dev/null || {
    echo "without $compiler, which is not here"
    continue
  }
  language=${pair#*:} language=${language%:*}
  for header in "$1"/include/weir/*.h; do
    compile "$compiler" "$language" "${pair##*:}" "weir/$(basename "$header")" -pedantic -I "$1/include"
  done
done
[ "$tried" -gt 0 ] || {
  echo 'skipped: neither gcc nor clang is here'
  exit 77
}

wide=
[ "$(uname -m)" != x86_64 ] || wide=-mcx16
cd "$1/src"
for header in window/*.h sync/*.h table/*.h limiter/*.h redis/*.h; do
  [ -e "$header" ] || continue
  # shellcheck disable=SC2046,SC2086 # several words, or none
  compile "$CC" c gnu11 "$header" $wide -pthread -I "$1/include" -I . $(pkg-config --cflags liburcu-bp ck)
done
