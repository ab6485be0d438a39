/*
 * submit.h - a new task is checked, stored and queued: for a client (cmd_submit), and for drover
 * itself inside another command (submit_task).
 */
#ifndef CONTROL_ADMIT_SUBMIT_H
#define CONTROL_ADMIT_SUBMIT_H
#include "control/commit/command.h"
#include "core/run/task.h"

enum { TASK_DEPENDS_MAX = 100, TASK_DESCRIPTION_MAX = 64 * 1024 };

/* A task that is requested; starts from submission_new(). */
struct submission {
    struct id parent_id;     /* The task that it is a part of, or none. */
    struct id agent_run_id;  /* The run whose agent submits it, as a part of its task; or none. */
    struct id batch_id;      /* The batch that it is a member of, or none. */
    bool batch_joins;        /* It becomes one by this; else it is one already. */
    const char *repository;  /* NULL: the parent's */
    const char *description; /* or NULL */
    int64_t issue_number;    /* 0: none.  At least one of the two. */
    const char *task_type;   /* "general" by default */
    enum risk risk;
    enum mode mode;
    bool risk_given, mode_given, priority_given; /* Else a sub-task takes its parent's. */
    const char *target_branch;                   /* NULL: the repository's default */
    struct str scope, labels;                    /* JSON, or empty */
    struct str channel;                          /* JSON: where the request came from; or empty */
    struct str origin;      /* JSON: the issue that drover makes it of (control/pr/intake.c) */
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
    /* A repair of a pull request: see struct task_row. */
    struct id pull_request_id;
    const char *head_commit, *merge_with;
    const char *requested_by;    /* For whom drover submits it; NULL: the actor */
    const char *persona, *agent; /* For which agents it is: core/agent/addressee.h; or NULL */
};
struct submission submission_new(void);

/* The answer. */
struct submitted {
    struct id task_id, run_id;
    bool repeated;        /* The key was used before: the first answer again. */
    struct str forecast;  /* JSON object, core/run/forecast.h; or empty. */
    const char *warning;  /* The forecast passes a limit; or NULL. */
    enum rc refused;      /* RC_DENIED: by policy, which was recorded; ctx->err says why. */
    struct str explained; /* With a refusal by policy: the decision as a JSON object; or empty. */
};

/*
 * Submits a task inside a command.  RC_OK with ret->refused: policy denies it, an event says so,
 * and there is no task.  Other failures have written nothing, so that the command may go on without
 * the task.
 */
MUST_USE enum rc submit_task(struct context *ctx, const struct submission *given,
                             struct submitted *ret);

struct cmd_submit {
    struct command base;
    struct submission task;
    struct submitted answer;
};
struct cmd_submit *cmd_submit_new(void);

struct flow;
/* Makes the first run of flow->task, appends the events of a new task, and stores both rows. */
MUST_USE enum rc submit_insert(struct context *ctx, const struct submission *want,
                               struct flow *flow);
#endif
