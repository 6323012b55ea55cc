#!/bin/sh
# program.sh PROGRAM: weir-bench from the command line. What it measures is not judged, only that there is a row for all
# that was asked for, that subjects agree, and that what cannot be is said. (Guarantee A is attacked on the way: each
# subject's answers are held against the first one's.)
set -eu
program=$(realpath "$1")
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

# bench ARGUMENT...: runs it; leaves ./out, ./err and $status.
bench() {
  status=0
  "$program" "$@" >out 2>err || status=$?
}

# refused WORDS ARGUMENT...: wrong usage, told in these words.
refused() {
  wanted=$1
  shift
  bench "$@"
  is "$*" "$status $(head -n 1 err)" "2 weir-bench: $wanted"
}

# --- what there is ---
bench --list
is 'list' "$status" 0
scenarios=$(sed -n '/^Scenarios/,/^$/s/^  \([^ ]*\) .*/\1/p' out)
is 'all scenarios' "$(printf '%s ' "$scenarios" | tr '\n' ' ' | sed 's, *$,,')" \
  'hot-key many-keys batch oversubscribed churn growth janitor memory rules targets'
is 'each with what it is' "$(grep -c '^  [a-z0-9-]\+ \+[^ ]' out)" "$(grep -c '^  ' out)"

# --- one row for each set of parameters ---
# counts SCENARIO ROWS ARGUMENT...
counts() {
  name=$1 rows=$2
  shift 2
  bench "$name" --json - --seconds 0.01 "$@"
  is "$name: status" "$status $(cat err)" '0 '
  is "$name: rows, disagreements" "$(jq -c '[(.rows | length), (.rows | map(.wrong) | add)]' out)" "[$rows,0]"
  is "$name: what was measured" "$(jq -c '[.rows[] | .measures | .ns // .p50 | .median > 0] | all' out)" true
}
counts hot-key 24 --subject weir # 3 algorithms and token costs, 3 answers, 1 and 2 threads
counts hot-key 9 --subject weir --threads 3 --algorithm counter,log,counter --key-len 16
counts many-keys 12 --subject weir --keys 1000 # 4 ways
counts many-keys 32 --subject weir,weir-identity --keys 100,1000 --algorithm log --key-len 8,36 --full
counts many-keys 8 --subject weir,sharded --keys 1000 --algorithm counter --clock
counts batch 48 --subject weir,weir-batch,weir-prefetch,sharded --keys 10,1000 --batch 1,7,64 --algorithm log,counter
counts oversubscribed 24 --subject weir --keys 1,1000 --threads 3,4
is 'percentiles' \
  "$(jq -c '[.rows[].measures | .p50.median <= .p99.median and .["p99.9"].median <= .max.median] | all' out)" true
is 'distribution' "$(jq -c '[.rows[].latency | length] | unique' out)" '[20]'
told='[.cpu, .kernel, .compiler, .flags, .commit, .clocksource, .huge_pages]'
is 'machine' "$(jq -c ".machine | $told | map(length > 0) | all" out)" true

# Targets of the log: one each for the call and for a full ring, five of the hot key; three beside, and all in a table.
bench targets --json targets.json --seconds 0.01 --keys 1000 --algorithm log
is 'targets' "$status $(cat err)" '0 '
is 'targets: rows, those without a target, disagreements' \
  "$(jq -c '[(.rows | length), (.rows | map(select(.note | not)) | length), (.rows | map(.wrong) | add)]' targets.json)" \
  '[11,3,0]'
is 'targets: met or missed, as measured' "$(jq -c '[.rows[] | select(.note) | .note as $said | .measures
  | (.ratio // .measured).median as $is | ($said == "met") == (if .["at most"] then $is <= .["at most"].median
    else $is >= .["at least"].median end)] | all' targets.json)" true
is 'targets: a table as well' "$(grep -c '^  weir ' out)" 11

# --- pictures ---
bench batch --subject weir --algorithm counter --keys 10,100 --batch 1,4 --seconds 0.01 --plot pictures
if command -v gnuplot >/dev/null; then
  is 'pictures: status' "$status $(cat err)" '0 '
  is 'pictures: ns by size of batch, and by number of keys' "$(cd pictures && echo *)" 'batch-batch-counter-keys-10.svg '\
'batch-batch-counter-keys-100.svg batch-keys-counter-batch-1.svg batch-keys-counter-batch-4.svg'
  is 'pictures: drawn' "$(grep -c '</svg>' pictures/*.svg | sed 's/.*://' | tr '\n' ' ')" '1 1 1 1 '
else
  is 'pictures: no gnuplot' "$status $(tail -n 1 err)" '1 weir-bench: gnuplot failed (status 127): it is not installed'
fi

# --- what cannot be ---
refused 'no SCENARIO is given (see --list)'
refused "there is no scenario 'hotkey' (see --list)" hotkey
refused "--subject: there is no subject 'redis' (see --list)" hot-key --subject weir,redis
refused "--algorithm: there is no algorithm 'leaky' (log, counter, buckets)" hot-key --algorithm leaky
refused '--threads 0: it is out of range (1 to 256)' hot-key --threads 0
refused '--keys 1,two: it is no whole number (1 to 1000000000)' many-keys --keys 1,two
refused '--key-len 12: keys have 8, or 16 to 64 bytes' hot-key --key-len 12
refused '--batch 65: it is out of range (1 to 64)' batch --batch 65
refused '--seconds soon: it is no number above 0 and up to 3600' hot-key --seconds soon
bench many-keys --keys 100000 --subject weir-identity --seconds 0.01
is 'nothing to do' "$status $(cat err)" \
  '1 weir-bench: many-keys: nothing was measured: no subject asked for can do what was asked for'
bench hot-key --subject weir --algorithm counter --seconds 0.01 --json none/such.json
is 'nowhere to write' "$status $(cat err)" '1 weir-bench: cannot write none/such.json: No such file or directory'

[ "$failures" -eq 0 ]
