# shellcheck shell=bash
# Sourced. configure DIRECTORY COMPILER OPTION...: makes or refreshes a build directory; prints only when that fails.
configure() {
  local directory=$1 compiler=$2 again=() log
  shift 2
  [ ! -e "$directory/build.ninja" ] || again=(--reconfigure)
  log=$(CC=$compiler meson setup "${again[@]}" "$@" "$directory" </dev/null 2>&1) || {
    printf '%s\n' "$log"
    return 1
  }
}
