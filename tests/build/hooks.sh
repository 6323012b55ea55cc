#!/bin/sh
# hooks.sh SOURCE: in the library the hooks of src/sync/hook.h are nothing: its objects are, byte for byte, those of
# sources from which the hooks were taken out.
set -eu
. "$(dirname "$0")/common.sh"
need pkg-config cmp sed
scratch
cp -r "$1/src" "$scratch/without"
sed -i '/^ *WEIRI_HOOK(.*);$/d' "$scratch"/without/sync/*.[ch]
removed=$(diff -r "$1/src" "$scratch/without" | grep -c '^<.*WEIRI_HOOK(WEIRI_' || true)
[ "$removed" -ge 25 ] || {
  echo "only $removed hooks were found to take out"
  exit 1
}

options="-std=gnu11 -D_GNU_SOURCE -O2 -g0 -fPIC -ftls-model=initial-exec $(pkg-config --cflags liburcu-bp ck)"
[ "$(uname -m)" != x86_64 ] || options="$options -mcx16"
failed=0 compared=0
for file in "$1"/src/sync/*.c "$1"/src/table/*.c "$1"/src/limiter/*.c; do
  name=${file#"$1/src/"}
  [ "$name" != limiter/testing.c ] || continue
  for tree in "$1/src" "$scratch/without"; do
    # shellcheck disable=SC2086 # several words
    (cd "$tree" && $CC $options -I "$1/include" -c "$name" -o "$scratch/$(basename "$tree").o")
  done
  compared=$((compared + 1))
  cmp "$scratch/src.o" "$scratch/without.o" || {
    echo "$name: the hooks leave something behind"
    failed=1
  }
done
echo "$removed hooks taken out; $compared objects compared"
exit $failed
