/*
 * migration_shepherds.c - the tables of shepherds.c, and what a task has that is a repair.
 */
#include "store/migrate.h"

const char *const migration_shepherds[] = {
    /* How far drover has come with a pull request: core/pr/shepherd.h. */
    "CREATE TABLE shepherds ("
    " pull_request_id {text} NOT NULL PRIMARY KEY,"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " state {text} NOT NULL,"
    " reason {text},"
    " head {text},"
    " head_since_us {int} NOT NULL,"
    " certified_head {text},"
    " certified {int} NOT NULL,"
    " certificate_sha256 {text},"
    " shown_head {text},"
    " verifies {int} NOT NULL,"
    " reruns {int} NOT NULL,"
    " merges {int} NOT NULL,"
    " rerun_us {int} NOT NULL,"
    " repairs {int} NOT NULL,"
    " rebases {int} NOT NULL,"
    " repair_microusd {int} NOT NULL,"
    " budget_since_us {int} NOT NULL,"
    " work {text},"
    " work_id {text},"
    " work_head {text},"
    " work_cause {text},"
    " job_id {text},"
    " again {int} NOT NULL,"
    " conflict_head {text},"
    " stuck_head {text},"
    " stuck_base {text},"
    " empty_head {text},"
    " submitted_head {text},"
    " approval_id {text},"
    " approval_head {text},"
    " granted_head {text},"
    " stopped {int} NOT NULL,"
    " reviewed_us {int} NOT NULL,"
    " reviewing_us {int} NOT NULL,"
    " threads {json},"
    " unanswered {int} NOT NULL,"
    " failed_head {text},"
    " cause {text} NOT NULL,"
    " failures {json},"
    " fault {text},"
    " passed {json},"
    " acts {int} NOT NULL,"
    " rounds {int} NOT NULL,"
    " looked_us {int} NOT NULL,"
    " created_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " ended_us {int} NOT NULL) {keyed_table}",
    "CREATE INDEX shepherds_state ON shepherds (state)",

    /* Failures of checks by fingerprint, so that each is paid for once. */
    "CREATE TABLE ci_failures ("
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " fingerprint {text} NOT NULL,"
    " check_name {text} NOT NULL,"
    " cause {text} NOT NULL,"
    " line {text},"
    " cure {text},"
    " pull_request_id {text} NOT NULL,"
    " paid {int} NOT NULL,"
    " seen {int} NOT NULL,"
    " first_us {int} NOT NULL,"
    " last_us {int} NOT NULL,"
    " PRIMARY KEY (repository_id, fingerprint)) {keyed_table}",

    /* A repair: the pull request that it continues, and the head that it goes on top of. */
    "ALTER TABLE tasks ADD COLUMN pull_request_id {text}",
    "ALTER TABLE tasks ADD COLUMN head_commit {text}",
    "ALTER TABLE tasks ADD COLUMN merge_with {text}",
    NULL,
};
