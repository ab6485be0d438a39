/*
 * event_budget.h - how many events, and how many bytes of them, a run's workers may still report.
 *
 *   OPEN    all kinds are stored
 *     |     the first event that does not fit: one notice is stored
 *   CLOSED  diagnostic events are dropped, milestones are stored from the reserve
 *
 * The counters hold what is left, the reserve included, and are stored with the run: they are
 * changed in the transaction that stores the events, so they cannot drift.  Events that the server
 * makes itself are not counted.  What an event reports (turns, cost, a session) takes effect
 * whether the event is stored or not.  Pure.
 */
#ifndef CORE_RUN_EVENT_BUDGET_H
#define CORE_RUN_EVENT_BUDGET_H
#include <stdbool.h>
#include <stdint.h>

enum {
    EVENT_RESERVE = 1000, /* Milestones, and the notice. */
    EVENT_RESERVE_BYTES = 4 * 1024 * 1024,
    RUN_EVENTS_MIN = 10,
    RUN_EVENT_BYTES_MIN = 1024,
};
#define RUN_EVENTS_DEFAULT      INT64_C(20000)
#define RUN_EVENT_BYTES_DEFAULT (INT64_C(32) * 1024 * 1024)
#define RUN_EVENTS_MAX          INT64_C(10000000)
#define RUN_EVENT_BYTES_MAX     (INT64_C(16) * 1024 * 1024 * 1024)

struct event_budget {
    int64_t events; /* Left; OPEN while at least EVENT_RESERVE. */
    int64_t bytes;
};

enum event_kind { EVENT_DIAGNOSTIC, EVENT_MILESTONE };

struct event_verdict {
    bool store;
    bool notice; /* The budget has just been closed: store the notice first. */
};

struct event_budget event_budget_new(int64_t events_max, int64_t bytes_max);
bool event_budget_open(const struct event_budget *budget);
/* Counts the event, and the notice, if they are to be stored. */
struct event_verdict event_budget_take(struct event_budget *budget, enum event_kind kind,
                                       int64_t bytes);
#endif
