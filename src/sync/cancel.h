/*
 * A thread that is cancelled ends at the next cancellation point. Where it holds what others wait for, or is half way
 * through what only it can finish, that must not be one of weir's: such a stretch stands between these two. A request
 * that comes meanwhile is kept, and takes effect at a cancellation point of the host's. They nest.
 */
#ifndef WEIRI_SYNC_CANCEL_H
#define WEIRI_SYNC_CANCEL_H

#include <pthread.h>

/* What weiri_no_cancel_end, in the same thread, is to be given. */
static inline int weiri_no_cancel_begin(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void weiri_no_cancel_end(int before)
{
    int unused;
    pthread_setcancelstate(before, &unused); /* some C libraries take no NULL */
}

#endif
