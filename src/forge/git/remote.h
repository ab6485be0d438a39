/*
 * remote.h - refs of a repository elsewhere, read and moved by git alone: for forges that are
 * servers.
 *
 * What must be looked at is fetched into a bare repository of our own.  Every push names the value
 * that each ref must have, and is atomic: all refs move, or none.
 */
#ifndef FORGE_GIT_REMOTE_H
#define FORGE_GIT_REMOTE_H
#include "forge/git/git.h"
#include "forge/git/ref_tx.h"

enum { REMOTE_REFS_MAX = 4 };

struct remote {
    const struct git *git;
    const char *url;
    const char *dir; /* A bare repository of our own. */
    struct arena *arena;
    bool shallow; /* It borrows no objects: commits are fetched without their history. */
};

/* Makes such a repository, in git's home or the system's directory for such files. */
MUST_USE enum rc remote_make(struct remote *remote, struct err *err);
void remote_drop(struct remote *remote); /* For CLEANUP: removes what remote_make made. */

/* What the refs point at, in the order of their names; "": there is none. */
MUST_USE enum rc remote_refs(const struct remote *remote, const char *const *names, size_t count,
                             char (*ret_hashes)[GIT_HASH_BYTES], struct err *err);

/* A commit of the remote. */
struct remote_commit {
    char hash[GIT_HASH_BYTES];
    char tree[GIT_HASH_BYTES];
    const char *run_id; /* That drover has made it for; NULL: made by others. */
};
/* Fetches what a ref points at.  RC_IO: it is not there, or git does not accept its objects. */
MUST_USE enum rc remote_look(const struct remote *remote, const char *ref,
                             struct remote_commit *ret_commit, struct err *err);
/* All refs that begin with the prefix, at most max; in the arena. */
struct remote_ref {
    const char *name;
    struct remote_commit commit;
};
MUST_USE enum rc remote_look_all(const struct remote *remote, const char *prefix, size_t max,
                                 struct remote_ref **ret_refs, size_t *ret_count, struct err *err);

struct remote_move {
    const char *ref;
    struct ref_move move;
};
/* One try.  RC_IO: a ref is not what it was, or the remote cannot accept it. */
MUST_USE enum rc remote_push(const struct remote *remote, const struct remote_move *moves,
                             size_t count, struct err *err);
#endif
