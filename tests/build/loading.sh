#!/bin/sh
# loading.sh LIBRARY: how libweir.so is loaded: its name carries the ABI version, it stays when dlclose is called (a
# thread may outlive that), its thread-local words need no call, and it brings liburcu and libc alone.
set -eu
. "$(dirname "$0")/common.sh"
need objdump nm
scratch

objdump -p "$1" >"$scratch/dynamic"
sed -n 's/^ *NEEDED *//p' "$scratch/dynamic" | sed 's/\.so.*//' | sort >"$scratch/needed"
grep -vxE 'libc|ld-linux.*|liburcu-(bp|common)' "$scratch/needed" && exit 1
grep -qx liburcu-bp "$scratch/needed"
grep -qE '^ *SONAME +libweir\.so\.0$' "$scratch/dynamic"
# FLAGS_1: DF_1_NODELETE is 8.
flags=$(sed -n 's/^ *FLAGS_1 *//p' "$scratch/dynamic")
[ $((flags & 8)) -ne 0 ]
! nm -D --undefined-only "$1" | grep __tls_get_addr
