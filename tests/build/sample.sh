#!/bin/sh
# sample.sh SOURCE: examples/sample.log is, byte for byte, what scripts/make-sample.sh writes.
set -eu
. "$(dirname "$0")/common.sh"
need awk cmp
scratch

"$1/scripts/make-sample.sh" >"$scratch/sample.log"
cmp "$scratch/sample.log" "$1/examples/sample.log"
