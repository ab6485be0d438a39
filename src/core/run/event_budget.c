#include "core/run/event_budget.h"
#include <assert.h>

struct event_budget event_budget_new(int64_t events_max, int64_t bytes_max)
{
    assert(events_max >= 0 && events_max <= RUN_EVENTS_MAX);
    assert(bytes_max >= 0 && bytes_max <= RUN_EVENT_BYTES_MAX);
    return (struct event_budget){.events = events_max + EVENT_RESERVE,
                                 .bytes = bytes_max + EVENT_RESERVE_BYTES};
}

bool event_budget_open(const struct event_budget *budget)
{
    return budget->events >= EVENT_RESERVE;
}

struct event_verdict event_budget_take(struct event_budget *budget, enum event_kind kind,
                                       int64_t bytes)
{
    struct event_verdict verdict = {0};
    bool open = event_budget_open(budget);
    bool fits = open && budget->events - 1 >= EVENT_RESERVE &&
                budget->bytes - bytes >= EVENT_RESERVE_BYTES;
    if (open && !fits) {
        verdict.notice = true;
        budget->events = EVENT_RESERVE - 1;
    }
    bool reserved = kind == EVENT_MILESTONE && budget->events > 0 && budget->bytes >= bytes;
    verdict.store = fits || reserved;
    if (verdict.store) {
        budget->events--;
        budget->bytes -= bytes;
    }
    return verdict;
}
