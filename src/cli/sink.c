/*
 * sink.c - the places outside that events are copied to: sinks, sink set, show, pause, resume,
 * remove, dead, replay, discard.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/faults.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

enum { BODY_BYTES_MAX = 64 * 1024 };

static enum tone tone_of(const char *state)
{
    if (text_same(state, "retrying") || text_same(state, "open"))
        return TONE_RED;
    return text_same(state, "paused") ? TONE_YELLOW : TONE_PLAIN;
}

/* ---- sinks ---- */

static const char *number(struct cli *cli, const struct js *item, const char *key)
{
    return arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, key, 0));
}

static void sinks_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"SINK", false, false},  {"TYPE", false, false}, {"TARGET", false, true},
        {"STATE", false, false}, {"LAG", true, false},   {"BEHIND", true, false},
        {"CURSOR", true, false}, {"DEAD", true, false},  {"LAST ERROR", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *state = js_get_str(item, "state", "");
        double seconds = js_num(js_get(item, "lagSeconds"), 0);
        char behind[TIME_TEXT_BYTES];
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "type", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "target", ""), TONE_PLAIN);
        table_cell(&table, state, tone_of(state));
        table_cell(&table, number(cli, item, "lag"), TONE_PLAIN);
        table_cell(&table, seconds > 0 ? duration_format(behind, (int64_t)(seconds * 1e6)) : "-",
                   TONE_DIM);
        table_cell(&table, number(cli, item, "cursor"), TONE_DIM);
        table_cell(&table, number(cli, item, "deadLetters"), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "lastError", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(
        cli, &(struct show_list){"/v1/sinks",
                                 "No sinks: neither the server's configuration nor drover sink set "
                                 "has made one.",
                                 sinks_table});
}

/* ---- one sink ---- */

static void show_behind(struct cli *cli, const struct js *sink)
{
    double seconds = js_num(js_get(sink, "lagSeconds"), 0);
    int64_t lag = js_get_int(sink, "lag", 0);
    char behind[TIME_TEXT_BYTES];
    if (lag == 0)
        show_line(cli, "Lag", "none", TONE_GREEN);
    else
        show_line(cli, "Lag",
                  arena_printf(&cli->arena, "%lld event%s, %s", (long long)lag, lag == 1 ? "" : "s",
                               duration_format(behind, (int64_t)(seconds * 1e6))),
                  TONE_YELLOW);
}

static void show_config(struct cli *cli, const struct js *config)
{
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    while (js_next(config, &at, &key, &value))
        if (!text_same(key, "name") && !text_same(key, "type"))
            show_line(cli, key,
                      js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, &cli->arena),
                      TONE_PLAIN);
}

static void show_sink(struct cli *cli, const struct js *sink)
{
    const char *state = js_get_str(sink, "state", "");
    show_line(cli, "Sink", js_get_str(sink, "name", ""), TONE_BOLD);
    show_member(cli, "Type", sink, "type");
    show_member(cli, "Target", sink, "target");
    show_line(cli, "State", state, tone_of(state));
    show_member(cli, "Last error", sink, "lastError");
    show_behind(cli, sink);
    show_member(cli, "Cursor", sink, "cursor");
    show_member(cli, "Delivered", sink, "delivered");
    show_member(cli, "Refused", sink, "refused");
    show_member(cli, "Retries", sink, "retries");
    show_member(cli, "Dead letters", sink, "deadLetters");
    show_line(cli, "Made by",
              text_same(js_get_str(sink, "origin", ""), "api") ? "the API"
                                                               : "the server's configuration",
              TONE_PLAIN);
    show_config(cli, js_get(sink, "config"));
    if (js_get_int(sink, "deadLetters", 0) > 0)
        show_next(cli, "What and why", "drover sink dead %s",
                  shell_quote(js_get_str(sink, "name", ""), &cli->arena));
}

static const char *path_of(struct cli *cli, const char *action)
{
    return cli_path(cli, "/v1/sinks/", args_word(&cli->args, 0), action);
}

/* One call that answers with the sink. */
static int call_and_show(struct cli *cli, const struct http_call *call)
{
    return show_call(cli, call, show_sink);
}

static int run_show(struct cli *cli)
{
    return call_and_show(cli, &(struct http_call){.method = "GET", .path = path_of(cli, "")});
}

static int run_pause(struct cli *cli)
{
    return call_and_show(cli,
                         &(struct http_call){.method = "POST", .path = path_of(cli, "/pause")});
}

static int run_resume(struct cli *cli)
{
    return call_and_show(cli,
                         &(struct http_call){.method = "POST", .path = path_of(cli, "/resume")});
}

/* The file (YAML or JSON) is read here and sent as JSON. */
static int run_set(struct cli *cli)
{
    int status = CLI_DONE;
    CLEANUP(cli_source_release) struct cli_source source = {0};
    const char *file = args_text(&cli->args, "config", NULL);
    if (file == NULL)
        return cli_usage(cli, "--config FILE is missing");
    if (!cli_source_read(cli, file, &source, &status))
        return status;
    const char *body = js_text(source.tree, &cli->arena);
    return call_and_show(
        cli, &(struct http_call){.method = "PUT", .path = path_of(cli, ""), .body = str_of(body)});
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {.method = "DELETE", .path = path_of(cli, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (!cli->json)
        (void)printf("Sink %s is removed, with its cursor and its dead letters.\n",
                     args_word(&cli->args, 0));
    return CLI_DONE;
}

/* ---- dead letters ---- */

static void letters_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"SEQUENCE", true, false}, {"TYPE", false, false},   {"CODE", false, false},
        {"REFUSED", false, false}, {"REPLAY", false, false}, {"WHY", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        table_cell(&table, number(cli, item, "sequence"), TONE_BOLD);
        table_cell(&table, js_get_str(item, "eventType", ""), TONE_PLAIN);
        table_cell(&table, js_get_str(item, "code", ""), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "createdAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_bool(item, "replay", false) ? "yes" : "no", TONE_PLAIN);
        table_cell(&table, js_get_str(item, "message", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_dead(struct cli *cli)
{
    return show_list(cli, &(struct show_list){path_of(cli, "/dead-letters"),
                                              "No dead letters: the sink has refused nothing.",
                                              letters_table});
}

/* {"all": true} or {"sequences": [...]}; false: a number is none. */
static bool write_letters(struct cli *cli, struct buf *body)
{
    struct jw jw = jw_to(body);
    size_t at = 0;
    const char *text = NULL;
    int64_t seq = 0;
    jw_begin(&jw, '{');
    if (args_has(&cli->args, "all"))
        jw_kbool(&jw, "all", true);
    if (args_has(&cli->args, "sequence")) {
        jw_key(&jw, "sequences");
        jw_begin(&jw, '[');
        while ((text = args_next(&cli->args, "sequence", &at)) != NULL) {
            if (!text_to_i64(text, &seq) || seq <= 0)
                return false;
            jw_int(&jw, seq);
        }
        jw_end(&jw, ']');
    }
    jw_end(&jw, '}');
    return true;
}

static void print_changed(struct cli *cli, const struct js *answer)
{
    int64_t replayed = js_get_int(answer, "replayed", -1);
    int64_t count = replayed >= 0 ? replayed : js_get_int(answer, "discarded", 0);
    (void)cli;
    (void)printf("%lld dead %s %s.\n", (long long)count, count == 1 ? "letter is" : "letters are",
                 replayed >= 0 ? "delivered once more" : "discarded");
}

static int change_letters(struct cli *cli, const char *action)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    if (args_has(&cli->args, "all") == args_has(&cli->args, "sequence"))
        return cli_usage(cli, "say which: --sequence N, which may be repeated, or --all");
    if (!write_letters(cli, &body))
        return cli_usage(cli, "--sequence takes a number of drover sink dead");
    const struct http_call call = {
        .method = "POST", .path = path_of(cli, action), .body = buf_str(&body)};
    return show_call(cli, &call, print_changed);
}

static int run_replay(struct cli *cli)
{
    return change_letters(cli, "/dead-letters/replay");
}

static int run_discard(struct cli *cli)
{
    return change_letters(cli, "/dead-letters/discard");
}

/* ---- the table ---- */

static const struct arg_option list_options[] = {
    {"limit", "N", "at most so many, by name (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};
static const struct arg_option dead_options[] = {
    {"limit", "N", "at most so many, oldest first (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};
static const struct arg_option set_options[] = {
    {"config", "FILE", "its configuration, as in sinks of the server's; YAML or JSON (-: stdin)",
     ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option letter_options[] = {
    {"sequence", "N", "the dead letter of this sequence; may be repeated", ARG_LIST, 0, 0, NULL},
    {"all", NULL, "all of them", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_sink_commands[] = {
    {"sinks", "list the sinks of events and how far they are behind", "[--limit N] [--json]",
     list_options, "drover sinks --watch", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_list},
    {"sink show", "show a sink, its lag and its configuration", "NAME [--json]", NULL,
     "drover sink show ci", "drover sinks", 1, 1, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_show},
    {"sink set", "make a sink, or change its configuration", "NAME --config FILE [--json]",
     set_options, "drover sink set ci --config ci.yaml", "drover sinks", 1, 1,
     CLI_REMOTE | CLI_JSON, run_set},
    {"sink pause", "stop copying events to a sink", "NAME [--json]", NULL, "drover sink pause ci",
     "drover sinks", 1, 1, CLI_REMOTE | CLI_JSON, run_pause},
    {"sink resume", "continue, and try a failed delivery again at once", "NAME [--json]", NULL,
     "drover sink resume ci", "drover sinks", 1, 1, CLI_REMOTE | CLI_JSON, run_resume},
    {"sink remove", "remove a sink, its cursor and its dead letters", "NAME", NULL,
     "drover sink remove ci", "drover sinks", 1, 1, CLI_REMOTE, run_remove},
    {"sink dead", "list the events that a sink has refused for good", "NAME [--limit N] [--json]",
     dead_options, "drover sink dead ci", "drover sinks", 1, 1, CLI_REMOTE | CLI_JSON, run_dead},
    {"sink replay", "deliver dead letters of a sink once more", "NAME --sequence N ... | --all",
     letter_options, "drover sink replay ci --all", "drover sinks", 1, 1, CLI_REMOTE | CLI_JSON,
     run_replay},
    {"sink discard", "forget dead letters of a sink", "NAME --sequence N ... | --all",
     letter_options, "drover sink discard ci --sequence 4711", "drover sinks", 1, 1,
     CLI_REMOTE | CLI_JSON, run_discard},
    {0},
};
