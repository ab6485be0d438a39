/*
 * expiry.h - tasks whose time is over (core/run/expiry.h): found, described, and deleted with all
 * that belongs to them.
 *
 * A task and its rows are deleted in one transaction.  Its events follow in others: until then they
 * stand in the log without it, and expired_tasks names it.  So what is half done can always be
 * continued, and sinks and consumers that are behind lose no event by it.
 *
 *   task ── deleted ──► expired_tasks ── all readers are past its last event ──► events deleted
 */
#ifndef STORE_EXPIRY_H
#define STORE_EXPIRY_H
#include "core/run/expiry.h"
#include "store/db.h"

/* ---- finding ---- */

/* A task without a parent. */
struct expiry_root {
    struct id id;
    enum task_status status;
    int64_t ended_us;
};
/* Newest first, those with smaller ids: what depends on a task is younger, and goes before it. */
MUST_USE enum rc expiry_roots(struct db *db, const struct id *before, int64_t limit,
                              struct arena *arena, struct expiry_root **ret_rows, size_t *ret_count,
                              struct err *err);
/* Its sub-tasks, and theirs, each behind its parent; at most limit, then RC_TOO_LARGE. */
MUST_USE enum rc expiry_family(struct db *db, const struct id *root_id, int64_t limit,
                               struct arena *arena, struct id **ret_ids, size_t *ret_count,
                               struct err *err);
/* Everything but the work of its runs.  Sub-tasks of the same parent do not count as dependents:
   they go together. */
MUST_USE enum rc expiry_facts(struct db *db, const struct id *task_id, struct expiry_task *ret_task,
                              struct err *err);
/* Is work of the task published nowhere? */
MUST_USE enum rc expiry_unpublished(struct db *db, const struct id *task_id, struct arena *arena,
                                    bool *ret_unpublished, struct err *err);

/* ---- deleting ---- */

struct expiry_counts {
    int64_t tasks, runs, jobs, rows; /* rows: all of them, these included. */
    int64_t runs_by_status[RUN_STATUS_COUNT];
};
/* Adds what it has deleted.  The task has no sub-task any more, and is locked. */
MUST_USE enum rc expiry_delete_task(struct db *db, const struct id *task_id, int64_t now_us,
                                    struct arena *arena, struct expiry_counts *counts,
                                    struct err *err);

/* ---- events of tasks that are deleted ---- */

struct expired_task {
    struct id task_id;
    int64_t last_seq;
};
/* Those whose events are all up to this place, oldest first. */
MUST_USE enum rc expired_tasks_list(struct db *db, int64_t through_seq, int64_t limit,
                                    struct arena *arena, struct expired_task **ret_rows,
                                    size_t *ret_count, struct err *err);
/* Those with an event behind this place. */
MUST_USE enum rc expired_tasks_count(struct db *db, int64_t after_seq, int64_t *ret_count,
                                     struct err *err);
MUST_USE enum rc expired_tasks_remove(struct db *db, const struct expired_task *task,
                                      struct err *err);
/* Deletes the next of its events that may go; counted(ctx, type) is called for each.  *ret_count
   less than limit: there are no more. */
struct event_expiry {
    void (*counted)(void *ctx, const char *type, bool own);
    void *ctx;
    int64_t limit;
};
MUST_USE enum rc expired_events_delete(struct db *db, const struct expired_task *task,
                                       const struct event_expiry *expiry, int64_t *ret_count,
                                       struct err *err);

/* ---- the log ---- */

/* An event as rounds look at it. */
struct log_entry {
    int64_t seq, time_us;
    const char *type;
    struct id run_id; /* none: of no run */
    bool of_task;     /* Of one that is there. */
    bool about_issue, own;
};
/* In order of seq, behind after_seq. */
MUST_USE enum rc log_entries(struct db *db, int64_t after_seq, int64_t limit, struct arena *arena,
                             struct log_entry **ret_rows, size_t *ret_count, struct err *err);
/* *ret_count: 1, or 0 when it must stay. */
MUST_USE enum rc log_entry_delete(struct db *db, int64_t seq, int64_t *ret_count, struct err *err);
/* The lowest cursor of sinks and consumers: all have read up to there.  RC_NOT_FOUND: there is no
   reader. */
MUST_USE enum rc log_unread(struct db *db, struct arena *arena, int64_t *ret_cursor_seq,
                            const char **ret_reader, struct err *err);
/* The last event from before a time; 0: there is none. */
MUST_USE enum rc log_place_before(struct db *db, int64_t time_us, int64_t *ret_seq,
                                  struct err *err);
#endif
