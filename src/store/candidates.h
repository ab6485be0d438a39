/*
 * candidates.h - the candidates of a task with what is known of each: one row per sub-task that
 * competes, with its latest run and that run's patch.
 */
#ifndef STORE_CANDIDATES_H
#define STORE_CANDIDATES_H
#include "core/run/task.h"
#include "store/db.h"

struct candidate_row {
    struct id task_id;
    int64_t number;   /* From 1. */
    const char *name; /* or NULL */
    enum task_status status;
    struct id run_id; /* Its latest. */
    const char *base_commit, *prompt_sha256, *prompt_version, *plan_sha256;
    const char *model, *account, *error_code;
    int64_t turns, cost_microusd, score_milli;
    int64_t started_us, ended_us;
    struct str paths;   /* JSON array: files of the patch, or empty. */
    struct id patch_id; /* none: there is no patch, and the rest is zero */
    const char *patch_sha256, *tree_hash, *summary, *patch_status;
    int64_t files, lines_added, lines_deleted;
    int64_t checks, checks_failed; /* Of that patch; optional ones that failed are among both. */
};
/* By number, without a lock. */
MUST_USE enum rc candidates_of_task(struct db *db, const struct id *task_id, struct arena *arena,
                                    struct candidate_row **ret_rows, size_t *ret_count,
                                    struct err *err);
#endif
