/*
 * migration_agents.c - the registry of agents (agents.h), for which agents a task is, and how they
 * find jobs by what these are about (job_marks.h).
 */
#include "store/migrate.h"

const char *const migration_agents[] = {
    "ALTER TABLE tasks ADD COLUMN persona {text}",
    "ALTER TABLE tasks ADD COLUMN agent {text}",

    "CREATE TABLE job_marks ("
    " queue {text} NOT NULL,"
    " repository {text} NOT NULL,"
    " label {text} NOT NULL," /* '': the row that each job has */
    " rank {int} NOT NULL,"
    " job_id {text} NOT NULL,"
    " PRIMARY KEY (queue, repository, label, rank, job_id)) {keyed_table}",
    "CREATE INDEX job_marks_label ON job_marks (queue, label, rank, job_id) WHERE label <> ''",
    "CREATE INDEX job_marks_any ON job_marks (queue, rank, job_id) WHERE label = ''",
    "CREATE INDEX job_marks_job ON job_marks (job_id)",
    /* Work that was there before: without its labels. */
    "INSERT INTO job_marks (queue, repository, label, rank, job_id)"
    " SELECT jobs.queue, repositories.name, '', jobs.rank, jobs.id FROM jobs"
    " JOIN runs ON runs.id = jobs.run_id"
    " JOIN repositories ON repositories.id = runs.repository_id"
    " WHERE jobs.type = 'pull' AND jobs.state NOT IN ('succeeded', 'dead_letter', 'cancelled')",

    "CREATE TABLE agents ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " name {text} NOT NULL,"
    " persona {text},"
    " capacity {int} NOT NULL,"
    " queue {text} NOT NULL,"
    " general {int} NOT NULL,"
    " repositories {json},"
    " labels {json},"
    " profile {text},"
    " config {json},"
    " prompt {text},"
    " account {text},"
    " heartbeat_ms {int} NOT NULL,"
    " restart_max {int} NOT NULL,"
    " backoff_ms {int} NOT NULL,"
    " restart_policy {text} NOT NULL CHECK (restart_policy = 'never'"
    "  OR restart_policy = 'on_failure' OR restart_policy = 'always'),"
    " state {text} NOT NULL CHECK (state = 'registered' OR state = 'starting' OR state = 'active'"
    "  OR state = 'late' OR state = 'restarting' OR state = 'stopped' OR state = 'failed'"
    "  OR state = 'killed'),"
    " failures {int} NOT NULL,"
    " restarts {int} NOT NULL,"
    " seen_us {int} NOT NULL,"
    " begun_us {int} NOT NULL,"
    " worker {text},"
    " job_id {text},"
    " token_id {text},"
    " kill_policy {text} NOT NULL CHECK (kill_policy = 'requeue' OR kill_policy = 'fail'),"
    " reason {text},"
    " last_error {text},"
    " created_by {text},"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL) {plain_table}",
    "CREATE UNIQUE INDEX agents_name ON agents (workspace_id, name)",
    "CREATE INDEX agents_killed ON agents (updated_us) WHERE state = 'killed'",

    /* What an agent has claimed. */
    "CREATE INDEX jobs_pulled ON jobs (worker, id) WHERE state = 'leased' AND type = 'pull'",
    /* The agent that a token is bound to. */
    "ALTER TABLE tokens ADD COLUMN agent {text}",
    NULL,
};
