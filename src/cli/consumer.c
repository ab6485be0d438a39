/*
 * consumer.c - durable consumers of the log: consumer list, set, next, ack, seek, remove, run.
 *
 * `run` acknowledges a batch after its command has succeeded: a command that fails, or that is
 * killed with this program, gets the same events again.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include "cli/watch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_BYTES_MAX = 64 * 1024,
    BATCH_BYTES_MAX = 64 * 1024 * 1024,
    NEXT_MAX = 500,
    WAIT_MS = 20 * 1000, /* Of one call; the program asks again. */
    CALL_MS = WAIT_MS + 30 * 1000,
    PAUSE_MS_FIRST = 500,
    PAUSE_MS_MAX = 30 * 1000,
};

extern char **environ;

static const char *path_of(struct cli *cli, const char *what)
{
    return cli_path(cli, "/v1/consumers/", args_word(&cli->args, 0), what);
}

/* ---- list ---- */

static const char *types_text(const struct js *types, struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < js_count(types); i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", js_str(js_at(types, i), ""));
    return js_count(types) > 0 ? text : "all";
}

static void consumers_table(struct cli *cli, const struct cli_listing *listing)
{
    static const struct table_column columns[] = {
        {"CONSUMER", false, false}, {"SEQUENCE", true, false},  {"LAG", true, false},
        {"BEHIND", true, false},    {"LAST ACK", false, false}, {"TYPES", false, true},
    };
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), &cli->arena);
    for (size_t i = 0; i < listing->count; i++) {
        const struct js *item = listing->items[i];
        const struct js *types = js_get(item, "types");
        double seconds = js_num(js_get(item, "lagSeconds"), 0);
        char behind[TIME_TEXT_BYTES];
        table_cell(&table, js_get_str(item, "name", ""), TONE_BOLD);
        table_cell(&table,
                   arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "sequence", 0)),
                   TONE_DIM);
        table_cell(&table, arena_printf(&cli->arena, "%lld", (long long)js_get_int(item, "lag", 0)),
                   TONE_PLAIN);
        table_cell(&table, seconds > 0 ? duration_format(behind, (int64_t)(seconds * 1e6)) : "-",
                   TONE_DIM);
        table_cell(&table, term_time(&cli->term, js_get_str(item, "lastAckAt", NULL), &cli->arena),
                   TONE_DIM);
        table_cell(&table, types_text(types, &cli->arena), TONE_PLAIN);
    }
    table_print(&table, stdout);
}

static int run_list(struct cli *cli)
{
    return show_list(cli, &(struct show_list){"/v1/consumers", "No consumers.", consumers_table});
}

/* ---- set, seek, ack, remove ---- */

static int call_with(struct cli *cli, const struct http_call *call, const char *done)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = cli_call(cli, call, &answer, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json && answer.tree != NULL)
        cli_print_json(&answer);
    else if (answer.tree != NULL)
        (void)printf("Consumer %s %s: it continues behind sequence %lld.\n",
                     args_word(&cli->args, 0), done,
                     (long long)js_get_int(answer.tree, "sequence", 0));
    else
        (void)printf("Consumer %s is removed.\n", args_word(&cli->args, 0));
    return CLI_DONE;
}

static int run_set(struct cli *cli)
{
    char text[TIME_TEXT_BYTES];
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    cli_write_list(cli, &jw, "type", "types");
    if (args_has(&cli->args, "from"))
        jw_kstr(&jw, "from",
                span_time_text(args_text(&cli->args, "from", ""), cli->term.now_us, text));
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "PUT", .path = path_of(cli, ""), .body = buf_str(&body)};
    return call_with(cli, &call, "is set");
}

static int post_text(struct cli *cli, const char *what, const char *key, const char *text,
                     const char *done)
{
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, key, text);
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "POST", .path = path_of(cli, what), .body = buf_str(&body)};
    return call_with(cli, &call, done);
}

static int run_ack(struct cli *cli)
{
    return post_text(cli, "/ack", "cursor", args_word(&cli->args, 1),
                     "has acknowledged its events");
}

static int run_seek(struct cli *cli)
{
    char text[TIME_TEXT_BYTES];
    const char *place = span_time_text(args_word(&cli->args, 1), cli->term.now_us, text);
    return post_text(cli, "/seek", "to", place, "is moved");
}

static int run_remove(struct cli *cli)
{
    const struct http_call call = {.method = "DELETE", .path = path_of(cli, "")};
    return call_with(cli, &call, "");
}

/* ---- next ---- */

struct ask {
    int64_t max, wait_ms;
    const atomic_int *stop; /* or NULL */
};

static enum rc ask_next(struct cli *cli, const struct ask *ask, struct cli_answer *ret_answer,
                        struct err *err)
{
    const char *query = arena_printf(&cli->arena, "/next?max=%lld&waitMs=%lld", (long long)ask->max,
                                     (long long)ask->wait_ms);
    const struct http_call call = {
        .method = "GET", .path = path_of(cli, query), .timeout_ms = CALL_MS, .stop = ask->stop};
    return cli_call(cli, &call, ret_answer, err);
}

/* One JSON object a line. */
static void write_lines(const struct js *events, struct arena *arena, struct buf *to)
{
    for (size_t i = 0; i < js_count(events); i++)
        buf_addf(to, "%s\n", js_text(js_at(events, i), arena));
}

static int run_next(struct cli *cli)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    CLEANUP(buf_release) struct buf lines;
    buf_init(&lines, BATCH_BYTES_MAX);
    const struct ask ask = {.max = args_int(&cli->args, "max", 100),
                            .wait_ms = args_has(&cli->args, "wait") ? WAIT_MS : 0};
    enum rc rc = ask_next(cli, &ask, &answer, &err);
    while (rc == RC_OK && args_has(&cli->args, "wait") &&
           js_count(js_get(answer.tree, "events")) == 0) {
        cli_answer_release(&answer);
        answer = (struct cli_answer){0};
        rc = ask_next(cli, &ask, &answer, &err);
    }
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (cli->json) {
        cli_print_json(&answer);
        return CLI_DONE;
    }
    const struct js *events = js_get(answer.tree, "events");
    write_lines(events, &cli->arena, &lines);
    (void)fputs(buf_text(&lines), stdout);
    (void)fflush(stdout);
    if (js_count(events) == 0)
        (void)fputs("No events; acknowledge the place that was reached with:\n", stderr);
    else
        (void)fprintf(stderr, "%zu event%s; acknowledge %s with:\n", js_count(events),
                      js_count(events) == 1 ? "" : "s", js_count(events) == 1 ? "it" : "them");
    (void)fprintf(stderr, "  drover consumer ack %s %s\n", args_word(&cli->args, 0),
                  js_get_str(answer.tree, "cursor", ""));
    return CLI_DONE;
}

/* ---- run ---- */

struct runner {
    struct cli *cli;
    const atomic_int *stop;
    char acked[512]; /* The cursor that was acknowledged last. */
    int64_t pause_ms;
};

/* true: it ended with status 0. */
static bool feed(struct runner *runner, const struct js *events)
{
    struct err err = {0};
    struct proc_result result = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf lines;
    CLEANUP(buf_release) struct buf said;
    buf_init(&lines, BATCH_BYTES_MAX);
    buf_init(&said, BATCH_BYTES_MAX);
    write_lines(events, &arena, &lines);
    const struct proc_spec spec = {.argv = runner->cli->args.words + 1,
                                   .env = (const char *const *)environ,
                                   .run_stdout_fd = STDOUT_FILENO};
    const struct proc_limits limits = {.timeout_ms = -1, .cancel = runner->stop};
    enum rc rc = proc_run(&spec, buf_str(&lines), NULL, &said, &limits, &result, &err);
    (void)fputs(buf_text(&said), stderr);
    if (rc != RC_OK)
        (void)fprintf(stderr, "drover: %s\n", err.text);
    else if (result.exit.code != 0 && !result.cancelled)
        (void)fprintf(stderr,
                      "drover: the command failed (%s %d); its events are not acknowledged\n",
                      result.exit.signal != 0 ? "signal" : "status",
                      result.exit.signal != 0 ? result.exit.signal : result.exit.code);
    return rc == RC_OK && result.exit.code == 0 && !result.cancelled;
}

static enum rc acknowledge(struct runner *runner, const char *cursor, struct err *err)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    buf_init(&body, BODY_BYTES_MAX);
    if (strcmp(runner->acked, cursor) == 0)
        return RC_OK;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "cursor", cursor);
    jw_end(&jw, '}');
    const struct http_call call = {
        .method = "POST", .path = path_of(runner->cli, "/ack"), .body = buf_str(&body)};
    enum rc rc = cli_call(runner->cli, &call, &answer, err);
    if (rc == RC_OK)
        text_copy(runner->acked, sizeof runner->acked, cursor);
    return rc;
}

static void pause_a_while(struct runner *runner)
{
    const struct timespec tick = {.tv_nsec = 50 * US_PER_MS * 1000};
    for (int64_t ms = 0; ms < runner->pause_ms && *runner->stop == 0; ms += 50)
        (void)nanosleep(&tick, NULL);
    runner->pause_ms = runner->pause_ms * 2 < PAUSE_MS_MAX ? runner->pause_ms * 2 : PAUSE_MS_MAX;
}

/* Does another try help?  A cursor that another program has passed is no failure: the next call
   begins behind it. */
static bool is_passing(enum rc rc)
{
    return rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_BUSY || rc == RC_LIMIT ||
           rc == RC_CONFLICT || rc == RC_IO;
}

/* One batch; *ret_empty: there was none.  A command that failed is RC_CANCELLED, to be tried
   again. */
static enum rc run_batch(struct runner *runner, const struct ask *ask, bool *ret_empty,
                         struct err *err)
{
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    enum rc rc = ask_next(runner->cli, ask, &answer, err);
    if (rc != RC_OK)
        return rc;
    const struct js *events = js_get(answer.tree, "events");
    *ret_empty = js_count(events) == 0;
    if (!*ret_empty && !feed(runner, events))
        return err_set(err, RC_CANCELLED, "COMMAND_FAILED", "the command failed");
    return acknowledge(runner, js_get_str(answer.tree, "cursor", ""), err);
}

static int run_run(struct cli *cli)
{
    struct err err = {0};
    bool drain = args_has(&cli->args, "drain");
    bool reached = false; /* A server that was never there is a mistake, and no outage. */
    struct runner runner = {.cli = cli, .stop = cli_catch_interrupt(), .pause_ms = PAUSE_MS_FIRST};
    const struct ask ask = {.max = args_int(&cli->args, "max", 100),
                            .wait_ms = drain ? 0 : WAIT_MS,
                            .stop = runner.stop};
    while (*runner.stop == 0) {
        bool empty = false;
        struct arena_mark mark = arena_mark(&cli->arena);
        err_clear(&err);
        enum rc rc = run_batch(&runner, &ask, &empty, &err);
        arena_rewind(&cli->arena, &mark);
        if (rc == RC_OK && empty && drain)
            return CLI_DONE;
        reached |= rc == RC_OK || rc == RC_CANCELLED;
        if (rc == RC_OK) {
            runner.pause_ms = PAUSE_MS_FIRST;
            continue;
        }
        if (*runner.stop != 0)
            break;
        if (rc == RC_CANCELLED && drain)
            return CLI_FAILED;
        if (rc != RC_CANCELLED && (drain || !reached || !is_passing(rc)))
            return cli_fail(cli, rc, &err);
        if (rc != RC_CANCELLED)
            (void)fprintf(stderr, "drover: %s; trying again\n", err.text);
        pause_a_while(&runner);
    }
    return CLI_INTERRUPTED;
}

/* ---- The table ---- */

static const struct arg_option list_options[] = {
    {"limit", "N", "at most so many, by name (default 50)", ARG_INT, 1, CLI_LIMIT_MAX, NULL},
    {0},
};
static const struct arg_option set_options[] = {
    {"type", "PATTERN", "only these events: agent.run.*, agent.>; may be repeated (default all)",
     ARG_LIST, 0, 0, NULL},
    {"from", "PLACE",
     "where a new one begins: start (default), end, a sequence, a time or an age (2h)", ARG_TEXT, 0,
     0, NULL},
    {0},
};
static const struct arg_option next_options[] = {
    {"max", "N", "at most so many (default 100)", ARG_INT, 1, NEXT_MAX, NULL},
    {"wait", NULL, "wait for the first if there is none", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option run_options[] = {
    {"max", "N", "events for one run of the command (default 100)", ARG_INT, 1, NEXT_MAX, NULL},
    {"drain", NULL, "end when no event is left, or the command fails", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_consumer_commands[] = {
    {"consumer list", "list the consumers of the event log and how far they are behind",
     "[--limit N] [--json]", list_options, "drover consumer list", NULL, 0, 0,
     CLI_REMOTE | CLI_JSON | CLI_REFRESH, run_list},
    {"consumer set", "make a consumer, or give it another filter",
     "NAME [--type PATTERN...] [--from PLACE] [--json]", set_options,
     "drover consumer set billing --type 'agent.cost.*' --from end", "drover consumer list", 1, 1,
     CLI_REMOTE | CLI_JSON, run_set},
    {"consumer next", "show the next events of a consumer, one JSON object a line",
     "NAME [--max N] [--wait] [--json]", next_options, "drover consumer next billing --wait",
     "drover consumer list", 1, 1, CLI_REMOTE | CLI_JSON, run_next},
    {"consumer ack", "acknowledge what next has shown", "NAME CURSOR [--json]", NULL,
     "drover consumer ack billing Yy4x", "drover consumer next NAME", 2, 2, CLI_REMOTE | CLI_JSON,
     run_ack},
    {"consumer seek", "move a consumer: start, end, a sequence, a time or an age (2h)",
     "NAME PLACE [--json]", NULL, "drover consumer seek billing 2026-07-03T12:00:00Z",
     "drover consumer list", 2, 2, CLI_REMOTE | CLI_JSON, run_seek},
    {"consumer run", "feed events to a command, and acknowledge them when it succeeds",
     "NAME [--max N] [--drain] -- COMMAND [ARG...]", run_options,
     "drover consumer run billing -- ./charge", "drover consumer list", 2, SIZE_MAX, CLI_REMOTE,
     run_run},
    {"consumer remove", "remove a consumer and its place", "NAME", NULL,
     "drover consumer remove billing", "drover consumer list", 1, 1, CLI_REMOTE, run_remove},
    {0},
};
