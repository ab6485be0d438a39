/*
 * test_github_work.c - checks, issues and people of GitHub.
 */
#include "base/clock.h"
#include "forge/port/checks.h"
#include "forge/port/issues.h"
#include "forge/port/people.h"
#include "tests/unit/github_kit.h"
#include "tests/unit/suites.h"
#include <string.h>

#define P "/api/v3/repos/acme/billing"

/* ---- checks ---- */

START_TEST(checks_are_runs_and_statuses)
{
    KIT_OPEN(
        {.request = "GET " P "/commits/" KIT_HEAD "/check-runs?per_page=100 HTTP",
         .body =
             "{\"total_count\":2,\"check_runs\":[{\"id\":4294967999,\"name\":\"unit\",\"status\":"
             "\"completed\",\"conclusion\":\"timed_out\",\"html_url\":\"https://h/1\","
             "\"external_id\":\"\",\"started_at\":\"2023-11-14T22:13:20Z\",\"completed_at\":"
             "\"2023-11-14T22:13:25Z\",\"output\":{\"title\":\"T\",\"summary\":null},"
             "\"app\":{\"slug\":\"github-actions\"}},"
             "{\"id\":2,\"name\":\"drover\",\"status\":\"queued\",\"conclusion\":null,"
             "\"external_id\":\"drover:run-1\",\"app\":null}]}"},
        {.request = "GET " P "/commits/" KIT_HEAD "/status?per_page=100 HTTP",
         .body = "{\"state\":\"failure\",\"statuses\":[{\"context\":\"ci\",\"state\":\"failure\","
                 "\"description\":\"3 failed\",\"target_url\":\"https://ci\",\"created_at\":"
                 "\"2023-11-14T22:13:20Z\",\"updated_at\":\"2023-11-14T22:13:21Z\"}]}"});
    struct check_view *checks = NULL;
    size_t count = 0;
    ck_assert_msg(checks_github.of_commit(&kit_call, KIT_URL, KIT_HEAD, &kit_arena, &checks, &count,
                                          &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(checks[0].id, "run:4294967999");
    ck_assert_int_eq(checks[0].state, CHECK_TIMED_OUT);
    ck_assert(checks[0].job && !checks[0].own);
    ck_assert_str_eq(checks[0].summary, "T");
    ck_assert_int_eq(checks[0].ended_us - checks[0].started_us, 5 * US_PER_SECOND);
    ck_assert_int_eq(checks[1].state, CHECK_PENDING);
    ck_assert(checks[1].own && !checks[1].job);
    ck_assert_str_eq(checks[2].id, "status:ci");
    ck_assert_int_eq(checks[2].state, CHECK_FAILED);
    ck_assert_int_eq(
        checks_github.of_commit(&kit_call, KIT_URL, "main", &kit_arena, &checks, &count, NULL),
        RC_INVALID);
}
END_TEST

static const struct check_view job = {.id = "run:41", .name = "unit", .job = true};
static const struct check_view other = {.id = "run:42", .name = "scan"};
static const struct check_view status = {.id = "status:ci", .name = "ci"};

START_TEST(a_job_has_a_log)
{
    KIT_OPEN({.request = "GET " P "/actions/jobs/41/logs HTTP",
              .headers = "Content-Type: text/plain\r\n",
              .body = "FAIL: answer\n"});
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, CHECK_LOG_MAX);
    ck_assert_int_eq(checks_github.log(&kit_call, KIT_URL, &job, &into, &kit_err), RC_OK);
    ck_assert_str_eq(buf_text(&into), "FAIL: answer\n");
    ck_assert_int_eq(checks_github.log(&kit_call, KIT_URL, &other, &into, &kit_err), RC_NOT_FOUND);
    ck_assert_int_eq(checks_github.log(&kit_call, KIT_URL, &status, &into, &kit_err), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_job_is_run_again)
{
    KIT_OPEN(
        {.request = "POST " P "/actions/jobs/41/rerun HTTP", .status = "201 Created", .body = "{}"},
        {.request = "POST " P "/actions/jobs/41/rerun HTTP",
         .status = "403 Forbidden",
         .body = "{\"message\":\"The workflow run containing this job is already running\"}"},
        {.request = "POST " P "/check-runs/42/rerequest HTTP",
         .status = "201 Created",
         .body = "{}"},
        {.request = "POST " P "/actions/jobs/41/rerun HTTP",
         .status = "403 Forbidden",
         .body = "{\"message\":\"Must have admin rights to Repository.\"}"});
    ck_assert_int_eq(checks_github.rerun(&kit_call, KIT_URL, &job, &kit_err), RC_OK);
    ck_assert_int_eq(checks_github.rerun(&kit_call, KIT_URL, &job, &kit_err), RC_OK);
    ck_assert_int_eq(checks_github.rerun(&kit_call, KIT_URL, &other, &kit_err), RC_OK);
    ck_assert_int_eq(checks_github.rerun(&kit_call, KIT_URL, &job, &kit_err), RC_DENIED);
    ck_assert_ptr_nonnull(strstr(kit_err.text, "admin rights"));
    ck_assert_int_eq(checks_github.rerun(&kit_call, KIT_URL, &status, &kit_err), RC_CONFLICT);
}
END_TEST

static struct forge_check own = {.commit = KIT_HEAD,
                                 .name = "drover",
                                 .key = "run-1",
                                 .state = CHECK_PASSED,
                                 .title = "Verified",
                                 .summary = "All **good**",
                                 .url = "https://d/run-1"};
#define RUNS "GET " P "/commits/" KIT_HEAD "/check-runs?filter=all&per_page=100&check_name=drover "

START_TEST(drovers_check_run_is_made_and_then_changed)
{
    KIT_OPEN(
        {.request = RUNS,
         .body = "{\"total_count\":1,\"check_runs\":[{\"id\":1,\"external_id\":\"drover:x\"}]}"},
        {.request = "POST " P "/check-runs HTTP",
         .has = {"{\"name\":\"drover\",\"head_sha\":\"" KIT_HEAD "\",\"external_id\":"
                 "\"drover:run-1\",\"details_url\":\"https://d/run-1\",\"status\":"
                 "\"completed\",\"conclusion\":\"success\",\"output\":{\"title\":"
                 "\"Verified\",\"summary\":\"All **good**\"}}"},
         .status = "201 Created",
         .body = "{\"id\":9}"},
        {.request = RUNS, .body = "{\"check_runs\":[{\"id\":9,\"external_id\":\"drover:run-1\"}]}"},
        {.request = "PATCH " P "/check-runs/9 HTTP",
         .has = {"\"status\":\"in_progress\",\"output\""},
         .lacks = "conclusion",
         .body = "{\"id\":9}"});
    own.state = CHECK_PASSED;
    ck_assert_msg(checks_github.put(&kit_call, KIT_URL, &own, &kit_err) == RC_OK, "%s",
                  kit_err.text);
    own.state = CHECK_PENDING;
    ck_assert_int_eq(checks_github.put(&kit_call, KIT_URL, &own, &kit_err), RC_OK);
}
END_TEST

#define STATUSES "GET " P "/commits/" KIT_HEAD "/status?per_page=100 HTTP"

START_TEST(a_person_sets_a_status_instead)
{
    KIT_OPEN({.request = STATUSES, .body = "{\"statuses\":[]}"},
             {.request = "POST " P "/statuses/" KIT_HEAD " HTTP",
              .has = {"{\"state\":\"failure\",\"context\":\"drover\",\"description\":\"Verified\","
                      "\"target_url\":\"https://d/run-1\"}"},
              .status = "201 Created",
              .body = "{\"id\":1}"},
             {.request = STATUSES,
              .body = "{\"statuses\":[{\"context\":\"drover\",\"state\":\"failure\","
                      "\"description\":\"Verified\"}]}"},
             /* A token that does not show what it is. */
             {.request = RUNS, .body = "{\"check_runs\":[]}"},
             {.request = "POST " P "/check-runs HTTP",
              .status = "403 Forbidden",
              .body = "{\"message\":\"You must authenticate via a GitHub App.\"}"},
             {.request = STATUSES, .body = "{\"statuses\":[]}"},
             {.request = "POST " P "/statuses/" KIT_HEAD " HTTP",
              .has = {"\"state\":\"error\""},
              .status = "201 Created",
              .body = "{\"id\":1}"});
    own.state = CHECK_FAILED;
    kit_call.git.credential = "ghp_x";
    ck_assert_int_eq(checks_github.put(&kit_call, KIT_URL, &own, &kit_err), RC_OK);
    ck_assert_int_eq(checks_github.put(&kit_call, KIT_URL, &own, &kit_err), RC_OK);
    forge_call_release(&kit_call);
    kit_call.git.credential = "0123456789abcdef";
    own.state = CHECK_CANCELLED;
    ck_assert_int_eq(checks_github.put(&kit_call, KIT_URL, &own, &kit_err), RC_OK);
}
END_TEST

/* ---- issues ---- */

#define ISSUE(number, state, more)                                                              \
    "{\"id\":1,\"number\":" number                                                              \
    ",\"title\":\"It breaks\",\"body\":\"When \\u00e4\",\"state\":\"" state                     \
    "\",\"user\":{\"login\":\"ann\"},\"author_association\":\"MEMBER\",\"labels\":[{\"name\":"  \
    "\"bug\"},\"plain\"],\"assignees\":[{\"login\":\"drover\"}],\"comments\":2,\"created_at\":" \
    "\"2023-11-14T22:13:20Z\",\"updated_at\":\"2023-11-14T22:13:30Z\"" more "}"
#define SAID(id, text)                                                                           \
    "{\"id\":" id ",\"user\":{\"login\":\"bob\"},\"body\":\"" text                               \
    "\",\"author_association\":\"NONE\",\"created_at\":\"2023-11-14T22:13:21Z\",\"updated_at\":" \
    "\"2023-11-14T22:13:22Z\"}"

START_TEST(an_issue_comes_with_its_comments)
{
    KIT_OPEN(
        {.request = "GET " P "/issues/3 HTTP", .body = ISSUE("3", "open", "")},
        {.request = "GET " P "/issues/3/comments?per_page=100 HTTP",
         .headers = "Link: <{base}" P "/issues/3/comments?page=2>; rel=\"next\"\r\n",
         .body = "[" SAID("11", "one") "]"},
        {.request = "GET " P "/issues/3/comments?page=2 HTTP", .body = "[" SAID("12", "two") "]"});
    struct issue issue;
    ck_assert_msg(issues_github.get(&issues_github, &kit_call, KIT_URL, 3, &kit_arena, &issue,
                                    &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_str_eq(issue.title, "It breaks");
    ck_assert_str_eq(issue.body, "When \xc3\xa4");
    ck_assert_str_eq(issue.state, "open");
    ck_assert_str_eq(issue.association, "MEMBER");
    ck_assert(str_is(issue.labels, "[\"bug\",\"plain\"]"));
    ck_assert(str_is(issue.assignees, "[\"drover\"]"));
    ck_assert_int_eq(issue.comment_count, 2);
    ck_assert_int_eq(issue.comments[1].id, 12);
    ck_assert_str_eq(issue.comments[1].body, "two");
    ck_assert_str_eq(issue.comments[1].association, "NONE");
    ck_assert_int_eq(issue.comments[1].updated_us - issue.comments[1].created_us, US_PER_SECOND);
}
END_TEST

/* Comments with the ids 1 to count. */
static const char *many_comments(int count)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 512 * 1024);
    for (int i = 1; i <= count; i++)
        buf_addf(&text, "%s{\"id\":%d,\"user\":{\"login\":\"eve\"},\"body\":\"x\"}",
                 i == 1 ? "[" : ",", i);
    buf_adds(&text, "]");
    return arena_strdup(&kit_arena, buf_text(&text));
}

START_TEST(of_many_comments_the_newest_are_read)
{
    KIT_OPEN({.request = "GET " P "/issues/3 HTTP",
              .body = "{\"number\":3,\"title\":\"t\",\"comments\":1234}"},
             {.request = "GET " P "/issues/3/comments?per_page=100&page=8 HTTP",
              .body = many_comments(ISSUE_COMMENTS_MAX + 7)});
    struct issue issue;
    ck_assert_msg(issues_github.get(&issues_github, &kit_call, KIT_URL, 3, &kit_arena, &issue,
                                    &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_int_eq(issue.comment_count, ISSUE_COMMENTS_MAX);
    ck_assert_int_eq(issue.comments[0].id, 8);
    ck_assert_int_eq(issue.comments[ISSUE_COMMENTS_MAX - 1].id, ISSUE_COMMENTS_MAX + 7);
}
END_TEST

static const struct script_step not_issues[] = {
    {.status = "404 Not Found", .body = "{\"message\":\"Not Found\"}"},
    {.status = "410 Gone", .body = "{\"message\":\"This issue was deleted\"}"},
    {.body = ISSUE("3", "open", ",\"pull_request\":{\"url\":\"x\"}")},
    {.body = ISSUE("8", "open", "")}, /* Moved to another repository. */
};

START_TEST(what_is_no_issue_is_not_found)
{
    struct script_step step = not_issues[_i];
    step.request = "GET " P "/issues/3 HTTP";
    KIT_OPEN(step);
    struct issue issue;
    ck_assert_int_eq(
        issues_github.get(&issues_github, &kit_call, KIT_URL, 3, &kit_arena, &issue, &kit_err),
        RC_NOT_FOUND);
    ck_assert_str_eq(kit_err.code, "ISSUE_NOT_FOUND");
}
END_TEST

START_TEST(issues_are_listed_without_pull_requests)
{
    KIT_OPEN(
        {.request = "GET " P "/issues?state=open&sort=created&direction=desc&per_page=100 HTTP",
         .body =
             "[" ISSUE("9", "open", "") "," ISSUE("8", "open", ",\"pull_request\":{}") "," ISSUE(
                 "7", "open", "") "," ISSUE("6", "open", "") "," ISSUE("5", "open", "") "]"});
    struct issue *issues = NULL;
    size_t count = 0;
    const struct issue_filter filter = {.state = "open", .before = 9, .limit = 2};
    ck_assert_int_eq(issues_github.list(&issues_github, &kit_call, KIT_URL, &filter, &kit_arena,
                                        &issues, &count, &kit_err),
                     RC_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(issues[0].number, 7);
    ck_assert_int_eq(issues[1].number, 6);
    ck_assert_str_eq(issues[0].body, "");
    ck_assert_ptr_null(issues[0].comments);
}
END_TEST

START_TEST(issues_are_opened_commented_and_closed)
{
    KIT_OPEN({.request = "POST " P "/issues HTTP",
              .has = {"{\"title\":\"T\",\"body\":\"B\",\"labels\":[\"bug\"]}"},
              .status = "201 Created",
              .body = ISSUE("3", "open", "")},
             {.request = "GET " P "/issues/3 HTTP", .body = ISSUE("3", "open", "")},
             {.request = "GET " P "/issues/3/comments", .body = "[]"},
             {.request = "POST " P "/issues/3/comments HTTP",
              .has = {"{\"body\":\"Said\"}"},
              .status = "201 Created",
              .body = SAID("13", "Said")},
             {.request = "GET " P "/issues/3 HTTP", .body = ISSUE("3", "open", "")},
             {.request = "GET " P "/issues/3/comments", .body = "[]"},
             {.request = "PATCH " P "/issues/3 HTTP",
              .has = {"{\"state\":\"closed\"}"},
              .body = ISSUE("3", "closed", "")},
             {.request = "GET " P "/issues/3 HTTP", .body = ISSUE("3", "closed", "")},
             {.request = "GET " P "/issues/3/comments", .body = "[]"});
    struct issue issue;
    const struct issue_words opening = {.title = "T", .body = "B", .labels = STR("[\"bug\"]")};
    const struct issue_words saying = {.body = "Said"};
    const struct issue_words closing = {.state = "closed"};
    ck_assert_int_eq(issues_github.open(&issues_github, &kit_call, KIT_URL, &opening, &kit_arena,
                                        &issue, &kit_err),
                     RC_OK);
    ck_assert_int_eq(issue.number, 3);
    ck_assert_int_eq(issues_github.change(&issues_github, &kit_call, KIT_URL, 3, &saying,
                                          &kit_arena, &issue, &kit_err),
                     RC_OK);
    ck_assert_int_eq(issue.comments[0].id, 13);
    ck_assert_int_eq(issues_github.change(&issues_github, &kit_call, KIT_URL, 3, &closing,
                                          &kit_arena, &issue, &kit_err),
                     RC_OK);
    ck_assert_str_eq(issue.state, "closed");
    ck_assert_int_eq(issues_github.change(&issues_github, &kit_call, KIT_URL, 3, &closing,
                                          &kit_arena, &issue, &kit_err),
                     RC_CONFLICT);
    ck_assert_str_eq(kit_err.code, "ISSUE_CLOSED");
}
END_TEST

#define BLOCKER(number, state, repo)            \
    "{\"number\":" number ",\"state\":\"" state \
    "\",\"repository_url\":\"https://github.example/api/v3/repos/" repo "\"}"

START_TEST(an_issue_waits_for_open_ones_of_its_repository)
{
    KIT_OPEN({.request = "GET " P "/issues/3/dependencies/blocked_by?per_page=100 HTTP",
              .body = "[" BLOCKER("1", "open", "acme/billing") "," BLOCKER(
                  "2", "closed",
                  "acme/billing") "," BLOCKER("4", "open",
                                              "acme/other") "," BLOCKER("5", "open",
                                                                        "Acme/Billing") "]"},
             {.request = "GET " P "/issues/3/dependencies/blocked_by?per_page=100 HTTP",
              .status = "404 Not Found",
              .body = "{\"message\":\"Not Found\"}"});
    int64_t *numbers = NULL;
    size_t count = 0;
    ck_assert_msg(issues_github.blocked_by(&issues_github, &kit_call, KIT_URL, 3, &kit_arena,
                                           &numbers, &count, &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(numbers[0], 1);
    ck_assert_int_eq(numbers[1], 5);
    ck_assert_int_eq(issues_github.blocked_by(&issues_github, &kit_call, KIT_URL, 3, &kit_arena,
                                              &numbers, &count, &kit_err),
                     RC_OK);
    ck_assert_uint_eq(count, 0);
}
END_TEST

/* ---- people ---- */

START_TEST(acts_name_who_has_done_them)
{
    KIT_OPEN(
        {.request = "GET " P "/issues/3/events?per_page=100 HTTP",
         .body = "[{\"event\":\"labeled\",\"actor\":{\"login\":\"ann\"},\"label\":{\"name\":"
                 "\"drover\"},\"created_at\":\"2023-11-14T22:13:20Z\"},"
                 "{\"event\":\"renamed\",\"actor\":{\"login\":\"ann\"}},"
                 "{\"event\":\"assigned\",\"actor\":{\"login\":\"bot\"},\"assigner\":{\"login\":"
                 "\"ada\"},\"assignee\":{\"login\":\"bot\"},\"created_at\":"
                 "\"2023-11-14T22:13:21Z\"},"
                 "{\"event\":\"labeled\",\"actor\":null,\"label\":{\"name\":\"x\"}}]"});
    struct forge_act *acts = NULL;
    size_t count = 0;
    ck_assert_msg(people_github.acts(&kit_call, KIT_URL, 3, &kit_arena, &acts, &count, &kit_err) ==
                      RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 3);
    ck_assert(!acts[0].assigned && acts[1].assigned);
    ck_assert_str_eq(acts[0].what, "drover");
    ck_assert_str_eq(acts[0].actor, "ann");
    ck_assert_int_eq(acts[0].at_us, 1700000000 * US_PER_SECOND);
    ck_assert_str_eq(acts[1].what, "bot");
    ck_assert_str_eq(acts[1].actor, "ada");
    ck_assert_str_eq(acts[2].actor, "ghost");
}
END_TEST

static const struct {
    const char *status, *body, *association;
} rights[] = {
    {"200 OK", "{\"permission\":\"admin\"}", "OWNER"},
    {"200 OK", "{\"permission\":\"write\"}", "COLLABORATOR"},
    {"200 OK", "{\"permission\":\"read\"}", "NONE"},
    {"200 OK", "{\"permission\":\"none\"}", "NONE"},
    {"200 OK", "{\"permission\":\"read\",\"role_name\":\"triage\"}", "CONTRIBUTOR"},
    {"404 Not Found", "{\"message\":\"not a user\"}", "NONE"},
};

START_TEST(rights_give_a_standing)
{
    KIT_OPEN({.request = "GET " P "/collaborators/eve%5Bbot%5D/permission HTTP",
              .status = rights[_i].status,
              .body = rights[_i].body});
    const char *association = NULL;
    ck_assert_int_eq(
        people_github.standing(&kit_call, KIT_URL, "eve[bot]", &kit_arena, &association, &kit_err),
        RC_OK);
    ck_assert_str_eq(association, rights[_i].association);
}
END_TEST

START_TEST(a_team_has_the_members_that_may_be_seen)
{
    static const char path[] = "GET /api/v3/orgs/acme/teams/core/memberships/ann HTTP";
    KIT_OPEN({.request = path, .body = "{\"state\":\"active\",\"role\":\"member\"}"},
             {.request = path, .body = "{\"state\":\"pending\",\"role\":\"member\"}"},
             {.request = path, .status = "404 Not Found", .body = "{}"},
             {.request = path, .status = "403 Forbidden", .body = "{\"message\":\"no\"}"},
             {.request = path, .status = "503 Unavailable", .body = "{}"});
    static const struct {
        enum rc rc;
        bool in;
    } want[] = {{RC_OK, true},
                {RC_OK, false}, /* Invited. */
                {RC_OK, false}, /* Not in it. */
                {RC_OK, false}, /* It may not be seen. */
                {RC_UNREACHABLE, false}};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        bool in = false;
        ck_assert_int_eq(people_github.in_team(&kit_call, KIT_URL, "core", "ann", &in, &kit_err),
                         want[i].rc);
        ck_assert_int_eq(in, want[i].in);
    }
}
END_TEST

Suite *github_work_suite(void)
{
    Suite *suite = suite_create("github_work");
    TCase *tc = tcase_create("github_work");
    tcase_add_checked_fixture(tc, NULL, github_kit_close);
    tcase_add_test(tc, checks_are_runs_and_statuses);
    tcase_add_test(tc, a_job_has_a_log);
    tcase_add_test(tc, a_job_is_run_again);
    tcase_add_test(tc, drovers_check_run_is_made_and_then_changed);
    tcase_add_test(tc, a_person_sets_a_status_instead);
    tcase_add_test(tc, an_issue_comes_with_its_comments);
    tcase_add_test(tc, of_many_comments_the_newest_are_read);
    tcase_add_loop_test(tc, what_is_no_issue_is_not_found, 0, (int)COUNT_OF(not_issues));
    tcase_add_test(tc, issues_are_listed_without_pull_requests);
    tcase_add_test(tc, issues_are_opened_commented_and_closed);
    tcase_add_test(tc, an_issue_waits_for_open_ones_of_its_repository);
    tcase_add_test(tc, acts_name_who_has_done_them);
    tcase_add_loop_test(tc, rights_give_a_standing, 0, (int)COUNT_OF(rights));
    tcase_add_test(tc, a_team_has_the_members_that_may_be_seen);
    suite_add_tcase(suite, tc);
    return suite;
}
