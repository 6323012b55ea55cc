/*
 * machine: what figures were measured on and with.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_BENCH_MACHINE_H
#define WEIR_BENCH_MACHINE_H

typedef struct bench_machine {
    char cpu[128], arch[32], kernel[160], clocksource[32], huge_pages[16], time[32];
    const char *compiler, *flags, *buildtype, *commit, *version; /* of this program */
    long cores;
    double load;     /* average of the last minute, when the program began */
    double timer_ns; /* in every time of a single call */
} bench_machine;

bench_machine bench_machine_look(void);

#endif
