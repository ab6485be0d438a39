/*
 * batches.h - batches and their members (core/run/batch.h).
 *
 * The row of a batch is the lock of all its members: a member is written only by a transaction that
 * has locked the row of its batch.  What becomes of a member that is a task stands in the row of
 * that task alone, and is joined when it is read.
 */
#ifndef STORE_BATCHES_H
#define STORE_BATCHES_H
#include "core/run/batch.h"
#include "store/db.h"
#include "store/scan.h"

struct batch_row {
    struct id id;
    struct id workspace_id;
    const char *name;
    enum batch_status status;
    struct str task; /* JSON object: what the members have in common, as in POST /v1/tasks. */
    int64_t max_active, budget_microusd; /* 0: none; as the next three. */
    int64_t stop_failures, stop_percent, stop_after;
    bool stop_cancels; /* When it stops, those under way are cancelled. */
    const char *requested_by;
    const char *reason_code, *reason; /* Why it stops, is paused or was cancelled; or NULL. */
    const char *stopped_by;           /* Who paused or cancelled it; or NULL. */
    const char *held; /* Why no member starts at present, for people; NULL: nothing but limits. */
    int64_t told;     /* Tenths of the members whose end was told by an event. */
    struct id last_event_id;
    int64_t created_us, updated_us, ended_us; /* ended_us 0: it has not */
};

/* RC_NOT_FOUND, BATCH_NOT_FOUND; batches_get locks the row. */
MUST_USE enum rc batches_get(struct db *db, const struct id *id, struct arena *arena,
                             struct batch_row *ret_row, struct err *err);
MUST_USE enum rc batches_peek(struct db *db, const struct id *id, struct arena *arena,
                              struct batch_row *ret_row, struct err *err);
MUST_USE enum rc batches_insert(struct db *db, const struct batch_row *row, struct err *err);
MUST_USE enum rc batches_save(struct db *db, const struct batch_row *row, struct err *err);
/* Must it be saved?  Texts are compared by address. */
bool batches_changed(const struct batch_row *now, const struct batch_row *stored);
/* Newest first. */
struct batch_filter { /* NULL, none or -1: any */
    int status;       /* enum batch_status or -1 */
    const char *name, *requested_by;
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
MUST_USE enum rc batches_list(struct db *db, const struct batch_filter *filter, struct arena *arena,
                              struct batch_row **ret_rows, size_t *ret_count, struct err *err);
/* For the doctor: members without the task that they should have, or with one that is not of the
   batch, and tasks of the batch that are no member's. */
MUST_USE enum rc batches_strays(struct db *db, const struct id *id, int64_t *ret_count,
                                struct err *err);
/* Those that have not ended. */
MUST_USE enum rc batches_open(struct db *db, int64_t limit, struct arena *arena,
                              struct batch_row **ret_rows, size_t *ret_count, struct err *err);

/* By what their members count as; counted from the rows. */
MUST_USE enum rc batches_counts(struct db *db, const struct id *id, struct batch_counts *ret_counts,
                                struct err *err);
/* Of all runs of all members and of their sub-tasks. */
MUST_USE enum rc batches_cost(struct db *db, const struct id *id, int64_t *ret_microusd,
                              struct err *err);

/* For admission, of the batch of a run, without a lock. */
struct batch_gate {
    enum batch_status status;
    int64_t max_active;
    int64_t active; /* Runs of members that have started and not ended. */
    const char *name;
};
MUST_USE enum rc batches_gate(struct db *db, const struct id *id, struct arena *arena,
                              struct batch_gate *ret_gate, struct err *err);
/* 0: none.  Without a lock; it never changes. */
MUST_USE enum rc batches_budget(struct db *db, const struct id *id, int64_t *ret_microusd,
                                struct err *err);

struct batch_member_row {
    struct id id;
    struct id batch_id;
    int64_t no; /* From 1, in the order in which they start. */
    const char *key;
    const char *repository; /* Its name, onboarded or not. */
    struct str task;        /* JSON object over that of the batch; or empty. */
    struct str depends_on;  /* JSON array of numbers of members; or empty. */
    enum member_state state;
    struct id task_id;                      /* MEMBER_SUBMITTED */
    const char *error_code, *error_message; /* Why it was refused, skipped or dropped. */
    int64_t updated_us;
};
MUST_USE enum rc batch_members_insert(struct db *db, const struct batch_member_row *row,
                                      struct err *err);
/* State, task, error, time. */
MUST_USE enum rc batch_members_save(struct db *db, const struct batch_member_row *row,
                                    struct err *err);
/* With its task document. */
MUST_USE enum rc batch_members_get(struct db *db, const struct id *id, struct arena *arena,
                                   struct batch_member_row *ret_row, struct err *err);

/* A member with what its task has come to.  The row has no task document. */
struct batch_member_view {
    struct batch_member_row row;
    enum task_status status; /* Of its task, as those below; zeroed without one. */
    const char *task_error_code, *task_error_message;
    struct id run_id; /* The latest. */
    int64_t run_count;
    int64_t cost_microusd; /* Of all its runs, sub-tasks included; only in batch_members_page. */
    struct id pull_request_id;
    int64_t pr_number;
    const char *pr_url, *pr_status;
};
/* All of them, by number. */
MUST_USE enum rc batch_members_all(struct db *db, const struct id *batch_id, struct arena *arena,
                                   struct batch_member_view **ret_rows, size_t *ret_count,
                                   struct err *err);
struct batch_page {
    struct id batch_id;
    int64_t after_no;
    int phase; /* enum member_phase or -1 */
    int64_t limit;
};
MUST_USE enum rc batch_members_page(struct db *db, const struct batch_page *page,
                                    struct arena *arena, struct batch_member_view **ret_rows,
                                    size_t *ret_count, struct err *err);
/* Tasks of members that have not finished; without locks. */
MUST_USE enum rc batch_members_unfinished(struct db *db, const struct id *batch_id,
                                          struct arena *arena, struct id **ret_ids,
                                          size_t *ret_count, struct err *err);
MUST_USE enum rc batch_members_last_no(struct db *db, const struct id *batch_id,
                                       int64_t *ret_last_no, struct err *err);
#endif
