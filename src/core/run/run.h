/*
 * run.h - the life of one run: the only machine that moves a task.
 *
 * queued -> preparing -> context_loading -> [planning ->] running -> verifying -> judging
 *        -> [awaiting_approval ->] creating_pr -> completed
 * and from every state that is not terminal: failed, cancelled, timed_out.
 * The full table stands in run.c; what it does not list is refused.
 */
#ifndef CORE_RUN_RUN_H
#define CORE_RUN_RUN_H
#include "base/rc.h"
#include "core/run_status.h"
#include <stdbool.h>

enum run_event {
    RUN_EV_ADMIT,        /* queued -> preparing */
    RUN_EV_PREPARED,     /* preparing -> context_loading */
    RUN_EV_PLAN,         /* context_loading -> planning */
    RUN_EV_HYDRATED,     /* context_loading -> running */
    RUN_EV_PLANNED,      /* planning -> running */
    RUN_EV_ASK_PLAN,     /* planning -> awaiting_approval */
    RUN_EV_PLAN_OK,      /* awaiting_approval -> running */
    RUN_EV_PATCHED,      /* running -> verifying */
    RUN_EV_DEFER,        /* running -> queued: the provider's quota is parked */
    RUN_EV_VERIFIED,     /* verifying -> judging */
    RUN_EV_REPAIR,       /* verifying, judging -> running: feedback goes back to the agent */
    RUN_EV_ACCEPT,       /* judging -> creating_pr */
    RUN_EV_ASK,          /* running (a denied patch), judging -> awaiting_approval */
    RUN_EV_KEEP_PATCH,   /* judging -> completed: patch_only */
    RUN_EV_APPROVE,      /* awaiting_approval -> creating_pr */
    RUN_EV_APPROVE_KEEP, /* awaiting_approval -> completed: patch_only under approval: always */
    RUN_EV_OVERRIDE,     /* awaiting_approval -> running: the denied patch continues */
    RUN_EV_QUESTION,     /* planning, running -> awaiting_approval: the agent asks, and is gone */
    RUN_EV_ANSWER,       /* awaiting_approval -> running: the agent starts with the answer */
    RUN_EV_ANSWER_PLAN,  /* awaiting_approval -> planning: the same */
    RUN_EV_PUBLISHED,    /* creating_pr -> completed */
    RUN_EV_LOSE,         /* preparing, context_loading, planning, running -> preparing */
    RUN_EV_FAIL,         /* every non-terminal state -> failed */
    RUN_EV_CANCEL,       /* every non-terminal state -> cancelled */
    RUN_EV_TIME_OUT,     /* every non-terminal state -> timed_out */
    RUN_EV_COUNT
};

/* RC_CONFLICT when the table does not list the move. */
MUST_USE enum rc run_step(enum run_status status, enum run_event event, enum run_status *ret_next);

bool run_is_terminal(enum run_status status);
/* Holds a slot: neither queued nor terminal. */
/* Will it run an agent for sure?  Later steps only may, when they send a patch back to it. */
bool run_may_call_model(enum run_status status);
bool run_is_active(enum run_status status);

const char *run_status_name(enum run_status status);
const char *run_event_name(enum run_event event);
MUST_USE bool run_status_parse(const char *name, enum run_status *ret_status);
#endif
