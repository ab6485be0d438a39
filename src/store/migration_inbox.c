/*
 * migration_inbox.c - indexes for the list of what needs a person: each holds only what waits.
 */
#include "store/migrate.h"

const char *const migration_inbox[] = {
    "CREATE INDEX repositories_quarantined ON repositories (quarantined_us)"
    " WHERE quarantined_us > 0",
    "CREATE INDEX runs_over_cost ON runs (queued_us) WHERE status = 'queued'"
    " AND deferred_reason = 'cost_budget_exceeded'",
    "CREATE INDEX runs_parked ON runs (queued_us) WHERE status = 'queued'"
    " AND deferred_reason = 'provider_quota_parked'",
    "CREATE INDEX trains_stalled ON trains (repository_id) WHERE error_code IS NOT NULL",
    "CREATE INDEX batches_stopped ON batches (updated_us)"
    " WHERE status = 'stopping' OR status = 'stopped'",
    "CREATE INDEX tasks_budget ON tasks (ended_us) WHERE status = 'failed'"
    " AND (error_code = 'max_budget_exceeded' OR error_code = 'max_tokens_exceeded'"
    " OR error_code = 'max_turns_exceeded' OR error_code = 'cost_budget_exceeded'"
    " OR error_code = 'retry_budget_exhausted')",
    "CREATE INDEX jobs_dead_open ON jobs (queue, updated_us) WHERE state = 'dead_letter'"
    " AND archived_us = 0 AND run_id IS NULL AND saga_id IS NULL",
    NULL,
};

/* Behind the table of issues. */
const char *const migration_inbox_issues[] = {
    "CREATE INDEX issue_states_gate ON issue_states (gate_us) WHERE gate_us > 0",
    NULL,
};
