#!/bin/sh
# run.sh MODEL.pml ok|fail|live|livelock "FLAGS" ["LARGER FLAGS" ["ORDER"]]: looks at every run of a model, and compares
# what is found. ORDER: options of pan.c for the order in which processes and their steps are tried.
#
# ok: the search is complete, and no assertion fails and no process is left waiting. fail: an assertion does, or one is.
# live: in no run do processes step for ever without one of them coming by a label `progress` again and again, however
# unfair the scheduler; and no assertion fails. livelock: there is such a run.
# Anything else (out of memory, too deep, a model that does not compile) fails the test in both cases.
# The larger flags are used in place of the others where WEIR_TEST_SCALE is 1000 or more; MODEL_MEMORY: most megabytes.
set -eu
[ -r "$1" ] || {
  echo "run.sh: there is no model $1"
  exit 1
}
case $2 in
ok | fail | live | livelock) ;;
*)
  echo "run.sh: $2: a model is expected ok, fail, live or livelock"
  exit 1
  ;;
esac
model=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
expected=$2 flags=$3 order=${5:-} memory=${MODEL_MEMORY:-1900}
if [ "${WEIR_TEST_SCALE:-100}" -ge 1000 ] && [ -n "${4:-}" ]; then
  flags=$4 memory=${MODEL_MEMORY:-18000}
fi
cc=${CC:-cc}

for tool in spin "${cc%% *}"; do
  command -v "$tool" >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# shellcheck disable=SC2086 # several words
if ! spin $flags -a "$model" >spin.out 2>&1 || [ ! -s pan.c ]; then
  cat spin.out
  exit 1
fi
# The compiler's time counts: -Og takes a third of what -O1 takes for it, and the search is as fast.
level=-Og search=-DSAFETY loops= hash_bits=20
case $expected in
ok) hash_bits=24 ;;
live) search='-DNP -DNOFAIR' loops=-l ;;
livelock) search='-DNP -DNOFAIR' loops=-l level=-O0 ;; # found soon
fail) level=-O0 ;;
esac
# shellcheck disable=SC2086
$cc $level -w $search $order -DCOLLAPSE -DVECTORSZ=2048 "-DMEMLIM=$memory" pan.c -o pan >cc.out 2>&1 || {
  cat cc.out
  exit 1
}
# -w: the hash table's size to begin with; it grows, which takes a quarter of a long search's time. On large pages,
# where the kernel has them for who asks, a search is a tenth faster.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
# shellcheck disable=SC2086
./pan $loops -m100000 "-w$hash_bits" -n >pan.out 2>&1 || true
grep -E '^pan:|^Warning|errors:|states, stored|depth reached|out of memory|too small' pan.out || true

found=unfinished
if grep -qE '^pan:1?: ?.*(assertion violated|invalid end state)' pan.out; then
  found=fail
elif grep -qE '^pan:1?: ?non-progress cycle' pan.out; then
  found=livelock
elif grep -q 'errors: 0' pan.out && ! grep -qE 'Search not completed|out of memory|too small|truncated' pan.out; then
  found=ok
  [ -z "$loops" ] || found=live
fi
[ "$found" = "$expected" ] || {
  echo "$(basename "$model") $flags: expected $expected, found $found"
  cat pan.out
  exit 1
}
