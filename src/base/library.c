/*
 * library.c - see library.h.
 */
#include "base/library.h"
#include <dlfcn.h>
#include <string.h>

static enum rc missing(const struct library *library, struct err *err)
{
    const char *why = dlerror();
    return err_set(err, RC_IO, "LIBRARY_MISSING",
                   "%s cannot be loaded: %s; install the package %s, or the one that has this "
                   "library on your system",
                   library->file, why != NULL ? why : "no reason given", library->package);
}

enum rc library_load(const struct library *library, struct err *err)
{
    /* Lazy, as it would be had the program been linked with it. */
    void *handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL)
        return missing(library, err);
    const struct library_function *function;
    for (function = library->functions; function->name != NULL; function++) {
        if (dlsym(handle, function->name) == NULL)
            return missing(library, err);
    }
    for (function = library->functions; function->name != NULL; function++) {
        void *address = dlsym(handle, function->name);
        memcpy(function->ret_pointer, &address, sizeof address);
    }
    return RC_OK;
}
