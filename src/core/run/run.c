/*
 * run.c - the life of one run.
 *
 *   queued <---- DEFER -- planning, and --------------- DEFER ---+   the provider's quota is parked
 *     | ADMIT                                                    |
 *     v                                                          |
 *   preparing <-- LOSE -- preparing, context_loading, planning, running   the worker is gone: the
 *     | PREPARED                                                 |        worktree is made again
 *     v                                                          |
 *   context_loading --PLAN--> planning --ASK_PLAN--> awaiting_approval
 *     | HYDRATED                | PLANNED                |       |
 *     v                         v                        |       |
 *   running <--------------------------------- PLAN_OK --+       |
 *     | ^ ^ |                                                    |
 *     | | | +----------------------------------------------------+
 *     | | +----- REPAIR ------+   feedback goes back to the agent
 *     | +-- REPAIR --+        |
 *     | PATCHED      |        |
 *     v              |        |
 *   verifying -------+        |
 *     | VERIFIED              |
 *     v                       |
 *   judging ------------------+
 *     |   |   +--ASK--> awaiting_approval --APPROVE--> creating_pr
 *     |   |                 | APPROVE_KEEP
 *     |   |                 v
 *     |   +--KEEP_PATCH-> completed
 *     | ACCEPT              ^
 *     v                     |
 *   creating_pr --PUBLISHED-+
 *
 *   running --ASK--> awaiting_approval --OVERRIDE--> running   a patch that policy denies
 *   running, planning --QUESTION--> awaiting_approval   the agent has asked people and is gone
 *       --ANSWER--> running, --ANSWER_PLAN--> planning   and starts again with the answer
 *   every state above but completed: FAIL -> failed, CANCEL -> cancelled, TIME_OUT -> timed_out
 *
 * Invariants: nothing leaves a terminal state, every other state can be failed, cancelled and
 * timed out, and only the events listed here move anything.
 */
#include "core/run/run.h"
#include "base/str.h"
#include <assert.h>
#include <stddef.h>

struct move {
    bool legal;
    enum run_status next;
};

#define TO(state)                      \
    {                                  \
        .legal = true, .next = (state) \
    }
#define CAN_END(from)                                                                \
    [from][RUN_EV_FAIL] = TO(RUN_FAILED), [from][RUN_EV_CANCEL] = TO(RUN_CANCELLED), \
    [from][RUN_EV_TIME_OUT] = TO(RUN_TIMED_OUT)

static const struct move moves[RUN_STATUS_COUNT][RUN_EV_COUNT] = {
    [RUN_QUEUED][RUN_EV_ADMIT] = TO(RUN_PREPARING),
    CAN_END(RUN_QUEUED),

    [RUN_PREPARING][RUN_EV_PREPARED] = TO(RUN_CONTEXT_LOADING),
    [RUN_PREPARING][RUN_EV_LOSE] = TO(RUN_PREPARING),
    CAN_END(RUN_PREPARING),

    [RUN_CONTEXT_LOADING][RUN_EV_PLAN] = TO(RUN_PLANNING),
    [RUN_CONTEXT_LOADING][RUN_EV_HYDRATED] = TO(RUN_RUNNING),
    [RUN_CONTEXT_LOADING][RUN_EV_LOSE] = TO(RUN_PREPARING),
    CAN_END(RUN_CONTEXT_LOADING),

    [RUN_PLANNING][RUN_EV_PLANNED] = TO(RUN_RUNNING),
    [RUN_PLANNING][RUN_EV_ASK_PLAN] = TO(RUN_AWAITING_APPROVAL),
    [RUN_PLANNING][RUN_EV_QUESTION] = TO(RUN_AWAITING_APPROVAL),
    [RUN_PLANNING][RUN_EV_DEFER] = TO(RUN_QUEUED),
    [RUN_PLANNING][RUN_EV_LOSE] = TO(RUN_PREPARING),
    CAN_END(RUN_PLANNING),

    [RUN_RUNNING][RUN_EV_PATCHED] = TO(RUN_VERIFYING),
    [RUN_RUNNING][RUN_EV_DEFER] = TO(RUN_QUEUED),
    [RUN_RUNNING][RUN_EV_ASK] = TO(RUN_AWAITING_APPROVAL),
    [RUN_RUNNING][RUN_EV_QUESTION] = TO(RUN_AWAITING_APPROVAL),
    [RUN_RUNNING][RUN_EV_LOSE] = TO(RUN_PREPARING),
    CAN_END(RUN_RUNNING),

    [RUN_VERIFYING][RUN_EV_VERIFIED] = TO(RUN_JUDGING),
    [RUN_VERIFYING][RUN_EV_REPAIR] = TO(RUN_RUNNING),
    CAN_END(RUN_VERIFYING),

    [RUN_JUDGING][RUN_EV_REPAIR] = TO(RUN_RUNNING),
    [RUN_JUDGING][RUN_EV_ACCEPT] = TO(RUN_CREATING_PR),
    [RUN_JUDGING][RUN_EV_ASK] = TO(RUN_AWAITING_APPROVAL),
    [RUN_JUDGING][RUN_EV_KEEP_PATCH] = TO(RUN_COMPLETED),
    CAN_END(RUN_JUDGING),

    [RUN_AWAITING_APPROVAL][RUN_EV_PLAN_OK] = TO(RUN_RUNNING),
    [RUN_AWAITING_APPROVAL][RUN_EV_APPROVE] = TO(RUN_CREATING_PR),
    [RUN_AWAITING_APPROVAL][RUN_EV_APPROVE_KEEP] = TO(RUN_COMPLETED),
    [RUN_AWAITING_APPROVAL][RUN_EV_OVERRIDE] = TO(RUN_RUNNING),
    [RUN_AWAITING_APPROVAL][RUN_EV_ANSWER] = TO(RUN_RUNNING),
    [RUN_AWAITING_APPROVAL][RUN_EV_ANSWER_PLAN] = TO(RUN_PLANNING),
    CAN_END(RUN_AWAITING_APPROVAL),

    [RUN_CREATING_PR][RUN_EV_PUBLISHED] = TO(RUN_COMPLETED),
    CAN_END(RUN_CREATING_PR),
};

/* Asserts the invariants at the top for one state. */
static void run_check(enum run_status status)
{
    assert((unsigned)status < RUN_STATUS_COUNT);
    bool terminal = run_is_terminal(status);
    assert(moves[status][RUN_EV_FAIL].legal == !terminal);
    assert(moves[status][RUN_EV_CANCEL].legal == !terminal);
    assert(moves[status][RUN_EV_TIME_OUT].legal == !terminal);
    for (size_t i = 0; i < RUN_EV_COUNT; i++)
        assert(!terminal || !moves[status][i].legal);
}

enum rc run_step(enum run_status status, enum run_event event, enum run_status *ret_next)
{
    run_check(status);
    assert((unsigned)event < RUN_EV_COUNT);
    const struct move *move = &moves[status][event];
    if (!move->legal)
        return RC_CONFLICT;
    *ret_next = move->next;
    return RC_OK;
}

bool run_is_terminal(enum run_status status)
{
    return status == RUN_COMPLETED || status == RUN_FAILED || status == RUN_CANCELLED ||
           status == RUN_TIMED_OUT;
}

bool run_may_call_model(enum run_status status)
{
    return status == RUN_QUEUED || status == RUN_PREPARING || status == RUN_CONTEXT_LOADING ||
           status == RUN_PLANNING || status == RUN_RUNNING;
}

bool run_is_active(enum run_status status)
{
    return status != RUN_QUEUED && !run_is_terminal(status);
}

static const char *const status_names[RUN_STATUS_COUNT] = {
    [RUN_QUEUED] = "queued",
    [RUN_PREPARING] = "preparing",
    [RUN_CONTEXT_LOADING] = "context_loading",
    [RUN_PLANNING] = "planning",
    [RUN_RUNNING] = "running",
    [RUN_VERIFYING] = "verifying",
    [RUN_JUDGING] = "judging",
    [RUN_AWAITING_APPROVAL] = "awaiting_approval",
    [RUN_CREATING_PR] = "creating_pr",
    [RUN_COMPLETED] = "completed",
    [RUN_FAILED] = "failed",
    [RUN_CANCELLED] = "cancelled",
    [RUN_TIMED_OUT] = "timed_out",
};

static const char *const event_names[RUN_EV_COUNT] = {
    [RUN_EV_ADMIT] = "admit",
    [RUN_EV_PREPARED] = "prepared",
    [RUN_EV_PLAN] = "plan",
    [RUN_EV_HYDRATED] = "hydrated",
    [RUN_EV_PLANNED] = "planned",
    [RUN_EV_ASK_PLAN] = "ask_plan",
    [RUN_EV_PLAN_OK] = "plan_ok",
    [RUN_EV_PATCHED] = "patched",
    [RUN_EV_DEFER] = "defer",
    [RUN_EV_VERIFIED] = "verified",
    [RUN_EV_REPAIR] = "repair",
    [RUN_EV_ACCEPT] = "accept",
    [RUN_EV_ASK] = "ask",
    [RUN_EV_KEEP_PATCH] = "keep_patch",
    [RUN_EV_APPROVE] = "approve",
    [RUN_EV_APPROVE_KEEP] = "approve_keep",
    [RUN_EV_OVERRIDE] = "override",
    [RUN_EV_PUBLISHED] = "published",
    [RUN_EV_QUESTION] = "question",
    [RUN_EV_ANSWER] = "answer",
    [RUN_EV_ANSWER_PLAN] = "answer_plan",
    [RUN_EV_LOSE] = "lose",
    [RUN_EV_FAIL] = "fail",
    [RUN_EV_CANCEL] = "cancel",
    [RUN_EV_TIME_OUT] = "time_out",
};

const char *run_status_name(enum run_status status)
{
    assert((unsigned)status < RUN_STATUS_COUNT);
    return status_names[status];
}

const char *run_event_name(enum run_event event)
{
    assert((unsigned)event < RUN_EV_COUNT);
    return event_names[event];
}

bool run_status_parse(const char *name, enum run_status *ret_status)
{
    for (size_t i = 0; i < RUN_STATUS_COUNT; i++) {
        if (text_same(name, status_names[i])) {
            *ret_status = (enum run_status)i;
            return true;
        }
    }
    return false;
}
