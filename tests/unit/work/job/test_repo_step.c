/*
 * test_repo_step.c - a step at a forge: its token comes from the server, its calls in blocks.
 */
#include "base/hash.h"
#include "core/text/redact.h"
#include "tests/unit/work_kit.h"
#include "work/job/repo_step.h"
#include "work/job/step_secrets.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;
static struct port_ops ops;

/* The server. */
static struct {
    const char *token;
    int64_t expires_us;
    int64_t grant; /* Of each block. */
    int tokens, blocks;
    int64_t used, back;
    int64_t remaining; /* That it was told last; -1: nothing. */
    enum forge_access access;
    enum rc fails;
    const char *second; /* The token in place of one that the forge has refused. */
    int refusals;
    char refused[SHA256_TEXT_BYTES];
} server;

static enum rc fake_access(struct port *port, const struct port_ref *lease,
                           const struct port_forge_request *request,
                           struct port_forge_answer *ret_answer, struct err *err)
{
    (void)port;
    (void)lease;
    if (server.fails != RC_OK)
        return err_set(err, server.fails, "TOKEN_UNAVAILABLE", "the forge is away");
    struct port_forge_answer answer = {.token = {.expires_us = server.expires_us}};
    server.access = request->access;
    if (request->refused_sha256 != NULL) {
        server.refusals++;
        text_copy(server.refused, sizeof server.refused, request->refused_sha256);
        server.token = server.second;
    }
    if (request->token) {
        server.tokens++;
        text_copy(answer.token.text, sizeof answer.token.text,
                  server.token != NULL ? server.token : "");
    }
    if (request->host != NULL) {
        server.used += request->used;
        server.back += request->back;
        if (request->seen != NULL)
            server.remaining = request->seen->remaining;
    }
    if (request->want > 0) {
        server.blocks++;
        answer.calls = server.grant < request->want ? server.grant : request->want;
        answer.retry_ms = answer.calls == 0 ? 7000 : 0;
        text_copy(answer.why, sizeof answer.why, "kept for people");
    }
    *ret_answer = answer;
    return RC_OK;
}

static void setup(void)
{
    memset(&server, 0, sizeof server);
    server.grant = 20;
    server.remaining = -1;
    kit_open(&kit);
    ops = *kit.port.port.ops;
    ops.forge_access = fake_access;
    kit.port.port.ops = &ops;
    ck_assert_int_eq(unsetenv("FORGE_TOKEN"), 0);
}

static void teardown(void)
{
    kit_close(&kit);
}

static struct step hosted_step(void)
{
    struct step step = kit_step(
        &kit, &(struct kit_task){.config = "\"credentials\":{\"forge\":\"FORGE_TOKEN\"}"});
    step.input.config.url = "https://forge.example.com/acme/app.git";
    step.input.config.forge = "gitea";
    return step;
}

START_TEST(the_token_comes_from_the_server_once_and_is_a_secret)
{
    struct step step = hosted_step();
    struct forge_call call = {.gate = NULL};
    const struct forge_ops *forge = NULL;
    struct err err = {0};
    server.token = "s3cret-of-the-server";
    ck_assert_int_eq(step_forge_open(&step, ACCESS_WRITE, &call, &forge, &err), RC_OK);
    ck_assert_str_eq(call.git.credential, "s3cret-of-the-server");
    ck_assert_str_eq(step_git(&step).credential, "s3cret-of-the-server");
    ck_assert_int_eq(server.access, ACCESS_WRITE);
    ck_assert_ptr_nonnull(call.gate);
    ck_assert_int_eq(step_forge_open(&step, ACCESS_WRITE, &call, &forge, &err), RC_OK);
    ck_assert_int_eq(server.tokens, 1);
    const char *text = redact_dup(step_secrets(&step), "it was s3cret-of-the-server.", step.arena);
    ck_assert_ptr_null(strstr(text, "s3cret"));
}
END_TEST

START_TEST(a_token_that_ends_soon_is_asked_for_again)
{
    struct step step = hosted_step();
    struct err err = {0};
    server.token = "short-lived-token";
    server.expires_us = clock_now_us(&step.site->clock) + 60 * US_PER_SECOND;
    ck_assert_int_eq(step_credential(&step, ACCESS_READ, &err), RC_OK);
    ck_assert_int_eq(step_credential(&step, ACCESS_READ, &err), RC_OK);
    ck_assert_int_eq(server.tokens, 2);
}
END_TEST

/* A token that the forge has revoked: both a call that holds it and one to come get the other. */
START_TEST(a_refused_token_is_told_to_the_server_once)
{
    struct step step = hosted_step();
    char sha256[SHA256_TEXT_BYTES];
    const char *credential = NULL;
    struct err err = {0};
    server.token = "revoked-token";
    server.second = "other-token";
    ck_assert_int_eq(step_credential(&step, ACCESS_WRITE, &err), RC_OK);
    const struct git git = step_git(&step);
    for (int i = 0; i < 2; i++) {
        ck_assert(git_renew(&git, &credential));
        ck_assert_str_eq(credential, "other-token");
    }
    ck_assert_int_eq(server.refusals, 1);
    sha256_hex("revoked-token", strlen("revoked-token"), sha256);
    ck_assert_str_eq(server.refused, sha256);
    const struct git later = step_git(&step);
    ck_assert_str_eq(later.credential, "other-token");
    ck_assert(!git_renew(&later, &credential)); /* Refused too: for another reason. */
    ck_assert_int_eq(step_credential(&step, ACCESS_WRITE, &err), RC_OK);
    ck_assert_int_eq(server.tokens, 2);
    const char *text = redact_dup(step_secrets(&step), "revoked-token, other-token", step.arena);
    ck_assert_ptr_null(strstr(text, "revoked"));
    ck_assert_ptr_null(strstr(text, "other"));
}
END_TEST

START_TEST(where_there_is_no_other_token_the_refusal_stands)
{
    struct step step = hosted_step();
    const char *credential = NULL;
    struct err err = {0};
    server.token = server.second = "one-of-a-variable";
    ck_assert_int_eq(step_credential(&step, ACCESS_READ, &err), RC_OK);
    struct git git = step_git(&step);
    ck_assert(!git_renew(&git, &credential));
    git.credential = "of-the-worker";
    ck_assert(!git_renew(&git, &credential));
    ck_assert_int_eq(server.refusals, 1);
}
END_TEST

START_TEST(without_one_the_workers_own_variable_is_used)
{
    struct step step = hosted_step();
    struct err err = {0};
    ck_assert_int_eq(step_credential(&step, ACCESS_READ, &err), RC_NOT_FOUND);
    ck_assert_str_eq(err.code, "CREDENTIAL_MISSING");
    ck_assert_int_eq(setenv("FORGE_TOKEN", "of-the-worker", 1), 0);
    ck_assert_int_eq(step_credential(&step, ACCESS_READ, &err), RC_OK);
    ck_assert_str_eq(step_git(&step).credential, "of-the-worker");
}
END_TEST

START_TEST(a_forge_that_makes_no_token_now_is_tried_again_later)
{
    struct step step = hosted_step();
    struct err err = {0};
    server.fails = RC_UNREACHABLE;
    enum rc rc = step_credential(&step, ACCESS_READ, &err);
    ck_assert_int_eq(rc, RC_UNREACHABLE);
    (void)step_forge_fail(&step, rc, &err, "repository_unreachable");
    ck_assert_str_eq(step.failure.code, "repository_unreachable");
    ck_assert(step.failure.retryable);
}
END_TEST

START_TEST(calls_are_asked_for_in_blocks_and_told)
{
    struct step step = hosted_step();
    struct forge_call call = {.gate = NULL};
    const struct forge_ops *forge = NULL;
    struct err err = {0};
    server.token = "s3cret-of-the-server";
    ck_assert_int_eq(step_forge_open(&step, ACCESS_READ, &call, &forge, &err), RC_OK);
    const struct forge_gate *gate = call.gate;
    for (int i = 0; i < 25; i++)
        ck_assert_int_eq(gate->ask(gate->ctx, "h", "core", &err), RC_OK);
    ck_assert_int_eq(server.blocks, 2);
    ck_assert_int_eq(server.used, 20);
    gate->told(gate->ctx, &(struct forge_limit_seen){
                              .host = "h", .resource = "core", .limit = 5000, .remaining = 4975});
    step_forge_close(&step);
    ck_assert_int_eq(server.used, 25);
    ck_assert_int_eq(server.back, 15);
    ck_assert_int_eq(server.remaining, 4975);
}
END_TEST

START_TEST(none_to_give_is_a_limit_with_its_time_and_reason)
{
    struct step step = hosted_step();
    struct forge_call call = {.gate = NULL};
    const struct forge_ops *forge = NULL;
    struct err err = {0};
    server.token = "s3cret-of-the-server";
    server.grant = 0;
    ck_assert_int_eq(step_forge_open(&step, ACCESS_READ, &call, &forge, &err), RC_OK);
    ck_assert_int_eq(call.gate->ask(call.gate->ctx, "h", "core", &err), RC_LIMIT);
    ck_assert_str_eq(err.code, "FORGE_LIMIT");
    ck_assert_str_eq(err.text, "kept for people");
    ck_assert_int_eq(err.retry_ms, 7000);
}
END_TEST

Suite *repo_step_suite(void)
{
    Suite *suite = suite_create("repo_step");
    TCase *tests = tcase_create("repo_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_token_comes_from_the_server_once_and_is_a_secret);
    tcase_add_test(tests, a_token_that_ends_soon_is_asked_for_again);
    tcase_add_test(tests, a_refused_token_is_told_to_the_server_once);
    tcase_add_test(tests, where_there_is_no_other_token_the_refusal_stands);
    tcase_add_test(tests, without_one_the_workers_own_variable_is_used);
    tcase_add_test(tests, a_forge_that_makes_no_token_now_is_tried_again_later);
    tcase_add_test(tests, calls_are_asked_for_in_blocks_and_told);
    tcase_add_test(tests, none_to_give_is_a_limit_with_its_time_and_reason);
    suite_add_tcase(suite, tests);
    return suite;
}
