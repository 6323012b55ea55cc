#!/bin/sh
# needs.sh ARCHIVE LIBRARY...: what an archive leaves undefined is in the C library, the compiler's run-time or these
# libraries, archives or names of shared ones; or weak, and may be absent.
set -eu
. "$(dirname "$0")/common.sh"
need nm
scratch

archive=$1
shift
nm --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/own"
nm --undefined-only "$archive" | awk 'NF == 2 && $1 != "w" { print $2 }' | sort -u | comm -23 - "$scratch/own" >"$scratch/needed"
[ -s "$scratch/needed" ]

{
  nm -D --defined-only "$($CC -print-file-name=libc.so.6)"
  for library; do
    case $library in
      *.a) nm --defined-only "$library" ;;
      *) nm -D --defined-only "$($CC "-print-file-name=lib$library.so")" ;;
    esac
  done
  nm --defined-only "$($CC -print-libgcc-file-name)" 2>/dev/null
} | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 } END { print "_GLOBAL_OFFSET_TABLE_"; print "_DYNAMIC" }' | sort -u >"$scratch/offered"

comm -23 "$scratch/needed" "$scratch/offered" | tee "$scratch/lacking"
[ ! -s "$scratch/lacking" ]
