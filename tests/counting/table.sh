#!/usr/bin/env bash
# table.sh TRACED LINES HOOKED: counts, and prints the tables of docs/cost-model.md.
# TRACED, LINES and HOOKED are the programs of this folder, built.
set -euo pipefail
[ $# -eq 3 ] || { echo 'usage: table.sh TRACED LINES HOOKED' >&2; exit 2; }
traced=$1 lines=$2 hooked=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

{
  "$traced" record |
    valgrind --tool=lackey --trace-mem=yes --log-fd=9 "$traced" replay 9>&1 >"$scratch/rows"
} | "$lines" "$traced" "$scratch/rows" >"$scratch/lines"
"$hooked" >"$scratch/operations"

# Rows of both, put together by their first two fields, in the order of the lines.
awk -F'\t' '
function sum(common, own) { gsub("-", "–", common); gsub("-", "–", own); return common " + " own }
function head(first, more) {
  printf "\n| %s | path | lines read | lines written | read-modify-writes |%s\n", first, more
  gsub(/[^|]+/, " --- ", more)
  printf "| --- | --- | --- | --- | --- |%s\n", more
}
NR == FNR { operations[$1 FS $2] = $3 "\t" $4 "\t" $6; next }
{
  key = $1 FS $2
  ours = key in operations
  if (ours != before || FNR == 1)
    if (ours)
      head("weir", " atomic loads | atomic stores | blocks allocated |")
    else
      head("baseline", "")
  before = ours
  printf "| %s | %s | %s | %s | %s |", $1, $2, sum($3, $4), sum($5, $6), sum($7, $8)
  if (ours) {
    split(operations[key], own, "\t")
    for (i = 1; i <= 3; i++) { gsub("-", "–", own[i]); printf " %s |", own[i] }
  }
  print ""
}' "$scratch/operations" "$scratch/lines"
