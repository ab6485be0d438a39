/*
 * submit.h - a new task is checked, stored and queued.
 */
#ifndef CONTROL_ADMIT_SUBMIT_H
#define CONTROL_ADMIT_SUBMIT_H
#include "control/commit/command.h"
#include "core/run/task.h"

enum { TASK_DEPENDS_MAX = 100, TASK_DESCRIPTION_MAX = 64 * 1024 };

struct cmd_submit {
    struct command base;
    struct id parent_id;     /* The task that it is a part of, or none. */
    struct id agent_run_id;  /* The run whose agent submits it, as a part of its task; or none. */
    const char *repository;  /* NULL: the parent's */
    const char *description; /* or NULL */
    int64_t issue_number;    /* 0: none.  At least one of the two. */
    const char *task_type;   /* "general" by default */
    enum risk risk;
    enum mode mode;
    bool risk_given, mode_given, priority_given; /* Else a sub-task takes its parent's. */
    const char *target_branch;                   /* NULL: the repository's default */
    struct str scope, labels, channel;           /* JSON, or empty */
    struct str overrides;   /* JSON: over the repository's configuration; or empty */
    struct str attachments; /* JSON array of {name, sha256}, or empty */
    int64_t priority;
    int64_t max_turns;           /* 0: that of the configuration */
    int64_t max_budget_microusd; /* The same. */
    int64_t max_tokens;          /* The same. */
    const struct id *depends_on;
    size_t depends_count;
    int64_t best_of;               /* So many candidates work on it; 0: none. */
    const char *const *candidates; /* Names of the repository's, as many; or NULL. */
    size_t candidate_count;
    const char *idempotency_key; /* or NULL */
    const char *body_sha256;     /* of the request, for the key */
    const char *override_reason; /* Why it is to be accepted although policy denies it; or NULL */
    bool may_override;           /* The actor is an admin. */

    struct id task_id, run_id; /* The answer. */
    bool repeated;             /* The key was used before: the first answer again. */
    struct str forecast;       /* JSON object, core/run/forecast.h; or empty. */
    const char *warning;       /* The forecast passes a limit; or NULL. */
};
struct cmd_submit *cmd_submit_new(void);

struct flow;
/* Makes the first run of flow->task, appends the events of a new task, and stores both rows. */
MUST_USE enum rc submit_insert(struct context *ctx, const struct cmd_submit *cmd,
                               struct flow *flow);
#endif
