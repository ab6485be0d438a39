/*
 * breaker.c - circuit breakers: breakers, breaker show, set, reset, trip.
 */
#include "base/buf.h"
#include "base/jw.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

enum { BODY_BYTES_MAX = 64 * 1024 };

static enum tone tone_of(const char *state)
{
    if (text_same(state, "open"))
        return TONE_RED;
    return text_same(state, "half_open") ? TONE_YELLOW : TONE_GREEN;
}

/* ---- list, show ---- */

static void breakers_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"BREAKER", false, false}, {"STATE", false, false},      {"FAILURES", true, false},
        {"TRIPS", true, false},    {"OPEN UNTIL", false, false}, {"LAST ERROR", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    table.below = true;
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *state = js_get_str(item, "state", "");
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, state, tone_of(state));
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "failures", 0)),
                   TONE_PLAIN);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "trips", 0)),
                   TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "openUntil", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, js_get_str(item, "lastError", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/breakers",
                                              "No breakers: nothing outside has failed yet.",
                                              breakers_table});
}

static void show_breaker(struct cli *cli, const struct js *breaker)
{
    const char *state = js_get_str(breaker, "state", "");
    show_line(cli, "Breaker", js_get_str(breaker, "name", ""), TONE_BOLD);
    show_line(cli, "State", state, tone_of(state));
    show_time(cli, "Since", breaker, "changedAt");
    show_time(cli, "Open until", breaker, "openUntil");
    show_member(cli, "Failures", breaker, "failures");
    show_member(cli, "Successes", breaker, "successes");
    show_member(cli, "Trips", breaker, "trips");
    show_member(cli, "Last error", breaker, "lastError");
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    while (js_next(js_get(breaker, "effective"), &at, &key, &value))
        show_line(cli, key,
                  js_type(value) == JS_STRING ? js_str(value, "") : js_text(value, &cli->arena),
                  TONE_PLAIN);
}

static const char *path_of(struct cli *cli, const char *action)
{
    return cli_path(cli, "/v1/breakers/", args_word(&cli->args, 0), action);
}

/* One call that answers with the breaker. */
static int call_and_show(struct cli *cli, const struct http_call *call)
{
    return show_call(cli, call, show_breaker);
}

static int run_show(struct cli *cli)
{
    return call_and_show(cli, &(struct http_call){.method = "GET", .path = path_of(cli, "")});
}

/* ---- reset, trip ---- */

static int run_by_hand(struct cli *cli, const char *action)
{
    return call_and_show(cli, &(struct http_call){.method = "POST",
                                                  .path = path_of(cli, action),
                                                  .body = cli_reason_body(cli)});
}

static int run_reset(struct cli *cli)
{
    return run_by_hand(cli, "/reset");
}

static int run_trip(struct cli *cli)
{
    return run_by_hand(cli, "/trip");
}

/* ---- set ---- */

static const struct setting {
    const char *option, *member;
    enum { SET_NUMBER, SET_TEXT, SET_JSON } kind;
} settings[] = {
    {"failures", "failures", SET_NUMBER},
    {"window-ms", "windowMs", SET_NUMBER},
    {"open-ms", "openMs", SET_NUMBER},
    {"successes", "successes", SET_NUMBER},
    {"probes", "probes", SET_NUMBER},
    {"fallback", "fallback", SET_TEXT},
    {"alternative-queue", "alternativeQueue", SET_TEXT},
    {"default-result", "defaultResult", SET_JSON},
};

/* member NULL: any of them. */
static bool is_given(const struct args *args, const char *member)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if ((member == NULL || text_same(settings[i].member, member)) &&
            args_has(args, settings[i].option))
            return true;
    return false;
}

static void write_setting(struct jw *jw, const struct args *args, const struct setting *setting)
{
    switch (setting->kind) {
    case SET_NUMBER:
        jw_kint(jw, setting->member, args_int(args, setting->option, 0));
        return;
    case SET_TEXT:
        jw_kstr(jw, setting->member, args_text(args, setting->option, ""));
        return;
    case SET_JSON:
        jw_kraw(jw, setting->member, str_of(args_text(args, setting->option, "")));
    }
}

/* Values that were set before stay, except those that are given now. */
static void write_config(struct cli *cli, const struct js *config, struct buf *body)
{
    const struct args *args = &cli->args;
    struct jw jw = jw_to(body);
    size_t at = 0;
    const char *key = NULL;
    const struct js *value = NULL;
    jw_begin(&jw, '{');
    while (config != NULL && js_next(config, &at, &key, &value))
        if (!is_given(args, key))
            jw_kraw(&jw, key, str_of(js_text(value, &cli->arena)));
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (args_has(args, settings[i].option))
            write_setting(&jw, args, &settings[i]);
    jw_end(&jw, '}');
}

static int run_set(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer known = {0};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    if (!is_given(&cli->args, NULL))
        return cli_usage(cli, "say what to set: --failures, --open-ms, --fallback, ...");
    enum rc rc = cli_get(cli, path_of(cli, ""), &known, &err);
    if (rc != RC_OK && rc != RC_NOT_FOUND)
        return cli_fail(cli, rc, &err);
    write_config(cli, rc == RC_OK ? js_get(known.tree, "config") : NULL, &body);
    return call_and_show(
        cli,
        &(struct http_call){.method = "PUT", .path = path_of(cli, ""), .body = buf_str(&body)});
}

/* ---- the table ---- */

static const char *const fallbacks[] = {"queue", "alternative", "default", NULL};

static const struct arg_option list_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option set_options[] = {
    {"failures", "N", "so many within the window open it (default 5)", ARG_INT, 1, 32, NULL},
    {"window-ms", "MS", "the window (default 10000)", ARG_INT, 1, 86400000, NULL},
    {"open-ms", "MS", "it stays open for so long (default 60000)", ARG_INT, 1, 86400000, NULL},
    {"successes", "N", "so many in a row close it (default 3)", ARG_INT, 1, 1000, NULL},
    {"probes", "N", "calls at once while it is half-open (default 3)", ARG_INT, 1, 16, NULL},
    {"fallback", "WHICH", "what becomes of jobs meanwhile (default queue)", ARG_CHOICE, 0, 0,
     fallbacks},
    {"alternative-queue", "QUEUE", "where they go, for --fallback alternative", ARG_TEXT, 0, 0,
     NULL},
    {"default-result", "JSON", "what they answer, for --fallback default", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why; goes into the event", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_breaker_commands[] = {
    {"breakers", "list the circuit breakers", "[--limit N] [--json]", list_options,
     "drover breakers", NULL, 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"breaker show", "show a breaker and its rules", "NAME [--json]", NULL,
     "drover breaker show forge:github.com", "drover breakers", 1, 1, CLI_REMOTE | CLI_JSON,
     run_show},
    {"breaker set", "change a breaker's rules", "NAME [--failures N] [--open-ms MS] ...",
     set_options, "drover breaker set vendor --failures 3 --open-ms 30000", "drover breakers", 1, 1,
     CLI_REMOTE | CLI_JSON, run_set},
    {"breaker reset", "close a breaker: calls go out again", "NAME [--reason TEXT]", reason_options,
     "drover breaker reset forge:github.com", "drover breakers", 1, 1, CLI_REMOTE | CLI_JSON,
     run_reset},
    {"breaker trip", "open a breaker: no call goes out for a while", "NAME [--reason TEXT]",
     reason_options, "drover breaker trip vendor --reason maintenance", "drover breakers", 1, 1,
     CLI_REMOTE | CLI_JSON, run_trip},
    {0},
};
