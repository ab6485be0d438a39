/*
 * test_judge_step.c - judges by command and by model against a small patch: what they see, what
 * comes of odd ends, and that a stop is heard.
 */
#include "tests/unit/tiny_server.h"
#include "tests/unit/work_kit.h"
#include "work/job/step.h"
#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;

/* What the model answers, and what it heard. */
static struct model {
    const char *status, *body;
    int calls;
    int failures; /* So many calls are refused first. */
    pthread_mutex_t lock;
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct tiny_server *server;

#define PASS_BODY                                                                            \
    "{\"choices\":[{\"message\":{\"content\":\"{\\\"verdict\\\":\\\"pass\\\",\\\"score\\\":" \
    "0.9}\"}}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}"

static bool answer(void *ctx, const char *request, int fd)
{
    (void)ctx, (void)request;
    pthread_mutex_lock(&model.lock);
    bool fails = model.calls++ < model.failures;
    pthread_mutex_unlock(&model.lock);
    if (fails)
        tiny_answer(fd, "503 Service Unavailable", "application/json",
                    "{\"error\":{\"message\":\"overloaded\"}}");
    else
        tiny_answer(fd, model.status, "application/json", model.body);
    return false;
}

static void setup(void)
{
    kit_open(&kit);
    model.status = "200 OK";
    model.body = PASS_BODY;
    model.calls = model.failures = 0;
    server = tiny_server_start(answer, NULL);
}

static void teardown(void)
{
    tiny_server_stop(server);
    kit_close(&kit);
}

static const char patch[] = "diff --git a/file.txt b/file.txt\n"
                            "--- a/file.txt\n"
                            "+++ b/file.txt\n"
                            "@@ -1 +1 @@\n"
                            "-one\n"
                            "+two\n";

static struct step step_of(const char *judges, const char *diff)
{
    const char *head = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
    return kit_step(
        &kit, &(struct kit_task){.config = arena_printf(&kit.arena, "\"judge\":[%s]", judges),
                                 .payload = arena_printf(
                                     &kit.arena, "\"baseCommit\":\"%s\",\"patchSha256\":\"%s\"",
                                     head, kit_put(&kit, diff))});
}

static const struct js *run(const char *judges, const char *diff)
{
    struct step step = step_of(judges, diff);
    struct err err = {0};
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_str_eq(kit_sh(&kit, "ls %s 2>/dev/null | grep judge- || true", step.run_dir), "");
    return kit_result(&kit);
}

static const char *by_model(int timeout_ms)
{
    return arena_printf(&kit.arena,
                        "{\"name\":\"m\",\"timeoutMs\":%d,\"model\":{\"api\":\"openai\",\"url\":"
                        "\"%s\",\"model\":\"x\"}}",
                        timeout_ms, tiny_server_url(server));
}

/* Of the judge with that name. */
static const char *word_of(const struct js *result, const char *name, const char *key)
{
    const struct js *judges = js_get(result, "judges");
    for (size_t i = 0; i < js_count(judges); i++) {
        if (text_same(js_get_str(js_at(judges, i), "name", ""), name))
            return js_get_str(js_at(judges, i), key, "");
    }
    return NULL;
}

START_TEST(a_command_judges_the_patched_tree)
{
    const struct js *result = run(
        "{\"name\":\"good\",\"command\":\"grep -q two file.txt\"},"
        "{\"name\":\"bad\",\"command\":\"echo 'Error: not three'; grep -q three file.txt\"}",
        patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "fail");
    ck_assert_str_eq(word_of(result, "good", "verdict"), "pass");
    ck_assert_str_eq(word_of(result, "bad", "verdict"), "fail");
    ck_assert_str_eq(word_of(result, "rules", "verdict"), "pass");
    const char *feedback = kit_artifact(&kit, js_get_str(result, "feedbackSha256", NULL));
    ck_assert_ptr_nonnull(strstr(feedback, "Error: not three"));
    ck_assert(kit_saw_event(&kit, "{\"judgeType\":\"command\",\"name\":\"good\"}"));
}
END_TEST

START_TEST(a_command_that_cannot_be_told_all_judges_nothing)
{
    enum { MANY = 6 * 1024 * 1024 }; /* Each becomes six in JSON. */
    struct step step = step_of("{\"name\":\"c\",\"command\":\"true\"}", patch);
    struct err err = {0};
    char *text = arena_alloc(&kit.arena, MANY + 1);
    memset(text, 1, MANY);
    step.input.description = text;
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    const struct js *result = kit_result(&kit);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "inconclusive");
    ck_assert_ptr_nonnull(strstr(word_of(result, "c", "problem"), "is larger than"));
}
END_TEST

START_TEST(what_a_judge_quotes_is_redacted)
{
    setenv("API_KEY", "correct-horse-battery", 1);
    struct step step = kit_step(
        &kit,
        &(struct kit_task){
            .agent = "\"command\":[\"true\"],\"env\":[\"API_KEY\"]",
            .config = "\"judge\":[{\"name\":\"leaks\",\"command\":\"printf "
                      "'{\\\"verdict\\\":\\\"fail\\\",\\\"findings\\\":[\\\"%s\\\"]}' $API_KEY "
                      ">$DROVER_RESULT\"}]",
            .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\",\"patchSha256\":\"%s\"",
                                    kit_sh(&kit, "git --git-dir=origin.git rev-parse main"),
                                    kit_put(&kit, patch))});
    struct err err = {0};
    ck_assert_msg(step_judge(&step, &err) == RC_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(buf_text(&kit.result), "[redacted:env]"));
    ck_assert_ptr_null(strstr(buf_text(&kit.result), "correct-horse"));
    for (size_t i = 0; i < kit.port.artifact_count; i++)
        ck_assert_ptr_null(strstr(buf_text(&kit.port.artifacts[i].bytes), "correct-horse"));
}
END_TEST

START_TEST(a_model_passes_and_its_breaker_hears_of_it)
{
    const struct js *result = run(by_model(20000), patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "pass");
    ck_assert_int_eq(model.calls, 1);
    ck_assert_int_eq(kit.port.breaker_asked, 1);
    ck_assert_int_eq(kit.port.breaker_ok, 1);
}
END_TEST

START_TEST(an_open_breaker_keeps_the_model_from_being_asked)
{
    kit.port.breaker_open = true;
    const struct js *result = run(by_model(20000), patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "inconclusive");
    ck_assert_int_eq(model.calls, 0);
}
END_TEST

START_TEST(a_model_that_fails_is_asked_again)
{
    model.failures = 2;
    const struct js *result = run(by_model(200000), patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "pass");
    ck_assert_int_eq(model.calls, 3);
    ck_assert_int_eq(kit.port.breaker_failed, 2);
    ck_assert_int_eq(kit.port.breaker_ok, 1);
}
END_TEST

START_TEST(a_model_that_keeps_failing_leaves_it_open_and_says_why)
{
    model.failures = INT_MAX;
    const struct js *result = run(by_model(200000), patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "inconclusive");
    ck_assert_ptr_nonnull(strstr(word_of(result, "m", "problem"), "overloaded"));
    ck_assert_int_ge(model.calls, 2);
    ck_assert_int_eq(kit.port.breaker_failed, model.calls);
}
END_TEST

/* However slow the machine is: an answer that comes too late, or no answer, is no verdict. */
START_TEST(a_model_that_fails_until_the_time_is_over_leaves_it_open)
{
    model.failures = INT_MAX;
    const struct js *result = run(by_model(900), patch);
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "inconclusive");
    ck_assert_int_eq(kit.port.breaker_ok, 0);
}
END_TEST

START_TEST(what_the_model_has_not_seen_whole_it_has_not_passed)
{
    CLEANUP(buf_release) struct buf diff;
    enum { LINES = 30000 };
    buf_init(&diff, 1024 * 1024);
    buf_addf(&diff,
             "diff --git a/big.txt b/big.txt\nnew file mode 100644\n--- /dev/null\n"
             "+++ b/big.txt\n@@ -0,0 +1,%d @@\n",
             LINES);
    for (int i = 0; i < LINES; i++)
        buf_addf(&diff, "+line %05d\n", i);
    const struct js *result = run(by_model(20000), buf_text(&diff));
    ck_assert_str_eq(js_get_str(result, "verdict", ""), "needs_human_review");
    ck_assert_str_eq(word_of(result, "m", "category"), "size");
}
END_TEST

static void *cancel_when_asked(void *ctx)
{
    (void)ctx;
    for (;;) {
        pthread_mutex_lock(&model.lock);
        int calls = model.calls;
        pthread_mutex_unlock(&model.lock);
        if (calls > 0)
            break;
        sched_yield();
    }
    stop_ask(&kit.stop, STOP_CANCEL);
    return NULL;
}

START_TEST(a_cancel_ends_the_waiting)
{
    model.status = "429 Too Many Requests\r\nRetry-After: 30";
    model.body = "{}";
    struct step step = step_of(by_model(50000), patch);
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_when_asked, NULL);
    struct err err = {0};
    ck_assert_int_eq(step_judge(&step, &err), RC_CANCELLED);
    pthread_join(thread, NULL);
    ck_assert_int_eq(model.calls, 1);
}
END_TEST

START_TEST(without_a_sandbox_nothing_runs)
{
    struct step step = step_of("{\"name\":\"c\",\"command\":\"true\"}", patch);
    struct err err = {0};
    kit.site.sandbox.kind = SANDBOX_UNAVAILABLE;
    ck_assert_int_eq(step_judge(&step, &err), RC_DENIED);
    ck_assert(sandbox_is_unavailable(&err));
    struct step by_rules = step_of("{\"rules\":{\"maxFiles\":3}}", patch);
    ck_assert_int_eq(step_judge(&by_rules, &err), RC_OK); /* It needs none. */
}
END_TEST

Suite *judge_step_suite(void)
{
    Suite *suite = suite_create("judge_step");
    TCase *tests = tcase_create("judge_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_command_judges_the_patched_tree);
    tcase_add_test(tests, a_command_that_cannot_be_told_all_judges_nothing);
    tcase_add_test(tests, what_a_judge_quotes_is_redacted);
    tcase_add_test(tests, a_model_passes_and_its_breaker_hears_of_it);
    tcase_add_test(tests, an_open_breaker_keeps_the_model_from_being_asked);
    tcase_add_test(tests, a_model_that_fails_is_asked_again);
    tcase_add_test(tests, a_model_that_keeps_failing_leaves_it_open_and_says_why);
    tcase_add_test(tests, a_model_that_fails_until_the_time_is_over_leaves_it_open);
    tcase_add_test(tests, what_the_model_has_not_seen_whole_it_has_not_passed);
    tcase_add_test(tests, a_cancel_ends_the_waiting);
    tcase_add_test(tests, without_a_sandbox_nothing_runs);
    suite_add_tcase(suite, tests);
    return suite;
}
