/*
 * replay.c - drover replay: a run as it was at any moment, from its events.
 */
#include "base/buf.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/show.h"
#include "cli/span.h"
#include "net/url.h"
#include <stdio.h>

enum { PATH_BYTES_MAX = 1024 };

static void show_verifications(struct cli *cli, const struct js *checks)
{
    static const char *const names[] = {"passed", "failed", "errored", "timedOut", "skipped"};
    enum { LINE_MAX = 200 };
    CLEANUP(buf_release) struct buf line;
    buf_init(&line, LINE_MAX);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int64_t count = js_get_int(checks, names[i], 0);
        if (count > 0)
            buf_addf(&line, "%s%lld %s", line.len > 0 ? ", " : "", (long long)count, names[i]);
    }
    show_line(cli, "Checks", buf_text(&line), TONE_PLAIN);
}

static void show_approvals(struct cli *cli, const struct js *approvals)
{
    if (js_get_int(approvals, "asked", 0) == 0)
        return;
    const char *actor = js_get_str(approvals, "actor", NULL);
    show_line(cli, "Approval",
              arena_printf(&cli->arena, "%s, %s%s%s", js_get_str(approvals, "kind", "?"),
                           js_get_str(approvals, "status", "?"), actor != NULL ? " by " : "",
                           actor != NULL ? actor : ""),
              TONE_PLAIN);
}

static void print_replay(struct cli *cli, const struct js *run)
{
    const struct js *differs = js_get(run, "differs");
    show_line(cli, "Run", js_get_str(run, "runId", "?"), TONE_BOLD);
    show_member(cli, "Task", run, "taskId");
    show_time(cli, "As it was", run, "time");
    show_member(cli, "After event", run, "events");
    show_status(cli, run);
    show_error(cli, run);
    show_member(cli, "Waits for", run, "deferredReason");
    show_member(cli, "Attempt", run, "attempt");
    show_member(cli, "Step", run, "step");
    show_member(cli, "Branch", run, "branch");
    show_member(cli, "Base commit", run, "baseCommit");
    show_member(cli, "Model", run, "model");
    show_member(cli, "Turns", run, "turns");
    show_member(cli, "Cost (USD)", run, "costUsd");
    show_member(cli, "Patch", run, "patchSha256");
    show_verifications(cli, js_get(run, "verifications"));
    show_member(cli, "Judge", run, "judgeVerdict");
    show_approvals(cli, js_get(run, "approvals"));
    show_member(cli, "Pull request", js_get(run, "pullRequest"), "url");
    show_member(cli, "PR is", js_get(run, "pullRequest"), "status");
    show_time(cli, "Queued", run, "queuedAt");
    show_time(cli, "Admitted", run, "admittedAt");
    show_time(cli, "Started", run, "startedAt");
    show_time(cli, "Ended", run, "endedAt");
    if (js_type(differs) == JS_OBJECT)
        show_line(cli, "Row differs",
                  arena_printf(&cli->arena, "%s: %s", js_get_str(differs, "member", "?"),
                               js_get_str(differs, "detail", "")),
                  TONE_RED);
}

static int run_replay(struct cli *cli)
{
    struct err err = {0};
    struct id id;
    char at[TIME_TEXT_BYTES];
    CLEANUP(buf_release) struct buf path;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&path, PATH_BYTES_MAX);
    enum rc rc = cli_resolve_run(cli, args_word(&cli->args, 0), &id, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    buf_addf(&path, "/v1/runs/%s/replay", id.text);
    if (args_has(&cli->args, "at"))
        url_add_query(&path, "at",
                      span_time_text(args_text(&cli->args, "at", ""), cli->term.now_us, at));
    const struct http_call call = {.method = "GET", .path = buf_text(&path)};
    rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        print_replay(cli, answer.tree);
    return CLI_DONE;
}

static const struct arg_option replay_options[] = {
    {"at", "TIME|NUMBER", "a time, an age (15m), or the number of an event of the run", ARG_TEXT, 0,
     0, NULL},
    {0},
};

const struct cli_command cli_replay_commands[] = {
    {"replay", "show a run as it was, from its events", "RUN [--at TIME|NUMBER] [--json]",
     replay_options, "drover replay latest --at 12", "drover timeline latest", 1, 1,
     CLI_REMOTE | CLI_JSON, run_replay},
    {0},
};
