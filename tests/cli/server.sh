# shellcheck shell=sh
# Sourced: a redis-server of the script's own, which ends with it, on a socket in ./redis: $url, $server (its process).
for tool in redis-server redis-cli; do
  command -v $tool >/dev/null || {
    echo "skipped: there is no $tool here"
    exit 77
  }
done
url=unix://$PWD/redis/socket server=

# asks COMMAND...: by redis-cli, not by what is tested.
asks() { redis-cli -s redis/socket "$@"; }

start_server() {
  rm -rf redis
  mkdir redis
  redis-server --port 0 --unixsocket "$PWD/redis/socket" --dir "$PWD/redis" --logfile log --save '' --appendonly no \
    --daemonize no >/dev/null &
  server=$!
  # A process tells nobody when its socket is there.
  until asks PING >/dev/null 2>&1; do
    kill -0 "$server" 2>/dev/null || {
      echo "redis-server does not start: $(tail -n 3 redis/log 2>/dev/null)"
      exit 1
    }
  done
}

stop_server() {
  kill -KILL "$server" 2>/dev/null || true
}

trap 'stop_server; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT PIPE TERM
start_server
