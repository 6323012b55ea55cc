#include "stay.h"

#include <dlfcn.h>
#include <link.h>

#include "atomic.h"

/*
 * Weak: before glibc 2.34 they are in libdl, which nobody has to link for this, and not every C library has them.
 * dlopen is looked up, since the linker warns of it in every static program.
 */
#pragma weak dladdr
#pragma weak dlsym

/* The dynamic section of the object that this code is in; a static program has none. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

bool weiri_stays_loaded(void)
{
    if (!_DYNAMIC)
        return true;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_DEBUG || /* programs alone have it */
            (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & (DF_1_NODELETE | DF_1_PIE))))
            return true;
    return false;
}

static void stay(void)
{
    Dl_info here;
    if (weiri_stays_loaded() || !dlsym || !dladdr || !dladdr(_DYNAMIC, &here))
        return;
    void *(*open)(const char *name, int mode) = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");
    if (open)
        open(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); /* found by its name among those loaded */
}

/*
 * No pthread_once: the loader's lock would be waited for with the once taken, and a thread that comes here from a
 * constructor has that lock, and would wait for the once. To be kept twice does no harm.
 */
void weiri_stay_loaded(void)
{
    static weiri_a32 done;
    if (weiri_load_acquire_32(&done))
        return;
    stay();
    weiri_store_release_32(&done, 1);
}
