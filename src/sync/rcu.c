#include "rcu.h"

#if !WEIRI_HOOKED

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cancel.h"

#if WEIRI_TSAN
char weiri_rcu_edge;
#endif

/* liburcu 0.13 picks membarrier at load time and calls it in every grace period; a seccomp filter may come later. */
bool weiri_rcu_can_wait(void)
{
    return !urcu_bp_has_sys_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool weiri_rcu_wait(void)
{
    if (!weiri_rcu_can_wait())
        return false;
    int cancel = weiri_no_cancel_begin(); /* liburcu polls with its locks held, and its caller holds the gate */
    urcu_bp_synchronize_rcu();
    weiri_no_cancel_end(cancel);
#if WEIRI_TSAN
    __tsan_acquire(&weiri_rcu_edge);
#endif
    return true;
}

/* liburcu 0.13 maps room for as many threads again when it has none: 1 MiB for some thousands. */
bool weiri_rcu_register(void)
{
    const size_t room = (size_t)1 << 20;
    void *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    munmap(memory, room);
    urcu_bp_register();
    return true;
}

void weiri_rcu_before_fork(void)
{
    urcu_bp_before_fork();
}

void weiri_rcu_after_fork_in_parent(void)
{
    urcu_bp_after_fork_parent();
}

void weiri_rcu_after_fork_in_child(void)
{
    urcu_bp_after_fork_child();
}

#endif
