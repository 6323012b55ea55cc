#!/bin/sh
# formats.sh PROGRAM SOURCE SANITIZERS: what logs and CSV files hold comes out as records, keys, costs and decisions.
set -eu
. "$(dirname "$0")/common.sh"

head='[.records, .keys, .malformed, .late]'
log='.algorithms[0] | [.accepted, .refused]'

# --- offsets: three times that are one, whatever the environment says ---
cat >offsets.log <<'END'
10.0.0.1 - - [08/Aug/2016:16:49:16 +0800] "GET / HTTP/1.1" 200 1
10.0.0.1 - - [08/Aug/2016:08:49:16 +0000] "GET / HTTP/1.1" 200 1
10.0.0.1 - - [08/Aug/2016:05:19:16 -0330] "GET / HTTP/1.1" 200 1
END
offsets() {
  replay --json --limit 2/1ns --algorithm log offsets.log
  is "offsets, $1" "$(counts "$head") $(counts "$log") $(cat err)" '[3,1,0,0] [2,1] '
  replay --limit 1/1s --algorithm log offsets.log
  is "the time in the text, $1" "$(sed -n 2p out)" 'from 2016-08-08T08:49:16Z to 2016-08-08T08:49:16Z'
}
offsets 'as it is'
TZ=America/New_York
export TZ
offsets 'in New York'
# A German locale, made here where that can be: otherwise the C library falls back to its own, which proves less.
localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" >localedef.log 2>&1 || echo 'note: no German locale can be made here'
LOCPATH=$scratch LC_ALL=de_DE.UTF-8
export LOCPATH LC_ALL
offsets 'in German'
LC_ALL=C
unset TZ LOCPATH

# --- lines out of order ---
cat >order.log <<'END'
a - - [08/Aug/2016:08:49:10 +0000] "GET /" 200 1
a - - [08/Aug/2016:08:49:05 +0000] "GET /" 200 1
a - - [08/Aug/2016:08:49:11 +0000] "GET /" 200 1
END
replay --json --limit 2/60s order.log
is 'out of order' "$(counts "$head") $(counts "$log")" '[3,1,0,1] [2,1]'
replay --json --sort --limit 2/60s order.log
is 'sorted, and as late as before' "$(counts "$head") $(counts "$log")" '[3,1,0,1] [2,1]'
replay --limit 2/60s order.log
is 'the text tells of it' "$(sed -n 1p out)" '3 records, 1 key, 0 malformed lines, 1 out of order (replayed as they stand)'
# At :66 the late call counts as one of :10, unless it was sorted to where it belongs.
echo 'a - - [08/Aug/2016:08:50:06 +0000] "GET /" 200 1' >>order.log
replay --json --limit 2/60s --algorithm log order.log
is 'a late call counts at the newest time' "$(counts "$log")" '[2,2]'
replay --json --sort --limit 2/60s --algorithm log order.log
is 'a sorted call counts at its own' "$(counts "$log")" '[3,1]'

# --- quotes, and bytes that are no text ---
{
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "GET / HTTP/1.1" 200 7 "-" "x \\"y\\" z"\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "GET / HTTP/1.1" 200 7 "-" "ends \\\\"\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "-" 408 - "-" "-"\r\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "" 400 0\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "\026\003\001" 400 1\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "\000" 400 1\n'
  printf '\n'
  printf 'a - - [08/Aug/2016:08:49:10 +0000] "\377\376" 400 1'
} >odd.log
replay --json --limit 6/60s --algorithm log odd.log
is 'odd requests' "$(counts "$head") $(counts "$log") $(cat err)" '[7,1,0,0] [6,1] '
replay --json --limit 17cost/60s --algorithm log odd.log
is 'the cost is the size, and - is 0' "$(counts "$log")" '[7,0]'
replay --json --limit 16cost/60s --algorithm log odd.log
is 'the cost is the size, and one byte less' "$(counts "$log")" '[6,1]'

# --- CSV: byte order mark, quotes, line ends, the sum of columns ---
printf '\357\273\277"ts","key","cost"\r\n1,"a,b",2\r\n2,"x""y\nz",3' >framing.csv
replay --json --limit 1cost/60s --algorithm log framing.csv
is 'framing' "$(counts "$head") $(counts '.top')" '[2,2,0,0] [{"key":"a,b","refused":1},{"key":"x\"y\nz","refused":1}]'
replay --json --limit 2cost/60s --algorithm log framing.csv
is 'a cost of 2 fits, one of 3 does not' "$(counts '.top')" '[{"key":"x\"y\nz","refused":1}]'
replay --json --limit 3cost/60s --algorithm log framing.csv
is 'both costs fit' "$(counts '.top')" '[]'

printf 'time,cost\n1,-1\n1,-0.5\n1,1e30\n1,5\n1,18446744073709551616\n' >costs.csv
replay --json --limit 5cost/60s --algorithm log costs.csv
is 'costs that are none' "$status $(counts "$head") $(counts "$log")" '0 [1,1,4,0] [1,0]'
is 'and where they are' "$(cat err)" 'weir replay: costs.csv:2: cost is no whole number from 0 to 2^64-1: -1
weir replay: costs.csv:3: cost is no whole number from 0 to 2^64-1: -0.5
weir replay: costs.csv:4: cost is no whole number from 0 to 2^64-1: 1e30
weir replay: costs.csv:6: cost is no whole number from 0 to 2^64-1: 18446744073709551616'

# --- CSV: times exact to the nanosecond ---
cat >exact.csv <<'END'
time,key
1700000000.123456789,a
2023-11-14T22:13:20.123456789Z,a
2023-11-15 03:43:20.1234567891 +05:30,a
2023-11-14 22:13:20.123456790,a
END
replay --json --limit 3/1ns --algorithm log exact.csv
is 'the same nanosecond three times, then the next' "$(counts "$head") $(counts "$log")" '[4,1,0,0] [4,0]'
replay --json --limit 3/2ns --algorithm log exact.csv
is 'within two nanoseconds' "$(counts "$log")" '[3,1]'
replay --limit 3/2ns --algorithm log exact.csv
is 'shown with all its digits' "$(sed -n 2p out)" \
  'from 2023-11-14T22:13:20.123456789Z to 2023-11-14T22:13:20.12345679Z'

# --- however late a call is, it is decided at its own time: nothing that came before has been forgotten ---
awk 'BEGIN {
  print "time,key"
  for (i = 0; i < 5000; i++) print 1000 + i * 10 ",k" i
  for (i = 0; i < 5000; i++) { print "1,n" i; print "3,n" i }
}' >late.csv
replay --json --limit 1/1s late.csv
is 'late calls of new keys' "$(counts '.algorithms[] | [.accepted, .refused]')" '[15000,0] [15000,0] [15000,0]'

# --- keys that a terminal or JSON cannot take ---
printf 'time,key\n1,"\033[31mred\\"\n1,"\033[31mred\\"\n1,\377\000\n1,\377\000\n1,z\303\266e\n1,z\303\266e\n1,\n1,\n' >keys.csv
replay --limit 1/60s --algorithm log keys.csv
is 'keys in the text are printable' "$(tail -n 5 out)" 'refused most by the log
  1  \x1b[31mred\\
  1  \xff\x00
  1  z\xc3\xb6e
  1  (no key)'
replay --json --limit 1/60s --algorithm log keys.csv
is 'keys in JSON are whole' "$(counts '.top')" '[{"key":"\u001b[31mred\\","refused":1},{"key":"\\xff\\x00","key_hex":"ff00","refused":1},{"key":"zöe","refused":1},{"key":"","refused":1}]'

# --- long lines and long keys ---
awk 'BEGIN {
  for (long = "x"; length(long) < 1000000; long = long long);
  print "a - - [08/Aug/2016:08:49:10 +0000] \"GET /" long "\" 200 1"
  print substr(long, 1, 65535) " - - [08/Aug/2016:08:49:10 +0000] \"GET /\" 200 1"
  print substr(long, 1, 65536) " - - [08/Aug/2016:08:49:10 +0000] \"GET /\" 200 1"
}' >long.log
replay --json --limit 1/60s long.log
is 'a line of a megabyte, a key of 65535 bytes, one too long' "$status $(counts "$head")" '0 [2,2,1,0]'
is 'and which' "$(cut -c 1-70 err)" 'weir replay: long.log:3: client longer than 65535 bytes: xxxxxxxxxxxxx'
head -n 1 long.log >one.log
replay --json --limit 1/60s one.log
is 'nothing but a line of a megabyte' "$status $(counts "$head")" '0 [1,1,0,0]'
head -c 1000000 /dev/zero >zero.log
replay --json --limit 1/60s zero.log
is 'a megabyte without a line end' "$status $(counts "$head")" '1 [0,0,0,0]'

# --- the format is found behind lines that cannot be read, and can be told ---
{
  printf -- '-- rotated --\n'
  cat offsets.log
} >behind.log
replay --json --limit 9/1s behind.log
is 'a log behind something else' "$status $(counts "$head")" '0 [3,1,1,0]'
replay --json --limit 9/1s --format csv offsets.log
is 'a log is no CSV' "$status $(head -n 1 err)" \
  '1 weir replay: offsets.log: no column of times (--time-field); the columns are: 10.0.0.1 - - [08/Aug/2016:16:49:16 +0800] "GET / HTTP/1.1" 2...'
replay --json --limit 9/1s --format clf framing.csv
is 'CSV is no log' "$status $(counts "$head")" '1 [0,0,4,0]'

finish
