/*
 * test_forge_event.c - what deliveries of GitHub, GitLab and Gitea are about: every rule of the
 * tables, and what fits none.
 */
#include "base/mem.h"
#include "core/pr/forge_event.h"
#include "core/pr/forge_event_table.h"
#include "tests/unit/suites.h"
#include <string.h>

#define SHA  "0123456789abcdef0123456789abcdef01234567"
#define ZERO "0000000000000000000000000000000000000000"

#define REPO   "\"repository\":{\"id\":77,\"full_name\":\"Acme/Billing\"}"
#define BY     "\"sender\":{\"login\":\"ada\",\"type\":\"User\"}"
#define PULL   "\"pull_request\":{\"number\":9,\"head\":{\"sha\":\"" SHA "\",\"ref\":\"fix\"}}"
#define HUB    "," REPO "," BY "}"
#define LAB_OF "\"project\":{\"id\":5,\"path_with_namespace\":\"acme/billing\"}"
#define LAB    "," LAB_OF ",\"user\":{\"username\":\"ada\"}}"
#define MR     "\"iid\":9,\"source_branch\":\"fix\",\"last_commit\":{\"id\":\"" SHA "\"}"
#define OPENED "\"object_attributes\":{\"iid\":4,\"action\":\"open\"}"
#define ISSUE  "{\"object_kind\":\"issue\"," OPENED LAB
#define NOTE_MR                                                                             \
    "{\"object_kind\":\"note\",\"object_attributes\":{\"noteable_type\":\"MergeRequest\"}," \
    "\"merge_request\":{" MR "}" LAB
#define NOTE_ISSUE                                                                   \
    "{\"object_kind\":\"note\",\"object_attributes\":{\"noteable_type\":\"Issue\"}," \
    "\"issue\":{\"iid\":4}" LAB

struct row {
    const char *forge, *event, *body;
    enum forge_subject subject;
    const char *name;
    int64_t number;
    const char *commit, *branch;
};

#define COMMENTED(action) "{\"action\":\"" action "\",\"issue\":{\"number\":4}" HUB
#define PULLED(action)    "{\"action\":\"" action "\"," PULL HUB
#define CHECKED(what)     "{\"action\":\"completed\",\"" what "\":{\"head_sha\":\"" SHA "\"}" HUB

static const struct row rows[] = {
    /* GitHub */
    {"github", "ping", "{\"zen\":\"x\",\"hook_id\":1" HUB, SUBJECT_PING, "ping", 0, NULL, NULL},
    {"github", "issues", COMMENTED("labeled"), SUBJECT_ISSUE, "issues.labeled", 4, NULL, NULL},
    {"github", "issues", COMMENTED("closed"), SUBJECT_ISSUE, "issues.closed", 4, NULL, NULL},
    {"github", "issues", COMMENTED("pinned"), SUBJECT_NONE, "issues.pinned", 0, NULL, NULL},
    {"github", "issues", COMMENTED("label"), SUBJECT_NONE, "issues.label", 0, NULL, NULL},
    {"github", "issues", COMMENTED(" opened"), SUBJECT_NONE, "issues. opened", 0, NULL, NULL},
    {"github", "issue_comment", COMMENTED("created"), SUBJECT_ISSUE, "issue_comment.created", 4,
     NULL, NULL},
    {"github", "issue_comment",
     "{\"action\":\"created\",\"issue\":{\"number\":9,\"pull_request\":{\"url\":\"x\"}}" HUB,
     SUBJECT_PR, "issue_comment.created", 9, NULL, NULL},
    {"github", "issue_dependencies",
     "{\"action\":\"blocked_by_added\",\"blocked_issue\":{\"number\":4}" HUB, SUBJECT_ISSUE,
     "issue_dependencies.blocked_by_added", 4, NULL, NULL},
    {"github", "pull_request", PULLED("synchronize"), SUBJECT_PR, "pull_request.synchronize", 9,
     SHA, "fix"},
    {"github", "pull_request_review", PULLED("submitted"), SUBJECT_PR,
     "pull_request_review.submitted", 9, SHA, "fix"},
    {"github", "pull_request_review_comment", PULLED("created"), SUBJECT_PR,
     "pull_request_review_comment.created", 9, SHA, "fix"},
    {"github", "pull_request_review_thread", PULLED("resolved"), SUBJECT_PR,
     "pull_request_review_thread.resolved", 9, SHA, "fix"},
    {"github", "check_run", CHECKED("check_run"), SUBJECT_COMMIT, "check_run.completed", 0, SHA,
     NULL},
    {"github", "check_suite", CHECKED("check_suite"), SUBJECT_COMMIT, "check_suite.completed", 0,
     SHA, NULL},
    {"github", "status", "{\"sha\":\"" SHA "\",\"state\":\"success\"" HUB, SUBJECT_COMMIT, "status",
     0, SHA, NULL},
    {"github", "workflow_run", CHECKED("workflow_run"), SUBJECT_COMMIT, "workflow_run.completed", 0,
     SHA, NULL},
    {"github", "workflow_job", CHECKED("workflow_job"), SUBJECT_COMMIT, "workflow_job.completed", 0,
     SHA, NULL},
    {"github", "push", "{\"ref\":\"refs/heads/a/b\",\"after\":\"" SHA "\"" HUB, SUBJECT_BRANCH,
     "push", 0, SHA, "a/b"},
    {"github", "push", "{\"ref\":\"refs/heads/a\",\"after\":\"" ZERO "\",\"deleted\":true" HUB,
     SUBJECT_BRANCH, "push", 0, NULL, "a"},
    {"github", "push", "{\"ref\":\"refs/tags/v1\",\"after\":\"" SHA "\"" HUB, SUBJECT_NONE, "push",
     0, SHA, NULL},
    {"github", "create", "{\"ref\":\"fix\",\"ref_type\":\"branch\"" HUB, SUBJECT_BRANCH, "create",
     0, NULL, "fix"},
    {"github", "create", "{\"ref\":\"v1\",\"ref_type\":\"tag\"" HUB, SUBJECT_NONE, "create", 0,
     NULL, NULL},
    {"github", "delete", "{\"ref\":\"fix\",\"ref_type\":\"branch\"" HUB, SUBJECT_BRANCH, "delete",
     0, NULL, "fix"},
    {"github", "merge_group",
     "{\"action\":\"checks_requested\",\"merge_group\":{\"base_ref\":\"refs/heads/main\","
     "\"head_sha\":\"" SHA "\"}" HUB,
     SUBJECT_BRANCH, "merge_group.checks_requested", 0, SHA, "main"},
    {"github", "repository", "{\"action\":\"renamed\"" HUB, SUBJECT_REPO, "repository.renamed", 0,
     NULL, NULL},
    {"github", "star", "{\"action\":\"created\"" HUB, SUBJECT_NONE, "star.created", 0, NULL, NULL},
    {"github", "never_heard_of", "{\"a\":1" HUB, SUBJECT_NONE, "never_heard_of", 0, NULL, NULL},

    /* GitLab */
    {"gitlab", "Issue Hook", ISSUE, SUBJECT_ISSUE, "issue.open", 4, NULL, NULL},
    {"gitlab", "Work Item Hook", ISSUE, SUBJECT_ISSUE, "issue.open", 4, NULL, NULL},
    {"gitlab", "Confidential Issue Hook", ISSUE, SUBJECT_ISSUE, "issue.open", 4, NULL, NULL},
    {"gitlab", "Note Hook", NOTE_MR, SUBJECT_PR, "note", 9, SHA, "fix"},
    {"gitlab", "Note Hook", NOTE_ISSUE, SUBJECT_ISSUE, "note", 4, NULL, NULL},
    {"gitlab", "Confidential Note Hook", NOTE_MR, SUBJECT_PR, "note", 9, SHA, "fix"},
    {"gitlab", "Confidential Note Hook", NOTE_ISSUE, SUBJECT_ISSUE, "note", 4, NULL, NULL},
    {"gitlab", "Note Hook",
     "{\"object_kind\":\"note\",\"object_attributes\":{\"noteable_type\":\"Commit\"}" LAB,
     SUBJECT_NONE, "note", 0, NULL, NULL},
    {"gitlab", "Merge Request Hook",
     "{\"object_kind\":\"merge_request\",\"object_attributes\":{\"action\":\"update\"," MR "}" LAB,
     SUBJECT_PR, "merge_request.update", 9, SHA, "fix"},
    {"gitlab", "Pipeline Hook",
     "{\"object_kind\":\"pipeline\",\"object_attributes\":{\"sha\":\"" SHA
     "\"},\"merge_request\":{\"iid\":9}" LAB,
     SUBJECT_PR, "pipeline", 9, SHA, NULL},
    {"gitlab", "Pipeline Hook",
     "{\"object_kind\":\"pipeline\",\"merge_request\":null,\"object_attributes\":{\"sha\":\"" SHA
     "\"}" LAB,
     SUBJECT_COMMIT, "pipeline", 0, SHA, NULL},
    {"gitlab", "Job Hook", "{\"object_kind\":\"build\",\"sha\":\"" SHA "\"" LAB, SUBJECT_COMMIT,
     "build", 0, SHA, NULL},
    {"gitlab", "Push Hook",
     "{\"object_kind\":\"push\",\"ref\":\"refs/heads/fix\",\"after\":\"" SHA "\"" LAB,
     SUBJECT_BRANCH, "push", 0, SHA, "fix"},
    {"gitlab", "System Hook",
     "{\"event_name\":\"push\",\"ref\":\"refs/heads/fix\",\"after\":\"" SHA "\"" LAB,
     SUBJECT_BRANCH, "push", 0, SHA, "fix"},
    {"gitlab", "System Hook",
     "{\"object_kind\":\"merge_request\",\"object_attributes\":{" MR "}" LAB, SUBJECT_PR,
     "merge_request", 9, SHA, "fix"},
    {"gitlab", "System Hook",
     "{\"event_name\":\"project_rename\",\"project_id\":5,\"path_with_namespace\":\"Acme/Billing\","
     "\"user\":{\"username\":\"ada\"}}",
     SUBJECT_REPO, "project_rename", 0, NULL, NULL},
    {"gitlab", "System Hook", "{\"event_name\":\"project_transfer\"" LAB, SUBJECT_REPO,
     "project_transfer", 0, NULL, NULL},
    {"gitlab", "System Hook", "{\"event_name\":\"project_destroy\"" LAB, SUBJECT_REPO,
     "project_destroy", 0, NULL, NULL},
    {"gitlab", "System Hook", "{\"event_name\":\"user_create\"" LAB, SUBJECT_NONE, "user_create", 0,
     NULL, NULL},
    {"gitlab", "Tag Push Hook", "{\"object_kind\":\"tag_push\"" LAB, SUBJECT_NONE, "tag_push", 0,
     NULL, NULL},

    /* Gitea */
    {"gitea", "issues", COMMENTED("opened"), SUBJECT_ISSUE, "issues.opened", 4, NULL, NULL},
    {"gitea", "issue_assign", COMMENTED("assigned"), SUBJECT_ISSUE, "issue_assign.assigned", 4,
     NULL, NULL},
    {"gitea", "issue_label", COMMENTED("label_updated"), SUBJECT_ISSUE, "issue_label.label_updated",
     4, NULL, NULL},
    {"gitea", "issue_comment", COMMENTED("created"), SUBJECT_ISSUE, "issue_comment.created", 4,
     NULL, NULL},
    {"gitea", "issue_comment",
     "{\"action\":\"created\",\"is_pull\":false,\"issue\":{\"number\":4,\"pull_request\":null}" HUB,
     SUBJECT_ISSUE, "issue_comment.created", 4, NULL, NULL},
    {"gitea", "issue_comment",
     "{\"action\":\"created\",\"is_pull\":true,\"issue\":{\"number\":9}" HUB, SUBJECT_PR,
     "issue_comment.created", 9, NULL, NULL},
    {"gitea", "issue_comment",
     "{\"action\":\"created\",\"issue\":{\"number\":9,\"pull_request\":{}}" HUB, SUBJECT_PR,
     "issue_comment.created", 9, NULL, NULL},
    {"gitea", "pull_request", PULLED("opened"), SUBJECT_PR, "pull_request.opened", 9, SHA, "fix"},
    {"gitea", "pull_request_assign", PULLED("assigned"), SUBJECT_PR, "pull_request_assign.assigned",
     9, SHA, "fix"},
    {"gitea", "pull_request_label", PULLED("label_updated"), SUBJECT_PR,
     "pull_request_label.label_updated", 9, SHA, "fix"},
    {"gitea", "pull_request_sync", PULLED("synchronized"), SUBJECT_PR,
     "pull_request_sync.synchronized", 9, SHA, "fix"},
    {"gitea", "pull_request_review_request", PULLED("review_requested"), SUBJECT_PR,
     "pull_request_review_request.review_requested", 9, SHA, "fix"},
    {"gitea", "pull_request_approved", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_approved.reviewed", 9, SHA, "fix"},
    {"gitea", "pull_request_rejected", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_rejected.reviewed", 9, SHA, "fix"},
    {"gitea", "pull_request_comment", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_comment.reviewed", 9, SHA, "fix"},
    {"gitea", "pull_request_comment", COMMENTED("created"), SUBJECT_PR,
     "pull_request_comment.created", 4, NULL, NULL},
    {"gitea", "pull_request_review_approved", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_review_approved.reviewed", 9, SHA, "fix"},
    {"gitea", "pull_request_review_rejected", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_review_rejected.reviewed", 9, SHA, "fix"},
    {"gitea", "pull_request_review_comment", PULLED("reviewed"), SUBJECT_PR,
     "pull_request_review_comment.reviewed", 9, SHA, "fix"},
    {"gitea", "status", "{\"sha\":\"" SHA "\"" HUB, SUBJECT_COMMIT, "status", 0, SHA, NULL},
    {"gitea", "workflow_run", CHECKED("workflow_run"), SUBJECT_COMMIT, "workflow_run.completed", 0,
     SHA, NULL},
    {"gitea", "workflow_job", CHECKED("workflow_job"), SUBJECT_COMMIT, "workflow_job.completed", 0,
     SHA, NULL},
    {"gitea", "push", "{\"ref\":\"refs/heads/fix\",\"after\":\"" SHA "\"" HUB, SUBJECT_BRANCH,
     "push", 0, SHA, "fix"},
    {"gitea", "create", "{\"ref\":\"fix\",\"ref_type\":\"branch\"" HUB, SUBJECT_BRANCH, "create", 0,
     NULL, "fix"},
    {"gitea", "delete", "{\"ref\":\"fix\",\"ref_type\":\"branch\"" HUB, SUBJECT_BRANCH, "delete", 0,
     NULL, "fix"},
    {"gitea", "repository", "{\"action\":\"deleted\"" HUB, SUBJECT_REPO, "repository.deleted", 0,
     NULL, NULL},
    {"gitea", "wiki", "{\"action\":\"created\"" HUB, SUBJECT_NONE, "wiki.created", 0, NULL, NULL},
};

static enum rc decode(const struct row *row, struct arena *arena, struct forge_event *ret_event,
                      struct err *err)
{
    CLEANUP(js_freep) struct js *body = NULL;
    ck_assert_msg(js_parse(row->body, strlen(row->body), &body, err) == RC_OK, "%s: %s", row->event,
                  err->text);
    return forge_event_decode(row->forge, row->event, body, arena, ret_event, err);
}

START_TEST(every_delivery_has_its_subject)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct row *row = &rows[_i];
    struct forge_event event;
    struct err err = {0};
    enum rc rc = decode(row, &arena, &event, &err);
    ck_assert_msg(rc == RC_OK, "%s %s: %s", row->forge, row->event, err.text);
    ck_assert_msg(event.subject == row->subject, "%s %s: %s", row->forge, row->event,
                  forge_subject_name(event.subject));
    ck_assert_str_eq(event.name, row->name);
    ck_assert_int_eq(event.number, row->number);
    ck_assert_pstr_eq(event.commit, row->commit);
    ck_assert_pstr_eq(event.branch, row->branch);
    ck_assert_str_eq(event.actor, "ada");
    ck_assert(!event.actor_is_bot);
    ck_assert_str_eq(event.repository_id, text_same(row->forge, "gitlab") ? "5" : "77");
    ck_assert_int_eq(strcasecmp(event.repository_name, "acme/billing"), 0);
}
END_TEST

START_TEST(every_rule_is_met_by_a_row)
{
    static const struct event_dialect *const all[] = {&forge_events_github, &forge_events_gitlab,
                                                      &forge_events_gitea};
    for (size_t d = 0; d < COUNT_OF(all); d++)
        for (size_t r = 0; r < all[d]->count; r++) {
            const struct event_rule *rule = &all[d]->rules[r];
            bool met = false;
            for (size_t i = 0; i < COUNT_OF(rows); i++)
                met |= text_same(rows[i].forge, all[d]->forge) &&
                       text_same(rows[i].event, rule->event) && rows[i].subject == rule->subject;
            ck_assert_msg(met, "%s %s", all[d]->forge, rule->event);
        }
}
END_TEST

/* A known event that lacks what it always has. */
static const struct row broken[] = {
    {.forge = "github", .event = "issues", .body = "{\"action\":\"opened\"" HUB},
    {.forge = "github",
     .event = "issues",
     .body = "{\"action\":\"opened\",\"issue\":{\"number\":\"4\"}" HUB},
    {.forge = "github",
     .event = "issues",
     .body = "{\"action\":\"opened\",\"issue\":{\"number\":-4}" HUB},
    {.forge = "github", .event = "push", .body = "{\"after\":\"" SHA "\"" HUB},
    {.forge = "github", .event = "status", .body = "{\"sha\":\"not a commit\"" HUB},
    {.forge = "github", .event = "status", .body = "{\"sha\":\"" ZERO "\"" HUB},
    {.forge = "github", .event = "status", .body = "[1]"},
    {.forge = "gitlab", .event = "Merge Request Hook", .body = "{\"object_attributes\":{}}"},
    {.forge = "gitea", .event = "pull_request", .body = "{\"action\":\"opened\"}"},
    {.forge = "local", .event = "push", .body = "{}"},
};

START_TEST(one_that_lacks_what_it_always_has_is_invalid)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct forge_event event;
    struct err err = {0};
    ck_assert_int_eq(decode(&broken[_i], &arena, &event, &err), RC_INVALID);
    ck_assert(err.text[0] != '\0');
}
END_TEST

START_TEST(bots_are_told_from_people)
{
    static const struct {
        const char *forge, *actor;
        bool bot;
    } people[] = {
        {"github", "\"sender\":{\"login\":\"ada\",\"type\":\"User\"}", false},
        {"github", "\"sender\":{\"login\":\"renovate\",\"type\":\"Bot\"}", true},
        {"github", "\"sender\":{\"login\":\"drover[bot]\"}", true},
        {"gitlab", "\"user\":{\"username\":\"project_17_bot_9\"}", true},
        {"gitlab", "\"user\":{\"username\":\"project_manager\"}", false},
        {"gitea", "\"sender\":{\"login\":\"gitea-actions\"}", true},
        {"gitea", "\"sender\":{\"login\":\"ada\"}", false},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(people); i++) {
        struct forge_event event;
        struct err err = {0};
        const struct row row = {.forge = people[i].forge,
                                .event = "unknown",
                                .body = arena_printf(&arena, "{%s}", people[i].actor)};
        ck_assert_int_eq(decode(&row, &arena, &event, &err), RC_OK);
        ck_assert_msg(event.actor_is_bot == people[i].bot, "%s", people[i].actor);
    }
}
END_TEST

START_TEST(the_repository_is_read_from_the_bytes)
{
    static const struct {
        const char *forge, *body, *id, *name;
    } bodies[] = {
        {"github", "{\"action\":\"x\"" HUB, "77", "acme/billing"},
        {"github", " { \"repository\" : { \"id\" : 77 , \"full_name\" : \"A/B\" } } ", "77", "a/b"},
        {"github", "{\"repository\":{\"full_name\":\"a\\u0062/c\"}}", "", ""},
        {"github", "{\"repository\":{\"id\":-1,\"full_name\":7}}", "", "7"},
        {"github", "{\"repository\":{\"id\":123", "123", ""},
        {"github", "{\"organization\":{\"id\":77}}", "", ""},
        {"github", "not json", "", ""},
        {"github", "", "", ""},
        {"github", "{\"repository\":\"", "", ""},
        {"gitlab", ISSUE, "5", "acme/billing"},
        {"gitlab", "{\"project_id\":6,\"path_with_namespace\":\"g/s/p\"}", "6", "g/s/p"},
        {"gitea", "{" REPO "}", "77", "acme/billing"},
        {"forgejo", "{" REPO "}", "77", "acme/billing"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    struct forge_named named;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        ck_assert(forge_event_repository(bodies[i].forge, str_of(bodies[i].body), &arena, &named));
        ck_assert_str_eq(named.id, bodies[i].id);
        ck_assert_str_eq(named.name, bodies[i].name);
    }
    ck_assert(!forge_event_repository("local", STR("{}"), &arena, &named));
}
END_TEST

/* Cut anywhere, in memory that ends there. */
START_TEST(a_body_that_is_cut_is_read_to_its_end_only)
{
    const struct row *row = &rows[_i];
    size_t whole = strlen(row->body);
    for (size_t len = 0; len <= whole; len++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct forge_named named;
        char *copy = mem_alloc(len + 1);
        memcpy(copy, row->body, len);
        copy[len] = '"'; /* Behind it: were it read, a name would end here. */
        ck_assert(forge_event_repository(row->forge, (struct str){copy, len}, &arena, &named));
        ck_assert_uint_le(strlen(named.id), len);
        ck_assert_uint_le(strlen(named.name), len);
        mem_free(copy);
    }
}
END_TEST

START_TEST(an_address_has_the_name_at_its_end)
{
    static const char *const urls[][2] = {
        {"https://github.com/Acme/Billing.git", "acme/billing"},
        {"https://github.com/acme/billing", "acme/billing"},
        {"https://github.com/acme/billing/", "acme/billing"},
        {"http://127.0.0.1:8080/acme/billing.git", "acme/billing"},
        {"https://bot@git.example.org/a/b/c.git", "a/b/c"},
        {"ssh://git@git.example.org:22/acme/billing.git", "acme/billing"},
        {"git@github.com:acme/billing.git", "acme/billing"},
        {"git@github.com:/acme/billing.git", "acme/billing"},
        {"/srv/git/billing.git", NULL},
        {"file:///srv/git/billing.git", NULL},
        {"https://github.com", NULL},
        {"https://github.com/", NULL},
        {"https://github.com/billing", NULL},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        ck_assert_pstr_eq(forge_name_of_url(urls[i][0], &arena), urls[i][1]);
}
END_TEST

START_TEST(subjects_have_names)
{
    for (int i = SUBJECT_NONE; i <= SUBJECT_REPO; i++) {
        enum forge_subject subject;
        ck_assert(forge_subject_parse(forge_subject_name((enum forge_subject)i), &subject));
        ck_assert_int_eq((int)subject, i);
    }
    enum forge_subject subject;
    ck_assert(!forge_subject_parse("never", &subject));
}
END_TEST

Suite *forge_event_suite(void)
{
    Suite *suite = suite_create("forge_event");
    TCase *tests = tcase_create("forge_event");
    tcase_add_loop_test(tests, every_delivery_has_its_subject, 0, (int)COUNT_OF(rows));
    tcase_add_test(tests, every_rule_is_met_by_a_row);
    tcase_add_loop_test(tests, one_that_lacks_what_it_always_has_is_invalid, 0,
                        (int)COUNT_OF(broken));
    tcase_add_test(tests, bots_are_told_from_people);
    tcase_add_test(tests, the_repository_is_read_from_the_bytes);
    tcase_add_loop_test(tests, a_body_that_is_cut_is_read_to_its_end_only, 0, (int)COUNT_OF(rows));
    tcase_add_test(tests, an_address_has_the_name_at_its_end);
    tcase_add_test(tests, subjects_have_names);
    suite_add_tcase(suite, tests);
    return suite;
}
