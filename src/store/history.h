/*
 * history.h - what was recorded of runs, page by page, for simulations: core/run/whatif.h.
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H
#include "core/run/budget.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/run/task_limits.h"
#include "store/db.h"

struct history_row {
    struct id run_id, repository_id;
    const char *requested_by, *task_type;
    int64_t run_no, rank;
    enum run_status status;
    const char *error_code;
    int64_t queued_us;
    int64_t admitted_us; /* By its event; 0: not found among its first ones. */
    int64_t started_us, ended_us, updated_us;
    int64_t work_us, work_since_us;
    int64_t cost_microusd, turns, tokens;
    struct task_limits limits, own; /* Of the run, and of its task. */
    int64_t used[BUDGET_KIND_COUNT];
    const char *overridden;
    bool has_pull_request;
    struct str paths; /* JSON array: files of its patch; empty unless asked for. */
    enum mode mode;
    enum risk risk;
};

struct history_query {
    struct id after;  /* In order of id; none: from the first. */
    int64_t since_us; /* Queued then or later. */
    bool with_paths;
    int64_t limit;
};
MUST_USE enum rc history_runs(struct db *db, const struct history_query *query, struct arena *arena,
                              struct history_row **ret_rows, size_t *ret_count, struct err *err);
#endif
