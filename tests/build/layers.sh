#!/bin/sh
# layers.sh SOURCE: includes point one way,
#     types.h <- window <- limiter -> table -> sync
# what stands on the public headers alone includes nothing else of the project, and only src/sync names a memory order,
# an atomic operation or an RCU flavour. Mutexes, where a thread may sleep, are for sync and limiter.
set -eu
cd "$1"
failed=0

# complain FOLDER REASON: whatever comes in is an offence.
complain() {
  if grep .; then
    echo "  ^ $1: $2"
    failed=1
  fi
}

# lines FOLDER PATTERN: the lines of C that match.
lines() { grep -rnE --include='*.[ch]' "$2" "$1" || true; }

# inside FOLDER OTHER...: files there include, of the project, their own folder and what else is named (patterns).
inside() {
  folder=$1
  shift
  allowed="[a-z_0-9]+\\.h|$(basename "$folder")/[a-z_0-9]+\\.h"
  for other; do allowed="$allowed|$other\\.h"; done
  lines "$folder" '^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<weir/)' |
    grep -vE "include[[:space:]]*[<\"](\\.\\./)?($allowed)[>\"]" >"$scratch" || true
  complain "$folder" "includes only its own and: $*" <"$scratch"
}

scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

inside src/window 'weir/types'
inside src/table 'weir/types' 'sync/[a-z_0-9]+'
inside src/sync 'weir/types'
inside src/limiter 'weir/[a-z]+' '(window|table|sync)/[a-z_0-9]+'
# The tool names keys in Redis as libweir-redis does, and connects as it does.
inside src/cli 'weir/[a-z]+' 'redis/(key|link|rules)'
for folder in include/weir src/redis; do inside "$folder" 'weir/[a-z]+'; done

orders='memory_order|\b__(atomic|sync|tsan)_|\batomic_(load|store|exchange|compare|fetch|thread|signal|flag|init)'
flavours='\brcu_|\burcu_|\bcds_|\bcmm_|\buatomic_|\bck_[a-z]+_|include[[:space:]]*[<"](stdatomic|urcu|ck_)'
for folder in src/window src/table src/limiter src/cli src/redis; do
  lines "$folder" "$orders|$flavours" >"$scratch"
  complain "$folder" 'only src/sync names an atomic operation, a memory order or an RCU flavour' <"$scratch"
done
for folder in src/window src/table; do
  lines "$folder" '\bpthread_' >"$scratch"
  complain "$folder" 'has nothing to do with threads' <"$scratch"
done
exit $failed
