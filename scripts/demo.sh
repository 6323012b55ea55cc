#!/usr/bin/env bash
# Builds the tool and replays the sample log under the three algorithms.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/demo cc -Dtests=disabled -Dbench=disabled -Dtools=enabled
ninja -C build/demo --quiet
exec build/demo/src/cli/weir replay --limit 100/60s "$@" examples/sample.log
