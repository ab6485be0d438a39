/*
 * library.h - shared libraries that are loaded when they are first needed.
 *
 * For large libraries that only some processes use: a server on SQLite that makes no calls to other
 * servers has neither libcurl nor libpq in memory, nor the thirty libraries below them.
 * A library stays loaded until the process ends.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H
#include "base/rc.h"
#include <pthread.h>
#include <stdbool.h>

struct library_function {
    const char *name;
    void *ret_pointer; /* Where its address goes: a function pointer. */
};

struct library {
    const char *file;                         /* With the version that the headers are of. */
    const char *package;                      /* The package to install; for the error message. */
    const struct library_function *functions; /* Up to one without a name. */
    enum rc (*start)(struct err *err);        /* NULL, or: called before its first use. */
};

/* The result of loading; begins as {PTHREAD_MUTEX_INITIALIZER}, static: one for each library. */
struct library_once {
    pthread_mutex_t lock;
    bool tried;
    enum rc rc;
    struct err err;
};

/* The first call loads it, later ones return the same result.  RC_IO, LIBRARY_MISSING: the file
   cannot be loaded, or is too old to have every function.  err may be NULL. */
MUST_USE enum rc library_load(const struct library *library, struct library_once *once,
                              struct err *err);
#endif
