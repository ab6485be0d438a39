/*
 * admission.h - whether work may come in, and whether it may start.
 *
 * Two decisions.  At submission: onboarding, policy, rate, cost; these reject.
 * At start: concurrency and quota; these defer, and the run starts by itself later.
 * The caller counts from the rows; nothing is ever counted in a column.
 */
#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H
#include "base/rc.h"
#include "core/policy.h"
#include <stdbool.h>
#include <stdint.h>

struct submit_facts {
    bool onboarded;
    enum mode mode;
    enum risk risk;
    enum approval_rule approval;
    int64_t submitted_last_hour; /* By this actor. */
    int64_t rate_per_hour_max;   /* 0: none. */
    int64_t spent_microusd;      /* By the workspace, today. */
    int64_t budget_microusd_max; /* 0: none. */
};

/* RC_INVALID REPO_NOT_ONBOARDED, RC_DENIED policy..., RC_LIMIT rate_limit_exceeded,
   RC_DENIED cost_budget_exceeded; in that order. */
MUST_USE enum rc admission_submit(const struct submit_facts *facts, struct err *err);

struct active_counts { /* active = now in a state that holds a slot; max 0 = no limit */
    int64_t user, user_max;
    int64_t repository, repository_max;
    int64_t task_type, task_type_max;
    int64_t workspace, workspace_max;
    int64_t sandbox, sandbox_max;
    int64_t system, system_max;
    bool quota_parked; /* The provider's account waits for its reset. */
    bool dependency_pending;
};

/* NULL: start now.  Else the reason to wait: "repository_concurrency_limit", ... */
const char *admission_start(const struct active_counts *counts);
#endif
