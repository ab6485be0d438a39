/*
 * migration_intake.c - the table of intake.c.
 */
#include "store/migrate.h"

const char *const migration_intake[] = {
    /* Issues that were looked at. */
    "CREATE TABLE intake ("
    " id {text} NOT NULL PRIMARY KEY,"
    " workspace_id {text} NOT NULL REFERENCES workspaces (id),"
    " repository_id {text} NOT NULL REFERENCES repositories (id),"
    " issue_number {int} NOT NULL,"
    " state {text} NOT NULL," /* seen, awaiting, active, done */
    " reason {text},"
    " task_id {text},"
    " asked_by {text},"
    " started_by {text},"
    " last_comment_id {int} NOT NULL,"
    " act_us {int} NOT NULL,"
    " text_sha256 {text},"
    " text_us {int} NOT NULL,"
    " view_sha256 {text},"
    " prompt_sha256 {text},"
    " changed {int} NOT NULL,"
    " wanted {text},"
    " told {text},"
    " closes {int} NOT NULL,"
    " merged {int} NOT NULL,"
    " created_us {int} NOT NULL,"
    " looked_us {int} NOT NULL,"
    " updated_us {int} NOT NULL,"
    " UNIQUE (repository_id, issue_number)) {plain_table}",
    "CREATE INDEX intake_task ON intake (task_id) WHERE task_id IS NOT NULL",
    NULL,
};
