/*
 * A process whose kernel refuses a call, as under some sandboxes: for the rest of its life.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEIR_TESTS_SECCOMP_H
#define WEIR_TESTS_SECCOMP_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes the kernel answer a call with an error: this thread and those it starts, or more by the flags of seccomp(2).
 * False: it cannot be made so here. */
static inline bool refuse_call(unsigned call, int error, unsigned flags)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    if (flags == 0) /* prctl does the same, and valgrind lets it through */
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

/* False too where a tool stands between, or membarrier was not there before. */
static inline bool refuse_membarrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           refuse_call(SYS_membarrier, EPERM, 0) &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == -1 && errno == EPERM;
}

#endif
