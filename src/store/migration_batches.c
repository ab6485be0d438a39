/*
 * migration_batches.c - the tables of batches.c: batches and their members.
 */
#include "store/migrate.h"

const char *const migration_batches[] = {
    "CREATE TABLE batches ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " name {text} NOT NULL,"
    " status {text} NOT NULL CHECK (status = 'running' OR status = 'paused'"
    "  OR status = 'stopping' OR status = 'cancelling' OR status = 'completed'"
    "  OR status = 'stopped' OR status = 'cancelled'),"
    " task {json},"
    " max_active {int} NOT NULL," /* 0: no limit, as below */
    " budget_microusd {int} NOT NULL,"
    " stop_failures {int} NOT NULL,"
    " stop_percent {int} NOT NULL,"
    " stop_after {int} NOT NULL,"
    " stop_cancels {int} NOT NULL,"
    " requested_by {text},"
    " reason_code {text},"
    " reason {text},"
    " stopped_by {text},"
    " held {text},"
    " told {int} NOT NULL,"
    " last_event_id {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " ended_us {int} NOT NULL) {plain_table}",

    "CREATE TABLE batch_members ("
    " id {text} NOT NULL PRIMARY KEY,"
    " batch_id {text} NOT NULL REFERENCES batches (id),"
    " no {int} NOT NULL," /* From 1, in the order in which they start. */
    " key {text} NOT NULL,"
    " repository {text} NOT NULL,"
    " task {json},"       /* Over that of the batch; NULL: the same. */
    " depends_on {json}," /* Numbers of members; NULL: none. */
    " state {text} NOT NULL CHECK (state = 'waiting' OR state = 'submitted' OR state = 'refused'"
    "  OR state = 'skipped' OR state = 'dropped'),"
    " task_id {text},"
    " error_code {text},"
    " error_message {text},"
    " updated_us {int} NOT NULL) {plain_table}",
    "CREATE UNIQUE INDEX batch_members_no ON batch_members (batch_id, no)",
    "CREATE UNIQUE INDEX batch_members_key ON batch_members (batch_id, key)",
    /* One task for each member, and one member for each task. */
    "CREATE UNIQUE INDEX batch_members_task ON batch_members (task_id) WHERE task_id IS NOT NULL",

    /* Also of sub-tasks of members, whose cost is the batch's too. */
    "ALTER TABLE tasks ADD COLUMN batch_id {text} REFERENCES batches (id)",
    "CREATE INDEX tasks_batch ON tasks (batch_id, id) WHERE batch_id IS NOT NULL",
    "ALTER TABLE runs ADD COLUMN batch_id {text} REFERENCES batches (id)",
    "CREATE INDEX runs_batch ON runs (batch_id, id) WHERE batch_id IS NOT NULL",
    NULL,
};
