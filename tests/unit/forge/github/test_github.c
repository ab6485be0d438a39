/*
 * test_github.c - repositories and pull requests of GitHub as hosted.h wants them, in the shapes of
 * GitHub's documentation.
 */
#include "base/clock.h"
#include "forge/port/deliveries.h"
#include "tests/unit/github_kit.h"
#include "tests/unit/suites.h"
#include <string.h>

#define P "/api/v3/repos/acme/billing"

/* ---- addresses ---- */

static const struct {
    const char *url, *configured, *api, *host, *path, *web;
} places[] = {
    {"https://github.com/acme/billing.git", NULL, "https://api.github.com", "api.github.com",
     "acme/billing", "https://github.com/acme/billing"},
    {"https://drover@github.com/acme/billing/", NULL, "https://api.github.com", "api.github.com",
     "acme/billing", "https://github.com/acme/billing"},
    {"git@github.com:acme/billing.git", NULL, "https://api.github.com", "api.github.com",
     "acme/billing", "https://github.com/acme/billing"},
    {"ssh://git@ssh.github.com:443/acme/billing.git", NULL, "https://api.github.com",
     "api.github.com", "acme/billing", "https://github.com/acme/billing"},
    {"https://ghe.example:8443/acme/my.app", NULL, "https://ghe.example:8443/api/v3",
     "ghe.example:8443", "acme/my.app", "https://ghe.example:8443/acme/my.app"},
    {"ssh://git@ghe.example:2222/acme/billing", NULL, "https://ghe.example/api/v3", "ghe.example",
     "acme/billing", "https://ghe.example/acme/billing"},
    {"http://127.0.0.1:99/acme/billing.git", NULL, "http://127.0.0.1:99/api/v3", "127.0.0.1:99",
     "acme/billing", "http://127.0.0.1:99/acme/billing"},
    {"https://ghe.example/acme/billing", "https://api.ghe.example/", "https://api.ghe.example",
     "api.ghe.example", "acme/billing", "https://ghe.example/acme/billing"},
    {"https://github.com/acme", NULL, NULL, NULL, NULL, NULL},
    {"https://github.com/acme/a/b", NULL, NULL, NULL, NULL, NULL},
    {"https://github.com/acme/..", NULL, NULL, NULL, NULL, NULL},
    {"https://github.com/acme/a?x=1", NULL, NULL, NULL, NULL, NULL},
    {"/srv/git/billing.git", NULL, NULL, NULL, NULL, NULL},
    {"github.com", NULL, NULL, NULL, NULL, NULL},
};

START_TEST(addresses_lead_to_the_api)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct forge_call call = {.api = places[_i].configured};
    struct host_repo repo;
    struct err err = {0};
    enum rc rc = github_place(&call, places[_i].url, &arena, &repo, &err);
    ck_assert_msg(rc == (places[_i].api != NULL ? RC_OK : RC_INVALID), "%s", places[_i].url);
    if (rc != RC_OK)
        return;
    ck_assert_str_eq(repo.api, places[_i].api);
    ck_assert_str_eq(repo.host, places[_i].host);
    ck_assert_str_eq(repo.path, places[_i].path);
    ck_assert_str_eq(repo.web, places[_i].web);
    ck_assert_str_eq(host_github.pr_url(&repo, 7, &arena),
                     arena_printf(&arena, "%s/pull/7", places[_i].web));
}
END_TEST

/* ---- pull requests ---- */

#define PR(number, state, more)                                                                \
    "{\"id\":1,\"number\":" number ",\"state\":\"" state "\",\"title\":\"Fix\",\"body\":null," \
    "\"html_url\":\"https://github.example/acme/billing/pull/" number "\",\"draft\":false,"    \
    "\"head\":{\"label\":\"acme:x\",\"ref\":\"drover/x\",\"sha\":\"" KIT_HEAD                  \
    "\",\"repo\":{\"full_name\":\"acme/billing\"}},"                                           \
    "\"base\":{\"ref\":\"main\",\"sha\":\"" KIT_BASE                                           \
    "\",\"repo\":{\"full_name\":\"acme/billing\"}},"                                           \
    "\"merged_at\":null,\"merge_commit_sha\":\"" KIT_BASE "\"" more "}"
#define MERGED ",\"merged\":true"

START_TEST(a_pull_request_is_found_by_its_branch)
{
    KIT_OPEN({.request = "GET " P "/pulls?state=all&sort=created&direction=desc&per_page=100&head="
                         "acme%3Adrover%2Fx HTTP",
              .body = "[" PR("9", "closed", "") "," PR("5", "open", "") "," PR("3", "closed",
                                                                               MERGED) "]"});
    struct host_pr *prs = NULL;
    size_t count = 0;
    ck_assert_msg(host_github.find(&kit_call, &kit_repo, "drover/x", &kit_arena, &prs, &count,
                                   &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(prs[0].number, 5);
    ck_assert(prs[0].open && !prs[0].merged && !prs[0].draft && !prs[0].foreign_head);
    ck_assert_str_eq(prs[0].head, KIT_HEAD);
    ck_assert_str_eq(prs[0].head_branch, "drover/x");
    ck_assert_str_eq(prs[0].target_branch, "main");
    ck_assert_str_eq(prs[0].body, "");
    ck_assert_ptr_null(prs[0].merge_commit);
    ck_assert_int_eq(prs[1].number, 9);
    ck_assert(prs[2].merged);
    ck_assert_str_eq(prs[2].merge_commit, KIT_BASE);
}
END_TEST

START_TEST(a_moved_repository_has_another_owner)
{
    KIT_OPEN({.request = "GET " P "/pulls?", .has = {"head=acme%3Ax "}, .body = "[]"},
             {.request = "GET " P " HTTP",
              .status = "301 Moved Permanently",
              .headers = "Location: {base}/api/v3/repositories/7\r\n"},
             {.request = "GET /api/v3/repositories/7 HTTP",
              .body = "{\"id\":7,\"full_name\":\"newco/billing\"}"},
             {.request = "GET " P "/pulls?",
              .has = {"head=newco%3Ax "},
              .body = "[" PR("5", "open", "") "]"});
    struct host_pr *prs = NULL;
    size_t count = 0;
    ck_assert_msg(host_github.find(&kit_call, &kit_repo, "x", &kit_arena, &prs, &count, &kit_err) ==
                      RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(none_is_found_where_none_is)
{
    KIT_OPEN({.request = "GET " P "/pulls?", .body = "[]"},
             {.request = "GET " P " HTTP", .body = "{\"id\":7,\"full_name\":\"Acme/billing\"}"});
    struct host_pr *prs = NULL;
    size_t count = 9;
    ck_assert_int_eq(host_github.find(&kit_call, &kit_repo, "x", &kit_arena, &prs, &count, NULL),
                     RC_OK);
    ck_assert_uint_eq(count, 0);
}
END_TEST

static const struct host_new_pr wanted = {.branch = "drover/x",
                                          .target_branch = "main",
                                          .title = "Fix \"it\"",
                                          .body = "Body\n",
                                          .draft = true};

START_TEST(a_pull_request_is_created)
{
    KIT_OPEN({.request = "POST " P "/pulls HTTP",
              .has = {"{\"title\":\"Fix \\\"it\\\"\",\"head\":\"drover/x\",\"base\":\"main\","
                      "\"body\":\"Body\\n\",\"draft\":true}"},
              .status = "201 Created",
              .body = PR("5", "open", "")});
    struct host_pr pr;
    ck_assert_msg(host_github.create(&kit_call, &kit_repo, &wanted, &kit_arena, &pr, &kit_err) ==
                      RC_OK,
                  "%s", kit_err.text);
    ck_assert_int_eq(pr.number, 5);
}
END_TEST

static const struct {
    const char *status, *body;
    enum rc rc;
    const char *word;
} refusals[] = {
    {"422 Unprocessable Entity",
     "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"PullRequest\",\"code\":"
     "\"custom\",\"message\":\"A pull request already exists for acme:drover/x.\"}]}",
     RC_CONFLICT, "already exists"},
    {"422 Unprocessable Entity",
     "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"PullRequest\",\"field\":"
     "\"base\",\"code\":\"invalid\"}]}",
     RC_INVALID, "base invalid"},
    {"403 Forbidden", "{\"message\":\"Resource not accessible by integration\"}", RC_DENIED,
     "integration"},
    {"201 Created", "{\"number\":5}", RC_CORRUPT, "no pull request"},
    {"201 Created", "[]", RC_CORRUPT, "no pull request"},
};

START_TEST(a_refused_creation_says_why)
{
    KIT_OPEN({.request = "POST " P "/pulls HTTP",
              .status = refusals[_i].status,
              .body = refusals[_i].body});
    struct host_pr pr;
    ck_assert_int_eq(host_github.create(&kit_call, &kit_repo, &wanted, &kit_arena, &pr, &kit_err),
                     refusals[_i].rc);
    ck_assert_msg(strstr(kit_err.text, refusals[_i].word) != NULL, "%s", kit_err.text);
}
END_TEST

START_TEST(a_plan_without_drafts_gets_a_ready_one)
{
    KIT_OPEN(
        {.request = "POST " P "/pulls HTTP",
         .has = {"\"draft\":true"},
         .status = "422 Unprocessable Entity",
         .body = "{\"message\":\"Draft pull requests are not supported in this repository.\"}"},
        {.request = "POST " P "/pulls HTTP",
         .has = {"\"draft\":false"},
         .status = "201 Created",
         .body = PR("5", "open", "")});
    struct host_pr pr;
    ck_assert_int_eq(host_github.create(&kit_call, &kit_repo, &wanted, &kit_arena, &pr, &kit_err),
                     RC_OK);
}
END_TEST

START_TEST(closing_and_getting_name_the_number)
{
    KIT_OPEN({.request = "PATCH " P "/pulls/5 HTTP",
              .has = {"{\"state\":\"closed\"}"},
              .body = PR("5", "closed", "")},
             {.request = "GET " P "/pulls/5 HTTP", .body = PR("5", "closed", "")},
             {.request = "GET " P "/pulls/6 HTTP",
              .status = "404 Not Found",
              .body = "{\"message\":\"Not Found\"}"});
    struct host_pr pr;
    ck_assert_int_eq(host_github.close(&kit_call, &kit_repo, 5, &kit_err), RC_OK);
    ck_assert_int_eq(host_github.get(&kit_call, &kit_repo, 5, &kit_arena, &pr, &kit_err), RC_OK);
    ck_assert(!pr.open && !pr.merged);
    ck_assert_int_eq(host_github.get(&kit_call, &kit_repo, 6, &kit_arena, &pr, &kit_err),
                     RC_NOT_FOUND);
}
END_TEST

START_TEST(a_fork_is_told_apart)
{
    KIT_OPEN(
        {.request = "GET " P "/pulls?state=open",
         .headers = "Link: <{base}" P "/pulls?page=2>; rel=\"next\"\r\n",
         .body = "[{\"number\":5,\"state\":\"open\",\"head\":{\"ref\":\"x\",\"sha\":\"" KIT_HEAD
                 "\",\"repo\":null},\"base\":{\"ref\":\"main\"}}]"},
        {.request = "GET " P "/pulls?page=2 HTTP", .body = "[" PR("6", "open", "") "]"});
    struct host_pr *prs = NULL;
    size_t count = 0;
    ck_assert_msg(host_github.list_open(&kit_call, &kit_repo, &kit_arena, &prs, &count, &kit_err) ==
                      RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 2);
    ck_assert(prs[0].foreign_head && !prs[1].foreign_head);
}
END_TEST

/* ---- merging ---- */

static char commit[GIT_HASH_BYTES];

static enum rc merge(void)
{
    commit[0] = '\0';
    return host_github.merge(&kit_call, &kit_repo, 5, KIT_HEAD, "Merge it\n\nBecause.\n", commit,
                             &kit_err);
}

START_TEST(a_merge_names_its_head)
{
    KIT_OPEN({.request = "PUT " P "/pulls/5/merge HTTP",
              .has = {"{\"sha\":\"" KIT_HEAD "\",\"merge_method\":\"merge\",\"commit_title\":"
                      "\"Merge it\",\"commit_message\":\"Because.\\n\"}"},
              .body = "{\"sha\":\"" KIT_BASE "\",\"merged\":true,\"message\":\"merged\"}"});
    ck_assert_msg(merge() == RC_OK, "%s", kit_err.text);
    ck_assert_str_eq(commit, KIT_BASE);
}
END_TEST

START_TEST(a_repository_may_allow_squashing_alone)
{
    KIT_OPEN({.request = "PUT " P "/pulls/5/merge HTTP",
              .status = "405 Method Not Allowed",
              .body = "{\"message\":\"Merge commits are not allowed on this repository.\"}"},
             {.request = "PUT " P "/pulls/5/merge HTTP",
              .has = {"\"merge_method\":\"squash\""},
              .body = "{\"sha\":\"" KIT_BASE "\",\"merged\":true}"});
    ck_assert_msg(merge() == RC_OK, "%s", kit_err.text);
}
END_TEST

START_TEST(a_merge_whose_answer_was_lost_is_found)
{
    KIT_OPEN({.request = "PUT " P "/pulls/5/merge HTTP", .how = SCRIPT_DROP},
             {.request = "PUT " P "/pulls/5/merge HTTP",
              .status = "405 Method Not Allowed",
              .body = "{\"message\":\"Pull Request is not mergeable\"}"},
             {.request = "GET " P "/pulls/5 HTTP", .body = PR("5", "closed", MERGED)});
    ck_assert_msg(merge() == RC_OK, "%s", kit_err.text);
    ck_assert_str_eq(commit, KIT_BASE);
}
END_TEST

START_TEST(a_merge_that_cannot_be_says_why)
{
    KIT_OPEN(
        {.request = "PUT " P "/pulls/5/merge HTTP",
         .status = "409 Conflict",
         .body = "{\"message\":\"Head branch was modified. Review and try the merge again.\"}"},
        {.request = "GET " P "/pulls/5 HTTP", .body = PR("5", "open", "")});
    ck_assert_int_eq(merge(), RC_CONFLICT);
    ck_assert_ptr_nonnull(strstr(kit_err.text, "Head branch was modified"));
    ck_assert_str_eq(commit, "");
}
END_TEST

START_TEST(a_repository_has_an_id_that_stays)
{
    KIT_OPEN({.request = "GET " P " HTTP",
              .body = "{\"id\":1296269,\"full_name\":\"acme/billing\",\"name\":\"billing\"}"},
             {.request = "GET " P " HTTP", .body = "{\"id\":0}"});
    const char *id = NULL, *name = NULL;
    ck_assert_int_eq(host_github.identify(&kit_call, &kit_repo, &kit_arena, &id, &name, &kit_err),
                     RC_OK);
    ck_assert_str_eq(id, "1296269");
    ck_assert_str_eq(name, "acme/billing");
    ck_assert_int_eq(host_github.identify(&kit_call, &kit_repo, &kit_arena, &id, &name, &kit_err),
                     RC_CORRUPT);
}
END_TEST

/* ---- GraphQL ---- */

static const struct {
    const char *body;
    bool changes;
    enum rc rc;
    const char *code;
} answers[] = {
    {"{\"data\":{\"a\":{\"b\":1}}}", false, RC_OK, ""},
    {"{\"data\":{\"a\":1,\"b\":null},\"errors\":[{\"type\":\"FORBIDDEN\",\"message\":\"b\"}]}",
     false, RC_OK, ""},
    {"{\"data\":{\"a\":1},\"errors\":[{\"type\":\"UNPROCESSABLE\",\"message\":\"b\"}]}", true,
     RC_CONFLICT, "FORGE_CONFLICT"},
    {"{\"data\":{\"a\":null},\"errors\":[{\"type\":\"NOT_FOUND\",\"message\":\"Could not\"}]}",
     false, RC_NOT_FOUND, "FORGE_NOT_FOUND"},
    {"{\"data\":{\"a\":null},\"errors\":[{\"type\":\"FORBIDDEN\",\"message\":\"no\"}]}", true,
     RC_DENIED, "FORGE_DENIED"},
    {"{\"errors\":[{\"type\":\"RATE_LIMITED\",\"message\":\"API rate limit exceeded\"}]}", false,
     RC_LIMIT, "FORGE_LIMIT"},
    {"{\"errors\":[{\"message\":\"Field 'x' doesn't exist\"}]}", false, RC_CORRUPT,
     "FORGE_HALF_ANSWER"},
    {"{\"data\":null}", false, RC_CORRUPT, "FORGE_HALF_ANSWER"},
    {"[]", false, RC_CORRUPT, "FORGE_HALF_ANSWER"},
};

START_TEST(answers_of_graphql_have_a_meaning)
{
    KIT_OPEN({.request = "POST /api/graphql HTTP",
              .has = {"{\"query\":\"query Q { a }\",\"variables\":{\"x\":1}}"},
              .body = answers[_i].body});
    const struct github gh = {
        .call = &kit_call, .repo = kit_repo, .arena = &kit_arena, .err = &kit_err};
    const struct github_query query = {
        .text = "query Q { a }", .variables = STR("{\"x\":1}"), .changes = answers[_i].changes};
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    ck_assert_int_eq(github_graphql(&gh, &query, &answer), answers[_i].rc);
    ck_assert_str_eq(kit_err.code, answers[_i].code);
    if (answers[_i].rc == RC_LIMIT)
        ck_assert_int_gt(kit_err.retry_ms, 0);
}
END_TEST

/* ---- deliveries ---- */

START_TEST(a_delivery_is_signed_with_its_secret)
{
    /* From GitHub's documentation. */
    static const char good[] =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    bool (*const check)(const char *, const char *, struct str) = deliveries_github.signed_with;
    ck_assert(check("It's a Secret to Everybody", good, STR("Hello, World!")));
    ck_assert(!check("It's a Secret to Nobody", good, STR("Hello, World!")));
    ck_assert(!check("It's a Secret to Everybody", good, STR("Hello, World?")));
    ck_assert(!check("It's a Secret to Everybody", good + 7, STR("Hello, World!")));
    ck_assert(!check("It's a Secret to Everybody", "sha256=", STR("Hello, World!")));
    ck_assert(!check("It's a Secret to Everybody", NULL, STR("Hello, World!")));
    ck_assert(!check("", good, STR("Hello, World!")));
    ck_assert_str_eq(deliveries_github.headers.signature, "X-Hub-Signature-256");
}
END_TEST

#define SENT(id, guid, at, code)                                                                   \
    "{\"id\":" id ",\"guid\":\"" guid "\",\"delivered_at\":\"2023-11-14T" at "Z\",\"redelivery\":" \
    "false,\"duration\":0.27,\"status\":\"OK\",\"status_code\":" code                              \
    ",\"event\":\"issues\",\"action\":\"opened\",\"installation_id\":null,\"repository_id\":7}"

START_TEST(deliveries_are_listed_back_to_a_time)
{
    KIT_OPEN(
        {.request = "GET " P "/hooks?per_page=100 HTTP",
         .body = "[{\"id\":1,\"config\":{\"url\":\"https://ci.example/x\"}},"
                 "{\"id\":2,\"config\":{\"url\":\"https://d.example/v1/webhooks/github\"}}]"},
        {.request = "GET " P "/hooks/2/deliveries?per_page=100 HTTP",
         .headers = "Link: <{base}" P "/hooks/2/deliveries?cursor=c>; rel=\"next\"\r\n",
         .body = "[" SENT("14", "g3", "12:00:04", "200") "," SENT("13", "g2", "12:00:03",
                                                                  "502") "]"},
        {.request = "GET " P "/hooks/2/deliveries?cursor=c HTTP",
         .body = "[" SENT("12", "g3", "12:00:02", "0") "," SENT("11", "g1", "12:00:01", "200") "]"},
        {.request = "GET " P "/hooks/2/deliveries/13 HTTP",
         .body = "{\"id\":13,\"guid\":\"g2\",\"request\":{\"headers\":{},\"payload\":"
                 "{\"action\":\"opened\",\"n\":1}}}"});
    struct forge_delivery *items = NULL;
    size_t count = 0;
    int64_t since_us = 0;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1000);
    ck_assert(time_parse("2023-11-14T12:00:02Z", &since_us));
    ck_assert_msg(deliveries_github.list(&kit_call, KIT_URL, since_us, &kit_arena, &items, &count,
                                         &kit_err) == RC_OK,
                  "%s", kit_err.text);
    ck_assert_uint_eq(count, 2); /* g3 is one, and was answered in the end. */
    ck_assert_str_eq(items[0].id, "g3");
    ck_assert(items[0].answered);
    ck_assert_str_eq(items[1].id, "g2");
    ck_assert(!items[1].answered);
    ck_assert_str_eq(items[1].event, "issues");
    ck_assert_int_eq(deliveries_github.payload(&kit_call, KIT_URL, &items[1], &body, &kit_err),
                     RC_OK);
    ck_assert_str_eq(buf_text(&body), "{\"action\":\"opened\",\"n\":1}");
}
END_TEST

START_TEST(an_app_lists_its_own_deliveries)
{
    KIT_OPEN({.request = "GET /api/v3/app/hook/config HTTP",
              .has = {"Authorization: Bearer eyJ.x.y"},
              .body = "{\"url\":\"https://d.example/v1/webhooks/github\"}"},
             {.request = "GET /api/v3/app/hook/deliveries?per_page=100 HTTP",
              .has = {"Authorization: Bearer eyJ.x.y"},
              .body = "[" SENT("14", "g3", "12:00:04", "200") "]"},
             {.request = "GET /api/v3/app/hook/deliveries/14 HTTP",
              .body = "{\"id\":14,\"request\":{\"payload\":null}}"});
    struct forge_delivery *items = NULL;
    size_t count = 0;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1000);
    kit_call.git.credential = "eyJ.x.y";
    ck_assert_int_eq(
        deliveries_github.list(&kit_call, KIT_URL, 0, &kit_arena, &items, &count, &kit_err), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(deliveries_github.payload(&kit_call, KIT_URL, &items[0], &body, &kit_err),
                     RC_NOT_FOUND);
}
END_TEST

/* The webhook of an App serves many repositories; one of them may see its own deliveries. */
START_TEST(of_an_app_a_repository_sees_its_own_deliveries)
{
    KIT_OPEN({.request = "GET /api/v3/repos/acme/billing HTTP", .body = "{\"id\":7}"},
             {.request = "GET /api/v3/app/hook/config HTTP",
              .body = "{\"url\":\"https://d.example/v1/webhooks/github\"}"},
             {.request = "GET /api/v3/app/hook/deliveries?per_page=100 HTTP",
              .body = "[{\"id\":1,\"guid\":\"g1\",\"repository_id\":8,\"event\":\"push\","
                      "\"delivered_at\":\"2026-07-03T12:00:02Z\",\"status_code\":502},"
                      "{\"id\":2,\"guid\":\"g2\",\"repository_id\":7,\"event\":\"push\","
                      "\"delivered_at\":\"2026-07-03T12:00:01Z\",\"status_code\":502},"
                      "{\"id\":3,\"guid\":\"g3\",\"repository_id\":null,\"event\":\"ping\","
                      "\"delivered_at\":\"2026-07-03T12:00:00Z\",\"status_code\":200}]"},
             {.request = "GET /api/v3/app/hook/deliveries/2 HTTP",
              .body = "{\"id\":2,\"repository_id\":7,\"request\":{\"payload\":{\"n\":2}}}"},
             {.request = "GET /api/v3/app/hook/deliveries/1 HTTP",
              .body = "{\"id\":1,\"repository_id\":8,\"request\":{\"payload\":{\"n\":1}}}"});
    struct forge_delivery *items = NULL;
    size_t count = 0;
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 1000);
    ck_assert_int_eq(deliveries_github.number(&kit_call, KIT_URL, &kit_call.repository, &kit_err),
                     RC_OK);
    ck_assert_int_eq(kit_call.repository, 7);
    kit_call.git.credential = "eyJ.x.y";
    ck_assert_int_eq(
        deliveries_github.list(&kit_call, KIT_URL, 0, &kit_arena, &items, &count, &kit_err), RC_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(items[0].id, "g2");
    ck_assert_int_eq(deliveries_github.payload(&kit_call, KIT_URL, &items[0], &body, &kit_err),
                     RC_OK);
    ck_assert_str_eq(buf_text(&body), "{\"n\":2}");
    items[0].handle = "/app/hook/deliveries/1"; /* Of another repository. */
    ck_assert_int_eq(deliveries_github.payload(&kit_call, KIT_URL, &items[0], &body, &kit_err),
                     RC_NOT_FOUND);
}
END_TEST

START_TEST(an_app_whose_webhook_leads_elsewhere_has_none_for_us)
{
    KIT_OPEN({.request = "GET /api/v3/app/hook/config HTTP",
              .body = "{\"url\":\"https://elsewhere.example/hook\"}"});
    struct forge_delivery *items = NULL;
    size_t count = 0;
    kit_call.git.credential = "eyJ.x.y";
    ck_assert_int_eq(
        deliveries_github.list(&kit_call, KIT_URL, 0, &kit_arena, &items, &count, &kit_err),
        RC_NOT_FOUND);
    ck_assert_str_eq(kit_err.code, "NO_APP_HOOK");
}
END_TEST

Suite *github_suite(void)
{
    Suite *suite = suite_create("github");
    TCase *tc = tcase_create("pure"), *api = tcase_create("api");
    tcase_add_loop_test(tc, addresses_lead_to_the_api, 0, (int)COUNT_OF(places));
    tcase_add_test(tc, a_delivery_is_signed_with_its_secret);
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(api, NULL, github_kit_close);
    tcase_add_test(api, a_pull_request_is_found_by_its_branch);
    tcase_add_test(api, a_moved_repository_has_another_owner);
    tcase_add_test(api, none_is_found_where_none_is);
    tcase_add_test(api, a_pull_request_is_created);
    tcase_add_loop_test(api, a_refused_creation_says_why, 0, (int)COUNT_OF(refusals));
    tcase_add_test(api, a_plan_without_drafts_gets_a_ready_one);
    tcase_add_test(api, closing_and_getting_name_the_number);
    tcase_add_test(api, a_fork_is_told_apart);
    tcase_add_test(api, a_merge_names_its_head);
    tcase_add_test(api, a_repository_may_allow_squashing_alone);
    tcase_add_test(api, a_merge_whose_answer_was_lost_is_found);
    tcase_add_test(api, a_merge_that_cannot_be_says_why);
    tcase_add_test(api, a_repository_has_an_id_that_stays);
    tcase_add_loop_test(api, answers_of_graphql_have_a_meaning, 0, (int)COUNT_OF(answers));
    tcase_add_test(api, deliveries_are_listed_back_to_a_time);
    tcase_add_test(api, an_app_lists_its_own_deliveries);
    tcase_add_test(api, of_an_app_a_repository_sees_its_own_deliveries);
    tcase_add_test(api, an_app_whose_webhook_leads_elsewhere_has_none_for_us);
    suite_add_tcase(suite, api);
    return suite;
}
