/*
 * migration_run_snapshots.c - folds of runs that were made once: run_snapshots.h.
 */
#include "store/migrate.h"

const char *const migration_run_snapshots[] = {
    "CREATE TABLE run_snapshots ("
    " run_id {text} NOT NULL REFERENCES runs (id) ON DELETE CASCADE,"
    " sequence_no {int} NOT NULL,"
    " log_seq {int} NOT NULL,"
    " time_us {int} NOT NULL,"
    " version {int} NOT NULL,"
    " snapshot {json} NOT NULL,"
    " created_us {int} NOT NULL,"
    " PRIMARY KEY (run_id, sequence_no)) {keyed_table}",
    NULL,
};
