#!/bin/sh
# embed.sh NAME OUTPUT PART...: the parts, one after the other, as the C source of the script NAME, with its SHA-1.
set -eu
name=$1 output=$2
shift 2

sum=$(cat "$@" | sha1sum)
{
  printf '/* Made by the build. */\n#include "redis/script.h"\n\nstatic const char text[] =\n'
  cat "$@" | sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n"/'
  printf '    ;\n\nconst weiri_redis_script weiri_redis_script_%s = {text, sizeof text - 1, "%s"};\n' "$name" "${sum%% *}"
} >"$output"
