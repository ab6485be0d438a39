/*
 * whatif.h - the recorded runs once more, under other limits.  Pure.
 *
 *   history (what was submitted, how long it worked, what it used)
 *      + world (limits, budgets, policy)   ->  outcome of every run
 *   outcomes of two worlds                 ->  difference
 *
 * The decisions are those of production: admission_submit and admission_start, policy_decide,
 * policy_forbids, task_limits_resolve and budget_spend.  What is not decided by limits is taken as
 * it was: when a run had everything else that it needed (ready_us), how long it worked, how long
 * people took, what it used.
 *
 * 1. Simulated time moves from event to event; at one time ends come before starts.
 * 2. A run that is stopped by a limit ends at the recorded moment at which its sums passed it,
 *    where that was recorded (points), else in proportion to its work.
 * 3. The same world twice gives the same outcomes, so their difference is empty.
 * 4. What cannot be known is counted, never guessed: what an agent would have done with more turns,
 *    what a person would have answered, what tasks that were rejected would have cost.
 */
#ifndef CORE_RUN_WHATIF_H
#define CORE_RUN_WHATIF_H
#include "base/arena.h"
#include "base/id.h"
#include "core/run/admission.h"
#include "core/run/budget.h"
#include "core/run/task_limits.h"

enum { WHATIF_RUNS_MAX = 250000 };

/* What ends a run before its time. */
enum whatif_stop {
    WHATIF_NO_STOP,
    WHATIF_STOP_TURNS,
    WHATIF_STOP_COST,
    WHATIF_STOP_TOKENS,
    WHATIF_STOP_RETRIES,
    WHATIF_STOP_TIME,
    WHATIF_STOP_PATHS,
    WHATIF_STOP_COUNT
};
const char *whatif_stop_code(enum whatif_stop stop); /* max_turns_exceeded; NULL: no stop */
enum whatif_stop whatif_stop_of(const char *error_code);

/* ---- what was recorded ---- */

struct whatif_point { /* Sums of a run at a moment of its work. */
    int64_t work_us;
    int64_t turns, tokens, cost_microusd;
    int64_t attempt; /* Above 0: this attempt is about to begin. */
};

struct whatif_run {
    struct id id;
    uint32_t repo, user, type; /* Places in the tables of a world. */
    int64_t rank;
    int64_t queued_us;
    int64_t ready_us;    /* Only limits can have held it back since. */
    int64_t admitted_us; /* 0: it never started, and takes no part. */
    int64_t work_us;     /* Active, and no person was waited for. */
    int64_t asking_us;   /* A person was waited for. */
    int64_t turns, tokens, cost_microusd;
    struct task_limits own;      /* Of its task; 0: none */
    struct task_limits recorded; /* That were in force; 0: none */
    int64_t used[BUDGET_KIND_COUNT];
    enum mode mode;
    enum risk risk;
    bool overridden; /* An admin has let it in. */
    bool retried;    /* Not the first run of its task. */
    bool published;  /* It came so far that policy was asked about its patch. */
    bool unfinished; /* It goes on: what it has used is not all. */
    enum whatif_stop ended_by;
    const char *const *paths; /* Of its patch; NULL: not known, or not needed. */
    size_t path_count;
    const struct whatif_point *points; /* In order of time. */
    size_t point_count;
};

struct whatif_history {
    const struct whatif_run *runs;
    size_t count;
    uint32_t repos, users, types;
    int64_t approval_us; /* What an approval took, as a rule: where none was asked for. */
};

/* ---- limits ---- */

struct whatif_repo {
    int64_t active_max;
    struct task_limits configured;
    enum approval_rule approval;
    struct budget budget;
    int64_t run_us;               /* timeouts.runMs; 0: none */
    const char *const *forbidden; /* NULL-terminated globs */
};

struct whatif_world { /* 0: no limit */
    int64_t active_max, user_max, workspace_max, sandboxes;
    int64_t tasks_per_hour;
    int64_t day_microusd, run_microusd;
    const int64_t *type_max;
    const struct whatif_repo *repos;
};

/* ---- outcomes ---- */

struct whatif_outcome {
    const char *denied;           /* The reason; NULL: it was accepted. */
    enum admission_check held_by; /* The last check that held it back, or ADMISSION_PASSED. */
    int64_t start_us, end_us;     /* 0: it took no part. */
    int64_t work_us, asking_us, cost_microusd;
    enum whatif_stop stop;
    bool asks; /* A person is asked before its patch is published. */
    bool
        goes_on; /* It was stopped by a limit that this world does not have: the rest is unknown. */
};

/* base: the world in force, for what policy asks there; may be world itself. */
struct whatif_outcome *whatif_simulate(const struct whatif_history *history,
                                       const struct whatif_world *base,
                                       const struct whatif_world *world, struct arena *arena);

/* ---- the difference ---- */

struct whatif_wait {
    int64_t runs, total_us, longest_us;
};
struct whatif_saving {
    int64_t runs, cost_microusd, work_us;
};

struct whatif_difference {
    struct whatif_saving denied;
    int64_t accepted; /* Denied in the first world only. */
    struct whatif_wait deferred, sooner;
    int64_t deferred_by[ADMISSION_CHECK_COUNT];
    struct whatif_saving stopped[WHATIF_STOP_COUNT];
    int64_t asked, not_asked; /* Approvals more, and fewer. */
    int64_t saved_microusd, saved_work_us, saved_asking_us;
    int64_t end_us[2]; /* When the last run ended in each world. */
    /* What cannot be known: */
    int64_t goes_on, unfinished, never_started;
};

/* The difference of one run, for lists; 0: none. */
enum {
    WHATIF_DENIED = 1,
    WHATIF_ACCEPTED = 2,
    WHATIF_DEFERRED = 4,
    WHATIF_SOONER = 8,
    WHATIF_STOPPED = 16,
    WHATIF_ASKED = 32,
    WHATIF_NOT_ASKED = 64,
    WHATIF_GOES_ON = 128,
};
unsigned whatif_changes(const struct whatif_outcome *before, const struct whatif_outcome *after);
void whatif_compare(const struct whatif_history *history, const struct whatif_outcome *before,
                    const struct whatif_outcome *after, struct whatif_difference *ret_difference);
/* How near the simulation of the world in force is to what was recorded. */
struct whatif_fidelity {
    int64_t runs, near; /* Started within a second of the recorded time. */
    int64_t furthest_us;
};
struct whatif_fidelity whatif_fidelity(const struct whatif_history *history,
                                       const struct whatif_outcome *outcomes);
#endif
