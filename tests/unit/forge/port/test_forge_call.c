/*
 * test_forge_call.c - a forge that answers over HTTP, behind the port: what a call lends to it.
 */
#include "base/clock.h"
#include "base/js.h"
#include "forge/port/forge.h"
#include "tests/unit/tiny_server.h"
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct tiny_server *server;
static char last_request[8192];
static atomic_int requests, cancel;
enum { ANSWER, REFUSE, HANG };
static atomic_int mood;

static bool api(void *ctx, const char *request, int fd)
{
    (void)ctx;
    (void)snprintf(last_request, sizeof last_request, "%s", request);
    requests++;
    if (mood == HANG) {
        cancel = 1;
        for (int i = 0; i < 100 && mood == HANG; i++)
            (void)usleep(50 * 1000);
        return false;
    }
    if (mood == REFUSE)
        tiny_answer(fd, "401 Unauthorized", "application/json", "{\"message\":\"bad token\"}");
    else
        tiny_answer(fd, "200 OK", "application/json", "{\"sha\":\"abc\"}");
    return true;
}

/* As a hosted forge does it. */
static enum rc hosted_look(const struct forge_ops *forge, struct forge_call *call,
                           const struct forge_question *question, struct arena *arena,
                           struct forge_found *ret_found, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct http_reply reply;
    (void)forge;
    struct http_call get = {.method = "GET",
                            .path = arena_printf(arena, "/branches/%s", question->branch)};
    buf_init(&body, 1000);
    enum rc rc = forge_http(call, question->url, &get, &body, &reply, err);
    if (rc == RC_OK)
        rc = js_parse(body.data, body.len, &tree, err);
    if (rc != RC_OK)
        return rc;
    *ret_found = (struct forge_found){0};
    text_copy(ret_found->head, sizeof ret_found->head, js_get_str(tree, "sha", ""));
    return RC_OK;
}
static const struct forge_ops hosted = {.name = "hosted", .look = hosted_look};

static enum rc look(struct forge_call *call, struct forge_found *ret_found, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct forge_question question = {.url = tiny_server_url(server), .branch = "main"};
    return hosted.look(&hosted, call, &question, &arena, ret_found, err);
}

static void setup(void)
{
    mood = ANSWER;
    requests = cancel = 0;
    server = tiny_server_start(api, NULL);
}

static void teardown(void)
{
    mood = ANSWER;
    tiny_server_stop(server);
}

START_TEST(a_hosted_forge_sends_the_credential_and_keeps_the_connection)
{
    CLEANUP(forge_call_release) struct forge_call call = {.git = {.credential = "s3cret"}};
    struct forge_found found;
    struct err err = {0};
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(look(&call, &found, &err) == RC_OK, "%s", err.text);
        ck_assert_str_eq(found.head, "abc");
        ck_assert_ptr_nonnull(strstr(last_request, "GET /branches/main HTTP/1.1\r\n"));
        ck_assert_ptr_nonnull(strstr(last_request, "Authorization: Bearer s3cret\r\n"));
    }
    ck_assert_int_eq(tiny_server_connections(server), 1);
}
END_TEST

START_TEST(a_credential_that_is_refused_is_told_apart)
{
    CLEANUP(forge_call_release) struct forge_call call = {.git = {.credential = "old"}};
    struct forge_found found;
    struct err err = {0};
    mood = REFUSE;
    ck_assert_int_eq(look(&call, &found, &err), RC_UNAUTHORIZED);
    ck_assert_ptr_null(strstr(err.text, "old"));
}
END_TEST

START_TEST(the_deadline_of_a_call_ends_its_requests)
{
    CLEANUP(forge_call_release) struct forge_call call = {0};
    struct forge_found found;
    struct err err = {0};
    mood = HANG;
    call.git.deadline_us = clock_mono_us() + 300 * US_PER_MS;
    ck_assert_int_eq(look(&call, &found, &err), RC_TIMEOUT);
    ck_assert_int_eq(requests, 1);
    ck_assert_int_eq(look(&call, &found, &err), RC_TIMEOUT);
    ck_assert_int_eq(requests, 1); /* Not even asked. */
}
END_TEST

START_TEST(the_cancel_flag_of_a_call_ends_its_requests)
{
    CLEANUP(forge_call_release) struct forge_call call = {.git = {.cancel = &cancel}};
    struct forge_found found;
    struct err err = {0};
    mood = HANG; /* Which sets the flag. */
    ck_assert_int_eq(look(&call, &found, &err), RC_CANCELLED);
    ck_assert_int_eq(requests, 1);
}
END_TEST

Suite *forge_call_suite(void)
{
    Suite *suite = suite_create("forge_call");
    TCase *tc = tcase_create("forge_call");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_hosted_forge_sends_the_credential_and_keeps_the_connection);
    tcase_add_test(tc, a_credential_that_is_refused_is_told_apart);
    tcase_add_test(tc, the_deadline_of_a_call_ends_its_requests);
    tcase_add_test(tc, the_cancel_flag_of_a_call_ends_its_requests);
    suite_add_tcase(suite, tc);
    return suite;
}
