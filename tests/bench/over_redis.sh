#!/bin/sh
# over_redis.sh PROGRAM SOURCE: weir-bench-redis measures all that it says, each call is answered as it must be, and its
# server ends with it. How fast that was is not judged.
set -eu
program=$(realpath "$1") source=$(realpath "$2")
for tool in redis-server redis-benchmark jq; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

# is WHAT GOT WANTED
is() {
  [ "$2" = "$3" ] && return
  printf 'FAILED: %s\n  got:    %s\n  wanted: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# run ARGUMENT...: leaves ./out, ./err and $status.
run() {
  status=0
  "$program" "$@" >out 2>err || status=$?
}

# rows FILTER: of all.json, on one line.
rows() { jq -c "[.rows[] | $1]" all.json; }

run --seconds 0.01 --json all.json
is 'it measures' "$status $(cat err)" '0 '
is 'how many rows of each' "$(jq -c '[.rows | group_by(.scenario)[] | [.[0].scenario, length]]' all.json)" \
  '[["batch over Redis",7],["decision",28],["event loop",10],["hammering",2],["over TCP",7],["redis-benchmark",2]]'
is 'each by so many threads' "$(rows 'select(.scenario == "decision") | .parameters.threads' | jq -c 'group_by(.) | map([.[0], length])')" \
  '[[1,7],[2,7],[4,7],[8,7]]'
is 'no answer was wrong' "$(rows 'select(.wrong > 0)')" '[]'
is 'all but the first are told beside it' \
  "$(rows 'select(.scenario == "over TCP") | .measures.ratio != null' | jq -c .)" '[false,true,true,true,true,true,true]'
is 'a decision is one round trip, a batch too' \
  "$(rows 'select(.subject == "weir" and .scenario != "hammering") | .measures["round trips"].median * .parameters.batch' |
    jq -c 'unique')" '[1]'
is 'a loop with many calls under way writes many at once' "$(rows 'select(.subject == "weir, event loop") |
  [.parameters["in flight"], .measures["round trips"].median < 0.3]' | jq -c unique)" \
  '[[1,false],[8,true],[64,true],[256,true]]'
is 'what is remembered needs none' "$(rows 'select(.scenario == "hammering") | .measures["round trips"].median')" '[1,0]'
is 'the log has about a hundred records' \
  "$(rows 'select(.algorithm == "log" and .parameters.calls == "accepted") | .measures["in the window"].median | . > 0' | jq -c unique)" '[true]'
for part in redis-decisions redis-batches redis-loops redis-hammering redis-benchmark redis-machine; do
  jq -r --arg part $part -f "$source/scripts/bench-page.jq" all.json >part.md
  is "a table for $part" "$(grep -c '^| .*[0-9]' part.md | awk '{ print ($1 > 1) }')" 1
  grep -q "<!-- begin $part -->" "$source/docs/distributed.md" || is "$part has its place" no yes
done

run --seconds x
is 'no number' "$status $(head -n 1 err)" '2 weir-bench-redis: --seconds x: it is no number above 0 and up to 3600'
run --seconds 0.01 --json /nowhere/x
is 'no file' "$status $(cat err)" '1 weir-bench-redis: cannot write /nowhere/x: No such file or directory'
[ "$failures" -eq 0 ]
