/*
 * homeseed.h - a directory of the worker, copied into a new $HOME before an agent's first attempt.
 *
 * Real agents keep settings and credentials there.  Files and directories are copied with their
 * modes, links as links; everything else is skipped.  The copy is there whole or not at all.
 */
#ifndef WORK_SANDBOX_HOMESEED_H
#define WORK_SANDBOX_HOMESEED_H
#include "base/rc.h"
#include "work/sandbox/sandbox.h"

enum { HOMESEED_ENTRIES_MAX = 100000, HOMESEED_DEPTH_MAX = 64 };
#define HOMESEED_BYTES_MAX (INT64_C(1) << 30)

/* Makes the directory home, mode 0700, from seed; nothing when it is there already, was made in
   this boot, of the same seed and for the same owner: home.boot, beside it, has all three.  seed
   NULL: empty.  *ret_kept: it was there.  RC_INVALID: seed is no directory, holds or lies in what
   the sandbox hides, or is too large. */
struct homeseed {
    const char *home, *seed;
    const char *owner; /* At most 200 bytes, or NULL. */
    const struct sandbox *sandbox;
};
MUST_USE enum rc homeseed_make(const struct homeseed *homeseed, bool *ret_kept, struct err *err);
#endif
