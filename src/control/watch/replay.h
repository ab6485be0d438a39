/*
 * replay.h - a run as it was: its events, read in pages and folded (core/run/run_fold.h).
 *
 * A replay begins at the latest snapshot before its moment and reads the events behind it.  Every
 * REPLAY_SNAPSHOT_EVENTS events of a run that it had to fold it notes a snapshot, which the caller
 * may store by a command of its own (replay_keep.h): snapshots are made by those who read, and cost
 * the runs nothing.
 */
#ifndef CONTROL_WATCH_REPLAY_H
#define CONTROL_WATCH_REPLAY_H
#include "core/run/run_fold.h"
#include "store/run_snapshots.h"
#include "store/runs.h"

enum {
    REPLAY_SNAPSHOT_EVENTS = 500,
    REPLAY_SNAPSHOTS_MAX = 32, /* Of one replay. */
    RUN_FOLD_VERSION = 1,      /* A change of what is folded is another version. */
};

/* Up to an event of the run, or a time; 0: to the end. */
struct replay_moment {
    int64_t sequence, time_us;
};

struct replay {
    struct run_fold fold;
    int64_t events_read;   /* Behind the snapshot. */
    int64_t from_sequence; /* Of the snapshot; 0: from the beginning. */
    int64_t removed;       /* Diagnostic events of the run that were deleted before. */
    struct run_snapshot_row made[REPLAY_SNAPSHOTS_MAX];
    size_t made_count;
};

struct replay_options {
    struct replay_moment at;
    bool from_start; /* Uses no snapshot. */
};

/* The caller has a transaction open, or takes the risk that the run moves meanwhile.  RC_NOT_FOUND:
   the run had no event then. */
MUST_USE enum rc replay_run(struct db *db, const struct id *run_id,
                            const struct replay_options *options, struct arena *arena,
                            struct replay *ret_replay, struct err *err);

/* Every event of a run and its task behind a place in the log; see() ends it with false. */
struct replay_walk {
    struct id run_id;
    int64_t after_seq;
    bool (*see)(void *ctx, const struct event *event);
    void *ctx;
};
MUST_USE enum rc replay_walk(struct db *db, const struct replay_walk *walk, struct err *err);

/* What the row has of the members of a fold. */
void replay_of_row(const struct run_row *run, struct run_fold *ret_fold);
/* The fold as the object that a snapshot stores. */
struct str replay_snapshot_text(const struct run_fold *fold, struct arena *arena);
#endif
