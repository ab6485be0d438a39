/*
 * schedule.c - schedules: schedule set, list, show, run, remove.
 */
#include "base/jw.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/table.h"
#include <stdio.h>

enum { BODY_BYTES_MAX = 2 * 1024 * 1024 };

static void write_schedule(struct cli *cli, struct str payload, struct buf *body)
{
    const struct args *args = &cli->args;
    struct jw jw = jw_to(body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "cron", args_text(args, "cron", ""));
    jw_kbool(&jw, "enabled", !args_has(args, "disabled"));
    jw_key(&jw, "job");
    jw_begin(&jw, '{');
    jw_kstr(&jw, "queue", args_text(args, "queue", ""));
    jw_kstr(&jw, "type", args_text(args, "type", ""));
    jw_kraw(&jw, "payload", payload);
    if (args_has(args, "priority"))
        jw_kint(&jw, "priority", args_int(args, "priority", 0));
    jw_end(&jw, '}');
    jw_end(&jw, '}');
}

static int run_set(struct cli *cli)
{
    struct err err = {0};
    struct str payload;
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    buf_init(&body, BODY_BYTES_MAX);
    if (!args_has(&cli->args, "cron") || !args_has(&cli->args, "queue") ||
        !args_has(&cli->args, "type"))
        return cli_usage(cli, "say --cron, --queue and --type");
    enum rc rc = cli_payload_text(args_text(&cli->args, "payload", NULL), &cli->arena, &payload,
                                  &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    write_schedule(cli, payload, &body);
    const struct http_call call = {
        .method = "PUT", .path = cli_path(cli, "/v1/schedules/", name, ""), .body = buf_str(&body)};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const char *next = js_get_str(answer.tree, "nextAt", NULL);
    if (cli->json)
        cli_print_json(&answer);
    else if (next == NULL)
        (void)printf("Schedule %s is set, and rests.\n", name);
    else
        (void)printf("Schedule %s is set; its next time is %s.\n", name,
                     term_time(&cli->term, next, &cli->arena));
    return CLI_DONE;
}

static void schedules_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"SCHEDULE", false, true}, {"CRON", false, false}, {"QUEUE", false, false},
        {"TYPE", false, false},    {"NEXT", false, false}, {"LAST", false, false},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        bool enabled = js_get_bool(item, "enabled", true);
        const char *next = term_time(&cli->term, js_get_str(item, "nextAt", NULL), &cli->arena);
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table, js_get_str(item, "cron", ""), TONE_PLAIN);
        table_cell(&table, js_str(js_path(item, "job.queue"), ""), TONE_PLAIN);
        table_cell(&table, js_str(js_path(item, "job.type"), ""), TONE_PLAIN);
        table_cell(&table, enabled ? next : "disabled", enabled ? TONE_PLAIN : TONE_YELLOW);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "lastAt", NULL), &cli->arena),
                   TONE_DIM);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){.path = "/v1/schedules",
                                              .empty = "No schedules.",
                                              .print = schedules_table});
}

static int run_show(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *path = cli_path(cli, "/v1/schedules/", args_word(&cli->args, 0), "");
    enum rc rc = cli_get(cli, path, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    const struct js *job = js_get(answer.tree, "job");
    show_member(cli, "Schedule", answer.tree, "name");
    show_member(cli, "Cron", answer.tree, "cron");
    if (!js_get_bool(answer.tree, "enabled", true))
        show_line(cli, "Status", "disabled", TONE_YELLOW);
    show_time(cli, "Next", answer.tree, "nextAt");
    show_time(cli, "Last", answer.tree, "lastAt");
    show_member(cli, "Last job", answer.tree, "lastJobId");
    show_member(cli, "Queue", job, "queue");
    show_member(cli, "Type", job, "type");
    if (js_get(job, "payload") != NULL)
        show_line(cli, "Payload", js_text(js_get(job, "payload"), &cli->arena), TONE_PLAIN);
    return CLI_DONE;
}

static int run_now(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {
        .method = "POST",
        .path = cli_path(cli, "/v1/schedules/", args_word(&cli->args, 0), "/run")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        show_member(cli, "Job", answer.tree, "jobId");
    return CLI_DONE;
}

static int run_remove(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const char *name = args_word(&cli->args, 0);
    const struct http_call call = {.method = "DELETE",
                                   .path = cli_path(cli, "/v1/schedules/", name, "")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    (void)printf("Schedule %s is removed.\n", name);
    return CLI_DONE;
}

static const struct arg_option set_options[] = {
    {"cron", "EXPR", "minute hour day-of-month month day-of-week, in UTC; or @daily and the like",
     ARG_TEXT, 0, 0, NULL},
    {"queue", "QUEUE", "where the job goes", ARG_TEXT, 0, 0, NULL},
    {"type", "TYPE", "what kind of job it is", ARG_TEXT, 0, 0, NULL},
    {"payload", "JSON", "what the job is given; @FILE and - read it from there", ARG_TEXT, 0, 0,
     NULL},
    {"priority", "N", "0 (first) to 1000, 100 by default", ARG_INT, 0, 1000, NULL},
    {"disabled", NULL, "keep it, but let it rest", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};

const struct cli_command cli_schedule_commands[] = {
    {"schedule set", "make a job come again and again",
     "NAME --cron EXPR --queue QUEUE --type TYPE [--payload JSON] [--priority N] [--disabled] "
     "[--json]",
     set_options,
     "drover schedule set nightly --cron '30 2 * * *' --queue reports --type build-report", NULL, 1,
     1, CLI_REMOTE | CLI_JSON, run_set},
    {"schedule list", "list the schedules", "[--limit N] [--json]", list_options,
     "drover schedule list", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"schedule show", "show a schedule", "NAME [--json]", NULL, "drover schedule show nightly",
     "drover schedule list", 1, 1, CLI_REMOTE | CLI_JSON, run_show},
    {"schedule run", "make its job now, beside its times", "NAME [--json]", NULL,
     "drover schedule run nightly", "drover schedule list", 1, 1, CLI_REMOTE | CLI_JSON, run_now},
    {"schedule remove", "remove a schedule; jobs that are there stay", "NAME", NULL,
     "drover schedule remove nightly", "drover schedule list", 1, 1, CLI_REMOTE, run_remove},
    {0},
};
