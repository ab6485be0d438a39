/*
 * test_rest.c - requests to the API of a forge: pages, ETags, limits, broken answers.
 */
#include "base/clock.h"
#include "forge/host/rest.h"
#include "tests/unit/api_script.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TOKEN "ghp_0123456789012345678901234567890123456789"

static const struct http_field headers[] = {{"Accept", "application/vnd.github+json"},
                                            {NULL, NULL}};
static const struct rest_dialect dialect = {.name = "GitHub",
                                            .headers = headers,
                                            .auth_header = "Authorization",
                                            .auth_prefix = "Bearer ",
                                            .limit = "x-ratelimit-limit",
                                            .remaining = "x-ratelimit-remaining",
                                            .reset = "x-ratelimit-reset",
                                            .resource = "x-ratelimit-resource"};

static struct arena arena;
static struct forge_call call;
static struct rest_answer answer;
static struct err err;
static struct {
    int asked, told;
    enum rc verdict;
    struct forge_limit_seen seen;
    char resource[64], asked_resource[64];
} gate_seen;

static enum rc ask(void *ctx, const char *host, const char *resource, struct err *ret_err)
{
    (void)ctx;
    ck_assert_str_eq(host, "api.test");
    text_copy(gate_seen.asked_resource, sizeof gate_seen.asked_resource, resource);
    gate_seen.asked++;
    if (gate_seen.verdict != RC_OK) {
        (void)err_set(ret_err, gate_seen.verdict, "FORGE_LIMIT", "not now");
        ret_err->retry_ms = 1234;
    }
    return gate_seen.verdict;
}

static void told(void *ctx, const struct forge_limit_seen *seen)
{
    (void)ctx;
    gate_seen.told++;
    gate_seen.seen = *seen;
    text_copy(gate_seen.resource, sizeof gate_seen.resource, seen->resource);
}
static const struct forge_gate gate = {.ask = ask, .told = told};

static void setup(void)
{
    memset(&gate_seen, 0, sizeof gate_seen);
    memset(&err, 0, sizeof err);
    call = (struct forge_call){.git = {.credential = TOKEN}, .gate = &gate};
}

static void teardown(void)
{
    rest_answer_release(&answer);
    forge_call_release(&call);
    arena_release(&arena);
}

static struct rest_request request_to(const struct api_script *script, const char *method,
                                      const char *path)
{
    return (struct rest_request){.dialect = &dialect,
                                 .base = arena_printf(&arena, "%s/api/v3", api_script_url(script)),
                                 .host = "api.test",
                                 .method = method,
                                 .path = path};
}

static enum rc get(const struct api_script *script, const char *path)
{
    const struct rest_request request = request_to(script, "GET", path);
    return rest_call(&call, &request, &arena, &answer, &err);
}

static enum rc post(const struct api_script *script, const char *path)
{
    struct rest_request request = request_to(script, "POST", path);
    request.body = STR("{\"a\":1}");
    return rest_call(&call, &request, &arena, &answer, &err);
}

START_TEST(a_request_carries_token_and_dialect_and_tells_the_limit)
{
    struct api_script *script = API_SCRIPT(
        {.request = "GET /api/v3/repos/acme/billing HTTP/1.1",
         .has = {"Authorization: Bearer " TOKEN "\r\n", "Accept: application/vnd.github+json\r\n"},
         .lacks = "Accept: application/json",
         .headers = "X-RateLimit-Limit: 5000\r\nx-ratelimit-remaining: 4999\r\n"
                    "X-RateLimit-Reset: 1700000000\r\nX-RateLimit-Resource: core\r\n"
                    "ETag: W/\"abc\"\r\n",
         .body = "{\"id\": 7}"},
        {.request = "GET /api/v3/x HTTP/1.1", .body = "{}"});
    ck_assert_msg(get(script, "/repos/acme/billing") == RC_OK, "%s", err.text);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.etag, "W/\"abc\"");
    ck_assert_ptr_null(answer.next);
    ck_assert_int_eq(js_get_int(answer.document, "id", 0), 7);
    ck_assert_int_eq(gate_seen.asked, 1);
    ck_assert_str_eq(gate_seen.asked_resource, "core");
    ck_assert_int_eq(gate_seen.told, 1);
    ck_assert_int_eq(gate_seen.seen.limit, 5000);
    ck_assert_int_eq(gate_seen.seen.remaining, 4999);
    ck_assert_int_eq(gate_seen.seen.reset_us, 1700000000 * US_PER_SECOND);
    ck_assert(!gate_seen.seen.secondary);
    rest_answer_release(&answer);
    ck_assert_int_eq(get(script, "/x"), RC_OK);
    ck_assert_int_eq(gate_seen.told, 1); /* Nothing to tell. */
    ck_assert_int_eq(api_script_connections(script), 1);
    api_script_done(script);
}
END_TEST

/* ---- another credential ---- */

static struct {
    int asked;
    const char *other; /* NULL: there is none. */
    char refused[64];
} renewals;

static enum rc renew(void *ctx, const char *refused, const char **ret_credential)
{
    (void)ctx;
    renewals.asked++;
    text_copy(renewals.refused, sizeof renewals.refused, refused);
    if (renewals.other == NULL)
        return RC_UNAUTHORIZED;
    *ret_credential = renewals.other;
    return RC_OK;
}
static const struct git_renewal renewal = {.renew = renew};

static void renew_with(const char *other)
{
    memset(&renewals, 0, sizeof renewals);
    renewals.other = other;
    call.git.renewal = &renewal;
}

#define UNAUTHORIZED(line, token)                                           \
    {                                                                       \
        .request = line, .has = {"Authorization: Bearer " token "\r\n"},    \
        .status = "401 Unauthorized", .body = "{\"message\":\"Bad token\"}" \
    }
#define LET_IN(line)                                                                \
    {                                                                               \
        .request = line, .has = {"Authorization: Bearer another\r\n"}, .body = "{}" \
    }

/* A 401 says that nothing was done: a POST is repeated as well. */
START_TEST(a_refused_credential_is_replaced_and_the_request_repeated)
{
    struct api_script *script = API_SCRIPT(UNAUTHORIZED("POST /api/v3/x HTTP", TOKEN),
                                           LET_IN("POST /api/v3/x HTTP"),
                                           LET_IN("GET /api/v3/y HTTP"));
    renew_with("another");
    ck_assert_msg(post(script, "/x") == RC_OK, "%s", err.text);
    rest_answer_release(&answer);
    ck_assert_str_eq(renewals.refused, TOKEN);
    ck_assert_int_eq(get(script, "/y"), RC_OK); /* With the other one from the start. */
    ck_assert_int_eq(renewals.asked, 1);
    ck_assert_str_eq(err.code, "");
    api_script_done(script);
}
END_TEST

START_TEST(a_credential_that_is_refused_again_is_refused)
{
    struct api_script *script = API_SCRIPT(UNAUTHORIZED("GET /api/v3/x HTTP", TOKEN),
                                           UNAUTHORIZED("GET /api/v3/x HTTP", "another"));
    renew_with("another");
    ck_assert_int_eq(get(script, "/x"), RC_UNAUTHORIZED);
    ck_assert_int_eq(renewals.asked, 1);
    api_script_done(script);
}
END_TEST

START_TEST(without_another_credential_the_refusal_stands)
{
    struct api_script *script = API_SCRIPT(UNAUTHORIZED("GET /api/v3/x HTTP", TOKEN));
    renew_with(NULL);
    ck_assert_int_eq(get(script, "/x"), RC_UNAUTHORIZED);
    ck_assert_str_eq(err.code, "FORGE_UNAUTHORIZED");
    ck_assert_int_eq(renewals.asked, 1);
    api_script_done(script);
}
END_TEST

START_TEST(the_gate_may_refuse)
{
    struct api_script *script = api_script_start(NULL, 0);
    gate_seen.verdict = RC_LIMIT;
    ck_assert_int_eq(get(script, "/x"), RC_LIMIT);
    ck_assert_str_eq(err.code, "FORGE_LIMIT");
    ck_assert_int_eq(err.retry_ms, 1234);
    api_script_done(script);
}
END_TEST

START_TEST(an_etag_that_holds_is_no_error)
{
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/x HTTP/1.1",
                                            .has = {"If-None-Match: \"e1\"\r\n"},
                                            .status = "304 Not Modified",
                                            .headers = "ETag: \"e1\"\r\n"});
    struct rest_request request = request_to(script, "GET", "/x");
    request.etag = "\"e1\"";
    ck_assert_int_eq(rest_call(&call, &request, &arena, &answer, &err), RC_OK);
    ck_assert(answer.same);
    ck_assert_str_eq(answer.etag, "\"e1\"");
    ck_assert_ptr_null(answer.document);
    api_script_done(script);
}
END_TEST

static const struct {
    const char *status, *headers, *body;
    enum rc rc;
    const char *code, *word;
    int64_t retry_ms; /* -1: about a minute at most */
    bool secondary;
} refusals[] = {
    {"401 Unauthorized", "", "{\"message\":\"Bad credentials\"}", RC_UNAUTHORIZED,
     "FORGE_UNAUTHORIZED", "Bad credentials", 0, false},
    {"403 Forbidden", "x-ratelimit-remaining: 12\r\n",
     "{\"message\":\"Resource not accessible by integration\"}", RC_DENIED, "FORGE_DENIED",
     "by integration", 0, false},
    {"404 Not Found", "", "{\"message\":\"Not Found\"}", RC_NOT_FOUND, "FORGE_NOT_FOUND",
     "404 to POST /x", 0, false},
    {"410 Gone", "", "{\"message\":\"Issues are disabled\"}", RC_NOT_FOUND, "FORGE_NOT_FOUND",
     "disabled", 0, false},
    {"405 Method Not Allowed", "", "{\"message\":\"Pull Request is not mergeable\"}", RC_CONFLICT,
     "FORGE_CONFLICT", "not mergeable", 0, false},
    {"409 Conflict", "", "{}", RC_CONFLICT, "FORGE_CONFLICT", "409", 0, false},
    {"422 Unprocessable", "",
     "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"PullRequest\",\"code\":"
     "\"custom\",\"message\":\"No commits between main and x\"}]}",
     RC_INVALID, "FORGE_REFUSED", "Validation Failed; No commits between main and x", 0, false},
    {"422 Unprocessable", "",
     "{\"message\":\"Validation Failed\",\"errors\":[{\"resource\":\"Label\",\"field\":\"name\","
     "\"code\":\"missing_field\"}, \"plain\"]}",
     RC_INVALID, "FORGE_REFUSED", "name missing_field; plain", 0, false},
    {"400 Bad Request", "", "{\"message\":{\"base\":[\"too long\"]}}", RC_INVALID, "FORGE_REFUSED",
     "too long", 0, false},
    {"400 Bad Request", "", "{\"error\":\"invalid_grant\"}", RC_INVALID, "FORGE_REFUSED",
     "invalid_grant", 0, false},
    {"403 Forbidden", "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1\r\n",
     "{\"message\":\"API rate limit exceeded\"}", RC_LIMIT, "FORGE_LIMIT", "exceeded", 1000, false},
    {"429 Too Many Requests", "x-ratelimit-remaining: 0\r\nretry-after: 17\r\n", "{}", RC_LIMIT,
     "FORGE_LIMIT", "none is left", 17000, false},
    {"403 Forbidden", "retry-after: 30\r\nx-ratelimit-remaining: 4000\r\n",
     "{\"message\":\"You have exceeded a secondary rate limit.\"}", RC_LIMIT, "FORGE_LIMIT",
     "secondary", 30000, true},
    {"403 Forbidden", "", "{\"message\":\"You have exceeded a secondary rate limit.\"}", RC_LIMIT,
     "FORGE_LIMIT", "secondary", 60000, true},
    {"429 Too Many Requests", "", "slow down", RC_LIMIT, "FORGE_LIMIT", "secondary", 60000, true},
    {"429 Too Many Requests", "retry-after: soon\r\n", "{}", RC_LIMIT, "FORGE_LIMIT", "secondary",
     60000, true},
    {"500 Oops", "", "{}", RC_UNREACHABLE, "FORGE_UNAVAILABLE", "500", 0, false},
    {"502 Bad Gateway", "", "<html>", RC_UNREACHABLE, "FORGE_UNAVAILABLE", "502", 0, false},
    {"503 Unavailable", "Retry-After: 5\r\n", "{}", RC_UNREACHABLE, "FORGE_UNAVAILABLE", "503",
     5000, false},
    {"503 Unavailable", "Retry-After: 9223372036854775807\r\n", "{}", RC_UNREACHABLE,
     "FORGE_UNAVAILABLE", "503", 24 * 3600 * 1000, false},
    {"429 Too Many Requests", "retry-after: 9223372036854775807\r\n", "{}", RC_LIMIT, "FORGE_LIMIT",
     "secondary", 24 * 3600 * 1000, true},
    {"504 Timeout", "", "{}", RC_UNREACHABLE, "FORGE_UNAVAILABLE", "504", 0, false},
    {"413 Too Large", "", "{}", RC_TOO_LARGE, "FORGE_TOO_LARGE", "413", 0, false},
    {"451 Legal", "", "{}", RC_DENIED, "FORGE_DENIED", "451", 0, false},
    {"302 Found", "Location: https://elsewhere.test/x\r\n", "", RC_CORRUPT, "FORGE_MOVED", "302", 0,
     false},
    {"302 Found", "Location: {base}/api/v3/repositories/7\r\n", "", RC_CORRUPT, "FORGE_MOVED",
     "302", 0, false}, /* It would become a GET. */
};

START_TEST(refusals_have_a_meaning)
{
    struct api_script *script = API_SCRIPT({.request = "POST /api/v3/x?q=1 HTTP/1.1",
                                            .status = refusals[_i].status,
                                            .headers = refusals[_i].headers,
                                            .body = refusals[_i].body});
    ck_assert_int_eq(post(script, "/x?q=1"), refusals[_i].rc);
    ck_assert_str_eq(err.code, refusals[_i].code);
    ck_assert_msg(strstr(err.text, refusals[_i].word) != NULL, "no \"%s\" in: %s",
                  refusals[_i].word, err.text);
    ck_assert_int_eq(err.retry_ms, refusals[_i].retry_ms);
    if (refusals[_i].rc == RC_LIMIT) {
        ck_assert_int_eq(gate_seen.told, 1);
        ck_assert_int_eq(gate_seen.seen.secondary, refusals[_i].secondary);
        if (refusals[_i].secondary)
            ck_assert_int_eq(gate_seen.seen.retry_ms, refusals[_i].retry_ms);
    }
    ck_assert_ptr_null(answer.document);
    api_script_done(script);
}
END_TEST

/* A worker passes them on, and the server takes no others. */
static const struct {
    const char *headers;
    int64_t limit, remaining, reset_us;
} numbers[] = {
    {"X-RateLimit-Limit: 9223372036854775807\r\nX-RateLimit-Remaining: 1000000000\r\n", -1,
     1000000000, -1},
    {"X-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 9223372036854775807\r\n", -1, 7, -1},
    {"X-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 4611686018427\r\n", -1, 7, -1},
    /* In milliseconds. */
    {"X-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 1700000000000\r\n", -1, 7, -1},
    {"X-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 60\r\n", -1, 7, 60 * US_PER_SECOND},
};

START_TEST(numbers_that_cannot_be_are_not_told)
{
    struct api_script *script = API_SCRIPT(
        {.request = "GET /api/v3/x", .headers = numbers[_i].headers, .body = "{}"});
    ck_assert_int_eq(get(script, "/x"), RC_OK);
    ck_assert_int_eq(gate_seen.told, 1);
    ck_assert_int_eq(gate_seen.seen.limit, numbers[_i].limit);
    ck_assert_int_eq(gate_seen.seen.remaining, numbers[_i].remaining);
    ck_assert_int_eq(gate_seen.seen.reset_us, numbers[_i].reset_us);
    api_script_done(script);
}
END_TEST

START_TEST(a_primary_limit_waits_for_its_reset)
{
    char line[128];
    const struct clock clock = clock_real();
    (void)snprintf(line, sizeof line, "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: %lld\r\n",
                   (long long)(clock_now_us(&clock) / US_PER_SECOND + 600));
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/x",
                                            .status = "403 Forbidden",
                                            .headers = line,
                                            .body = "{\"message\":\"API rate limit exceeded\"}"});
    ck_assert_int_eq(get(script, "/x"), RC_LIMIT);
    ck_assert_int_gt(err.retry_ms, 0);
    ck_assert_int_le(err.retry_ms, 600 * 1000);
    api_script_done(script);
}
END_TEST

/* Its clock is an hour off; what it says of the end of its window is meant by that clock. */
static const struct {
    int64_t off_s;
    const char *date; /* In the place of a date that is an hour off. */
    int64_t least_ms, most_ms;
} clocks[] = {
    {-3600, NULL, 595 * 1000, 605 * 1000},
    {3600, NULL, 595 * 1000, 605 * 1000},
    {0, NULL, 595 * 1000, 605 * 1000},
    {0, "yesterday", 595 * 1000, 605 * 1000}, /* No date: ours. */
    {0, "Sun, 06 Foo 1994 08:49:37 GMT", 595 * 1000, 605 * 1000},
    {-3600, "", 1000, 1000}, /* The window should be over: soon again. */
};

START_TEST(the_end_of_a_window_is_told_by_the_clock_of_the_forge)
{
    const struct clock clock = clock_real();
    time_t theirs = (time_t)(clock_now_us(&clock) / US_PER_SECOND + clocks[_i].off_s);
    char date[64], lines[256];
    struct tm parts;
    ck_assert_uint_gt(
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&theirs, &parts)), 0);
    (void)snprintf(lines, sizeof lines,
                   "x-ratelimit-limit: 5000\r\nx-ratelimit-remaining: 0\r\n"
                   "x-ratelimit-reset: %lld\r\nDate: %s\r\n",
                   (long long)theirs + 600, clocks[_i].date != NULL ? clocks[_i].date : date);
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/x",
                                            .status = "403 Forbidden",
                                            .headers = lines,
                                            .body = "{\"message\":\"API rate limit exceeded\"}"});
    ck_assert_int_eq(get(script, "/x"), RC_LIMIT);
    ck_assert_int_ge(err.retry_ms, clocks[_i].least_ms - 60 * 1000); /* A slow machine. */
    ck_assert_int_le(err.retry_ms, clocks[_i].most_ms);
    bool over = gate_seen.seen.reset_us <= clock_now_us(&clock);
    ck_assert_int_eq(over, clocks[_i].most_ms == 1000);
    ck_assert_int_eq(gate_seen.seen.retry_ms, over ? 1000 : 0);
    api_script_done(script);
}
END_TEST

START_TEST(messages_hold_no_secrets_and_no_control_characters)
{
    struct api_script *script = API_SCRIPT(
        {.request = "POST /api/v3/x",
         .status = "422 Bad",
         .body = "{\"message\":\"token " TOKEN
                 " at https://u:geheim12345@h/x\\n\\u001b[31mred\"}"});
    ck_assert_int_eq(post(script, "/x"), RC_INVALID);
    ck_assert_ptr_null(strstr(err.text, TOKEN));
    ck_assert_ptr_null(strstr(err.text, "geheim"));
    ck_assert_ptr_null(strchr(err.text, '\n'));
    ck_assert_ptr_null(strchr(err.text, '\033'));
    ck_assert_ptr_nonnull(strstr(err.text, "red"));
    api_script_done(script);
}
END_TEST

/* How the first answer fails; a GET is sent once more, a POST never. */
static const struct script_step breaks[] = {
    {.status = "200 OK", .body = "{\"id\": 1, \"name\": \"long enough\"}", .how = SCRIPT_CUT},
    {.status = "200 OK", .body = "{\"id\": 1, \"na"},
    {.how = SCRIPT_DROP},
    {.status = "502 Bad Gateway", .body = "<html>", .headers = "Content-Type: text/html\r\n"},
    {.status = "504 Gateway Timeout", .body = "{}"},
};

START_TEST(what_got_no_whole_answer_is_read_once_more)
{
    struct script_step steps[2] = {breaks[_i], {.body = "{\"id\": 2}"}};
    steps[0].request = steps[1].request = "GET /api/v3/x HTTP/1.1";
    struct api_script *script = api_script_start(steps, 2);
    ck_assert_msg(get(script, "/x") == RC_OK, "%s", err.text);
    ck_assert_int_eq(js_get_int(answer.document, "id", 0), 2);
    ck_assert_int_eq(gate_seen.asked, 2);
    api_script_done(script);
}
END_TEST

START_TEST(what_fails_twice_fails)
{
    struct script_step steps[2] = {breaks[_i], breaks[_i]};
    steps[0].request = steps[1].request = "GET /api/v3/x HTTP/1.1";
    struct api_script *script = api_script_start(steps, 2);
    ck_assert_int_ne(get(script, "/x"), RC_OK);
    ck_assert_ptr_null(answer.document);
    api_script_done(script);
}
END_TEST

/* On a connection that was used before, libcurl would send it again by itself. */
START_TEST(what_changes_something_is_never_sent_twice)
{
    struct script_step steps[2] = {{.request = "GET /api/v3/warm", .body = "{}"}, breaks[_i]};
    steps[1].request = "POST /api/v3/x HTTP/1.1";
    struct api_script *script = api_script_start(steps, 2);
    ck_assert_int_eq(get(script, "/warm"), RC_OK);
    rest_answer_release(&answer);
    ck_assert_int_ne(post(script, "/x"), RC_OK);
    api_script_done(script);
}
END_TEST

START_TEST(a_renamed_repository_is_followed_on_its_server)
{
    struct api_script *script = API_SCRIPT(
        {.request = "GET /api/v3/repos/acme/old HTTP",
         .status = "301 Moved Permanently",
         .headers = "Location: {base}/api/v3/repositories/7\r\n",
         .body = "{\"message\":\"Moved Permanently\"}"},
        {.request = "GET /api/v3/repositories/7 HTTP",
         .has = {"Authorization: Bearer " TOKEN},
         .body = "{\"id\": 7}"},
        {.request = "POST /api/v3/repos/acme/old/pulls HTTP",
         .status = "307 Temporary Redirect",
         .headers = "Location: {base}/api/v3/repositories/7/pulls\r\n"},
        {.request = "POST /api/v3/repositories/7/pulls HTTP",
         .has = {"{\"a\":1}"},
         .status = "201 Created",
         .body = "{\"id\": 8}"},
        {.request = "GET /api/v3/loop HTTP",
         .status = "302 Found",
         .headers = "Location: /api/v3/loop\r\n"},
        {.request = "GET /api/v3/loop HTTP",
         .status = "302 Found",
         .headers = "Location: /api/v3/loop\r\n"});
    ck_assert_msg(get(script, "/repos/acme/old") == RC_OK, "%s", err.text);
    rest_answer_release(&answer);
    ck_assert_msg(post(script, "/repos/acme/old/pulls") == RC_OK, "%s", err.text);
    ck_assert_int_eq(answer.status, 201);
    rest_answer_release(&answer);
    ck_assert_int_eq(get(script, "/loop"), RC_CORRUPT);
    ck_assert_str_eq(err.code, "FORGE_MOVED");
    api_script_done(script);
}
END_TEST

START_TEST(what_is_no_json_has_no_document)
{
    struct api_script *script = API_SCRIPT(
        {.request = "GET /api/v3/x", .headers = "Content-Type: text/html\r\n", .body = "<html>"},
        {.request = "GET /api/v3/y", .status = "204 No Content"});
    ck_assert_int_eq(get(script, "/x"), RC_OK);
    ck_assert_ptr_null(answer.document);
    ck_assert_int_eq(get(script, "/y"), RC_OK);
    ck_assert_int_eq(answer.status, 204);
    api_script_done(script);
}
END_TEST

START_TEST(a_deadline_ends_a_request)
{
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/x", .how = SCRIPT_HANG});
    call.git.deadline_us = clock_mono_us() + 2 * US_PER_SECOND;
    ck_assert_msg(get(script, "/x") == RC_TIMEOUT, "%s %s", err.code, err.text);
    ck_assert_int_eq(get(script, "/x"), RC_TIMEOUT); /* Not even sent. */
    api_script_done(script);
}
END_TEST

/* ---- pages ---- */

static int64_t sum;
static int items_max;

static bool add(void *ctx, const struct js *item)
{
    int *count = ctx;
    sum += js_get_int(item, "n", 0);
    return ++*count < items_max;
}

static enum rc pages(const struct api_script *script, const char *items, bool *ret_cut)
{
    int count = 0;
    struct rest_request request = request_to(script, "GET", "/list?per_page=2");
    request.items = items;
    request.etag = NULL;
    sum = 0;
    return rest_pages(&call, &request, &arena, add, &count, ret_cut, &err);
}

#define NEXT(n)                                                                    \
    "Link: <{base}/api/v3/list?page=1>; rel=\"prev\", <{base}/api/v3/list?page=" n \
    ">; rel=\"next\", <{base}/api/v3/list?page=9>; rel=\"last\"\r\n"

START_TEST(pages_follow_their_links)
{
    struct api_script *script = API_SCRIPT(
        {.request = "GET /api/v3/list?per_page=2 HTTP",
         .headers = NEXT("2"),
         .body = "[{\"n\": 1}, {\"n\": 2}]"},
        {.request = "GET /api/v3/list?page=2 HTTP", .headers = NEXT("3"), .body = "[{\"n\": 4}]"},
        {.request = "GET /api/v3/list?page=3 HTTP",
         .headers = "Link: <{base}/api/v3/list?page=1>; rel=\"first\"\r\n",
         .body = "[{\"n\": 8}]"});
    bool cut = true;
    items_max = 100;
    ck_assert_msg(pages(script, NULL, &cut) == RC_OK, "%s", err.text);
    ck_assert_int_eq(sum, 15);
    ck_assert(!cut);
    ck_assert_int_eq(api_script_connections(script), 1);
    api_script_done(script);
}
END_TEST

START_TEST(pages_end_where_the_caller_wants)
{
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/list?per_page=2 HTTP",
                                            .headers = NEXT("2"),
                                            .body = "{\"runs\": [{\"n\": 1}, {\"n\": 2}]}"});
    bool cut = false;
    items_max = 1;
    ck_assert_int_eq(pages(script, "runs", &cut), RC_OK);
    ck_assert_int_eq(sum, 1);
    ck_assert(cut);
    api_script_done(script);
}
END_TEST

START_TEST(pages_are_limited)
{
    struct script_step steps[REST_PAGES_MAX];
    for (int i = 0; i < REST_PAGES_MAX; i++)
        steps[i] = (struct script_step){
            .request = "GET /api/v3/list?", .headers = NEXT("2"), .body = "[{\"n\": 1}]"};
    struct api_script *script = api_script_start(steps, REST_PAGES_MAX);
    bool cut = false;
    items_max = 1000;
    ck_assert_int_eq(pages(script, NULL, &cut), RC_OK);
    ck_assert_int_eq(sum, REST_PAGES_MAX);
    ck_assert(cut);
    api_script_done(script);
}
END_TEST

static const struct {
    const char *headers, *body;
} bad_pages[] = {
    {NULL, "{\"message\": \"a proxy\"}"},
    {"Content-Type: text/html\r\n", "<html>"},
    {"Link: <https://api.github.com/other?page=2>; rel=\"next\"\r\n", "[]"},
    {"Link: <gopher://x>; rel=\"next\"\r\n", "[]"},
};

START_TEST(a_page_that_is_no_list_is_an_error)
{
    struct script_step step = {.request = "GET /api/v3/list?per_page=2 HTTP",
                               .headers = bad_pages[_i].headers,
                               .body = bad_pages[_i].body};
    bool elsewhere = _i >= 2; /* Found while decoding, so it is asked for once more. */
    const struct script_step steps[2] = {step, step};
    struct api_script *script = api_script_start(steps, elsewhere ? 2 : 1);
    items_max = 10;
    ck_assert_int_eq(pages(script, NULL, NULL), RC_CORRUPT);
    api_script_done(script);
}
END_TEST

/* ---- bytes ---- */

static enum rc bytes(const struct api_script *script, struct buf *into)
{
    const struct rest_request request = request_to(script, "GET", "/jobs/1/logs");
    return rest_bytes(&call, &request, into, &err);
}

START_TEST(a_log_comes_through_a_redirect_without_the_token)
{
    struct api_script *storage = API_SCRIPT({.request = "GET /logs/1.txt?sig=a%2Fb HTTP",
                                             .lacks = "Authorization",
                                             .headers = "Content-Type: text/plain\r\n",
                                             .body = "line 1\nline 2\n"});
    const char *to = arena_printf(&arena, "Location: %s/logs/1.txt?sig=a%%2Fb\r\n",
                                  api_script_url(storage));
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .has = {"Authorization: Bearer " TOKEN},
                                            .status = "302 Found",
                                            .headers = to});
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, 1000);
    ck_assert_msg(bytes(script, &into) == RC_OK, "%s", err.text);
    ck_assert_str_eq(buf_text(&into), "line 1\nline 2\n");
    ck_assert_int_eq(gate_seen.asked, 1);
    api_script_done(script);
    api_script_done(storage);
}
END_TEST

START_TEST(a_log_is_read_with_another_credential)
{
    struct api_script *script = API_SCRIPT(UNAUTHORIZED("GET /api/v3/jobs/1/logs HTTP", TOKEN),
                                           {.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .has = {"Authorization: Bearer another\r\n"},
                                            .headers = "Content-Type: text/plain\r\n",
                                            .body = "line 1\n"});
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, 1000);
    renew_with("another");
    ck_assert_msg(bytes(script, &into) == RC_OK, "%s", err.text);
    ck_assert_str_eq(buf_text(&into), "line 1\n");
    api_script_done(script);
}
END_TEST

START_TEST(of_a_long_log_the_end_is_kept)
{
    CLEANUP(buf_release) struct buf body, into;
    buf_init(&body, 4 * 1024 * 1024);
    buf_init(&into, 1000);
    for (int i = 0; i < 200000; i++)
        buf_addf(&body, "line %d\n", i);
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .headers = "Content-Type: text/plain\r\n",
                                            .body = buf_text(&body)});
    ck_assert_msg(bytes(script, &into) == RC_OK, "%s", err.text);
    ck_assert_uint_eq(into.len, 1000);
    ck_assert_ptr_nonnull(strstr(buf_text(&into), "line 199999\n"));
    ck_assert(text_ends(buf_text(&body), buf_text(&into)));
    api_script_done(script);
}
END_TEST

START_TEST(a_log_that_is_refused_is_told_why)
{
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .status = "410 Gone",
                                            .body = "{\"message\":\"logs have expired\"}"},
                                           {.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .status = "403 Forbidden",
                                            .headers = "retry-after: 9\r\n",
                                            .body = "{}"});
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, 1000);
    ck_assert_int_eq(bytes(script, &into), RC_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.text, "expired"));
    ck_assert_int_eq(bytes(script, &into), RC_LIMIT);
    ck_assert_int_eq(err.retry_ms, 9000);
    ck_assert_uint_eq(into.len, 0);
    api_script_done(script);
}
END_TEST

START_TEST(a_log_that_breaks_off_is_no_log)
{
    struct api_script *script = API_SCRIPT({.request = "GET /api/v3/jobs/1/logs HTTP",
                                            .headers = "Content-Type: text/plain\r\n",
                                            .body = "line 1\nline 2\n",
                                            .how = SCRIPT_CUT});
    CLEANUP(buf_release) struct buf into;
    buf_init(&into, 1000);
    ck_assert_int_eq(bytes(script, &into), RC_UNREACHABLE);
    ck_assert_uint_eq(into.len, 0);
    api_script_done(script);
}
END_TEST

Suite *rest_suite(void)
{
    Suite *suite = suite_create("rest");
    TCase *tc = tcase_create("rest");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_request_carries_token_and_dialect_and_tells_the_limit);
    tcase_add_test(tc, the_gate_may_refuse);
    tcase_add_test(tc, a_refused_credential_is_replaced_and_the_request_repeated);
    tcase_add_test(tc, a_credential_that_is_refused_again_is_refused);
    tcase_add_test(tc, without_another_credential_the_refusal_stands);
    tcase_add_test(tc, a_log_is_read_with_another_credential);
    tcase_add_test(tc, an_etag_that_holds_is_no_error);
    tcase_add_loop_test(tc, refusals_have_a_meaning, 0, (int)COUNT_OF(refusals));
    tcase_add_loop_test(tc, numbers_that_cannot_be_are_not_told, 0, COUNT_OF(numbers));
    tcase_add_test(tc, a_primary_limit_waits_for_its_reset);
    tcase_add_loop_test(tc, the_end_of_a_window_is_told_by_the_clock_of_the_forge, 0,
                        (int)COUNT_OF(clocks));
    tcase_add_test(tc, messages_hold_no_secrets_and_no_control_characters);
    tcase_add_loop_test(tc, what_got_no_whole_answer_is_read_once_more, 0, (int)COUNT_OF(breaks));
    tcase_add_loop_test(tc, what_fails_twice_fails, 0, (int)COUNT_OF(breaks));
    tcase_add_loop_test(tc, what_changes_something_is_never_sent_twice, 0, (int)COUNT_OF(breaks));
    tcase_add_test(tc, a_renamed_repository_is_followed_on_its_server);
    tcase_add_test(tc, what_is_no_json_has_no_document);
    tcase_add_test(tc, a_deadline_ends_a_request);
    tcase_add_test(tc, pages_follow_their_links);
    tcase_add_test(tc, pages_end_where_the_caller_wants);
    tcase_add_test(tc, pages_are_limited);
    tcase_add_loop_test(tc, a_page_that_is_no_list_is_an_error, 0, (int)COUNT_OF(bad_pages));
    tcase_add_test(tc, a_log_comes_through_a_redirect_without_the_token);
    tcase_add_test(tc, of_a_long_log_the_end_is_kept);
    tcase_add_test(tc, a_log_that_is_refused_is_told_why);
    tcase_add_test(tc, a_log_that_breaks_off_is_no_log);
    suite_add_tcase(suite, tc);
    return suite;
}
