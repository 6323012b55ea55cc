#!/bin/sh
# manners.sh ARCHIVE: a library of ours calls nothing that prints, ends the process or takes signals (guarantee H).
set -eu
. "$(dirname "$0")/common.sh"
need nm
scratch

prints='(v|f|vf|d|vd)?printf|puts|fputs|putchar|putc|fputc|fwrite|write|writev|perror|psignal|v?warnx?|v?errx?|syslog'
prints="$prints|stdout|stderr|(v|f|vf|d|vd)?printf_chk"
ends='abort|exit|_exit|_Exit|quick_exit|__assert_fail|__assert_perror_fail|raise|kill|pthread_kill|tgkill|longjmp'
signals='signal|sigaction|sigaltstack|alarm|setitimer'

nm --undefined-only "$1" | awk 'NF == 2 { print $2 }' | sort -u >"$scratch/calls"
[ -s "$scratch/calls" ]
! grep -xE "$prints|__($prints)|$ends|$signals" "$scratch/calls"
