#!/bin/sh
# tables.sh PROGRAM: the scenarios about what comes and goes. What they measure is not judged, only that there is a row
# for each subject and set of parameters, and that all calls were answered as they must be. (Guarantees A and F are
# attacked on the way: floods, sweeps and growth, with every baseline beside.)
set -eu
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

# counts SCENARIO ROWS MEASURE ARGUMENT...: so many rows, nothing wrong in any, and the measure above 0 in those that
# have it
counts() {
  name=$1 rows=$2 measure=$3
  shift 3
  status=0
  "$program" "$name" --json out --seconds 0.01 "$@" >table 2>err || status=$?
  got=$(jq -c --arg measure "$measure" '[(.rows | length), (.rows | map(.wrong) | add),
    ([.rows[].measures[$measure] // empty | .median > 0] | length > 0 and all)]' out)
  [ "$status $(cat err) $got" = "0  [$rows,0,true]" ] && return
  printf 'FAILED: %s %s: status %s, %s, wanted [%s,0,true]\n' "$name" "$*" "$status" "$got" "$rows"
  cat err
  failures=$((failures + 1))
}

counts churn 42 ns --keys 1000 # 2 ways to sweep; counter: 4 subjects, log: 3; 1 and 2 threads, and their memory
counts growth 5 'longest pause' --keys 2000
counts janitor 2 'p99 to quiet' --keys 2000 --subject sharded --algorithm log
counts janitor 2 'p99 to quiet' --keys 2000 --subject lfht
counts memory 17 'bytes a key' --keys 1000 --key-len 8 # an octave 4; full rings 3; used up 3, 4 and 3
counts rules 72 ns --keys 100 # 3 algorithms, requests and tokens, 1 to 4 rules, 3 subjects

[ "$failures" -eq 0 ]
