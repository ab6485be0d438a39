/*
 * migration_retention.c - what is deleted after its time: expiry.h, artifact_uses.h,
 * run_diagnostics.h, retention_sums.h; and indexes for the rows that refer to what is deleted.
 */
#include "store/migrate.h"

const char *const migration_retention[] = {
    "CREATE TABLE retention_sums ("
    " name {text} NOT NULL PRIMARY KEY,"
    " value {int} NOT NULL,"
    " note {text}) {keyed_table}",

    /* Tasks that are gone, and whose events are still there. */
    "CREATE TABLE expired_tasks ("
    " last_seq {int} NOT NULL," /* Of its events. */
    " task_id {text} NOT NULL,"
    " expired_us {int} NOT NULL,"
    " PRIMARY KEY (last_seq, task_id)) {keyed_table}",

    "CREATE TABLE run_diagnostics ("
    " run_id {text} NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,"
    " through_seq {int} NOT NULL," /* Its diagnostic events up to here are deleted. */
    " removed {int} NOT NULL,"
    " sums {json} NOT NULL,"
    " updated_us {int} NOT NULL) {keyed_table}",

    /* Contents that something else than a run refers to. */
    "CREATE TABLE artifact_uses ("
    " sha256 {text} NOT NULL,"
    " owner {text} NOT NULL," /* A task, a run or a batch. */
    " PRIMARY KEY (sha256, owner)) {keyed_table}",
    "CREATE INDEX artifact_uses_owner ON artifact_uses (owner)",
    "INSERT INTO artifact_uses (sha256, owner)"
    " SELECT DISTINCT CAST(item.value ->> 'sha256' AS text), doc.id FROM"
    " (SELECT id, attachments AS items FROM tasks WHERE CAST(attachments AS text) LIKE '[%'"
    "  UNION ALL SELECT id, task -> 'attachments' FROM batches"
    "  WHERE CAST(task -> 'attachments' AS text) LIKE '[%'"
    "  UNION ALL SELECT batch_id, task -> 'attachments' FROM batch_members"
    "  WHERE CAST(task -> 'attachments' AS text) LIKE '[%') AS doc, {json_items}"
    " WHERE item.value ->> 'sha256' IS NOT NULL",
    "INSERT INTO artifact_uses (sha256, owner)"
    " SELECT CAST(origin ->> 'issueSha256' AS text), id FROM tasks"
    " WHERE origin ->> 'issueSha256' IS NOT NULL ON CONFLICT (sha256, owner) DO NOTHING",

#define UNLINKED(column, table, owner)                                                           \
    "INSERT INTO artifact_uses (sha256, owner)"                                                  \
    " SELECT DISTINCT x." column ", x." owner " FROM " table " x WHERE x." column " IS NOT NULL" \
    " AND NOT EXISTS (SELECT 1 FROM run_artifacts a WHERE a.sha256 = x." column                  \
    "  AND a.run_id = x." owner ") ON CONFLICT (sha256, owner) DO NOTHING"
    UNLINKED("prompt_sha256", "runs", "id"),
    UNLINKED("feedback_sha256", "runs", "id"),
    UNLINKED("patch_sha256", "runs", "id"),
    UNLINKED("certificate_sha256", "runs", "id"),
    UNLINKED("plan_sha256", "runs", "id"),
    UNLINKED("sha256", "patches", "run_id"),
    UNLINKED("report_sha256", "verifications", "run_id"),
    UNLINKED("artifact_sha256", "approvals", "run_id"),

    /* Contents that may be referred to by nothing any more. */
    "CREATE TABLE loose_artifacts ("
    " sha256 {text} NOT NULL PRIMARY KEY,"
    " since_us {int} NOT NULL) {keyed_table}",
    "ALTER TABLE artifact_contents ADD COLUMN put_us {int} NOT NULL DEFAULT 0",
    "CREATE INDEX intake_view ON intake (view_sha256) WHERE view_sha256 IS NOT NULL",
    "CREATE INDEX shepherds_certificate ON shepherds (certificate_sha256)"
    " WHERE certificate_sha256 IS NOT NULL",

    /* A foreign key without one reads its whole table for each row that is deleted. */
    "CREATE INDEX pull_requests_task ON pull_requests (task_id)",
    "CREATE INDEX approvals_task ON approvals (task_id)",
    "CREATE INDEX questions_task ON questions (task_id)",
    "CREATE INDEX train_cars_pr ON train_cars (pull_request_id)",
    "CREATE INDEX tasks_pull_request ON tasks (pull_request_id) WHERE pull_request_id IS NOT NULL",
    NULL,
};
