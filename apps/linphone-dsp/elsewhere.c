/*
 * Has mediastreamer2 load its plugins from the directory in MEDIASTREAMER_PLUGINS instead of the
 * system's, which only the administrator may write to and which all clients of the machine share.
 * Named in LD_PRELOAD, its function is found before mediastreamer2's, which it calls.
 */
#include <dlfcn.h>
#include <mediastreamer2/msfactory.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void ms_factory_init_plugins(MSFactory *factory)
{
    void *found = dlsym(RTLD_NEXT, "ms_factory_init_plugins");
    const char *directory = getenv("MEDIASTREAMER_PLUGINS");
    void (*original)(MSFactory *);
    if (directory != NULL)
        ms_factory_set_plugins_dir(factory, directory);
    memcpy(&original, &found, sizeof original);
    if (original != NULL)
        original(factory);
}
