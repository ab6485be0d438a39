/*
 * run_snapshots.h - the fold of a run (core/run/run_fold.h) as it was after one of its events.
 *
 * They save a replay from reading the events before them and are never the truth: without them
 * every answer is the same, and one of another version of the fold is passed over.  They end with
 * their run.
 */
#ifndef STORE_RUN_SNAPSHOTS_H
#define STORE_RUN_SNAPSHOTS_H
#include "store/db.h"

struct run_snapshot_row {
    struct id run_id;
    int64_t sequence_no; /* The event of the run after which it was taken; */
    int64_t log_seq;     /* its place in the log, */
    int64_t time_us;     /* and its time. */
    int64_t version;     /* Of the fold. */
    struct str snapshot; /* A JSON object. */
    int64_t created_us;
};

/* One that is there already stays. */
MUST_USE enum rc run_snapshots_put(struct db *db, const struct run_snapshot_row *row,
                                   struct err *err);
/* The latest of this version that is neither behind the event nor behind the time. */
struct run_snapshot_place {
    int64_t version;
    int64_t sequence_max, time_max_us;
};
MUST_USE enum rc run_snapshots_latest(struct db *db, const struct id *run_id,
                                      const struct run_snapshot_place *place, struct arena *arena,
                                      struct run_snapshot_row *ret_row, struct err *err);
/* All of a run are deleted. */
MUST_USE enum rc run_snapshots_forget(struct db *db, const struct id *run_id, struct err *err);
/* All of a run, in order of sequence_no. */
MUST_USE enum rc run_snapshots_of(struct db *db, const struct id *run_id, struct arena *arena,
                                  struct run_snapshot_row **ret_rows, size_t *ret_count,
                                  struct err *err);
#endif
