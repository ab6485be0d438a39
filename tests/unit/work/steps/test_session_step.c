/*
 * test_session_step.c - an agent of a profile: its command line, and its session from attempt to
 * attempt.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;

/* A stand-in on PATH, outside of the worktree, as an installed program is. */
static void install(const char *name, const char *script)
{
    const char *bin = arena_printf(&kit.arena, "%s/bin", kit.dir);
    const char *text = arena_printf(&kit.arena, "#!/bin/sh\n%s\n", script);
    ck_assert_int_eq(dir_make(bin, 0755, NULL), RC_OK);
    ck_assert_int_eq(file_write_durable(arena_printf(&kit.arena, "%s/%s", bin, name), text,
                                        strlen(text), 0755, NULL),
                     RC_OK);
}

static void setup(void)
{
    kit_open(&kit);
    const char *path = arena_printf(&kit.arena, "%s/bin:%s", kit.dir, getenv("PATH"));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    ck_assert_int_eq(setenv("HOME", kit.dir, 1), 0); /* A login of this machine is not ours. */
    install("codex", "echo \"args: $*\"; cat; echo; cat $DROVER_PROMPT; echo; ls $HOME; "
                     "touch $HOME/seen\n"
                     "case \"$*\" in *gone*) exit 1;; esac");
}

static void teardown(void)
{
    kit_close(&kit);
}

struct trial {
    const char *agent, *payload;
    int attempt;
};

/* The agent's log. */
static const char *run(const struct trial *trial)
{
    const char *head = kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
    struct kit_task task = {
        .agent = trial->agent != NULL ? trial->agent : "\"use\":\"codex\"",
        .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\",\"promptSha256\":\"%s\"%s%s",
                                head, kit_put(&kit, "Do it well."),
                                trial->payload != NULL ? "," : "",
                                trial->payload != NULL ? trial->payload : ""),
        .attempt = trial->attempt,
    };
    struct step step = kit_step(&kit, &task);
    struct err err = {0};
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s", err.text);
    const struct js *artifacts = js_get(kit_result(&kit), "artifacts");
    for (size_t i = 0; i < js_count(artifacts); i++) {
        if (text_same(js_get_str(js_at(artifacts, i), "kind", ""), "agent_log"))
            return kit_artifact(&kit, js_get_str(js_at(artifacts, i), "sha256", NULL));
    }
    ck_abort_msg("there is no log");
}

#define CODEX_ARGS \
    "args: exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check"

START_TEST(a_profile_is_enough_and_a_model_reaches_its_command)
{
    ck_assert_str_eq(run(&(struct trial){.agent = "\"use\":\"codex\",\"model\":\"gpt-5\""}),
                     CODEX_ARGS " --model gpt-5 -\nDo it well.\nDo it well.\n");
}
END_TEST

static const char *with_feedback(const char *session)
{
    return arena_printf(&kit.arena, "\"session\":\"%s\",\"feedbackSha256\":\"%s\"", session,
                        kit_put(&kit, "unit: expected 42"));
}

START_TEST(a_repair_resumes_the_session_and_gets_the_feedback_alone)
{
    (void)run(&(struct trial){.attempt = 1});
    const char *log = run(&(struct trial){.payload = with_feedback("ses-1"), .attempt = 2});
    ck_assert_msg(text_starts(log, CODEX_ARGS " resume ses-1 -\nThe task goes on"), "%s", log);
    ck_assert_ptr_nonnull(strstr(log, "\nunit: expected 42\n"));
    /* What $DROVER_PROMPT names is the whole one still; the home is the same. */
    ck_assert_msg(text_ends(log, "still holds.\n\nDo it well.\nseen\n"), "%s", log);
}
END_TEST

START_TEST(without_its_home_it_starts_anew_with_the_whole_prompt)
{
    (void)run(&(struct trial){.attempt = 1});
    kit_sh(&kit, "rm -rf data/work/runs");
    const char *log = run(&(struct trial){.payload = with_feedback("ses-1"), .attempt = 2});
    ck_assert_str_eq(log, CODEX_ARGS " -\nDo it well.\nDo it well.\n");
}
END_TEST

START_TEST(an_attempt_that_was_interrupted_goes_on_in_its_session)
{
    (void)run(&(struct trial){.attempt = 1});
    const char *log = run(&(struct trial){.payload = "\"session\":\"ses-1\"", .attempt = 1});
    ck_assert_ptr_nonnull(strstr(log, " resume ses-1 -\n"));
    ck_assert_ptr_nonnull(strstr(log, "You were interrupted"));
}
END_TEST

START_TEST(a_session_that_is_gone_costs_nothing)
{
    (void)run(&(struct trial){.attempt = 1});
    const char *log = run(&(struct trial){.payload = with_feedback("gone"), .attempt = 2});
    ck_assert_str_eq(log, CODEX_ARGS " -\nDo it well.\nDo it well.\nseen\n");
    ck_assert(kit_saw_event(&kit, "agent.session.lost"));
}
END_TEST

START_TEST(an_id_that_is_no_plain_word_is_not_used)
{
    (void)run(&(struct trial){.attempt = 1});
    const char *log = run(&(struct trial){.payload = with_feedback("--help"), .attempt = 2});
    ck_assert_msg(text_starts(log, CODEX_ARGS " -\nDo it well.\n"), "%s", log);
}
END_TEST

START_TEST(a_command_of_the_repository_is_not_resumed)
{
    static const char agent[] = "\"use\":\"codex\",\"command\":[\"codex\",\"own\"]";
    (void)run(&(struct trial){.agent = agent, .attempt = 1});
    const char *log = run(
        &(struct trial){.agent = agent, .payload = with_feedback("ses-1"), .attempt = 2});
    ck_assert_msg(text_starts(log, "args: own\nDo it well.\n"), "%s", log);
}
END_TEST

START_TEST(a_prompt_by_file_is_named_in_the_command)
{
    install("aider",
            "echo \"$*\" | sed 's/.*--message-file //' >$HOME/file; cat $(cat $HOME/file); "
            "cat");
    const char *log = run(&(struct trial){.agent = "\"use\":\"aider\""});
    ck_assert_str_eq(log, "Do it well.");
}
END_TEST

START_TEST(values_of_the_configuration_and_of_the_profile_are_in_the_environment)
{
    install("claude", "env | grep -E '^(MINE|DISABLE_AUTOUPDATER|CLAUDE_CODE_D|EMPTY|PASSED)'; "
                      "echo $MY_TOKEN");
    ck_assert_int_eq(setenv("PASSED", "on", 1), 0);
    const char *log = run(
        &(struct trial){.agent = "\"use\":\"claude\",\"env\":[\"MINE=a=b c\",\"EMPTY=\",\"PASSED\","
                                 "\"DISABLE_AUTOUPDATER=0\",\"MY_TOKEN=a-secret-value\"]"});
    static const char *const want[] = {"MINE=a=b c\n",
                                       "EMPTY=\n",
                                       "PASSED=on\n",
                                       "DISABLE_AUTOUPDATER=0\n",
                                       "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n",
                                       "[redacted:env]"};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_msg(strstr(log, want[i]) != NULL, "%s is not in\n%s", want[i], log);
}
END_TEST

#define LOGIN(n)                                                                     \
    "{\"OPENAI_API_KEY\":null,\"tokens\":{\"id_token\":\"i" n "\",\"access_token\":" \
    "\"access-token-" n "\",\"refresh_token\":\"r" n "\",\"account_id\":\"me\"},"    \
    "\"last_refresh\":\"" n "\"}"

static const char *login_after(const char *agent)
{
    kit_sh(&kit,
           "mkdir -p account/.codex; echo '%s' >account/.codex/auth.json; "
           "echo mine >account/private",
           LOGIN("1"));
    install("codex",
            "cat $HOME/.codex/auth.json; ls $HOME; cat >$HOME/.codex/auth.json <<'END'\n" LOGIN(
                "2") "\nEND");
    ck_assert_int_eq(setenv("HOME", arena_printf(&kit.arena, "%s/account", kit.dir), 1), 0);
    const char *log = run(&(struct trial){.agent = agent});
    ck_assert_ptr_nonnull(strstr(log, "\"access_token\":\"[redacted:login]\""));
    bool all = strstr(log, "private") != NULL; /* With agent.home. */
    ck_assert_int_eq(all, strstr(agent, "\"home\"") != NULL);
    return kit_sh(&kit, "cat account/.codex/auth.json");
}

START_TEST(a_login_of_drovers_user_is_taken_and_comes_back_refreshed)
{
    ck_assert_str_eq(login_after("\"use\":\"codex\""), LOGIN("2"));
}
END_TEST

START_TEST(a_login_of_an_account_comes_back_refreshed)
{
    const char *agent = arena_printf(&kit.arena, "\"use\":\"codex\",\"home\":\"%s/account\"",
                                     kit.dir);
    ck_assert_str_eq(login_after(agent), LOGIN("2"));
}
END_TEST

START_TEST(no_login_comes_back_where_that_is_turned_off)
{
    ck_assert_str_eq(login_after("\"use\":\"codex\",\"homeWriteBack\":\"none\""), LOGIN("1"));
}
END_TEST

Suite *session_step_suite(void)
{
    Suite *suite = suite_create("session_step");
    TCase *tests = tcase_create("session");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_profile_is_enough_and_a_model_reaches_its_command);
    tcase_add_test(tests, a_repair_resumes_the_session_and_gets_the_feedback_alone);
    tcase_add_test(tests, without_its_home_it_starts_anew_with_the_whole_prompt);
    tcase_add_test(tests, an_attempt_that_was_interrupted_goes_on_in_its_session);
    tcase_add_test(tests, a_session_that_is_gone_costs_nothing);
    tcase_add_test(tests, an_id_that_is_no_plain_word_is_not_used);
    tcase_add_test(tests, a_command_of_the_repository_is_not_resumed);
    tcase_add_test(tests, a_prompt_by_file_is_named_in_the_command);
    tcase_add_test(tests, values_of_the_configuration_and_of_the_profile_are_in_the_environment);
    tcase_add_test(tests, a_login_of_drovers_user_is_taken_and_comes_back_refreshed);
    tcase_add_test(tests, a_login_of_an_account_comes_back_refreshed);
    tcase_add_test(tests, no_login_comes_back_where_that_is_turned_off);
    suite_add_tcase(suite, tests);
    return suite;
}
