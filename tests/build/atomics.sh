#!/bin/sh
# atomics.sh ARCHIVE: 16-byte swaps are inlined, or done by libgcc's outline helpers: libweir calls no libatomic, which
# would take a lock that nobody else who reads the words knows of.
set -eu
. "$(dirname "$0")/common.sh"
need nm
scratch

nm --undefined-only "$1" | awk 'NF == 2 { print $2 }' | sort -u >"$scratch/calls"
[ -s "$scratch/calls" ]
! grep -E '^__(atomic|sync)_' "$scratch/calls"
