#!/bin/sh
# needs.sh ARCHIVE: what libweir.a leaves undefined is in the C library, the compiler's run-time or liburcu; or weak, and
# may be absent.
set -eu
. "$(dirname "$0")/common.sh"
need nm pkg-config
scratch

nm --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/own"
nm --undefined-only "$1" | awk 'NF == 2 && $1 != "w" { print $2 }' | sort -u | comm -23 - "$scratch/own" >"$scratch/needed"
[ -s "$scratch/needed" ]

urcu=$(pkg-config --variable=libdir liburcu-bp)
{
  nm -D --defined-only "$($CC -print-file-name=libc.so.6)"
  nm -D --defined-only "$urcu/liburcu-bp.so"
  nm -D --defined-only "$urcu/liburcu-common.so"
  nm --defined-only "$($CC -print-libgcc-file-name)" 2>/dev/null
} | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 } END { print "_GLOBAL_OFFSET_TABLE_"; print "_DYNAMIC" }' | sort -u >"$scratch/offered"

comm -23 "$scratch/needed" "$scratch/offered" | tee "$scratch/lacking"
[ ! -s "$scratch/lacking" ]
