/*
 * setup_store.h - outputs of setup commands, kept on this machine for later trees.
 *
 *     work_dir/setup/<key>/files/   the outputs, below the paths that they have in a tree
 *     work_dir/setup/<key>/bytes    how large they are
 *     work_dir/setup/<key>.lock     shared while one copies from it, exclusive to make or remove it
 *     work_dir/setup/.new-<key>/    one that is being made
 *
 * Invariants:
 *   1. An entry is made beside its place, synced, and renamed there: it is whole or not there.
 *      It is never changed afterwards, but for its time of last change, which is that of its last
 *      use.
 *   2. An entry is removed only while no one copies from it.
 *   3. No command of an agent sees the directory: the sandbox hides all of the worker's directory.
 *
 * What may become an entry is decided in work/agent/setup.h.
 */
#ifndef WORK_TREE_SETUP_STORE_H
#define WORK_TREE_SETUP_STORE_H
#include "forge/git/git.h"
#include <stdbool.h>
#include <stdint.h>

/* Where and for whom: waiting for a lock ends with the step. */
struct setup_store {
    const char *work_dir;
    const char *key; /* 64 hex digits */
    struct arena *arena;
    const struct git *git; /* Its cancel and deadline. */
};

/* *ret_files: of the entry, which stays as long as *ret_lock is open.  RC_NOT_FOUND: there is none;
   then *ret_lock is held to make it: setup_store_begin, fill its directory, setup_store_end. */
MUST_USE enum rc setup_store_open(const struct setup_store *store, const char **ret_files,
                                  int *ret_lock, struct err *err);
/* An empty directory for the files. */
MUST_USE enum rc setup_store_begin(const struct setup_store *store, const char **ret_files,
                                   struct err *err);
/* What the directory holds becomes the entry.  The lock lets others copy from it now. */
MUST_USE enum rc setup_store_end(const struct setup_store *store, int64_t bytes, int lock,
                                 const char **ret_files, struct err *err);
/* Removes what setup_store_begin has made. */
void setup_store_drop(const struct setup_store *store);

/* What housekeeping keeps: the entries that were used last. */
struct setup_limits {
    int64_t count, bytes;
    int64_t used_after_us; /* Wall clock. */
};
/* How many were removed.  One that is in use stays for the next time. */
int setup_store_clear(const char *work_dir, const struct setup_limits *limits);
#endif
