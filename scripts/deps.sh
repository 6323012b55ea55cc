#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, where they are missing.
set -euo pipefail

packages=(
  gcc g++ libc6-dev clang libclang-rt-14-dev meson ninja-build pkg-config # to build
  liburcu-dev libck-dev                                                   # the library
  libcsv-dev libjansson-dev uthash-dev gnuplot-nox                        # the tool, the benchmark
  libhiredis-dev redis-server                                             # weir-redis and the server of its tests
  libuv1-dev libevent-dev                                                 # event loops of its tests alone
  libcriterion-dev valgrind libc6-dbg jq patch spin                       # the tests
)

if ! command -v dpkg-query >/dev/null; then
  echo "deps: this is not Debian: nothing was checked or installed. Needed, by their Debian names: ${packages[*]}" >&2
  exit 0
fi

# What cross-compiles for arm64, and runs that. On arm64 itself there is no need.
[ "$(dpkg --print-architecture)" = arm64 ] || packages+=(gcc-aarch64-linux-gnu qemu-user)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "deps: missing: ${missing[*]}" >&2
    echo 'deps: not root, and there is no sudo. As root, run: apt-get install' "${missing[@]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
  echo "deps: missing, and there is no apt-get to install them with: ${missing[*]}" >&2
  exit 1
fi

echo "deps: installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null; }
apt update
apt install --no-install-recommends "${missing[@]}"
