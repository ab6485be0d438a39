/*
 * test_profile.c - the table of profiles, and what a repository gets of one.
 */
#include "base/yaml.h"
#include "core/config/config_decoder.h"
#include "core/config/egress.h"
#include "core/config/profile.h"
#include "core/config/repo_document.h"
#include "core/config/schema_text.h"
#include "tests/unit/suites.h"
#include <string.h>

static struct arena arena;
static struct js *tree;
static struct repo_config config;
static struct err err;

static void reset(void)
{
    js_free(tree);
    tree = NULL;
    arena_release(&arena);
}

/* agent: its members. */
static enum rc decode(const char *agent)
{
    js_free(tree);
    tree = NULL;
    err = (struct err){0};
    const char *text = arena_printf(&arena, "{url: /x, agent: {%s}}", agent);
    ck_assert_int_eq(yaml_parse(text, strlen(text), &tree, &err), RC_OK);
    return repo_config_decode(tree, NULL, &arena, &config, &err);
}

static const char *joined(const char *const *words)
{
    const char *text = "";
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        text = arena_printf(&arena, "%s%s%s", text, i > 0 ? " " : "", words[i]);
    return text;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL)
        count++;
    return count;
}

/* ---- the table ---- */

static void check_env(const char *const *entries, bool literal)
{
    for (size_t i = 0; entries != NULL && entries[i] != NULL; i++) {
        size_t len = strcspn(entries[i], "=");
        ck_assert(literal || entries[i][len] == '\0');
        ck_assert(config_variable_valid(arena_strndup(&arena, entries[i], len)));
        ck_assert(!text_starts(entries[i], "DROVER_"));
    }
}

static void check_logins(const struct agent_login *logins)
{
    for (; logins != NULL && logins->path != NULL; logins++) {
        ck_assert_msg(logins->path[0] == '.' && strstr(logins->path, "..") == NULL, "%s",
                      logins->path);
        ck_assert(logins->refreshed == NULL || count_of(logins->refreshed) > 0);
    }
}

START_TEST(every_row_is_whole)
{
    const struct agent_profile *profile;
    for (size_t i = 0; (profile = agent_profile_at(i)) != NULL; i++) {
        ck_assert_ptr_eq(agent_profile_find(profile->name), profile);
        ck_assert(!text_empty(profile->title) && !text_empty(adapter_name(profile->adapter)));
        ck_assert_uint_le(count_of(profile->env) + count_of(profile->credentials),
                          CONFIG_ENV_ALL_MAX - CONFIG_ENV_MAX);
        check_env(profile->env, true);
        check_env(profile->credentials, false);
        check_logins(profile->logins);
        for (size_t at = 0; at < count_of(profile->egress); at++)
            ck_assert_msg(egress_rule_valid(profile->egress[at]), "%s", profile->egress[at]);
        if (profile->resume != NULL)
            ck_assert_ptr_nonnull(strstr(joined(profile->resume), WORD_SESSION));
        if (profile->command == NULL)
            continue;
        ck_assert(!text_empty(profile->install) && !text_empty(profile->log_in));
        ck_assert_ptr_nonnull(strstr(joined(profile->model), WORD_MODEL));
        bool by_file = strstr(joined(profile->tail), WORD_PROMPT_FILE) != NULL;
        ck_assert_int_eq(profile->prompt, by_file ? PROMPT_FILE : PROMPT_STDIN);
    }
    ck_assert_ptr_null(agent_profile_find("nobody"));
    ck_assert_str_eq(agent_profile_closest("cluade"), "claude");
}
END_TEST

START_TEST(the_schema_lists_the_profiles)
{
    CLEANUP(js_freep) struct js *schema = NULL;
    struct str text = schema_text_of("repository");
    ck_assert_int_eq(js_parse(text.at, text.len, &schema, NULL), RC_OK);
    const struct js *names = js_path(js_get(schema, "$defs"), "agent.properties.use.enum");
    size_t i = 0;
    for (; agent_profile_at(i) != NULL; i++)
        ck_assert_pstr_eq(js_str(js_at(names, i), NULL), agent_profile_at(i)->name);
    ck_assert_uint_eq(js_count(names), i);
}
END_TEST

START_TEST(a_session_is_one_harmless_word)
{
    static const struct {
        const char *id;
        bool valid;
    } rows[] = {
        {"0199a213-81c0-7800-8aa1-bbab2a035a53", true},
        {"ses_6Fd2", true},
        {"T-1:2.3", true},
        {"", false},
        {NULL, false},
        {"--dangerous", false},
        {".hidden", false},
        {"a b", false},
        {"a/../b", false},
        {"a\nb", false},
        {"\xc3\xa4", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_int_eq(agent_session_valid(rows[i].id), rows[i].valid);
    char longest[130];
    memset(longest, 'a', sizeof longest);
    longest[128] = '\0';
    ck_assert(agent_session_valid(longest));
    longest[128] = 'a';
    longest[129] = '\0';
    ck_assert(!agent_session_valid(longest));
}
END_TEST

/* ---- what a repository gets ---- */

#define CLAUDE_COMMAND                                                            \
    "claude -p --output-format stream-json --input-format stream-json --verbose " \
    "--include-partial-messages --dangerously-skip-permissions"
#define CLAUDE_HOSTS "api.anthropic.com:443 platform.claude.com:443 console.anthropic.com:443"
#define CLAUDE_ENV                                                                        \
    "DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 ANTHROPIC_API_KEY " \
    "ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN"
#define CODEX_COMMAND \
    "codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check"

START_TEST(the_profile_gives_what_the_repository_does_not)
{
    static const struct {
        const char *agent;
        enum adapter adapter;
        const char *command, *resume, *egress, *env;
    } rows[] = {
        {"use: claude", ADAPTER_CLAUDE, CLAUDE_COMMAND, CLAUDE_COMMAND " --resume {session}",
         CLAUDE_HOSTS, CLAUDE_ENV},
        {"use: claude, model: opus", ADAPTER_CLAUDE, CLAUDE_COMMAND " --model opus",
         CLAUDE_COMMAND " --resume {session} --model opus", CLAUDE_HOSTS, CLAUDE_ENV},
        {"use: codex, model: gpt-5", ADAPTER_CODEX, CODEX_COMMAND " --model gpt-5 -",
         CODEX_COMMAND " resume {session} --model gpt-5 -",
         "api.openai.com:443 chatgpt.com:443 auth.openai.com:443", "CODEX_API_KEY OPENAI_API_KEY"},
        {"use: claude, command: [./a, '{model}'], model: m, adapter: ndjson, egress: ['h:1']",
         ADAPTER_NDJSON, "./a m", "", "h:1", CLAUDE_ENV},
        {"use: claude, egress: []", ADAPTER_CLAUDE, CLAUDE_COMMAND,
         CLAUDE_COMMAND " --resume {session}", "", CLAUDE_ENV},
        {"use: claude, network: true", ADAPTER_CLAUDE, CLAUDE_COMMAND,
         CLAUDE_COMMAND " --resume {session}", "", CLAUDE_ENV},
        {"use: codex, env: [MINE, 'OPENAI_API_KEY=x=y', 'E=']", ADAPTER_CODEX, CODEX_COMMAND " -",
         CODEX_COMMAND " resume {session} -",
         "api.openai.com:443 chatgpt.com:443 auth.openai.com:443",
         "MINE OPENAI_API_KEY=x=y E= CODEX_API_KEY"},
        {"use: ndjson, command: [a]", ADAPTER_NDJSON, "a", "", "", ""},
        {"use: acp, command: [a]", ADAPTER_ACP, "a", "", "", ""},
        {"command: [a, 'x{model}y{model}'], model: m", ADAPTER_NONE, "a xmym", "", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_msg(decode(rows[i].agent) == RC_OK, "%s: %s", rows[i].agent, err.text);
        ck_assert_int_eq(config.agent.adapter, rows[i].adapter);
        ck_assert_str_eq(joined(config.agent.command), rows[i].command);
        ck_assert_str_eq(joined(config.agent.resume), rows[i].resume);
        ck_assert_str_eq(joined(config.agent.egress), rows[i].egress);
        ck_assert_str_eq(joined(config.agent.env), rows[i].env);
    }
}
END_TEST

START_TEST(a_prompt_goes_the_way_of_the_profile)
{
    ck_assert_int_eq(decode("use: aider"), RC_OK);
    ck_assert_int_eq(config.agent.prompt, PROMPT_FILE);
    ck_assert_ptr_nonnull(strstr(joined(config.agent.command), "--message-file {promptFile}"));
    ck_assert_ptr_null(config.agent.resume[0]);
    ck_assert_int_eq(decode("use: aider, prompt: stdin"), RC_OK);
    ck_assert_int_eq(config.agent.prompt, PROMPT_STDIN);
}
END_TEST

START_TEST(a_model_is_told_or_known_not_to_be)
{
    static const struct {
        const char *agent;
        bool told;
    } rows[] = {
        {"command: [a]", false},
        {"command: [a], model: m", false},
        {"command: [a, '--model={model}'], model: m", true},
        {"use: claude", false},
        {"use: claude, model: m", true},
        {"use: claude, command: [a], model: m", false},
        {"compute: pull, model: m", true},
        {"use: acp, command: [a], model: m", true},
        {"compute: remote, remote: {url: 'http://h/'}, model: m", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_msg(decode(rows[i].agent) == RC_OK, "%s: %s", rows[i].agent, err.text);
        ck_assert_msg(config.agent.model_told == rows[i].told, "%s", rows[i].agent);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *agent, *field, *text;
    } rows[] = {
        {"use: cluade", "agent.use", "no profile \"cluade\" (did you mean claude?)"},
        {"use: zzzzzzzz", "agent.use", "no profile \"zzzzzzzz\"; see"},
        {"use: ndjson", "agent.command", "profile ndjson"},
        {"use: claude, compute: pull", "agent.use", "process"},
        {"command: [a, '{model}']", "agent.command", "agent.model is missing"},
        {"use: claude, homeWriteBack: all", "agent.homeWriteBack", "credentials"},
        {"use: claude, permissions: always", "agent.permissions", "policy, ask"},
        {"use: claude, elicitation: policy", "agent.elicitation", "refuse, ask"},
        {"use: claude, env: ['A-B=1']", "agent.env[0]", "NAME=value"},
        {"use: claude, env: ['DROVER_URL=x']", "agent.env[0]", "DROVER_"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ck_assert_msg(decode(rows[i].agent) == RC_INVALID, "%s", rows[i].agent);
        ck_assert_str_eq(err.field, rows[i].field);
        ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(a_login_is_copied_back_unless_that_is_turned_off)
{
    ck_assert_int_eq(decode("use: claude"), RC_OK);
    ck_assert(config.agent.home_write_back);
    ck_assert_int_eq(decode("use: claude, homeWriteBack: none"), RC_OK);
    ck_assert(!config.agent.home_write_back);
}
END_TEST

START_TEST(people_are_asked_where_that_is_turned_on)
{
    ck_assert_int_eq(decode("use: claude"), RC_OK);
    ck_assert(!config.agent.asks_permission && !config.agent.asks_forms);
    ck_assert_int_eq(decode("use: claude, permissions: ask"), RC_OK);
    ck_assert(config.agent.asks_permission && !config.agent.asks_forms);
    ck_assert_int_eq(decode("use: claude, permissions: policy, elicitation: ask"), RC_OK);
    ck_assert(!config.agent.asks_permission && config.agent.asks_forms);
}
END_TEST

/* ---- shown ---- */

static struct js *shown(const char *platform, const char *repository)
{
    CLEANUP(buf_release) struct buf text;
    struct js *answer = NULL;
    const struct repo_layers layers = {.platform = str_of(platform),
                                       .repository = str_of(repository)};
    buf_init(&text, 1 << 16);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    ck_assert_int_eq(repo_layers_write(&layers, &arena, &jw, &err), RC_OK);
    jw_end(&jw, '}');
    ck_assert_int_eq(js_parse(buf_text(&text), text.len, &answer, &err), RC_OK);
    return answer;
}

START_TEST(values_of_a_profile_have_it_as_their_origin)
{
    static const struct {
        const char *path, *origin;
    } rows[] = {
        {"agent.use", "repository"},  {"agent.command", "profile"},  {"agent.adapter", "profile"},
        {"agent.egress", "platform"}, {"agent.env", "repository"},   {"agent.prompt", "profile"},
        {"agent.network", "default"}, {"agent.model", "repository"},
    };
    CLEANUP(js_freep)
    struct js *answer = shown("{\"agent\":{\"egress\":[\"a.b\"]}}",
                              "{\"url\":\"/x\",\"agent\":{\"use\":\"codex\",\"model\":\"m\","
                              "\"env\":[\"A=1\"]}}");
    const struct js *origins = js_get(answer, "origins");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        ck_assert_pstr_eq(js_get_str(origins, rows[i].path, NULL), rows[i].origin);
    const struct js *agent = js_path(answer, "effective.agent");
    ck_assert_str_eq(js_text(js_get(agent, "env"), &arena),
                     "[\"A=1\",\"CODEX_API_KEY\",\"OPENAI_API_KEY\"]");
    ck_assert_str_eq(js_get_str(agent, "adapter", ""), "codex");
    ck_assert_str_eq(js_str(js_at(js_get(agent, "command"), 6), ""), "m");
    ck_assert_str_eq(js_text(js_get(agent, "egress"), &arena), "[\"a.b\"]");
}
END_TEST

START_TEST(defaults_of_a_server_may_name_a_profile)
{
    CLEANUP(js_freep) struct js *layer = NULL;
    static const char text[] = "{\"agent\":{\"use\":\"claude\"}}";
    struct faults faults = {0};
    ck_assert_int_eq(js_parse(text, strlen(text), &layer, NULL), RC_OK);
    ck_assert_msg(repo_defaults_check(layer, &arena, &faults, &err) == RC_OK, "%s", err.text);
    const struct repo_layers layers = {.platform = str_of(text),
                                       .repository = STR("{\"url\":\"/x\"}")};
    ck_assert_int_eq(repo_layers_decode(&layers, &arena, &tree, &config, &err), RC_OK);
    ck_assert_str_eq(config.agent.command[0], "claude");
}
END_TEST

Suite *profile_suite(void)
{
    Suite *suite = suite_create("profile");
    TCase *tests = tcase_create("profile");
    tcase_add_checked_fixture(tests, NULL, reset);
    tcase_add_test(tests, every_row_is_whole);
    tcase_add_test(tests, the_schema_lists_the_profiles);
    tcase_add_test(tests, a_session_is_one_harmless_word);
    tcase_add_test(tests, the_profile_gives_what_the_repository_does_not);
    tcase_add_test(tests, a_prompt_goes_the_way_of_the_profile);
    tcase_add_test(tests, a_model_is_told_or_known_not_to_be);
    tcase_add_test(tests, what_does_not_fit_is_refused);
    tcase_add_test(tests, a_login_is_copied_back_unless_that_is_turned_off);
    tcase_add_test(tests, people_are_asked_where_that_is_turned_on);
    tcase_add_test(tests, values_of_a_profile_have_it_as_their_origin);
    tcase_add_test(tests, defaults_of_a_server_may_name_a_profile);
    suite_add_tcase(suite, tests);
    return suite;
}
