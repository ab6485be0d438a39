/*
 * account_choice.h - which account of its pool a run gets.  Pure.
 *
 *   standing        why                                             taken
 *   FREE            nothing speaks against it                       first
 *   NEAR_LIMIT      a window is used up or the provider warns:      when no account of any list is
 *                   a hint (core/agent/claims.h)                    free
 *   PROBE           parked, and one run may try it                  when there is nothing better
 *   RESERVED        a window has passed 1 - reserve                 never
 *   FULL            as many runs as it may have, or one in its home never
 *   HELD            this run has met a limit there, in words        never
 *   PARKED          until its reset                                 never
 *   UNKNOWN         not in the server's configuration               never
 *
 * Among accounts of the same standing those of the agent's own list come before those of its
 * fallbacks, in their order; then the cheapest, the one with most of its windows free, the one that
 * was not used for longest.  A run that has an account keeps it while no other stands better.
 */
#ifndef CORE_AGENT_ACCOUNT_CHOICE_H
#define CORE_AGENT_ACCOUNT_CHOICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACCOUNT_WINDOWS_MAX = 8, ACCOUNT_CANDIDATES_MAX = 5 * 64 };

enum account_standing {
    ACCOUNT_FREE,
    ACCOUNT_NEAR_LIMIT,
    ACCOUNT_PROBE,
    ACCOUNT_RESERVED,
    ACCOUNT_FULL,
    ACCOUNT_HELD,
    ACCOUNT_PARKED,
    ACCOUNT_UNKNOWN,
};

/* What was last reported of one window of a provider. */
struct account_window {
    const char *name;   /* five_hour, seven_day, ... */
    double utilization; /* 0 to 1. */
    bool warned;        /* The provider does not just allow it. */
    int64_t expires_us; /* Nothing of it counts from then on: its reset, at most its length. */
    int64_t resets_us;  /* 0: not reported. */
    int64_t seen_us;
    const char *status; /* As reported, or NULL. */
};

struct account_candidate {
    const char *name;
    size_t list; /* 0: of the agent itself; else of its fallback number list. */
    bool known;
    bool held;   /* For this run. */
    bool is_own; /* The run has it. */
    bool may_probe;
    int64_t parked_until_us; /* 0: in use. */
    int64_t runs;            /* Active ones, but for this run. */
    int64_t max_runs;        /* 0: no limit. */
    double price, reserve;
    const struct account_window *windows;
    size_t window_count;
    int64_t used_us; /* When a run got it last. */
};

struct account_verdict {
    enum account_standing standing;
    int64_t until_us; /* PARKED, PROBE, RESERVED: when that ends; else 0. */
    double used;      /* Of its fullest window; 0 when nothing is known. */
};
struct account_verdict account_judge(const struct account_candidate *candidate, int64_t now_us);

enum { ACCOUNT_NONE = -1 };
struct account_choice {
    int at; /* The candidate, or ACCOUNT_NONE. */
    enum account_standing standing;
    /* ACCOUNT_NONE: */
    bool full;           /* One of them waits for nothing but the end of a run. */
    int earliest;        /* The one that is free again first; ACCOUNT_NONE: not known. */
    int64_t earliest_us; /* Then. */
};
struct account_choice account_choose(const struct account_candidate *candidates, size_t count,
                                     int64_t now_us);

/* "parked", "in_use": for people, after the name of an account. */
const char *account_standing_text(enum account_standing standing);
#endif
