/*
 * test_gitlab.c - GitLab behind the port: what is asked, what its answers mean, and that nothing is
 * done twice.
 */
#include "base/clock.h"
#include "forge/gitlab/api.h"
#include "forge/port/checks.h"
#include "forge/port/deliveries.h"
#include "forge/port/forge.h"
#include "forge/port/issues.h"
#include "forge/port/prs.h"
#include "tests/unit/host_kit.h"
#include "tests/unit/suites.h"
#include <string.h>

#define API "/api/v4"
#define P   API "/projects/acme%2Fbilling"
#define M   P "/merge_requests/5"
static const struct pr_ref ref = {.url = HOST_URL, .number = 5};

#define MR(more)                                                                                \
    "{'iid':5,'web_url':'https://forge.example/acme/billing/-/merge_requests/5','title':'Fix'," \
    "'state':'opened','source_branch':'drover/x','target_branch':'main','draft':false,"         \
    "'sha':'" HOST_HEAD "','source_project_id':7,'target_project_id':7,'labels':['bug'],"       \
    "'author':{'id':3,'username':'bot'},'detailed_merge_status':'mergeable',"                   \
    "'updated_at':'2023-11-14T22:13:20.000Z','reviewers':[{'id':9,'username':'rob'}]" more "}"
#define USER                                                                   \
    {                                                                          \
        .request = "GET " API "/user ", .body = Q("{'id':3,'username':'bot'}") \
    }

/* ---- addresses ---- */

START_TEST(a_project_is_found_by_its_address)
{
    static const struct {
        const char *url, *api, *want_api, *path, *web;
    } rows[] = {
        {"https://gitlab.com/a/b/c.git", NULL, "https://gitlab.com/api/v4", "a%2Fb%2Fc",
         "https://gitlab.com/a/b/c"},
        {"https://me@gitlab.com:8443/a/b/", NULL, "https://gitlab.com:8443/api/v4", "a%2Fb",
         "https://gitlab.com:8443/a/b"},
        {"git@gitlab.com:a/b.git", NULL, "https://gitlab.com/api/v4", "a%2Fb",
         "https://gitlab.com/a/b"},
        {"ssh://git@gitlab.com:22/a/b", NULL, "https://gitlab.com/api/v4", "a%2Fb",
         "https://gitlab.com/a/b"},
        {"https://host/gitlab/a/b", "https://host/gitlab/api/v4/", "https://host/gitlab/api/v4",
         "a%2Fb", "https://host/gitlab/a/b"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct forge_call with_api = {.api = rows[i].api};
        struct host_repo repo;
        OK(gitlab_place(&with_api, rows[i].url, &host_arena, &repo, &host_err));
        ck_assert_str_eq(repo.api, rows[i].want_api);
        ck_assert_str_eq(repo.path, rows[i].path);
        ck_assert_str_eq(repo.web, rows[i].web);
    }
    static const char *const bad[] = {"/srv/git/x", "https://gitlab.com", "https://gitlab.com/a",
                                      "file:///x/y", ""};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct host_repo repo;
        ck_assert_int_eq(gitlab_place(&host_call, bad[i], &host_arena, &repo, &host_err),
                         RC_INVALID);
    }
}
END_TEST

START_TEST(a_title_is_freed_from_what_makes_a_draft)
{
    ck_assert_str_eq(gitlab_ready_title("Draft: Fix"), "Fix");
    ck_assert_str_eq(gitlab_ready_title("[DRAFT] draft:Fix"), "Fix");
    ck_assert_str_eq(gitlab_ready_title("(Draft) Drafty"), "Drafty");
    ck_assert_str_eq(gitlab_ready_title("Fix Draft: x"), "Fix Draft: x");
}
END_TEST

/* ---- the view ---- */

static void check_reviews(const struct pr_view *shown)
{
    const struct pr_view view = *shown;
    ck_assert_uint_eq(view.review_count, 3);
    for (size_t i = 0; i < view.review_count; i++) {
        const struct review_view *review = &view.reviews[i];
        bool old = text_same(review->author, "old");
        ck_assert_str_eq(review->commit, old ? HOST_OLD : HOST_HEAD);
        ck_assert_str_eq(review->association, text_same(review->author, "ann")   ? "MEMBER"
                                              : text_same(review->author, "rob") ? "CONTRIBUTOR"
                                                                                 : "NONE");
        ck_assert_int_eq(review->verdict, text_same(review->author, "rob")
                                              ? REVIEW_CHANGES_REQUESTED
                                              : REVIEW_APPROVED);
    }
}

static void check_threads_and_checks(const struct pr_view *shown)
{
    const struct pr_view view = *shown;
    ck_assert_uint_eq(view.thread_count, 1);
    ck_assert_str_eq(view.threads[0].path, "a.c");
    ck_assert_int_eq(view.threads[0].line, 3);
    ck_assert(view.threads[0].outdated && !view.threads[0].resolved);
    ck_assert_uint_eq(view.threads[0].comment_count, 2);
    ck_assert_uint_eq(view.check_count, 5); /* Not the job of the superseded pipeline. */
    ck_assert(view.checks[0].job && view.checks[0].state == CHECK_FAILED);
    ck_assert_int_eq(view.checks[1].state, CHECK_PASSED);
    ck_assert(!view.checks[1].required);
    ck_assert_int_eq(view.checks[2].state, CHECK_TIMED_OUT);
    ck_assert(view.checks[3].own && !view.checks[3].job);
    ck_assert_int_eq(view.checks[4].state, CHECK_PENDING);
}

START_TEST(a_view_has_checks_reviews_and_threads)
{
    struct pr_view view;
    HOST_SCRIPT(
        API,
        {.request = "GET " M " ",
         .has = {"Authorization: Bearer s3cret-token\r\n"},
         .body = Q(MR(",'merge_when_pipeline_succeeds':true"))},
        {.request = "GET " P "/repository/branches/main ",
         .body = Q("{'commit':{'id':'" HOST_BASE "'}}")},
        {.request = "GET " P "/merge_trains/merge_requests/5 ",
         .status = "403 Forbidden",
         .body = "{}"},
        {.request = "GET " M "/approvals ",
         .body = Q("{'approved_by':[{'user':{'id':1,'username':'ann'},"
                   "'approved_at':'2023-11-14T22:00:00Z'},{'user':{'id':2,'username':'old'}}]}")},
        {.request = "GET " M "/reviewers?",
         .body = Q("[{'user':{'id':9,'username':'rob'},'state':'requested_changes'},"
                   "{'user':{'username':'eve'},'state':'unreviewed'}]")},
        {.request = "GET " M "/discussions?",
         .body = Q("[{'id':'d0','notes':[{'id':1,'system':true,'body':"
                   "'approved this merge request','author':{'username':'old'},"
                   "'created_at':'2023-11-14T20:30:00Z'}]},"
                   "{'id':'d1','notes':[{'id':2,'body':'why?','author':{'username':'rob'},"
                   "'created_at':'2023-11-14T21:00:00Z','resolvable':true,'resolved':false,"
                   "'position':{'new_path':'a.c','new_line':3,'head_sha':'" HOST_OLD "'}},"
                   "{'id':3,'body':'so','author':{'username':'bot'},'resolvable':true}]},"
                   "{'id':'d2','individual_note':true,'notes':[{'id':4,'body':'hi'}]}]")},
        {.request = "GET " M "/versions?",
         .body = Q("[{'head_commit_sha':'" HOST_HEAD "','created_at':'2023-11-14T21:30:00Z'},"
                   "{'head_commit_sha':'" HOST_OLD "','created_at':'2023-11-14T20:00:00Z'}]")},
        {.request = "GET " P "/members/all?",
         .has = {"user_ids%5B%5D=1&user_ids%5B%5D=2&user_ids%5B%5D=9 "},
         .body = Q("[{'id':1,'access_level':40},{'id':9,'access_level':20}]")},
        {.request = "GET " P "/pipelines?sha=" HOST_HEAD,
         .body = Q("[{'id':30,'source':'push'},{'id':29,'source':'push'},"
                   "{'id':28,'source':'external'}]")},
        {.request = "GET " P "/pipelines/30/jobs?",
         .body = Q("[{'id':40,'name':'unit','status':'failed','failure_reason':'script_failure',"
                   "'web_url':'https://x/40'},"
                   "{'id':41,'name':'lint','status':'failed','allow_failure':true},"
                   "{'id':42,'name':'slow','status':'failed',"
                   "'failure_reason':'stuck_or_timeout_failure'}]")},
        {.request = "GET " P "/repository/commits/" HOST_HEAD "/statuses?",
         .body = Q("[{'id':40,'name':'unit','status':'failed','pipeline_id':30},"
                   "{'id':20,'name':'unit','status':'failed','pipeline_id':29},"
                   "{'id':50,'name':'drover','status':'success','description':'fine'},"
                   "{'id':51,'name':'ext','status':'running'}]")});
    OK(prs_gitlab.view(&host_call, &ref, &host_arena, &view, &host_err));
    ck_assert_int_eq(view.state, PR_OPEN);
    ck_assert_str_eq(view.base, HOST_BASE);
    ck_assert(view.auto_merge && !view.queued && !view.draft && !view.cut);
    ck_assert_int_eq(view.mergeable, MERGE_CLEAN);
    ck_assert_str_eq(view.labels[0], "bug");
    check_reviews(&view);
    check_threads_and_checks(&view);
}
END_TEST

/* Statuses of a commit, each of another name. */
static const char *statuses(size_t count)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 64 * 1024);
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, "%s{\"id\":%zu,\"name\":\"c%zu\",\"status\":\"success\"}",
                 i == 0 ? "[" : ",", i + 1, i);
    buf_adds(&text, "]");
    return arena_strdup(&host_arena, buf_text(&text));
}

static const struct {
    const char *members; /* The status of their list. */
    size_t checks;
    bool cut;
} partial[] = {
    {"200 OK", 1, false},
    {"403 Forbidden", 1, true}, /* Who has objected may be one who is trusted. */
    {"200 OK", PR_CHECKS_MAX, true},
};

START_TEST(a_view_that_may_lack_something_is_cut)
{
    struct pr_view view;
    HOST_SCRIPT(API, {.request = "GET " M " ", .body = Q(MR(""))},
                {.request = "GET " P "/repository/branches/main ",
                 .body = Q("{'commit':{'id':'" HOST_BASE "'}}")},
                {.request = "GET " M "/approvals ",
                 .body = Q("{'approved_by':[{'user':{'id':1,'username':'ann'}}]}")},
                {.request = "GET " M "/reviewers?", .body = "[]"},
                {.request = "GET " M "/discussions?", .body = "[]"},
                {.request = "GET " M "/versions?", .body = "[]"},
                {.request = "GET " P "/members/all?",
                 .status = partial[_i].members,
                 .body = Q("[{'id':1,'access_level':40}]")},
                {.request = "GET " P "/pipelines?sha=" HOST_HEAD, .body = "[]"},
                {.request = "GET " P "/repository/commits/" HOST_HEAD "/statuses?",
                 .body = statuses(partial[_i].checks)});
    OK(prs_gitlab.view(&host_call, &ref, &host_arena, &view, &host_err));
    ck_assert_uint_eq(view.check_count, partial[_i].checks);
    ck_assert_int_eq(view.cut, partial[_i].cut);
}
END_TEST

START_TEST(a_view_of_something_else_is_corrupt)
{
    struct pr_view view;
    HOST_SCRIPT(API, {.request = "GET " M " ", .body = "{\"iid\": 5}"});
    ck_assert_int_eq(prs_gitlab.view(&host_call, &ref, &host_arena, &view, &host_err), RC_CORRUPT);
}
END_TEST

/* ---- acts ---- */

static const struct forge_comment comment = {.key = "run-1", .body = "Done."};
#define MARK "\\n\\n<!-- drover:run-1 -->"

START_TEST(a_comment_is_made_once)
{
    HOST_SCRIPT(API, USER, {.request = "GET " M "/notes?", .body = "[]"},
                {.request = "POST " M "/notes ",
                 .has = {"{\"body\":\"Done." MARK "\"}"},
                 .status = "201 Created",
                 .body = "{}"});
    OK(prs_gitlab.comment(&host_call, &ref, &comment, &host_err));
}
END_TEST

START_TEST(a_comment_is_edited_if_it_is_ours)
{
    HOST_SCRIPT(API, USER,
                {.request = "GET " M "/notes?",
                 .body = Q("[{'id':1,'body':'x" MARK "','author':{'username':'eve'}},"
                           "{'id':2,'body':'y" MARK "\\n\\nquoted','author':{'username':'bot'}},"
                           "{'id':3,'body':'z" MARK "','author':{'username':'bot'}}]")},
                {.request = "PUT " M "/notes/3 ", .has = {"Done."}, .body = "{}"});
    OK(prs_gitlab.comment(&host_call, &ref, &comment, &host_err));
}
END_TEST

START_TEST(an_issue_has_comments_of_its_own)
{
    const struct pr_ref issue = {.url = HOST_URL, .number = 5, .issue = true};
    HOST_SCRIPT(API, USER, {.request = "GET " P "/issues/5/notes?", .body = "[]"},
                {.request = "POST " P "/issues/5/notes ", .body = "{}"});
    OK(prs_gitlab.comment(&host_call, &issue, &comment, &host_err));
}
END_TEST

START_TEST(reviewers_are_added_to_those_there_are)
{
    static const char *const reviewers[] = {"ann", "rob", NULL};
    HOST_SCRIPT(
        API, {.request = "GET " M " ", .body = Q(MR(""))},
        {.request = "GET " API "/users?username=ann ", .body = Q("[{'id':8,'username':'ann'}]")},
        {.request = "GET " API "/users?username=rob ", .body = Q("[{'id':9,'username':'rob'}]")},
        {.request = "PUT " M " ", .has = {"{\"reviewer_ids\":[9,8]}"}, .body = "{}"});
    OK(prs_gitlab.request_review(&host_call, &ref, reviewers, &host_err));
}
END_TEST

START_TEST(a_reviewer_who_is_not_there_is_named)
{
    static const char *const nobody[] = {"nobody", NULL}, *const team[] = {"team/core", NULL};
    HOST_SCRIPT(API, {.request = "GET " M " ", .body = Q(MR(""))},
                {.request = "GET " API "/users?", .body = "[]"},
                {.request = "GET " M " ", .body = Q(MR(""))});
    ck_assert_int_eq(prs_gitlab.request_review(&host_call, &ref, nobody, &host_err), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(host_err.text, "nobody"));
    ck_assert_int_eq(prs_gitlab.request_review(&host_call, &ref, team, &host_err), RC_INVALID);
}
END_TEST

START_TEST(labels_are_added_by_name)
{
    static const char *const labels[] = {"a", "b c", NULL}, *const bad[] = {"a,b", NULL};
    HOST_SCRIPT(API,
                {.request = "PUT " M " ", .has = {"{\"add_labels\":\"a,b c\"}"}, .body = "{}"});
    OK(prs_gitlab.label(&host_call, &ref, labels, &host_err));
    ck_assert_int_eq(prs_gitlab.label(&host_call, &ref, bad, &host_err), RC_INVALID);
}
END_TEST

START_TEST(a_draft_is_made_ready_once)
{
    HOST_SCRIPT(API, {.request = "GET " M " ", .body = Q("{'iid':5,'title':'Draft: Fix'}")},
                {.request = "PUT " M " ", .has = {"{\"title\":\"Fix\"}"}, .body = "{}"},
                {.request = "GET " M " ", .body = Q("{'iid':5,'title':'Fix'}")});
    OK(prs_gitlab.mark_ready(&host_call, &ref, &host_err));
    OK(prs_gitlab.mark_ready(&host_call, &ref, &host_err));
}
END_TEST

START_TEST(a_thread_is_answered_once_and_resolved)
{
    HOST_SCRIPT(
        API, USER, {.request = "GET " M "/discussions/d1 ", .body = Q("{'id':'d1','notes':[]}")},
        {.request = "POST " M "/discussions/d1/notes ", .body = "{}"}, USER,
        {.request = "GET " M "/discussions/d1 ",
         .body = Q("{'id':'d1','notes':[{'id':6,'body':'x" MARK
                   "','author':{'username':'bot'}}]}")},
        {.request = "PUT " M "/discussions/d1/notes/6 ", .body = "{}"},
        {.request = "PUT " M "/discussions/d1 ", .has = {"{\"resolved\":true}"}, .body = "{}"});
    OK(prs_gitlab.thread_reply(&host_call, &ref, "d1", &comment, &host_err));
    OK(prs_gitlab.thread_reply(&host_call, &ref, "d1", &comment, &host_err));
    OK(prs_gitlab.thread_resolve(&host_call, &ref, "d1", &host_err));
}
END_TEST

START_TEST(an_approval_is_for_one_head_and_given_once)
{
    const struct pr_review_words words = {
        .key = "k", .commit = HOST_HEAD, .body = "", .approve = true};
    HOST_SCRIPT(API, USER, {.request = "GET " M "/approvals ", .body = "{\"approved_by\": []}"},
                {.request = "POST " M "/approve ", .has = {"{\"sha\":\"" HOST_HEAD}, .body = "{}"},
                USER,
                {.request = "GET " M "/approvals ",
                 .body = Q("{'approved_by':[{'user':{'username':'bot'}}]}")});
    OK(prs_gitlab.review(&host_call, &ref, &words, &host_err));
    OK(prs_gitlab.review(&host_call, &ref, &words, &host_err));
}
END_TEST

START_TEST(a_merge_is_left_to_gitlab_at_one_head)
{
    HOST_SCRIPT(
        API,
        {.request = "PUT " M "/merge ",
         .has = {HOST_HEAD, "\"auto_merge\":true", "\"squash\":true"},
         .body = "{}"},
        {.request = "PUT " M "/merge ", .status = "405 Method Not Allowed", .body = "{}"},
        {.request = "GET " P "/merge_trains/merge_requests/5 ",
         .status = "404 Not Found",
         .body = "{}"},
        {.request = "POST " P "/merge_trains/merge_requests/5 ", .has = {HOST_HEAD}, .body = "[]"},
        {.request = "GET " P "/merge_trains/merge_requests/5 ",
         .body = Q("{'id':1,'status':'idle'}")});
    OK(prs_gitlab.auto_merge(&host_call, &ref, HOST_HEAD, MERGE_WAY_SQUASH, &host_err));
    ck_assert_int_eq(prs_gitlab.auto_merge(&host_call, &ref, HOST_HEAD, MERGE_WAY_MERGE, &host_err),
                     RC_CONFLICT);
    OK(prs_gitlab.enqueue(&host_call, &ref, HOST_HEAD, &host_err));
    OK(prs_gitlab.enqueue(&host_call, &ref, HOST_HEAD, &host_err));
}
END_TEST

/* ---- what changed ---- */

START_TEST(changes_of_both_kinds_are_merged_up_to_the_end_of_the_shorter_list)
{
    struct changed_query query = {.url = HOST_URL, .since_us = 1700000000 * US_PER_SECOND};
    struct changed_answer answer;
    HOST_SCRIPT(
        API,
        {.request = "GET " P "/merge_requests?state=all&updated_after=2023-11-14T22:13:20Z",
         .headers = "ETag: W/\"a\"\r\nLink: <{base}" P "/merge_requests?page=2>; rel=\"next\"\r\n",
         .body = Q("[{'iid':1,'updated_at':'2023-11-14T22:14:00Z'}]")},
        {.request = "GET " P "/issues?",
         .headers = "ETag: W/\"b\"\r\n",
         .body = Q("[{'iid':1,'updated_at':'2023-11-14T22:13:30Z'},"
                   "{'iid':2,'updated_at':'2023-11-14T22:15:00Z'}]")},
        {.request = "GET " P "/merge_requests?",
         .has = {"If-None-Match: W/\"a\"\r\n"},
         .status = "304 Not Modified"},
        {.request = "GET " P "/issues?",
         .has = {"If-None-Match: W/\"b\"\r\n"},
         .status = "304 Not Modified"});
    OK(prs_gitlab.changed(&host_call, &query, &host_arena, &answer, &host_err));
    ck_assert_uint_eq(answer.count, 2);
    ck_assert(!answer.items[0].is_pr && answer.items[1].is_pr && answer.more && !answer.same);
    query.etag = answer.etag;
    OK(prs_gitlab.changed(&host_call, &query, &host_arena, &answer, &host_err));
    ck_assert(answer.same && answer.count == 0);
}
END_TEST

/* ---- checks ---- */

START_TEST(a_job_has_a_log_and_is_retried_once)
{
    const struct check_view job = {.id = "40", .name = "unit", .job = true};
    const struct check_view status = {.id = "50", .name = "ext"};
    CLEANUP(buf_release) struct buf log;
    buf_init(&log, 8);
    HOST_SCRIPT(API,
                {.request = "GET " P "/jobs/40/trace ",
                 .headers = "Content-Type: text/plain\r\n",
                 .body = "a long log"},
                {.request = "POST " P "/jobs/40/retry ", .status = "201 Created", .body = "{}"},
                {.request = "POST " P "/jobs/40/retry ", .status = "403 Forbidden", .body = "{}"},
                {.request = "GET " P "/jobs/40 ",
                 .body = Q("{'id':40,'name':'unit','pipeline':{'id':30}}")},
                {.request = "GET " P "/pipelines/30/jobs?",
                 .body = Q("[{'id':44,'name':'unit','status':'running'}]")});
    OK(checks_gitlab.log(&host_call, HOST_URL, &job, &log, &host_err));
    ck_assert_str_eq(buf_text(&log), "long log");
    ck_assert_int_eq(checks_gitlab.log(&host_call, HOST_URL, &status, &log, &host_err),
                     RC_NOT_FOUND);
    OK(checks_gitlab.rerun(&host_call, HOST_URL, &job, &host_err));
    OK(checks_gitlab.rerun(&host_call, HOST_URL, &job, &host_err));
}
END_TEST

START_TEST(a_status_is_put_unless_it_is_there)
{
    const struct forge_check check = {.commit = HOST_HEAD,
                                      .name = "drover",
                                      .key = "r",
                                      .state = CHECK_PASSED,
                                      .title = "Verified",
                                      .summary = ""};
    HOST_SCRIPT(API,
                {.request = "GET " P "/repository/commits/" HOST_HEAD "/statuses?name=drover",
                 .body = Q("[{'id':9,'status':'running','description':'Verified'}]")},
                {.request = "POST " P "/statuses/" HOST_HEAD " ",
                 .has = {"\"state\":\"success\"", "\"name\":\"drover\""},
                 .body = "{}"},
                {.request = "GET " P "/repository/commits/" HOST_HEAD "/statuses?name=drover",
                 .body = Q("[{'id':10,'status':'success','description':'Verified'},"
                           "{'id':9,'status':'running','description':'Verified'}]")});
    OK(checks_gitlab.put(&host_call, HOST_URL, &check, &host_err));
    OK(checks_gitlab.put(&host_call, HOST_URL, &check, &host_err));
}
END_TEST

/* ---- issues ---- */

START_TEST(an_issue_has_comments_and_the_roles_of_their_authors)
{
    struct issue issue;
    HOST_SCRIPT(
        API,
        {.request = "GET " P "/issues/4 ",
         .body = Q("{'iid':4,'title':'T','description':null,'state':'opened','labels':['a'],"
                   "'author':{'id':1,'username':'eve'},'assignees':[{'username':'bot'}]}")},
        {.request = "GET " P "/issues/4/notes?activity_filter=only_comments",
         .body = Q("[{'id':7,'body':'/drover','author':{'id':2,'username':'ann'},"
                   "'created_at':'2023-11-14T22:13:20Z','updated_at':'2023-11-14T22:13:25Z'},"
                   "{'id':8,'body':'secret','internal':true,'author':{'id':2}},"
                   "{'id':9,'body':'x','author':{'id':5,'username':'guest'}}]")},
        {.request = "GET " P
                    "/members/all?per_page=100&user_ids%5B%5D=1&user_ids%5B%5D=2&user_ids%5B%5D=5 ",
         .body = Q("[{'id':2,'access_level':30},{'id':2,'access_level':50},"
                   "{'id':5,'access_level':10}]")});
    OK(issues_gitlab.get(&issues_gitlab, &host_call, HOST_URL, 4, &host_arena, &issue, &host_err));
    ck_assert_str_eq(issue.state, "open");
    ck_assert_str_eq(issue.body, "");
    ck_assert_str_eq(issue.association, "NONE");
    ck_assert(str_is(issue.labels, "[\"a\"]") && str_is(issue.assignees, "[\"bot\"]"));
    ck_assert_int_eq(issue.comment_count, 2); /* Not the internal one. */
    ck_assert_str_eq(issue.comments[0].association, "OWNER");
    ck_assert_str_eq(issue.comments[1].association, "CONTRIBUTOR");
    ck_assert_int_eq(issue.comments[0].updated_us - issue.comments[0].created_us,
                     5 * US_PER_SECOND);
}
END_TEST

START_TEST(what_blocks_an_issue_is_open_and_of_the_same_project)
{
    int64_t *numbers = NULL;
    size_t count = 0;
    HOST_SCRIPT(API, {.request = "GET " P "/issues/4 ", .body = Q("{'iid':4,'project_id':7}")},
                {.request = "GET " P "/issues/4/links?",
                 .body = Q("[{'iid':1,'project_id':7,'state':'opened','link_type':'is_blocked_by'},"
                           "{'iid':2,'project_id':7,'state':'closed','link_type':'is_blocked_by'},"
                           "{'iid':3,'project_id':8,'state':'opened','link_type':'is_blocked_by'},"
                           "{'iid':5,'project_id':7,'state':'opened','link_type':'relates_to'}]")});
    OK(issues_gitlab.blocked_by(&issues_gitlab, &host_call, HOST_URL, 4, &host_arena, &numbers,
                                &count, &host_err));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(numbers[0], 1);
}
END_TEST

START_TEST(an_issue_that_is_not_there_is_said_so)
{
    struct issue issue;
    HOST_SCRIPT(API, {.request = "GET " P "/issues/4 ",
                      .status = "404 Not Found",
                      .body = Q("{'message':'404 Not found'}")});
    ck_assert_int_eq(
        issues_gitlab.get(&issues_gitlab, &host_call, HOST_URL, 4, &host_arena, &issue, &host_err),
        RC_NOT_FOUND);
    ck_assert_str_eq(host_err.code, "ISSUE_NOT_FOUND");
}
END_TEST

/* ---- webhooks ---- */

START_TEST(a_delivery_carries_the_secret_itself)
{
    const struct delivery_ops *ops = &deliveries_gitlab;
    ck_assert(ops->signed_with("s3cret", "s3cret", STR("x")));
    ck_assert(!ops->signed_with("s3cret", "s3cre", STR("x")));
    ck_assert(!ops->signed_with("s3cret", "", STR("x")));
    ck_assert(!ops->signed_with("", "", STR("x")));
    ck_assert(!ops->signed_with("s3cret", NULL, STR("x")));
    ck_assert_str_eq(ops->headers.id, "Idempotency-Key");
}
END_TEST

Suite *gitlab_suite(void)
{
    Suite *suite = suite_create("gitlab");
    TCase *tc = tcase_create("gitlab");
    tcase_add_checked_fixture(tc, host_kit_setup, host_kit_teardown);
    tcase_add_test(tc, a_project_is_found_by_its_address);
    tcase_add_test(tc, a_title_is_freed_from_what_makes_a_draft);
    tcase_add_test(tc, a_view_has_checks_reviews_and_threads);
    tcase_add_loop_test(tc, a_view_that_may_lack_something_is_cut, 0, COUNT_OF(partial));
    tcase_add_test(tc, a_view_of_something_else_is_corrupt);
    tcase_add_test(tc, a_comment_is_made_once);
    tcase_add_test(tc, a_comment_is_edited_if_it_is_ours);
    tcase_add_test(tc, an_issue_has_comments_of_its_own);
    tcase_add_test(tc, reviewers_are_added_to_those_there_are);
    tcase_add_test(tc, a_reviewer_who_is_not_there_is_named);
    tcase_add_test(tc, labels_are_added_by_name);
    tcase_add_test(tc, a_draft_is_made_ready_once);
    tcase_add_test(tc, a_thread_is_answered_once_and_resolved);
    tcase_add_test(tc, an_approval_is_for_one_head_and_given_once);
    tcase_add_test(tc, a_merge_is_left_to_gitlab_at_one_head);
    tcase_add_test(tc, changes_of_both_kinds_are_merged_up_to_the_end_of_the_shorter_list);
    tcase_add_test(tc, a_job_has_a_log_and_is_retried_once);
    tcase_add_test(tc, a_status_is_put_unless_it_is_there);
    tcase_add_test(tc, an_issue_has_comments_and_the_roles_of_their_authors);
    tcase_add_test(tc, what_blocks_an_issue_is_open_and_of_the_same_project);
    tcase_add_test(tc, an_issue_that_is_not_there_is_said_so);
    tcase_add_test(tc, a_delivery_carries_the_secret_itself);
    suite_add_tcase(suite, tc);
    return suite;
}
