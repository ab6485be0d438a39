/*
 * migration_conductor.c - issues on their way to production (issue_states.h): what their events
 * come to, what each waits for, the last heartbeat of its agent, and milestones; and which events
 * of issues a token may write.
 */
#include "store/migrate.h"

const char *const migration_conductor[] = {
    "CREATE TABLE issue_states ("
    " id {text} NOT NULL PRIMARY KEY," /* The correlation of its events. */
    " workspace_id {text} NOT NULL,"
    " issue_id {text} NOT NULL,"
    " stage {text} NOT NULL,"
    " stage_us {int} NOT NULL,"
    " status {text},"
    " status_us {int} NOT NULL,"
    " agent {text}," /* NULL: it is assigned to none. */
    " assigned_us {int} NOT NULL,"
    " approved_us {int} NOT NULL,"
    " done_us {int} NOT NULL,"
    " assignments {int} NOT NULL,"
    " unassignments {int} NOT NULL,"
    " reassignments {int} NOT NULL,"
    " branch {text},"
    " abandoned {text}," /* Names of branches, a line each. */
    " pull_request {text},"
    " reviewed {int} NOT NULL,"
    " merged {int} NOT NULL,"
    " external {int} NOT NULL,"
    " smoke_failures {int} NOT NULL,"
    " stuck_agents {int} NOT NULL,"
    " gate_us {int} NOT NULL,"
    " gate_period {int} NOT NULL,"
    " sla_us {int} NOT NULL,"
    " task_id {text},"
    " fixing {int} NOT NULL,"
    " last_stuck {text},"
    " title {text},"
    " description {text},"
    " repository {text},"
    " milestone {text},"
    " persona {text},"
    " labels {json},"
    " depends_on {json},"
    " priority {int} NOT NULL,"
    " last_event_id {text} NOT NULL,"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {plain_table}",
    "CREATE UNIQUE INDEX issue_states_issue ON issue_states (workspace_id, issue_id)",
    "CREATE INDEX issue_states_stage ON issue_states (stage, priority, id)",
    "CREATE INDEX issue_states_waiting ON issue_states (coalesce(persona, ''), priority, id)"
    " WHERE stage = 'waiting'",
    "CREATE INDEX issue_states_agent ON issue_states (agent, stage) WHERE agent IS NOT NULL",
    "CREATE INDEX issue_states_milestone ON issue_states (milestone, stage)"
    " WHERE milestone IS NOT NULL",
    "CREATE INDEX issue_states_task ON issue_states (task_id) WHERE task_id IS NOT NULL",

    "CREATE TABLE issue_needs (" /* depends_on as rows. */
    " id {text} NOT NULL,"
    " workspace_id {text} NOT NULL,"
    " needs {text} NOT NULL," /* An issue_id, of an issue that may not be there yet. */
    " PRIMARY KEY (id, needs)) {keyed_table}",
    "CREATE INDEX issue_needs_needs ON issue_needs (workspace_id, needs)",

    "CREATE TABLE issue_beats ("
    " id {text} NOT NULL PRIMARY KEY,"
    " agent {text} NOT NULL,"
    " seen_us {int} NOT NULL) {keyed_table}",
    "CREATE INDEX issue_beats_age ON issue_beats (seen_us)",

    "CREATE TABLE agent_results (" /* What agents came to, over all issues. */
    " agent {text} NOT NULL PRIMARY KEY,"
    " done {int} NOT NULL,"    /* Issues that it took to their end, */
    " work_us {int} NOT NULL," /* from the assignment on, all together. */
    " stuck {int} NOT NULL) {keyed_table}",

    "CREATE TABLE milestones ("
    " workspace_id {text} NOT NULL,"
    " name {text} NOT NULL,"
    " id {text} NOT NULL,"          /* The correlation of its events. */
    " completed_us {int} NOT NULL," /* 0: issues of it are open. */
    " PRIMARY KEY (workspace_id, name)) {keyed_table}",

    "ALTER TABLE tokens ADD COLUMN writes {text}", /* Names of writers; NULL: none. */
    NULL,
};
