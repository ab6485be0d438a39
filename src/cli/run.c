/*
 * run.c - runs: runs, run, timeline.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/pr.h"
#include "cli/show.h"
#include "cli/table.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 2048, LINE_BYTES_MAX = 64 * 1024 };

/* ---- runs ---- */

/* "3 min 20 s" from start to end, or to now until it has ended. */
static const char *lasted(struct cli *cli, const struct js *run)
{
    int64_t from_us = 0, to_us = cli->term.now_us;
    if (!time_parse(js_get_str(run, "startedAt", ""), &from_us))
        return "";
    const char *ended = js_get_str(run, "endedAt", NULL);
    if (ended != NULL && !time_parse(ended, &to_us))
        return "";
    char text[TIME_TEXT_BYTES];
    return arena_strdup(&cli->arena, duration_format(text, to_us - from_us));
}

/* "running, paused" */
static const char *status_text(struct cli *cli, const struct js *run)
{
    const char *status = js_get_str(run, "status", "?");
    if (js_get_bool(run, "paused", false))
        return arena_printf(&cli->arena, "%s, paused", status);
    bool asks = js_get_str(run, "questionId", NULL) != NULL;
    return asks ? arena_printf(&cli->arena, "%s, asks", status) : status;
}

static void runs_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", false, false},      {"STATUS", false, false},    {"NO", true, false},
        {"ATTEMPT", true, false},  {"QUEUED", false, false},    {"TOOK", true, false},
        {"COST USD", true, false}, {"REPOSITORY", false, true},
    };
    struct table table;
    size_t len = id_short_len(listing->items, listing->count, "id");
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *run = listing->items[i];
        const char *status = js_get_str(run, "status", "?");
        table_cell(&table, cli_id_shown(cli, run, "id", len), TONE_PLAIN);
        table_cell(&table, status_text(cli, run), term_status_tone(status));
        table_cell(&table, js_text(js_get(run, "runNo"), &cli->arena), TONE_PLAIN);
        table_cell(&table, js_text(js_get(run, "attempt"), &cli->arena), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, js_get_str(run, "queuedAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, lasted(cli, run), TONE_PLAIN);
        table_cell(&table, arena_printf(&cli->arena, "%.4f", js_num(js_get(run, "costUsd"), 0)),
                   TONE_PLAIN);
        table_cell(&table, js_get_str(run, "repository", ""), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_runs(struct cli *cli)
{
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_adds(&path, "/v1/runs");
    if (args_has(&cli->args, "task")) {
        struct err err = {0};
        struct id task;
        enum rc rc = cli_resolve_task(cli, args_text(&cli->args, "task", ""), &task, &err);
        if (rc != RC_OK)
            return cli_fail(cli, rc, &err);
        url_add_query(&path, "taskId", task.text);
    }
    if (args_has(&cli->args, "repo"))
        url_add_query(&path, "repository", args_text(&cli->args, "repo", ""));
    if (args_has(&cli->args, "status"))
        url_add_query(&path, "status", args_text(&cli->args, "status", ""));
    return show_list(cli, &(struct show_list){buf_text(&path), "No runs.", runs_table});
}

/* ---- run ---- */

static void run_details(struct cli *cli, const struct id *id, const struct js *run)
{
    show_line(cli, "Run", id->text, TONE_BOLD);
    show_member(cli, "Task", run, "taskId");
    show_member(cli, "Number", run, "runNo");
    show_status(cli, run);
    show_error(cli, run);
    show_member(cli, "Waits for", run, "deferredReason");
    show_member(cli, "Waits because", run, "deferredDetail");
    show_member(cli, "Overridden", run, "overridden");
    show_time(cli, "Paused", run, "pausedAt");
    show_member(cli, "Paused by", run, "pausedBy");
    show_member(cli, "Asks", run, "questionId");
    show_member(cli, "Stopping", run, "stopping");
    show_member(cli, "Repository", run, "repository");
    show_member(cli, "Attempt", run, "attempt");
    show_member(cli, "Branch", run, "branch");
    show_member(cli, "Base commit", run, "baseCommit");
    show_member(cli, "Model", run, "model");
    show_member(cli, "Turns", run, "turns");
    show_member(cli, "Cost (USD)", run, "costUsd");
    show_time(cli, "Queued", run, "queuedAt");
    show_time(cli, "Started", run, "startedAt");
    show_time(cli, "Ended", run, "endedAt");
    show_line(cli, "Took", lasted(cli, run), TONE_PLAIN);
    cli_show_pr(cli, run);
    show_next(cli, "Its story", "drover timeline %s", id->text);
    show_next(cli, "Its files", "drover artifacts %s", id->text);
}

static int run_run(struct cli *cli)
{
    return show_one(cli, &(struct show_one){cli_resolve_run, "/v1/runs/", "", run_details});
}

/* ---- timeline ---- */

static void print_group_head(struct cli *cli, const struct js *group)
{
    int64_t from_us = 0, to_us = 0;
    char took[TIME_TEXT_BYTES] = "";
    if (time_parse(js_get_str(group, "startedAt", ""), &from_us) &&
        time_parse(js_get_str(group, "endedAt", ""), &to_us) && to_us - from_us >= US_PER_MS)
        (void)duration_format(took, to_us - from_us);
    (void)printf("%s%s%s", term_on(&cli->term, TONE_BOLD), js_get_str(group, "name", "?"),
                 term_off(&cli->term, TONE_BOLD));
    if (took[0] != '\0')
        (void)printf("  %s%s%s", term_on(&cli->term, TONE_DIM), took,
                     term_off(&cli->term, TONE_DIM));
    (void)putchar('\n');
}

static void print_group(struct cli *cli, const struct js *group)
{
    print_group_head(cli, group);
    const struct js *lines = js_get(group, "lines");
    for (size_t i = 0; i < js_count(lines); i++) {
        const struct js *line = js_at(lines, i);
        enum tone tone = js_get_bool(line, "bad", false) ? TONE_RED : TONE_PLAIN;
        CLEANUP(buf_release) struct buf safe;
        buf_init(&safe, LINE_BYTES_MAX);
        term_clean(&safe, js_get_str(line, "text", ""));
        (void)printf("  %s%s%s  %s%s%s\n", term_on(&cli->term, TONE_DIM),
                     term_clock(js_get_str(line, "time", ""), &cli->arena),
                     term_off(&cli->term, TONE_DIM), term_on(&cli->term, tone), buf_text(&safe),
                     term_off(&cli->term, tone));
    }
}

static void print_timeline(struct cli *cli, const struct id *id, const struct js *timeline)
{
    const struct js *groups = js_get(timeline, "groups");
    for (size_t i = 0; i < js_count(groups); i++)
        print_group(cli, js_at(groups, i));
    if (js_count(groups) == 0)
        (void)printf("Nothing has happened yet.\n");
    if (js_get_bool(timeline, "truncated", false))
        (void)printf("It is longer than this: drover events --run %s shows all.\n", id->text);
}

static int run_timeline(struct cli *cli)
{
    return show_one(cli,
                    &(struct show_one){cli_resolve_run, "/v1/runs/", "/timeline", print_timeline});
}

/* ---- the table ---- */

static const char *const status_names[] = {
    "queued",    "preparing", "context_loading",   "planning",    "running",
    "verifying", "judging",   "awaiting_approval", "creating_pr", "completed",
    "failed",    "cancelled", "timed_out",         NULL,
};

static const struct arg_option runs_options[] = {
    {"task", "ID", "only of this task", ARG_TEXT, 0, 0, NULL},
    {"repo", "NAME", "only of this repository", ARG_TEXT, 0, 0, NULL},
    {"status", "STATUS", "only with this status", ARG_CHOICE, 0, 0, status_names},
    CLI_LIMIT_OPTION,
    {0},
};

const struct cli_command cli_run_commands[] = {
    {"runs", "list runs",
     "[--task ID] [--repo NAME] [--status STATUS] [--limit N] [--watch] [--json]", runs_options,
     "drover runs --status running", "drover tasks", 0, 0, CLI_REMOTE | CLI_JSON | CLI_REFRESH,
     run_runs},
    {"run", "show a run", "RUN [--json]", NULL, "drover run latest", "drover runs", 1, 1,
     CLI_REMOTE | CLI_JSON, run_run},
    {"timeline", "tell the story of a run", "RUN [--json]", NULL, "drover timeline latest",
     "drover runs", 1, 1, CLI_REMOTE | CLI_JSON, run_timeline},
    {0},
};
