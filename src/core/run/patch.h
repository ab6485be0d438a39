/*
 * patch.h - what a unified git diff touches, without applying it.
 */
#ifndef CORE_RUN_PATCH_H
#define CORE_RUN_PATCH_H
#include "base/arena.h"
#include "base/rc.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

enum { PATCH_FILES_MAX = 10000, PATCH_OID_BYTES = 64 + 1 };
#define PATCH_BINARY "GIT binary patch" /* The line before the packed contents of a file. */

/* A file whose contents the diff holds in packed form only. */
struct patch_binary {
    const char *path;
    char was[PATCH_OID_BYTES], now[PATCH_OID_BYTES]; /* Blobs; all zeros: there is none. */
};

struct patch_stats {
    const char **paths; /* New path; the old one for deletions. Each once, in order. */
    size_t files;
    const char **renamed_from; /* Old paths of renames: they are gone, so rules check them too. */
    size_t renamed_from_count;
    int64_t lines_added;
    int64_t lines_deleted;
    struct patch_binary *binaries; /* Those whose blobs it names in full. */
    size_t binary_count;
};

/* RC_INVALID when it is no git diff, RC_TOO_LARGE past PATCH_FILES_MAX.  An empty diff is fine.
   Quoted paths are unquoted. */
MUST_USE enum rc patch_read(struct str diff, struct arena *arena, struct patch_stats *ret_stats,
                            struct err *err);
#endif
