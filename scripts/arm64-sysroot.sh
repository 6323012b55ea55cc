#!/usr/bin/env bash
# Makes build/arm64-sysroot: the libraries and headers for a build for arm64, from Debian's own arm64 packages. They are
# fetched by an apt-get with lists, status and cache of its own and unpacked, not installed: nothing of the machine
# changes, and no root is needed.
#
# Exit status: 0 ready, 77 not possible here, for the reason that is printed; 1 where that should not be (CI=true).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  libc6-dev liburcu-dev libck-dev      # the library
  libcriterion-dev libjansson-dev      # the tests
  libcsv-dev uthash-dev zlib1g-dev     # the tool, the benchmark
)
sysroot=$PWD/build/arm64-sysroot
new=$sysroot.new

# lacking REASON: CI has to have what is lacking.
lacking() {
  if [ "${CI:-}" = true ]; then
    echo "failed: $1"
    exit 1
  fi
  echo "skipped: $1"
  exit 77
}

case $(uname -m) in
aarch64 | arm64)
  echo 'skipped: this machine is arm64 itself, so the other runs are what this one would be'
  exit 77
  ;;
esac
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v "$tool" >/dev/null || lacking "there is no $tool here: make deps installs it"
done
made_of="$sysroot: ${packages[*]}"
[ "$(cat "$sysroot/made-of" 2>/dev/null)" != "$made_of" ] || exit 0
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || lacking "this is not Debian: there is no $tool to get arm64 packages with"
done

rm -rf "$sysroot" "$new"
mkdir -p "$new"/apt/state/lists/partial "$new"/apt/cache/archives/partial "$new/usr/lib"
: >"$new/apt/status" # as if nothing were installed, so that all that is needed is fetched
fetch() {
  apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none \
    -o Acquire::Retries=3 -o Dir::State="$new/apt/state" -o Dir::State::status="$new/apt/status" \
    -o Dir::Cache="$new/apt/cache" -o Dir::Log="$new/apt" -o APT::Sandbox::User="$(id -un)" "$@" </dev/null >"$new/apt/said" 2>&1 || {
    tail -n 20 "$new/apt/said" >&2
    lacking 'apt-get cannot fetch the arm64 packages (offline?)'
  }
}
fetch update
fetch install --download-only --no-install-recommends "${packages[@]}"

ln -s usr/lib "$new/lib" # some packages still have files in /lib
for package in "$new"/apt/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x --no-same-owner --keep-directory-symlink --exclude=./usr/share --exclude=./etc -C "$new"
done
rm -rf "$new/apt"
# Links to absolute names would lead into the machine's own /lib.
find "$new" -lname '/*' -printf '%p\n' | while read -r link; do
  ln -sfr "$new$(readlink "$link")" "$link"
done
printf "[constants]\nsysroot = '%s'\n" "$sysroot" >"$new/sysroot.ini"
printf '%s\n' "$made_of" >"$new/made-of"
mv "$new" "$sysroot"
