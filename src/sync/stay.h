/*
 * Staying loaded. A thread that has called weir has a destructor in liburcu, the fork handlers and the janitor are
 * code: were it unmapped by dlclose, the process would later jump into nothing. libweir.so is linked to stay (-z
 * nodelete); what libweir.a was linked into may be a plug-in that was not, so it is kept at run time.
 */
#ifndef WEIRI_SYNC_STAY_H
#define WEIRI_SYNC_STAY_H

#include <stdbool.h>

/* Is the object that this code is in the program itself, or linked to stay? */
bool weiri_stays_loaded(void);

/*
 * Keeps the object that this code is in, and what it depends on, from being unloaded. Does nothing, and takes no lock
 * of the loader's, in a program and in an object linked with -z nodelete; nothing either where there is no dlopen.
 */
void weiri_stay_loaded(void);

#endif
