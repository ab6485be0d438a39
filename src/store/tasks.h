/*
 * tasks.h - tasks, their dependencies and their idempotency keys.
 */
#ifndef STORE_TASKS_H
#define STORE_TASKS_H
#include "core/run/task.h"
#include "store/db.h"
#include "store/scan.h"

struct task_row {
    struct id id;
    struct id workspace_id;
    struct id repository_id;
    struct id parent_id;    /* The task that it is a sub-task of, or none. */
    const char *repository; /* Its name, joined on reading. */
    const char *description;
    int64_t issue_number; /* 0: none */
    const char *task_type;
    enum risk risk;
    enum mode mode;
    const char *target_branch;
    struct str scope; /* JSON array of globs. */
    int64_t priority;
    int64_t max_turns;           /* As the task asked; 0: its run has that of its configuration. */
    int64_t max_budget_microusd; /* The same. */
    int64_t max_tokens;          /* The same. */
    struct str labels;           /* JSON array. */
    struct str channel;          /* JSON object. */
    struct str depends_on;       /* JSON array of task ids. */
    struct str config;           /* The repository's configuration in force, as a snapshot. */
    const char *requested_by;
    enum task_status status; /* Projection of the latest run; written with it. */
    const char *error_code;
    const char *error_message;
    struct id latest_run_id;
    int64_t run_count;
    struct id last_event_id;
    int64_t created_us, updated_us, ended_us;
    struct str attachments; /* JSON array of {name, sha256}, or empty. */
    struct str overrides;   /* JSON object: the task's own configuration layer; or empty. */
    int64_t best_of;       /* So many candidates work on it, as sub-tasks; 0: its own agent does. */
    struct id chosen_id;   /* With best_of: the candidate whose patch it takes; none: not yet. */
    int64_t candidate_no;  /* A candidate of its parent, from 1; 0: it is none. */
    const char *candidate; /* Its name, or NULL. */
    /* A repair: its patch goes on top of this head of the pull request; none: it opens its own. */
    struct id pull_request_id;
    const char *head_commit;
    const char *merge_with; /* Its agent starts from the head merged with this; or NULL. */
    struct str origin;      /* JSON object: the issue that it was made of; or empty. */
    const char *persona;    /* For agents of this kind, or NULL: core/agent/addressee.h */
    const char *agent;      /* For the agent of this name, or NULL. */
    struct id batch_id;     /* The batch that it, or its parent task, is a member of; or none. */
};

struct task_filter { /* NULL, none or -1: any */
    const char *repository;
    int status; /* enum task_status or -1 */
    const char *requested_by;
    struct id parent_id;
    const char *persona, *agent;
    struct id batch_id;
    struct id before; /* Newest first; only ids smaller than this (the cursor). */
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};

/* Also writes one row per dependency, and per content that it uses (artifact_uses.h). */
MUST_USE enum rc tasks_insert(struct db *db, const struct task_row *row,
                              const struct id *depends_on, size_t depends_count, struct err *err);
/* For tasks_get, and for tasks_runs: see db_read_ahead. */
MUST_USE enum rc tasks_read_ahead(struct db *db, const struct id *id, struct err *err);
MUST_USE enum rc tasks_runs_read_ahead(struct db *db, const struct id *id, struct err *err);
/* Without a lock. */
struct task_runs {
    struct id latest_run_id;
    struct id root_run_id; /* Of the budget tree of its latest run, or none. */
};
MUST_USE enum rc tasks_runs(struct db *db, const struct id *id, struct task_runs *ret_runs,
                            struct err *err);
MUST_USE enum rc tasks_get(struct db *db, const struct id *id, struct arena *arena,
                           struct task_row *ret_row, struct err *err);
/* Status, errors, latest run, run count, last event, times; has one of them changed? */
MUST_USE enum rc tasks_save(struct db *db, const struct task_row *row, struct err *err);
bool tasks_changed(const struct task_row *now, const struct task_row *stored);
/* A retry takes the configuration as it is now. */
MUST_USE enum rc tasks_set_config(struct db *db, const struct task_row *row, struct err *err);
MUST_USE enum rc tasks_list(struct db *db, const struct task_filter *filter, struct arena *arena,
                            struct task_row **ret_rows, size_t *ret_count, struct err *err);
MUST_USE enum rc tasks_count_children(struct db *db, const struct id *parent_id, int64_t *ret_count,
                                      struct err *err);
/* Its sub-tasks that have not finished, at most so many; without locks. */
MUST_USE enum rc tasks_unfinished_children(struct db *db, const struct id *parent_id, int64_t limit,
                                           struct arena *arena, struct id **ret_ids,
                                           size_t *ret_count, struct err *err);
/* By this actor since then: for the rate limit. */
MUST_USE enum rc tasks_count_since(struct db *db, const char *requested_by, int64_t since_us,
                                   int64_t *ret_count, struct err *err);

/* What a task waits for: how many of its dependencies are not completed, and one that ended
   otherwise (none if there is no such one). */
struct dependency_state {
    int64_t pending;
    struct id broken;
};
MUST_USE enum rc tasks_dependencies(struct db *db, const struct id *task_id,
                                    struct dependency_state *ret_state, struct err *err);

struct idempotency_row {
    struct id workspace_id;
    const char *key;
    const char *body_sha256;
    struct id task_id, run_id;
    int64_t expires_us;
};
MUST_USE enum rc idempotency_get(struct db *db, const struct id *workspace_id, const char *key,
                                 int64_t now_us, struct arena *arena,
                                 struct idempotency_row *ret_row, struct err *err);
/* Replaces a row of the same key that has expired.  One that has not was put by another server
   after idempotency_get had found none: the transaction fails (exec_one) and finds it when it is
   retried. */
MUST_USE enum rc idempotency_put(struct db *db, const struct idempotency_row *row, int64_t now_us,
                                 struct err *err);
MUST_USE enum rc idempotency_prune(struct db *db, int64_t now_us, struct err *err);
#endif
