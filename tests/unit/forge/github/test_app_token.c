/*
 * test_app_token.c - tokens of an App: made from its key, kept, renewed.
 */
#include "base/fd.h"
#include "base/hash.h"
#include "base/thread.h"
#include "forge/github/app_token.h"
#include "tests/unit/api_script.h"
#include "tests/unit/rsa_kit.h"
#include "tests/unit/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_US INT64_C(1700000000000000) /* 2023-11-14T22:13:20Z */
#define URL      "https://github.example/acme/billing.git"

static char dir[] = "/tmp/drover-app-XXXXXX", key_file[64];
static int64_t now_us;
static struct app_config app;
static struct app_token token;
static struct err err;

static int64_t read_clock(void *ctx)
{
    (void)ctx;
    return now_us;
}
static const struct clock fake = {.now_us = read_clock};

static void setup(void)
{
    CLEANUP(buf_release) struct buf pem;
    buf_init(&pem, 8192);
    rsa_kit_make(&pem, 2048);
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(key_file, sizeof key_file, "%s/key.pem", dir);
    ck_assert_int_eq(file_write_new(key_file, pem.data, pem.len, 0600, NULL), RC_OK);
    app = (struct app_config){.id = "12345", .key_file = key_file};
    now_us = START_US;
    memset(&token, 0, sizeof token);
    memset(&err, 0, sizeof err);
    app_tokens_clear();
}

static void teardown(void)
{
    app_tokens_clear();
    ck_assert_int_eq(dir_remove(dir, NULL), RC_OK);
}

static enum rc get(const struct api_script *script, bool write)
{
    const struct git how = {0};
    const struct app_token_want want = {
        .app = &app, .url = URL, .api = api_script_url(script), .write = write, .clock = &fake};
    return app_token_get(&want, &how, &token, &err);
}

#define GRANTED                                                                  \
    "{\"metadata\":\"read\",\"contents\":\"write\",\"pull_requests\":\"write\"," \
    "\"issues\":\"write\",\"checks\":\"read\",\"organization_projects\":\"admin\"}"
#define INSTALLED "{\"id\":77,\"app_id\":12345,\"suspended_at\":null,\"permissions\":" GRANTED "}"
#define FIND                                                                         \
    {                                                                                \
        .request = "GET /repos/acme/billing/installation HTTP",                      \
        .has = {"Authorization: Bearer eyJ", "Accept: application/vnd.github+json"}, \
        .body = INSTALLED                                                            \
    }
#define MAKE(text, ends)                                                                        \
    {                                                                                           \
        .request = "POST /app/installations/77/access_tokens HTTP",                             \
        .has = {"Authorization: Bearer eyJ", "{\"repositories\":[\"billing\"]"},                \
        .status = "201 Created", .body = "{\"token\":\"" text "\",\"expires_at\":\"" ends "\"}" \
    }

START_TEST(a_token_is_made_once_and_renewed_before_it_ends)
{
    struct api_script *script = API_SCRIPT(FIND, MAKE("ghs_one", "2023-11-14T23:13:20Z"), FIND,
                                           MAKE("ghs_two", "2023-11-15T00:00:00Z"));
    ck_assert_msg(get(script, true) == RC_OK, "%s", err.text);
    ck_assert_str_eq(token.text, "ghs_one");
    ck_assert_int_eq(token.expires_us, START_US + US_PER_HOUR);
    now_us = START_US + 44 * US_PER_MINUTE;
    ck_assert_int_eq(get(script, true), RC_OK);
    ck_assert_str_eq(token.text, "ghs_one");
    now_us = START_US + 46 * US_PER_MINUTE;
    ck_assert_int_eq(get(script, true), RC_OK);
    ck_assert_str_eq(token.text, "ghs_two");
    api_script_done(script);
}
END_TEST

/* Only what the installation has, or the forge refuses all of it. */
START_TEST(reading_and_writing_have_tokens_of_their_own)
{
    struct script_step write = MAKE("ghs_write", "2023-11-14T23:13:20Z");
    struct script_step read = MAKE("ghs_read", "2023-11-14T23:13:20Z");
    write.has[2] = "\"permissions\":{\"metadata\":\"read\",\"contents\":\"write\","
                   "\"pull_requests\":\"write\",\"issues\":\"write\",\"checks\":\"read\"}}";
    read.has[2] = "\"permissions\":{\"metadata\":\"read\",\"contents\":\"read\","
                  "\"pull_requests\":\"read\",\"issues\":\"read\",\"checks\":\"read\"}}";
    struct api_script *script = API_SCRIPT(FIND, write, FIND, read);
    ck_assert_msg(get(script, true) == RC_OK, "%s", err.text);
    ck_assert_int_eq(get(script, false), RC_OK);
    ck_assert_str_eq(token.text, "ghs_read");
    ck_assert_int_eq(get(script, true), RC_OK);
    ck_assert_str_eq(token.text, "ghs_write");
    api_script_done(script);
}
END_TEST

static void refuse(const char *text)
{
    char sha256[SHA256_TEXT_BYTES];
    sha256_hex(text, strlen(text), sha256);
    app_token_forget(sha256);
}

START_TEST(a_token_that_was_refused_is_made_anew)
{
    struct api_script *script = API_SCRIPT(FIND, MAKE("ghs_one", "2023-11-14T23:13:20Z"), FIND,
                                           MAKE("ghs_two", "2023-11-14T23:13:20Z"));
    ck_assert_int_eq(get(script, true), RC_OK);
    refuse("ghs_other");
    ck_assert_int_eq(get(script, true), RC_OK);
    refuse("ghs_one");
    ck_assert_int_eq(get(script, true), RC_OK);
    ck_assert_str_eq(token.text, "ghs_two");
    api_script_done(script);
}
END_TEST

START_TEST(a_renamed_repository_is_named_by_its_number)
{
    struct script_step moved = {
        .request = "GET /repos/acme/billing/installation HTTP",
        .status = "301 Moved Permanently",
        .headers = "Location: {base}/repositories/1296269/installation\r\n"};
    struct script_step find = FIND, make = MAKE("ghs_one", "2023-11-14T23:13:20Z");
    find.request = "GET /repositories/1296269/installation HTTP";
    make.has[1] = "{\"repository_ids\":[1296269],\"permissions\"";
    struct api_script *script = API_SCRIPT(moved, find, make);
    ck_assert_msg(get(script, true) == RC_OK, "%s", err.text);
    api_script_done(script);
}
END_TEST

START_TEST(an_installation_may_be_configured)
{
    struct script_step find = FIND;
    find.request = "GET /app/installations/77 HTTP";
    struct api_script *script = API_SCRIPT(find, MAKE("ghs_one", "2023-11-14T23:13:20Z"));
    app.installation = 77;
    ck_assert_msg(get(script, true) == RC_OK, "%s", err.text);
    api_script_done(script);
}
END_TEST

static const struct {
    struct script_step steps[2];
    size_t count;
    enum rc rc;
    const char *code, *word;
} failures[] = {
    {{{.request = "GET /repos", .status = "404 Not Found", .body = "{\"message\":\"Not Found\"}"}},
     1,
     RC_NOT_FOUND,
     "APP_NOT_INSTALLED",
     "acme/billing"},
    {{{.request = "GET /repos",
       .status = "401 Unauthorized",
       .body = "{\"message\":\"A JSON web token could not be decoded\"}"}},
     1,
     RC_UNAUTHORIZED,
     "FORGE_UNAUTHORIZED",
     "could not be decoded"},
    {{{.request = "GET /repos", .body = "{\"id\":77,\"suspended_at\":\"2023-01-01T00:00:00Z\"}"}},
     1,
     RC_DENIED,
     "FORGE_DENIED",
     "suspended"},
    {{{.request = "GET /repos",
       .body = "{\"id\":77,\"permissions\":{\"metadata\":\"read\",\"contents\":\"read\"}}"}},
     1,
     RC_DENIED,
     "FORGE_DENIED",
     "contents: write"},
    {{{.request = "GET /repos", .body = "{\"message\":\"hello\"}"}},
     1,
     RC_CORRUPT,
     "FORGE_HALF_ANSWER",
     "installation"},
    {{FIND, {.request = "POST /app", .status = "422 No", .body = "{\"message\":\"not granted\"}"}},
     2,
     RC_INVALID,
     "FORGE_REFUSED",
     "not granted"},
    {{FIND, {.request = "POST /app", .status = "201 Created", .body = "{\"token\":\"\"}"}},
     2,
     RC_CORRUPT,
     "FORGE_HALF_ANSWER",
     "no token"},
    {{FIND, {.request = "POST /app", .status = "403 Forbidden", .headers = "retry-after: 3\r\n"}},
     2,
     RC_LIMIT,
     "FORGE_LIMIT",
     "secondary"},
};

START_TEST(failures_say_what_is_wrong_and_are_not_kept)
{
    struct script_step steps[4];
    size_t count = failures[_i].count;
    memcpy(steps, failures[_i].steps, count * sizeof *steps);
    steps[count] = (struct script_step)FIND;
    steps[count + 1] = (struct script_step)MAKE("ghs_one", "2023-11-14T23:13:20Z");
    struct api_script *script = api_script_start(steps, count + 2);
    ck_assert_int_eq(get(script, true), failures[_i].rc);
    ck_assert_str_eq(err.code, failures[_i].code);
    ck_assert_msg(strstr(err.text, failures[_i].word) != NULL, "%s", err.text);
    ck_assert_str_eq(token.text, "");
    ck_assert_int_eq(get(script, true), RC_OK);
    api_script_done(script);
}
END_TEST

START_TEST(a_key_that_others_may_read_is_refused)
{
    struct api_script *script = api_script_start(NULL, 0);
    ck_assert_int_eq(chmod(key_file, 0640), 0);
    ck_assert_int_eq(get(script, false), RC_INVALID);
    ck_assert_str_eq(err.code, "KEY_FILE_OPEN");
    ck_assert_ptr_nonnull(strstr(err.text, "chmod 600"));
    app.key_file = "/nowhere/key.pem";
    ck_assert_int_eq(get(script, false), RC_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/key.pem"));
    app.key_file = dir;
    ck_assert_int_eq(get(script, false), RC_INVALID);
    ck_assert_str_eq(err.code, "KEY_FILE_OPEN");
    api_script_done(script);
}
END_TEST

START_TEST(a_jwt_has_the_times_that_github_wants)
{
    CLEANUP(buf_release) struct buf jwt, claims;
    buf_init(&jwt, 4096);
    buf_init(&claims, 4096);
    ck_assert_int_eq(app_token_jwt(&app, &fake, &jwt, &err), RC_OK);
    ck_assert(rsa_kit_verify(buf_text(&jwt), &claims));
    ck_assert_str_eq(buf_text(&claims),
                     "{\"iat\":1699999940,\"exp\":1700000540,\"iss\":\"12345\"}");
}
END_TEST

static void *want_one(void *ctx)
{
    const struct git how = {0};
    struct app_token mine = {0};
    const struct app_token_want want = {
        .app = &app, .url = URL, .api = ctx, .write = true, .clock = &fake};
    ck_assert_int_eq(app_token_get(&want, &how, &mine, NULL), RC_OK);
    ck_assert_str_eq(mine.text, "ghs_one");
    return NULL;
}

START_TEST(many_threads_make_one_token)
{
    struct api_script *script = API_SCRIPT(FIND, MAKE("ghs_one", "2023-11-14T23:13:20Z"));
    char url[64];
    pthread_t threads[8];
    text_copy(url, sizeof url, api_script_url(script));
    const struct thread_spec spec = {.body = want_one, .ctx = url};
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        ck_assert_int_eq(thread_start(&spec, &threads[i], NULL), RC_OK);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    api_script_done(script);
}
END_TEST

START_TEST(a_wait_for_a_token_ends_with_the_deadline)
{
    struct api_script *script = API_SCRIPT({.request = "GET /repos", .how = SCRIPT_HANG});
    const struct git how = {.deadline_us = clock_mono_us() + 2 * US_PER_SECOND};
    const struct app_token_want want = {
        .app = &app, .url = URL, .api = api_script_url(script), .clock = &fake};
    ck_assert_int_eq(app_token_get(&want, &how, &token, &err), RC_TIMEOUT);
    api_script_done(script);
}
END_TEST

Suite *app_token_suite(void)
{
    Suite *suite = suite_create("app_token");
    TCase *tc = tcase_create("app_token");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_token_is_made_once_and_renewed_before_it_ends);
    tcase_add_test(tc, reading_and_writing_have_tokens_of_their_own);
    tcase_add_test(tc, a_token_that_was_refused_is_made_anew);
    tcase_add_test(tc, a_renamed_repository_is_named_by_its_number);
    tcase_add_test(tc, an_installation_may_be_configured);
    tcase_add_loop_test(tc, failures_say_what_is_wrong_and_are_not_kept, 0,
                        (int)COUNT_OF(failures));
    tcase_add_test(tc, a_key_that_others_may_read_is_refused);
    tcase_add_test(tc, a_jwt_has_the_times_that_github_wants);
    tcase_add_test(tc, many_threads_make_one_token);
    tcase_add_test(tc, a_wait_for_a_token_ends_with_the_deadline);
    suite_add_tcase(suite, tc);
    return suite;
}
