/*
 * question.c - what agents ask people: questions, question, answer; and ask, for agents themselves.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PATH_BYTES_MAX = 1024,
    TEXT_BYTES_MAX = 64 * 1024,
    BODY_BYTES_MAX = 8 * TEXT_BYTES_MAX,
    WAIT_MS = 30000,       /* Of one call that waits for the answer. */
    WAIT_SPARE_MS = 10000, /* For the answer to come back. */
    RETRY_MS = 1000,
    TIMEOUT_SECONDS_MAX = 30 * 24 * 3600,
};
#define PATIENCE_US \
    (5 * US_PER_MINUTE) /* With a server that does not answer, beyond the deadline. */

/* ---- for people ---- */

static const char *options_text(struct cli *cli, const struct js *question)
{
    const struct js *options = js_get(question, "options");
    const char *text = "";
    for (size_t i = 0; i < js_count(options); i++)
        text = arena_printf(&cli->arena, "%s%s%s", text, i > 0 ? ", " : "",
                            js_str(js_at(options, i), ""));
    return text;
}

static const char *whole_text(struct cli *cli, const struct js *question)
{
    const char *options = options_text(cli, question);
    return arena_printf(&cli->arena, "%s%s%s%s", js_get_str(question, "text", ""),
                        *options != '\0' ? " (" : "", options, *options != '\0' ? ")" : "");
}

static void questions_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},      {"STATUS", false, false}, {"AGE", true, false},
        {"EXPIRES", false, false}, {"RUN", false, false},    {"QUESTION", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *status = js_get_str(item, "status", "?");
        table_cell(&table, cli_id_shown(cli, item, "id", len), TONE_PLAIN);
        table_cell(&table, status, term_status_tone(status));
        table_cell(&table, show_age(cli, item, "answeredAt"), TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "expiresAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "runId", ""), TONE_DIM);
        table_cell(&table, whole_text(cli, item), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_questions(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/questions");
    if (!args_has(&cli->args, "all"))
        url_add_query(&path, "status", "pending");
    return show_list(
        cli, &(struct show_list){buf_text(&path), "No agent asks anything.", questions_table});
}

static enum rc resolve(struct cli *cli, const char *word, bool also_past, struct id *ret_id,
                       struct err *err)
{
    const struct cli_waiting what = {"question", "/v1/questions", also_past};
    return cli_resolve_waiting(cli, &what, word, ret_id, err);
}

static enum rc resolve_any(struct cli *cli, const char *word, struct id *ret_id, struct err *err)
{
    return resolve(cli, word, true, ret_id, err);
}

static void show_question(struct cli *cli, const struct id *id, const struct js *question)
{
    show_line(cli, "Question", id->text, TONE_BOLD);
    show_status(cli, question);
    show_member(cli, "Text", question, "text");
    show_line(cli, "Options", options_text(cli, question), TONE_PLAIN);
    show_member(cli, "Default", question, "default");
    show_member(cli, "Answer", question, "answer");
    show_member(cli, "Answered by", question, "answeredBy");
    show_member(cli, "Task", question, "taskId");
    show_member(cli, "Run", question, "runId");
    show_line(cli, "Age", show_age(cli, question, "answeredAt"), TONE_PLAIN);
    show_time(cli, "Expires", question, "expiresAt");
    show_time(cli, "Answered", question, "answeredAt");
    if (text_same(js_get_str(question, "status", ""), "pending"))
        show_next(cli, "Answer", "drover answer %s TEXT", id->text);
}

static int run_question(struct cli *cli)
{
    return show_one(cli, &(struct show_one){resolve_any, "/v1/questions/", "", show_question});
}

static int run_answer(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = resolve(cli, args_word(&cli->args, 0), false, &id, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct cli_text_post post = {
        .path = cli_path(cli, "/v1/questions/", id.text, "/answer"), .key = "answer", .first = 1};
    rc = cli_post_text(cli, &post, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    (void)printf("Question %s is answered.\n", id.text);
    const char *run_id = js_get_str(answer.tree, "runId", NULL);
    if (run_id != NULL)
        show_next(cli, "Watch it", "drover watch %s", shell_quote(run_id, &cli->arena));
    return CLI_DONE;
}

/* ---- for agents ---- */

/* The server may be restarted meanwhile. */
static bool may_pass(enum rc rc)
{
    return rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_BUSY;
}

static void rest(void)
{
    const struct timespec pause = {.tv_sec = RETRY_MS / 1000,
                                   .tv_nsec = (long)(RETRY_MS % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

static enum rc call_patiently(struct cli *cli, const struct http_call *call, int64_t until_us,
                              struct cli_answer *ret_answer, struct err *err)
{
    enum rc rc = cli_call(cli, call, ret_answer, err);
    while (may_pass(rc) && clock_mono_us() < until_us) {
        rest();
        rc = cli_call(cli, call, ret_answer, err);
    }
    return rc;
}

static void write_question(struct cli *cli, struct buf *body, const char *text)
{
    int64_t timeout_s = args_int(&cli->args, "timeout", 0);
    struct jw jw = jw_to(body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "text", text);
    cli_write_list(cli, &jw, "option", "options");
    jw_optstr(&jw, "default", args_text(&cli->args, "default", NULL));
    if (timeout_s > 0)
        jw_kint(&jw, "timeoutMs", timeout_s * 1000);
    jw_end(&jw, '}');
}

static enum rc ask(struct cli *cli, const char *run, const char *text,
                   struct cli_answer *ret_answer, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    write_question(cli, &body, text);
    const struct http_call call = {.method = "POST",
                                   .path = cli_path(cli, "/v1/runs/", run, "/questions"),
                                   .body = buf_str(&body)};
    return call_patiently(cli, &call, clock_mono_us() + PATIENCE_US, ret_answer, err);
}

/* From now on, by the monotonic clock; never in less than the spare time. */
static int64_t end_of_wait(const struct js *question)
{
    int64_t expires_us = 0;
    struct clock clock = clock_real();
    int64_t left_us = 0;
    if (time_parse(js_get_str(question, "expiresAt", ""), &expires_us))
        left_us = expires_us - clock_now_us(&clock);
    return clock_mono_us() + (left_us > 0 ? left_us : 0) + PATIENCE_US;
}

static bool is_pending(const struct cli_answer *answer)
{
    return text_same(js_get_str(answer->tree, "status", ""), "pending");
}

/* Reads the question until it is closed. */
static enum rc await_answer(struct cli *cli, struct cli_answer *answer, struct err *err)
{
    int64_t until_us = end_of_wait(answer->tree);
    const char *id = arena_strdup(&cli->arena, js_get_str(answer->tree, "id", ""));
    const char *path = cli_path(cli, "/v1/questions/", id,
                                arena_printf(&cli->arena, "?waitMs=%d", WAIT_MS));
    const struct http_call call = {
        .method = "GET", .path = path, .timeout_ms = WAIT_MS + WAIT_SPARE_MS};
    enum rc rc = RC_OK;
    while (rc == RC_OK && is_pending(answer) && clock_mono_us() < until_us) {
        cli_answer_release(answer);
        rc = call_patiently(cli, &call, until_us, answer, err);
    }
    return rc;
}

static int print_answer(struct cli *cli, const struct cli_answer *answer)
{
    const char *text = js_get_str(answer->tree, "answer", NULL);
    if (cli->json)
        cli_print_json(answer);
    else if (text != NULL)
        (void)printf("%s\n", text);
    else
        (void)fprintf(stderr, "drover: no answer in time; decide for yourself\n");
    return text != NULL ? CLI_DONE : CLI_FAILED;
}

static int run_ask(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(buf_release) struct buf text;
    const char *run = getenv("DROVER_RUN_ID");
    buf_init(&text, TEXT_BYTES_MAX);
    if (text_empty(run))
        return cli_usage(cli, "there is no $DROVER_RUN_ID: agents ask, inside their sandbox");
    enum rc rc = cli_read_text(cli, 0, &text, &err);
    if (rc == RC_OK)
        rc = ask(cli, run, buf_text(&text), &answer, &err);
    if (rc == RC_OK)
        rc = await_answer(cli, &answer, &err);
    return rc == RC_OK ? print_answer(cli, &answer) : cli_fail(cli, rc, &err);
}

static const struct arg_option questions_options[] = {
    {"all", NULL, "also those that are closed", ARG_FLAG, 0, 0, NULL},
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option ask_options[] = {
    {"option", "TEXT", "one of the answers that there are (may be repeated)", ARG_LIST, 0, 0, NULL},
    {"default", "TEXT", "the answer when there is none in time", ARG_TEXT, 0, 0, NULL},
    {"timeout", "S", "wait so many seconds at most (default: timeouts.questionMs)", ARG_INT, 1,
     TIMEOUT_SECONDS_MAX, NULL},
    {0},
};

const struct cli_command cli_question_commands[] = {
    {"questions", "list what agents ask", "[--all] [--limit N] [--json]", questions_options,
     "drover questions", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_questions},
    {"question", "show a question of an agent", "ID   (of the question, its run or its task)", NULL,
     "drover question latest", "drover questions", 1, 1, CLI_REMOTE | CLI_JSON, run_question},
    {"answer", "answer the question of an agent",
     "ID TEXT...   (of the question, its run or its task)", NULL,
     "drover answer latest \"keep it\"", "drover questions", 2, SIZE_MAX, CLI_REMOTE | CLI_JSON,
     run_answer},
    {"ask", "ask people and wait for the answer; for agents, in their sandbox",
     "TEXT... [--option A --option B] [--default A] [--timeout S]", ask_options,
     "drover ask \"Keep the old API?\" --option yes --option no --default yes", NULL, 1, SIZE_MAX,
     CLI_REMOTE | CLI_JSON, run_ask},
    {0},
};
