/*
 * origin.h - a repository on this machine, for the local forge: its refs, its lock, commits that
 * are made without a tree of files.
 */
#ifndef FORGE_ORIGIN_H
#define FORGE_ORIGIN_H
#include "forge/git.h"

enum { ORIGIN_REFS_BYTES_MAX = 64 * 1024 * 1024, ORIGIN_TRIES_MAX = 8, ORIGIN_REFS_READ = 4 };

struct origin {
    const struct git *git;
    const char *dir; /* Its git directory, bare or not. */
    struct arena *arena;
};

/* RC_INVALID: no path of this machine.  RC_UNREACHABLE: nothing is there, maybe not for long. */
MUST_USE enum rc origin_open(struct origin *origin, const char *url, struct err *err);
/* What a ref points at; NULL when there is none. */
MUST_USE enum rc origin_ref(const struct origin *origin, const char *ref, const char **ret_hash,
                            struct err *err);
/* What several refs point at, all read by one git; "" when there is none.  The last name may be
   NULL. */
MUST_USE enum rc origin_refs(const struct origin *origin, const char *const refs[ORIGIN_REFS_READ],
                             char ret_hashes[ORIGIN_REFS_READ][GIT_HASH_BYTES], struct err *err);
/* One writer at a time, here and on all other workers: a lock on DIR/NAME.  Closing the
   descriptor gives it back. */
MUST_USE enum rc origin_lock(const struct origin *origin, const char *name, int *ret_fd,
                             struct err *err);

/* A commit of the empty tree: all that it says is in its message. */
struct origin_note {
    const char *parent; /* or NULL */
    const char *message;
    int64_t time_us;
};
MUST_USE enum rc origin_commit(const struct origin *origin, const struct origin_note *note,
                               const char **ret_hash, struct err *err);
#endif
