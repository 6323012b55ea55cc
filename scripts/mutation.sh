#!/usr/bin/env bash
# Breaks src on purpose, one break after the other, and shows that the tests see each.
#   scripts/mutation.sh [NAME...]     NAME: of a patch in tests/mutation, without .patch (default: all)
# Works on a copy of the tree under build/mutation; tests/mutation/README.md tells how a patch reads. First the unbroken
# copy must pass every test that is named, else "caught" would mean nothing. A test that does not end is a test that
# failed: it is given ten times as long as it took unbroken, and a minute at least.
# Exit status: 1 where a break survived, or a patch could not be tried; 2 where none could.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/configure.sh

patches=tests/mutation
work=$PWD/build/mutation
tree=$work/tree
mkdir -p "$tree"

command -v patch >/dev/null || {
  echo 'mutation.sh: there is no patch here: "make deps" installs it' >&2
  exit 2
}
if [ $# -eq 0 ]; then
  for file in "$patches"/*.patch; do set -- "$@" "$(basename "$file" .patch)"; done
fi
for name; do
  [ -e "$patches/$name.patch" ] || {
    echo "mutation.sh: no patch is called $name" >&2
    exit 2
  }
done

# field NAME FIELD: what the head of a patch says, a line for each time.
field() { sed -n "/^--- /q; s/^$2: //p" "$patches/$1.patch"; }
build_of() { field "$1" Build | grep . || echo gcc; }
files_of() { sed -n 's,^+++ b/,,p' "$patches/$1.patch"; }
# The tests that must see it, or where none does the ones that were tried: programs, with their arguments if any.
tests_of() {
  field "$1" Caught-by
  field "$1" Tried
}

# The copy is made the same as the tree; what is the same already keeps its time, so that little is built again.
synchronise() {
  local file
  find . -name .git -prune -o -path ./build -prune -o -path "./$patches" -prune -o -type f -print | sort >"$work/files"
  (cd "$tree" && find . -type f | sort) | comm -13 "$work/files" - | while read -r file; do rm "$tree/$file"; done
  while read -r file; do
    cmp -s "$file" "$tree/$file" || {
      mkdir -p "$(dirname "$tree/$file")"
      cp "$file" "$tree/$file"
    }
  done <"$work/files"
  # shellcheck disable=SC2046 # names without spaces
  (cd "$tree" && cksum $(grep -vE '^./(docs|scripts)/|\.md$' "$work/files")) | cksum | cut -d' ' -f1 >"$work/sum"
}

# prepare BUILD: configures, and notes the commands of all tests.
prepare() {
  local options='-Doptimization=1'
  [ "$1" != gcc-tsan ] || options="$options -Db_sanitize=thread -Db_lundef=false"
  # shellcheck disable=SC2086 # the options are several words
  (cd "$tree" && configure "$work/$1" gcc -Dtests=enabled -Dbench=disabled $options)
  meson introspect --tests "$work/$1" |
    jq -r --arg here "$work/$1" '.[] | [(.cmd[0] | sub(".*/"; "")), .workdir // $here, .cmd[]] | join(" ")' \
      >"$work/$1.tests"
}

# command_of BUILD TEST [ARGUMENT...]: where to run it, and the command: meson's, whose arguments begin with these; where
# there is none, the program with these alone.
command_of() {
  local build=$1 test=$2 command
  shift 2
  command=$(sed -n "s,^$test ,,p" "$work/$build.tests" | grep -E -m 1 -e "^[^ ]+ [^ ]+${*:+ $*}( |$)") ||
    command=$(sed -n "s,^$test ,,p" "$work/$build.tests" | cut -d' ' -f1,2 | head -n 1)${*:+ $*}
  echo "$command"
}

# make_needed BUILD COMMAND: builds what the command names of the build directory.
make_needed() {
  local word targets=()
  for word in $2; do
    word=${word#"$work/$1/"}
    case $word in
    /*) ;;
    */*) targets+=("$word") ;;
    esac
  done
  [ ${#targets[@]} -gt 0 ] || return 0
  nice ninja -C "$work/$1" -j "${JOBS:-2}" --quiet "${targets[@]}" >"$work/ninja.log" 2>&1
}

# run BUILD COMMAND SECONDS: exit status of the test, 124 where it did not end.
run() {
  local scale=${WEIR_TEST_SCALE:-100}
  [ "$1" != gcc-tsan ] || scale=10
  (
    cd "${2%% *}"
    export WEIR_TEST_SCALE=$scale TSAN_OPTIONS=$tsan_options
    # shellcheck disable=SC2086 # the command is several words
    exec timeout "$3" ${2#* } >"$work/test.log" 2>&1 </dev/null
  )
}
tsan_options=halt_on_error=1:second_deadlock_stack=1:suppressions=$tree/tests/tsan.supp

# pass BUILD TEST: shows that the unbroken tree passes it; what was shown for this very tree is not shown again.
pass() {
  local build=$1 test=$2 command begin sum
  sum=$(<"$work/sum")
  if grep -qxE "$sum [0-9]+ $build $test" "$work/passed" 2>/dev/null; then return; fi
  # shellcheck disable=SC2086 # a test and its arguments
  command=$(command_of "$build" $test)
  [ -n "$command" ] || {
    echo "no test of $build is called $test"
    exit 2
  }
  make_needed "$build" "$command" || {
    cat "$work/ninja.log"
    exit 2
  }
  begin=$SECONDS
  run "$build" "$command" 1200 || {
    echo "$build, unbroken: $test does not pass ($?)"
    tail -n 20 "$work/test.log"
    exit 2
  }
  echo "$sum $((SECONDS - begin)) $build $test" >>"$work/passed"
}

# patience BUILD TEST: seconds that a test is given.
patience() {
  local took
  took=$(grep -xE "$(<"$work/sum") [0-9]+ $1 $2" "$work/passed" | tail -n 1 | cut -d' ' -f2)
  echo $((took * 10 > 60 ? took * 10 : 60))
}

# attempt NAME: tries a patch that is applied; says what came of it. False: nobody saw it.
attempt() {
  local build test command seconds status
  build=$(build_of "$1")
  while read -r test; do
    # shellcheck disable=SC2086 # a test and its arguments
    command=$(command_of "$build" $test)
    make_needed "$build" "$command" || {
      echo 'does not compile'
      return
    }
    seconds=$(patience "$build" "$test")
    status=0
    run "$build" "$command" "$seconds" || status=$?
    cp "$work/test.log" "$work/$1.log"
    case $status in
    0 | 77) ;;
    124)
      echo "caught by $test, which did not end within $seconds s"
      return
      ;;
    *)
      echo "caught by $test"
      return
      ;;
    esac
  done < <(tests_of "$1")
  echo SURVIVED
}

# try NAME: applies, tries, undoes; the verdict is the last line of output.
try() {
  local file verdict
  if patch --quiet --force --fuzz=0 --no-backup-if-mismatch -r - -p1 -d "$tree" <"$patches/$1.patch" \
    >"$work/$1.log" 2>&1; then
    verdict=$(attempt "$1")
  else
    verdict='does not apply'
  fi
  files_of "$1" | while read -r file; do cp "$file" "$tree/$file"; done
  echo "$verdict"
}

synchronise
for build in $(for name; do build_of "$name"; done | sort -u); do prepare "$build"; done
for name; do
  tests_of "$name" | while read -r test; do printf '%s %s\n' "$(build_of "$name")" "$test"; done
done | sort -u >"$work/wanted"
echo "$(wc -l <"$work/wanted") tests are named; the unbroken tree passes them:"
while read -r build test; do pass "$build" "$test"; done <"$work/wanted"
echo 'it does'

caught=0 survivors=0 wrong=0
for name; do
  verdict=$(try "$name")
  if [ -n "$(field "$name" Survives)" ]; then
    case $verdict in
    SURVIVED) survivors=$((survivors + 1)) verdict='survives, as it says' ;;
    *) wrong=$((wrong + 1)) verdict="$verdict, but the patch says that it survives" ;;
    esac
  else
    case $verdict in
    caught*) caught=$((caught + 1)) ;;
    *) wrong=$((wrong + 1)) ;;
    esac
  fi
  printf '%-32s %s\n' "$name" "$verdict"
done
printf '\n%d breaks: %d caught, %d survive for a reason, %d wrong\n' $# "$caught" "$survivors" "$wrong"
[ "$wrong" -eq 0 ]
