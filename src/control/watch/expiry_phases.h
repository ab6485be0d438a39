/*
 * expiry_phases.h - one round of retention: the parts of it, in their order, each done in small
 * steps (expiry_rounds.h).
 */
#ifndef CONTROL_WATCH_EXPIRY_PHASES_H
#define CONTROL_WATCH_EXPIRY_PHASES_H
#include "base/clock.h"
#include "control/watch/expire.h"
#include "core/run/expiry.h"
#include "store/settled.h"
#include "store/store.h"

enum expiry_phase {
    EXPIRY_PHASE_TASKS,
    EXPIRY_PHASE_LIMITS, /* How far the log may be cut. */
    EXPIRY_PHASE_EVENTS, /* Of tasks that are gone. */
    EXPIRY_PHASE_LOG,    /* Events of no task. */
    EXPIRY_PHASE_DIAGNOSTICS,
    EXPIRY_PHASE_JOBS,
    EXPIRY_PHASE_SAGAS,
    EXPIRY_PHASE_BATCHES,
    EXPIRY_PHASE_LETTERS,
    EXPIRY_PHASE_SWEEP,    /* Contents that no row names. */
    EXPIRY_PHASE_CONTENTS, /* Contents that deleted rows have named. */
    EXPIRY_PHASE_SPACE,
    EXPIRY_PHASE_END,
    EXPIRY_PHASE_COUNT
};
enum { EXPIRY_GOING_MAX = 64 }; /* Tasks of one command. */
/* Until the next step, while a transaction is open that may hold events. */
#define EXPIRY_SETTLE_US (100 * US_PER_MS)

struct expiry_round {
    /* Set before it begins; none is owned. */
    const struct expiry_rules *rules;
    struct store *store;
    struct db *db; /* For reading. */
    struct clock clock;
    struct lease_fence turn;
    enum rc (*call)(void *ctx, struct command *command);
    void *ctx;
    int64_t begun_us, now_us; /* By that clock. */
    bool busy;                /* Other commands come: steps are small. */
    bool untimed;             /* Steps are limited by rows alone: the same seed, the same steps. */

    enum expiry_phase phase; /* The caller moves it on when a phase is done. */
    struct arena arena;      /* Of one step. */
    int64_t spent_us;        /* Of the lane's time, by commands; the caller sets it to 0. */
    int64_t wait_us;         /* Set by a step that waits for others; the caller sets it to 0. */
    struct id before;        /* Tasks: those with smaller ids are next. */
    struct id going[EXPIRY_GOING_MAX]; /* Their time is over. */
    size_t going_count;
    struct expiry_kept {
        int64_t count;
        struct id example;
    } kept[EXPIRY_KEEP_COUNT];
    struct settled settled;
    int settled_tries;
    int64_t settled_seq; /* Nothing behind it is deleted from the log. */
    int64_t read_seq;    /* All readers have read up to here; INT64_MAX: there is none. */
    char reader[256];    /* The one that is furthest behind. */
    int64_t jobs_seq,
        jobs_us; /* How far the walk of jobs is, and when it began; outlive a round. */
    char swept[SHA256_TEXT_BYTES], loose[SHA256_TEXT_BYTES];
    bool sweeps;
    int64_t rows, bytes, unread;
};

/* One step of the phase; *ret_done: there is no more to do in it. */
MUST_USE enum rc expiry_phase_step(struct expiry_round *round, bool *ret_done, struct err *err);
#endif
