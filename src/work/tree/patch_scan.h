/*
 * patch_scan.h - scans the patch of an agent for secrets, before any of it is stored.
 *
 * It scans the lines of the diff, and the binary files that it adds or changes: each up to
 * PATCH_BLOB_MAX bytes, and of one patch no more than PATCH_BLOBS_MAX files and PATCH_BLOB_SUM_MAX
 * bytes.  Files beyond that are listed as unscanned and not blocked.
 */
#ifndef WORK_TREE_PATCH_SCAN_H
#define WORK_TREE_PATCH_SCAN_H
#include "core/run/patch.h"
#include "core/run/secrets_patch.h"
#include "work/tree/treegit.h"

enum {
    PATCH_BLOB_MAX = 8 * 1024 * 1024,
    PATCH_BLOBS_MAX = 200,
    PATCH_BLOB_SUM_MAX = 64 * 1024 * 1024,
};

struct patch_scan {
    struct secret_hits *secrets; /* NULL: there are none. */
    const char **unscanned;      /* Paths of binary files that were not scanned. */
    size_t unscanned_count;
};

/* The lines alone; NULL: there are none. */
struct secret_hits *patch_scan_lines(struct step *step, struct str diff);
/* All of it.  The blobs are read from the treegit, or if there is none from the mirror. */
MUST_USE enum rc patch_scan(struct step *step, const struct treegit *treegit, struct str diff,
                            const struct patch_stats *stats, struct patch_scan *ret_scan,
                            struct err *err);

/* Is there a binary file in it? */
bool patch_scan_packed(struct str diff);
/* The diff for people, who shall not see the secrets; packed contents are left out. */
void patch_scan_redact(struct step *step, struct str diff, struct buf *into);
#endif
