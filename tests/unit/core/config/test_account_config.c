/* test_account_config.c - the accounts of the server's configuration. */
#include "base/yaml.h"
#include "core/config/account_config.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;

static void empty(void)
{
    arena_release(&arena);
}

static enum rc decode(const char *text, struct account_configs *ret, struct err *err)
{
    CLEANUP(js_freep) struct js *tree = NULL;
    ck_assert_msg(yaml_parse(text, strlen(text), &tree, err) == RC_OK, "%s", err->text);
    return account_configs_decode(tree, "accounts", &arena, ret, err);
}

START_TEST(an_account_says_where_its_login_is_and_what_it_may_carry)
{
    struct account_configs accounts;
    struct err err = {0};
    enum rc rc = decode("[{name: one, provider: claude, home: /srv/one},"
                        " {name: two, provider: codex, env: [OPENAI_API_KEY, 'A_KEY=$B',"
                        "  'C_TOKEN=@/run/c', MAX_TOKENS=5], maxRuns: 3, price: 0.5,"
                        "  reserve: 0.2, model: big}]",
                        &accounts, &err);
    ck_assert_msg(rc == RC_OK, "%s", err.text);
    ck_assert_uint_eq(accounts.count, 2);
    const struct account_config *one = account_configs_find(&accounts, "one");
    ck_assert_str_eq(one->home, "/srv/one");
    ck_assert_int_eq(one->max_runs, 1); /* For ever. */
    ck_assert_double_eq(one->price, 1);
    const struct account_config *two = account_configs_find(&accounts, "two");
    ck_assert_str_eq(two->provider, "codex");
    ck_assert_int_eq(two->max_runs, 3);
    ck_assert_double_eq(two->price, 0.5);
    ck_assert_double_eq(two->reserve, 0.2);
    ck_assert_str_eq(two->model, "big");
    static const struct account_variable want[] = {
        {"OPENAI_API_KEY", VARIABLE_OWN, "OPENAI_API_KEY"},
        {"A_KEY", VARIABLE_OTHER, "B"},
        {"C_TOKEN", VARIABLE_FILE, "/run/c"},
        {"MAX_TOKENS", VARIABLE_TEXT, "5"},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct account_variable got = account_variable_of(two->env[i], &arena);
        ck_assert_str_eq(got.name, want[i].name);
        ck_assert_int_eq(got.source, want[i].source);
        ck_assert_str_eq(got.value, want[i].value);
    }
    ck_assert_ptr_null(account_configs_find(&accounts, "three"));
}
END_TEST

static const struct {
    const char *text, *field, *says;
} refused[] = {
    {"[{provider: claude}]", "accounts[0].name", "name"},
    {"[{name: a}]", "accounts[0].provider", "provider"},
    {"[{name: a, provider: cluade}]", "accounts[0].provider", "did you mean claude"},
    {"[{name: A, provider: claude}]", "accounts[0].name", "lower-case"},
    {"[{name: a, provider: claude, home: relative}]", "accounts[0].home", "absolute"},
    {"[{name: a, provider: claude, home: /a/../b}]", "accounts[0].home", "absolute"},
    {"[{name: a, provider: claude, home: /a, maxRuns: 2}]", "accounts[0].maxRuns", "home"},
    {"[{name: a, provider: claude, reserve: 1.5}]", "accounts[0].reserve", "reserve"},
    {"[{name: a, provider: claude, price: -1}]", "accounts[0].price", "price"},
    {"[{name: a, provider: claude, colour: red}]", "accounts[0].colour", "colour"},
    {"[{name: a, provider: claude}, {name: a, provider: codex}]", "accounts[1].name", "too"},
    {"[{name: a, provider: codex, home: /h}, {name: b, provider: codex, home: /h}]",
     "accounts[1].home", "too"},
    {"[{name: a, provider: codex, env: ['1X=2']}]", "accounts[0].env[0]", "name of an environment"},
    {"[{name: a, provider: codex, env: [HOME=/x]}]", "accounts[0].env[0]", "sets these itself"},
    {"[{name: a, provider: codex, env: [DROVER_URL=x]}]", "accounts[0].env[0]",
     "sets these itself"},
    {"[{name: a, provider: codex, env: ['X=$1']}]", "accounts[0].env[0]", "after $"},
    {"[{name: a, provider: codex, env: ['X=@here']}]", "accounts[0].env[0]", "after @"},
    {"[{name: a, provider: codex, env: [OPENAI_API_KEY=hunter2hunter2]}]", "accounts[0].env[0]",
     "looks like a secret"},
    {"[{name: a, provider: codex, env: [oauth_token=hunter2hunter2]}]", "accounts[0].env[0]",
     "looks like a secret"},
    {"[{name: a, provider: codex, env: [X=ghp_hunter2hunter2hunter2hunter2hunter2hunte]}]",
     "accounts[0].env[0]", "looks like a secret"},
    {"[{name: a, provider: codex, env: [\"X=a\\nb\"]}]", "accounts[0].env[0]", "control"},
};

START_TEST(what_is_wrong_is_refused_by_its_place_without_its_value)
{
    struct account_configs accounts = {0};
    struct err err = {0};
    ck_assert_int_eq(decode(refused[_i].text, &accounts, &err), RC_INVALID);
    ck_assert_str_eq(err.field, refused[_i].field);
    ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "hunter2"));
    ck_assert_uint_eq(accounts.count, 0);
}
END_TEST

START_TEST(there_are_at_most_64)
{
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, 64 * 1024);
    for (int i = 0; i <= ACCOUNTS_MAX; i++)
        buf_addf(&text, "- {name: a%d, provider: claude}\n", i);
    struct account_configs accounts = {0};
    struct err err = {0};
    ck_assert_int_eq(decode(buf_text(&text), &accounts, &err), RC_INVALID);
}
END_TEST

START_TEST(a_worker_reads_what_the_server_wrote)
{
    struct account_configs accounts;
    struct err err = {0};
    ck_assert_int_eq(
        decode("[{name: a, provider: codex, home: /h, env: [X=y, Z], model: m}]", &accounts, &err),
        RC_OK);
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    struct account_config got;
    buf_init(&text, 10000);
    struct jw jw = jw_to(&text);
    account_config_write(&jw, &accounts.items[0]);
    ck_assert_int_eq(js_parse(text.data, text.len, &tree, &err), RC_OK);
    ck_assert_int_eq(account_config_read(tree, &got, &err), RC_OK);
    ck_assert_str_eq(got.name, "a");
    ck_assert_str_eq(got.home, "/h");
    ck_assert_str_eq(got.model, "m");
    ck_assert_str_eq(got.env[0], "X=y");
    ck_assert_str_eq(got.env[1], "Z");
    ck_assert_ptr_null(got.env[2]);
    static const char *const bad[] = {"{}", "{\"name\":\"a\",\"home\":\"x\"}",
                                      "{\"name\":\"a\",\"env\":[1]}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(js_freep) struct js *other = NULL;
        ck_assert_int_eq(js_parse(bad[i], strlen(bad[i]), &other, &err), RC_OK);
        ck_assert_int_eq(account_config_read(other, &got, &err), RC_INVALID);
    }
}
END_TEST

Suite *account_config_suite(void)
{
    Suite *suite = suite_create("account_config");
    TCase *tests = tcase_create("account_config");
    tcase_add_checked_fixture(tests, NULL, empty);
    tcase_add_test(tests, an_account_says_where_its_login_is_and_what_it_may_carry);
    tcase_add_loop_test(tests, what_is_wrong_is_refused_by_its_place_without_its_value, 0,
                        (int)COUNT_OF(refused));
    tcase_add_test(tests, there_are_at_most_64);
    tcase_add_test(tests, a_worker_reads_what_the_server_wrote);
    suite_add_tcase(suite, tests);
    return suite;
}
