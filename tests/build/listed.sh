#!/bin/sh
# listed.sh SOURCE: every C file is named in its folder's meson.build: a test that nobody listed would never run.
set -eu
cd "$1"
failed=0
for file in $(find src bench examples tests -name '*.c'); do
  name=$(basename "$file" .c)
  folder=$(dirname "$file")
  # Entry points for tests are named a folder up; a program of tests/build is named in the script that compiles it.
  grep -qE "'$name(\\.c)?'" "$folder/meson.build" || grep -q "'${file#src/}'" src/meson.build ||
    grep -q "\\b$name\\.c\\b" "$folder"/*.sh 2>/dev/null || {
    echo "$file is in no list"
    failed=1
  }
done
exit $failed
