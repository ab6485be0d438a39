/*
 * secrets_patch.h - secrets in what a patch adds: in a git diff, and in the binary files of one.
 */
#ifndef CORE_RUN_SECRETS_PATCH_H
#define CORE_RUN_SECRETS_PATCH_H
#include "core/text/secrets.h"

enum { SECRETS_HITS_MAX = 20 }; /* Reported for one patch. */

struct secret_hit {
    const char *rule;
    const char *path; /* Redacted, as the text is. */
    int64_t line;     /* In the new file, from 1; 0: in its name. */
    const char *text; /* What stands round it. */
};
struct secret_hits {
    struct secret_hit at[SECRETS_HITS_MAX];
    size_t count;
    bool more;
};
/* In names and added lines of a git diff, and in what stands outside of its files.  What a removed
   line holds too is not new, and is skipped: moving a line, or taking a secret out, must be
   possible. */
void secrets_in_patch(const struct secrets *secrets, struct str diff, struct arena *arena,
                      struct secret_hits *ret_hits);

/* A binary file that a patch adds or changes.  As in a patch, what it held before is not new. */
struct secret_blob {
    const char *path;
    struct str now, before;
};
/* Adds what it finds. */
void secrets_in_blob(const struct secrets *secrets, const struct secret_blob *blob,
                     struct arena *arena, struct secret_hits *hits);
#endif
