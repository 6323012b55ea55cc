#include "spinlock.h"

#include <ck_pr.h>
#include <sched.h>
#include <time.h>

#include "cancel.h"

enum { SPINS = 10, YIELDS = 16 }; /* 2^10 stalls: some microseconds, more than any holder works when it runs */

void weiri_backoff(unsigned attempt)
{
    WEIRI_HOOK(WEIRI_PAUSE, NULL);
    if (WEIRI_HOOKED)
        return; /* the watcher has let others run */
    if (attempt < SPINS) {
        for (unsigned i = 0; i < 1U << attempt; i++)
            ck_pr_stall();
    } else if (attempt < SPINS + YIELDS) {
        sched_yield();
    } else {
        /* The holder is not on a processor, and yielding does not help it on (a real-time spinner): sleep. That is a
         * cancellation point, where a thread that holds something must not end. */
        int cancel = weiri_no_cancel_begin();
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        weiri_no_cancel_end(cancel);
    }
}

void weiri_spinlock_wait(weiri_spinlock *lock)
{
    for (unsigned attempt = 0; !weiri_spinlock_try(lock); attempt++)
        weiri_backoff(attempt);
}
