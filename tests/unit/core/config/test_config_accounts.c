/* test_config_accounts.c - the accounts of an agent, and what it falls back on. */
#include "base/yaml.h"
#include "core/config/profile.h"
#include "core/config/repo_config.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;
static struct js *tree;
static struct repo_config config;

static void empty(void)
{
    js_free(tree);
    tree = NULL;
    arena_release(&arena);
}

static enum rc decode(const char *agent, const char *model, struct err *err)
{
    const char *text = arena_printf(&arena, "{url: /x, agent: {%s}}", agent);
    enum rc rc = yaml_parse(text, strlen(text), &tree, err);
    ck_assert_msg(rc == RC_OK, "%s", err->text);
    return repo_config_decode_for(tree, model, &arena, &config, err);
}

static bool has(const char *const *list, const char *text)
{
    for (size_t i = 0; list[i] != NULL; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

START_TEST(a_fallback_is_the_same_agent_with_another_program)
{
    struct err err = {0};
    enum rc rc = decode("use: claude, model: big, accounts: [one, two], home: /h, env: [A, B=1],"
                        " mounts: [{path: /m}], resources: {processes: 9},"
                        " fallback: [{use: codex, model: small, accounts: [three]},"
                        "  {command: [last, '{model}'], adapter: ndjson, model: m, account: four,"
                        "   prices: {inputPerMTok: 1, outputPerMTok: 2}}]",
                        NULL, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_uint_eq(config.fallback_count, 2);
    ck_assert_ptr_eq(repo_config_agent(&config, 0), &config.agent);
    ck_assert_ptr_eq(repo_config_agent(&config, 3), &config.agent); /* Not there any more. */
    ck_assert_str_eq(agent_name(&config.agent), "claude");
    ck_assert_str_eq(config.agent.accounts[1], "two");
    ck_assert_str_eq(config.agent.model, "big");

    const struct agent_config *codex = repo_config_agent(&config, 1);
    ck_assert_str_eq(agent_name(codex), "codex");
    ck_assert_int_eq(codex->adapter, ADAPTER_CODEX);
    ck_assert_str_eq(codex->command[0], "codex");
    ck_assert(has(codex->command, "small"));
    ck_assert_str_eq(codex->accounts[0], "three");
    ck_assert_ptr_null(codex->accounts[1]);
    ck_assert_ptr_null(codex->home);
    ck_assert(has(codex->env, "A") && has(codex->env, "B=1"));
    ck_assert(has(codex->env, "OPENAI_API_KEY") && !has(codex->env, "ANTHROPIC_API_KEY"));
    ck_assert(has(codex->egress, codex->profile->egress[0]));
    ck_assert(!has(codex->egress, config.agent.profile->egress[0]));
    ck_assert_uint_eq(codex->mount_count, 1);
    ck_assert_int_eq(codex->resources.processes, 9);

    const struct agent_config *last = repo_config_agent(&config, 2);
    ck_assert_ptr_null(last->profile);
    ck_assert_str_eq(agent_name(last), "ndjson");
    ck_assert_str_eq(last->command[1], "m");
    ck_assert_str_eq(last->account, "four");
    ck_assert_double_eq(last->prices.output, 2);
    ck_assert_ptr_null(last->egress[0]);
}
END_TEST

START_TEST(hosts_of_the_repository_itself_stay)
{
    struct err err = {0};
    ck_assert_int_eq(
        decode("use: claude, egress: [registry.example.org], fallback: [{use: codex}]", NULL, &err),
        RC_OK);
    const struct agent_config *codex = repo_config_agent(&config, 1);
    ck_assert(has(codex->egress, "registry.example.org"));
    ck_assert(has(codex->egress, codex->profile->egress[0]));
}
END_TEST

START_TEST(the_model_of_the_account_replaces_that_of_the_agent)
{
    struct err err = {0};
    ck_assert_int_eq(decode("use: claude, model: big, fallback: [{use: codex, model: small}]",
                            "of-the-account", &err),
                     RC_OK);
    ck_assert(has(config.agent.command, "of-the-account") && !has(config.agent.command, "big"));
    ck_assert(has(config.fallback[0].command, "of-the-account"));
    empty();
    ck_assert_int_eq(decode("use: claude", "of-the-account", &err), RC_OK);
    ck_assert(has(config.agent.command, "of-the-account"));
}
END_TEST

START_TEST(a_candidate_may_have_an_account_of_its_own)
{
    static const char *const texts[] = {
        "{url: /x, agent: {command: [a], accounts: [one, two]},"
        " candidates: [{name: c, agent: {account: three}}]}",
        "{url: /x, agent: {command: [a], account: one},"
        " candidates: [{name: c, agent: {accounts: [two, three]}}]}",
    };
    struct err err = {0};
    ck_assert_int_eq(yaml_parse(texts[_i], strlen(texts[_i]), &tree, &err), RC_OK);
    ck_assert_msg(repo_config_decode(tree, NULL, &arena, &config, &err) == RC_OK, "%s", err.text);
    struct str layer = candidate_layer(tree, config.candidates[0].agent, &arena);
    ck_assert_ptr_nonnull(strstr(layer.at, _i == 0 ? "\"accounts\":null" : "\"account\":null"));
}
END_TEST

static const struct {
    const char *agent, *field, *says;
} refused[] = {
    {"command: [a], account: x, accounts: [y]", "agent.accounts", "beside account"},
    {"command: [a], accounts: [Y]", "agent.accounts[0]", "lower-case"},
    {"compute: pull, accounts: [y]", "agent.accounts", "compute process"},
    {"compute: pull, fallback: [{use: codex}]", "agent.fallback", "compute process"},
    {"command: [a], fallback: [{model: x}]", "agent.fallback[0].use", "missing"},
    {"command: [a], fallback: [{use: cluade}]", "agent.fallback[0].use", "claude"},
    {"command: [a], fallback: [{use: codex, home: /h}]", "agent.fallback[0].home", "home"},
    {"command: [a], fallback: [{command: ['{model}']}]", "agent.fallback[0].command", "model"},
    {"command: [a], fallback: [{use: codex, account: x, accounts: [y]}]",
     "agent.fallback[0].accounts", "beside account"},
    {"command: [a], fallback: [{use: codex}, {use: codex}, {use: codex}, {use: codex},"
     " {use: codex}]",
     "agent.fallback", "4"},
};

START_TEST(what_cannot_be_is_refused_by_its_place)
{
    struct err err = {0};
    ck_assert_int_eq(decode(refused[_i].agent, NULL, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refused[_i].field);
    ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
}
END_TEST

Suite *config_accounts_suite(void)
{
    Suite *suite = suite_create("config_accounts");
    TCase *tests = tcase_create("config_accounts");
    tcase_add_checked_fixture(tests, NULL, empty);
    tcase_add_test(tests, a_fallback_is_the_same_agent_with_another_program);
    tcase_add_test(tests, hosts_of_the_repository_itself_stay);
    tcase_add_test(tests, the_model_of_the_account_replaces_that_of_the_agent);
    tcase_add_loop_test(tests, a_candidate_may_have_an_account_of_its_own, 0, 2);
    tcase_add_loop_test(tests, what_cannot_be_is_refused_by_its_place, 0, (int)COUNT_OF(refused));
    suite_add_tcase(suite, tests);
    return suite;
}
