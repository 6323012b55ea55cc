#!/bin/sh
# install.sh SOURCE: weir is configured, built and installed with the needs of the library alone, and a program is built
# against what was installed: shared, and static.
set -eu
. "$(dirname "$0")/common.sh"
need meson ninja pkg-config
scratch

{
  meson setup --prefix=/opt/weir --libdir=lib -Dtests=disabled -Dbench=disabled -Dtools=disabled "$scratch/build" "$1"
  ninja -C "$scratch/build"
  DESTDIR=$scratch/root meson install -C "$scratch/build"
} >"$scratch/log" 2>&1 </dev/null || {
  cat "$scratch/log"
  exit 1
}

weir=$scratch/root/opt/weir
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$1/meson.build")
{
  (cd "$1" && printf '%s\n' include/weir/*.h)
  printf 'lib/%s\n' libweir.a libweir.so libweir.so.0 "libweir.so.$version" pkgconfig/weir.pc
} | sort >"$scratch/expected"
(cd "$weir" && find . ! -type d | sed 's,^\./,,' | sort) | diff "$scratch/expected" -

quoted="\"$version\""
pc() { PKG_CONFIG_PATH=$weir/lib/pkgconfig pkg-config --define-variable=prefix="$weir" "$@"; }

cp "$(dirname "$0")/consumer.c" "$scratch"
cd "$scratch"
# shellcheck disable=SC2046,SC2086 # several words
{
  $CC "-DEXPECTED_VERSION=$quoted" consumer.c -o shared $(pc --cflags --libs weir)
  LD_LIBRARY_PATH=$weir/lib ./shared
  echo 'shared: works'

  rm "$weir"/lib/libweir.so*
  $CC "-DEXPECTED_VERSION=$quoted" consumer.c -o static $(pc --cflags --libs --static weir)
  ./static
  echo 'static: works'
}
