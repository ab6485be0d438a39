/*
 * breaker.h - a circuit breaker for calls to another service, as a pure function.
 *
 *   closed --(failures within the window)--> open --(its time is over, ASK)--> half_open
 *     ^                                       ^ |                                |  |
 *     |                                       | +-- ASK: denied                  |  |
 *     |                                       +------ one FAILURE ---------------+  |
 *     +---------------------- successes in a row ----------------------------------+
 *
 *   RESET -> closed and TRIP -> open, from anywhere: by people.
 *
 * No outcome counts while a breaker is open: neither of calls that were under way when it opened,
 * nor, later, of those that began before it last changed.
 */
#ifndef CORE_QUEUE_BREAKER_H
#define CORE_QUEUE_BREAKER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN, BREAKER_STATE_COUNT };

enum breaker_event {
    BREAKER_EV_ASK,     /* May a call go out now? */
    BREAKER_EV_SUCCESS, /* A call succeeded. */
    BREAKER_EV_FAILURE, /* A call failed, and not by the caller's fault. */
    BREAKER_EV_RESET,
    BREAKER_EV_TRIP,
    BREAKER_EV_COUNT
};

enum { BREAKER_FAILURES_MAX = 32, BREAKER_PROBES_MAX = 16 };

struct breaker_rules {
    int64_t failures;  /* So many */
    int64_t window_us; /* within this time open it, */
    int64_t open_us;   /* for so long. */
    int64_t successes; /* Half-open: so many in a row close it. */
    int64_t probes;    /* Half-open: calls under way at once. */
};
struct breaker_rules breaker_rules_default(void); /* 5 in 10 s, 60 s, 3, 3 */

/* Times are kept in order, the oldest first. */
struct breaker_times {
    int64_t at_us[BREAKER_FAILURES_MAX];
    size_t count;
};

/* Also stored: a new member means a column in store/breakers.c and a migration. */
struct breaker {
    enum breaker_state state;
    struct breaker_times failures; /* closed: those that count */
    struct breaker_times lent;     /* half_open: probes that in_flight cannot count */
    int64_t successes;             /* half_open: in a row */
    int64_t changed_us;            /* When it took this state. */
    int64_t open_until_us;         /* open: a probe may go out from then on. */
    int64_t trips;                 /* How often it has opened. */
};

struct breaker_input {
    enum breaker_event event;
    int64_t now_us;
    int64_t in_flight; /* ASK: probes that the caller has counted. */
    bool lend;         /* ASK: in_flight will not count this one.  It counts until an outcome is
                          reported, or for as long as the breaker stays open. */
    int64_t since_us;  /* SUCCESS, FAILURE: when the call began; 0: not known. */
};

struct breaker_step {
    struct breaker next;
    bool changed;     /* next differs from what was there. */
    bool allowed;     /* ASK */
    int64_t until_us; /* ASK, denied: worth another try then. */
};

/* Every event is defined in every state. */
struct breaker_step breaker_step(const struct breaker *breaker, const struct breaker_rules *rules,
                                 const struct breaker_input *in);

const char *breaker_state_name(enum breaker_state state);
bool breaker_state_parse(const char *name, enum breaker_state *ret_state);
#endif
