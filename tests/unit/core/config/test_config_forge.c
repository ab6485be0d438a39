/*
 * test_config_forge.c - forge, api and credentials of a repository.
 */
#include "base/yaml.h"
#include "core/config/repo_config.h"
#include "tests/unit/suites.h"
#include <string.h>

#define HOSTED "agent: {command: [a]}, url: 'https://github.com/acme/x.git', forge: github, "
#define LOCAL  "agent: {command: [a]}, url: /x, "

static enum rc decode(const char *document, struct js **tree, struct arena *arena,
                      struct repo_config *config, struct err *err)
{
    ck_assert_int_eq(yaml_parse(document, strlen(document), tree, err), RC_OK);
    return repo_config_decode(*tree, NULL, arena, config, err);
}

START_TEST(an_app_has_an_id_and_a_key_file)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    enum rc rc = decode("{" HOSTED "api: 'https://ghe.example/api/v3', credentials: {"
                        "app: {id: 12345, keyFile: /k.pem}, "
                        "reviewerApp: {id: Iv1.abc, keyFile: /r.pem, installation: 7}}}",
                        &tree, &arena, &config, &err);
    ck_assert_msg(rc == RC_OK, "%s: %s", err.field, err.text);
    ck_assert_str_eq(config.forge, "github");
    ck_assert_str_eq(config.api, "https://ghe.example/api/v3");
    ck_assert_str_eq(config.app.id, "12345");
    ck_assert_str_eq(config.app.key_file, "/k.pem");
    ck_assert_int_eq(config.app.installation, 0);
    ck_assert_str_eq(config.reviewer_app.id, "Iv1.abc");
    ck_assert_int_eq(config.reviewer_app.installation, 7);
    ck_assert_ptr_null(config.forge_credential);
}
END_TEST

START_TEST(tokens_come_from_variables)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_int_eq(decode("{" HOSTED "credentials: {forge: WRITER, reviewer: REVIEWER}}", &tree,
                            &arena, &config, &err),
                     RC_OK);
    ck_assert_str_eq(config.forge_credential, "WRITER");
    ck_assert_str_eq(config.reviewer_credential, "REVIEWER");
    ck_assert_ptr_null(config.app.id);
    ck_assert_ptr_null(config.api);
}
END_TEST

static const struct {
    const char *document, *field, *word;
} refusals[] = {
    {"{" LOCAL "api: 'https://h/api'}", "api", "servers"},
    {"{" HOSTED "api: 'ftp://h/'}", "api", "https"},
    {"{" LOCAL "forge: gitea}", "forge", "https://host/path"},
    {"{" LOCAL "credentials: {app: {id: 1, keyFile: /k}}}", "credentials.app", "github"},
    {"{" LOCAL "credentials: {reviewerApp: {id: 1, keyFile: /k}}}", "credentials.reviewerApp",
     "github"},
    {"{" HOSTED "credentials: {forge: A, app: {id: 1, keyFile: /k}}}", "credentials.app", "beside"},
    {"{" HOSTED "credentials: {reviewer: A, reviewerApp: {id: 1, keyFile: /k}}}",
     "credentials.reviewerApp", "beside"},
    {"{" HOSTED "credentials: {app: {keyFile: /k}}}", "credentials.app.id", "id"},
    {"{" HOSTED "credentials: {app: {id: 0, keyFile: /k}}}", "credentials.app.id", "number"},
    {"{" HOSTED "credentials: {app: {id: 'a b', keyFile: /k}}}", "credentials.app.id", "number"},
    {"{" HOSTED "credentials: {app: {id: [1], keyFile: /k}}}", "credentials.app.id", "number"},
    {"{" HOSTED "credentials: {app: {id: 1}}}", "credentials.app.keyFile", "keyFile"},
    {"{" HOSTED "credentials: {app: {id: 1, keyFile: k.pem}}}", "credentials.app.keyFile",
     "absolute"},
    {"{" HOSTED "credentials: {app: {id: 1, keyFile: /k, installation: 0}}}",
     "credentials.app.installation", "between"},
    {"{" HOSTED "credentials: {reviewer: 'ghp x'}}", "credentials.reviewer",
     "environment variable"},
    {"{" HOSTED "credentials: {token: A}}", "credentials.token", "token"},
};

START_TEST(what_is_wrong_is_refused_by_name)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    CLEANUP(arena_release) struct arena arena = {0};
    struct repo_config config;
    struct err err = {0};
    ck_assert_msg(decode(refusals[_i].document, &tree, &arena, &config, &err) == RC_INVALID,
                  "taken: %s", refusals[_i].document);
    ck_assert_str_eq(err.field, refusals[_i].field);
    ck_assert_msg(strstr(err.text, refusals[_i].word) != NULL, "no \"%s\" in: %s",
                  refusals[_i].word, err.text);
}
END_TEST

Suite *config_forge_suite(void)
{
    Suite *suite = suite_create("config_forge");
    TCase *tc = tcase_create("config_forge");
    tcase_add_test(tc, an_app_has_an_id_and_a_key_file);
    tcase_add_test(tc, tokens_come_from_variables);
    tcase_add_loop_test(tc, what_is_wrong_is_refused_by_name, 0, (int)COUNT_OF(refusals));
    suite_add_tcase(suite, tc);
    return suite;
}
