/*
 * whatif_read.h - the recorded history and two worlds for core/run/whatif.h: the one in force, and
 * one with other limits.
 *
 * Most runs are read as a row.  Of a run that waited, was held for a person, had more than one
 * attempt or passes a limit of one of the worlds the events are read as well: they tell when it
 * could have started, and what it had used at which moment.
 */
#ifndef CONTROL_WATCH_WHATIF_READ_H
#define CONTROL_WATCH_WHATIF_READ_H
#include "control/commit/committer.h"
#include "core/run/whatif.h"
#include "store/db.h"

/* The other world, as a person has written it; what is not given is as it is. */
struct whatif_config {
    struct committer_limits limits;
    struct str defaults;           /* The server's layer under all repositories. */
    const struct js *repositories; /* {NAME: layer, "*": layer}, over the stored one; or NULL */
};

struct whatif_question {
    const struct committer_limits *limits; /* In force. */
    struct str defaults;
    struct id workspace_id;
    struct whatif_config other;
    int64_t since_us, now_us;
};

struct whatif_worlds {
    struct whatif_history history;
    struct whatif_world now, other;
    int64_t events_read; /* Runs of which events were read. */
    const char *const *repo_names;
};

/* RC_INVALID: a layer does not fit.  RC_TOO_LARGE, WHATIF_TOO_LARGE: there are more runs than
   WHATIF_RUNS_MAX. */
MUST_USE enum rc whatif_read(struct db *db, const struct whatif_question *question,
                             struct arena *arena, struct whatif_worlds *ret_worlds,
                             struct err *err);
#endif
