/*
 * forge_event_gitea.c - deliveries of Gitea and Forgejo.
 *
 * X-Gitea-Event has the short names ("issues", "pull_request_approved"), X-Gitea-Event-Type the
 * long ones ("issue_label", "pull_request_review_approved"); versions differ in which of the two
 * a proxy passes on, so the table has both.
 */
#include "core/pr/forge_event_table.h"

#define PR_PLACES                                                       \
    .number = "pull_request.number", .commit = "pull_request.head.sha", \
    .branch = "pull_request.head.ref"

static const struct event_rule rules[] = {
    {"issues", NULL, SUBJECT_ISSUE, .number = "issue.number"},
    {"issue_assign", NULL, SUBJECT_ISSUE, .number = "issue.number"},
    {"issue_label", NULL, SUBJECT_ISSUE, .number = "issue.number"},
    {"issue_comment", NULL, SUBJECT_PR, .number = "issue.number", .when = "is_pull"},
    {"issue_comment", NULL, SUBJECT_PR, .number = "issue.number", .when = "issue.pull_request"},
    {"issue_comment", NULL, SUBJECT_ISSUE, .number = "issue.number"},
    {"pull_request", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_assign", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_label", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_sync", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_review_request", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_approved", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_rejected", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_comment", NULL, SUBJECT_PR, PR_PLACES, .when = "pull_request"},
    {"pull_request_comment", NULL, SUBJECT_PR, .number = "issue.number"},
    {"pull_request_review_approved", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_review_rejected", NULL, SUBJECT_PR, PR_PLACES},
    {"pull_request_review_comment", NULL, SUBJECT_PR, PR_PLACES},
    {"status", NULL, SUBJECT_COMMIT, .commit = "sha"},
    {"workflow_run", NULL, SUBJECT_COMMIT, .commit = "workflow_run.head_sha"},
    {"workflow_job", NULL, SUBJECT_COMMIT, .commit = "workflow_job.head_sha"},
    {"push", NULL, SUBJECT_BRANCH, .branch = "ref", .commit = "after"},
    {"create", NULL, SUBJECT_BRANCH, .branch = "ref", .when = "ref_type", .is = "branch"},
    {"delete", NULL, SUBJECT_BRANCH, .branch = "ref", .when = "ref_type", .is = "branch"},
    {"repository", .subject = SUBJECT_REPO},
};

/* Neither says it of a user; this is how its own bot is called. */
static bool is_bot(const struct js *body, const char *actor)
{
    (void)body;
    return text_ends(actor, "-actions") || text_ends(actor, "[bot]");
}

const struct event_dialect forge_events_gitea = {
    .forge = "gitea",
    .rules = rules,
    .count = COUNT_OF(rules),
    .action = "action",
    .repository_ids = {"repository.id"},
    .repository_names = {"repository.full_name"},
    .actors = {"sender.login", "sender.username", "pusher.login"},
    .is_bot = is_bot,
};
