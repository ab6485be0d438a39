/*
 * memories.h - a short record of each finished run, for the prompts of later ones.
 */
#ifndef STORE_MEMORIES_H
#define STORE_MEMORIES_H
#include "store/db.h"

struct memory_row {
    struct id id;
    struct id workspace_id, repository_id;
    const char *repository; /* Its name; read only. */
    struct id task_id, run_id;
    const char *outcome;    /* completed, failed, cancelled, timed_out */
    const char *error_code; /* or NULL */
    const char *summary;
    struct str paths;         /* JSON array of the files that it touched, or empty. */
    const char *pull_request; /* Its number, or NULL */
    const char *head_commit;  /* or NULL */
    int64_t turns, cost_microusd;
    int64_t created_us;
};

struct memory_filter {
    const char *repository; /* A name, or NULL: of all */
    struct id before;       /* none: from the newest */
    int64_t limit;
};

MUST_USE enum rc memories_insert(struct db *db, const struct memory_row *row, struct err *err);
MUST_USE enum rc memories_get(struct db *db, const struct id *id, struct arena *arena,
                              struct memory_row *ret_row, struct err *err);
MUST_USE enum rc memories_remove(struct db *db, const struct id *id, struct err *err);
/* The newest first. */
MUST_USE enum rc memories_list(struct db *db, const struct memory_filter *filter,
                               struct arena *arena, struct memory_row **ret_rows, size_t *ret_count,
                               struct err *err);
MUST_USE enum rc memories_of_repository(struct db *db, const struct id *repository_id,
                                        int64_t limit, struct arena *arena,
                                        struct memory_row **ret_rows, size_t *ret_count,
                                        struct err *err);
#endif
