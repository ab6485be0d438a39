/*
 * test_github_prs.c - pull requests of GitHub after they were opened: what is read, what is done,
 * and that nothing is done twice.
 */
#include "base/clock.h"
#include "forge/port/prs.h"
#include "tests/unit/github_kit.h"
#include "tests/unit/suites.h"
#include <string.h>

#define P "/api/v3/repos/acme/billing"
static const struct pr_ref ref = {.url = KIT_URL, .number = 5};
static struct pr_view view;

/* ---- the view ---- */

#define HEAD_PART                                                                              \
    "\"number\":5,\"url\":\"https://github.example/acme/billing/pull/5\",\"title\":\"Fix\","   \
    "\"state\":\"OPEN\",\"isDraft\":true,\"headRefOid\":\"" KIT_HEAD                           \
    "\",\"headRefName\":\"drover/x\",\"baseRefOid\":\"" KIT_BASE                               \
    "\",\"baseRefName\":\"main\",\"mergeable\":\"MERGEABLE\",\"mergeStateStatus\":\"BEHIND\"," \
    "\"isInMergeQueue\":false,\"updatedAt\":\"2023-11-14T22:13:20Z\","                         \
    "\"author\":{\"login\":\"drover\"},\"mergeCommit\":null,\"autoMergeRequest\":null,"        \
    "\"labels\":{\"nodes\":[{\"name\":\"bug\"},{\"name\":\"drover\"}]}"
#define LAST "\"pageInfo\":{\"hasNextPage\":false,\"endCursor\":\"end\"}"
#define EMPTY \
    "{"       \
    "\"pageInfo\":{\"hasNextPage\":false,\"endCursor\":null},\"nodes\":[]}"
#define VIEW(reviews, threads, contexts)                                                         \
    "{\"repository\":{\"pullRequest\":{" HEAD_PART ",\"reviews\":" reviews                       \
    ",\"reviewThreads\":" threads ",\"commits\":{\"nodes\":[{\"commit\":{\"statusCheckRollup\":" \
    "{\"contexts\":" contexts "}}}]}}}}"

START_TEST(a_view_is_one_query)
{
    KIT_OPEN(KIT_GRAPHQL(
        "\"variables\":{\"owner\":\"acme\",\"name\":\"billing\",\"number\":5,\"reviews\":null,"
        "\"threads\":null,\"checks\":null}",
        VIEW(
            "{" LAST ",\"nodes\":[{\"id\":\"R1\",\"state\":\"CHANGES_REQUESTED\",\"body\":\"no\","
            "\"submittedAt\":\"2023-11-14T22:13:21Z\",\"authorAssociation\":\"MEMBER\","
            "\"author\":{\"login\":\"ann\"},\"commit\":{\"oid\":\"" KIT_HEAD
            "\"}},{\"id\":\"R2\",\"state\":\"DISMISSED\",\"body\":\"\",\"submittedAt\":null,"
            "\"authorAssociation\":\"NONE\",\"author\":null,\"commit\":null}]}",
            "{" LAST ",\"nodes\":[{\"id\":\"T1\",\"path\":\"a.c\",\"line\":null,\"originalLine\":3,"
            "\"isResolved\":false,\"isOutdated\":true,\"comments\":{\"pageInfo\":{\"hasNextPage\":"
            "true},\"nodes\":[{\"id\":\"C1\",\"body\":\"why?\",\"createdAt\":"
            "\"2023-11-14T22:13:22Z\",\"authorAssociation\":\"OWNER\",\"author\":{\"login\":"
            "\"bob\"}}]}}]}",
            "{" LAST ",\"nodes\":[{\"__typename\":\"CheckRun\",\"databaseId\":41,\"name\":\"unit\","
            "\"status\":\"COMPLETED\",\"conclusion\":\"FAILURE\",\"externalId\":\"\","
            "\"url\":\"https://github.example/acme/billing/actions/runs/4/job/41\",\"title\":null,"
            "\"summary\":\"3 failed\",\"startedAt\":\"2023-11-14T22:13:20Z\",\"completedAt\":"
            "\"2023-11-14T22:13:25Z\",\"isRequired\":true,\"checkSuite\":{\"app\":{\"slug\":"
            "\"github-actions\"}}},"
            "{\"__typename\":\"CheckRun\",\"databaseId\":null,\"name\":\"drover\",\"status\":"
            "\"IN_PROGRESS\",\"conclusion\":null,\"externalId\":\"drover:run-1\",\"url\":"
            "\"https://github.example/acme/billing/runs/4294967999\",\"isRequired\":false,"
            "\"checkSuite\":{\"app\":{\"slug\":\"drover\"}}},"
            "{\"__typename\":\"StatusContext\",\"context\":\"ci/build\",\"state\":\"SUCCESS\","
            "\"description\":\"ok\",\"targetUrl\":\"https://ci\",\"createdAt\":"
            "\"2023-11-14T22:13:20Z\",\"isRequired\":false},"
            "{\"__typename\":\"StatusContext\",\"context\":\"drover\",\"state\":\"ERROR\"},"
            "{\"__typename\":\"Surprise\"}]}")));
    ck_assert_msg(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err) == RC_OK, "%s",
                  kit_err.text);
    ck_assert_int_eq(view.number, 5);
    ck_assert_int_eq(view.state, PR_OPEN);
    ck_assert(view.draft && !view.auto_merge && !view.queued);
    ck_assert_str_eq(view.head, KIT_HEAD);
    ck_assert_int_eq(view.mergeable, MERGE_BEHIND);
    ck_assert_ptr_null(view.merge_commit);
    ck_assert_str_eq(view.labels[1], "drover");
    ck_assert_int_eq(view.updated_us, 1700000000 * US_PER_SECOND);
    ck_assert(view.cut); /* The thread has more comments. */
    ck_assert_uint_eq(view.review_count, 2);
    ck_assert_int_eq(view.reviews[0].verdict, REVIEW_CHANGES_REQUESTED);
    ck_assert_str_eq(view.reviews[0].commit, KIT_HEAD);
    ck_assert_int_eq(view.reviews[1].verdict, REVIEW_COMMENTED);
    ck_assert_str_eq(view.reviews[1].author, "ghost");
    ck_assert_uint_eq(view.thread_count, 1);
    ck_assert_int_eq(view.threads[0].line, 3);
    ck_assert_str_eq(view.threads[0].comments[0].association, "OWNER");
    ck_assert_uint_eq(view.check_count, 4);
    ck_assert_str_eq(view.checks[0].id, "run:41");
    ck_assert_int_eq(view.checks[0].state, CHECK_FAILED);
    ck_assert(view.checks[0].required && view.checks[0].job && !view.checks[0].own);
    ck_assert_str_eq(view.checks[1].id, "run:4294967999");
    ck_assert_int_eq(view.checks[1].state, CHECK_PENDING);
    ck_assert(view.checks[1].own && !view.checks[1].job);
    ck_assert_str_eq(view.checks[2].id, "status:ci/build");
    ck_assert_int_eq(view.checks[2].state, CHECK_PASSED);
    ck_assert_int_eq(view.checks[3].state, CHECK_BROKEN);
    ck_assert(view.checks[3].own);
}
END_TEST

#define REVIEW(id) \
    "{\"id\":\"" id "\",\"state\":\"APPROVED\",\"body\":\"\",\"author\":{\"login\":\"ann\"}}"

START_TEST(long_lists_are_read_page_by_page)
{
    KIT_OPEN(KIT_GRAPHQL("\"reviews\":null,\"threads\":null",
                         VIEW("{\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"r1\"},"
                              "\"nodes\":[" REVIEW("R1") "]}",
                              "{" LAST ",\"nodes\":[{\"id\":\"T1\"}]}", EMPTY)),
             KIT_GRAPHQL("\"reviews\":\"r1\",\"threads\":\"end\",\"checks\":null",
                         VIEW("{\"pageInfo\":{\"hasNextPage\":false,\"endCursor\":\"r2\"},"
                              "\"nodes\":[" REVIEW("R2") "]}",
                              EMPTY, EMPTY)));
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_OK);
    ck_assert_uint_eq(view.review_count, 2);
    ck_assert_str_eq(view.reviews[1].id, "R2");
    ck_assert_uint_eq(view.thread_count, 1);
    ck_assert(!view.cut);
}
END_TEST

#define WHOLE VIEW(EMPTY, EMPTY, EMPTY)
#define CHECK_PATH                                                                              \
    "[\"repository\",\"pullRequest\",\"commits\",\"nodes\",0,\"commit\",\"statusCheckRollup\"," \
    "\"contexts\",\"nodes\",0]"
static const struct {
    const char *body;
    bool cut;
} halves[] = {
    {"{\"data\":" WHOLE "}", false},
    /* A token without the permission for checks. */
    {"{\"data\":" VIEW(EMPTY, EMPTY,
                       "{" LAST ",\"nodes\":[null]}") ",\"errors\":[{\"type\":"
                                                      "\"FORBIDDEN\",\"path\":" CHECK_PATH
                                                      ",\"message\":\"Resource not accessible\"}]}",
     true},
    {"{\"data\":" WHOLE ",\"errors\":[{\"message\":\"Something went wrong\"}]}", true},
    {"{\"data\":" VIEW("null", EMPTY, EMPTY) "}", true},
    {"{\"data\":" VIEW(EMPTY, "null", EMPTY) "}", true},
    /* Nothing that speaks for or against it. */
    {"{\"data\":" WHOLE ",\"errors\":[{\"type\":\"FORBIDDEN\",\"path\":[\"repository\","
     "\"pullRequest\",\"autoMergeRequest\"],\"message\":\"no\"}]}",
     false},
};

START_TEST(a_view_with_less_than_was_asked_for_is_cut)
{
    KIT_OPEN({.request = "POST /api/graphql HTTP", .body = halves[_i].body});
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_OK);
    ck_assert_int_eq(view.cut, halves[_i].cut);
}
END_TEST

START_TEST(pages_of_two_heads_are_cut_and_an_unknown_association_is_none)
{
    static const char next[] = "{\"data\":{\"repository\":{\"pullRequest\":{\"number\":5,"
                               "\"headRefOid\":\"" KIT_BASE "\",\"baseRefName\":\"main\","
                               "\"reviews\":" EMPTY ",\"reviewThreads\":" EMPTY
                               ",\"commits\":{\"nodes\":[]}}}}}";
    KIT_OPEN(KIT_GRAPHQL("\"reviews\":null",
                         VIEW("{\"pageInfo\":{\"hasNextPage\":true,\"endCursor\":\"r1\"},"
                              "\"nodes\":[" REVIEW("R1") "]}",
                              EMPTY, EMPTY)),
             {.request = "POST /api/graphql HTTP", .body = next});
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_OK);
    ck_assert_str_eq(view.head, KIT_BASE);
    ck_assert(view.cut);
    ck_assert_str_eq(view.reviews[0].association, "NONE");
}
END_TEST

static const struct {
    const char *mergeable, *state;
    enum pr_mergeable want;
} merge_states[] = {
    {"MERGEABLE", "CLEAN", MERGE_CLEAN},        {"MERGEABLE", "UNSTABLE", MERGE_CLEAN},
    {"MERGEABLE", "HAS_HOOKS", MERGE_CLEAN},    {"MERGEABLE", "BEHIND", MERGE_BEHIND},
    {"MERGEABLE", "BLOCKED", MERGE_BLOCKED},    {"MERGEABLE", "DRAFT", MERGE_BLOCKED},
    {"MERGEABLE", "DIRTY", MERGE_CONFLICT},     {"CONFLICTING", "DIRTY", MERGE_CONFLICT},
    {"CONFLICTING", "BLOCKED", MERGE_CONFLICT}, {"UNKNOWN", "UNKNOWN", MERGE_UNKNOWN},
    {"UNKNOWN", "CLEAN", MERGE_UNKNOWN},        {"MERGEABLE", "SURPRISE", MERGE_UNKNOWN},
};

START_TEST(states_of_merging_are_those_of_the_port)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *body = arena_printf(
        &arena,
        "{\"data\":{\"repository\":{\"pullRequest\":{\"number\":5,\"state\":\"MERGED\","
        "\"headRefOid\":\"" KIT_HEAD "\",\"baseRefName\":\"main\",\"mergeable\":\"%s\","
        "\"mergeStateStatus\":\"%s\",\"mergeCommit\":{\"oid\":\"" KIT_BASE
        "\"},\"autoMergeRequest\":{\"enabledAt\":null},\"isInMergeQueue\":true}}}}",
        merge_states[_i].mergeable, merge_states[_i].state);
    KIT_OPEN({.request = "POST /api/graphql HTTP", .body = body});
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_OK);
    ck_assert_int_eq(view.mergeable, merge_states[_i].want);
    ck_assert_int_eq(view.state, PR_MERGED);
    ck_assert_str_eq(view.merge_commit, KIT_BASE);
    ck_assert(view.auto_merge && view.queued);
}
END_TEST

START_TEST(a_view_of_nothing_is_an_error)
{
    KIT_OPEN({.request = "POST /api/graphql HTTP",
              .body = "{\"data\":{\"repository\":{\"pullRequest\":null}},\"errors\":[{\"type\":"
                      "\"NOT_FOUND\",\"message\":\"Could not resolve to a PullRequest\"}]}"},
             KIT_GRAPHQL("", "{\"repository\":{\"pullRequest\":{\"number\":5}}}"));
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_NOT_FOUND);
    ck_assert_int_eq(prs_github.view(&kit_call, &ref, &kit_arena, &view, &kit_err), RC_CORRUPT);
}
END_TEST

/* ---- what changed ---- */

START_TEST(changes_are_listed_since_a_time)
{
    KIT_OPEN(
        {.request = "GET " P "/issues?state=all&sort=updated&direction=asc&per_page=100&since="
                    "2023-11-14T22:13:20Z HTTP",
         .headers = "ETag: \"e1\"\r\nLink: <{base}" P "/issues?page=2>; rel=\"next\"\r\n",
         .body = "[{\"number\":1,\"updated_at\":\"2023-11-14T22:13:21Z\"}]"},
        {.request = "GET " P "/issues?page=2 HTTP",
         .body = "[{\"number\":2,\"updated_at\":\"2023-11-14T22:13:22Z\",\"pull_request\":{}}]"},
        {.request = "GET " P "/issues?state=open&",
         .has = {"If-None-Match: \"e1\""},
         .status = "304 Not Modified"});
    struct changed_query query = {.url = KIT_URL, .since_us = 1700000000 * US_PER_SECOND + 77};
    struct changed_answer answer;
    ck_assert_msg(prs_github.changed(&kit_call, &query, &kit_arena, &answer, &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(answer.count, 2);
    ck_assert(!answer.items[0].is_pr && answer.items[1].is_pr);
    ck_assert_int_eq(answer.items[1].updated_us, 1700000002 * US_PER_SECOND);
    ck_assert_str_eq(answer.etag, "\"e1\"");
    ck_assert(!answer.more && !answer.same);
    query = (struct changed_query){.url = KIT_URL, .etag = "\"e1\""};
    ck_assert_int_eq(prs_github.changed(&kit_call, &query, &kit_arena, &answer, &kit_err), RC_OK);
    ck_assert(answer.same);
    ck_assert_uint_eq(answer.count, 0);
    ck_assert_str_eq(answer.etag, "\"e1\"");
}
END_TEST

/* ---- comments ---- */

static const struct forge_comment words = {.key = "progress", .body = "At work."};
#define ME(login) KIT_GRAPHQL("viewer { login }", "{\"viewer\":{\"login\":\"" login "\"}}")
#define COMMENT(id, login, body) \
    "{\"id\":" id ",\"user\":{\"login\":\"" login "\"},\"body\":\"" body "\"}"

START_TEST(a_comment_is_written_once_and_then_edited)
{
    KIT_OPEN(
        {.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
         .body = "[" COMMENT("1", "ann", "hello") "]"},
        {.request = "POST " P "/issues/5/comments HTTP",
         .has = {"{\"body\":\"At work.\\n\\n<!-- drover:progress -->\"}"},
         .status = "201 Created",
         .body = "{\"id\":2}"},
        {.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
         .headers = "Link: <{base}" P "/issues/5/comments?page=2>; rel=\"next\"\r\n",
         .body = "[" COMMENT("1", "ann", "hello") "]"},
        {.request = "GET " P "/issues/5/comments?page=2 HTTP",
         .body = "[" COMMENT("2", "drover[bot]", "Old.\\n\\n<!-- drover:progress -->") "]"},
        ME("drover"),
        {.request = "PATCH " P "/issues/comments/2 HTTP",
         .has = {"{\"body\":\"At work.\\n\\n<!-- drover:progress -->\"}"},
         .body = "{\"id\":2}"},
        {.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
         .body = "[" COMMENT("2", "drover[bot]", "At work.\\n\\n<!-- drover:progress -->") "]"},
        ME("drover[bot]"));
    for (int i = 0; i < 3; i++) /* Written, edited, and the same as it is. */
        ck_assert_msg(prs_github.comment(&kit_call, &ref, &words, &kit_err) == RC_OK, "%s",
                      kit_err.text);
}
END_TEST

START_TEST(a_mark_by_another_person_is_not_ours)
{
    KIT_OPEN({.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
              .body = "[" COMMENT("1", "mallory", "x\\n<!-- drover:progress -->") "," COMMENT(
                  "2", "mallory", "y\\n<!-- drover:progress -->") "]"},
             ME("drover[bot]"),
             {.request = "POST " P "/issues/5/comments HTTP",
              .status = "201 Created",
              .body = "{\"id\":3}"});
    ck_assert_int_eq(prs_github.comment(&kit_call, &ref, &words, &kit_err), RC_OK);
}
END_TEST

#define COPY(id, login) COMMENT(id, login, "x\\n<!-- drover:progress -->") ","

/* One of them is a person of the name that the App has. */
START_TEST(copies_of_a_mark_by_many_cost_one_question)
{
    static const char body[] = "[" COPY("1", "mallory") COPY("2", "eve") COPY("3", "mallory")
        COPY("4", "drover") COMMENT("5", "drover[bot]", "Old.\\n\\n<!-- drover:progress -->") "]";
    KIT_OPEN({.request = "GET " P "/issues/5/comments?per_page=100 HTTP", .body = body},
             ME("drover[bot]"),
             {.request = "PATCH " P "/issues/comments/5 HTTP", .body = "{\"id\":5}"});
    ck_assert_int_eq(prs_github.comment(&kit_call, &ref, &words, &kit_err), RC_OK);
}
END_TEST

START_TEST(a_comment_is_not_written_where_the_list_could_not_be_read)
{
    KIT_OPEN({.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
              .headers = "Content-Type: text/html\r\n",
              .body = "<html>"},
             {.request = "GET " P "/issues/5/comments?per_page=100 HTTP",
              .body = "[" COMMENT("2", "drover", "<!-- drover:progress -->") "]"},
             {.request = "POST /api/graphql HTTP", .status = "503 Unavailable", .body = "{}"});
    ck_assert_int_eq(prs_github.comment(&kit_call, &ref, &words, &kit_err), RC_CORRUPT);
    ck_assert_int_eq(prs_github.comment(&kit_call, &ref, &words, &kit_err), RC_UNREACHABLE);
}
END_TEST

START_TEST(a_long_comment_is_cut)
{
    KIT_OPEN({.request = "GET " P "/issues/5/comments", .body = "[]"},
             {.request = "POST " P "/issues/5/comments HTTP",
              .has = {"xxx\\n\\n<!-- drover:progress -->\"}"},
              .status = "201 Created",
              .body = "{\"id\":3}"});
    char *text = arena_alloc(&kit_arena, 2 * PR_COMMENT_MAX);
    memset(text, 'x', 2 * PR_COMMENT_MAX - 1);
    const struct forge_comment longer = {.key = "progress", .body = text};
    ck_assert_int_eq(prs_github.comment(&kit_call, &ref, &longer, &kit_err), RC_OK);
}
END_TEST

/* ---- labels, reviewers, body ---- */

START_TEST(labels_and_reviewers_are_added)
{
    KIT_OPEN({.request = "POST " P "/issues/5/labels HTTP",
              .has = {"{\"labels\":[\"bug\",\"drover\"]}"},
              .body = "[]"},
             {.request = "POST " P "/pulls/5/requested_reviewers HTTP",
              .has = {"{\"reviewers\":[\"ann\"],\"team_reviewers\":[\"core\"]}"},
              .status = "201 Created",
              .body = "{}"},
             {.request = "PATCH " P "/pulls/5 HTTP", .has = {"{\"body\":\"New\"}"}, .body = "{}"});
    const char *const none[] = {NULL};
    const char *const labels[] = {"bug", "drover", NULL};
    const char *const reviewers[] = {"ann", "team/core", NULL};
    ck_assert_int_eq(prs_github.label(&kit_call, &ref, labels, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.label(&kit_call, &ref, none, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.request_review(&kit_call, &ref, reviewers, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.request_review(&kit_call, &ref, none, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.set_body(&kit_call, &ref, "New", &kit_err), RC_OK);
}
END_TEST

/* ---- reviews ---- */

#define REVIEWED(login, state)                              \
    "[{\"id\":1,\"user\":{\"login\":\"" login               \
    "\"},\"body\":\"ok\\n<!-- drover:cert -->\",\"state\":" \
    "\"" state "\",\"commit_id\":\"" KIT_HEAD "\"}]"
static const struct pr_review_words approval = {
    .key = "cert", .commit = KIT_HEAD, .body = "ok", .approve = true};

START_TEST(a_review_is_submitted_once_for_a_head)
{
    KIT_OPEN({.request = "GET " P "/pulls/5/reviews?per_page=100 HTTP",
              .body = REVIEWED("drover", "PENDING")},
             {.request = "POST " P "/pulls/5/reviews HTTP",
              .has = {"{\"commit_id\":\"" KIT_HEAD "\",\"event\":\"APPROVE\",\"body\":\"ok\\n\\n"
                      "<!-- drover:cert -->\"}"},
              .body = "{\"id\":1}"},
             {.request = "GET " P "/pulls/5/reviews?per_page=100 HTTP",
              .body = REVIEWED("drover", "APPROVED")},
             ME("drover"),
             {.request = "GET " P "/pulls/5/reviews?per_page=100 HTTP",
              .body = REVIEWED("mallory", "APPROVED")},
             ME("drover"),
             {.request = "POST " P "/pulls/5/reviews HTTP",
              .status = "422 Unprocessable Entity",
              .body = "{\"message\":\"Can not approve your own pull request\"}"});
    ck_assert_int_eq(prs_github.review(&kit_call, &ref, &approval, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.review(&kit_call, &ref, &approval, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.review(&kit_call, &ref, &approval, &kit_err), RC_CONFLICT);
    ck_assert_ptr_nonnull(strstr(kit_err.text, "your own pull request"));
}
END_TEST

START_TEST(a_review_behind_the_copy_of_another_is_found)
{
    static const char mark[] = "\"body\":\"ok\\n<!-- drover:cert -->\",\"state\":\"APPROVED\","
                               "\"commit_id\":\"" KIT_HEAD "\"}";
    const char *reviews = arena_printf(&kit_arena,
                                       "[{\"id\":1,\"user\":{\"login\":\"mallory\"},%s,"
                                       "{\"id\":2,\"user\":{\"login\":\"drover[bot]\"},%s]",
                                       mark, mark);
    KIT_OPEN({.request = "GET " P "/pulls/5/reviews?per_page=100 HTTP", .body = reviews},
             ME("drover"));
    ck_assert_int_eq(prs_github.review(&kit_call, &ref, &approval, &kit_err), RC_OK);
}
END_TEST

/* ---- threads ---- */

#define THREAD(resolved, comments)                                      \
    KIT_GRAPHQL("ThreadComments", "{\"node\":{\"isResolved\":" resolved \
                                  ",\"comments\":{\"nodes\":[" comments "]}}}")

START_TEST(a_thread_is_answered_once)
{
    KIT_OPEN(
        THREAD("false", "{\"body\":\"x\\n<!-- drover:t1 -->\",\"viewerDidAuthor\":false}"),
        KIT_GRAPHQL("\"variables\":{\"thread\":\"T1\",\"body\":\"Done.\\n\\n<!-- drover:t1 -->",
                    "{\"addPullRequestReviewThreadReply\":{\"comment\":{\"id\":\"C\"}}}"),
        THREAD("false", "{\"body\":\"Done.\\n<!-- drover:t1 -->\",\"viewerDidAuthor\":true}"),
        KIT_GRAPHQL("ThreadComments", "{\"node\":{}}"));
    const struct forge_comment reply = {.key = "t1", .body = "Done."};
    ck_assert_msg(prs_github.thread_reply(&kit_call, &ref, "T1", &reply, &kit_err) == RC_OK, "%s",
                  kit_err.text);
    ck_assert_int_eq(prs_github.thread_reply(&kit_call, &ref, "T1", &reply, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.thread_reply(&kit_call, &ref, "T1", &reply, &kit_err),
                     RC_NOT_FOUND);
}
END_TEST

START_TEST(a_thread_is_resolved_once)
{
    KIT_OPEN(
        THREAD("false", ""),
        KIT_GRAPHQL("resolveReviewThread(input: {threadId: $thread})",
                    "{\"resolveReviewThread\":{\"thread\":{\"id\":\"T1\"}}}"),
        THREAD("true", ""), THREAD("false", ""),
        {.request = "POST /api/graphql HTTP",
         .body = "{\"data\":{\"resolveReviewThread\":null},\"errors\":[{\"type\":\"FORBIDDEN\","
                 "\"message\":\"no\"}]}"});
    ck_assert_int_eq(prs_github.thread_resolve(&kit_call, &ref, "T1", &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.thread_resolve(&kit_call, &ref, "T1", &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.thread_resolve(&kit_call, &ref, "T1", &kit_err), RC_DENIED);
}
END_TEST

/* ---- merging ---- */

#define SUBJECT(state, draft, queued, merging)                                         \
    KIT_GRAPHQL("PullRequestId",                                                       \
                "{\"repository\":{\"pullRequest\":{\"id\":\"PR_1\",\"state\":\"" state \
                "\",\"isDraft\":" draft ",\"headRefOid\":\"" KIT_HEAD                  \
                "\",\"isInMergeQueue\":" queued ",\"autoMergeRequest\":" merging "}}}")

START_TEST(a_draft_is_made_ready_once)
{
    KIT_OPEN(SUBJECT("OPEN", "true", "false", "null"),
             KIT_GRAPHQL("\"variables\":{\"id\":\"PR_1\"}",
                         "{\"markPullRequestReadyForReview\":{\"pullRequest\":{\"id\":\"PR_1\"}}}"),
             SUBJECT("OPEN", "false", "false", "null"), SUBJECT("CLOSED", "true", "false", "null"),
             KIT_GRAPHQL("PullRequestId", "{\"repository\":{\"pullRequest\":null}}"));
    ck_assert_msg(prs_github.mark_ready(&kit_call, &ref, &kit_err) == RC_OK, "%s", kit_err.text);
    ck_assert_int_eq(prs_github.mark_ready(&kit_call, &ref, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.mark_ready(&kit_call, &ref, &kit_err), RC_CONFLICT);
    ck_assert_int_eq(prs_github.mark_ready(&kit_call, &ref, &kit_err), RC_NOT_FOUND);
}
END_TEST

static enum rc auto_merge(const char *head)
{
    return prs_github.auto_merge(&kit_call, &ref, head, MERGE_WAY_SQUASH, &kit_err);
}

START_TEST(auto_merge_is_for_one_head)
{
    KIT_OPEN(SUBJECT("OPEN", "false", "false", "null"),
             KIT_GRAPHQL("\"variables\":{\"id\":\"PR_1\",\"head\":\"" KIT_HEAD
                         "\",\"way\":\"SQUASH\"}",
                         "{\"enablePullRequestAutoMerge\":{\"pullRequest\":{\"id\":\"PR_1\"}}}"),
             SUBJECT("OPEN", "false", "false", "{\"mergeMethod\":\"SQUASH\"}"),
             SUBJECT("MERGED", "false", "false", "null"), SUBJECT("OPEN", "false", "false", "null"),
             SUBJECT("OPEN", "false", "false", "null"),
             {.request = "POST /api/graphql HTTP",
              .body = "{\"data\":{\"enablePullRequestAutoMerge\":null},\"errors\":[{\"type\":"
                      "\"UNPROCESSABLE\",\"message\":\"Pull request is in clean status\"}]}"});
    ck_assert_msg(auto_merge(KIT_HEAD) == RC_OK, "%s", kit_err.text);
    ck_assert_int_eq(auto_merge(KIT_HEAD), RC_OK); /* It is set already. */
    ck_assert_int_eq(auto_merge(KIT_HEAD), RC_OK); /* It has merged. */
    ck_assert_int_eq(auto_merge(KIT_BASE), RC_CONFLICT);
    ck_assert_int_eq(auto_merge(KIT_HEAD), RC_CONFLICT);
    ck_assert_ptr_nonnull(strstr(kit_err.text, "clean status"));
}
END_TEST

START_TEST(the_queue_takes_one_head)
{
    KIT_OPEN(SUBJECT("OPEN", "false", "false", "null"),
             KIT_GRAPHQL("enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head})",
                         "{\"enqueuePullRequest\":{\"mergeQueueEntry\":{\"id\":\"E\"}}}"),
             SUBJECT("OPEN", "false", "true", "null"), SUBJECT("CLOSED", "false", "false", "null"));
    ck_assert_msg(prs_github.enqueue(&kit_call, &ref, KIT_HEAD, &kit_err) == RC_OK, "%s",
                  kit_err.text);
    ck_assert_int_eq(prs_github.enqueue(&kit_call, &ref, KIT_HEAD, &kit_err), RC_OK);
    ck_assert_int_eq(prs_github.enqueue(&kit_call, &ref, KIT_HEAD, &kit_err), RC_CONFLICT);
}
END_TEST

/* The answer is lost after the forge has acted: the act is not repeated, the caller looks. */
START_TEST(a_lost_answer_to_a_mutation_is_not_sent_again)
{
    KIT_OPEN(SUBJECT("OPEN", "true", "false", "null"),
             {.request = "POST /api/graphql HTTP", .how = SCRIPT_DROP},
             SUBJECT("OPEN", "false", "false", "null"));
    ck_assert_int_eq(prs_github.mark_ready(&kit_call, &ref, &kit_err), RC_UNREACHABLE);
    ck_assert_int_eq(prs_github.mark_ready(&kit_call, &ref, &kit_err), RC_OK);
}
END_TEST

Suite *github_prs_suite(void)
{
    Suite *suite = suite_create("github_prs");
    TCase *tc = tcase_create("github_prs");
    tcase_add_checked_fixture(tc, NULL, github_kit_close);
    tcase_add_test(tc, a_view_is_one_query);
    tcase_add_test(tc, long_lists_are_read_page_by_page);
    tcase_add_loop_test(tc, a_view_with_less_than_was_asked_for_is_cut, 0, COUNT_OF(halves));
    tcase_add_test(tc, pages_of_two_heads_are_cut_and_an_unknown_association_is_none);
    tcase_add_loop_test(tc, states_of_merging_are_those_of_the_port, 0,
                        (int)COUNT_OF(merge_states));
    tcase_add_test(tc, a_view_of_nothing_is_an_error);
    tcase_add_test(tc, changes_are_listed_since_a_time);
    tcase_add_test(tc, a_comment_is_written_once_and_then_edited);
    tcase_add_test(tc, a_mark_by_another_person_is_not_ours);
    tcase_add_test(tc, copies_of_a_mark_by_many_cost_one_question);
    tcase_add_test(tc, a_comment_is_not_written_where_the_list_could_not_be_read);
    tcase_add_test(tc, a_long_comment_is_cut);
    tcase_add_test(tc, labels_and_reviewers_are_added);
    tcase_add_test(tc, a_review_is_submitted_once_for_a_head);
    tcase_add_test(tc, a_review_behind_the_copy_of_another_is_found);
    tcase_add_test(tc, a_thread_is_answered_once);
    tcase_add_test(tc, a_thread_is_resolved_once);
    tcase_add_test(tc, a_draft_is_made_ready_once);
    tcase_add_test(tc, auto_merge_is_for_one_head);
    tcase_add_test(tc, the_queue_takes_one_head);
    tcase_add_test(tc, a_lost_answer_to_a_mutation_is_not_sent_again);
    suite_add_tcase(suite, tc);
    return suite;
}
