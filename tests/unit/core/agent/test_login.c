/*
 * test_login.c - what of a login that comes back from an agent is kept.
 */
#include "core/agent/login.h"
#include "tests/unit/suites.h"
#include <string.h>

#define HAD \
    "{'claudeAiOauth':{'accessToken':'a1','refreshToken':'r1','expiresAt':100,'scopes':['x']}}"

static const struct {
    const char *what, *has;
    enum login_verdict verdict;
    const char *want; /* The text, or a part of why. */
} rows[] = {
    {"nothing has changed", HAD, LOGIN_SAME, NULL},
    {"only its spaces have",
     "{ 'claudeAiOauth' : {'accessToken':'a1','refreshToken':'r1','expiresAt':100,'scopes':[]}}",
     LOGIN_SAME, NULL},
    {"tokens and expiry",
     "{'claudeAiOauth':{'accessToken':'a2','refreshToken':'r2','expiresAt':200,'scopes':['x']}}",
     LOGIN_REFRESHED,
     "{'claudeAiOauth':{'accessToken':'a2','refreshToken':'r2','expiresAt':200,'scopes':['x']}}"},
    {"what the profile does not name stays as it was",
     "{'claudeAiOauth':{'accessToken':'a2','refreshToken':'r1','expiresAt':100,"
     "'scopes':['all'],'hooks':'evil'},'mcpServers':{'x':{'command':'evil'}}}",
     LOGIN_REFRESHED,
     "{'claudeAiOauth':{'accessToken':'a2','refreshToken':'r1','expiresAt':100,'scopes':['x']}}"},
    {"a login that the program has emptied",
     "{'claudeAiOauth':{'accessToken':'','refreshToken':'','expiresAt':0,'scopes':['x']}}",
     LOGIN_REFUSED, "accessToken is empty"},
    {"a token of another type",
     "{'claudeAiOauth':{'accessToken':{'x':1},'refreshToken':'r2','expiresAt':200}}", LOGIN_REFUSED,
     "of another type"},
    {"a token with a newline",
     "{'claudeAiOauth':{'accessToken':'a\\n2','refreshToken':'r2','expiresAt':200}}", LOGIN_REFUSED,
     "not printable"},
    {"a member that is gone", "{'claudeAiOauth':{'accessToken':'a2','expiresAt':200}}",
     LOGIN_REFUSED, "refreshToken is missing"},
    {"an expiry that goes back",
     "{'claudeAiOauth':{'accessToken':'a2','refreshToken':'r2','expiresAt':99}}", LOGIN_REFUSED,
     "smaller"},
    {"another object", "{'other':1}", LOGIN_REFUSED, "members that it had"},
    {"no object", "[1]", LOGIN_REFUSED, "JSON object"},
    {"no JSON", "{'claudeAiOauth':", LOGIN_REFUSED, "JSON object"},
    {"nothing at all", "", LOGIN_REFUSED, "JSON object"},
};

static struct str quoted(const char *text, struct arena *arena)
{
    char *json = arena_strdup(arena, text);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    return str_of(json);
}

START_TEST(only_what_the_profile_names_comes_back)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct agent_login *login = agent_profile_find("claude")->logins;
    struct str text = {0};
    const char *why = "";
    enum login_verdict verdict = login_merge(login, quoted(HAD, &arena),
                                             quoted(rows[_i].has, &arena), &arena, &text, &why);
    ck_assert_msg(verdict == rows[_i].verdict, "%s: %s", rows[_i].what, why);
    if (verdict == LOGIN_REFRESHED)
        ck_assert_str_eq(text.at, quoted(rows[_i].want, &arena).at);
    if (verdict == LOGIN_REFUSED)
        ck_assert_msg(strstr(why, rows[_i].want) != NULL, "%s: %s", rows[_i].what, why);
}
END_TEST

START_TEST(the_account_that_codex_is_logged_in_to_cannot_be_changed)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct agent_login *login = agent_profile_find("codex")->logins;
    struct str text = {0};
    const char *why = "";
    struct str had = quoted("{'OPENAI_API_KEY':null,'tokens':{'id_token':'i','access_token':'a',"
                            "'refresh_token':'r','account_id':'mine'},'last_refresh':'2026'}",
                            &arena);
    struct str has = quoted("{'OPENAI_API_KEY':'theirs','tokens':{'id_token':'i2','access_token':"
                            "'a2','refresh_token':'r2','account_id':'theirs'},'last_refresh':"
                            "'2027'}",
                            &arena);
    ck_assert_int_eq(login_merge(login, had, has, &arena, &text, &why), LOGIN_REFRESHED);
    ck_assert_str_eq(text.at, quoted("{'OPENAI_API_KEY':null,'tokens':{'id_token':'i2',"
                                     "'access_token':'a2','refresh_token':'r2','account_id':'mine'"
                                     "},'last_refresh':'2027'}",
                                     &arena)
                                  .at);
}
END_TEST

START_TEST(a_login_has_a_largest_size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct agent_login *login = agent_profile_find("cursor-agent")->logins;
    char *token = arena_alloc(&arena, LOGIN_BYTES_MAX + 1);
    struct str text = {0}, had = quoted("{'accessToken':'a','refreshToken':'r'}", &arena);
    const char *why = "";
    memset(token, 'x', LOGIN_VALUE_MAX + 1);
    const char *has = arena_printf(&arena, "{\"accessToken\":\"%s\",\"refreshToken\":\"r\"}",
                                   token);
    ck_assert_int_eq(login_merge(login, had, str_of(has), &arena, &text, &why), LOGIN_REFUSED);
    memset(token, 'x', LOGIN_BYTES_MAX);
    has = arena_printf(&arena, "{\"accessToken\":\"%s\",\"refreshToken\":\"r\"}", token);
    ck_assert_int_eq(login_merge(login, had, str_of(has), &arena, &text, &why), LOGIN_REFUSED);
    ck_assert_ptr_null(text.at);
}
END_TEST

Suite *login_suite(void)
{
    Suite *suite = suite_create("login");
    TCase *tests = tcase_create("login");
    tcase_add_loop_test(tests, only_what_the_profile_names_comes_back, 0, (int)COUNT_OF(rows));
    tcase_add_test(tests, the_account_that_codex_is_logged_in_to_cannot_be_changed);
    tcase_add_test(tests, a_login_has_a_largest_size);
    suite_add_tcase(suite, tests);
    return suite;
}
