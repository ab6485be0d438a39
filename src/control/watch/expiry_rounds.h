/*
 * expiry_rounds.h - looks for what is past its time, hour by hour, and deletes it a little at a
 * time.
 *
 *   tasks ─► their events ─► other events ─► diagnostics ─► jobs, sagas, batches, letters of sinks
 *         ─► contents that nothing uses ─► free pages of the database
 *
 * Reading is done on a connection of its own; what is found is deleted by commands (expire.h), each
 * of them small.  Behind each comes a pause that is a multiple of what it took, a large one while
 * other commands come: retention takes a few hundredths of the committer's time under load, and
 * most of it while nothing else needs it.
 *
 * A round that is cut short leaves nothing behind: the next one begins with the first part, and
 * finds what is left.
 */
#ifndef CONTROL_WATCH_EXPIRY_ROUNDS_H
#define CONTROL_WATCH_EXPIRY_ROUNDS_H
#include "base/clock.h"
#include "control/commit/committer.h"
#include "control/watch/membership.h"
#include "core/run/expiry.h"
#include "store/store.h"

struct expiry_rounds; /* Owned by control. */

struct expiry_rounds_options {
    struct expiry_rules rules;
    struct store *store; /* None of these is owned. */
    struct clock clock;
    struct membership *membership; /* NULL: the store is not shared, or it has the turn at hand. */
    struct lease_fence turn;
    struct committer *committer; /* To see whether others use it; NULL: time plays no part. */
    /* Posts a command and waits: committer_call, or what the simulator has in its place. */
    enum rc (*call)(void *ctx, struct command *command);
    void *ctx;
};

struct expiry_rounds *expiry_rounds_new(const struct expiry_rounds_options *options);
void expiry_rounds_free(struct expiry_rounds *rounds); /* NULL is fine. */

/* The next small step; returns after how many microseconds the one after it may be done.  Without a
   thread, for tests and the simulator. */
int64_t expiry_rounds_step(struct expiry_rounds *rounds);
int64_t expiry_rounds_done(const struct expiry_rounds *rounds); /* How many were completed. */

/* A thread that does the steps. */
MUST_USE enum rc expiry_rounds_start(struct expiry_rounds *rounds, struct err *err);
void expiry_rounds_stop(struct expiry_rounds *rounds); /* Joins; NULL is fine. */
#endif
