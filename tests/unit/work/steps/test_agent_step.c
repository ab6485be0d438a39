/*
 * test_agent_step.c - one attempt of an agent: what it gets, what is taken from it, and what it
 * cannot do to us.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/tree/collect.h"
#include "work/tree/worktree.h"
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct kit kit;

static void setup(void)
{
    kit_open(&kit);
}

static void teardown(void)
{
    kit_close(&kit);
}

static const char *head(void)
{
    return kit_sh(&kit, "git --git-dir=origin.git rev-parse main");
}

static const char *in_run(const char *name)
{
    return arena_printf(&kit.arena, "%s/runs/%s/%s", kit.work_dir, kit.run_id.text, name);
}

/* Commits the script as agent.sh of the repository and sets up the step that runs it. */
struct trial {
    const char *script;
    const char *agent;   /* Further members of config.agent. */
    const char *config;  /* Further members of config. */
    const char *payload; /* Further members of the payload. */
    int attempt;
};

static struct step step_of(const struct trial *trial)
{
    if (trial->script != NULL) {
        const char *path = arena_printf(&kit.arena, "%s/agent.sh", kit.dir);
        const char *text = arena_printf(&kit.arena, "#!/bin/sh\n%s\n", trial->script);
        ck_assert_int_eq(file_write_durable(path, text, strlen(text), 0755, NULL), RC_OK);
        kit_commit(&kit, "cp -p ../agent.sh .");
    }
    struct kit_task task = {
        .agent = arena_printf(&kit.arena, "\"command\":[\"./agent.sh\"],\"adapter\":\"ndjson\"%s%s",
                              trial->agent != NULL ? "," : "",
                              trial->agent != NULL ? trial->agent : ""),
        .config = trial->config,
        .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\",\"promptSha256\":\"%s\"%s%s",
                                head(), kit_put(&kit, "Do it well."),
                                trial->payload != NULL ? "," : "",
                                trial->payload != NULL ? trial->payload : ""),
        .attempt = trial->attempt,
    };
    return kit_step(&kit, &task);
}

static const struct js *run(const struct trial *trial)
{
    struct step step = step_of(trial);
    struct err err = {0};
    ck_assert_msg(step_agent(&step, &err) == RC_OK, "%s %s", err.text,
                  step.failure.code != NULL ? step.failure.code : "");
    return kit_result(&kit);
}

static const char *text_of(const struct js *result, const char *path)
{
    return arena_strdup(&kit.arena, js_str(js_path(result, path), NULL));
}

static const char *log_of(const struct js *result)
{
    const struct js *artifacts = js_get(result, "artifacts");
    for (size_t i = 0; i < js_count(artifacts); i++) {
        if (text_same(js_get_str(js_at(artifacts, i), "kind", ""), "agent_log"))
            return kit_artifact(&kit, js_get_str(js_at(artifacts, i), "sha256", NULL));
    }
    return NULL;
}

/* ---- what it gets ---- */

START_TEST(an_agent_works_and_its_changes_become_the_patch)
{
    const struct js *result = run(&(struct trial){
        .script = "echo two >file.txt; echo new >new.txt; rm agent.sh; printf 'a\\000b' >bin\n"
                  "echo '{\"type\":\"turn\",\"inputTokens\":5,\"costUsd\":0.5,\"model\":\"m\"}'\n"
                  "echo '{\"type\":\"result\",\"status\":\"success\",\"summary\":\"did it\"}'"});
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    ck_assert_str_eq(text_of(result, "report"), "success");
    ck_assert_str_eq(text_of(result, "summary"), "did it");
    ck_assert_str_eq(text_of(result, "sandbox"), "bubblewrap");
    ck_assert_int_eq(js_get_int(result, "turns", 0), 1);
    ck_assert_int_eq(js_get_int(result, "exitCode", -1), 0);
    ck_assert_int_eq(js_int(js_path(result, "patch.files"), 0), 4);
    ck_assert_uint_eq(js_count(js_path(result, "patch.paths")), 4);
    const char *diff = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(diff, "+two"));
    ck_assert_ptr_nonnull(strstr(diff, "GIT binary patch"));
    ck_assert_ptr_nonnull(strstr(diff, "deleted file"));
    ck_assert_ptr_null(strstr(diff, "rename"));
    ck_assert(kit_saw_event(&kit, "agent.model.turn.completed"));
}
END_TEST

START_TEST(it_is_told_what_it_needs)
{
    const struct js *result = run(&(struct trial){
        .script = "cat; echo; cat $DROVER_PROMPT; echo; env | sort; pwd; ls -a $HOME\n"
                  "[ $DROVER_TOKEN = drun_${DROVER_RUN_ID}_secret ] && echo its own token"});
    const char *log = log_of(result);
    const char *want[] = {
        "Do it well.\nDo it well.\n",
        "DROVER_ATTEMPT=1\n",
        arena_printf(&kit.arena, "DROVER_RUN_ID=%s\n", kit.run_id.text),
        arena_printf(&kit.arena, "DROVER_TASK_ID=%s\n", kit.task_id.text),
        "DROVER_TOKEN=[redacted:drover-token]\n",
        "its own token\n",
        "DROVER_URL=http://127.0.0.1:8717\n",
        "DROVER_RESULT=",
        "PATH=",
        "LANG=",
    };
    for (size_t i = 0; i < COUNT_OF(want); i++)
        ck_assert_msg(strstr(log, want[i]) != NULL, "%s is not in\n%s", want[i], log);
    ck_assert_ptr_null(strstr(log, "DROVER_FEEDBACK"));
    ck_assert_int_eq(js_type(js_get(result, "patch")), JS_NULL);
}
END_TEST

START_TEST(only_listed_names_of_the_environment_pass)
{
    setenv("API_KEY", "listed", 1);
    setenv("OTHER_KEY", "not-listed", 1);
    setenv("DROVER_TOKEN", "never", 1);
    const struct js *result = run(
        &(struct trial){.script = "env", .agent = "\"env\":[\"API_KEY\",\"UNSET_KEY\"]"});
    const char *log = log_of(result);
    ck_assert_ptr_nonnull(strstr(log, "API_KEY=listed\n"));
    ck_assert_ptr_null(strstr(log, "not-listed"));
    ck_assert_ptr_null(strstr(log, "never"));
    ck_assert_ptr_null(strstr(log, "UNSET_KEY"));
}
END_TEST

START_TEST(secrets_are_in_no_command_line)
{
    setenv("API_KEY", "hunter2", 1);
    const struct js *result = run(
        &(struct trial){.script = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; touch seen",
                        .agent = "\"env\":[\"API_KEY\"]"});
    const char *log = log_of(result);
    ck_assert_ptr_nonnull(strstr(log, "agent.sh"));
    ck_assert_ptr_null(strstr(log, "hunter2"));
    ck_assert_ptr_null(strstr(log, "drun_"));
    ck_assert_ptr_null(strstr(log, "[redacted"));
}
END_TEST

/* Put together here, so that nobody takes this file for a leak. */
#define FAKE_TOKEN \
    "ghp"          \
    "_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

START_TEST(what_is_secret_is_in_no_log_event_or_summary)
{
    setenv("API_KEY", "correct-horse-battery", 1);
    const struct js *result = run(&(struct trial){
        .script = "echo $API_KEY; echo " FAKE_TOKEN " >&2; echo two >file.txt\n"
                  "printf '{\"type\":\"message\",\"text\":\"key %s\"}\\n' $API_KEY\n"
                  "printf '{\"type\":\"message\",\"text\":\"\\\\u0067hp_%s\"}\\n'"
                  " A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n"
                  "printf '{\"status\":\"success\",\"summary\":\"used %s\"}' $API_KEY"
                  " >$DROVER_RESULT",
        .agent = "\"env\":[\"API_KEY\"]"});
    ck_assert_ptr_nonnull(text_of(result, "patch.sha256"));
    ck_assert_str_eq(text_of(result, "summary"), "used [redacted:env]");
    const char *log = log_of(result);
    ck_assert_ptr_nonnull(strstr(log, "[redacted:env]\n"));
    ck_assert_ptr_nonnull(strstr(log, "[redacted:github-token]\n"));
    ck_assert_ptr_null(strstr(log, "correct-horse"));
    ck_assert(kit_saw_event(&kit, "key [redacted:env]"));
    ck_assert(kit_saw_event(&kit, "\"text\":\"[redacted:github-token]\""));
    ck_assert(!kit_saw_event(&kit, "correct-horse"));
    ck_assert(!kit_saw_event(&kit, FAKE_TOKEN));
}
END_TEST

START_TEST(a_patch_with_a_secret_stays_with_the_worker)
{
    const struct js *result = run(
        &(struct trial){.script = "echo x >a; echo \"token " FAKE_TOKEN "\" >conf.txt"});
    ck_assert_int_eq(js_type(js_get(result, "patch")), JS_NULL);
    const struct js *secrets = js_get(result, "secrets");
    ck_assert_uint_eq(js_count(secrets), 1);
    ck_assert_str_eq(js_get_str(js_at(secrets, 0), "rule", ""), "github-token");
    ck_assert_str_eq(js_get_str(js_at(secrets, 0), "path", ""), "conf.txt");
    ck_assert_int_eq(js_get_int(js_at(secrets, 0), "line", 0), 1);
    ck_assert_str_eq(js_get_str(js_at(secrets, 0), "text", ""), "token [redacted:github-token]");
    for (size_t i = 0; i < kit.port.artifact_count; i++)
        ck_assert_ptr_null(strstr(buf_text(&kit.port.artifacts[i].bytes), FAKE_TOKEN));
    const char *held = kit_sh(&kit, "cat data/work/held/%s-1.diff", kit.run_id.text);
    ck_assert_ptr_nonnull(strstr(held, FAKE_TOKEN));
}
END_TEST

/* What the agent writes, and where a secret of it is found: NULL, nowhere. */
static const struct {
    const char *script, *path;
} binaries[] = {
    {"printf '\\001\\000key " FAKE_TOKEN "\\000' >a.bin", "a.bin"},
    {"printf 'token=" FAKE_TOKEN "\\n' | iconv -t UTF-16LE >b.txt", "b.txt"},
    {"printf '\\001\\000nothing\\000' >c.bin", NULL},
    {"cat old.bin old.bin >d.bin; mv d.bin old.bin", NULL}, /* It was there before. */
    {"rm old.bin", NULL},
};

START_TEST(binary_files_of_a_patch_are_looked_into)
{
    kit_commit(&kit, "printf '\\001\\000" FAKE_TOKEN "\\000' >old.bin");
    const struct js *result = run(&(struct trial){.script = binaries[_i].script});
    const struct js *secrets = js_get(result, "secrets");
    ck_assert_uint_eq(js_count(secrets), binaries[_i].path != NULL);
    if (binaries[_i].path == NULL) {
        ck_assert_ptr_nonnull(text_of(result, "patch.sha256"));
        return;
    }
    ck_assert_str_eq(js_get_str(js_at(secrets, 0), "path", ""), binaries[_i].path);
    ck_assert_int_eq(js_type(js_get(result, "patch")), JS_NULL);
    for (size_t i = 0; i < kit.port.artifact_count; i++)
        ck_assert_ptr_null(strstr(buf_text(&kit.port.artifacts[i].bytes), "literal "));
}
END_TEST

START_TEST(a_binary_file_that_is_too_large_is_told)
{
    const struct js *result = run(
        &(struct trial){.script = "head -c 8388608 /dev/zero >fits.bin\n"
                                  "head -c 8388609 /dev/zero >large.bin"});
    ck_assert_ptr_nonnull(text_of(result, "patch.sha256"));
    ck_assert_int_eq(js_int(js_path(result, "patch.unscannedFiles"), 0), 1);
    const struct js *names = js_path(result, "patch.unscanned");
    ck_assert_uint_eq(js_count(names), 1);
    ck_assert_str_eq(js_str(js_at(names, 0), ""), "large.bin");
}
END_TEST

START_TEST(the_scan_can_be_switched_off_but_not_for_what_was_handed_out)
{
    setenv("API_KEY", "correct-horse-battery", 1);
    const struct js *result = run(&(struct trial){.script = "echo " FAKE_TOKEN " >conf.txt",
                                                  .config = "\"policy\":{\"scanSecrets\":false}"});
    ck_assert_ptr_nonnull(text_of(result, "patch.sha256"));
    result = run(&(struct trial){.script = "echo $API_KEY >conf.txt",
                                 .agent = "\"env\":[\"API_KEY\"]",
                                 .config = "\"policy\":{\"scanSecrets\":false}"});
    ck_assert_uint_eq(js_count(js_get(result, "secrets")), 1);
}
END_TEST

START_TEST(a_prompt_by_file_leaves_stdin_empty)
{
    const struct js *result = run(
        &(struct trial){.script = "cat; echo end", .agent = "\"prompt\":\"file\""});
    ck_assert_str_eq(log_of(result), "end\n");
}
END_TEST

START_TEST(it_reaches_the_servers_socket_without_a_network)
{
    const char *path = arena_printf(&kit.arena, "%s/data/s", kit.dir);
    CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    text_copy(address.sun_path, sizeof address.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    kit.site.server_socket = path;
    const struct js *result = run(&(struct trial){
        .script = "[ -S $DROVER_SOCKET ] && echo there; cat $(dirname $DROVER_SOCKET)/admin.token; "
                  "node -e 'require(\"net\").connect(process.env.DROVER_SOCKET, () => "
                  "{ console.log(\"connected\"); process.exit(0) })'"});
    const char *log = log_of(result);
    ck_assert_ptr_nonnull(strstr(log, "there\n"));
    ck_assert_ptr_nonnull(strstr(log, "connected\n"));
    ck_assert_ptr_null(strstr(log, "top-secret"));
}
END_TEST

START_TEST(a_repair_goes_on_in_the_same_tree_with_feedback)
{
    const struct js *result = run(
        &(struct trial){.script = "[ $DROVER_ATTEMPT = 1 ] && { echo bad >file.txt; "
                                  "mkdir -p .cache; echo '*' >.cache/.gitignore; exit 0; }\n"
                                  "ls .cache/.gitignore; cat file.txt $DROVER_FEEDBACK\n"
                                  "echo good >file.txt"});
    const char *first = text_of(result, "patch.sha256");
    const char *feedback = kit_put(&kit, "the test fails");
    const char *payload = arena_printf(
        &kit.arena, "\"patchSha256\":\"%s\",\"feedbackSha256\":\"%s\"", first, feedback);
    result = run(&(struct trial){.payload = payload, .attempt = 2});
    ck_assert_str_eq(log_of(result), ".cache/.gitignore\nbad\nthe test fails");
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), "+good"));
    ck_assert_str_ne(first, text_of(result, "patch.sha256"));
}
END_TEST

START_TEST(a_repair_elsewhere_starts_from_base_and_patch)
{
    const struct js *result = run(&(struct trial){.script = "cat file.txt; echo x >>file.txt"});
    const char *payload = arena_printf(&kit.arena, "\"patchSha256\":\"%s\"",
                                       text_of(result, "patch.sha256"));
    kit_sh(&kit, "rm -rf data/work/runs data/work/mirrors");
    result = run(&(struct trial){.payload = payload, .attempt = 2});
    ck_assert_str_eq(log_of(result), "one\nx\n");
    ck_assert_ptr_nonnull(
        strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), " one\n+x\n+x\n"));
}
END_TEST

START_TEST(a_tree_that_a_crash_left_half_done_is_made_anew)
{
    struct trial trial = {.script = "ls; echo half >half.txt"};
    struct step step = step_of(&trial);
    struct err err = {0};
    ck_assert_int_eq(step_agent(&step, &err), RC_OK);
    /* As if the worker had died while the agent ran. */
    ck_assert_int_eq(worktree_hand_out(&step, head(), &err), RC_OK);
    const struct js *result = run(&(struct trial){0});
    ck_assert_ptr_null(strstr(log_of(result), "half.txt"));
}
END_TEST

/* ---- how it ends ---- */

static const struct {
    const char *script, *config;
    const char *outcome, *report;
    bool exited;
} endings[] = {
    {"exit 0", NULL, "ended", "success", true},
    {"exit 3", NULL, "ended", "error", true},
    {"kill -9 $$", NULL, "ended", "unknown", false},
    {"echo '{\"type\":\"result\",\"status\":\"error\",\"error\":\"x\"}'", NULL, "ended", "error",
     true},
    {"echo '{\"status\":\"success\",\"summary\":\"s\"}' >$DROVER_RESULT; exit 1", NULL, "ended",
     "success", true},
    {"echo '{\"type\":\"result\",\"status\":\"success\"}'\n"
     "echo '{\"status\":\"error\"}' >$DROVER_RESULT",
     NULL, "ended", "error", true},
    {"echo 'not json' >$DROVER_RESULT", NULL, "ended", "success", true},
    {"ln -s /etc/passwd $DROVER_RESULT; exit 2", NULL, "ended", "error", true},
    {"mkfifo $DROVER_RESULT; exit 2", NULL, "ended", "error", true},
    {"mkdir $DROVER_RESULT; exit 2", NULL, "ended", "error", true},
    {"head -c 200000 /dev/zero >$DROVER_RESULT; exit 2", NULL, "ended", "error", true},
    {"while :; do echo x; sleep 0.1; done", "\"timeouts\":{\"agentMs\":%d}", "timed_out", "unknown",
     false},
    {"sleep 600", "\"timeouts\":{\"idleMs\":%d}", "idle_timed_out", "unknown", false},
};

START_TEST(every_way_to_end_is_told_and_keeps_the_work)
{
    const char *script = arena_printf(&kit.arena, "echo two >file.txt\n%s", endings[_i].script);
    const struct js *result = NULL;
    /* A slow machine may pass the limit before the agent begins: then it gets a longer one. */
    for (int limit_ms = 300; text_of(result, "patch.sha256") == NULL && limit_ms < 60000;
         limit_ms *= 4) {
        const char *config = endings[_i].config; /* %d: the limit. */
        if (config != NULL)
            config = arena_printf(&kit.arena, config, limit_ms);
        result = run(&(struct trial){.script = script, .config = config});
    }
    ck_assert_str_eq(text_of(result, "outcome"), endings[_i].outcome);
    ck_assert_str_eq(text_of(result, "report"), endings[_i].report);
    ck_assert_int_eq(js_get_bool(result, "exited", false), endings[_i].exited);
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), "+two"));
}
END_TEST

#define SAID                                                                           \
    "\"messages\":[{\"seq\":1,\"author\":\"ada\",\"text\":\"Use UTC.\"}],\"answers\":" \
    "[{\"question\":\"Which clock?\",\"answer\":\"wall\",\"answeredBy\":\"bob\"}]"

START_TEST(what_people_have_said_is_in_the_first_prompt_and_later_in_the_feedback)
{
    const char *first = log_of(run(&(struct trial){
        .script = "cat $DROVER_PROMPT; echo; [ -z \"$DROVER_FEEDBACK\" ] && echo none",
        .payload = SAID}));
    ck_assert_ptr_nonnull(strstr(first, "Do it well."));
    ck_assert_ptr_nonnull(strstr(first, "ada writes:\n\n> Use UTC.\n"));
    ck_assert_ptr_nonnull(strstr(first, "bob answered:\n\n> wall\n"));
    ck_assert_ptr_nonnull(strstr(first, "none"));
    const char *second = log_of(
        run(&(struct trial){.script = "cat $DROVER_FEEDBACK; echo == prompt; cat $DROVER_PROMPT",
                            .payload = SAID,
                            .attempt = 2}));
    const char *prompt = strstr(second, "== prompt");
    ck_assert_ptr_nonnull(prompt);
    const char *said = strstr(second, "ada writes:\n\n> Use UTC.\n");
    ck_assert(said != NULL && said < prompt);
    ck_assert_ptr_null(strstr(prompt, "ada writes:")); /* Not twice. */
}
END_TEST

#define ASKS(members) "echo '{\"status\":\"question\"" members "}' >$DROVER_RESULT"
static const struct {
    const char *script;
    const char *question, *error; /* One of them. */
} questions[] = {
    {ASKS(",\"question\":\"Keep it?\""), "{\"text\":\"Keep it?\"}", NULL},
    {ASKS(",\"question\":\"Keep it?\",\"options\":[\"yes\",\"no\"],\"default\":\"no\","
          "\"timeoutMs\":60000,\"summary\":\"x\""),
     "{\"text\":\"Keep it?\",\"options\":[\"yes\",\"no\"],\"default\":\"no\",\"timeoutMs\":60000}",
     NULL},
    {"echo \"{\\\"status\\\":\\\"question\\\",\\\"question\\\":\\\"What is $DROVER_TOKEN?\\\"}\""
     " >$DROVER_RESULT",
     "{\"text\":\"What is [redacted:drover-token]?\"}", NULL},
    {ASKS(""), NULL, "text"},
    {ASKS(",\"question\":\"\\u0007\""), NULL, "text"},
    {ASKS(",\"question\":\"Keep it?\",\"options\":[\"a\"],\"default\":\"b\""), NULL, "default"},
    {"echo \"{\\\"status\\\":\\\"question\\\",\\\"question\\\":\\\"$(head -c 3000 /dev/zero |"
     " tr '\\0' x)\\\"}\" >$DROVER_RESULT",
     NULL, "too long"},
};

START_TEST(an_agent_may_end_with_a_question)
{
    const struct js *result = run(&(struct trial){
        .script = arena_printf(&kit.arena, "echo two >file.txt\n%s", questions[_i].script)});
    const struct js *question = js_get(result, "question");
    bool asks = questions[_i].question != NULL;
    ck_assert_str_eq(text_of(result, "report"), asks ? "success" : "error");
    ck_assert_ptr_nonnull(text_of(result, "patch.sha256"));
    if (asks)
        ck_assert_str_eq(js_text(question, &kit.arena), questions[_i].question);
    else
        ck_assert_ptr_null(question);
    if (!asks)
        ck_assert_msg(strstr(text_of(result, "error"), questions[_i].error) != NULL, "%s",
                      text_of(result, "error"));
}
END_TEST

static const struct {
    const char *script, *payload, *outcome;
} limited[] = {
    {"while :; do echo '{\"type\":\"turn\"}'; done", "\"maxTurns\":3", "turn_limit"},
    {"while :; do echo '{\"type\":\"turn\",\"costUsd\":0.3}'; done", "\"maxBudgetUsd\":1",
     "budget_limit"},
    {"while :; do echo '{\"type\":\"turn\",\"inputTokens\":8,\"outputTokens\":2}'; done",
     "\"maxTokens\":30", "token_limit"},
};

/* The payload holds what is left of the run's limits; those of the configuration are not read. */
START_TEST(a_limit_of_the_payload_ends_it_and_keeps_the_work)
{
    const char *script = arena_printf(&kit.arena, "echo two >file.txt\n%s", limited[_i].script);
    const struct js *result = run(
        &(struct trial){.script = script,
                        .payload = limited[_i].payload,
                        .config = "\"limits\":{\"maxTurns\":1,\"maxBudgetUsd\":0.01}"});
    ck_assert_str_eq(text_of(result, "outcome"), limited[_i].outcome);
    ck_assert_str_eq(text_of(result, "report"), "unknown");
    ck_assert(!js_get_bool(result, "exited", false));
    ck_assert_int_ge(js_get_int(result, "turns", 0), 4);
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), "+two"));
}
END_TEST

START_TEST(turns_stop_at_the_limit)
{
    const struct js *result = run(&(struct trial){
        .script = "for i in 1 2 3 4; do echo '{\"type\":\"turn\"}'; done; sleep 600",
        .payload = "\"maxTurns\":3"});
    ck_assert_str_eq(text_of(result, "outcome"), "turn_limit");
    ck_assert_int_eq(js_get_int(result, "turns", 0), 4);
}
END_TEST

static void *cancel_when_ready(void *ctx)
{
    kit_await_file(&kit, ctx);
    stop_ask(&kit.stop, STOP_CANCEL);
    return NULL;
}

START_TEST(a_cancel_ends_the_agent_and_the_step)
{
    struct trial trial = {.script = arena_printf(&kit.arena,
                                                 "trap '' TERM; setsid %s & touch ready; %s",
                                                 kit.sleep, kit.sleep)};
    struct step step = step_of(&trial);
    pthread_t thread;
    char *ready = arena_strdup(&kit.arena, in_run("tree/ready"));
    pthread_create(&thread, NULL, cancel_when_ready, ready);
    struct err err = {0};
    ck_assert_int_eq(step_agent(&step, &err), RC_CANCELLED);
    pthread_join(thread, NULL);
    ck_assert(!kit_sleeps(&kit));
}
END_TEST

START_TEST(a_command_that_is_not_there_fails_for_good)
{
    struct step step = kit_step(
        &kit,
        &(struct kit_task){.agent = "\"command\":[\"./nobody.sh\"]",
                           .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\"", head())});
    struct err err = {0};
    ck_assert_int_eq(step_agent(&step, &err), RC_NOT_FOUND);
    ck_assert_str_eq(step.failure.code, "agent_command_not_found");
    ck_assert(!step.failure.retryable);
}
END_TEST

START_TEST(a_patch_that_is_too_large_fails_for_good)
{
    struct trial trial = {.script = "head -c 60000 /dev/urandom >big",
                          .config = "\"limits\":{\"maxPatchBytes\":20000}"};
    struct step step = step_of(&trial);
    struct err err = {0};
    ck_assert_int_eq(step_agent(&step, &err), RC_TOO_LARGE);
    ck_assert_str_eq(step.failure.code, "patch_too_large");
    ck_assert(!step.failure.retryable);
}
END_TEST

/* ---- what it cannot do ---- */

/* Each plants something in its tree that would touch $PWNED if git ran it outside. */
static const char *const plants[] = {
    "git config core.fsmonitor \"touch $PWNED; false\"",
    "git config filter.x.clean \"touch $PWNED; cat\"; echo '* filter=x' >.gitattributes",
    "git config diff.external \"touch $PWNED\"",
    "git config diff.x.textconv \"touch $PWNED; cat\"; echo '* diff=x' >.gitattributes",
    ("git config core.hooksPath hooks; mkdir hooks; for h in post-index-change pre-commit; do "
     "printf \"#!/bin/sh\\ntouch $PWNED\\n\" >hooks/$h; chmod +x hooks/$h; done"),
    "printf \"[core]\\n\\tpager = touch $PWNED\\n\\tfsmonitor = touch $PWNED\\n\" >.git/config",
    "rm -rf .git; echo 'gitdir: /etc' >.git",
    "rm -rf .git; ln -s /proc/self .git",
    "rm -rf .git; mkfifo .git",
    "rm -rf .git; mkdir .git; echo garbage >.git/HEAD; echo garbage >.git/index",
    "rm -rf .git",
    "git config core.worktree /etc",
    "mkfifo pipe; ln -s / root; ln -s loop loop",
    "git add -A; git -c user.name=a -c user.email=a@b commit -q -m mine; git checkout -q --detach",
};

START_TEST(nothing_planted_runs_or_hangs_and_the_patch_is_right)
{
    const char *pwned = arena_printf(&kit.arena, "%s/pwned", kit.dir);
    const char *script = arena_printf(&kit.arena, "PWNED=%s; export PWNED\necho two >file.txt\n%s",
                                      pwned, plants[_i]);
    const struct js *result = run(&(struct trial){.script = script});
    ck_assert(!file_exists(pwned));
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    ck_assert_ptr_nonnull(
        strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), "-one\n+two\n"));
}
END_TEST

/* The same with the walls down: git does not even look at what was planted. */
START_TEST(even_without_walls_git_does_not_read_the_agents_configuration)
{
    kit.site.sandbox.kind = SANDBOX_NONE;
    struct step step = step_of(&(struct trial){0});
    struct err err = {0};
    ck_assert_int_eq(step_prepare(&step, &err), RC_OK);
    const char *pwned = arena_printf(&kit.arena, "%s/pwned", kit.dir);
    kit_sh(&kit, "cd %s; PWNED=%s; echo two >file.txt\n%s\nrm -f $PWNED", in_run("tree"), pwned,
           plants[_i]);
    struct collected patch = {0};
    ck_assert_msg(collect_patch(&step, head(), &patch, &err) == RC_OK, "%s", err.text);
    ck_assert(!file_exists(pwned));
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, patch.sha256), "-one\n+two\n"));
}
END_TEST

START_TEST(without_a_sandbox_no_agent_runs_and_no_tree_is_read)
{
    struct step step = step_of(&(struct trial){.script = "true"});
    struct err err = {0};
    ck_assert_int_eq(step_prepare(&step, &err), RC_OK);
    kit.site.sandbox.kind = SANDBOX_UNAVAILABLE;
    struct collected patch = {0};
    ck_assert_int_eq(collect_patch(&step, head(), &patch, &err), RC_DENIED);
    ck_assert(sandbox_is_unavailable(&err));
    ck_assert_int_eq(step_agent(&step, &err), RC_DENIED);
    ck_assert_str_eq(step.failure.code, "sandbox_unavailable");
    ck_assert(!step.failure.retryable);
}
END_TEST

START_TEST(a_tree_that_cannot_be_read_fails_with_a_word)
{
    struct step step = step_of(&(struct trial){0});
    struct err err = {0};
    ck_assert_int_eq(step_prepare(&step, &err), RC_OK);
    kit_sh(&kit, "cd %s; rm file.txt; mkfifo file.txt", in_run("tree"));
    struct collected patch = {0};
    ck_assert_int_ne(collect_patch(&step, head(), &patch, &err), RC_OK);
    ck_assert_str_eq(step.failure.code, "patch_failed");
    ck_assert_ptr_nonnull(strstr(step.failure.message, "file.txt"));
}
END_TEST

START_TEST(it_sees_neither_the_token_nor_other_runs_and_writes_only_its_own)
{
    kit_sh(&kit, "mkdir -p data/work/runs/other/tree; echo hers >data/work/runs/other/tree/x");
    const char *script = arena_printf(&kit.arena,
                                      "cat %s/data/admin.token; cat %s/runs/other/tree/x\n"
                                      "ls %s/runs; touch %s/runs/other/tree/y %s/y /etc/y\n"
                                      "touch %s/origin.git/y; exit 0",
                                      kit.dir, kit.work_dir, kit.work_dir, kit.work_dir,
                                      kit.work_dir, kit.dir);
    const struct js *result = run(&(struct trial){.script = script});
    const char *log = log_of(result);
    ck_assert_ptr_null(strstr(log, "top-secret"));
    ck_assert_ptr_null(strstr(log, "hers"));
    ck_assert_ptr_null(strstr(log, "other\n"));
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/runs/other/tree/y", kit.work_dir)));
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/y", kit.work_dir)));
    ck_assert(!file_exists(arena_printf(&kit.arena, "%s/y", kit.origin)));
    ck_assert(!file_exists("/etc/y"));
}
END_TEST

START_TEST(a_link_planted_in_io_is_not_followed_by_the_next_attempt)
{
    const char *victim = arena_printf(&kit.arena, "%s/victim", kit.dir);
    kit_sh(&kit, "echo precious >victim");
    const char *script = arena_printf(
        &kit.arena, "rm -f $DROVER_PROMPT; ln -s %s $DROVER_PROMPT; exit 0", victim);
    (void)run(&(struct trial){.script = script});
    (void)run(&(struct trial){.attempt = 2});
    ck_assert_str_eq(kit_sh(&kit, "cat victim"), "precious");
}
END_TEST

START_TEST(a_result_stays_small_whatever_the_agent_says)
{
    const struct js *result = run(&(struct trial){
        .script = "i=0; while [ $i -lt 60 ]; do n=$(printf 'p%0200d' $i); echo x >$n; "
                  "i=$((i+1)); done\n"
                  "s=$(head -c 30000 /dev/zero | tr '\\0' '\\001' | sed 's/\\x01/\\\\u0001/g')\n"
                  "echo \"{\\\"status\\\":\\\"success\\\",\\\"summary\\\":\\\"$(head -c 9000 "
                  "/dev/zero | tr '\\0' s)\\\"}\" >$DROVER_RESULT"});
    ck_assert_uint_le(kit.result.len, STEP_RESULT_MAX);
    ck_assert_int_eq(js_int(js_path(result, "patch.files"), 0), 60);
    ck_assert_uint_gt(js_count(js_path(result, "patch.paths")), 3);
}
END_TEST

Suite *agent_step_suite(void)
{
    Suite *suite = suite_create("agent_step");
    TCase *tests = tcase_create("agent_step");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_agent_works_and_its_changes_become_the_patch);
    tcase_add_test(tests, it_is_told_what_it_needs);
    tcase_add_test(tests, only_listed_names_of_the_environment_pass);
    tcase_add_test(tests, secrets_are_in_no_command_line);
    tcase_add_test(tests, what_is_secret_is_in_no_log_event_or_summary);
    tcase_add_test(tests, a_patch_with_a_secret_stays_with_the_worker);
    tcase_add_loop_test(tests, binary_files_of_a_patch_are_looked_into, 0, (int)COUNT_OF(binaries));
    tcase_add_test(tests, a_binary_file_that_is_too_large_is_told);
    tcase_add_test(tests, the_scan_can_be_switched_off_but_not_for_what_was_handed_out);
    tcase_add_test(tests, a_prompt_by_file_leaves_stdin_empty);
    tcase_add_test(tests, it_reaches_the_servers_socket_without_a_network);
    tcase_add_test(tests, a_repair_goes_on_in_the_same_tree_with_feedback);
    tcase_add_test(tests, a_repair_elsewhere_starts_from_base_and_patch);
    tcase_add_test(tests, a_tree_that_a_crash_left_half_done_is_made_anew);
    tcase_add_test(tests, what_people_have_said_is_in_the_first_prompt_and_later_in_the_feedback);
    tcase_add_loop_test(tests, an_agent_may_end_with_a_question, 0, (int)COUNT_OF(questions));
    tcase_add_loop_test(tests, every_way_to_end_is_told_and_keeps_the_work, 0,
                        (int)COUNT_OF(endings));
    tcase_add_loop_test(tests, a_limit_of_the_payload_ends_it_and_keeps_the_work, 0,
                        (int)COUNT_OF(limited));
    tcase_add_test(tests, turns_stop_at_the_limit);
    tcase_add_test(tests, a_cancel_ends_the_agent_and_the_step);
    tcase_add_test(tests, a_command_that_is_not_there_fails_for_good);
    tcase_add_test(tests, a_patch_that_is_too_large_fails_for_good);
    tcase_add_loop_test(tests, nothing_planted_runs_or_hangs_and_the_patch_is_right, 0,
                        (int)COUNT_OF(plants));
    tcase_add_loop_test(tests, even_without_walls_git_does_not_read_the_agents_configuration, 0,
                        (int)COUNT_OF(plants));
    tcase_add_test(tests, without_a_sandbox_no_agent_runs_and_no_tree_is_read);
    tcase_add_test(tests, a_tree_that_cannot_be_read_fails_with_a_word);
    tcase_add_test(tests, it_sees_neither_the_token_nor_other_runs_and_writes_only_its_own);
    tcase_add_test(tests, a_link_planted_in_io_is_not_followed_by_the_next_attempt);
    tcase_add_test(tests, a_result_stays_small_whatever_the_agent_says);
    suite_add_tcase(suite, tests);
    return suite;
}
