#!/usr/bin/env bash
# Counts what calls read and write, weir's and the baselines', and puts the tables into docs/cost-model.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/gcc gcc -Dtests=enabled -Dwerror=true
ninja -C build/gcc --quiet tests/counting/traced tests/counting/lines tests/counting/hooked
programs=build/gcc/tests/counting
tests/counting/page.sh write docs/cost-model.md $programs/traced $programs/lines $programs/hooked
