/*
 * notify.c - channels of notifications: notify list, test.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/show.h"
#include "cli/table.h"
#include <poll.h>
#include <stdio.h>

enum { LOOK_EVERY_MS = 100, WAIT_MS_DEFAULT = 30 * 1000, WAIT_MS_MAX = 3600 * 1000 };

static const char *joined(struct cli *cli, const struct js *array)
{
    const char *text = "";
    for (size_t i = 0; i < js_count(array); i++)
        text = arena_printf(&cli->arena, "%s%s%s", text, i > 0 ? ", " : "",
                            js_str(js_at(array, i), ""));
    return text;
}

static void channels_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"NAME", false, false},
        {"TYPE", false, false},
        {"REPOSITORIES", false, false},
        {"EVENTS", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *channel = listing->items[i];
        const struct js *globs = js_get(channel, "repositories");
        table_cell(&table, js_get_str(channel, "name", "?"), TONE_BOLD);
        table_cell(&table, js_get_str(channel, "type", "?"), TONE_PLAIN);
        table_cell(&table, js_count(globs) > 0 ? joined(cli, globs) : "all", TONE_PLAIN);
        table_cell(&table, joined(cli, js_get(channel, "on")), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(
        cli, &(struct show_list){"/v1/notifications",
                                 "No channels: the server's configuration has no notifications.",
                                 channels_table});
}

/* ---- test ---- */

static bool is_over(const char *state)
{
    return text_same(state, "succeeded") || text_same(state, "dead_letter") ||
           text_same(state, "cancelled");
}

/* Polls until the job has settled, or until the timeout: then its current state. */
static enum rc await_job(struct cli *cli, const char *job_id, struct cli_answer *ret_job,
                         struct err *err)
{
    int64_t wait_ms = args_int(&cli->args, "wait-ms", WAIT_MS_DEFAULT);
    int64_t until_us = clock_mono_us() + wait_ms * US_PER_MS;
    for (;;) {
        struct cli_answer job = {0};
        enum rc rc = cli_get(cli, cli_path(cli, "/v1/jobs/", job_id, ""), &job, err);
        bool over = rc == RC_OK && is_over(js_get_str(job.tree, "state", ""));
        if (rc != RC_OK || over || clock_mono_us() >= until_us) {
            *ret_job = job;
            return rc;
        }
        cli_answer_release(&job);
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
}

static int print_outcome(struct cli *cli, const char *name, const struct js *job)
{
    const char *state = js_get_str(job, "state", "?");
    const char *message = js_get_str(job, "errorMessage", NULL);
    if (text_same(state, "succeeded")) {
        (void)printf("A test went out by %s, and was taken.\n", name);
        return CLI_DONE;
    }
    (void)printf("The test by %s has not been taken; its job is %s.\n", name, state);
    show_line(cli, "Error", message, TONE_RED);
    show_next(cli, "Given up are", "drover dlq list --queue drover.notify");
    return CLI_FAILED;
}

static int run_test(struct cli *cli)
{
    struct err err = {0};
    const char *name = args_word(&cli->args, 0);
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(cli_answer_release) struct cli_answer job = {0};
    const struct http_call call = {.method = "POST",
                                   .path = cli_path(cli, "/v1/notifications/", name, "/test"),
                                   .body = STR("{}")};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc == RC_OK)
        rc = await_job(cli, js_get_str(answer.tree, "jobId", ""), &job, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (!cli->json)
        return print_outcome(cli, name, job.tree);
    cli_print_json(&job);
    return text_same(js_get_str(job.tree, "state", ""), "succeeded") ? CLI_DONE : CLI_FAILED;
}

static const struct arg_option list_options[] = {CLI_LIMIT_OPTION, {0}};
static const struct arg_option test_options[] = {
    {"wait-ms", "N", "how long to wait for it (default 30000)", ARG_INT, 0, WAIT_MS_MAX, NULL},
    {0},
};

const struct cli_command cli_notify_commands[] = {
    {"notify list", "list the channels of notifications", "[--limit N] [--json]", list_options,
     "drover notify list", NULL, 0, 0, CLI_REMOTE | CLI_JSON, run_list},
    {"notify test", "send a test by a channel", "NAME [--wait-ms N] [--json]", test_options,
     "drover notify test ops", "drover notify list", 1, 1, CLI_REMOTE | CLI_JSON, run_test},
    {0},
};
