/* A plug-in that libweir.a is linked into, as unload.c loads it; it has nothing to add. */
#include <weir/weir.h>

const char *plugin_version(void);

const char *plugin_version(void)
{
    return weir_version();
}
