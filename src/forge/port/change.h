/*
 * change.h - for forges: the commit of a change in change->scratch, and its push to the origin.
 */
#ifndef FORGE_PORT_CHANGE_H
#define FORGE_PORT_CHANGE_H
#include "forge/git/fence.h"
#include "forge/port/forge.h"

MUST_USE enum rc forge_commit(const struct git *git, const struct forge_change *change,
                              char ret_head[GIT_HASH_BYTES], struct err *err);

struct forge_push {
    const char *head;
    const char *branch_from; /* What the branch is now; "": there is none. */
    struct fence *fence;     /* Made in change->scratch; moved with the branch, or neither is. */
};
/* One try.  RC_IO: fence or branch are not what they were, or the origin cannot accept it. */
MUST_USE enum rc forge_push(const struct git *git, const struct forge_change *change,
                            const struct forge_push *push, struct err *err);
#endif
