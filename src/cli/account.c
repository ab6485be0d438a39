/*
 * account.c - provider accounts: accounts, accounts park, accounts resume.
 */
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include <stdio.h>

static const char *percent(const struct js *value, struct arena *arena)
{
    double part = js_num(value, -1);
    return part < 0 ? "" : arena_printf(arena, "%.0f%%", 100 * part);
}

/* "five_hour 40%, seven_day 12%" */
static const char *used_text(const struct js *windows, struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < js_count(windows); i++) {
        const struct js *window = js_at(windows, i);
        text = arena_printf(arena, "%s%s%s %s", text, i > 0 ? ", " : "",
                            js_get_str(window, "window", ""),
                            percent(js_get(window, "used"), arena));
    }
    return text;
}

static const char *usd(const struct js *value, struct arena *arena)
{
    double amount = js_num(value, -1);
    return amount < 0 ? "" : arena_printf(arena, "$%.2f", amount);
}

/* "1/2", or "3" without a limit. */
static const char *runs_text(const struct js *item, struct arena *arena)
{
    long long active = (long long)js_get_int(item, "activeRuns", 0);
    long long max = (long long)js_get_int(item, "maxRuns", 0);
    return max > 0 ? arena_printf(arena, "%lld/%lld", active, max)
                   : arena_printf(arena, "%lld", active);
}

static void add_row(struct cli *cli, struct table *table, const struct js *item)
{
    struct arena *arena = &cli->arena;
    const char *status = js_get_str(item, "status", "");
    bool parked = text_same(status, "parked");
    table_cell(table, js_get_str(item, "name", ""), TONE_BOLD);
    table_cell(table, js_get_str(item, "provider", ""), TONE_PLAIN);
    table_cell(table, status, parked ? TONE_YELLOW : TONE_GREEN);
    table_cell(table, runs_text(item, arena), TONE_PLAIN);
    table_cell(table, used_text(js_get(item, "windows"), arena), TONE_PLAIN);
    table_cell(table, percent(js_get(item, "left"), arena), TONE_PLAIN);
    table_cell(table, term_time(&cli->term, js_get_str(item, "resetsAt", NULL), arena), TONE_DIM);
    table_cell(table, usd(js_get(item, "costTodayUsd"), arena), TONE_PLAIN);
    table_cell(table, usd(js_get(item, "costUsd"), arena), TONE_PLAIN);
    table_cell(table, arena_printf(arena, "%lld", (long long)js_get_int(item, "hits", 0)),
               TONE_PLAIN);
    table_cell(table, js_get_str(item, "reason", ""), TONE_PLAIN);
}

static void accounts_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ACCOUNT", false, false}, {"PROVIDER", false, false}, {"STATUS", false, false},
        {"RUNS", true, false},     {"USED", false, false},     {"LEFT", true, false},
        {"RESET", false, false},   {"TODAY", true, false},     {"TOTAL", true, false},
        {"HITS", true, false},     {"REASON", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++)
        add_row(cli, &table, listing->items[i]);
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/accounts",
                                              "No accounts: none is configured, and no agent has "
                                              "met a usage limit yet.",
                                              accounts_table});
}

/* Sends the command about the account that the first word names, and prints it. */
static int change(struct cli *cli, const char *suffix, struct str body)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    struct http_call call = {
        .method = "POST",
        .path = cli_path(cli, "/v1/accounts/", args_word(&cli->args, 0), suffix),
        .body = body,
    };
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    const char *status = js_get_str(answer.tree, "status", "");
    bool parked = text_same(status, "parked");
    show_line(cli, "Account", js_get_str(answer.tree, "name", ""), TONE_BOLD);
    show_line(cli, "Status", status, parked ? TONE_YELLOW : TONE_GREEN);
    show_time(cli, "Until", answer.tree, "parkedUntil");
    return CLI_DONE;
}

static int run_resume(struct cli *cli)
{
    return change(cli, "/resume", cli_reason_body(cli));
}

/* A time, or so long from now. */
static bool parse_until(const char *text, int64_t now_us, int64_t *ret_us)
{
    int64_t span_us;
    if (text == NULL || time_parse(text, ret_us))
        return text != NULL;
    if (!span_parse(text, &span_us))
        return false;
    *ret_us = now_us + span_us;
    return true;
}

static int run_park(struct cli *cli)
{
    const char *until = args_text(&cli->args, "until", NULL);
    const char *reason = args_text(&cli->args, "reason", NULL);
    struct err err = {0};
    int64_t until_us = 0;
    char time[TIME_TEXT_BYTES];
    if (!parse_until(until, cli->term.now_us, &until_us)) {
        enum rc rc = err_set(&err, RC_MALFORMED, "INVALID_TIME",
                             "say until when: --until 2026-08-01T12:00:00Z, or how long: 2h");
        return cli_fail(cli, rc, &err);
    }
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, 8 * 1024);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "until", time_format(time, until_us));
    jw_optstr(&jw, "reason", reason);
    jw_end(&jw, '}');
    return change(cli, "/park", buf_str(&body));
}

static const struct arg_option list_options[] = {
    CLI_LIMIT_OPTION,
    {0},
};
static const struct arg_option reason_options[] = {
    {"reason", "TEXT", "why; goes into the event", ARG_TEXT, 0, 0, NULL},
    {0},
};
static const struct arg_option park_options[] = {
    {"until", "TIME", "a time, or how long from now: 2h, 3d", ARG_TEXT, 0, 0, NULL},
    {"reason", "TEXT", "why; goes into the event", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_account_commands[] = {
    {"accounts", "list provider accounts: what is used, what is left, when it is reset",
     "[--limit N] [--json]", list_options, "drover accounts", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"accounts park", "let no run use an account until a time", "NAME --until TIME [--reason TEXT]",
     park_options, "drover accounts park claude-one --until 2h", "drover accounts", 1, 1,
     CLI_REMOTE | CLI_JSON, run_park},
    {"accounts resume", "take a parked account into use again", "NAME [--reason TEXT]",
     reason_options, "drover accounts resume anthropic-main", "drover accounts", 1, 1,
     CLI_REMOTE | CLI_JSON, run_resume},
    {0},
};
