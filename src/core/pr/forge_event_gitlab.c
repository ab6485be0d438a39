/*
 * forge_event_gitlab.c - deliveries of GitLab: X-Gitlab-Event, object_kind, and
 * object_attributes.action.
 *
 * Issues and merge requests are numbered by `iid`.  Hooks of the whole instance ("System Hook")
 * send the same bodies and a few of their own, which event_name tells apart.
 */
#include "core/pr/forge_event_table.h"
#include <string.h>

#define MR_PLACES(at) \
    .number = at ".iid", .commit = at ".last_commit.id", .branch = at ".source_branch"

static const struct event_rule rules[] = {
    {"Issue Hook", NULL, SUBJECT_ISSUE, .number = "object_attributes.iid"},
    {"Work Item Hook", NULL, SUBJECT_ISSUE, .number = "object_attributes.iid"},
    {"Confidential Issue Hook", NULL, SUBJECT_ISSUE, .number = "object_attributes.iid"},
    {"Note Hook", NULL, SUBJECT_PR, MR_PLACES("merge_request"),
     .when = "object_attributes.noteable_type", .is = "MergeRequest"},
    {"Note Hook", NULL, SUBJECT_ISSUE, .number = "issue.iid",
     .when = "object_attributes.noteable_type", .is = "Issue"},
    {"Confidential Note Hook", NULL, SUBJECT_PR, MR_PLACES("merge_request"),
     .when = "object_attributes.noteable_type", .is = "MergeRequest"},
    {"Confidential Note Hook", NULL, SUBJECT_ISSUE, .number = "issue.iid",
     .when = "object_attributes.noteable_type", .is = "Issue"},
    {"Merge Request Hook", NULL, SUBJECT_PR, MR_PLACES("object_attributes")},
    {"Pipeline Hook", NULL, SUBJECT_PR, .number = "merge_request.iid",
     .commit = "object_attributes.sha", .when = "merge_request"},
    {"Pipeline Hook", NULL, SUBJECT_COMMIT, .commit = "object_attributes.sha"},
    {"Job Hook", NULL, SUBJECT_COMMIT, .commit = "sha"},
    {"Push Hook", NULL, SUBJECT_BRANCH, .branch = "ref", .commit = "after"},
    {"System Hook", NULL, SUBJECT_BRANCH, .branch = "ref", .commit = "after", .when = "event_name",
     .is = "push"},
    {"System Hook", NULL, SUBJECT_PR, MR_PLACES("object_attributes"), .when = "object_kind",
     .is = "merge_request"},
    {"System Hook", NULL, SUBJECT_REPO, .when = "event_name", .is = "project_rename"},
    {"System Hook", NULL, SUBJECT_REPO, .when = "event_name", .is = "project_transfer"},
    {"System Hook", NULL, SUBJECT_REPO, .when = "event_name", .is = "project_destroy"},
};

/* Tokens of a project or group act as users of their own: project_17_bot_9ac3... */
static bool is_bot(const struct js *body, const char *actor)
{
    (void)body;
    bool of_token = text_starts(actor, "project_") || text_starts(actor, "group_");
    return of_token && strstr(actor, "_bot") != NULL;
}

static const char *name_of(const char *event, const struct js *body)
{
    const char *kind = js_get_str(body, "object_kind", NULL);
    return kind != NULL ? kind : js_get_str(body, "event_name", event);
}

const struct event_dialect forge_events_gitlab = {
    .forge = "gitlab",
    .rules = rules,
    .count = COUNT_OF(rules),
    .action = "object_attributes.action",
    .repository_ids = {"project.id", "project_id"},
    .repository_names = {"project.path_with_namespace", "path_with_namespace"},
    .actors = {"user.username", "user_username"},
    .is_bot = is_bot,
    .name = name_of,
};
