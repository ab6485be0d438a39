/*
 * dead_letters.h - jobs that failed for good: found by filter, counted, grouped by error, and
 * deleted after their retention.
 *
 * A dead letter is the job's own row, in state dead_letter, with its rows in job_attempts.  It is
 * in no other place.  The time of its death is updated_us, which nothing changes after it but a
 * replay.
 */
#ifndef STORE_DEAD_LETTERS_H
#define STORE_DEAD_LETTERS_H
#include "store/jobs.h"
#include "store/scan.h"

enum dead_archived { DEAD_OPEN, DEAD_ARCHIVED, DEAD_BOTH };

enum dead_only {
    DEAD_ANY,
    DEAD_REPLAYABLE, /* Without steps of runs and sagas; the cleaning after a run counts, and the
                        compensation at which a saga is stuck. */
    DEAD_NEEDLESS    /* Without those at which a saga is stuck. */
};

struct dead_filter {
    const char *queue, *type, *reason, *error_code, *pattern; /* NULL: any */
    int64_t since_us, until_us; /* Of death, the second exclusive; 0: no bound. */
    enum dead_archived archived;
    enum dead_only only;
    struct scan *scan; /* dead_letters_list: scan.h, or NULL */
};

struct dead_row {
    struct job_row job;
    int64_t attempts;          /* Attempts recorded, those before a replay too. */
    int64_t first_us, last_us; /* Start of the first, end of the last; 0: it never ran. */
};

/* Newest first; payload, result and headers are left out. */
MUST_USE enum rc dead_letters_list(struct db *db, const struct dead_filter *filter,
                                   const struct id *before, int64_t limit, struct arena *arena,
                                   struct dead_row **ret_rows, size_t *ret_count, struct err *err);
/* RC_NOT_FOUND also for a job that is not dead. */
MUST_USE enum rc dead_letters_get(struct db *db, const struct id *id, struct arena *arena,
                                  struct dead_row *ret_row, struct err *err);
MUST_USE enum rc dead_letters_count(struct db *db, const struct dead_filter *filter,
                                    int64_t *ret_count, struct err *err);

/* Up to limit of them, locked by this transaction, in order of arrival. */
MUST_USE enum rc dead_letters_pick(struct db *db, const struct dead_filter *filter, int64_t limit,
                                   struct arena *arena, struct id **ret_ids, size_t *ret_count,
                                   struct err *err);
/* The same in order of death. */
MUST_USE enum rc dead_letters_pick_oldest(struct db *db, const struct dead_filter *filter,
                                          int64_t limit, struct arena *arena, struct id **ret_ids,
                                          size_t *ret_count, struct err *err);

struct dead_group {
    const char *queue, *type, *reason;
    const char *pattern; /* or NULL */
    int64_t count;
    int64_t first_us, last_us; /* Of death. */
    struct id example;         /* The newest job. */
};
/* What they have in common, the most frequent first. */
MUST_USE enum rc dead_letters_analyse(struct db *db, const struct dead_filter *filter,
                                      int64_t limit, struct arena *arena,
                                      struct dead_group **ret_groups, size_t *ret_count,
                                      struct err *err);
/* The names of queues that have any. */
MUST_USE enum rc dead_letters_queues(struct db *db, struct arena *arena, const char ***ret_names,
                                     size_t *ret_count, struct err *err);

MUST_USE enum rc dead_letters_archive(struct db *db, const struct id *id, int64_t now_us,
                                      struct err *err);
/* With its attempts.  The row must be locked. */
MUST_USE enum rc dead_letters_delete(struct db *db, const struct id *id, struct err *err);
MUST_USE enum rc dead_letters_set_payload(struct db *db, const struct job_row *row,
                                          struct err *err);
#endif
