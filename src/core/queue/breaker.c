/*
 * breaker.c - see breaker.h.
 *
 *                ASK                     SUCCESS        FAILURE        RESET    TRIP
 *   closed       allowed                 -              counted; open  (clean)  open
 *   open         denied; half_open,      -              -              closed   open (anew)
 *                allowed when over
 *   half_open    allowed up to probes    counted;       open           closed   open
 *                                        closed
 */
#include "core/queue/breaker.h"
#include "base/clock.h"
#include "base/str.h"
#include <assert.h>
#include <string.h>

enum { PROBE_WAIT_MS = 1000 };

struct act {
    const struct breaker_rules *rules;
    const struct breaker_input *in;
    struct breaker_step *step;
};
typedef void effect_fn(const struct act *act);

struct breaker_rules breaker_rules_default(void)
{
    return (struct breaker_rules){
        .failures = 5,
        .window_us = 10 * US_PER_SECOND,
        .open_us = 60 * US_PER_SECOND,
        .successes = 3,
        .probes = 3,
    };
}

/* ---- times ---- */

static void forget_first(struct breaker_times *times, size_t count)
{
    times->count -= count;
    memmove(times->at_us, times->at_us + count, times->count * sizeof times->at_us[0]);
}

static void forget_before(struct breaker_times *times, int64_t time_us)
{
    size_t old = 0;
    while (old < times->count && times->at_us[old] < time_us)
        old++;
    forget_first(times, old);
}

/* A clock that went back does not break the order. */
static void add_time(struct breaker_times *times, int64_t time_us)
{
    if (times->count == BREAKER_FAILURES_MAX)
        forget_first(times, 1);
    if (times->count > 0 && times->at_us[times->count - 1] > time_us)
        time_us = times->at_us[times->count - 1];
    times->at_us[times->count++] = time_us;
}

/* ---- effects ---- */

static void enter(const struct act *act, enum breaker_state state)
{
    struct breaker *next = &act->step->next;
    next->state = state;
    next->changed_us = act->in->now_us;
    next->successes = 0;
    next->lent.count = 0;
    act->step->changed = true;
}

static void open_it(const struct act *act)
{
    struct breaker *next = &act->step->next;
    enter(act, BREAKER_OPEN);
    next->open_until_us = act->in->now_us + act->rules->open_us;
    next->trips++;
}

static void close_it(const struct act *act)
{
    enter(act, BREAKER_CLOSED);
    act->step->next.failures.count = 0;
    act->step->next.open_until_us = 0;
}

static void allow(const struct act *act)
{
    act->step->allowed = true;
}

static void count_failure(const struct act *act)
{
    struct breaker_times *failures = &act->step->next.failures;
    forget_before(failures, act->in->now_us - act->rules->window_us);
    add_time(failures, act->in->now_us);
    act->step->changed = true;
    if ((int64_t)failures->count >= act->rules->failures)
        open_it(act);
}

static void ask_half_open(const struct act *act)
{
    const struct breaker_input *in = act->in;
    struct breaker_times *lent = &act->step->next.lent;
    size_t before = lent->count;
    forget_before(lent, in->now_us - act->rules->open_us + 1);
    act->step->changed |= lent->count != before;
    if (in->in_flight + (int64_t)lent->count >= act->rules->probes) {
        act->step->until_us = in->now_us + PROBE_WAIT_MS * US_PER_MS;
        return;
    }
    allow(act);
    if (in->lend) {
        add_time(lent, in->now_us);
        act->step->changed = true;
    }
}

static void ask_open(const struct act *act)
{
    if (act->in->now_us < act->step->next.open_until_us) {
        act->step->until_us = act->step->next.open_until_us;
        return;
    }
    enter(act, BREAKER_HALF_OPEN);
    ask_half_open(act);
}

static void count_success(const struct act *act)
{
    struct breaker *next = &act->step->next;
    if (next->lent.count > 0)
        forget_first(&next->lent, 1);
    next->successes++;
    act->step->changed = true;
    if (next->successes >= act->rules->successes)
        close_it(act);
}

/* Without an effect, nothing happens. */
static effect_fn *const effects[BREAKER_STATE_COUNT][BREAKER_EV_COUNT] = {
    [BREAKER_CLOSED] = {[BREAKER_EV_ASK] = allow,
                        [BREAKER_EV_FAILURE] = count_failure,
                        [BREAKER_EV_RESET] = close_it,
                        [BREAKER_EV_TRIP] = open_it},
    [BREAKER_OPEN] =
        {[BREAKER_EV_ASK] = ask_open, [BREAKER_EV_RESET] = close_it, [BREAKER_EV_TRIP] = open_it},
    [BREAKER_HALF_OPEN] = {[BREAKER_EV_ASK] = ask_half_open,
                           [BREAKER_EV_SUCCESS] = count_success,
                           [BREAKER_EV_FAILURE] = open_it,
                           [BREAKER_EV_RESET] = close_it,
                           [BREAKER_EV_TRIP] = open_it},
};

static bool is_outcome(enum breaker_event event)
{
    return event == BREAKER_EV_SUCCESS || event == BREAKER_EV_FAILURE;
}

/* Asserts the invariants. */
static void breaker_check(const struct breaker *breaker)
{
    assert((unsigned)breaker->state < BREAKER_STATE_COUNT);
    assert(breaker->failures.count <= BREAKER_FAILURES_MAX);
    assert(breaker->lent.count <= BREAKER_FAILURES_MAX);
    assert(breaker->successes >= 0 && breaker->trips >= 0);
    assert(breaker->state == BREAKER_HALF_OPEN ||
           (breaker->successes == 0 && breaker->lent.count == 0));
    assert(breaker->state != BREAKER_OPEN || breaker->open_until_us > 0);
}

struct breaker_step breaker_step(const struct breaker *breaker, const struct breaker_rules *rules,
                                 const struct breaker_input *in)
{
    breaker_check(breaker);
    assert((unsigned)in->event < BREAKER_EV_COUNT);
    struct breaker_step step = {.next = *breaker};
    bool stale = is_outcome(in->event) && in->since_us > 0 && in->since_us < breaker->changed_us;
    effect_fn *effect = effects[breaker->state][in->event];
    if (effect != NULL && !stale)
        effect(&(struct act){rules, in, &step});
    breaker_check(&step.next);
    return step;
}

/* ---- names ---- */

static const char *const state_names[BREAKER_STATE_COUNT] = {
    [BREAKER_CLOSED] = "closed",
    [BREAKER_OPEN] = "open",
    [BREAKER_HALF_OPEN] = "half_open",
};

const char *breaker_state_name(enum breaker_state state)
{
    assert((unsigned)state < BREAKER_STATE_COUNT);
    return state_names[state];
}

bool breaker_state_parse(const char *name, enum breaker_state *ret_state)
{
    for (size_t i = 0; i < BREAKER_STATE_COUNT; i++) {
        if (text_same(name, state_names[i])) {
            *ret_state = (enum breaker_state)i;
            return true;
        }
    }
    return false;
}
