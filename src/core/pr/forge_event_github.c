/*
 * forge_event_github.c - deliveries of GitHub: X-GitHub-Event and the member `action`.
 */
#include "core/pr/forge_event_table.h"

#define COMMENT_ACTIONS " created edited deleted "

static const struct event_rule rules[] = {
    {"ping", .subject = SUBJECT_PING},
    {"issues",
     " opened edited deleted transferred closed reopened assigned unassigned labeled unlabeled "
     "typed untyped ",
     SUBJECT_ISSUE, .number = "issue.number"},
    {"issue_comment", COMMENT_ACTIONS, SUBJECT_PR, .number = "issue.number",
     .when = "issue.pull_request"},
    {"issue_comment", COMMENT_ACTIONS, SUBJECT_ISSUE, .number = "issue.number"},
    {"issue_dependencies", " blocked_by_added blocked_by_removed blocking_added blocking_removed ",
     SUBJECT_ISSUE, .number = "blocked_issue.number", .when = "blocked_issue"},
    {"pull_request",
     " opened edited closed reopened synchronize converted_to_draft ready_for_review labeled "
     "unlabeled assigned unassigned review_requested review_request_removed auto_merge_enabled "
     "auto_merge_disabled enqueued dequeued ",
     SUBJECT_PR, .number = "pull_request.number", .commit = "pull_request.head.sha",
     .branch = "pull_request.head.ref"},
    {"pull_request_review", " submitted edited dismissed ", SUBJECT_PR,
     .number = "pull_request.number", .commit = "pull_request.head.sha",
     .branch = "pull_request.head.ref"},
    {"pull_request_review_comment", COMMENT_ACTIONS, SUBJECT_PR, .number = "pull_request.number",
     .commit = "pull_request.head.sha", .branch = "pull_request.head.ref"},
    {"pull_request_review_thread", " resolved unresolved ", SUBJECT_PR,
     .number = "pull_request.number", .commit = "pull_request.head.sha",
     .branch = "pull_request.head.ref"},
    {"check_run", " created completed rerequested requested_action ", SUBJECT_COMMIT,
     .commit = "check_run.head_sha"},
    {"check_suite", " completed requested rerequested ", SUBJECT_COMMIT,
     .commit = "check_suite.head_sha"},
    {"status", NULL, SUBJECT_COMMIT, .commit = "sha"},
    {"workflow_run", " requested in_progress completed ", SUBJECT_COMMIT,
     .commit = "workflow_run.head_sha"},
    {"workflow_job", " queued waiting in_progress completed ", SUBJECT_COMMIT,
     .commit = "workflow_job.head_sha"},
    {"push", NULL, SUBJECT_BRANCH, .branch = "ref", .commit = "after"},
    {"create", NULL, SUBJECT_BRANCH, .branch = "ref", .when = "ref_type", .is = "branch"},
    {"delete", NULL, SUBJECT_BRANCH, .branch = "ref", .when = "ref_type", .is = "branch"},
    {"merge_group", " checks_requested destroyed ", SUBJECT_BRANCH,
     .branch = "merge_group.base_ref", .commit = "merge_group.head_sha"},
    {"repository", " renamed transferred deleted archived unarchived ", .subject = SUBJECT_REPO},
};

static bool is_bot(const struct js *body, const char *actor)
{
    return text_same(js_str(js_path(body, "sender.type"), ""), "Bot") || text_ends(actor, "[bot]");
}

const struct event_dialect forge_events_github = {
    .forge = "github",
    .rules = rules,
    .count = COUNT_OF(rules),
    .action = "action",
    .repository_ids = {"repository.id"},
    .repository_names = {"repository.full_name"},
    .actors = {"sender.login", "pusher.name"},
    .is_bot = is_bot,
};
