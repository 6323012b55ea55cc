#!/usr/bin/env bash
# page.sh check|write PAGE TRACED LINES HOOKED: are the tables of the page, between its two marks, what is counted? Or
# puts them there. The last three are the programs of this folder, built.
set -euo pipefail
[ $# -eq 5 ] || { echo 'usage: page.sh check|write PAGE TRACED LINES HOOKED' >&2; exit 2; }
what=$1 page=$2
shift 2
command -v valgrind >/dev/null || { echo 'there is no valgrind to see all accesses with'; exit 77; }

begin='<!-- counted: begin -->' end='<!-- counted: end -->'
counted=$(mktemp) made=$(mktemp)
trap 'rm -f "$counted" "$made"' EXIT
"$(dirname "$0")/table.sh" "$@" >"$counted"

# That of a refusal, beyond the first that is worked out, nothing is written, is what the page is for.
again='refused, (again|late|a larger cost|two costs in turn|identity given|above the limit, new key|batch of 32)'
if grep -E "^\| [^|]+ \| $again" "$counted" | grep -vE 'mutex' | grep -vE '\| 0 \+ 0 \| 0 \+ 0 \|'; then
  echo 'FAILED: a refusal that is covered writes'
  exit 1
fi
[ "$(grep -cE "^\| (counter|log|buckets)[^|]* \| $again" "$counted")" -ge 30 ] || {
  echo 'FAILED: rows are missing'
  exit 1
}

awk -v begin="$begin" -v end="$end" -v counted="$counted" '
$0 == begin { print; while ((getline line < counted) > 0) print line; print ""; inside = found = 1 }
$0 == end { inside = 0 }
!inside { print }
END { exit !found || inside }' "$page" >"$made" || { echo "FAILED: $page has not both marks"; exit 1; }

case $what in
write) cat "$made" >"$page" ;;
check)
  diff -u "$page" "$made" || {
    echo "FAILED: $page does not tell what is counted; scripts/counts.sh writes it"
    exit 1
  }
  echo "$(grep -c '^|' "$counted") lines of tables are what is counted"
  ;;
*) exit 2 ;;
esac
