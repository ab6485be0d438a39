/*
 * events.c - the event log: past events, with --follow new ones; and one of the caller's own.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/watch.h"
#include "core/event.h"
#include "core/run/timeline.h"
#include "net/sse_client.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 2048,
    LINE_BYTES_MAX = 16 * 1024,
    RECENT_HOURS = 1,
    APPEND_BYTES_MAX = 256 * 1024, /* The server says how much it takes. */
};

/* ---- one event ---- */

static enum tone tone_of(const char *type)
{
    switch (event_severity(type)) {
    case SEVERITY_ERROR:
        return TONE_RED;
    case SEVERITY_WARNING:
        return TONE_YELLOW;
    case SEVERITY_DEBUG:
        return TONE_DIM;
    case SEVERITY_INFO:
        break;
    }
    return TONE_PLAIN;
}

/* "time  type  subject  text", in one line. */
static void print_event(const struct term *term, const struct js *tree, struct arena *arena)
{
    const char *type = js_get_str(tree, "type", "?");
    struct event event = {.type = type, .data = str_of(js_text(js_get(tree, "data"), arena))};
    const char *text = timeline_text(&event, arena);
    enum tone tone = tone_of(type);
    const struct term exact = {.tty = false}; /* Exact times, in one column. */
    CLEANUP(buf_release) struct buf safe;
    CLEANUP(buf_release) struct buf safe_type;
    buf_init(&safe, LINE_BYTES_MAX);
    buf_init(&safe_type, LINE_BYTES_MAX);
    term_clean(&safe_type, type);
    term_clean(&safe, js_get_str(tree, "subject", ""));
    if (text != NULL && !text_same(text, type)) {
        buf_adds(&safe, "  ");
        term_clean(&safe, text);
    }
    (void)printf("%s%s%s  %s%-32s%s  %s\n", term_on(term, TONE_DIM),
                 term_time(&exact, js_get_str(tree, "time", NULL), arena), term_off(term, TONE_DIM),
                 term_on(term, tone), buf_text(&safe_type), term_off(term, tone), buf_text(&safe));
}

/* ---- following ---- */

struct follower {
    struct cli *cli;
    struct arena arena; /* For one event. */
};

static bool take_event(void *ctx, const struct sse_event *sse)
{
    struct follower *follower = ctx;
    CLEANUP(js_freep) struct js *tree = NULL;
    arena_reset(&follower->arena);
    if (follower->cli->json)
        (void)puts(sse->data);
    else if (js_parse(sse->data, strlen(sse->data), &tree, NULL) == RC_OK)
        print_event(&follower->cli->term, tree, &follower->arena);
    return fflush(stdout) == 0; /* The reader has closed stdout: stop. */
}

static void print_broken(void *ctx, const struct err *why)
{
    (void)ctx;
    (void)fprintf(stderr, "drover: %s; trying again\n", why->text);
}

static int follow(struct cli *cli, const char *path)
{
    struct err err = {0};
    enum rc rc = cli_connect(cli, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    struct follower follower = {.cli = cli};
    const struct sse_follow how = {
        .path = path,
        .stop = cli_catch_interrupt(),
        .on_event = take_event,
        .on_broken = print_broken,
        .ctx = &follower,
    };
    rc = sse_follow(cli->client, &how, &err);
    arena_release(&follower.arena);
    return rc == RC_OK || rc == RC_CANCELLED ? CLI_DONE : cli_fail(cli, rc, &err);
}

/* ---- events ---- */

static void print_events(struct cli *cli, const struct cli_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        print_event(&cli->term, listing->items[i], &cli->arena);
}

static enum rc add_filters(struct cli *cli, struct buf *path, struct err *err)
{
    struct id id;
    if (args_has(&cli->args, "type"))
        url_add_query(path, "type", args_text(&cli->args, "type", ""));
    if (args_has(&cli->args, "run")) {
        enum rc rc = cli_resolve_run(cli, args_text(&cli->args, "run", ""), &id, err);
        if (rc != RC_OK)
            return rc;
        url_add_query(path, "runId", id.text);
    }
    if (args_has(&cli->args, "task")) {
        enum rc rc = cli_resolve_task(cli, args_text(&cli->args, "task", ""), &id, err);
        if (rc != RC_OK)
            return rc;
        url_add_query(path, "taskId", id.text);
    }
    return RC_OK;
}

static int run_events(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    bool follows = args_has(&cli->args, "follow");
    bool narrow = args_has(&cli->args, "run") || args_has(&cli->args, "task");
    const char *since = args_text(&cli->args, "since", NULL);
    int64_t since_us = cli->term.now_us - RECENT_HOURS * US_PER_HOUR;
    if (args_has(&cli->args, "run") && args_has(&cli->args, "task"))
        return cli_usage(cli, "--run and --task do not go together");
    if (since != NULL && follows)
        return cli_usage(cli, "--since and --follow do not go together");
    if (since != NULL && !span_time_parse(since, cli->term.now_us, &since_us))
        return cli_usage(cli,
                         "--since takes a time (2026-07-03T12:00:00Z) or an age (15m, 2h, 7d), "
                         "not \"%s\"",
                         since);
    buf_adds(&path, follows ? "/v1/events/stream" : "/v1/events");
    enum rc rc = add_filters(cli, &path, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (follows)
        return follow(cli, buf_text(&path));
    char text[TIME_TEXT_BYTES];
    if (since != NULL || !narrow)
        url_add_query(&path, "since", time_format(text, since_us));
    return show_list(cli, &(struct show_list){buf_text(&path), "No events.", print_events});
}

static const struct arg_option events_options[] = {
    {"follow", NULL, "go on with what happens, until Ctrl-C", ARG_FLAG, 0, 0, NULL},
    {"type", "PATTERN", "only these: agent.run.completed, agent.run.*, agent.>", ARG_TEXT, 0, 0,
     NULL},
    {"run", "RUN", "only of this run", ARG_TEXT, 0, 0, NULL},
    {"task", "ID", "only of this task and its runs", ARG_TEXT, 0, 0, NULL},
    {"since", "TIME", "from a time or an age on: 15m, 2h, 7d (default 1h, all of a run or task)",
     ARG_TEXT, 0, 0, NULL},
    {"limit", "N", "at most so many, in order (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};

/* ---- event append ---- */

#define SOURCE_DEFAULT "drover-cli"

static enum rc write_owner(struct cli *cli, struct jw *jw, struct err *err)
{
    struct id id;
    enum rc rc = RC_OK;
    if (args_has(&cli->args, "run")) {
        rc = cli_resolve_run(cli, args_text(&cli->args, "run", ""), &id, err);
        if (rc == RC_OK)
            jw_kstr(jw, "runid", id.text);
    } else if (args_has(&cli->args, "task")) {
        rc = cli_resolve_task(cli, args_text(&cli->args, "task", ""), &id, err);
        if (rc == RC_OK)
            jw_kstr(jw, "taskid", id.text);
    }
    return rc;
}

static enum rc write_event(struct cli *cli, struct buf *body, struct err *err)
{
    struct jw jw = jw_to(body);
    struct str data = {0};
    struct random random = random_from_os();
    const struct id fresh = id_new(cli->term.now_us, &random);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "specversion", "1.0");
    jw_kstr(&jw, "id", args_text(&cli->args, "id", fresh.text));
    jw_kstr(&jw, "source", args_text(&cli->args, "source", SOURCE_DEFAULT));
    jw_kstr(&jw, "type", args_text(&cli->args, "type", ""));
    enum rc rc = write_owner(cli, &jw, err);
    if (rc == RC_OK && args_word(&cli->args, 0) != NULL)
        rc = cli_payload_text(args_word(&cli->args, 0), &cli->arena, &data, err);
    if (rc == RC_OK && data.len > 0)
        jw_kraw(&jw, "data", data);
    jw_end(&jw, '}');
    if (rc == RC_OK && body->overflow)
        rc = err_set(err, RC_TOO_LARGE, "TOO_LARGE", "data is larger than %d bytes",
                     APPEND_BYTES_MAX);
    return rc;
}

static int run_append(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&body, APPEND_BYTES_MAX);
    if (!args_has(&cli->args, "type"))
        return cli_usage(cli, "give the event a --type, such as com.example.build.finished");
    if (args_has(&cli->args, "run") && args_has(&cli->args, "task"))
        return cli_usage(cli, "--run and --task do not go together");
    enum rc rc = write_event(cli, &body, &err);
    const struct http_call call = {.method = "POST", .path = "/v1/events", .body = buf_str(&body)};
    if (rc == RC_OK)
        rc = cli_call(cli, &call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json)
        cli_print_json(&answer);
    else
        (void)puts(js_get_int(answer.tree, "duplicates", 0) > 0
                       ? "The log has an event of this source and id already: nothing was written."
                       : "The event is in the log.");
    return CLI_DONE;
}

static const struct arg_option append_options[] = {
    {"type", "TYPE", "what happened: com.example.build.finished", ARG_TEXT, 0, 0, NULL},
    {"source", "URI", "where it happened (default " SOURCE_DEFAULT ")", ARG_TEXT, 0, 0, NULL},
    {"id", "ID", "its name at the source; a second one of the same is left out (default a new one)",
     ARG_TEXT, 0, 0, NULL},
    {"run", "RUN", "an event of this run", ARG_TEXT, 0, 0, NULL},
    {"task", "ID", "an event of this task", ARG_TEXT, 0, 0, NULL},
    {0},
};

const struct cli_command cli_events_commands[] = {
    {"events", "show the event log",
     "[--follow] [--type PATTERN] [--run RUN] [--task ID] [--since TIME] [--limit N] [--json]",
     events_options, "drover events --type 'agent.pr.*' --since 7d", "drover runs", 0, 0,
     CLI_REMOTE | CLI_JSON, run_events},
    {"event append", "put an event of your own into the log; its data is JSON, @FILE or -",
     "--type TYPE [--source URI] [--id ID] [--task ID | --run RUN] [JSON | @FILE | -] [--json]",
     append_options, "drover event append --type com.example.deployed '{\"version\": \"1.4\"}'",
     "drover events", 0, 1, CLI_REMOTE | CLI_JSON, run_append},
    {0},
};
