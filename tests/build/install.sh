#!/bin/sh
# install.sh SOURCE: weir is configured, built and installed with the needs of the libraries alone, and a program is
# built against what was installed: shared, and static. The same for libweir-redis, where hiredis is here.
set -eu
. "$(dirname "$0")/common.sh"
need meson ninja pkg-config
scratch

redis=disabled
! pkg-config --exists hiredis || redis=enabled

{
  meson setup --prefix=/opt/weir --libdir=lib -Dtests=disabled -Dbench=disabled -Dtools=disabled -Dredis=$redis \
    "$scratch/build" "$1"
  ninja -C "$scratch/build"
  DESTDIR=$scratch/root meson install -C "$scratch/build"
} >"$scratch/log" 2>&1 </dev/null || {
  cat "$scratch/log"
  exit 1
}

weir=$scratch/root/opt/weir
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$1/meson.build")
files() { printf 'lib/%s\n' "lib$1.a" "lib$1.so" "lib$1.so.0" "lib$1.so.$version" "pkgconfig/$1.pc"; }
{
  (cd "$1" && printf '%s\n' include/weir/*.h | if [ $redis = enabled ]; then cat; else grep -v redis; fi)
  files weir
  [ $redis = disabled ] || files weir-redis
} | sort >"$scratch/expected"
(cd "$weir" && find . ! -type d | sed 's,^\./,,' | sort) | diff "$scratch/expected" -

quoted="\"$version\""
pc() { PKG_CONFIG_PATH=$weir/lib/pkgconfig pkg-config --define-variable=prefix="$weir" "$@"; }

cp "$(dirname "$0")/consumer.c" "$(dirname "$0")/consumer_redis.c" "$scratch"
cd "$scratch"
# shellcheck disable=SC2046,SC2086 # several words
{
  $CC "-DEXPECTED_VERSION=$quoted" consumer.c -o shared $(pc --cflags --libs weir)
  LD_LIBRARY_PATH=$weir/lib ./shared
  [ $redis = disabled ] || {
    $CC consumer_redis.c -o shared_redis $(pc --cflags --libs weir-redis)
    LD_LIBRARY_PATH=$weir/lib ./shared_redis
  }
  echo 'shared: works'

  rm "$weir"/lib/libweir*.so*
  $CC "-DEXPECTED_VERSION=$quoted" consumer.c -o static $(pc --cflags --libs --static weir)
  ./static
  [ $redis = disabled ] || {
    $CC consumer_redis.c -o static_redis $(pc --cflags --libs --static weir-redis)
    ./static_redis
  }
  echo "static: works, redis $redis"
}
