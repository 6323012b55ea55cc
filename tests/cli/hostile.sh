#!/bin/sh
# hostile.sh PROGRAM SOURCE SANITIZERS: files made to hurt: bytes that are no text, numbers past every range, streams
# without end. What can be read is read, the rest is counted, and memory follows what was kept, not what came by.
set -eu
. "$(dirname "$0")/common.sh"

# --- every byte, every pair of bytes, and a compressed file ---
awk 'BEGIN { for (i = 0; i < 256; i++) for (j = 0; j < 256; j++) printf "%c%c", i, j }' >bytes.bin
head -c 1000000 /dev/zero | gzip -n >zeros.gz
for file in bytes.bin zeros.gz; do
  for format in '' '--format clf' '--format csv'; do
    # shellcheck disable=SC2086 # two words or none
    replay --json --limit 1/1s $format "$file"
    is "$file $format" "$status $(counts '.records')" '1 0'
    is "$file $format: nothing but text in the messages" "$(LC_ALL=C tr -d '\n -~' <err | wc -c | tr -d ' ')" 0
    is "$file $format: short messages" "$(awk 'length > 500' err)" ''
  done
done

# --- numbers ---
cat >numbers.csv <<'END'
time,key,cost
18446744073709551615,a,1
18446744073709551616,a,1
99999999999999999999999999999999999999,a,1
9223372036.854775807,a,1
9223372036.854775808,a,1
1e400,a,1
nan,a,1
inf,a,1
0x10,a,1
-0,a,1
1,a,18446744073709551615
1,a,99999999999999999999999999999999999999
1,a,0x10
1,a,
END
replay --json --limit 1/1s numbers.csv
is 'two lines have a time and a cost' "$status $(counts '[.records, .malformed]')" '0 [2,12]'
cat >numbers.log <<'END'
a - - [08/Aug/99999:16:49:16 +0000] "GET /" 200 1
a - - [08/Aug/2016:16:49:16 +9999] "GET /" 200 1
a - - [99/Aug/2016:99:99:99 +0000] "GET /" 200 1
a - - [08/Aug/2016:16:49:16 +0000] "GET /" 99999999999999999999999999 1
a - - [08/Aug/2016:16:49:16 +0000] "GET /" 200 18446744073709551616
a - - [08/Aug/2016:16:49:16 +0000] "GET /" 200 18446744073709551615
END
replay --json --limit 1/1s --format clf numbers.log
is 'one line has a time and a size' "$status $(counts '[.records, .malformed]')" '0 [1,5]'

# --- streams, with 60 MB of addresses in all ---
if [ "$sanitizers" != none ]; then
  echo 'note: a sanitizer needs all addresses, so memory was not bounded'
  finish
  exit
fi
# bounded FORMAT
bounded() { (ulimit -v 60000 && exec "$program" replay --json --limit 1/1s --format "$1" -) >out 2>err; }
# little WHAT WANTED COMMAND FORMAT: replays what the command prints.
little() {
  status=0
  sh -c "$3" | bounded "$4" || status=$?
  is "$1" "$status $(counts '[.records, .malformed]') $(tail -n 1 err)" "$2"
}
none='weir replay: no record was found'
little 'lines that are no log' "1 [0,4000000] $none" "yes 'x - - [no] \"GET /\"' | head -n 4000000" clf
little 'rows that are no record' "1 [0,8000000] $none" "echo time,key; yes 'x,y' | head -n 8000000" csv
little 'empty lines' "1 [0,0] $none" "yes '' | head -n 40000000" clf
little 'lines as long as they may be, again and again' "1 [0,1000] $none" \
  "line=\$(head -c 100000 /dev/zero | tr '\\000' x); for i in \$(seq 1000); do echo \"\$line\"; done" clf
# A bomb: a small file that is one line without end. It is told, not died of.
head -c 200000000 /dev/zero | gzip -1n >bomb.gz
for format in clf csv; do
  status=0
  gzip -dc bomb.gz 2>/dev/null | bounded $format || status=$?
  is "a bomb, $format" "$status $(cat err)" '1 weir replay: out of memory'
done

finish
