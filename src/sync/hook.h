/*
 * Hooks for test builds (WEIRI_HOOKED): a watcher is told before every operation on a shared word, and may run another
 * thread there, or count. It also takes the place of RCU (rcu.h) and of waiting. In the library these are nothing at
 * all, which a test shows from the objects.
 */
#ifndef WEIRI_SYNC_HOOK_H
#define WEIRI_SYNC_HOOK_H

#ifndef WEIRI_HOOKED
#define WEIRI_HOOKED 0
#endif

enum weiri_access {
    WEIRI_LOAD,
    WEIRI_STORE,
    WEIRI_UPDATE, /* an atomic read-modify-write */
    WEIRI_PAUSE   /* no access: this thread waits for what another has to do */
};

#if WEIRI_HOOKED
void weiri_hook(enum weiri_access access, const void *place);
#define WEIRI_HOOK(access, place) weiri_hook(access, place)
#else
#define WEIRI_HOOK(access, place) ((void)0)
#endif

#endif
