/*
 * test_notify_step.c - a notification that cannot be delivered tells why, and none of the channel's
 * secrets.
 */
#include "tests/unit/tiny_server.h"
#include "tests/unit/work_kit.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;
static struct err err;

static void setup(void)
{
    kit_open(&kit);
    err = (struct err){0};
}

static void teardown(void)
{
    kit_close(&kit);
}

/* channel: JSON members behind name and on. */
static struct step deliver(const char *channel)
{
    const char *text = arena_printf(&kit.arena,
                                    "{\"kind\":\"failed\",\"channel\":{\"name\":\"ops\","
                                    "\"on\":[\"failed\"],%s},"
                                    "\"event\":{\"id\":\"1\",\"type\":\"t\",\"data\":{}}}",
                                    channel);
    struct step step = {.site = &kit.site,
                        .arena = &kit.arena,
                        .stop = &kit.stop,
                        .deadline_us = clock_mono_us() + 60 * US_PER_SECOND,
                        .result = &kit.result};
    ck_assert_msg(js_parse(text, strlen(text), &kit.payload, &err) == RC_OK, "%s", err.text);
    step.input.payload = kit.payload;
    ck_assert_int_ne(step_notify(&step, &err), RC_OK);
    return step;
}

static void check_said(const struct step *step, const char *code, const char *said)
{
    static const char *const secrets[] = {"hunter2-hunter2", "T000/B000", "hunter2"};
    ck_assert_str_eq(step->failure.code, code);
    ck_assert_msg(strstr(step->failure.message, said) != NULL, "%s", step->failure.message);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        ck_assert_msg(strstr(step->failure.message, secrets[i]) == NULL, "%s",
                      step->failure.message);
        ck_assert_msg(strstr(err.text, secrets[i]) == NULL, "%s", err.text);
    }
}

static const struct {
    const char *name, *value, *script;
} commands[] = {
    {"PAGER_KEY", "hunter2-hunter2", "echo \"refused: $PAGER_KEY\""},
    {"PAGER_URL", "https://chat.example.org/services/T000/B000/x", "echo \"refused: $PAGER_URL\""},
    {"PAGER_URL", "https://chat.example.org?token=hunter2", "echo \"refused: $PAGER_URL\""},
    {"PAGER_KEY", "hunter2-hunter2", "printf 'refused:%290s' $PAGER_KEY"}, /* Cut in the middle. */
};

START_TEST(what_a_command_says_is_told_without_its_secrets)
{
    ck_assert_int_eq(setenv(commands[_i].name, commands[_i].value, 1), 0);
    kit_sh(&kit, "printf '%%s >&2; exit 3' '%s' >page.sh", commands[_i].script);
    struct step step = deliver(arena_printf(&kit.arena,
                                            "\"type\":\"command\",\"env\":[\"%s\"],"
                                            "\"command\":[\"sh\",\"%s/page.sh\"]",
                                            commands[_i].name, kit.dir));
    check_said(&step, "notification_failed", "refused:");
}
END_TEST

static bool refuse(void *ctx, const char *request, int fd)
{
    (void)ctx;
    ck_assert(text_starts(request, "POST /services/T000/B000/x "));
    tiny_answer(fd, "400 Bad Request", "application/problem+json",
                "{\"title\":\"refused\",\"detail\":\"refused: no hook services/T000/B000/x\"}");
    return false;
}

START_TEST(what_a_receiver_says_is_told_without_the_address)
{
    struct tiny_server *server = tiny_server_start(refuse, NULL);
    const char *url = arena_printf(&kit.arena, "%s/services/T000/B000/x", tiny_server_url(server));
    ck_assert_int_eq(setenv("CHAT_URL", url, 1), 0);
    struct step step = deliver("\"type\":\"slack\",\"urlEnv\":\"CHAT_URL\"");
    tiny_server_stop(server);
    check_said(&step, "notification_refused", "refused: ");
}
END_TEST

Suite *notify_step_suite(void)
{
    Suite *suite = suite_create("notify_step");
    TCase *tests = tcase_create("notify_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, what_a_command_says_is_told_without_its_secrets, 0,
                        (int)COUNT_OF(commands));
    tcase_add_test(tests, what_a_receiver_says_is_told_without_the_address);
    suite_add_tcase(suite, tests);
    return suite;
}
