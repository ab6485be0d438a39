/*
 * test_agent_steering.c - an agent that people speak to, pause and stop, and that asks people; what
 * is booked of one that was stopped, and what is told of one that failed or that cannot be read.
 */
#include "base/fd.h"
#include "tests/unit/work_kit.h"
#include "work/job/steer.h"
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct kit kit;
static struct steer steer;
static struct step step;
static enum rc ended; /* What step_agent returned. */
static struct err failure;

/* That of the kit is for the person, who has a thread of their own. */
static struct arena step_arena;

static void setup(void)
{
    kit_open(&kit);
    step_arena = (struct arena){0};
    ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR); /* As main.c does. */
    ck_assert_int_eq(steer_init(&steer, NULL), RC_OK);
}

static void teardown(void)
{
    steer_release(&steer);
    arena_release(&step_arena);
    kit_close(&kit);
}

struct trial {
    const char *script;
    const char *agent;   /* NULL: one that is spoken to, in the format of Claude Code. */
    const char *config;  /* Further members of config. */
    const char *payload; /* Further members of the payload. */
};

static const char *claude =
    "\"command\":[\"./agent.sh\",\"--input-format\",\"stream-json\"],\"adapter\":\"claude\"";
static const char *ndjson = "\"command\":[\"./agent.sh\"],\"adapter\":\"ndjson\"";

static void prepare(const struct trial *trial)
{
    const char *path = arena_printf(&kit.arena, "%s/agent.sh", kit.dir);
    const char *text = arena_printf(&kit.arena, "#!/bin/sh\n%s\n", trial->script);
    ck_assert_int_eq(file_write_durable(path, text, strlen(text), 0755, NULL), RC_OK);
    const char *head = kit_commit(&kit, "cp -p ../agent.sh .");
    struct kit_task task = {
        .agent = trial->agent != NULL ? trial->agent : claude,
        .config = trial->config,
        .payload = arena_printf(&kit.arena, "\"baseCommit\":\"%s\",\"promptSha256\":\"%s\"%s%s",
                                head, kit_put(&kit, "Do it."), trial->payload != NULL ? "," : "",
                                trial->payload != NULL ? trial->payload : ""),
    };
    step = kit_step(&kit, &task);
    step.arena = &step_arena;
    step.steer = &steer;
}

static void perform(void)
{
    ended = step_agent(&step, &failure);
}

static const struct js *run(const struct trial *trial)
{
    prepare(trial);
    perform();
    ck_assert_msg(ended == RC_OK, "%s", failure.text);
    return kit_result(&kit);
}

static const char *in_tree(const char *name)
{
    return arena_printf(&kit.arena, "%s/runs/%s/tree/%s", kit.work_dir, kit.run_id.text, name);
}

/* What a heartbeat would answer now. */
static void beat(enum port_hold hold)
{
    (void)pthread_mutex_lock(&kit.port.lock);
    kit.port.hold = hold;
    struct port_beat answer = {
        .ok = true, .hold = hold, .message_seq = (int64_t)kit.port.message_count};
    (void)pthread_mutex_unlock(&kit.port.lock);
    steer_note(&steer, &answer);
}

static void send(const char *text)
{
    (void)pthread_mutex_lock(&kit.port.lock);
    kit.port.messages[kit.port.message_count++] = text;
    (void)pthread_mutex_unlock(&kit.port.lock);
}

static const char *text_of(const struct js *result, const char *path)
{
    return arena_strdup(&kit.arena, js_str(js_path(result, path), NULL));
}

#define RESULT                                                                                 \
    "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\"," \
    "\"num_turns\":1,\"total_cost_usd\":0.25}'"

/* ---- messages ---- */

/* Every line that it is told is a turn; the first waits until a message is there. */
#define LISTENS                                                                               \
    "n=0; while IFS= read -r l; do n=$((n+1)); printf '%s\\n' \"$l\" >>heard; touch ready;\n" \
    "[ $n = 1 ] && while [ ! -e go ]; do sleep 0.02; done\n" RESULT "\ndone; rm go ready"

static void *say_while_it_works(void *ctx)
{
    (void)ctx;
    kit_await_file(&kit, in_tree("ready"));
    send("Use \"tabs\".");
    send("And tests.");
    beat(PORT_HOLD_NONE);
    kit_sh(&kit, "touch '%s'", in_tree("go"));
    return NULL;
}

START_TEST(messages_reach_an_agent_that_listens)
{
    pthread_t person;
    prepare(&(struct trial){.script = LISTENS});
    ck_assert_int_eq(pthread_create(&person, NULL, say_while_it_works, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert_msg(ended == RC_OK, "%s", failure.text);
    const struct js *result = kit_result(&kit);
    ck_assert_str_eq(text_of(result, "report"), "success");
    const char *diff = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(diff, "@@ -0,0 +1,3 @@"));
    const char *prompt = strstr(diff, "Do it."), *first = strstr(diff, "Use \\\"tabs\\\".");
    const char *second = strstr(diff, "And tests.");
    ck_assert(prompt != NULL && first != NULL && second != NULL);
    ck_assert(prompt < first && first < second);
    ck_assert(kit_saw_event(&kit, "{\"type\":\"agent.message.delivered\",\"data\":{\"seq\":2,"
                                  "\"attempt\":1}}"));
}
END_TEST

/* It came while the agent ended its turn, and before any heartbeat told of it. */
START_TEST(a_message_that_is_there_when_the_agent_ends_is_another_turn)
{
    send("One more thing.");
    const struct js *result = run(&(struct trial){
        .script = "while IFS= read -r l; do printf '%s\\n' \"$l\" >>$HOME/heard\n" RESULT
                  "\ndone; cp $HOME/heard heard"});
    ck_assert_str_eq(text_of(result, "report"), "success");
    const char *diff = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(diff, "Do it."));
    ck_assert_ptr_nonnull(strstr(diff, "One more thing."));
    ck_assert(kit_saw_event(&kit, "\"seq\":1"));
}
END_TEST

START_TEST(a_message_that_the_agent_did_not_take_waits_for_the_next_attempt)
{
    send("Too late.");
    beat(PORT_HOLD_NONE);
    const struct js *result = run(&(struct trial){.script = "exec 0<&-; echo two >file.txt"});
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    ck_assert(!kit_saw_event(&kit, "agent.message.delivered"));
}
END_TEST

START_TEST(an_agent_that_does_not_listen_gets_its_prompt_and_no_message)
{
    send("Nobody hears this.");
    beat(PORT_HOLD_NONE);
    const struct js *result = run(&(struct trial){.script = "cat >file.txt", .agent = ndjson});
    ck_assert_ptr_nonnull(strstr(kit_artifact(&kit, text_of(result, "patch.sha256")), "+Do it.\n"));
    ck_assert(!kit_saw_event(&kit, "agent.message.delivered"));
}
END_TEST

START_TEST(what_was_said_before_is_in_the_prompt)
{
    send("Old."); /* The server has given it with the assignment. */
    beat(PORT_HOLD_NONE);
    const struct js *result = run(&(struct trial){
        .script = "read -r l; printf '%s\\n' \"$l\" >file.txt; cat $DROVER_PROMPT >>file.txt\n"
                  "" RESULT "\ncat >>file.txt",
        .payload = "\"messageSeq\":1,\"messages\":[{\"seq\":1,\"author\":\"ada\",\"text\":"
                   "\"Old.\"}]"});
    const char *diff = kit_artifact(&kit, text_of(result, "patch.sha256"));
    ck_assert_ptr_nonnull(strstr(diff, "ada writes:\\n\\n> Old."));
    ck_assert_ptr_nonnull(strstr(diff, "+> Old."));
    ck_assert(!kit_saw_event(&kit, "agent.message.delivered"));
}
END_TEST

/* ---- pauses ---- */

static void *pause_and_resume(void *ctx)
{
    (void)ctx;
    kit_await_file(&kit, in_tree("beats"));
    beat(PORT_HOLD_PAUSED);
    const char *before;
    do /* Until it stands still. */
        before = kit_sh(&kit, "wc -c <'%s'; sleep 0.3", in_tree("beats"));
    while (strcmp(before, kit_sh(&kit, "wc -c <'%s'", in_tree("beats"))) != 0);
    kit_sh(&kit, "sleep 1"); /* Longer than the limits of the test. */
    ck_assert_str_eq(kit_sh(&kit, "wc -c <'%s'", in_tree("beats")), before);
    kit_sh(&kit, "touch '%s'", in_tree("go"));
    beat(PORT_HOLD_ASKING);
    return NULL;
}

START_TEST(a_paused_agent_stands_still_and_no_limit_counts)
{
    pthread_t person;
    beat(PORT_HOLD_ASKING); /* The limits are for the pause. */
    prepare(&(struct trial){
        .script = "while [ ! -e go ]; do echo x >>beats; sleep 0.02; done; rm beats go",
        .agent = ndjson,
        .config = "\"timeouts\":{\"agentMs\":800,\"idleMs\":800}"});
    ck_assert_int_eq(pthread_create(&person, NULL, pause_and_resume, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert_msg(ended == RC_OK, "%s", failure.text);
    ck_assert_str_eq(text_of(kit_result(&kit), "outcome"), "ended");
}
END_TEST

static void *pause_and_cancel(void *ctx)
{
    (void)ctx;
    kit_await_file(&kit, in_tree("ready"));
    beat(PORT_HOLD_PAUSED);
    kit_sh(&kit, "sleep 0.3");
    stop_ask(&kit.stop, STOP_CANCEL);
    return NULL;
}

/* ---- what it has spent ---- */

#define SPENDS                                                                                  \
    "trap 'echo \"{\\\"type\\\":\\\"result\\\",\\\"subtype\\\":\\\"error_during_execution\\\"," \
    "\\\"is_error\\\":true,\\\"total_cost_usd\\\":0.75,\\\"num_turns\\\":3}\"; exit 0' INT\n"   \
    "touch ready; while :; do sleep 0.02; done"

START_TEST(an_agent_that_is_cancelled_books_what_it_spent)
{
    pthread_t person;
    prepare(&(struct trial){.script = SPENDS,
                            .agent = "\"command\":[\"./agent.sh\"],\"adapter\":\"claude\""});
    ck_assert_int_eq(pthread_create(&person, NULL, pause_and_cancel, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert_int_eq(ended, RC_CANCELLED);
    ck_assert(kit_saw_event(&kit, "\"costUsd\":0.75"));
}
END_TEST

/* The report is lost if it is not tried again: a cancelled step has no result. */
START_TEST(the_last_sums_are_sent_again_when_the_server_is_busy)
{
    pthread_t person;
    prepare(&(struct trial){.script = SPENDS,
                            .agent = "\"command\":[\"./agent.sh\"],\"adapter\":\"claude\""});
    kit.port.refuse = RC_BUSY;
    kit.port.refuse_times = 3;
    ck_assert_int_eq(pthread_create(&person, NULL, pause_and_cancel, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert(kit_saw_event(&kit, "\"costUsd\":0.75"));
}
END_TEST

START_TEST(an_agent_that_is_stopped_by_a_limit_books_what_it_spent)
{
    static const char *const limits[] = {"\"timeouts\":{\"idleMs\":%d}",
                                         "\"timeouts\":{\"agentMs\":%d}"};
    const struct js *result = NULL;
    double cost = 0;
    /* A slow machine may pass the limit before the agent begins: then it gets a longer one. */
    for (int ms = 500; cost == 0 && ms < 60000; ms *= 4) {
        kit_other_run(&kit);
        result = run(&(struct trial){.script = SPENDS,
                                     .agent = "\"command\":[\"./agent.sh\"],\"adapter\":\"claude\"",
                                     .config = arena_printf(&kit.arena, limits[_i], ms)});
        cost = js_num(js_get(result, "costUsd"), 0);
    }
    ck_assert_double_eq(cost, 0.75);
    ck_assert_ptr_nonnull(strstr(text_of(result, "outcome"), "timed_out"));
}
END_TEST

/* ---- what it asks people ---- */

static const char *acp = "\"command\":[\"./agent.sh\"],\"adapter\":\"acp\",\"permissions\":\"ask\"";

#define SAY(message)     "echo '{\"jsonrpc\":\"2.0\"," message "}'\n"
#define OPTION(id, kind) "{\"optionId\":\"" id "\",\"name\":\"" id "\",\"kind\":\"" kind "\"}"
#define REQUEST                                                                                   \
    SAY("\"id\":\"p\",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s\"," \
        "\"toolCall\":{\"toolCallId\":\"c\",\"kind\":\"edit\",\"title\":\"'\"$TITLE\"'\"},"       \
        "\"options\":[" OPTION("now", "allow_once") "," OPTION("no", "reject_once") "]}")
/* Up to the prompt, then it asks. */
#define INITIALIZES "read -r l\n" SAY("\"id\":1,\"result\":{\"protocolVersion\":1}")
#define OPENS       "read -r l\n" SAY("\"id\":2,\"result\":{\"sessionId\":\"s\"}")
#define ASKS        "TITLE=${KEY-a file}\n" INITIALIZES OPENS "read -r l\n" REQUEST
#define ENDS        SAY("\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}")
/* The answer is its work. */
#define WAITS "read -r l; printf '%s\\n' \"$l\" >file.txt\n"

static const char asked_text[] = "May the agent call edit: a file?";

static const char *patch(void)
{
    const struct js *result = kit_result(&kit);
    ck_assert_str_eq(text_of(result, "outcome"), "ended");
    return kit_artifact(&kit, text_of(result, "patch.sha256"));
}

/* Waits until so many questions were asked. */
static void await_asked(size_t count)
{
    (void)pthread_mutex_lock(&kit.port.lock);
    while (kit.port.ask_count < count)
        (void)pthread_cond_wait(&kit.port.changed, &kit.port.lock);
    (void)pthread_mutex_unlock(&kit.port.lock);
}

static void answer(const char *text)
{
    (void)pthread_mutex_lock(&kit.port.lock);
    kit.port.answers[kit.port.answer_count++] = text;
    (void)pthread_mutex_unlock(&kit.port.lock);
}

START_TEST(what_an_agent_asks_is_asked_without_secrets_and_answered)
{
    ck_assert_int_eq(setenv("KEY", "correct-horse-battery-staple", 1), 0);
    answer("now");
    (void)run(&(struct trial){.script = ASKS WAITS ENDS,
                              .agent = arena_printf(&kit.arena, "%s,\"env\":[\"KEY\"]", acp)});
    ck_assert_ptr_nonnull(strstr(patch(), "\"id\":\"p\",\"result\":{\"outcome\":{\"outcome\":"
                                          "\"selected\",\"optionId\":\"now\"}}}"));
    ck_assert_str_eq(buf_text(&kit.port.asked),
                     "{\"text\":\"May the agent call edit: [redacted:env]?\",\"options\":[\"now\","
                     "\"no\"],\"default\":\"no\"}");
    ck_assert_uint_eq(kit.port.withdrawn, 0);
}
END_TEST

static void *answer_late(void *ctx)
{
    const int *ms = ctx;
    await_asked(1);
    kit_sh(&kit, "sleep %d.%03d", *ms / 1000, *ms % 1000);
    answer("now");
    return NULL;
}

/* The rest has to happen within the limit: a slow machine gets a longer one. */
START_TEST(no_limit_counts_while_an_agent_waits_for_an_answer)
{
    const char *outcome = "";
    for (int ms = 1000; strcmp(outcome, "ended") != 0 && ms < 60000; ms *= 4) {
        int longer_ms = ms + 500;
        pthread_t person;
        kit_other_run(&kit);
        kit.port.ask_count = kit.port.answer_count = 0;
        prepare(&(struct trial){
            .script = ASKS WAITS ENDS,
            .agent = acp,
            .config = arena_printf(&kit.arena, "\"timeouts\":{\"agentMs\":%d,\"idleMs\":%d}", ms,
                                   ms)});
        ck_assert_int_eq(pthread_create(&person, NULL, answer_late, &longer_ms), 0);
        perform();
        ck_assert_msg(ended == RC_OK, "%s", failure.text);
        (void)pthread_mutex_lock(&kit.port.lock); /* If the limit came first. */
        kit.port.ask_count = 1;
        (void)pthread_cond_broadcast(&kit.port.changed);
        (void)pthread_mutex_unlock(&kit.port.lock);
        pthread_join(person, NULL);
        outcome = text_of(kit_result(&kit), "outcome");
    }
    ck_assert_str_eq(outcome, "ended");
    ck_assert_ptr_nonnull(strstr(patch(), "\"optionId\":\"now\""));
}
END_TEST

static const struct {
    enum rc rc;
    const char *code;
} refused_asks[] = {{RC_LIMIT, "TOO_MANY_QUESTIONS"}, {RC_CONFLICT, "RUN_FINISHED"}};

START_TEST(a_question_that_the_server_refuses_has_its_default)
{
    kit.port.ask_rc = refused_asks[_i].rc;
    kit.port.ask_code = refused_asks[_i].code;
    (void)run(&(struct trial){.script = ASKS WAITS ENDS, .agent = acp});
    ck_assert_ptr_nonnull(strstr(patch(), "\"optionId\":\"no\""));
    ck_assert(kit_saw_event(&kit, "question cannot be asked: not now"));
}
END_TEST

static void *let_ask(void *ctx)
{
    (void)ctx;
    (void)pthread_mutex_lock(&kit.port.lock);
    while (kit.port.ask_refusals == 0)
        (void)pthread_cond_wait(&kit.port.changed, &kit.port.lock);
    kit.port.ask_rc = RC_OK;
    (void)pthread_mutex_unlock(&kit.port.lock);
    return NULL;
}

static const struct {
    enum rc rc;
    const char *code;
} busy_asks[] = {{RC_CONFLICT, "QUESTION_OPEN"}, {RC_BUSY, "BUSY"}, {RC_UNREACHABLE, "DOWN"}};

START_TEST(a_question_that_cannot_be_asked_now_is_asked_later)
{
    pthread_t server;
    kit.port.ask_rc = busy_asks[_i].rc;
    kit.port.ask_code = busy_asks[_i].code;
    answer("now");
    prepare(&(struct trial){.script = ASKS WAITS ENDS, .agent = acp});
    ck_assert_int_eq(pthread_create(&server, NULL, let_ask, NULL), 0);
    perform();
    pthread_join(server, NULL);
    ck_assert_msg(ended == RC_OK, "%s", failure.text);
    ck_assert_ptr_nonnull(strstr(patch(), "\"optionId\":\"now\""));
    ck_assert_uint_eq(kit.port.ask_count, 1);
}
END_TEST

/* The first one that asked was lost with its worker. */
START_TEST(an_answer_that_no_agent_has_had_is_given_once_to_one_that_asks_the_same)
{
    answer("no");
    (void)run(&(struct trial){
        .script = ASKS WAITS REQUEST "read -r l; printf '%s\\n' \"$l\" >>file.txt\n" ENDS,
        .agent = acp,
        .payload = arena_printf(
            &kit.arena,
            "\"answers\":[{\"question\":\"%s\",\"answer\":\"no\",\"answeredBy\":"
            "\"ada\"},{\"question\":\"%s\",\"answer\":\"now\",\"answeredBy\":"
            "\"ada\",\"unread\":true}]",
            asked_text, asked_text)});
    const char *first = strstr(patch(), "\"optionId\":\"now\"");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first, "\"optionId\":\"no\""));
    ck_assert_uint_eq(kit.port.ask_count, 1);
}
END_TEST

static void *let_end(void *ctx)
{
    (void)ctx;
    await_asked(1);
    kit_sh(&kit, "touch '%s'", in_tree("go"));
    return NULL;
}

#define CANCELS \
    SAY("\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"p\"}") "read -r l\n"
static const char *const gives_up[] = {CANCELS ENDS, ENDS};

START_TEST(a_question_that_the_agent_has_given_up_is_withdrawn)
{
    pthread_t person;
    prepare(&(struct trial){.script = arena_printf(&kit.arena,
                                                   ASKS
                                                   "while [ ! -e go ]; do sleep 0.02; done; rm go\n"
                                                   "%s",
                                                   gives_up[_i]),
                            .agent = acp});
    ck_assert_int_eq(pthread_create(&person, NULL, let_end, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert_msg(ended == RC_OK, "%s", failure.text);
    ck_assert_str_eq(text_of(kit_result(&kit), "report"), "success");
    ck_assert_uint_eq(kit.port.withdrawn, 1);
}
END_TEST

static void *stop_it(void *ctx)
{
    (void)ctx;
    await_asked(1);
    stop_ask(&kit.stop, STOP_SHUTDOWN);
    return NULL;
}

/* Its answer is for the agent of the next attempt. */
START_TEST(an_agent_that_is_stopped_or_dies_leaves_its_question_open)
{
    pthread_t person;
    prepare(&(struct trial){.script = _i == 0 ? ASKS WAITS ENDS
                                              : ASKS "while [ ! -e go ]; do sleep 0.02; done\n"
                                                     "kill -KILL $$",
                            .agent = acp});
    ck_assert_int_eq(pthread_create(&person, NULL, _i == 0 ? stop_it : let_end, NULL), 0);
    perform();
    pthread_join(person, NULL);
    ck_assert_int_eq(ended, _i == 0 ? RC_CANCELLED : RC_OK);
    ck_assert_uint_eq(kit.port.ask_count, 1);
    ck_assert_uint_eq(kit.port.withdrawn, 0);
}
END_TEST

/* ---- what it fails with ---- */

static const struct {
    const char *script, *error;
} crashes[] = {
    {"echo 'TypeError: x is not a function' >&2; echo '    at main' >&2; exit 7",
     "exit code 7; its last words:\nTypeError: x is not a function\n    at main"},
    {"echo Invalid API key; exit 1", "exit code 1; its last words:\nInvalid API key"},
    {"exit 3", "exit code 3, and no message"},
    {"echo 'out of luck' >&2; kill -SEGV $$", "killed by SIGSEGV; its last words:\nout of luck"},
    {"echo \"key is $KEY\" >&2; exit 1", "exit code 1; its last words:\nkey is [redacted:env]"},
    {"echo noise >&2; echo '{\"type\":\"result\",\"status\":\"error\",\"error\":\"own\"}'; exit 1",
     "own"},
    {"echo '{\"status\":\"error\",\"error\":\"own\"}' >$DROVER_RESULT; exit 1", "own"},
    {"echo noise >&2; exit 0", ""},
};

START_TEST(an_agent_that_failed_without_a_word_is_quoted)
{
    ck_assert_int_eq(setenv("KEY", "correct-horse-battery-staple", 1), 0);
    const struct js *result = run(&(struct trial){
        .script = crashes[_i].script,
        .agent = "\"command\":[\"./agent.sh\"],\"adapter\":\"ndjson\",\"env\":[\"KEY\"]"});
    ck_assert_str_eq(text_of(result, "error"), crashes[_i].error);
}
END_TEST

/* ---- lines that are too long ---- */

static const struct {
    const char *adapter;
    int megabytes;
    const char *begin, *end, *outcome;
} long_lines[] = {
    {"ndjson", 1, "{\"type\":\"tool\",\"name\":\"Write\",\"status\":\"started\",\"summary\":\"",
     "\"}", "tool_denied"},
    {"claude", 2,
     "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"tool_use\","
     "\"id\":\"t\",\"name\":\"Write\",\"input\":{\"content\":\"",
     "\"}}]}}", "tool_denied"},
    {"claude", 15,
     "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"tool_use\","
     "\"id\":\"t\",\"name\":\"Write\",\"input\":{\"content\":\"",
     "\"}}]}}", "tool_denied"},
    {"claude", 17, "{\"type\":\"assistant\",\"message\":{\"content\":\"", "\"}}",
     "output_unreadable"},
    {"ndjson", 17, "not a record ", "", "ended"},
    {"none", 17, "{\"type\":\"", "\"}", "ended"},
    {"text", 17, "{\"type\":\"", "\"}", "ended"},
};

START_TEST(no_tool_is_called_behind_a_long_line)
{
    const char *agent = arena_printf(&kit.arena, "\"command\":[\"./agent.sh\"],\"adapter\":\"%s\"",
                                     long_lines[_i].adapter);
    const char *script = arena_printf(
        &kit.arena,
        "printf '%s'; head -c %d000000 /dev/zero | tr '\\0' y; printf '%%s\\n' '%s'\n"
        "[ %s = ended ] || sleep 600",
        long_lines[_i].begin, long_lines[_i].megabytes, long_lines[_i].end, long_lines[_i].outcome);
    const struct js *result = run(&(struct trial){
        .script = script, .agent = agent, .config = "\"policy\":{\"denyTools\":[\"Write\"]}"});
    ck_assert_str_eq(text_of(result, "outcome"), long_lines[_i].outcome);
}
END_TEST

Suite *agent_steering_suite(void)
{
    Suite *suite = suite_create("agent_steering");
    TCase *tests = tcase_create("agent_steering");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, messages_reach_an_agent_that_listens);
    tcase_add_test(tests, a_message_that_is_there_when_the_agent_ends_is_another_turn);
    tcase_add_test(tests, a_message_that_the_agent_did_not_take_waits_for_the_next_attempt);
    tcase_add_test(tests, an_agent_that_does_not_listen_gets_its_prompt_and_no_message);
    tcase_add_test(tests, what_was_said_before_is_in_the_prompt);
    tcase_add_test(tests, a_paused_agent_stands_still_and_no_limit_counts);
    tcase_add_test(tests, an_agent_that_is_cancelled_books_what_it_spent);
    tcase_add_test(tests, the_last_sums_are_sent_again_when_the_server_is_busy);
    tcase_add_loop_test(tests, an_agent_that_is_stopped_by_a_limit_books_what_it_spent, 0, 2);
    tcase_add_test(tests, what_an_agent_asks_is_asked_without_secrets_and_answered);
    tcase_add_test(tests, no_limit_counts_while_an_agent_waits_for_an_answer);
    tcase_add_loop_test(tests, a_question_that_the_server_refuses_has_its_default, 0,
                        (int)COUNT_OF(refused_asks));
    tcase_add_loop_test(tests, a_question_that_cannot_be_asked_now_is_asked_later, 0,
                        (int)COUNT_OF(busy_asks));
    tcase_add_test(tests, an_answer_that_no_agent_has_had_is_given_once_to_one_that_asks_the_same);
    tcase_add_loop_test(tests, a_question_that_the_agent_has_given_up_is_withdrawn, 0,
                        (int)COUNT_OF(gives_up));
    tcase_add_loop_test(tests, an_agent_that_is_stopped_or_dies_leaves_its_question_open, 0, 2);
    tcase_add_loop_test(tests, an_agent_that_failed_without_a_word_is_quoted, 0,
                        (int)COUNT_OF(crashes));
    tcase_add_loop_test(tests, no_tool_is_called_behind_a_long_line, 0, (int)COUNT_OF(long_lines));
    suite_add_tcase(suite, tests);
    return suite;
}
