/*
 * test_gitea.c - Gitea and Forgejo behind the port: what is asked, what the answers mean, and that
 * nothing is done twice.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "forge/gitea/api.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/forge.h"
#include "forge/port/issues.h"
#include "forge/port/prs.h"
#include "tests/unit/host_kit.h"
#include "tests/unit/suites.h"
#include <string.h>

#define API "/api/v1"
#define R   API "/repos/acme/billing"
static const struct pr_ref ref = {.url = HOST_URL, .number = 5};

#define PULL(more)                                                                               \
    "{'number':5,'html_url':'https://forge.example/acme/billing/pulls/5','title':'Fix',"         \
    "'state':'open','merged':false,'draft':false,'user':{'login':'bot'},'merge_base':'" HOST_OLD \
    "','head':{'label':'drover/x','ref':'drover/x','sha':'" HOST_HEAD "','repo_id':7},"          \
    "'base':{'label':'main','ref':'main','sha':'" HOST_BASE "','repo_id':7},"                    \
    "'labels':[{'id':1,'name':'bug'}],'updated_at':'2023-11-14T22:13:20Z'" more "}"
#define USER                                                                \
    {                                                                       \
        .request = "GET " API "/user ", .body = Q("{'id':3,'login':'bot'}") \
    }
#define REVIEWS(list)                                                     \
    {                                                                     \
        .request = "GET " R "/pulls/5/reviews?limit=50 ", .body = Q(list) \
    }

/* ---- addresses ---- */

START_TEST(a_repository_is_found_by_its_address)
{
    static const struct {
        const char *url, *api, *want_api, *path, *web;
    } rows[] = {
        {"https://codeberg.org/a/b.git", NULL, "https://codeberg.org/api/v1", "a/b",
         "https://codeberg.org/a/b"},
        {"git@host:a/b", NULL, "https://host/api/v1", "a/b", "https://host/a/b"},
        {"https://host/git/a/b", "https://host/git/api/v1", "https://host/git/api/v1", "a/b",
         "https://host/git/a/b"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct forge_call with_api = {.api = rows[i].api};
        struct host_repo repo;
        OK(gitea_place(&with_api, rows[i].url, &host_arena, &repo, &host_err));
        ck_assert_str_eq(repo.api, rows[i].want_api);
        ck_assert_str_eq(repo.path, rows[i].path);
        ck_assert_str_eq(repo.web, rows[i].web);
    }
    struct host_repo repo;
    ck_assert_int_eq(gitea_place(&host_call, "https://host/a", &host_arena, &repo, &host_err),
                     RC_INVALID);
}
END_TEST

/* ---- the view ---- */

START_TEST(a_view_has_checks_reviews_and_threads)
{
    struct pr_view view;
    HOST_SCRIPT(
        API,
        {.request = "GET " R "/pulls/5 ",
         .has = {"Authorization: token s3cret-token\r\n"},
         .body = Q(PULL(",'mergeable':true"))},
        REVIEWS("[{'id':1,'state':'APPROVED','user':{'login':'ann'},'commit_id':'" HOST_OLD "'},"
                "{'id':2,'state':'REQUEST_REVIEW','user':{'login':'eve'}},"
                "{'id':3,'state':'REQUEST_CHANGES','user':{'login':'rob'},'body':'no',"
                "'commit_id':'" HOST_HEAD "','comments_count':2},"
                "{'id':4,'state':'APPROVED','dismissed':true,'user':{'login':'zoe'}},"
                "{'id':6,'state':'COMMENT','user':{'login':'bot'},'comments_count':1}]"),
        {.request = "GET " R "/pulls/5/reviews/3/comments ",
         .body = Q("[{'id':11,'path':'a.c','position':3,'body':'why?','user':{'login':'rob'},"
                   "'created_at':'2023-11-14T22:00:00Z'},"
                   "{'id':12,'path':'b.c','original_position':9,'position':0,'body':'gone?',"
                   "'resolver':{'login':'ann'},'user':{'login':'rob'}}]")},
        {.request = "GET " R "/pulls/5/reviews/6/comments ",
         .body = Q("[{'id':10,'path':'a.c','position':3,'body':'first','user':{'login':'bot'},"
                   "'created_at':'2023-11-14T21:00:00Z'}]")},
        {.request = "GET " R "/assignees ", .body = Q("[{'login':'ann'},{'login':'bot'}]")},
        {.request = "GET " R "/commits/" HOST_HEAD "/status?limit=50 ",
         .body = Q("{'statuses':[{'id':1,'context':'ci / unit (push)','status':'failure',"
                   "'target_url':'/acme/billing/actions/runs/30/jobs/40'},"
                   "{'id':2,'context':'drover','status':'success'},"
                   "{'id':3,'context':'lint','status':'warning','target_url':'https://ci/3'},"
                   "{'id':4,'context':'gone','status':'failure',"
                   "'description':'Has been cancelled'}]}")},
        {.request = "GET " R "/branches/main ",
         .body = Q("{'enable_status_check':true,'status_check_contexts':['ci / *','x']}")});
    OK(prs_gitea.view(&host_call, &ref, &host_arena, &view, &host_err));
    ck_assert_int_eq(view.mergeable, MERGE_CLEAN);
    ck_assert_str_eq(view.head_branch, "drover/x");
    ck_assert_str_eq(view.base, HOST_BASE);
    ck_assert_uint_eq(view.review_count, 3);
    ck_assert_str_eq(view.reviews[0].commit, HOST_OLD);
    ck_assert_str_eq(view.reviews[0].association, "MEMBER");
    ck_assert_str_eq(view.threads[0].comments[1].association, "NONE");
    ck_assert_int_eq(view.reviews[1].verdict, REVIEW_CHANGES_REQUESTED);
    ck_assert_uint_eq(view.thread_count, 2);
    ck_assert_str_eq(view.threads[0].id, "10"); /* The first comment, though it was listed last. */
    ck_assert_str_eq(view.threads[0].comments[0].body, "first");
    ck_assert_uint_eq(view.threads[0].comment_count, 2);
    ck_assert(!view.threads[0].resolved && view.threads[1].resolved);
    ck_assert_int_eq(view.threads[1].line, 9);
    ck_assert_uint_eq(view.check_count, 4);
    ck_assert(view.checks[0].job && view.checks[0].required);
    ck_assert_str_eq(view.checks[0].id, "30/40");
    ck_assert(view.checks[1].own && !view.checks[1].required);
    ck_assert_int_eq(view.checks[2].state, CHECK_PASSED);
    ck_assert_int_eq(view.checks[3].state, CHECK_CANCELLED);
}
END_TEST

/* What "mergeable": false means. */
static const struct {
    const char *more;
    enum pr_mergeable want;
} unmergeable[] = {
    {",'mergeable':false", MERGE_CONFLICT},
    {",'mergeable':false,'merge_base':'" HOST_BASE "'", MERGE_UNKNOWN},
    {",'mergeable':false,'draft':true", MERGE_BLOCKED},
};

START_TEST(a_pull_request_that_cannot_be_merged_conflicts_or_is_looked_at)
{
    struct pr_view view;
    const char *body = Q(arena_printf(&host_arena, "%.*s%s}", (int)strlen(PULL("")) - 1, PULL(""),
                                      unmergeable[_i].more));
    HOST_SCRIPT(API, {.request = "GET " R "/pulls/5 ", .body = body}, REVIEWS("[]"),
                {.request = "GET " R "/commits/", .body = "{\"statuses\": []}"},
                {.request = "GET " R "/branches/main ", .status = "404 Not Found", .body = "{}"});
    OK(prs_forgejo.view(&host_call, &ref, &host_arena, &view, &host_err));
    ck_assert_int_eq(view.mergeable, unmergeable[_i].want);
}
END_TEST

/* ---- acts ---- */

static const struct forge_comment comment = {.key = "run-1", .body = "Done."};
#define MARK "\\n\\n<!-- drover:run-1 -->"

START_TEST(a_comment_is_made_once_and_then_edited)
{
    HOST_SCRIPT(API, USER, {.request = "GET " R "/issues/5/comments ", .body = "[]"},
                {.request = "POST " R "/issues/5/comments ",
                 .has = {"{\"body\":\"Done." MARK "\"}"},
                 .status = "201 Created",
                 .body = "{}"},
                USER,
                {.request = "GET " R "/issues/5/comments ",
                 .body = Q("[{'id':1,'body':'x" MARK "','user':{'login':'eve'}},"
                           "{'id':2,'body':'x" MARK "','user':{'login':'bot'}}]")},
                {.request = "PATCH " R "/issues/comments/2 ", .body = "{}"});
    OK(prs_gitea.comment(&host_call, &ref, &comment, &host_err));
    OK(prs_gitea.comment(&host_call, &ref, &comment, &host_err));
}
END_TEST

START_TEST(a_token_that_may_not_ask_who_it_is_finds_its_comment)
{
    HOST_SCRIPT(API, {.request = "GET " API "/user ", .status = "403 Forbidden", .body = "{}"},
                {.request = "GET " R "/issues/5/comments ",
                 .body = Q("[{'id':2,'body':'x" MARK "','user':{'login':'bot'}}]")},
                {.request = "PATCH " R "/issues/comments/2 ", .body = "{}"});
    OK(prs_gitea.comment(&host_call, &ref, &comment, &host_err));
}
END_TEST

START_TEST(labels_that_are_not_there_are_made)
{
    static const char *const labels[] = {"old", "new", NULL};
    HOST_SCRIPT(API,
                {.request = "POST " R "/issues/5/labels ",
                 .has = {"{\"labels\":[\"old\",\"new\"]}"},
                 .body = Q("[{'id':1,'name':'old'}]")},
                {.request = "POST " R "/labels ", .has = {"\"name\":\"new\""}, .body = "{}"},
                {.request = "POST " R "/issues/5/labels ", .body = "[]"});
    OK(prs_gitea.label(&host_call, &ref, labels, &host_err));
}
END_TEST

START_TEST(people_and_teams_are_asked_for_a_review)
{
    static const char *const reviewers[] = {"ann", "team/core", NULL};
    HOST_SCRIPT(API, {.request = "POST " R "/pulls/5/requested_reviewers ",
                      .has = {"{\"reviewers\":[\"ann\"],\"team_reviewers\":[\"core\"]}"},
                      .body = "[]"});
    OK(prs_gitea.request_review(&host_call, &ref, reviewers, &host_err));
}
END_TEST

START_TEST(a_draft_is_made_ready_once)
{
    HOST_SCRIPT(API, {.request = "GET " R "/pulls/5 ", .body = Q("{'title':'WIP: [wip] Fix'}")},
                {.request = "PATCH " R "/pulls/5 ", .has = {"{\"title\":\"Fix\"}"}, .body = "{}"},
                {.request = "GET " R "/pulls/5 ", .body = Q("{'title':'Fix'}")});
    OK(prs_gitea.mark_ready(&host_call, &ref, &host_err));
    OK(prs_gitea.mark_ready(&host_call, &ref, &host_err));
}
END_TEST

#define ONE_THREAD                                                                     \
    USER, REVIEWS("[{'id':3,'state':'COMMENT','comments_count':1}]"),                  \
    {                                                                                  \
        .request = "GET " R "/pulls/5/reviews/3/comments ",                            \
        .body = Q("[{'id':11,'path':'a.c','position':3,'body':'why?','user':{'login':" \
                  "'rob'}}]")                                                          \
    }

START_TEST(gitea_answers_a_thread_and_resolves_it)
{
    HOST_SCRIPT(
        API, ONE_THREAD,
        {.request = "POST " R "/pulls/5/comments/11/replies ", .has = {"Done."}, .body = "{}"},
        {.request = "POST " R "/pulls/comments/11/resolve ", .status = "204 No Content"});
    OK(prs_gitea.thread_reply(&host_call, &ref, "11", &comment, &host_err));
    OK(prs_gitea.thread_resolve(&host_call, &ref, "11", &host_err));
}
END_TEST

START_TEST(forgejo_answers_a_thread_by_a_review_of_the_same_line)
{
    HOST_SCRIPT(API, ONE_THREAD,
                {.request = "POST " R "/pulls/5/reviews ",
                 .has = {"\"path\":\"a.c\"", "\"new_position\":3", "\"event\":\"COMMENT\""},
                 .body = "{}"},
                USER, REVIEWS("[{'id':3,'state':'COMMENT','comments_count':2}]"),
                {.request = "GET " R "/pulls/5/reviews/3/comments ",
                 .body = Q("[{'id':11,'path':'a.c','position':3,'body':'why?'},"
                           "{'id':12,'path':'a.c','position':3,'body':'x" MARK
                           "','user':{'login':'bot'}}]")},
                {.request = "PATCH " R "/issues/comments/12 ", .body = "{}"}, ONE_THREAD);
    OK(prs_forgejo.thread_reply(&host_call, &ref, "11", &comment, &host_err));
    OK(prs_forgejo.thread_reply(&host_call, &ref, "11", &comment, &host_err));
    ck_assert_int_eq(prs_forgejo.thread_reply(&host_call, &ref, "99", &comment, &host_err),
                     RC_NOT_FOUND);
}
END_TEST

START_TEST(an_approval_is_for_one_head_and_given_once)
{
    const struct pr_review_words words = {
        .key = "run-1", .commit = HOST_HEAD, .body = "Fine.", .approve = true};
    HOST_SCRIPT(
        API, USER, REVIEWS("[]"),
        {.request = "POST " R "/pulls/5/reviews ",
         .has = {"\"event\":\"APPROVED\"", "\"commit_id\":\"" HOST_HEAD},
         .body = "{}"},
        USER,
        REVIEWS("[{'id':3,'state':'APPROVED','user':{'login':'bot'},'body':'Fine." MARK "'}]"));
    OK(prs_gitea.review(&host_call, &ref, &words, &host_err));
    OK(prs_gitea.review(&host_call, &ref, &words, &host_err));
}
END_TEST

/* ---- what changed ---- */

START_TEST(a_list_that_did_not_change_says_so)
{
    struct changed_query query = {.url = HOST_URL, .since_us = 1700000000 * US_PER_SECOND};
    struct changed_answer answer;
    const char *list = Q("[{'number':9,'updated_at':'2023-11-14T22:15:00Z','pull_request':{}},"
                         "{'number':3,'updated_at':'2023-11-14T22:14:00Z','pull_request':null}]");
    HOST_SCRIPT(API,
                {.request = "GET " R "/issues?state=all&limit=50&since=2023-11-14T22:13:20Z ",
                 .body = list},
                {.request = "GET " R "/issues?", .body = list},
                {.request = "GET " R "/issues?", .body = "[]"});
    OK(prs_gitea.changed(&host_call, &query, &host_arena, &answer, &host_err));
    ck_assert_uint_eq(answer.count, 2);
    ck_assert(!answer.same && !answer.more);
    ck_assert(answer.items[0].number == 3 && !answer.items[0].is_pr && answer.items[1].is_pr);
    query.etag = answer.etag;
    OK(prs_gitea.changed(&host_call, &query, &host_arena, &answer, &host_err));
    ck_assert(answer.same);
    OK(prs_gitea.changed(&host_call, &query, &host_arena, &answer, &host_err));
    ck_assert(!answer.same && answer.count == 0);
}
END_TEST

/* ---- checks ---- */

static const struct check_view job = {.id = "30/40", .name = "ci / unit (push)", .job = true};

START_TEST(a_job_has_a_log_and_is_run_again_once)
{
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 1000);
#define JOB(status)                           \
    {.request = "GET " R "/actions/jobs/40 ", \
     .body = Q("{'id':40,'run_id':30,'name':'unit','status':'" status "'}")}
    HOST_SCRIPT(API, JOB("completed"),
                {.request = "GET " R "/actions/jobs/40/logs ",
                 .headers = "Content-Type: text/plain\r\n",
                 .body = "red"},
                JOB("completed"),
                {.request = "POST " R "/actions/runs/30/jobs/40/rerun ",
                 .status = "201 Created",
                 .body = "{}"},
                JOB("queued"));
    OK(checks_gitea.log(&host_call, HOST_URL, &job, &log, &host_err));
    ck_assert_str_eq(buf_text(&log), "red");
    OK(checks_gitea.rerun(&host_call, HOST_URL, &job, &host_err));
    OK(checks_gitea.rerun(&host_call, HOST_URL, &job, &host_err));
}
END_TEST

START_TEST(a_number_that_leads_to_another_job_is_not_used)
{
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 1000);
    HOST_SCRIPT(
        API,
        {.request = "GET " R "/actions/jobs/40 ", .body = Q("{'id':40,'run_id':2,'name':'unit'}")},
        {.request = "GET " R "/actions/jobs/40 ",
         .body = Q("{'id':40,'run_id':30,'name':'deploy'}")});
    ck_assert_int_eq(checks_gitea.log(&host_call, HOST_URL, &job, &log, &host_err), RC_NOT_FOUND);
    ck_assert_int_eq(checks_gitea.rerun(&host_call, HOST_URL, &job, &host_err), RC_NOT_FOUND);
}
END_TEST

START_TEST(a_status_is_put_unless_it_is_there)
{
    const struct forge_check check = {.commit = HOST_HEAD,
                                      .name = "drover",
                                      .key = "r",
                                      .state = CHECK_FAILED,
                                      .title = "Not verified",
                                      .summary = ""};
    HOST_SCRIPT(API,
                {.request = "GET " R "/commits/" HOST_HEAD "/status?",
                 .body = Q("{'statuses':[{'id':1,'context':'drover','status':'pending'}]}")},
                {.request = "POST " R "/statuses/" HOST_HEAD " ",
                 .has = {"\"state\":\"failure\"", "\"context\":\"drover\""},
                 .body = "{}"},
                {.request = "GET " R "/commits/" HOST_HEAD "/status?",
                 .body = Q("{'statuses':[{'id':2,'context':'drover','status':'failure',"
                           "'description':'Not verified'}]}")});
    OK(checks_forgejo.put(&host_call, HOST_URL, &check, &host_err));
    OK(checks_forgejo.put(&host_call, HOST_URL, &check, &host_err));
}
END_TEST

/* ---- issues ---- */

START_TEST(an_issue_has_comments_and_says_who_may_write)
{
    struct issue issue;
    HOST_SCRIPT(API,
                {.request = "GET " R "/issues/4 ",
                 .body = Q("{'number':4,'title':'T','body':'B','state':'open',"
                           "'user':{'login':'Acme'},'labels':[{'name':'a'}],"
                           "'assignees':[{'login':'bot'}],'pull_request':null}")},
                {.request = "GET " R "/issues/4/comments ",
                 .body = Q("[{'id':7,'body':'x','user':{'login':'ann'}},"
                           "{'id':8,'body':'y','user':{'login':'eve'}}]")},
                {.request = "GET " R "/assignees ", .body = Q("[{'login':'Ann'}]")});
    OK(issues_gitea.get(&issues_gitea, &host_call, HOST_URL, 4, &host_arena, &issue, &host_err));
    ck_assert_str_eq(issue.association, "OWNER");
    ck_assert_str_eq(issue.comments[0].association, "MEMBER");
    ck_assert_str_eq(issue.comments[1].association, "NONE");
    ck_assert(str_is(issue.labels, "[\"a\"]") && str_is(issue.assignees, "[\"bot\"]"));
}
END_TEST

START_TEST(a_pull_request_is_no_issue)
{
    struct issue issue;
    HOST_SCRIPT(API, {.request = "GET " R "/issues/4 ",
                      .body = Q("{'number':4,'title':'T','pull_request':{'merged':false}}")});
    ck_assert_int_eq(
        issues_gitea.get(&issues_gitea, &host_call, HOST_URL, 4, &host_arena, &issue, &host_err),
        RC_NOT_FOUND);
}
END_TEST

START_TEST(what_blocks_an_issue_is_open_and_of_the_same_repository)
{
    int64_t *numbers = NULL;
    size_t count = 0;
    HOST_SCRIPT(API,
                {.request = "GET " R "/issues/4/dependencies?",
                 .body = Q("[{'number':1,'state':'open','repository':{'full_name':'Acme/billing'}},"
                           "{'number':2,'state':'closed','repository':{'full_name':'acme/billing'}}"
                           ",{'number':3,'state':'open','repository':{'full_name':'a/b'}}]")});
    OK(issues_gitea.blocked_by(&issues_gitea, &host_call, HOST_URL, 4, &host_arena, &numbers,
                               &count, &host_err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(numbers[0], 1);
}
END_TEST

/* ---- webhooks ---- */

START_TEST(a_delivery_is_signed_with_hmac)
{
    char signature[SHA256_TEXT_BYTES];
    const struct delivery_ops *ops = &deliveries_gitea;
    hmac_sha256_hex((struct hmac_key){"s3cret", 6}, "body", 4, signature);
    ck_assert(ops->signed_with("s3cret", signature, STR("body")));
    ck_assert(!ops->signed_with("other", signature, STR("body")));
    ck_assert(!ops->signed_with("s3cret", signature, STR("Body")));
    ck_assert(!ops->signed_with("", signature, STR("body")));
    ck_assert(!ops->signed_with("s3cret", NULL, STR("body")));
}
END_TEST

Suite *gitea_suite(void)
{
    Suite *suite = suite_create("gitea");
    TCase *tc = tcase_create("gitea");
    tcase_add_checked_fixture(tc, host_kit_setup, host_kit_teardown);
    tcase_add_test(tc, a_repository_is_found_by_its_address);
    tcase_add_test(tc, a_view_has_checks_reviews_and_threads);
    tcase_add_loop_test(tc, a_pull_request_that_cannot_be_merged_conflicts_or_is_looked_at, 0,
                        (int)COUNT_OF(unmergeable));
    tcase_add_test(tc, a_comment_is_made_once_and_then_edited);
    tcase_add_test(tc, a_token_that_may_not_ask_who_it_is_finds_its_comment);
    tcase_add_test(tc, labels_that_are_not_there_are_made);
    tcase_add_test(tc, people_and_teams_are_asked_for_a_review);
    tcase_add_test(tc, a_draft_is_made_ready_once);
    tcase_add_test(tc, gitea_answers_a_thread_and_resolves_it);
    tcase_add_test(tc, forgejo_answers_a_thread_by_a_review_of_the_same_line);
    tcase_add_test(tc, an_approval_is_for_one_head_and_given_once);
    tcase_add_test(tc, a_list_that_did_not_change_says_so);
    tcase_add_test(tc, a_job_has_a_log_and_is_run_again_once);
    tcase_add_test(tc, a_number_that_leads_to_another_job_is_not_used);
    tcase_add_test(tc, a_status_is_put_unless_it_is_there);
    tcase_add_test(tc, an_issue_has_comments_and_says_who_may_write);
    tcase_add_test(tc, a_pull_request_is_no_issue);
    tcase_add_test(tc, what_blocks_an_issue_is_open_and_of_the_same_repository);
    tcase_add_test(tc, a_delivery_is_signed_with_hmac);
    suite_add_tcase(suite, tc);
    return suite;
}
