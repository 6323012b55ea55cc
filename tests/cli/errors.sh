#!/bin/sh
# errors.sh PROGRAM SOURCE SANITIZERS: each error has its exit status (1 bad input or output, 2 bad usage) and its words.
set -eu
. "$(dirname "$0")/common.sh"

printf 'time,key\n1,a\n' >good.csv
: >empty.log
printf 'nothing\nof note\n' >prose.txt

# --- usage ---
# usage WORDS ARGUMENT...: exit status 2, nothing on standard output, and these words first on standard error.
usage() {
  wanted=$1
  shift
  status=0
  "$program" "$@" >out 2>err </dev/null || status=$?
  is "weir $*" "$status $(wc -c <out | tr -d ' ') $(head -n 1 err)" "2 0 $wanted"
}
usage 'weir: no verb is given'
usage 'weir: there is no verb nope' nope
usage "weir: unrecognized option '--nope'" --nope replay
usage 'weir replay: no limit is given: --limit 100/60s, say' replay good.csv
usage 'weir replay: no FILE is given (- is standard input)' replay --limit 1/1s
usage "weir replay: unrecognized option '--nope'" replay --nope
usage "weir replay: option '--limit' requires an argument" replay good.csv --limit
usage 'weir replay: --limit x: a limit begins with a whole number: 100/60s' replay --limit x good.csv
usage 'weir replay: --limit -1/1s: a limit begins with a whole number: 100/60s' replay --limit -1/1s good.csv
usage 'weir replay: --limit 0/1s: the limit is 0' replay --limit 1/1s --limit 0/1s good.csv
usage 'weir replay: --limit 1/0s: the window is 0' replay --limit 1/0s good.csv
usage "weir replay: --limit 1/60: the window's unit is none of ns, us, ms, s, m, h, d" replay --limit 1/60 good.csv
usage 'weir replay: --limit 1/213504d: the window is longer than 2^62 ns (146 years)' replay --limit 1/213504d good.csv
usage 'weir replay: --limit 9223372036854775808/1s: the limit is above 2^63-1' replay --limit 9223372036854775808/1s good.csv
usage 'weir replay: --limit 9/1s: there are 8 limits already, and no more can be' \
  replay -l 1/1s -l 2/1s -l 3/1s -l 4/1s -l 5/1s -l 6/1s -l 7/1s -l 8/1s -l 9/1s good.csv
usage 'weir replay: --algorithm log does not go with these limits: rule 1 (4294967296/1s): limit: 4294967296 is outside 1 ... 2^32-1' \
  replay --limit 1/1s --limit 4294967296/1s good.csv
usage 'weir replay: --algorithm buckets:11 does not go with these limits: rule 0 (1/10ns): buckets: 11 is outside 1 ... window_ns' \
  replay --limit 1/10ns --algorithm buckets:11 good.csv
usage 'weir replay: --algorithm nope: it is none of log, counter, buckets:N, all' replay -l 1/1s -a nope good.csv
usage 'weir replay: --algorithm buckets:0: after the colon goes the number of buckets: buckets:60' \
  replay -l 1/1s -a buckets:0 good.csv
usage 'weir replay: --format xml: it is neither clf nor csv' replay -l 1/1s --format xml good.csv
usage 'weir replay: --time-field, --key-field and --cost-field are for CSV, not for --format clf' \
  replay -l 1/1s --key-field key --format clf good.csv
usage 'weir replay: --top -1: it is no whole number' replay -l 1/1s --top=-1 good.csv
usage 'weir replay: --top ten: it is no whole number' replay -l 1/1s --top ten good.csv
choices=
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33; do
  choices="$choices -a buckets:$n"
done
# shellcheck disable=SC2086 # several words
usage 'weir replay: --algorithm buckets:33: there are 32 already, and no more can be' replay -l 1/1s $choices good.csv

# --- input: what could be read is reported, and the exit status is 1 ---
# bad WORDS RECORDS FILE...: the words first on standard error.
bad() {
  wanted=$1 records=$2
  shift 2
  replay --json --limit 1/1s "$@"
  is "$*" "$status $(counts .records) $(head -n 1 err)" "1 $records $wanted"
}
printf 'time,key\n1,a\n2,a\n3,"b\n4,a\n' >open.csv
bad 'weir replay: open.csv:4: a quote is opened and never closed: nothing was read from here on' 2 open.csv
bad 'weir replay: absent.log: No such file or directory' 0 absent.log
bad 'weir replay: absent.log: No such file or directory' 1 absent.log good.csv
bad 'weir replay: absent.log: No such file or directory' 2 good.csv absent.log good.csv
bad 'weir replay: .: Is a directory' 1 . good.csv
bad 'weir replay: empty.log: empty' 0 empty.log
bad 'weir replay: empty.log: empty' 1 good.csv empty.log
bad 'weir replay: prose.txt: no format recognised: neither a line of the Common or Combined Log Format nor a CSV header with a column of times among the first lines; it begins with: nothing' 1 prose.txt good.csv
bad 'weir replay: good.csv: no column "user"; the columns are: time, key' 0 --key-field user good.csv
bad 'weir replay: good.csv: no column "b"; the columns are: time, key' 0 --cost-field key+b good.csv
bad 'weir replay: good.csv: a limit on cost needs a column of costs (--cost-field); the columns are: time, key' 0 \
  --limit 1cost/1s good.csv
bad 'weir replay: standard input: empty' 0 - </dev/null
printf 'time,key\n' >header.csv
bad 'weir replay: no record was found' 0 header.csv
printf 'time,key\nx,a\n' >faulty.csv
bad 'weir replay: faulty.csv:2: no time (seconds since 1970, or like 2016-08-08T16:49:16.5+08:00): x' 0 faulty.csv
is 'and then' "$(tail -n 1 err)" 'weir replay: no record was found'
replay --limit 1/1s empty.log
is 'the text without a record' "$status $(cat out)" '1 0 records, 0 keys, 0 malformed lines, 0 out of order
limit 1/1s for each key'

# --- malformed lines alone are no failure; the first five are shown ---
{
  printf 'time,key\n1,a\n'
  for n in 1 2 3 4 5 6 7; do printf -- '-%d,\033a\n' $n; done
} >seven.csv
replay --json --limit 1/1s seven.csv
is 'seven malformed' "$status $(counts '[.records, .malformed]')" '0 [1,7]'
is 'five shown' "$(cat err)" 'weir replay: seven.csv:3: time before 1970: -1
weir replay: seven.csv:4: time before 1970: -2
weir replay: seven.csv:5: time before 1970: -3
weir replay: seven.csv:6: time before 1970: -4
weir replay: seven.csv:7: time before 1970: -5
weir replay: and 2 more that could not be read'
printf '\033]0;x\007 - - [x] "GET /" 200 1\na - - [01/Jan/2020:00:00:00 +0000] "GET /" 200 1\n\033[31m\n' >escape.log
replay --json --limit 1/1s escape.log
is 'no control byte reaches the terminal' "$(cat err)" \
  'weir replay: escape.log:1: no time like 08/Aug/2016:16:49:16 +0800: x
weir replay: escape.log:3: no log line: no client at its beginning: \x1b[31m'

# --- output that does not arrive ---
if [ -w /dev/full ]; then
  for words in '--help' '--version' 'replay --help' 'replay --limit 1/1s good.csv' 'replay --json --limit 1/1s good.csv'; do
    status=0
    # shellcheck disable=SC2086 # several words
    "$program" $words >/dev/full 2>err || status=$?
    is "a full disk: $words" "$status $(cat err)" '1 weir: cannot write to standard output: No space left on device'
  done
else
  echo 'note: there is no /dev/full here'
fi
mkfifo pipe
exec 3<>pipe 4>pipe 3<&- # a pipe that nobody reads any more
status=0
"$program" replay --limit 1/1s good.csv >&4 2>err 4>&- || status=$?
exec 4>&-
is 'a closed pipe' "$status $(cat err)" '1 weir: cannot write to standard output: Broken pipe'
status=0
"$program" replay --limit 1/1s good.csv >&- 2>err || status=$?
is 'no output at all' "$status $(cat err)" '1 weir: cannot write to standard output: Bad file descriptor'

# --- no memory: a line, the records, the limiter ---
if [ "$sanitizers" = none ]; then
  # lacks WHAT KIB ARGUMENT...
  lacks() {
    what=$1 memory=$2
    shift 2
    status=0
    (ulimit -v "$memory" && exec "$program" replay --json --limit 5/60s "$@") >out 2>err || status=$?
    is "no memory for $what" "$status $(cat err)" '1 weir replay: out of memory'
  }
  truncate -s 100000000 line.log
  lacks 'a line' 60000 line.log
  awk 'BEGIN { print "time"; for (i = 0; i < 3000000; i++) print i }' >records.csv
  lacks 'the records' 60000 records.csv
  lacks 'the limiter' 200000 --algorithm buckets:100000000 --limit 5/60s good.csv
else
  echo 'note: a sanitizer needs all addresses, so lack of memory was not tried'
fi

finish
