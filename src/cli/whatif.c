/*
 * whatif.c - drover whatif: the recorded history under other limits.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include <stdio.h>
#include <string.h>

enum { BODY_BYTES_MAX = 4 * 1024 * 1024, WHATIF_TIMEOUT_MS = 10 * 60 * 1000, SHOWN_MAX = 10 };

/* Of `limits` of a server's configuration: what decides nothing about runs. */
static const char *const other_limits[] = {
    "maxRunEvents",
    "maxRunEventBytes",
    "eventBytesPerSecond",
    "eventBytesBurst",
    "spoolBytes",
    "bodyBytes",
    "webhooksPerSecond",
    "connections",
    "streams",
    "socketConnections",
    "streamBytes",
    "perRun",
    "perToken",
    "requestSeconds",
    "keepDays",
    "rates",
};

static bool is_other(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(other_limits); i++)
        if (strcmp(other_limits[i], name) == 0)
            return true;
    return false;
}

/* A file with nothing to try is a mistake, such as a repository's configuration. */
static enum rc check_config(const struct js *file, const char *path, struct err *err)
{
    if (js_get(file, "limits") != NULL || js_get(file, "defaults") != NULL ||
        js_get(file, "repositories") != NULL)
        return RC_OK;
    return err_set(err, RC_INVALID, "INVALID_CONFIGURATION",
                   "%.300s has none of limits, defaults and repositories: there is nothing to try",
                   path);
}

/* A server's configuration file may be given as it is: its other members are left out. */
static void write_config(struct jw *jw, const struct js *file)
{
    static const char *const parts[] = {"defaults", "repositories"};
    const char *name;
    const struct js *value, *limits = js_get(file, "limits");
    jw_begin(jw, '{');
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (js_get(file, parts[i]) != NULL) {
            jw_key(jw, parts[i]);
            js_write(jw, js_get(file, parts[i]));
        }
    if (js_type(limits) == JS_OBJECT) {
        jw_key(jw, "limits");
        jw_begin(jw, '{');
        for (size_t at = 0; js_next(limits, &at, &name, &value);) {
            if (is_other(name))
                continue;
            jw_key(jw, name);
            js_write(jw, value);
        }
        jw_end(jw, '}');
    }
    jw_end(jw, '}');
}

/* ---- the table ---- */

struct printer {
    struct cli *cli;
    struct table table;
};

static void row(struct printer *printer, const char *what, const char *runs, const char *detail)
{
    table_cell(&printer->table, what, TONE_PLAIN);
    table_cell(&printer->table, runs, TONE_PLAIN);
    table_cell(&printer->table, text_same(runs, "0") ? "" : detail, TONE_PLAIN);
}

static const char *counted(struct printer *printer, const struct js *object, const char *key)
{
    return arena_printf(&printer->cli->arena, "%lld", (long long)js_get_int(object, key, 0));
}

static const char *lasting(struct cli *cli, double seconds)
{
    char text[TIME_TEXT_BYTES];
    int64_t us = (int64_t)((seconds < 0 ? -seconds : seconds) * (double)US_PER_SECOND);
    return us < US_PER_MS ? "0 s" : arena_strdup(&cli->arena, duration_format(text, us));
}

static void row_saving(struct printer *printer, const char *what, const struct js *saving)
{
    row(printer, what, counted(printer, saving, "runs"),
        arena_printf(&printer->cli->arena, "saves %.2f USD, %s of work",
                     js_num(js_get(saving, "savedUsd"), 0),
                     lasting(printer->cli, js_num(js_get(saving, "savedWorkSeconds"), 0))));
}

static void row_wait(struct printer *printer, const char *what, const struct js *wait)
{
    struct arena *arena = &printer->cli->arena;
    const char *detail = arena_printf(
        arena, "by %s on average, at most %s",
        lasting(printer->cli, js_num(js_get(wait, "meanSeconds"), 0)),
        lasting(printer->cli, js_num(js_get(wait, "longestSeconds"), 0)));
    const char *name;
    const struct js *runs;
    for (size_t at = 0; js_next(js_get(wait, "reasons"), &at, &name, &runs);)
        detail = arena_printf(arena, "%s; %s: %lld", detail, name, (long long)js_int(runs, 0));
    row(printer, what, counted(printer, wait, "runs"), detail);
}

static void print_table(struct cli *cli, const struct js *answer)
{
    static const struct table_column columns[] = {
        {"CHANGE", false, false}, {"RUNS", true, false}, {"", false, true}};
    struct printer printer = {.cli = cli};
    const char *code;
    const struct js *saving;
    table_init(&printer.table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    printer.table.below = true;
    row_saving(&printer, "denied", js_get(answer, "denied"));
    if (js_get_int(answer, "accepted", 0) > 0)
        row(&printer, "accepted", counted(&printer, answer, "accepted"),
            "denied by the present limits");
    row_wait(&printer, "deferred", js_get(answer, "deferred"));
    row_wait(&printer, "sooner", js_get(answer, "sooner"));
    for (size_t at = 0; js_next(js_get(answer, "stopped"), &at, &code, &saving);)
        row_saving(&printer, arena_printf(&cli->arena, "stopped: %s", code), saving);
    row(&printer, "approvals more", counted(&printer, js_get(answer, "approvals"), "more"), "");
    row(&printer, "approvals fewer", counted(&printer, js_get(answer, "approvals"), "fewer"), "");
    table_print(&printer.table, stdout);
}

static const char *less_or_more(double saved)
{
    return saved < 0 ? "more" : "less";
}

static void print_sums(struct cli *cli, const struct js *saved)
{
    double usd = js_num(js_get(saved, "usd"), 0), work = js_num(js_get(saved, "workSeconds"), 0);
    double asking = js_num(js_get(saved, "askingSeconds"), 0);
    double end = js_num(js_get(saved, "endsSecondsEarlier"), 0);
    (void)printf("\nAltogether: %.2f USD %s, %s %s of work, %s %s of waiting for people; all is "
                 "done %s %s.\n",
                 usd < 0 ? -usd : usd, less_or_more(usd), lasting(cli, work), less_or_more(work),
                 lasting(cli, asking), less_or_more(asking), lasting(cli, end),
                 end < 0 ? "later" : "earlier");
}

static void print_answer(struct cli *cli, const struct js *answer)
{
    const struct js *gaps = js_get(answer, "unknown");
    const struct js *fidelity = js_get(answer, "fidelity");
    (void)printf("%lld runs were looked at; %lld would have gone otherwise.\n\n",
                 (long long)js_get_int(answer, "runs", 0),
                 (long long)js_get_int(answer, "changed", 0));
    print_table(cli, answer);
    print_sums(cli, js_get(answer, "saved"));
    (void)printf("Not known:\n");
    for (size_t i = 0; i < js_count(gaps); i++) {
        const struct js *gap = js_at(gaps, i);
        int64_t runs = js_get_int(gap, "runs", -1);
        (void)printf("  %s%s\n", js_get_str(gap, "what", "?"),
                     runs >= 0 ? arena_printf(&cli->arena, " (%lld run%s)", (long long)runs,
                                              runs == 1 ? "" : "s")
                               : "");
    }
    (void)printf("With the limits as they are the simulation starts %lld of %lld runs within a "
                 "second of their time.\n",
                 (long long)js_get_int(fidelity, "withinASecond", 0),
                 (long long)js_get_int(fidelity, "runs", 0));
    if (js_get_int(answer, "changed", 0) > 0)
        (void)puts("--json lists the runs that change.");
}

static int run_whatif(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(js_freep) struct js *file = NULL;
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *path = args_text(&cli->args, "config", NULL);
    char since[TIME_TEXT_BYTES];
    buf_init(&body, BODY_BYTES_MAX);
    if (path == NULL)
        return cli_usage(cli, "--config FILE is missing: limits, defaults and repositories to try");
    enum rc rc = cli_read_document(path, &file, &err);
    if (rc == RC_OK)
        rc = check_config(file, path, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_key(&jw, "config");
    write_config(&jw, file);
    if (args_has(&cli->args, "since"))
        jw_kstr(&jw, "since",
                span_time_text(args_text(&cli->args, "since", ""), cli->term.now_us, since));
    jw_end(&jw, '}');
    const struct http_call call = {.method = "POST",
                                   .path = "/v1/whatif",
                                   .body = buf_str(&body),
                                   .timeout_ms = WHATIF_TIMEOUT_MS};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_answer(cli, answer.tree);
    return CLI_DONE;
}

static const struct arg_option whatif_options[] = {
    {"config", "FILE", "limits, defaults and repositories to try: YAML or JSON", ARG_TEXT, 0, 0,
     NULL},
    {"since", "TIME", "only runs that were queued since a time or an age: 15m, 2h, 7d", ARG_TEXT, 0,
     0, NULL},
    {0},
};

const struct cli_command cli_whatif_commands[] = {
    {"whatif", "run the recorded history again under other limits",
     "--config FILE [--since TIME] [--json]", whatif_options,
     "drover whatif --config smaller.yaml --since 7d", NULL, 0, 0, CLI_REMOTE | CLI_JSON,
     run_whatif},
    {0},
};
