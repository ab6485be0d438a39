/*
 * isolate.h - one of many fails alone.
 *
 * A loop over many rows (queued runs, due jobs, timers, schedules, reports) handles each of them by
 * isolate().  An error about one row must not stop the others, and what the failed one has written
 * must not stay:
 *
 *   first try    the row is handled as it is, without a statement more.  An error ends the
 *                transaction; the lane runs it once more, alone and with ctx->careful.
 *   second try   each row has a savepoint.  What a failed one has written is undone, the failure is
 *                logged with its id, and the next of its tries is made: to fail the run, to put the
 *                timer off.  Then the loop continues.
 *
 * An error of the engine (disk, connection, a lock) is no error about one row: it ends the loop.
 */
#ifndef CONTROL_COMMIT_ISOLATE_H
#define CONTROL_COMMIT_ISOLATE_H
#include "control/commit/context.h"

/* Why the try before this one failed. */
struct failure {
    enum rc rc;
    struct err err;
};

/* One try with one row; why is NULL in the first one. */
typedef enum rc isolate_try(struct context *ctx, void *subject, const struct failure *why);

struct isolated {
    const char *kind; /* For the log: run, job, timer, schedule. */
    const char *id;
    void *subject;
    isolate_try *const *tries; /* In order, until one succeeds; up to NULL. */
};
/* RC_OK: one of the tries succeeded.  Else the outcome of the last one. */
MUST_USE enum rc isolate(struct context *ctx, const struct isolated *one);

/* Does it concern all rows alike? */
bool is_engine_failure(enum rc rc, const struct err *err);

/* "PAYLOAD_TOO_LARGE: ...", for the error message of a run. */
const char *failure_text(struct context *ctx, const struct failure *why);
#endif
