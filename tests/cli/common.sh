# shellcheck shell=sh
# Sourced by the scripts of this folder, which get: PROGRAM SOURCE SANITIZERS.
program=$(realpath "$1") source=$(realpath "$2") sanitizers=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

# fail WORDS...: the test goes on, and fails in the end.
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# is WHAT GOT WANTED
is() {
  [ "$2" = "$3" ] || fail "$1
  got:    $2
  wanted: $3"
}

# replay ARGUMENT...: runs it; leaves ./out, ./err and $status.
replay() {
  status=0
  "$program" replay "$@" >out 2>err || status=$?
}

# counts JQ-PATH: of the JSON in ./out, on one line.
counts() { jq -c "$1" out | tr '\n' ' ' | sed 's/ $//'; }

finish() {
  [ "$failures" -eq 0 ] || printf '%d failed\n' "$failures"
  [ "$failures" -eq 0 ]
}

for tool in jq awk; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
