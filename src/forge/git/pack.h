/*
 * pack.h - objects from a git that an agent could have tampered with.
 *
 * That git runs in a sandbox and writes a pack to its standard output.  Its bytes are indexed here,
 * outside, into a new bare repository that no sandbox can reach.  No git outside a sandbox ever
 * opens a directory that a sandbox could write: its configuration, alternates and refs would count.
 *
 * Invariants after RC_OK:
 *   1. git index-pack --strict has accepted every object: no name leaves its tree, no link dangles.
 *   2. The tip is a tree, and all that it needs is in the new repository or in the lender.
 *   3. Bytes, number of objects, and what they unpack to are within the limits.
 */
#ifndef FORGE_GIT_PACK_H
#define FORGE_GIT_PACK_H
#include "forge/git/git.h"

struct pack_limits {
    int64_t bytes;          /* Of the pack. */
    int64_t objects;        /* In it. */
    int64_t object_bytes;   /* Of one object, unpacked. */
    int64_t unpacked_bytes; /* Of all of them. */
};

struct pack {
    int fd;             /* The pack, a regular file. */
    const char *lender; /* A repository of ours whose objects the pack may build on. */
    const char *dir;    /* Where the new repository goes: removed first, the caller's to remove. */
    const char *tip;    /* Hash of a tree. */
    const char *known;  /* Hash of a commit of the lender: what it holds is not checked again. */
    struct pack_limits limits;
};

/* RC_INVALID, code PACK_REFUSED: it is no sound pack, or it does not hold the tip.
   RC_TOO_LARGE, code PACK_TOO_LARGE: beyond a limit. */
MUST_USE enum rc pack_take(const struct git *git, const struct pack *pack, struct err *err);
#endif
