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

static enum rc load(const struct library *library, struct err *err)
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
    return library->start != NULL ? library->start(err) : RC_OK;
}

enum rc library_load(const struct library *library, struct library_once *once, struct err *err)
{
    (void)pthread_mutex_lock(&once->lock);
    if (!once->tried)
        once->rc = load(library, &once->err);
    once->tried = true;
    (void)pthread_mutex_unlock(&once->lock);
    if (once->rc != RC_OK && err != NULL)
        *err = once->err;
    return once->rc;
}
