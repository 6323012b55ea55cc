#!/bin/sh
# traffic.sh PROGRAM SOURCE SANITIZERS: real traffic, with the right answers that an exact reference gave.
set -eu
. "$(dirname "$0")/common.sh"

data=$source/../shared/data
[ -r "$data/access.log" ] && [ -r "$data/llm_tokens.csv" ] || {
  echo 'skipped: there is no ../shared/data here'
  exit 77
}

# answers HEAD ALGORITHMS ARGUMENT...
answers() {
  head=$1 algorithms=$2
  shift 2
  replay --json "$@"
  is "$*: exit and messages" "$status $(cat err)" '0 '
  is "$*: records" "$(counts '[.records, .keys, .malformed, .late]')" "$head"
  is "$*: decisions" \
    "$(counts '.algorithms[] | [.algorithm, .accepted, .refused, .keys_refused, .only_log, .only_this]')" "$algorithms"
}
access='[10000,1753,0,4915]'
burst='["log",6917,3083,504,0,0] ["counter",6917,3083,504,0,0] ["buckets:60",6917,3083,504,0,0]'
answers "$access" "$burst" --limit 5/60s "$data/access.log"
answers "$access" "$burst" --limit 5/60s --sort "$data/access.log"
answers "$access" '["log",9509,491,31,0,0] ["counter",9355,645,36,191,37] ["buckets:60",9331,669,36,210,32]' \
  --limit 30/3600s "$data/access.log"
answers "$access" '["log",9540,460,31,0,0] ["counter",9356,644,36,201,17] ["buckets:60",9331,669,36,223,14]' \
  --limit 30/1h --sort "$data/access.log"
tokens='["log",4335,4484,1,0,0] ["counter",5356,3463,1,574,1595] ["buckets:60",4315,4504,1,162,142]'
for order in '' --sort; do
  # shellcheck disable=SC2086 # one word or none
  answers '[8819,1,0,0]' "$tokens" $order --limit 300000cost/60s --cost-field ContextTokens+GeneratedTokens \
    "$data/llm_tokens.csv"
done

finish
