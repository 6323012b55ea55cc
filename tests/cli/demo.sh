#!/bin/sh
# demo.sh PROGRAM SOURCE SANITIZERS: on the sample log, at 100 requests a minute a client, the three algorithms differ in
# the ways that scripts/make-sample.sh made it for.
set -eu
. "$(dirname "$0")/common.sh"

cd "$source"
"$program" replay --json --limit 100/60s examples/sample.log >"$scratch/out" 2>"$scratch/err"
cd "$scratch"
is 'what was read' "$(counts '[.records, .keys, .malformed, .late]')" '[3097,202,2,2]'
is 'the counts' \
  "$(counts '.algorithms[] | [.algorithm, .accepted, .refused, .keys_refused, .only_log, .only_this]')" \
  '["log",2533,564,3,0,0] ["counter",2521,576,5,208,196] ["buckets:60",2525,572,4,23,15]'
is 'the keys' "$(counts '.top[] | [.key, .refused]')" \
  '["203.0.113.66",334] ["198.51.100.10",200] ["2001:db8::c0:ffee",30]'
is 'the lines that are none' "$(cat err)" \
  'weir replay: examples/sample.log:1201: no time in brackets: - [14/Mar/2025:08:
weir replay: examples/sample.log:2402: no time in brackets: rotated --'

finish
