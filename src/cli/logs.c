/*
 * logs.c - lines of the server's own log that it keeps in its database.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/moment.h"
#include "cli/show.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 2048, LINE_BYTES_MAX = 64 * 1024, RECENT_HOURS = 1 };

static const char *const level_names[] = {"debug", "info", "warn", "error", "fatal", NULL};

static enum tone tone_of(const char *level)
{
    if (text_same(level, "error") || text_same(level, "fatal"))
        return TONE_RED;
    if (text_same(level, "warn"))
        return TONE_YELLOW;
    return text_same(level, "debug") ? TONE_DIM : TONE_PLAIN;
}

/* The members of the line beside those that have a column of their own: "  key=value". */
static void add_fields(struct cli *cli, const struct js *line, struct buf *to)
{
    const struct js *value;
    const char *name;
    for (size_t it = 0; js_next(line, &it, &name, &value);) {
        if (text_same(name, "time") || text_same(name, "level") || text_same(name, "msg"))
            continue;
        buf_adds(to, "  ");
        term_clean(to, name);
        buf_adds(to, "=");
        term_clean(to, js_str(value, js_text(value, &cli->arena)));
    }
}

static void print_lines(struct cli *cli, const struct cli_listing *listing)
{
    const struct term exact = {.tty = false}; /* Exact times, in one column. */
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const char *level = js_get_str(item, "level", "");
        enum tone tone = tone_of(level);
        CLEANUP(buf_release) struct buf text;
        buf_init(&text, LINE_BYTES_MAX);
        term_clean(&text, js_get_str(item, "message", ""));
        add_fields(cli, js_get(item, "line"), &text);
        (void)printf("%s%s%s  %s%-5s%s  %s\n", term_on(&cli->term, TONE_DIM),
                     term_time(&exact, js_get_str(item, "time", NULL), &cli->arena),
                     term_off(&cli->term, TONE_DIM), term_on(&cli->term, tone), level,
                     term_off(&cli->term, tone), buf_text(&text));
    }
}

static int run_logs(struct cli *cli)
{
    struct err err = {0};
    struct id run_id;
    char time[TIME_TEXT_BYTES];
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/logs");
    if (args_has(&cli->args, "level"))
        url_add_query(&path, "level", args_text(&cli->args, "level", ""));
    if (!moment_add(cli, &path, "since") || !moment_add(cli, &path, "until"))
        return CLI_USAGE;
    if (args_has(&cli->args, "run")) {
        enum rc rc = cli_resolve_run(cli, args_text(&cli->args, "run", ""), &run_id, &err);
        if (rc != RC_OK)
            return cli_fail(cli, rc, &err);
        url_add_query(&path, "runId", run_id.text);
    } else if (!args_has(&cli->args, "since") && !args_has(&cli->args, "until")) {
        url_add_query(&path, "since",
                      time_format(time, cli->term.now_us - RECENT_HOURS * US_PER_HOUR));
    }
    return show_list(cli, &(struct show_list){buf_text(&path), "No lines.", print_lines});
}

static const struct arg_option logs_options[] = {
    {"level", "LEVEL", "this or worse: debug, info, warn, error, fatal", ARG_CHOICE, 0, 0,
     level_names},
    {"since", "TIME", "from a time or an age on: 15m, 2h, 7d (default 1h, all of a run)", ARG_TEXT,
     0, 0, NULL},
    {"until", "TIME", "before a time or an age", ARG_TEXT, 0, 0, NULL},
    {"run", "RUN", "only lines about this run", ARG_TEXT, 0, 0, NULL},
    {"limit", "N", "at most so many, in order (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};

const struct cli_command cli_logs_commands[] = {
    {"logs", "show the server's own log, where it keeps it (log.store)",
     "[--level LEVEL] [--since TIME] [--until TIME] [--run RUN] [--limit N] [--json]", logs_options,
     "drover logs --level warn --since 1d", "drover doctor", 0, 0, CLI_REMOTE | CLI_JSON, run_logs},
    {0},
};
