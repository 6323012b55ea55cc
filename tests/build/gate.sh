#!/bin/sh
# gate.sh PROGRAM: the example's threads share one gate, so what is let through is known, though not who comes first.
set -eu
. "$(dirname "$0")/common.sh"
scratch

"$1" | tee "$scratch/said"
check() {
  number=$(grep -cE "$2" "$scratch/said") || true
  [ "$number" -eq "$1" ] || {
    echo "$number lines match '$2', not $1"
    exit 1
  }
}
check 5 'alice .* accept'
check 7 'alice .* refuse, Retry-After: [1-9][0-9]*$'
check 2 'bob .* accept'
check 10 'bob .* refuse, Retry-After: [1-9][0-9]*$'
check 3 'carol .* refuse for good'
check 27 ''
