/*
 * origin.h - a repository on this machine, for the local forge: its refs, its lock, commits that
 * are made without a tree of files.
 *
 * Every change that is reported as done survives the loss of power:
 *   1. git syncs the contents of objects and refs before they have their names (git_call.durable):
 *      an object that is there is whole.
 *   2. It syncs no directory.  So between the objects and the ref that names them, and between the
 *      ref and the report, the file system of the origin is synced (origin_sync).
 * One syncfs costs less than fsync of 256 directories of objects, each of which flushes the disk,
 * and includes what other git processes have written there, which may have synced nothing.
 */
#ifndef FORGE_GIT_ORIGIN_H
#define FORGE_GIT_ORIGIN_H
#include "forge/git/git.h"

enum {
    ORIGIN_REFS_BYTES_MAX = 64 * 1024 * 1024,
    ORIGIN_TRIES_MAX = 8,
    ORIGIN_REFS_READ = 4,
    ORIGIN_NUMBER_MAX = INT32_MAX, /* Of a pull request or issue: larger ones are not counted. */
};

/* For git for-each-ref: the run that a commit of drover's own names; empty for one that a person
   has made out of it (git commit --amend keeps the last lines, not the committer). */
#define ORIGIN_RUN_OF_COMMIT                                  \
    "%(if:equals=<drover@localhost>)%(committeremail)%(then)" \
    "%(trailers:key=Drover-Run,valueonly,separator=%2C)%(end)"

struct origin {
    const struct git *git;
    const char *dir; /* Its git directory, bare or not. */
    struct arena *arena;
};

/* Is it the path of a repository on this machine? */
bool origin_is_here(const char *url);
/* RC_INVALID: no path of this machine.  RC_UNREACHABLE: nothing is there now, it may be back
   later. */
MUST_USE enum rc origin_open(struct origin *origin, const char *url, struct err *err);
/* What a ref points at; NULL when there is none. */
MUST_USE enum rc origin_ref(const struct origin *origin, const char *ref, const char **ret_hash,
                            struct err *err);
/* The tree of a commit; NULL when there is no such commit. */
MUST_USE enum rc origin_tree(const struct origin *origin, const char *commit, const char **ret_tree,
                             struct err *err);
/* What several refs point at, all read by one git; "" when there is none.  The last name may be
   NULL. */
MUST_USE enum rc origin_refs(const struct origin *origin, const char *const refs[ORIGIN_REFS_READ],
                             char ret_hashes[ORIGIN_REFS_READ][GIT_HASH_BYTES], struct err *err);
/* One writer at a time, here and on all other workers: a lock on DIR/NAME.  Closing the
   descriptor gives it back. */
MUST_USE enum rc origin_lock(const struct origin *origin, const char *name, int *ret_fd,
                             struct err *err);

/* The commit with all that it leads to, and one further object (NULL: none), out of the repository
   `from`: on the disk of the origin when this returns, so that a ref may name them.  No ref is
   changed. */
MUST_USE enum rc origin_take_objects(const struct origin *origin, const char *from,
                                     const char *commit, const char *further, struct err *err);
/* An option for git push to an origin on this machine: the receiving side syncs the files that it
   writes.  Hooks of the origin run there as drover's user; as root only where root owns the
   repository, since any other owner could run code as root. */
const char *origin_receive_pack(const char *url);

MUST_USE enum rc origin_sync(const struct origin *origin, struct err *err);

/* Removes lock files of this ref, of HEAD and of packed-refs that are a minute old. */
void origin_drop_stale_locks(const struct origin *origin, const char *ref);

/* Moves a ref, only if it still is what was seen (NULL: must not exist) and after the objects of
   the origin are on its disk; so is the ref when this returns. */
struct origin_move {
    const char *ref;
    const char *to; /* NULL: deleted */
    const char *seen;
};
MUST_USE enum rc origin_move_ref(const struct origin *origin, const struct origin_move *move,
                                 struct err *err);

/* A commit of the empty tree: all its content is in its message. */
struct origin_note {
    const char *parent; /* or NULL */
    const char *message;
    int64_t time_us;
};
MUST_USE enum rc origin_commit(const struct origin *origin, const struct origin_note *note,
                               const char **ret_hash, struct err *err);
#endif
