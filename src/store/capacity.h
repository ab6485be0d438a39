/*
 * capacity.h - what work uses up, counted from the rows of runs, tasks and pull requests at each
 * query of admission.  Nothing here is kept in a column of its own, so nothing can drift.
 */
#ifndef STORE_CAPACITY_H
#define STORE_CAPACITY_H
#include "core/run/run.h"
#include "core/run/task.h"
#include "store/db.h"

/* What the workspace's runs have cost that ended at that time or later, and those under way; each
   at most its own budget, one without a budget at most run_max_microusd. */
struct spent_query {
    struct id workspace_id;
    int64_t since_us;
    int64_t run_max_microusd;
};
MUST_USE enum rc capacity_spent(struct db *db, const struct spent_query *query,
                                int64_t *ret_microusd, struct err *err);

/* An active run of a repository. */
struct working_row {
    struct id run_id;
    struct id root_run_id; /* Of its budget tree, or none. */
    enum run_status status;
    enum mode mode;
    enum risk risk;
    struct str scope; /* JSON arrays: what its task declares, */
    struct str paths; /* and what its latest patch changes. */
    bool has_pull_request;
};
MUST_USE enum rc capacity_working(struct db *db, const struct id *repository_id,
                                  struct arena *arena, struct working_row **ret_rows,
                                  size_t *ret_count, struct err *err);
MUST_USE enum rc capacity_open_pull_requests(struct db *db, const struct id *repository_id,
                                             int64_t *ret_count, struct err *err);

/* How many queued runs of the workspace stand in front of this one: those of smaller rank. */
struct queue_place {
    struct id workspace_id;
    int64_t rank;
    struct id run_id;
};
MUST_USE enum rc capacity_read_ahead(struct db *db, const struct queue_place *place,
                                     int64_t *ret_count, struct err *err);
#endif
