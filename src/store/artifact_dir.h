/*
 * artifact_dir.h - the directory of content-addressed files, between store.c and artifacts.c.
 */
#ifndef STORE_ARTIFACT_DIR_H
#define STORE_ARTIFACT_DIR_H
#include "base/rc.h"
#include <pthread.h>
#include <stdatomic.h>

struct store;

/* The directories DIR/00 to DIR/ff: true, once this process has made that one durable. */
enum { ARTIFACT_SHELVES = 256 };
struct artifact_shelves {
    atomic_bool lasts[ARTIFACT_SHELVES];
    /* While a content gets its name, is put anew, or is dropped for its age: one that was just put
       is not dropped. */
    pthread_mutex_t lock;
};
struct artifact_shelves *store_artifact_shelves(struct store *store);

/* Makes it where it is missing; what an earlier process left half-written is removed. */
MUST_USE enum rc artifact_dir_prepare(const char *dir, struct err *err);
#endif
