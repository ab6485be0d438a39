/*
 * runs.h - runs.  The status column changes only through runs_save, with what core/run/run.c has
 * decided.
 */
#ifndef STORE_RUNS_H
#define STORE_RUNS_H
#include "core/run/budget.h"
#include "core/run/budget_tree.h"
#include "core/run/event_budget.h"
#include "core/run/forecast.h"
#include "core/run/run.h"
#include "store/db.h"
#include "store/scan.h"

/* RUN_STOP_BUDGET: stop_by is the limit that was passed, stop_reason says whose it is. */
enum run_stop { RUN_STOP_NONE, RUN_STOP_CANCEL, RUN_STOP_TIMEOUT, RUN_STOP_BUDGET };

const char *run_stop_name(enum run_stop stop); /* "cancel" */

struct run_row {
    struct id id;
    struct id task_id;
    struct id workspace_id;
    struct id repository_id;
    int64_t run_no;
    /* Its place in a budget tree (core/run/budget_tree.h).  The run of the parent task, or none;
       the run at the root, or none: neither a parent nor a sub-task. */
    struct id parent_run_id, root_run_id;
    struct id batch_id; /* Of its task. */
    enum run_status status;
    enum run_stop stop; /* A worker was asked to stop it. */
    int64_t attempt;    /* Of the agent, from 1; 0 before the first. */
    const char *branch;
    const char *base_commit;
    const char *prompt_sha256;
    const char *feedback_sha256;
    const char *patch_sha256; /* The latest patch. */
    const char *certificate_sha256;
    int64_t turns, tokens_in, tokens_out, cost_microusd;
    const char *model;
    struct id patch_id; /* The latest. */
    struct id pull_request_id;
    struct id job_id; /* The job that advances it; none: admission, or a person. */
    const char *stop_by;
    const char *stop_reason;
    int64_t stop_us;
    const char *deferred_reason; /* queued: why admission holds it back. */
    int64_t used[BUDGET_KIND_COUNT];
    int64_t lost; /* Workers lost since a step last made progress. */
    int64_t rank;
    const char *requested_by;
    const char *task_type;
    /* core/run/task_limits.h; 0: no limit.  Never changed. */
    int64_t max_turns, budget_microusd, max_tokens;
    const char *wanted_agent; /* Program and model, as configured: forecasts.h.  Never changed. */
    struct str forecast;      /* JSON object, core/run/forecast.h; or empty.  Never changed. */
    const char *traceparent; /* A client has given it; NULL: it follows from ids.  Never changed. */
    const char *tags;        /* Of its events: core/event_tags.h; or NULL.  Never changed. */
    const char *error_code;
    const char *error_message;
    int64_t event_seq;               /* The last run_seq that was given out. */
    struct event_budget events_left; /* What its workers may still report.  runs_touch */
    struct id last_event_id;
    int64_t queued_us, started_us, ended_us, deadline_us, updated_us;
    const char *step; /* Of its blueprint: under way, or the last that was. */
    /* Time at work: active, and no person is waited for.  The sum of what has ended, and the
       beginning of what has not; 0: it is not at work.  run_clock.h */
    int64_t work_us, work_since_us;
    const char *account;       /* Of the provider, that its agent uses up. */
    const char *agent;         /* Profile or adapter of its agent; NULL: not chosen yet. */
    int64_t judge_score_milli; /* The lowest score of its judges, 0 to 1000; -1: none. */
    /* From here on: runs_save_more.  What every run has does not belong here: it would cost each of
       them another UPDATE. */
    struct str step_results;  /* JSON array: results of the last custom steps, or empty. */
    const char *session_id;   /* Of a remote agent, known before it is started. */
    int64_t session_begun_us; /* Known to have begun then; 0: not known. */
    const char *plan_sha256;
    int64_t account_us; /* It got the account then; 0: one that is not configured. */
    int64_t fallback;   /* The agent is agent.fallback[fallback - 1]; 0: the agent itself. */
    const char *pool;   /* queued: the accounts of which none is free; or NULL. */
    const char *tried_accounts; /* Names, space between: its agent reported a limit of each. */
    int64_t booked_microusd;    /* Of its cost: already in the rows of accounts. */
    struct str paths;           /* JSON array: files of the latest patch, or empty. */
    const char *warning_code, *warning_message; /* It completed, with a warning. */
    struct str foreign_pr; /* JSON object: a pull request that the agent opened itself, or empty. */
    const char *prompt_version;
    const char *overridden;      /* Policies that a person has overridden, by name. */
    const char *deferred_detail; /* With deferred_reason: a sentence for people. */
    int64_t held_until_us;       /* queued: its agent reported a usage limit until then; or 0. */
    int64_t quota_hits;          /* Usage limits in a row. */
    int64_t overloads;           /* Of its provider, in a row: core/run/overload.h */
    int64_t overloaded_us;       /* The first of them ever; 0: none. */
    int64_t overloaded_until_us; /* queued: it is not tried before; or 0. */
    int64_t paused_us;           /* A person has paused it then; 0: it is not paused. */
    const char *paused_by;       /* Who; or NULL */
    int64_t still_us;            /* Since when its clocks stand still; 0: they run. */
    struct id question_id;       /* Its agent's open question, or none. */
    int64_t question_count;      /* How many its agents have asked. */
    int64_t message_seq;         /* The last message to its agent; 0: none was sent. */
    const char *agent_session;   /* That a local agent reported last: it may resume it. */
    bool session_over;           /* Known to have ended. */
    bool partial;                /* The work of its agent is not all there. */
};

struct run_filter {
    struct id task_id;
    const char *repository; /* Name, or NULL. */
    int status;             /* enum run_status or -1 */
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};

/* One line per combination of active runs: admission counts from these. */
struct active_row {
    struct id workspace_id, repository_id;
    const char *requested_by;
    const char *task_type;
    int64_t count;
    int64_t asking; /* Of these: so many wait for a person. */
};

MUST_USE enum rc runs_insert(struct db *db, const struct run_row *row, struct err *err);
MUST_USE enum rc runs_get(struct db *db, const struct id *id, struct arena *arena,
                          struct run_row *ret_row, struct err *err);
/* When no other transaction has it locked, else RC_NOT_FOUND (code NOT_FOUND).  Only what
   runs_touch writes and what the claim of a job has to know: task_id, attempt, job_id, step,
   traceparent, tags, paused_us, still_us and message_seq; all other members are zero. */
MUST_USE enum rc runs_get_claim(struct db *db, const struct id *id, struct arena *arena,
                                struct run_row *ret_row, struct err *err);
/* Read without a lock. */
MUST_USE enum rc runs_status_of(struct db *db, const struct id *id, struct arena *arena,
                                enum run_status *ret_status, struct err *err);
/* For runs_get, and for runs_get_claim: see db_read_ahead. */
MUST_USE enum rc runs_read_ahead(struct db *db, const struct id *id, struct err *err);
MUST_USE enum rc runs_read_ahead_claim(struct db *db, const struct id *id, struct err *err);
/* Every column that most steps change (RUN_STEP in runs.c). */
MUST_USE enum rc runs_save(struct db *db, const struct run_row *row, struct err *err);
/* The others (RUN_MORE); have they changed? */
MUST_USE enum rc runs_save_more(struct db *db, const struct run_row *row, struct err *err);
bool runs_changed_more(const struct run_row *now, const struct run_row *stored);
/* Only turns, tokens, cost and model. */
MUST_USE enum rc runs_save_usage(struct db *db, const struct run_row *row, struct err *err);
/* It gets its first sub-task: it is the root of a tree now. */
MUST_USE enum rc runs_set_root(struct db *db, const struct id *id, struct err *err);
/* All runs of a budget tree, SUBTASK_RUNS_MAX at most, as budget_tree_link wants them; without
   locks. */
MUST_USE enum rc runs_tree(struct db *db, const struct id *root_run_id, int64_t now_us,
                           struct arena *arena, struct budget_tree *ret_tree, struct err *err);
/* The newest completed runs of a repository, at most so many. */
MUST_USE enum rc runs_past(struct db *db, const struct id *repository_id, int64_t limit,
                           struct arena *arena, struct past_run **ret_runs, size_t *ret_count,
                           struct err *err);
/* What the run has worked until then. */
int64_t run_work_us(const struct run_row *run, int64_t now_us);
/* Only session_begun_us and agent_session. */
MUST_USE enum rc runs_save_begun(struct db *db, const struct run_row *row, struct err *err);
/* Only its place in the log (event_seq, last_event_id), events_left and updated_us. */
MUST_USE enum rc runs_touch(struct db *db, const struct run_row *row, struct err *err);
MUST_USE enum rc runs_list(struct db *db, const struct run_filter *filter, struct arena *arena,
                           struct run_row **ret_rows, size_t *ret_count, struct err *err);
MUST_USE enum rc runs_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                              struct run_row **ret_rows, size_t *ret_count, struct err *err);
MUST_USE enum rc runs_active(struct db *db, struct arena *arena, struct active_row **ret_rows,
                             size_t *ret_count, struct err *err);
/* Repositories that have queued runs, by a skip scan over the index: the cost is per repository,
   not per run. */
MUST_USE enum rc runs_queued_repositories(struct db *db, const struct id *workspace_id,
                                          struct arena *arena, struct id **ret_ids,
                                          size_t *ret_count, struct err *err);
/* The next queued run of a repository in order of (rank, id) after the given place. */
struct run_place {
    int64_t rank;
    struct id id;
};
MUST_USE enum rc runs_next_queued(struct db *db, const struct id *repository_id,
                                  const struct run_place *after, struct arena *arena,
                                  struct run_row *ret_row, struct err *err); /* RC_NOT_FOUND */
/* The same without those that wait for this pool of accounts. */
MUST_USE enum rc runs_next_queued_but(struct db *db, const struct id *repository_id,
                                      const struct run_place *after, const char *pool,
                                      struct arena *arena, struct run_row *ret_row,
                                      struct err *err);
/* Queued runs that have no reason yet, by rank. */
MUST_USE enum rc runs_queued_unexplained(struct db *db, const struct id *workspace_id,
                                         int64_t limit, struct arena *arena,
                                         struct run_row **ret_rows, size_t *ret_count,
                                         struct err *err);
struct run_counts {
    int64_t by_status[RUN_STATUS_COUNT];
};
MUST_USE enum rc runs_count(struct db *db, struct run_counts *ret_counts, struct err *err);
#endif
