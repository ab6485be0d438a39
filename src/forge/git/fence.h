/*
 * fence.h - the fence of a run: a ref of the origin that names the holder of the run.
 *
 *     refs/drover/fence/<run id>    a blob: the act, who acts, and a random number
 *
 * A lease expires at the server, and a holder that is frozen does not notice.  So the origin itself
 * has to refuse changes of an earlier holder.
 *
 * Invariants:
 *   1. Every change that drover makes for a run at the origin (push, open, withdraw, merge, close)
 *      is one transaction of refs, which also moves the fence, or verifies the value to which the
 *      same act has moved it.
 *   2. No value is used twice: each holds 128 random bits.
 *   3. An act reads the fence, then checks whether it still may act (for a step: renews the lease
 *      at the server), then moves the fence from the value that it has read.
 *   4. A fence is never removed: a ref that is absent again would accept an act that has read it as
 *      absent.
 *
 * It follows that nothing of an earlier holder takes effect after the first act of a later one.
 * Had the earlier one read the fence after that act, its lease would have been refused; had it read
 * the fence before, the fence has moved since.
 */
#ifndef FORGE_GIT_FENCE_H
#define FORGE_GIT_FENCE_H
#include "forge/git/git.h"
#include "forge/git/ref_tx.h"

#define FENCE_REFS "refs/drover/fence/"

struct fence {
    char old[GIT_HASH_BYTES];   /* As it was read; "": there was none. */
    char value[GIT_HASH_BYTES]; /* Where this act moves it; "": not made yet. */
    bool moved;                 /* The origin has the value. */
};

/* The content of the blob; for people. */
struct fence_text {
    const char *act;    /* publish, withdraw, merge, close */
    const char *holder; /* Who acts. */
};

/* Makes a value of its own, as an object of the repository in git_dir. */
MUST_USE enum rc fence_make(const struct git *git, const char *git_dir,
                            const struct fence_text *text, struct fence *fence, struct err *err);
/* What the fence of the run must be, and becomes, in a transaction. */
struct ref_move fence_move(const struct fence *fence);
const char *fence_ref(const char *run_id, struct arena *arena);
#endif
