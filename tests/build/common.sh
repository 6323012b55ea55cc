# shellcheck shell=sh
# Sourced by the scripts of this folder.

# need TOOL...: skips the test, saying so, where a tool is absent.
need() {
  for tool; do
    command -v "$tool" >/dev/null || {
      echo "skipped: there is no $tool here"
      exit 77
    }
  done
}

# A folder of the test's own, gone when it ends.
scratch() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
}
