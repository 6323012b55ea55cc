#!/usr/bin/env bash
# Builds weir-bench. With arguments: runs it with them. Without: measures for about six minutes and writes the figures
# into docs/benchmarks.md and, where weir-bench-redis is built, docs/distributed.md, between their markers, and pictures
# into docs/benchmarks/. WEIR_BENCH_SECONDS is the time of measuring for each row (0.2; over Redis four times that); all
# else that takes time, filling tables above all, comes on top.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

configure build/bench cc -Dtests=disabled -Dbench=enabled -Dtools=disabled
ninja -C build/bench --quiet
program=build/bench/bench/weir-bench
[ $# -eq 0 ] || exec "$program" "$@"

seconds=${WEIR_BENCH_SECONDS:-0.2}
figures=build/bench/figures pages=(docs/benchmarks.md)
rm -rf "$figures"
mkdir -p "$figures/pictures" docs/benchmarks

# measure NAME ARGUMENT...: rows into NAME.json; pictures.
measure() {
  local name=$1
  shift
  printf '%s  weir-bench %s\n' "$(date +%T)" "$*"
  "$program" "$@" --seconds "$seconds" --json "$figures/$name.json" --plot "$figures/pictures" >"$figures/$name.txt"
}

measure targets targets
measure hot-key hot-key
measure many-keys many-keys --keys 1e3,1e4,1e5 --algorithm counter,log --key-len 8
measure million many-keys --keys 1e6 --algorithm counter --key-len 8
measure batch batch --keys 1e3,1e6 --batch 1,4,16,64 --algorithm counter
measure oversubscribed oversubscribed --algorithm counter,log
measure churn churn --keys 1e5 --threads 2 --algorithm counter
measure growth growth --keys 1e6 --algorithm counter
measure janitor janitor --subject weir,sharded --algorithm counter
measure memory memory
measure rules rules
redis=build/bench/bench/redis/weir-bench-redis
if [ -x "$redis" ] && command -v redis-server >/dev/null; then
  printf '%s  weir-bench-redis\n' "$(date +%T)"
  "$redis" --seconds "$(jq -n "4 * $seconds")" --json "$figures/redis.json" >"$figures/redis.txt"
  pages+=(docs/distributed.md)
else
  echo 'docs/distributed.md stays as it is: there is no redis-server, or no hiredis to build with'
fi

jq -s '{machine: (map(.machine) | min_by(.time)), rows: map(.rows) | add}' "$figures"/*.json >"$figures/all.json"

# Each part of a page stands between <!-- begin NAME --> and <!-- end NAME -->.
for page in "${pages[@]}"; do
  sed -n 's/^<!-- begin \(.*\) -->$/\1/p' "$page" | while read -r part; do
    jq -r --arg part "$part" -f scripts/bench-page.jq "$figures/all.json" >"$figures/$part.md"
  done
  awk -v figures="$figures" '
    /^<!-- end / { skip = 0 }
    !skip
    /^<!-- begin / { skip = 1; file = figures "/" $3 ".md"; while ((getline line < file) > 0) print line; close(file) }
  ' "$page" >"$figures/page.md"
  cp "$figures/page.md" "$page"
done

# The pictures that the page shows.
sed -n 's/.*(benchmarks\/\([^)]*\.svg\)).*/\1/p' "${pages[0]}" | while read -r picture; do
  cp "$figures/pictures/$picture" docs/benchmarks/
done
echo "${pages[*]} written; all tables: $figures/*.txt, as JSON: $figures/all.json"
