/*
 * test_config_webhook.c - webhook and sync of a repository's configuration.
 */
#include "core/config/repo_config.h"
#include "tests/unit/suites.h"
#include <string.h>

static enum rc decode(const char *more, struct arena *arena, struct js **tree,
                      struct repo_config *ret_config, struct err *err)
{
    const char *text = arena_printf(
        arena, "{\"url\":\"https://github.com/acme/billing\",\"agent\":{\"command\":[\"a\"]}%s}",
        more);
    ck_assert_int_eq(js_parse(text, strlen(text), tree, err), RC_OK);
    return repo_config_decode(*tree, NULL, arena, ret_config, err);
}

START_TEST(secrets_are_names_and_pauses_have_defaults)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *none = NULL, *all = NULL;
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode("", &arena, &none, &config, &err), RC_OK);
    ck_assert_ptr_null(config.webhook.secret);
    ck_assert_ptr_null(config.webhook.old_secret);
    ck_assert_int_eq(config.sync.poll_ms, 60000);
    ck_assert_int_eq(config.sync.recover_ms, 600000);
    enum rc rc = decode(",\"webhook\":{\"secret\":\"NEW\",\"oldSecret\":\"OLD\"},"
                        "\"sync\":{\"everyMs\":5000,\"recoverMs\":7000}",
                        &arena, &all, &config, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_str_eq(config.webhook.secret, "NEW");
    ck_assert_str_eq(config.webhook.old_secret, "OLD");
    ck_assert_int_eq(config.sync.poll_ms, 5000);
    ck_assert_int_eq(config.sync.recover_ms, 7000);
}
END_TEST

static const struct {
    const char *more, *field;
} refused[] = {
    {",\"webhook\":{\"secret\":\"not a name\"}", "webhook.secret"},
    {",\"webhook\":{\"secret\":\"\"}", "webhook.secret"},
    {",\"webhook\":{\"oldSecret\":\"OLD\"}", "webhook.oldSecret"},
    {",\"webhook\":{\"token\":\"NEW\"}", "webhook.token"},
    {",\"webhook\":[]", "webhook"},
    {",\"sync\":{\"everyMs\":999}", "sync.everyMs"},
    {",\"sync\":{\"recoverMs\":86400001}", "sync.recoverMs"},
    {",\"sync\":{\"every\":1}", "sync.every"},
};

START_TEST(what_does_not_fit_is_refused_by_name)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode(refused[_i].more, &arena, &tree, &config, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refused[_i].field);
}
END_TEST

Suite *config_webhook_suite(void)
{
    Suite *suite = suite_create("config_webhook");
    TCase *tests = tcase_create("config_webhook");
    tcase_add_test(tests, secrets_are_names_and_pauses_have_defaults);
    tcase_add_loop_test(tests, what_does_not_fit_is_refused_by_name, 0, (int)COUNT_OF(refused));
    suite_add_tcase(suite, tests);
    return suite;
}
