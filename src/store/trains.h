/*
 * trains.h - merge trains, one for each target branch of a repository, and their cars: pull
 * requests on their way into it.
 *
 * A car that has ended stays as history for a while.  A pull request has at most one that has not.
 */
#ifndef STORE_TRAINS_H
#define STORE_TRAINS_H
#include "core/pr/train.h"
#include "store/db.h"

struct train_row {
    struct id id;
    struct id workspace_id;
    struct id repository_id;
    const char *repository; /* Name, joined on reading. */
    const char *target_branch;
    const char *base_commit; /* Of the target, as the positions are built on it; NULL: not known. */
    int64_t rounds;          /* How often positions were built on another commit of others. */
    int64_t verifications;   /* Positions whose checks were run. */
    int64_t landed, rejected; /* Cars that ended so; rejected: also those that do not merge. */
    int64_t failures;         /* Jobs in a row that could not be done. */
    int64_t retry_us;         /* Nothing is begun before then; 0: at once */
    const char *error_code;   /* Of the last failure; NULL: none */
    const char *error_message;
    struct id land_job_id; /* none: nothing lands. */
    int64_t created_us, updated_us;
};

struct train_car_row {
    struct id id;
    struct id train_id;
    struct id pull_request_id;
    const char *pr_status; /* Its, joined on reading. */
    struct id run_id;      /* That opened it. */
    struct id task_id;
    int64_t number;
    const char *branch, *title;
    const char *head_commit;
    bool urgent;
    bool clash; /* core/pr/train.h */
    enum car_state state;
    struct id job_id;        /* Of the test of its position; none: it is not tested. */
    const char *commit_hash; /* Of its position, once merged; landed: of the target. */
    const char *tree_hash;   /* That was verified last; NULL: none */
    const char *detail;      /* Why it ended, for people; or NULL */
    bool told;               /* The shepherd was told how it ended. */
    int64_t entered_us, updated_us, ended_us;
};

/* RC_CONFLICT: the branch has one. */
MUST_USE enum rc trains_insert(struct db *db, const struct train_row *row, struct err *err);
/* Both lock it. */
MUST_USE enum rc trains_get(struct db *db, const struct id *id, struct arena *arena,
                            struct train_row *ret_row, struct err *err);
MUST_USE enum rc trains_of(struct db *db, const struct id *repository_id, const char *target_branch,
                           struct arena *arena, struct train_row *ret_row, struct err *err);
MUST_USE enum rc trains_save(struct db *db, const struct train_row *row, struct err *err);
/* By id, newest first; repository: its name, or NULL. */
struct train_filter {
    const char *repository;
    struct id before;
    int64_t limit;
};
MUST_USE enum rc trains_list(struct db *db, const struct train_filter *filter, struct arena *arena,
                             struct train_row **ret_rows, size_t *ret_count, struct err *err);

/* RC_CONFLICT: the pull request has one that has not ended. */
MUST_USE enum rc train_cars_insert(struct db *db, const struct train_car_row *row, struct err *err);
/* Locks nothing. */
MUST_USE enum rc train_cars_peek(struct db *db, const struct id *id, struct arena *arena,
                                 struct train_car_row *ret_row, struct err *err);
/* The one that has not ended; locks nothing. */
MUST_USE enum rc train_cars_of_pr(struct db *db, const struct id *pull_request_id,
                                  struct arena *arena, struct train_car_row *ret_row,
                                  struct err *err);
MUST_USE enum rc train_cars_save(struct db *db, const struct train_car_row *row, struct err *err);
/* Must it be saved?  Texts are compared by address. */
bool train_car_changed(const struct train_car_row *now, const struct train_car_row *stored);
/* Those that have not ended, by arrival. */
MUST_USE enum rc train_cars_live(struct db *db, const struct id *train_id, struct arena *arena,
                                 struct train_car_row **ret_rows, size_t *ret_count,
                                 struct err *err);
/* Those that have, the latest first. */
MUST_USE enum rc train_cars_ended(struct db *db, const struct id *train_id, int64_t limit,
                                  struct arena *arena, struct train_car_row **ret_rows,
                                  size_t *ret_count, struct err *err);

/* Deletes the oldest of those that ended before then and whose shepherd was told; at most limit. */
struct car_prune {
    int64_t before_us, limit;
};
MUST_USE enum rc train_cars_prune(struct db *db, const struct car_prune *prune, int64_t *ret_count,
                                  struct err *err);

/* Of all trains, for metrics. */
struct train_counts {
    int64_t cars; /* That have not ended. */
    int64_t rounds, verifications, landed, rejected;
};
MUST_USE enum rc trains_count(struct db *db, struct train_counts *ret_counts, struct err *err);
#endif
