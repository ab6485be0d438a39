/*
 * events.c - the event log: past events, with --follow new ones.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/ids.h"
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

/* "time  type  subject  text", in one line; of one without a subject its source. */
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
    term_clean(&safe, js_get_str(tree, "subject", js_get_str(tree, "source", "")));
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
    static const char *const plain[] = {"type", "tag", "agent", "persona", "severity"};
    struct id id;
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (args_has(&cli->args, plain[i]))
            url_add_query(path, plain[i], args_text(&cli->args, plain[i], ""));
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

struct moments {
    const char *since, *until; /* As they were given, or NULL. */
    int64_t since_us, until_us;
};

static bool read_moment(struct cli *cli, const char *text, int64_t *ret_us)
{
    if (text == NULL || span_time_parse(text, cli->term.now_us, ret_us))
        return true;
    (void)cli_usage(
        cli,
        "a time is like 2026-07-03T12:00:00Z, \"2026-07-03 12:00\" (UTC) or an age (15m, "
        "2h, 7d), not \"%s\"",
        text);
    return false;
}

/* false: what is wrong was printed. */
static bool read_moments(struct cli *cli, struct moments *moments)
{
    const struct args *args = &cli->args;
    const char *between = args_text(args, "between", NULL), *word = args_word(args, 0);
    const char *wrong = NULL;
    moments->since = between != NULL ? between : args_text(args, "since", NULL);
    moments->until = between != NULL ? word : args_text(args, "until", NULL);
    if ((between != NULL) != (word != NULL))
        wrong = "--between takes two times: --between A B";
    else if (between != NULL && (args_has(args, "since") || args_has(args, "until")))
        wrong = "--between does not go together with --since and --until";
    else if ((moments->since != NULL || moments->until != NULL) && args_has(args, "follow"))
        wrong = "--since, --until and --between do not go together with --follow";
    if (wrong != NULL) {
        (void)cli_usage(cli, "%s", wrong);
        return false;
    }
    return read_moment(cli, moments->since, &moments->since_us) &&
           read_moment(cli, moments->until, &moments->until_us);
}

static void add_moments(struct cli *cli, const struct moments *moments, struct buf *path)
{
    char text[TIME_TEXT_BYTES];
    bool narrow = args_has(&cli->args, "run") || args_has(&cli->args, "task");
    if (moments->since != NULL)
        url_add_query(path, "since", time_format(text, moments->since_us));
    else if (!narrow && moments->until == NULL)
        url_add_query(path, "since",
                      time_format(text, cli->term.now_us - RECENT_HOURS * US_PER_HOUR));
    if (moments->until != NULL)
        url_add_query(path, "until", time_format(text, moments->until_us));
}

static int run_events(struct cli *cli)
{
    struct err err = {0};
    struct moments moments = {0};
    CLEANUP(buf_release) struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    bool follows = args_has(&cli->args, "follow");
    if (args_has(&cli->args, "run") && args_has(&cli->args, "task"))
        return cli_usage(cli, "--run and --task do not go together");
    if (!read_moments(cli, &moments))
        return CLI_USAGE;
    buf_adds(&path, follows ? "/v1/events/stream" : "/v1/events");
    enum rc rc = add_filters(cli, &path, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (follows)
        return follow(cli, buf_text(&path));
    add_moments(cli, &moments, &path);
    return show_list(cli, &(struct show_list){buf_text(&path), "No events.", print_events});
}

static const char *const severity_names[] = {"debug", "info", "warning", "error", NULL};

static const struct arg_option events_options[] = {
    {"follow", NULL, "go on with what happens, until Ctrl-C", ARG_FLAG, 0, 0, NULL},
    {"type", "PATTERN", "only these: agent.run.completed, agent.run.*, agent.>; commas between",
     ARG_TEXT, 0, 0, NULL},
    {"tag", "TAG", "only with this tag, or all of several: urgent,repository:acme/web", ARG_TEXT, 0,
     0, NULL},
    {"agent", "NAME", "only of what is for this agent, or done by it", ARG_TEXT, 0, 0, NULL},
    {"persona", "NAME", "only of what is for agents of this persona", ARG_TEXT, 0, 0, NULL},
    {"severity", "LEVEL", "this or worse: debug, info, warning, error", ARG_CHOICE, 0, 0,
     severity_names},
    {"run", "RUN", "only of this run", ARG_TEXT, 0, 0, NULL},
    {"task", "ID", "only of this task and its runs", ARG_TEXT, 0, 0, NULL},
    {"since", "TIME", "from a time or an age on: 15m, 2h, 7d (default 1h, all of a run or task)",
     ARG_TEXT, 0, 0, NULL},
    {"until", "TIME", "before a time or an age", ARG_TEXT, 0, 0, NULL},
    {"between", "A B", "from time A on and before time B: --since A --until B", ARG_TEXT, 0, 0,
     NULL},
    {"limit", "N", "at most so many, the oldest first (default 50)", ARG_INT, 1, CLI_LIMIT_MAX,
     NULL},
    {0},
};

const struct cli_command cli_events_commands[] = {
    {"events", "show the event log",
     "[--follow] [--type PATTERN] [--tag TAG] [--agent NAME] [--persona NAME] [--severity LEVEL]\n"
     "                     [--run RUN] [--task ID] [--since TIME] [--until TIME | --between A B]\n"
     "                     [--limit N] [--json]",
     events_options, "drover events --type 'agent.pr.*' --since 7d", "drover runs", 0, 1,
     CLI_REMOTE | CLI_JSON, run_events},
    {0},
};
