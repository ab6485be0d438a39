/*
 * strays.h - branches and pull requests at an origin that are not recorded in the database.
 *
 *   branch or pull request of              is
 *   ---------------------------------------------------------------------------------------------
 *   a run that has not ended               as it should be
 *   the pull request that the run has      as it should be
 *   a run that is being taken back         as it should be: its saga is not over
 *   a run that ended without one           stale, if the last commit names the run: it is drover's
 *                                          own work, and no run that has ended ever publishes.  It
 *                                          can be taken back.  Else it is the work of others
 *   no run of this database, with an id    as it should be: it was deleted after its time
 *   from before what has expired           (core/run/expiry.h)
 *   another run that is not there          unknown: of another server, or from after a backup.  It
 *                                          is reported, and left for people
 *
 * Pull requests without a reference to a run belong to other authors: they are ignored.
 */
#ifndef CONTROL_WATCH_STRAYS_H
#define CONTROL_WATCH_STRAYS_H
#include "control/commit/command.h"
#include "forge/port/forge.h"
#include "store/db.h"

enum { STRAYS_MAX = 200 };

struct stray {
    const char *repository; /* Its name. */
    const char *ref, *head;
    const char *what; /* What is wrong and what to do about it; for people. */
    struct id run_id; /* none: no run of this database */
    bool stale;       /* Can be taken back: struct cmd_take_back. */
};

struct strays {
    struct stray items[STRAYS_MAX]; /* The first of them. */
    size_t count;
    int64_t looked_at, bad; /* All of them. */
};

/* Adds what is wrong among the traces of the repository. */
MUST_USE enum rc strays_judge(struct db *db, const char *repository,
                              const struct forge_traces *traces, struct arena *arena,
                              struct strays *strays, struct err *err);

struct cmd_take_back { /* Makes a job of what a run has left at its origin: saga_publish.h. */
    struct command base;
    struct id run_id;
    bool begun; /* The answer; false: there is nothing to take back (any more). */
};
struct cmd_take_back *cmd_take_back_new(void);
#endif
