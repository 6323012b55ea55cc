#!/bin/sh
# remote.sh PROGRAM SOURCE SANITIZERS with|without: what weir asks a Redis server, which this script starts on a socket in
# its own folder; and what it says where it was built without hiredis.
set -eu
built=$4
. "$(dirname "$0")/common.sh"

printf 'time,key\n1,a\n' >good.csv
if [ "$built" = without ]; then
  replay --limit 1/1s --redis redis://127.0.0.1 good.csv
  is 'replay without hiredis' "$status $(cat out) $(head -n 1 err)" \
    '2  weir replay: --redis redis://127.0.0.1: this program was built without hiredis, and cannot ask Redis'
  status=0
  "$program" memory >out 2>err || status=$?
  is 'memory without hiredis' "$status $(cat out) $(cat err)" \
    '2  weir memory: this program was built without hiredis, and cannot ask Redis'
  finish
  exit
fi
. "$source/tests/cli/server.sh"

# remote ARGUMENT...: a replay over the server that must agree with the local one; "accepted refused" of each algorithm.
remote() {
  replay --json --redis "$url" "$@"
  is "$*: exit, messages" "$status $(cat err)" '0 '
  is "$*: no answer differs" "$(counts '[.algorithms[].redis.differing] | add')" 0
  is "$*: the same counts" "$(counts '.algorithms[] | select([.accepted, .refused] != [.redis.accepted, .redis.refused])')" ''
  answers=$(counts '.algorithms[] | [.redis.accepted, .redis.refused]')
}

# --- the same answers, and nothing left behind ---
asks SET '{weir-replay-0123456789abcdef:a}0lr60000000g' mine >/dev/null # another's key, however it is named
cat >small.csv <<'END'
time,key,cost
10,a,1
10,a,1
10,b,5
70,a,1
65,a,1
10,{c},2
10,{c},1
END
remote --limit 1/60s small.csv
is 'one limit' "$answers" '[4,3] [3,4] [3,4]'
is 'calls of one time are asked at once: four times, and one more where a script was not there' \
  "$(counts '[.algorithms[].redis.round_trips]')" '[5,5,4]'
remote --limit 2/60s --limit 3cost/1m --algorithm log --algorithm buckets:7 small.csv
is 'two limits' "$answers" '[6,1] [4,3]'
remote --sort --limit 2/60s small.csv
is 'by time' "$answers" '[6,1] [5,2] [5,2]'
awk 'BEGIN {
  print "time,key,cost"
  for (i = 0; i < 1500; i++) { x = (x * 1103515245 + 12345) % 2147483648; print 1700000000 + int(i / 40) "." x % 1000000000 ",k" int(x / 4096) % 7 "," x % 11 }
}' >mixed.csv
remote --limit 40/10s --limit 300cost/7s --limit 5/200ms mixed.csv
is 'late records, costs and three limits: some of each' \
  "$(counts '[.late > 100, (.algorithms | all(.redis | .accepted > 100 and .refused > 100))]')" '[true,true]'

# Whole microseconds: 1.5 us are 2, and what is not whole is cut off, here as there.
printf 'time,key\n0,a\n0.0000015,a\n0.000002,a\n0.0000029,a\n' >fine.csv
remote --limit 1/1500ns --algorithm log --algorithm buckets:1500 fine.csv
is 'whole microseconds' "$answers" '[2,2] [2,2]'
replay --json --limit 1/1500ns --algorithm log fine.csv
is 'and ns where Redis is not asked' "$(counts '.algorithms[0] | [.accepted, .redis]')" '[2,null]'

replay --limit 1/60s --algorithm counter --redis "$url" small.csv
is 'as text' "$status $(sed -n '8,9p' out | awk '{ print $1, $2, $3, $4, $5, $6 }')" '0 over Redis accepted refused differing round
counter 3 4 0 4 '"$(sed -n 9p out | awk '{ print $6 }')"
is 'nothing is left, and nothing else is gone' "$(asks KEYS '*')" '{weir-replay-0123456789abcdef:a}0lr60000000g'
asks FLUSHALL >/dev/null # it is this script's own server

# --- two at once ---
"$program" replay --json --limit 5/60s --redis "$url" mixed.csv >one 2>err &
first=$!
"$program" replay --json --limit 5/60s --redis "$url" mixed.csv >two 2>err2 &
wait "$first" || fail "one of two at once: $(cat err)"
wait $! || fail "the other of two at once: $(cat err2)"
for out in one two; do
  is "two at once: $out" "$(jq -c '[.algorithms[] | [.redis.accepted, .redis.differing]]' $out)" \
    "$(jq -c '[.algorithms[] | [.accepted, 0]]' one)"
done
is 'both are gone' "$(asks DBSIZE)" 0

# --- killed half way ---
awk 'BEGIN { print "time,key"; for (i = 0; i < 300000; i++) print i ",k" i % 50 }' >long.csv
# goes_on: does process $replay?
goes_on() { grep -q '^State:.[^Z]' "/proc/$replay/status" 2>/dev/null; }
# begin KEYS ARGUMENT...: a replay, as process $replay, that has written so many keys when this returns.
begin() {
  keys=$1
  shift
  "$program" replay --limit 1/100h --algorithm log --redis "$url" "$@" >out 2>err &
  replay=$!
  until [ "$(asks DBSIZE)" -ge "$keys" ]; do goes_on || break; done
}
begin 1 long.csv
kill -KILL "$replay"
wait "$replay" 2>/dev/null || true
asks KEYS '*' >keys
[ -s keys ] || fail 'a killed replay leaves keys'
while read -r key; do
  ttl=$(asks PTTL "$key")
  [ "$ttl" -gt 3000000 ] && [ "$ttl" -le 3600000 ] || fail "$key expires in $ttl ms"
done <keys
is 'their names' "$(sed 's/^{weir-replay-[0-9a-f]\{16\}:k[0-9]*}0lr360000000000g$/as they should be/' keys | sort -u)" \
  'as they should be'
asks FLUSHALL >/dev/null

# --- a server that forgets half way: answers differ, which is told ---
awk 'NR <= 20001' long.csv >shorter.csv
begin 50 --json shorter.csv # each has been accepted once
asks FLUSHALL >/dev/null
status=0
wait "$replay" || status=$?
is 'each key was accepted once more, and that is told' \
  "$status $(cat err) $(counts '.algorithms[] | [.accepted, .redis.accepted, .redis.differing]')" '3  [50,100,50]'

# --- what goes wrong ---
replay --json --limit 1/1s --redis "unix://$PWD/absent" good.csv
is 'no server' "$status $(cat out) $(cat err)" "3  weir replay: Redis, log: record 1 of 1: connect: No such file or directory ($PWD/absent)
weir replay: Redis, log: record 1 of 1: it was not carried out, nor any after it"
replay --limit 1/1s --redis http://127.0.0.1 good.csv
is 'another URL' "$status $(cat out) $(head -n 1 err)" \
  '2  weir replay: --redis http://127.0.0.1: options: url: character 1: must begin with redis:// or unix://'
replay --limit 1/36501d --algorithm counter --redis "$url" good.csv
is 'a window beyond Redis' "$status $(cat out) $(head -n 1 err)" \
  "2  weir replay: --algorithm counter over Redis: rule 0: window_ns: 3153686400000000000 is outside 1 ... 2^50 us"
printf 'time,key\n1,a\n4503599627,b\n4503599628,c\n' >late.csv
replay --limit 1/1s --algorithm counter --redis "$url" late.csv
is 'a time beyond Redis' "$status $(cat out) $(cat err)" \
  '3  weir replay: Redis, counter: record 3 of 3: its time is beyond what Redis can count, 2^52 us (the year 2112)'
is 'and the keys before it are gone' "$(asks DBSIZE)" 0
asks REPLICAOF 127.0.0.1 1 >/dev/null
replay --limit 1/1s --algorithm log --redis "$url" good.csv
is 'a replica' "$status $(cat out) $(cut -c -68 err)" "3  weir replay: Redis, log: record 1 of 1: READONLY You can't write aga
weir replay: Redis, log: record 1 of 1: it was not carried out, nor "
asks REPLICAOF NO ONE >/dev/null
# The server stands still; the replay has asked, and waits; then the server is gone.
begin 1 long.csv
kill -STOP "$server"
until grep -q '^State:.T' "/proc/$server/status"; do :; done
until grep -q '^State:.S' "/proc/$replay/status"; do goes_on || break; done
kill -KILL "$server"
status=0
wait "$replay" || status=$?
is 'an answer is lost' "$status $(cat out) $(sed 's/record [0-9,]* of/record N of/; s/weir-replay-[0-9a-f]*/weir-replay-X/; s/ ([^ ]*)$//; s/hour: .*/hour/; s/lost: .*/lost/' err)" \
  '3  weir replay: Redis, log: record N of 300,000: connection lost
weir replay: Redis, log: record N of 300,000: 1 of the calls from here on may have been charged or not: their answers were lost
weir replay: Redis, log: keys that begin with {weir-replay-X: stay until they expire, within an hour'

# --- real traffic ---
wait "$server" 2>/dev/null || true
start_server
data=$source/../shared/data
if [ "$sanitizers" != none ]; then
  echo 'note: with a sanitizer real traffic is not replayed: it would go where the records above went'
elif [ -r "$data/access.log" ] && [ -r "$data/llm_tokens.csv" ]; then
  remote --limit 5/60s "$data/access.log"
  is 'access.log' "$answers" '[6917,3083] [6917,3083] [6917,3083]'
  remote --limit 30/1h --sort "$data/access.log"
  is 'access.log, sorted' "$answers" '[9540,460] [9356,644] [9331,669]'
  remote --limit 300000cost/60s --cost-field ContextTokens+GeneratedTokens "$data/llm_tokens.csv"
  is 'llm_tokens.csv' "$answers" '[4335,4484] [5356,3463] [4315,4504]'
else
  echo 'note: there is no ../shared/data here, so real traffic was not replayed'
fi

# --- memory ---
# memory ARGUMENT...
memory() {
  status=0
  "$program" memory --redis "$url" "$@" >out 2>err || status=$?
}
memory --json --limit 9/1d --algorithm counter --keys 1000
asks SET '{weir:0123456789abcdef}0cr86400000000g' 'twenty-one bytes long' PX 3600000 >/dev/null
bytes=$(asks MEMORY USAGE '{weir:0123456789abcdef}0cr86400000000g' SAMPLES 0)
asks FLUSHALL >/dev/null
is 'a counter: the bytes that Redis itself tells' \
  "$status $(cat err) $(counts '[.keys, (.memory[] | .limit, .algorithm, .name_length, .redis_bytes, .redis_bytes_all)]')" \
  "0  [1000,\"9/1d\",\"counter\",38,$bytes,${bytes}000]"
if [ "$sanitizers" = none ]; then # the largest take their time
  memory --json
  is 'all by default' "$status $(cat err) $(counts '[.memory[] | .limit + " " + .algorithm] | [length, .[0], .[17]]')" \
    '0  [18,"10/60s log","10000/60s buckets:60"]'
  is 'a log is compact up to 128, and grows with its limit' "$(counts '[.memory[] | select(.algorithm == "log") | .redis_bytes] |
    [.[0] < .[1], .[1] < .[2], .[2] * 2 < .[3], .[3] < .[4], .[4] * 9 < .[5]]')" '[true,true,true,true,true]'
  is 'a counter does not, nor do buckets beyond their number' \
    "$(counts '[.memory[] | select(.algorithm != "log") | [.algorithm, .redis_bytes]] | unique | length')" 3
  is 'the local limiter of 10,000 x 10 in a log: 8 bytes a record, and more' \
    "$(counts '.memory[15] | [.limit, .algorithm, .local_bytes > 80000, .local_bytes < 90000]')" '["10000/60s","log",true,true]'
fi
is 'nothing is left by memory' "$(asks DBSIZE)" 0
memory --json --limit 2/60s --algorithm all
is 'all by name' "$status $(cat err) $(counts '[.memory[].algorithm]')" '0  ["log","counter","buckets:60"]'
memory --limit 1/1s --algorithm buckets:2000000000
is 'too many buckets' "$status $(cat out) $(head -n 1 err)" \
  '2  weir memory: --algorithm buckets:2000000000 over Redis: rule 0: buckets: 2000000000 is outside 1 ... window_ns'
memory --limit 100/60s --algorithm log --keys 2000
is 'as text, a line each, and an estimate' "$status $(awk 'NR == 2 { gsub(",", ""); print NF, $1, $2, $6 / $3, NR }' out)" \
  '0 7 100/60s log 2000 2'
memory --limit 5cost/1s
is 'no costs' "$status $(head -n 1 err)" '2 weir memory: --limit 5cost/1s: a key is charged by calls here'
memory --limit 1000001/1s
is 'not too many calls' "$status $(head -n 1 err)" \
  '2 weir memory: --limit 1000001/1s: that many calls would take too long, 1000000 can be'
memory --keys 0
is 'no keys' "$status $(head -n 1 err)" '2 weir memory: --keys 0: it is no whole number from 1 to 4294967295'
memory file
is 'no files' "$status $(head -n 1 err)" '2 weir memory: file: there is nothing to read: a key is made up'
status=0
"$program" memory >out 2>err || status=$?
is 'no URL' "$status $(head -n 1 err)" '2 weir memory: no server is given: --redis redis://127.0.0.1:6379, say'
status=0
"$program" memory --redis "unix://$PWD/absent" >out 2>err || status=$?
is 'memory without a server: no key is said to stay' "$status $(cat out) $(cat err)" \
  "3  weir memory: Redis: connect: No such file or directory ($PWD/absent)"
"$program" memory --help >out
for word in --redis --limit --algorithm --keys --json 'MEMORY USAGE' 'Exit status'; do
  grep -q -e "$word" out || fail "weir memory --help does not tell of $word"
done
"$program" replay --help | grep -q -e '--redis=URL' || fail 'weir replay --help does not tell of --redis'
"$program" --help | grep -q '^  memory  ' || fail 'weir --help does not list memory'

finish
