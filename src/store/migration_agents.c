/*
 * migration_agents.c - for which agents a task is, and how agents find jobs by what they are about:
 * job_marks.h.
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
    NULL,
};
