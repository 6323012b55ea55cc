#!/usr/bin/env bash
# Builds and runs the benchmark; arguments go to it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/bench cc -Dtests=disabled -Dbench=enabled -Dtools=disabled
ninja -C build/bench --quiet
exec build/bench/bench/weir-bench "$@"
