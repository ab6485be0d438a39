/*
 * breakers.h - circuit breakers in use: checked before a call is made, updated with its outcome.
 *
 * A job that names a dependency is claimed only when the breaker of that name allows it; its
 * outcome is recorded in the breaker in the transaction that settles it.  Probes are counted from
 * the jobs that are on lease: a worker that dies leaks none.  Other callers acquire and report by
 * commands of their own.
 *
 * A batch reads a breaker once, without a lock; only a change of the breaker locks its row.
 */
#ifndef CONTROL_QUEUE_BREAKERS_H
#define CONTROL_QUEUE_BREAKERS_H
#include "control/commit/context.h"
#include "control/queue/settle.h"
#include "core/queue/breaker_config.h"
#include "store/breakers.h"

/* Jobs that one lease may hold back or move to another queue.  Then it answers with what it has,
   and its worker leases again: a backlog of held jobs makes no endless transaction. */
enum { LEASE_HELD_MAX = 64 };

/* Whose results come from a breaker's configuration. */
#define FALLBACK_WORKER "drover/fallback"

struct breaker_verdict {
    bool allowed;
    enum breaker_state state;
    int64_t wait_us; /* Denied: worth another try after that. */
};
/* May a call be made?  lend: the call cannot be counted from a leased job; else it is a job's. */
MUST_USE enum rc breaker_ask(struct context *ctx, const char *name, bool lend,
                             struct breaker_verdict *ret_verdict);

struct breaker_report {
    bool ok;
    const char *error; /* or NULL */
    int64_t since_us;  /* When the call began; 0: not known. */
};
MUST_USE enum rc breaker_report(struct context *ctx, const char *name,
                                const struct breaker_report *report);

/* For a job about to be claimed.  Not allowed: it was put off, moved or answered, according to the
   breaker's fallback, and must not be claimed. */
MUST_USE enum rc breaker_gate(struct context *ctx, const struct job_row *job, bool *ret_allowed);
/* The attempt of a job (as it was while leased) has ended. */
MUST_USE enum rc breaker_job_settled(struct context *ctx, const struct job_row *job,
                                     const struct settlement *settlement);

/* ---- commands ---- */

struct cmd_breaker { /* acquire, report, set, reset and trip use what they need. */
    struct command base;
    const char *name;
    bool ok;                        /* report */
    const char *error;              /* report: or NULL */
    struct str config;              /* set: the checked document */
    const char *reason;             /* reset, trip: or NULL */
    struct breaker_verdict verdict; /* acquire: the answer */
    struct breaker_row row;         /* The answer of all others: as it is now. */
};
struct cmd_breaker *cmd_breaker_acquire_new(void);
struct cmd_breaker *cmd_breaker_report_new(void);
struct cmd_breaker *cmd_breaker_set_new(void);
struct cmd_breaker *cmd_breaker_reset_new(void);
struct cmd_breaker *cmd_breaker_trip_new(void);
#endif
