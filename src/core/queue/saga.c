/*
 * saga.c - the table of saga.h.
 *
 * A move determines what comes next:
 *
 *   ON     the next step; none is left: completed
 *   BACK   the nearest compensation at or before the position; none is left: compensated
 *   WAIT   nothing is started: the step in flight ends first
 *   STICK  nothing is started: an operator has to replay the compensation
 */
#include "core/queue/saga.h"
#include "base/str.h"
#include <assert.h>

enum way { NOWHERE, ON, BACK, WAIT, STICK };

static const enum way moves[SAGA_STATUS_COUNT][SAGA_EV_COUNT] = {
    [SAGA_RUNNING][SAGA_EV_STEP_DONE] = ON,
    [SAGA_RUNNING][SAGA_EV_STEP_FAILED] = BACK,
    [SAGA_RUNNING][SAGA_EV_CANCEL] = WAIT,

    /* Cancelled: the step that was in flight has ended. */
    [SAGA_COMPENSATING][SAGA_EV_STEP_DONE] = BACK,
    [SAGA_COMPENSATING][SAGA_EV_STEP_FAILED] = BACK,
    [SAGA_COMPENSATING][SAGA_EV_COMPENSATION_DONE] = BACK,
    [SAGA_COMPENSATING][SAGA_EV_COMPENSATION_FAILED] = STICK,
    [SAGA_COMPENSATING][SAGA_EV_CANCEL] = WAIT,

    /* The dead letter was replayed. */
    [SAGA_STUCK][SAGA_EV_COMPENSATION_DONE] = BACK,
    [SAGA_STUCK][SAGA_EV_COMPENSATION_FAILED] = STICK,
};

static const char *const status_names[SAGA_STATUS_COUNT] = {
    [SAGA_RUNNING] = "running",     [SAGA_COMPENSATING] = "compensating",
    [SAGA_COMPLETED] = "completed", [SAGA_COMPENSATED] = "compensated",
    [SAGA_STUCK] = "stuck",
};
static const char *const event_names[SAGA_EV_COUNT] = {
    [SAGA_EV_STEP_DONE] = "step_done",
    [SAGA_EV_STEP_FAILED] = "step_failed",
    [SAGA_EV_COMPENSATION_DONE] = "compensation_done",
    [SAGA_EV_COMPENSATION_FAILED] = "compensation_failed",
    [SAGA_EV_CANCEL] = "cancel",
};
static const char *const phase_names[SAGA_PHASE_COUNT] = {
    [SAGA_STEP] = "step", [SAGA_COMPENSATION] = "compensation"};

/* Asserts the invariants. */
static void saga_check(const struct saga *saga, const struct saga_plan *plan)
{
    assert((unsigned)saga->status < SAGA_STATUS_COUNT);
    assert((unsigned)saga->phase < SAGA_PHASE_COUNT);
    assert(plan->count >= 1 && plan->count <= SAGA_STEPS_MAX);
    assert(saga->position >= 0 && (size_t)saga->position < plan->count);
    if (saga->status == SAGA_RUNNING || saga->status == SAGA_COMPLETED)
        assert(saga->phase == SAGA_STEP);
    if (saga->status == SAGA_STUCK)
        assert(saga->phase == SAGA_COMPENSATION);
    if (saga->phase == SAGA_COMPENSATION)
        assert(plan->steps[saga->position].compensable);
}

static struct saga_move go_on(const struct saga *saga, const struct saga_plan *plan)
{
    struct saga_move move = {.next = *saga};
    if ((size_t)saga->position + 1 < plan->count) {
        move.next.position++;
        move.starts = true;
    } else {
        move.next.status = SAGA_COMPLETED;
    }
    return move;
}

/* Everything before the position has succeeded. */
static struct saga_move go_back(const struct saga *saga, const struct saga_plan *plan,
                                enum saga_event event)
{
    struct saga_move move = {.next = *saga};
    bool here = event == SAGA_EV_STEP_DONE ||
                (event == SAGA_EV_STEP_FAILED && plan->steps[saga->position].compensate_failed);
    for (int64_t at = here ? saga->position : saga->position - 1; at >= 0; at--) {
        if (!plan->steps[at].compensable)
            continue;
        move.next = (struct saga){SAGA_COMPENSATING, SAGA_COMPENSATION, at};
        move.starts = true;
        return move;
    }
    move.next.status = SAGA_COMPENSATED;
    return move;
}

/* A report about something that is not in flight. */
static bool is_stray(const struct saga *saga, enum saga_event event)
{
    bool of_step = event == SAGA_EV_STEP_DONE || event == SAGA_EV_STEP_FAILED;
    return event != SAGA_EV_CANCEL && of_step != (saga->phase == SAGA_STEP);
}

enum rc saga_step(const struct saga *saga, const struct saga_plan *plan, enum saga_event event,
                  struct saga_move *ret_move)
{
    saga_check(saga, plan);
    assert((unsigned)event < SAGA_EV_COUNT);
    enum way way = moves[saga->status][event];
    if (way == NOWHERE || is_stray(saga, event))
        return RC_CONFLICT;
    struct saga_move move = {.next = *saga};
    if (way == ON)
        move = go_on(saga, plan);
    else if (way == BACK)
        move = go_back(saga, plan, event);
    else
        move.next.status = way == WAIT ? SAGA_COMPENSATING : SAGA_STUCK;
    saga_check(&move.next, plan);
    *ret_move = move;
    return RC_OK;
}

enum saga_event saga_event_of(enum saga_phase phase, bool succeeded)
{
    if (phase == SAGA_STEP)
        return succeeded ? SAGA_EV_STEP_DONE : SAGA_EV_STEP_FAILED;
    return succeeded ? SAGA_EV_COMPENSATION_DONE : SAGA_EV_COMPENSATION_FAILED;
}

bool saga_is_finished(enum saga_status status)
{
    return status == SAGA_COMPLETED || status == SAGA_COMPENSATED;
}

const char *saga_status_name(enum saga_status status)
{
    assert((unsigned)status < SAGA_STATUS_COUNT);
    return status_names[status];
}

const char *saga_event_name(enum saga_event event)
{
    assert((unsigned)event < SAGA_EV_COUNT);
    return event_names[event];
}

const char *saga_phase_name(enum saga_phase phase)
{
    assert((unsigned)phase < SAGA_PHASE_COUNT);
    return phase_names[phase];
}

bool saga_status_parse(const char *name, enum saga_status *ret_status)
{
    for (int i = 0; i < SAGA_STATUS_COUNT; i++) {
        if (text_same(name, status_names[i])) {
            *ret_status = (enum saga_status)i;
            return true;
        }
    }
    return false;
}

bool saga_phase_parse(const char *name, enum saga_phase *ret_phase)
{
    for (int i = 0; i < SAGA_PHASE_COUNT; i++) {
        if (text_same(name, phase_names[i])) {
            *ret_phase = (enum saga_phase)i;
            return true;
        }
    }
    return false;
}
