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

# has COMPILER LANGUAGE HEADER: is it installed? The library needs none of them.
has() {
  printf '#include <%s>\n' "$3" | "$1" -x "$2" -D_XOPEN_SOURCE=700 -fsyntax-only - 2>/dev/null || {
    echo "without $3, which is not here"
    return 1
  }
}

for pair in gcc:c:c11 clang:c:c11 g++:c++:c++17 clang++:c++:c++17; do
  compiler=${pair%%:*}
  command -v "$compiler" >/dev/null || {
    echo "without $compiler, which is not here"
    continue
  }
  language=${pair#*:} language=${language%:*}
  for header in "$1"/include/weir/*.h; do
    standard=${pair##*:} posix=
    case $header in
    # libuv's own needs POSIX.
    */redis_libuv.h) has "$compiler" "$language" uv.h && posix=-D_XOPEN_SOURCE=700 || continue ;;
    */redis_libevent.h) has "$compiler" "$language" event2/event.h || continue ;;
    esac
    # shellcheck disable=SC2086 # none, or one
    compile "$compiler" "$language" "$standard" "weir/$(basename "$header")" -pedantic -I "$1/include" $posix
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
