/*
 * admission.h - whether a task is accepted, and whether its run may start.
 *
 * One table, in the order in which the checks are made.  At submission they reject: idempotency,
 * onboarding, policy, rate, cost.  At the start they defer, and the run starts by itself later.
 * The caller counts from the rows; nothing is ever counted in a column.
 */
#ifndef CORE_RUN_ADMISSION_H
#define CORE_RUN_ADMISSION_H
#include "base/arena.h"
#include "base/rc.h"
#include "core/run/policy.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum admission_check {
    /* At submission. */
    CHECK_IDEMPOTENCY,
    CHECK_ONBOARDED,
    CHECK_POLICY,
    CHECK_RATE,
    CHECK_COST,
    /* At the start. */
    CHECK_PAUSED,
    CHECK_DEPENDENCY,
    CHECK_BATCH,
    CHECK_CANDIDATES,
    CHECK_USER,
    CHECK_REPOSITORY,
    CHECK_TASK_TYPE,
    CHECK_WORKSPACE,
    CHECK_SANDBOX,
    CHECK_SYSTEM,
    CHECK_ACCOUNT,
    CHECK_QUOTA,
    CHECK_REPORTED_QUOTA,
    CHECK_OVERLOADED,
    CHECK_COST_TODAY,
    CHECK_OPEN_APPROVALS,
    CHECK_COMING_APPROVALS,
    CHECK_OPEN_PULL_REQUESTS,
    CHECK_COMING_PULL_REQUESTS,
    CHECK_OVERLAP,
    ADMISSION_CHECK_COUNT,
    ADMISSION_PASSED = ADMISSION_CHECK_COUNT,
    CHECK_FIRST_AT_START = CHECK_PAUSED
};

/* Which runs a failed check holds back: this one, those of its repository, or of the workspace. */
enum reach { REACH_RUN, REACH_REPOSITORY, REACH_EVERYONE };

const char *admission_reason(enum admission_check check); /* "repository_concurrency_limit" */
enum reach admission_reach(enum admission_check check);   /* Of a check at the start. */

/* ---- at submission ---- */

struct submit_facts {
    const char *key_task;   /* The idempotency key made this task, of another body; NULL: no. */
    const char *repository; /* Its name. */
    bool onboarded;
    enum mode mode;
    enum risk risk;
    enum approval_rule approval;
    bool overridden;             /* An admin admits it, for any mode and risk. */
    int64_t submitted_last_hour; /* By this actor. */
    int64_t rate_per_hour_max;   /* 0: none. */
    int64_t spent_microusd;      /* By the workspace, today. */
    int64_t budget_microusd_max; /* 0: none. */
};

/* RC_INVALID IDEMPOTENCY_KEY_REUSED, RC_INVALID REPO_NOT_ONBOARDED, RC_DENIED policy...,
   RC_LIMIT rate_limit_exceeded, RC_DENIED cost_budget_exceeded; in that order. */
MUST_USE enum rc admission_submit(const struct submit_facts *facts, struct err *err);

/* ---- at the start ---- */

struct start_facts {
    struct start_fact {
        int64_t used, max; /* max 0: no limit. A thing that is or is not: 1 of 1. */
        const char *what;  /* Whose ("acme/billing"); of a check without counts the whole text. */
    } of[ADMISSION_CHECK_COUNT];
};

/* ADMISSION_PASSED: start now.  Else the first check that holds it back. */
enum admission_check admission_start(const struct start_facts *facts);
/* "2 of 2 runs of acme/billing are active" */
const char *admission_detail(enum admission_check check, const struct start_facts *facts,
                             struct arena *arena);
#endif
