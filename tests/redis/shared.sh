#!/bin/sh
# shared.sh PROGRAM SOURCE: what examples/shared.sh shows is what the limit says.
set -eu
for tool in redis-server redis-cli; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
got=$("$2/examples/shared.sh" "$1")
wanted='east: ann: accepted, 4 left (by Redis)
west: ann: accepted, 3 left (by Redis)
east: ann: accepted, 2 left (by Redis)
west: ann: accepted, 1 left (by Redis)
east: ann: accepted, 0 left (by Redis)
west: ann: refused (by Redis)
west: ann: refused (Redis said so a moment ago)
west: bob: accepted, 4 left (by Redis)
east: ann: accepted, 1 left (by this process alone, Redis is not there)
east: ann: accepted, 0 left (by this process alone, Redis is not there)
east: ann: refused (by this process alone, Redis is not there)'
[ "$got" = "$wanted" ] || {
  printf 'got:\n%s\nwanted:\n%s\n' "$got" "$wanted"
  exit 1
}
