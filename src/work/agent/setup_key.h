/*
 * setup_key.h - under which key the outputs of a setup are kept.
 */
#ifndef WORK_AGENT_SETUP_KEY_H
#define WORK_AGENT_SETUP_KEY_H
#include "base/hash.h"
#include "work/job/step.h"

/* Digest of names, modes and contents of the key files. */
struct setup_files {
    char sha256[SHA256_TEXT_BYTES];
    int64_t count;
};
/* In a commit; or, where tree is not NULL, as the index of that checkout has them. */
MUST_USE enum rc setup_files(struct step *step, const struct setup_config *config,
                             const char *commit, const char *tree, struct setup_files *ret_files,
                             struct err *err);

/* Does the default branch have this commit? */
MUST_USE enum rc setup_is_trusted(struct step *step, const char *commit, bool *ret_trusted,
                                  struct err *err);

struct setup_key {
    const struct setup_config *config;
    const struct setup_files *files;
    const char *commit; /* Part of the key; NULL: not. */
    const char *before; /* The key of the setup before; NULL: it is the first. */
};
/* Into to: 64 hex digits. */
void setup_key(const struct step *step, const struct setup_key *key, char to[SHA256_TEXT_BYTES]);
#endif
