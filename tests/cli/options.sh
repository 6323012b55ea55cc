#!/bin/sh
# options.sh PROGRAM SOURCE SANITIZERS: each option does what it says, and the report has the shape that is promised.
set -eu
. "$(dirname "$0")/common.sh"

cat >small.csv <<'END'
time,key,cost,when,who,in,out
10,a,1,11,x,1,2
10,a,1,12,x,1,2
10,b,5,13,y,1,2
10,c,1,14,z,1,2
70,a,1,15,x,1,2
10,c,1,16,z,1,2
10,c,1,17,z,1,2
END
log='[.algorithms[] | select(.algorithm == "log") | .accepted, .refused]'
top='[.top[] | .key, .refused]'

# --- limits ---
replay --json --limit 1/60s small.csv
is 'one limit' "$(counts "$log") $(counts "$top")" '[4,3] ["c",2,"a",1]'
replay --json --limit 2/60s --limit 3cost/1m small.csv
is 'two limits: both must allow' "$(counts "$log") $(counts "$top")" '[5,2] ["b",1,"c",1]'
replay --json -l 1/60s -l 2/60s -l 3/60s -l 4/60s -l 5/60s -l 6/60s -l 7/60s -l 8/60s small.csv
is 'eight limits' "$status $(counts "$log")" '0 [4,3]'

# --- algorithms ---
names='[.algorithms[].algorithm]'
replay --json --limit 1/60s small.csv
is 'all by default' "$(counts "$names")" '["log","counter","buckets:60"]'
replay --json --limit 1/60s --algorithm all small.csv
is 'all' "$(counts "$names")" '["log","counter","buckets:60"]'
replay --json --limit 1/60s -a buckets:7 -a counter -a buckets:7 -a all small.csv
is 'as asked, once each' "$(counts "$names")" '["buckets:7","counter","log","buckets:60"]'
# Where nobody asks for the log it still judges, and its refused keys are listed. The counter of 1/60s refuses nobody's
# call at 70 that the log accepts but a's: 10 is 60 ago, in the window before.
replay --json --limit 1/60s --algorithm counter small.csv
is 'the log judges unasked' "$(counts '.algorithms | map([.algorithm, .accepted, .refused, .keys_refused, .only_log, .only_this])') $(counts "$top")" \
  '[["counter",3,4,2,1,0]] ["c",2,"a",1]'
replay --limit 1/60s --algorithm counter small.csv
is 'in the text too' "$(sed -n '8,$p' out)" 'counter against the log: 1 accepted by the log alone, 0 by counter alone:
  time                  accepted by  key
  1970-01-01T00:01:10Z  log          a

refused most by the log
  2  c
  1  a'
replay --json --limit 5000000000cost/60s --algorithm counter --algorithm buckets:6 small.csv
is 'a limit beyond the log has no judge' "$status $(counts '.algorithms | map([.accepted, .only_log, .only_this])')" \
  '0 [[7,null,null],[7,null,null]]'
printf 'time,key,cost\n1,a,5000000000\n1,a,1\n' >big.csv
replay --limit 5000000000cost/60s --algorithm counter --algorithm buckets:6 big.csv
is 'and the first algorithm lists its keys' "$(tail -n 2 out)" 'refused most by counter
  1  a'

# --- fields ---
replay --json --limit 1/1s --algorithm log --time-field when --key-field who small.csv
is 'named columns' "$(counts '[.late, .keys]') $(counts "$log")" '[0,3] [7,0]'
replay --json --limit 3cost/60s --algorithm log --cost-field in+out --key-field '' small.csv
is 'a sum, and one key for all' "$(counts '.keys') $(counts "$log") $(counts "$top")" '1 [2,5] ["",5]'
replay --json --limit 1cost/60s --algorithm log --cost-field out --key-field '' --sort small.csv
is 'the other column' "$(counts "$log")" '[0,7]'

# --- order, list ---
replay --json --limit 1/60s --top 1 small.csv
is 'top 1' "$(counts "$top")" '["c",2]'
replay --json --limit 1/60s --top 0 small.csv
is 'top 0' "$(counts "$top")" '[]'
awk 'BEGIN { print "time,key"; for (i = 0; i < 40; i++) print "1,k" i % 20 }' >twenty.csv
replay --json --limit 1/60s twenty.csv
is 'top 10, the first seen first' "$(counts '[.top[].key]')" '["k0","k1","k2","k3","k4","k5","k6","k7","k8","k9"]'
replay --limit 1/60s twenty.csv
is 'and how many more there are' "$(tail -n 1 out)" '  and 10 other keys'
replay --json --limit 1/60s --top 18446744073709551615 twenty.csv
is 'top without end' "$(counts '.top | length')" '20'
printf 'time,key\n5,a\n4,a\n65,a\n64,a\n' >sort.csv
replay --json --limit 1/60s --algorithm log sort.csv
is 'as they stand' "$(counts '.late') $(counts "$log")" '2 [2,2]'
replay --json --sort --limit 1/60s --algorithm log sort.csv
is 'sorted' "$(counts '.late') $(counts "$log")" '2 [2,2]'
printf 'time,key,cost\n9,a,1\n5,a,3\n5,a,1\n5,a,1\n' >stable.csv
replay --json --sort --limit 3cost/1s --algorithm log stable.csv
is 'sorted stably: the first of one time comes first' "$(counts "$log")" '[2,2]'

# --- standard input, several files, options behind files ---
status=0
"$program" replay --json --limit 1/60s - <small.csv >out || status=$?
is 'standard input' "$status $(counts '.records')" '0 7'
cat >small.log <<'END'
a - - [01/Jan/1970:00:00:09 +0000] "GET /" 200 1
d - - [01/Jan/1970:00:00:09 +0000] "GET /" 200 1
END
replay small.csv small.log --json --limit 1/60s
is 'two files of two formats, one after the other' \
  "$status $(counts '[.records, .keys, .late]') $(counts "$log") $(counts "$top")" '0 [9,4,2] [5,4] ["a",2,"c",2]'
replay --json --limit 1/60s -- small.csv
is 'after --' "$status $(counts '.records')" '0 7'

# --- shapes ---
replay --json --limit 1/60s small.csv
jq -e '
  (keys_unsorted == ["records", "keys", "malformed", "late", "algorithms", "top"]) and
  ([.records, .keys, .malformed, .late] == [7, 3, 0, 1]) and
  (.algorithms | length == 3 and all(
    keys_unsorted == ["algorithm", "accepted", "refused", "keys_refused", "only_log", "only_this", "bytes",
                      "ns_per_decision"] and
    .accepted + .refused == 7 and (.bytes | type == "number" and . > 0 and . == floor) and
    (.ns_per_decision | type == "number" and . >= 0))) and
  (.algorithms[0] | .only_log == 0 and .only_this == 0) and
  (.top | all(keys_unsorted == ["key", "refused"]))' out >/dev/null || fail "the shape of $(cat out)"
replay --limit 1/60s --limit 100000cost/1h small.csv
is 'the head of the text' "$(head -n 3 out)" \
  '7 records, 3 keys, 0 malformed lines, 1 out of order (replayed as they stand)
from 1970-01-01T00:00:10Z to 1970-01-01T00:01:10Z
limit 1/60s, 100000cost/1h for each key'
is 'the table, but for what the machine decides' "$(sed -n '5,8p' out | awk '{ print $1, $2, $3, $4, $5 }')" \
  'algorithm accepted refused share keys
log 4 3 42.86% 2
counter 3 4 57.14% 2
buckets:60 3 4 57.14% 2'
awk 'BEGIN { print "time,key"; for (i = 0; i < 1234567; i++) print "1,k" }' | "$program" replay --limit 1000/60s - >out
is 'thousands can be read' "$(sed -n 6p out | awk '{ print $2, $3, $4 }')" '1,000 1,233,567 99.92%'
is 'and agreement is told' "$(sed -n '10,12p' out)" 'counter against the log: no call is answered differently

buckets:60 against the log: no call is answered differently'

# --- help ---
for words in --help '-?' --usage --version -V 'replay --help' 'replay --usage' 'replay --version'; do
  status=0
  # shellcheck disable=SC2086 # several words
  "$program" $words >out 2>err || status=$?
  is "$words" "$status $(cat err)" '0 '
  [ -s out ] || fail "$words prints nothing"
done
is 'the version' "$("$program" --version)" "weir $(sed -n "s/^  version: '\\(.*\\)',/\\1/p" "$source/meson.build")"
"$program" --help | grep -q '^  replay  ' || fail 'weir --help does not list replay'
"$program" replay --help >out
for word in --limit --algorithm --sort --format --time-field --key-field --cost-field --top --json 'Common or Combined' \
  CSV 'Exit status' Examples: timestamp '  weir replay --limit 100/60s access.log'; do
  grep -q -e "$word" out || fail "weir replay --help does not tell of $word"
done

finish
