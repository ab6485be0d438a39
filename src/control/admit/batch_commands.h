/*
 * batch_commands.h - a batch is submitted, paused, resumed, cancelled.
 *
 * A batch and its members are rows of one transaction.  Patterns of repositories are resolved in
 * it, so a repository that is added later is not part of the batch.
 *
 *     repositories: [acme/api, "acme/web-*"]    one member for each, with its name as key
 *     tasks: [{key: ..., repository: ...}]      one member more, or, if its key is the name of one
 *                                               of the repositories above, that one with changes
 */
#ifndef CONTROL_ADMIT_BATCH_COMMANDS_H
#define CONTROL_ADMIT_BATCH_COMMANDS_H
#include "control/commit/command.h"
#include "core/run/batch.h"

enum { BATCH_NAME_MAX = 200, BATCH_KEY_MAX = 200, BATCH_PATTERNS_MAX = 1000 };

struct batch_item { /* Of tasks; either of the two names may be NULL, and is the other. */
    const char *key;
    const char *repository;
    struct str task;               /* JSON object over the common one; or empty. */
    bool says_what;                /* It has a description or an issue of its own. */
    const char *const *depends_on; /* Keys. */
    size_t depends_count;
};

/* A member as it is resolved. */
struct batch_part {
    const char *key, *repository;
    const struct batch_item *item; /* Or NULL. */
    size_t *depends_on;            /* Places. */
    size_t depends_count;
    const char *problem; /* Why its task would be refused as things are, for people; or NULL. */
};

struct cmd_batch_submit {
    struct command base;
    const char *name;
    struct str task; /* JSON object: what the members have in common. */
    bool says_what;  /* It has a description or an issue. */
    struct batch_limits limits;
    bool stop_cancels;
    const char *const *patterns; /* Names of repositories, and globs. */
    size_t pattern_count;
    const struct batch_item *items;
    size_t item_count;
    const char *idempotency_key, *body_sha256; /* As of a task. */
    bool dry_run; /* Nothing is written: the answer is what would be. */

    /* The answer. */
    struct id batch_id;
    bool repeated; /* The key was used before: the first answer again. */
    struct batch_part *parts;
    size_t part_count;
};
/* RC_INVALID: INVALID_FIELD, NO_REPOSITORY_MATCHES, BATCH_TOO_LARGE, IDEMPOTENCY_KEY_REUSED. */
struct cmd_batch_submit *cmd_batch_submit_new(void);

/* BATCH_EV_PAUSE, BATCH_EV_RESUME or BATCH_EV_CANCEL.  One that is where it would be moved to stays
   there.  RC_CONFLICT: BATCH_FINISHED, BATCH_STOPPING. */
struct cmd_batch_move {
    struct command base;
    struct id batch_id;
    enum batch_event event;
    const char *reason;       /* or NULL */
    enum batch_status status; /* The answer. */
};
struct cmd_batch_move *cmd_batch_move_new(enum batch_event event);
#endif
