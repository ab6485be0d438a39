/*
 * pull_requests.h - the pull requests that runs opened: at most one per run.
 */
#ifndef STORE_PULL_REQUESTS_H
#define STORE_PULL_REQUESTS_H
#include "store/db.h"
#include "store/scan.h"

struct pull_request_row {
    struct id id;
    int64_t number;
    struct id repository_id;
    const char *repository; /* Name, joined on reading. */
    struct id task_id;
    struct id run_id;
    const char *branch;
    const char *target_branch;
    const char *url;
    const char *title;
    const char *status;         /* open, merged, closed */
    const char *shepherd_state; /* core/pr/shepherd.h, joined on reading; NULL: not followed. */
    bool draft;
    const char *head_commit;
    const char *merge_commit;
    int64_t created_us, updated_us, merged_us;
};
struct pull_request_filter {
    const char *repository;
    const char *status;
    struct id before;
    int64_t limit;
    struct scan *scan; /* scan.h, or NULL: the whole table */
};
MUST_USE enum rc pull_requests_insert(struct db *db, const struct pull_request_row *row,
                                      struct err *err); /* RC_CONFLICT: the run has one, or
                                                        another run has this one open. */
MUST_USE enum rc pull_requests_get(struct db *db, const struct id *id, struct arena *arena,
                                   struct pull_request_row *ret_row, struct err *err);
/* Without a lock: the run is locked before its pull request. */
MUST_USE enum rc pull_requests_run_of(struct db *db, const struct id *id, struct id *ret_run_id,
                                      struct err *err);
MUST_USE enum rc pull_requests_of_run(struct db *db, const struct id *run_id, struct arena *arena,
                                      struct pull_request_row *ret_row, struct err *err);
/* The open pull request with this address: there is at most one.  RC_NOT_FOUND. */
MUST_USE enum rc pull_requests_open_at(struct db *db, const char *url, struct arena *arena,
                                       struct pull_request_row *ret_row, struct err *err);
MUST_USE enum rc pull_requests_save(struct db *db, const struct pull_request_row *row,
                                    struct err *err); /* status, draft, head, merge_commit, times */
MUST_USE enum rc pull_requests_list(struct db *db, const struct pull_request_filter *filter,
                                    struct arena *arena, struct pull_request_row **ret_rows,
                                    size_t *ret_count, struct err *err);

/* Ids of pull requests that something at the forge is about, at most so many; without a lock. */
enum { PULL_REQUESTS_FOUND_MAX = 500 };
struct pull_request_ids {
    struct id *ids;
    size_t count;
};
/* The newest first, of any status: one that was closed may be open again there. */
MUST_USE enum rc pull_requests_numbered(struct db *db, const struct id *repository_id,
                                        int64_t number, struct arena *arena,
                                        struct pull_request_ids *ret_ids, struct err *err);
/* Open ones with this head. */
MUST_USE enum rc pull_requests_at_head(struct db *db, const struct id *repository_id,
                                       const char *commit, struct arena *arena,
                                       struct pull_request_ids *ret_ids, struct err *err);
/* Open ones from or into this branch. */
MUST_USE enum rc pull_requests_of_branch(struct db *db, const struct id *repository_id,
                                         const char *branch, struct arena *arena,
                                         struct pull_request_ids *ret_ids, struct err *err);
#endif
