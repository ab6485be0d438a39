/*
 * breakers.h - circuit breakers in use: asked before a call goes out, told how it went.
 *
 * A job that names a dependency is claimed only when the breaker of that name lets it through; its
 * outcome is told to the breaker in the transaction that settles it.  Probes are counted from the
 * jobs that are out on lease: a worker that dies takes nothing with it.  Others ask and tell by
 * commands of their own.
 *
 * A batch reads a breaker once, without a lock; only what changes it takes its row.
 */
#ifndef CONTROL_BREAKERS_H
#define CONTROL_BREAKERS_H
#include "control/cx.h"
#include "control/settle.h"
#include "core/breaker_config.h"
#include "store/breakers.h"

/* Jobs that one lease may hold back or send elsewhere.  Then it answers with what it has, and its
   worker asks again: a backlog of held jobs makes no endless transaction. */
enum { LEASE_HELD_MAX = 64 };

/* Whose results come from a breaker's configuration. */
#define FALLBACK_WORKER "drover/fallback"

struct breaker_verdict {
    bool allowed;
    enum breaker_state state;
    int64_t wait_us; /* Denied: worth another try after that. */
};
/* May a call go out?  lend: nobody can see the call; else it is that of a job. */
MUST_USE enum rc breaker_ask(struct cx *cx, const char *name, bool lend,
                             struct breaker_verdict *ret_verdict);

struct breaker_report {
    bool ok;
    const char *error; /* or NULL */
    int64_t since_us;  /* When the call began; 0: not known. */
};
MUST_USE enum rc breaker_report(struct cx *cx, const char *name,
                                const struct breaker_report *report);

/* For a job about to be claimed.  Not allowed: it was put off, moved or answered, as the breaker's
   fallback says, and must be left alone. */
MUST_USE enum rc breaker_gate(struct cx *cx, const struct job_row *job, bool *ret_allowed);
/* The attempt of a job (as it was while leased) has ended. */
MUST_USE enum rc breaker_job_settled(struct cx *cx, const struct job_row *job,
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
