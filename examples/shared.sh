#!/bin/sh
# shared.sh [PROGRAM]: two processes of examples/shared.c, east and west, over a redis-server of their own, killed in
# the end. PROGRAM is where `make` puts it, if it is not given.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../build/release/examples/shared}")
[ -x "$program" ] || {
  echo "shared.sh: there is no program $program: \"make\" builds it, where hiredis is" >&2
  exit 1
}
command -v redis-server >/dev/null || {
  echo 'shared.sh: there is no redis-server here' >&2
  exit 1
}
folder=$(mktemp -d)
server=
trap 'kill -KILL $server 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT PIPE TERM
cd "$folder"

redis-server --port 0 --unixsocket "$folder/redis" --dir "$folder" --logfile log --save '' --daemonize no >/dev/null &
server=$!
until redis-cli -s redis PING >/dev/null 2>&1; do kill -0 "$server"; done

# Each reads questions from one pipe and writes answers into another.
mkfifo east.ask east.say west.ask west.say
"$program" east "unix://$folder/redis" <east.ask >east.say &
exec 3>east.ask 4<east.say
"$program" west "unix://$folder/redis" <west.ask >west.say 3>&- 4<&- &
exec 5>west.ask 6<west.say

# Prints the answer.
east() { echo "$1" >&3 && read -r line <&4 && echo "$line"; }
west() { echo "$1" >&5 && read -r line <&6 && echo "$line"; }

east ann
west ann
east ann
west ann
east ann
west ann # the sixth
west ann
west bob

kill -KILL "$server"
wait "$server" 2>/dev/null || true
east ann
east ann
east ann
