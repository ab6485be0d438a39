/*
 * budget.h - what a run may spend on trying again.  Exhaustion ends the run
 * with retry_budget_exhausted.
 */
#ifndef CORE_RUN_BUDGET_H
#define CORE_RUN_BUDGET_H
#include "base/rc.h"
#include <stdint.h>

enum budget_kind {
    BUDGET_AGENT,    /* Agent attempts, the first one included. */
    BUDGET_TOOL,     /* Tool retries. */
    BUDGET_VERIFIER, /* Retries of a verifier that errored (not: failed). */
    BUDGET_PR,       /* Retries of opening the pull request. */
    BUDGET_KIND_COUNT
};

struct budget {
    int64_t max[BUDGET_KIND_COUNT];
    int64_t wall_us_max;       /* Time at work; 0: none. */
    int64_t cost_microusd_max; /* 0: none. */
};

struct spending {
    int64_t used[BUDGET_KIND_COUNT];
    int64_t wall_us;
    int64_t cost_microusd;
};

struct budget budget_default(void); /* 3 agent, 2 tool, 1 verifier, 5 PR, no wall, no cost. */

/* RC_LIMIT (code retry_budget_exhausted, the text names what ran out) when one more of kind
   would pass a limit or wall clock or cost are used up already; else *ret_after has it counted. */
MUST_USE enum rc budget_spend(const struct budget *budget, const struct spending *before,
                              enum budget_kind kind, struct spending *ret_after, struct err *err);
const char *budget_kind_name(enum budget_kind kind);
#endif
