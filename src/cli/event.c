/*
 * event.c - events of the caller's own: event append, event flush, event spool.
 *
 * An append goes to the server at once when nothing waits in the spool (event_spool.h).  Otherwise,
 * and when the server is away, it is kept on disk behind what waits, so that the order stays.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/event_spool.h"
#include "cli/ids.h"
#include "cli/input.h"
#include "cli/show.h"
#include "cli/span.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "core/cloud_event.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    EVENT_BYTES_MAX = 256 * 1024, /* The server says how much it takes. */
    CHUNK_EVENTS = 2000,
    CHUNK_BYTES = 8 * 1024 * 1024,
    TURN_WAIT_MS = 10 * 1000, /* While another process delivers. */
    APPEND_TIMEOUT_MS = 10 * 1000,
    RETRY_MIN_MS = 200,
    RETRY_MAX_MS = 10 * 1000,
};

#define SOURCE_DEFAULT "drover-cli"

/* ---- an event ---- */

/* A whole id is taken as it is when the server cannot be asked which run or task it means. */
static enum rc resolve_owner(struct cli *cli, const char *option, struct id *ret_id,
                             struct err *err)
{
    const char *word = args_text(&cli->args, option, "");
    enum rc rc = strcmp(option, "run") == 0 ? cli_resolve_run(cli, word, ret_id, err)
                                            : cli_resolve_task(cli, word, ret_id, err);
    if (rc != RC_OK && event_spool_is_away(rc) && id_parse(word, ret_id))
        return RC_OK;
    return rc;
}

static enum rc write_owner(struct cli *cli, struct jw *jw, struct err *err)
{
    static const struct {
        const char *option, *attribute;
    } owners[] = {{"run", "runid"}, {"task", "taskid"}};
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        struct id id;
        if (!args_has(&cli->args, owners[i].option))
            continue;
        enum rc rc = resolve_owner(cli, owners[i].option, &id, err);
        if (rc != RC_OK)
            return rc;
        jw_kstr(jw, owners[i].attribute, id.text);
    }
    return RC_OK;
}

static bool is_written_first(const char *name)
{
    static const char *const names[] = {"specversion", "id", "source", "type", "time"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* What is given with the event (NULL: nothing) goes before what the command line has. */
static void write_attributes(struct cli *cli, const struct js *given, struct jw *jw)
{
    struct random random = random_from_os();
    char now[TIME_TEXT_BYTES];
    const struct clock clock = clock_real();
    int64_t now_us = clock_now_us(&clock);
    const struct id fresh = id_new(now_us, &random);
    const struct args *args = &cli->args;
    jw_kstr(jw, "specversion", js_get_str(given, "specversion", "1.0"));
    jw_kstr(jw, "id", js_get_str(given, "id", args_text(args, "id", fresh.text)));
    jw_kstr(jw, "source", js_get_str(given, "source", args_text(args, "source", SOURCE_DEFAULT)));
    jw_kstr(jw, "type", js_get_str(given, "type", args_text(args, "type", "")));
    jw_kstr(jw, "time", js_get_str(given, "time", time_format(now, now_us)));
    static const struct {
        const char *attribute, *option;
    } others[] = {{"subject", "subject"},
                  {"correlationid", "correlation"},
                  {"causationid", "causation"},
                  {"tags", "tag"},
                  {"severity", "severity"}};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (js_get(given, others[i].attribute) == NULL)
            jw_optstr(jw, others[i].attribute, args_text(args, others[i].option, NULL));
}

/* Found here, before it waits for hours to be refused.  What is reserved the server decides. */
static enum rc check_event(const struct buf *text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(js_freep) struct js *tree = NULL;
    struct cloud_event event;
    if (text->overflow)
        return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "the event is larger than %d bytes",
                       EVENT_BYTES_MAX);
    enum rc rc = js_parse(text->data, text->len, &tree, err);
    if (rc == RC_OK)
        rc = cloud_event_decode(tree, &arena, &event, err);
    if (rc != RC_DENIED)
        return rc;
    err_clear(err);
    return RC_OK;
}

static enum rc write_event(struct cli *cli, struct buf *body, struct err *err)
{
    struct jw jw = jw_to(body);
    struct str data = {0};
    jw_begin(&jw, '{');
    write_attributes(cli, NULL, &jw);
    enum rc rc = write_owner(cli, &jw, err);
    if (rc == RC_OK && args_word(&cli->args, 0) != NULL)
        rc = cli_payload_text(args_word(&cli->args, 0), &cli->arena, &data, err);
    if (rc == RC_OK && data.len > 0)
        jw_kraw(&jw, "data", data);
    jw_end(&jw, '}');
    return rc == RC_OK ? check_event(body, err) : rc;
}

/* ---- event append ---- */

static void print_tally_json(struct cli *cli, const struct event_tally *tally, size_t kept,
                             const struct err *why)
{
    CLEANUP(buf_release) struct buf text;
    (void)cli;
    buf_init(&text, EVENT_BYTES_MAX);
    struct jw jw = jw_to(&text);
    jw_begin(&jw, '{');
    jw_kint(&jw, "accepted", (int64_t)tally->accepted);
    jw_kint(&jw, "duplicates", (int64_t)tally->duplicates);
    jw_kint(&jw, "refused", (int64_t)tally->refused);
    jw_kint(&jw, "kept", (int64_t)kept);
    jw_kint(&jw, "waiting", (int64_t)tally->waiting);
    jw_optstr(&jw, "code", why->code);
    jw_optstr(&jw, "reason", why->text);
    jw_end(&jw, '}');
    (void)puts(buf_text(&text));
}

static int print_kept(struct cli *cli, const struct event_spool *spool,
                      const struct event_tally *tally, size_t kept, const struct err *why)
{
    if (cli->json) {
        print_tally_json(cli, tally, kept, why);
        return CLI_DONE;
    }
    (void)fprintf(stderr, "drover: %s\n", why->text);
    (void)printf("Kept in %s; %zu wait for the server, in order.\n", spool->dir, tally->waiting);
    show_next(cli, "Deliver them", "drover event flush (the next append does it too)");
    return CLI_DONE;
}

static size_t level_of(const struct event_spool *spool)
{
    struct disk_queue_level level = {0};
    return disk_queue_level(&spool->waiting, &level, NULL) == RC_OK ? level.records : 0;
}

static int print_sent(struct cli *cli, const struct cli_answer *answer)
{
    if (cli->json)
        cli_print_json(answer);
    else
        (void)puts(js_get_int(answer->tree, "duplicates", 0) > 0
                       ? "The log has an event of this source and id already: nothing was written."
                       : "The event is in the log.");
    return CLI_DONE;
}

/* The server was asked, and is away: why has its reason. */
static int keep_away(struct cli *cli, const struct event_spool *spool, struct str event,
                     const struct err *why)
{
    struct err err = {0};
    struct event_tally tally = {0};
    enum rc rc = event_spool_keep(spool, &event, 1, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    event_spool_note(cli, spool, why);
    tally.waiting = level_of(spool);
    return print_kept(cli, spool, &tally, 1, why);
}

static int append_direct(struct cli *cli, const struct event_spool *spool, struct str event)
{
    struct err err = {0};
    CLEANUP(cli_answer_release) struct cli_answer answer = {0};
    const struct http_call call = {
        .method = "POST", .path = "/v1/events", .body = event, .timeout_ms = APPEND_TIMEOUT_MS};
    enum rc rc = cli_call(cli, &call, &answer, &err);
    if (rc == RC_OK)
        return print_sent(cli, &answer);
    if (spool == NULL || !event_spool_is_away(rc))
        return cli_fail(cli, rc, &err);
    return keep_away(cli, spool, event, &err);
}

/* Behind what waits already; all of it is delivered if the server is back. */
static int append_behind(struct cli *cli, const struct event_spool *spool, struct str event)
{
    struct err err = {0};
    struct event_tally tally = {.about = event};
    enum rc rc = event_spool_keep(spool, &event, 1, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (event_spool_is_slow(cli, spool)) {
        tally.waiting = level_of(spool);
        (void)err_set(&err, RC_BUSY, "SERVER_TIMEOUT",
                      "the server did not answer a moment ago: it is not asked again yet");
        return print_kept(cli, spool, &tally, 1, &err);
    }
    rc = event_spool_deliver(cli, spool, TURN_WAIT_MS, &tally, &err);
    if (tally.about_err.code[0] != '\0')
        return cli_fail(cli, RC_INVALID, &tally.about_err);
    if (rc != RC_OK)
        return print_kept(cli, spool, &tally, 1, &err);
    if (cli->json)
        print_tally_json(cli, &tally, 0, &err);
    else
        (void)printf("The event is in the log, with what waited before it: %zu new, %zu known "
                     "already, %zu refused.\n",
                     tally.accepted, tally.duplicates, tally.refused);
    return CLI_DONE;
}

/* ---- event append --lines ---- */

/* Events of a file, a chunk at a time. */
struct lines {
    struct cli *cli;
    const struct event_spool *spool;
    FILE *file;
    int64_t number;
    struct arena arena; /* Of one chunk. */
    struct str events[CHUNK_EVENTS];
    size_t count, bytes, kept;
    char line[EVENT_BYTES_MAX];
    bool away;      /* The server was, once: the rest is only kept. */
    struct err why; /* Then. */
    struct event_tally tally;
};

static enum rc write_line(struct lines *lines, const struct js *given, struct buf *text,
                          struct err *err)
{
    struct jw jw = jw_to(text);
    const char *name;
    const struct js *value;
    if (js_type(given) != JS_OBJECT)
        return err_set(err, RC_INVALID, "INVALID_FIELD",
                       "a line is one JSON object: the attributes of an event and its data");
    jw_begin(&jw, '{');
    write_attributes(lines->cli, given, &jw);
    for (size_t it = 0; js_next(given, &it, &name, &value);) {
        if (is_written_first(name))
            continue;
        jw_key(&jw, name);
        js_write(&jw, value);
    }
    jw_end(&jw, '}');
    return check_event(text, err);
}

static enum rc add_line(struct lines *lines, struct str line, struct err *err)
{
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *given = NULL;
    char place[48];
    buf_init(&text, EVENT_BYTES_MAX);
    enum rc rc = js_parse(line.at, line.len, &given, err);
    if (rc == RC_OK)
        rc = write_line(lines, given, &text, err);
    if (rc != RC_OK) {
        (void)snprintf(place, sizeof place, "line %lld", (long long)lines->number);
        return err_wrap(err, rc, place);
    }
    lines->events[lines->count++] = str_of(arena_strndup(&lines->arena, buf_text(&text), text.len));
    lines->bytes += text.len;
    return RC_OK;
}

/* Up to a chunk; *ret_end: there are no more lines. */
static enum rc read_chunk(struct lines *lines, bool *ret_end, struct err *err)
{
    enum rc rc = RC_OK;
    arena_reset(&lines->arena);
    lines->count = lines->bytes = 0;
    while (rc == RC_OK && lines->count < CHUNK_EVENTS && lines->bytes < CHUNK_BYTES) {
        *ret_end = fgets(lines->line, sizeof lines->line, lines->file) == NULL;
        if (*ret_end && ferror(lines->file))
            return err_set(err, RC_IO, "IO_ERROR", "cannot read: %s", strerror(errno));
        if (*ret_end)
            return RC_OK;
        lines->number++;
        struct str line = str_of(lines->line);
        if (line.len > 0 && line.at[line.len - 1] == '\n')
            line.len--;
        else if (line.len + 1 == sizeof lines->line)
            return err_set(err, RC_TOO_LARGE, "TOO_LARGE", "line %lld has more than %d bytes",
                           (long long)lines->number, EVENT_BYTES_MAX - 1);
        if (line.len > 0)
            rc = add_line(lines, line, err);
    }
    return rc;
}

static enum rc take_chunk(struct lines *lines, struct err *err)
{
    struct cli *cli = lines->cli;
    if (lines->count == 0)
        return RC_OK;
    enum rc rc = event_spool_keep(lines->spool, lines->events, lines->count, err);
    if (rc != RC_OK)
        return rc;
    lines->kept += lines->count;
    if (lines->away || event_spool_is_slow(cli, lines->spool))
        return RC_OK;
    rc = event_spool_deliver(cli, lines->spool, TURN_WAIT_MS, &lines->tally, &lines->why);
    lines->away = rc != RC_OK;
    return RC_OK;
}

static int print_lines(struct lines *lines)
{
    struct event_tally *tally = &lines->tally;
    tally->waiting = level_of(lines->spool);
    if (tally->waiting > 0 && lines->away)
        return print_kept(lines->cli, lines->spool, tally, lines->kept, &lines->why);
    if (lines->cli->json)
        print_tally_json(lines->cli, tally, lines->kept, &lines->why);
    else
        (void)printf("%zu events of %lld lines: %zu new in the log, %zu known already, %zu "
                     "refused.\n",
                     lines->kept, (long long)lines->number, tally->accepted, tally->duplicates,
                     tally->refused);
    if (tally->refused == 0)
        return CLI_DONE;
    if (!lines->cli->json)
        show_next(lines->cli, "See why", "drover event spool %s", lines->spool->key);
    return CLI_REFUSED;
}

static int append_lines(struct cli *cli, const struct event_spool *spool)
{
    const char *path = args_word(&cli->args, 0);
    struct err err = {0};
    struct lines *lines = mem_alloc(sizeof *lines);
    bool is_stdin = path == NULL || strcmp(path, "-") == 0, end = false;
    lines->cli = cli;
    lines->spool = spool;
    lines->file = is_stdin ? stdin : fopen(path, "re");
    enum rc rc = RC_OK;
    if (lines->file == NULL)
        rc = err_set(&err, RC_MALFORMED, "NO_SUCH_FILE", "cannot read %s: %s", path,
                     strerror(errno));
    while (rc == RC_OK && !end) {
        rc = read_chunk(lines, &end, &err);
        if (rc == RC_OK)
            rc = take_chunk(lines, &err);
    }
    int status = rc == RC_OK ? print_lines(lines) : cli_fail(cli, rc, &err);
    if (rc != RC_OK && lines->kept > 0)
        (void)fprintf(stderr, "drover: the first %zu events were taken\n", lines->kept);
    if (lines->file != NULL && !is_stdin)
        (void)fclose(lines->file);
    arena_release(&lines->arena);
    mem_free(lines);
    return status;
}

static int run_append(struct cli *cli)
{
    struct err err = {0};
    struct event_spool spool;
    CLEANUP(buf_release) struct buf body;
    bool lines = args_has(&cli->args, "lines"), direct = args_has(&cli->args, "no-spool");
    buf_init(&body, EVENT_BYTES_MAX);
    if (!lines && !args_has(&cli->args, "type"))
        return cli_usage(cli, "give the event a --type, such as com.example.build.finished");
    if (args_has(&cli->args, "run") && args_has(&cli->args, "task"))
        return cli_usage(cli, "--run and --task do not go together");
    if (lines && (direct || args_has(&cli->args, "id") || args_has(&cli->args, "run") ||
                  args_has(&cli->args, "task")))
        return cli_usage(cli, "--lines goes together with --type, --source, --subject, "
                              "--correlation and --causation only");
    enum rc rc = lines ? RC_OK : write_event(cli, &body, &err);
    if (rc == RC_OK)
        rc = event_spool_open(cli, &spool, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    if (lines)
        return append_lines(cli, &spool);
    if (direct)
        return append_direct(cli, NULL, buf_str(&body));
    return level_of(&spool) == 0 ? append_direct(cli, &spool, buf_str(&body))
                                 : append_behind(cli, &spool, buf_str(&body));
}

/* ---- event flush ---- */

static void pause_ms(int64_t ms, const atomic_int *stop)
{
    enum { STEP_MS = 100 };
    for (int64_t slept = 0; slept < ms && *stop == 0; slept += STEP_MS) {
        const struct timespec step = {.tv_nsec = STEP_MS * US_PER_MS * 1000};
        (void)nanosleep(&step, NULL);
    }
}

/* Until nothing waits, or it cannot succeed, or the time is over; 0: there is no end. */
static enum rc deliver_patiently(struct cli *cli, const struct event_spool *spool,
                                 int64_t timeout_us, struct event_tally *tally, struct err *err)
{
    int64_t end_us = timeout_us > 0 ? clock_mono_us() + timeout_us : INT64_MAX;
    int64_t wait_ms = RETRY_MIN_MS;
    cli->stop = cli_catch_interrupt();
    for (;;) {
        size_t before = tally->accepted + tally->duplicates + tally->refused;
        enum rc rc = event_spool_deliver(cli, spool, TURN_WAIT_MS, tally, err);
        if (rc == RC_OK || !event_spool_is_away(rc) || *cli->stop != 0 || clock_mono_us() >= end_us)
            return rc;
        if (tally->accepted + tally->duplicates + tally->refused > before)
            wait_ms = RETRY_MIN_MS;
        pause_ms(err->retry_ms > wait_ms ? err->retry_ms : wait_ms, cli->stop);
        wait_ms = wait_ms * 2 < RETRY_MAX_MS ? wait_ms * 2 : RETRY_MAX_MS;
    }
}

static int print_flushed(struct cli *cli, const struct event_spool *spool,
                         const struct event_tally *tally)
{
    struct err none = {0};
    if (cli->json)
        print_tally_json(cli, tally, 0, &none);
    else if (tally->accepted + tally->duplicates + tally->refused == 0)
        (void)puts("Nothing waits in the spool.");
    else
        (void)printf("Delivered: %zu new in the log, %zu known already, %zu refused.\n",
                     tally->accepted, tally->duplicates, tally->refused);
    if (tally->damaged_bytes > 0)
        (void)fprintf(stderr, "drover: %lld bytes of the spool were damaged and passed over\n",
                      (long long)tally->damaged_bytes);
    if (tally->refused == 0)
        return CLI_DONE;
    if (!cli->json)
        show_next(cli, "See why", "drover event spool %s", spool->key);
    return CLI_REFUSED;
}

static int run_flush(struct cli *cli)
{
    struct err err = {0};
    struct event_spool spool;
    struct event_tally tally = {0};
    int64_t timeout_us = 0;
    const char *timeout = args_text(&cli->args, "timeout", NULL);
    const char *from = args_text(&cli->args, "from", NULL);
    bool waits = args_has(&cli->args, "wait");
    if (timeout != NULL && (!waits || !span_parse(timeout, &timeout_us)))
        return cli_usage(cli, "--timeout goes with --wait and takes a length of time: 30s, 5m");
    enum rc rc = from != NULL ? event_spool_open_key(cli, from, &spool, &err)
                              : event_spool_open(cli, &spool, &err);
    if (rc == RC_OK)
        rc = waits ? deliver_patiently(cli, &spool, timeout_us, &tally, &err)
                   : event_spool_deliver(cli, &spool, TURN_WAIT_MS, &tally, &err);
    if (rc == RC_OK)
        return print_flushed(cli, &spool, &tally);
    (void)fprintf(stderr, "drover: %zu events were delivered, %zu wait\n",
                  tally.accepted + tally.duplicates, tally.waiting);
    return rc == RC_CANCELLED ? CLI_INTERRUPTED : cli_fail(cli, rc, &err);
}

/* ---- event spool ---- */

static enum rc first_of(struct cli *cli, const struct disk_queue *queue, size_t count,
                        struct disk_queue_part *ret, struct err *err)
{
    const struct disk_queue_want want = {count, SPOOL_REFUSED_BYTES_MAX};
    return disk_queue_read(queue, &want, &cli->arena, ret, err);
}

/* {key, server, path, waiting, bytes, oldest, failure, refused: [...]} */
static enum rc write_spool(struct cli *cli, const struct event_spool *spool, struct jw *jw,
                           struct err *err)
{
    struct disk_queue_level level = {0};
    struct disk_queue_part oldest = {0}, refused = {0};
    enum rc rc = disk_queue_level(&spool->waiting, &level, err);
    if (rc == RC_OK)
        rc = first_of(cli, &spool->waiting, 1, &oldest, err);
    if (rc == RC_OK)
        rc = first_of(cli, &spool->refused, SPOOL_REFUSED_MAX, &refused, err);
    if (rc != RC_OK)
        return rc;
    jw_begin(jw, '{');
    jw_kstr(jw, "key", spool->key);
    jw_kstr(jw, "server", spool->target);
    jw_kstr(jw, "path", spool->dir);
    jw_kint(jw, "waiting", (int64_t)level.records);
    jw_kint(jw, "bytes", level.bytes);
    jw_kraw(jw, "oldest", oldest.count > 0 ? oldest.records[0] : STR("null"));
    jw_kraw(jw, "failure", str_of(event_spool_failure(cli, spool)));
    jw_key(jw, "refused");
    jw_begin(jw, '[');
    for (size_t i = 0; i < refused.count; i++)
        jw_raw(jw, refused.records[i]);
    jw_end(jw, ']');
    jw_end(jw, '}');
    return RC_OK;
}

static void spools_table(struct cli *cli, const struct js *items)
{
    static const struct table_column columns[] = {
        {"KEY", false, false},       {"WAITING", true, false}, {"SIZE", true, false},
        {"OLDEST", false, false},    {"REFUSED", true, false}, {"SERVER", false, false},
        {"LAST ERROR", false, true},
    };
    struct arena *arena = &cli->arena;
    struct table table;
    table_init(&table, &cli->term, columns, COUNT_OF(columns), arena);
    table.below = true;
    for (size_t i = 0; i < js_count(items); i++) {
        const struct js *item = js_at(items, i);
        const char *oldest = js_str(js_path(item, "oldest.time"), NULL);
        int64_t waiting = js_get_int(item, "waiting", 0);
        size_t refused = js_count(js_get(item, "refused"));
        table_cell(&table, js_get_str(item, "key", ""), TONE_PLAIN);
        table_cell(&table, arena_printf(arena, "%lld", (long long)waiting),
                   waiting > 0 ? TONE_YELLOW : TONE_PLAIN);
        table_cell(&table, term_bytes(arena, js_get_int(item, "bytes", 0)), TONE_PLAIN);
        table_cell(&table, term_time(&cli->term, oldest, arena), TONE_DIM);
        table_cell(&table, arena_printf(arena, "%zu", refused),
                   refused > 0 ? TONE_RED : TONE_PLAIN);
        table_cell(&table, js_get_str(item, "server", ""), TONE_PLAIN);
        table_cell(&table, js_str(js_path(item, "failure.reason"), ""), TONE_DIM);
    }
    table_print(&table, stdout);
}

static void show_spool(struct cli *cli, const struct js *item)
{
    const struct js *refused = js_get(item, "refused");
    show_line(cli, "Spool", js_get_str(item, "key", "?"), TONE_BOLD);
    show_member(cli, "Server", item, "server");
    show_member(cli, "Directory", item, "path");
    show_member(cli, "Waiting", item, "waiting");
    show_line(cli, "Size", term_bytes(&cli->arena, js_get_int(item, "bytes", 0)), TONE_PLAIN);
    show_member(cli, "Oldest", js_get(item, "oldest"), "type");
    show_time(cli, "", js_get(item, "oldest"), "time");
    show_member(cli, "Last error", js_get(item, "failure"), "reason");
    show_time(cli, "", js_get(item, "failure"), "at");
    for (size_t i = 0; i < js_count(refused); i++) {
        const struct js *one = js_at(refused, i);
        show_line(cli, i == 0 ? "Refused" : "",
                  arena_printf(&cli->arena, "%s %s: %s", js_str(js_path(one, "event.type"), "?"),
                               js_str(js_path(one, "event.id"), "?"),
                               js_get_str(one, "reason", "")),
                  TONE_RED);
    }
    if (js_count(refused) > 0)
        show_next(cli, "Forget them", "drover event spool %s --forget",
                  js_get_str(item, "key", ""));
}

static enum rc write_spools(struct cli *cli, struct jw *jw, struct err *err)
{
    const char *const *keys = NULL, *only = args_word(&cli->args, 0);
    size_t count = 0;
    struct event_spool spool;
    enum rc rc = RC_OK;
    if (only == NULL)
        rc = event_spool_list(cli, &keys, &count, err);
    else
        keys = &only, count = 1;
    jw_begin(jw, '{');
    jw_key(jw, "items");
    jw_begin(jw, '[');
    for (size_t i = 0; rc == RC_OK && i < count; i++) {
        rc = event_spool_open_key(cli, keys[i], &spool, err);
        if (rc == RC_OK && args_has(&cli->args, "forget"))
            rc = event_spool_forget(&spool, err);
        if (rc == RC_OK)
            rc = write_spool(cli, &spool, jw, err);
    }
    jw_end(jw, ']');
    jw_end(jw, '}');
    return rc;
}

static int run_spool(struct cli *cli)
{
    enum { SPOOLS_BYTES_MAX = 64 * 1024 * 1024 };
    struct err err = {0};
    CLEANUP(buf_release) struct buf text;
    CLEANUP(js_freep) struct js *tree = NULL;
    buf_init(&text, SPOOLS_BYTES_MAX);
    if (args_has(&cli->args, "forget") && args_word(&cli->args, 0) == NULL)
        return cli_usage(cli, "--forget needs the KEY of a spool");
    struct jw jw = jw_to(&text);
    enum rc rc = write_spools(cli, &jw, &err);
    if (rc == RC_OK)
        rc = js_parse(text.data, text.len, &tree, &err);
    if (rc != RC_OK)
        return cli_fail(cli, rc, &err);
    const struct js *items = js_get(tree, "items");
    if (cli->json)
        (void)puts(buf_text(&text));
    else if (args_word(&cli->args, 0) != NULL)
        show_spool(cli, js_at(items, 0));
    else if (js_count(items) == 0)
        (void)puts("No event has waited for a server.");
    else
        spools_table(cli, items);
    return CLI_DONE;
}

/* ---- the table ---- */

static const char *const severity_names[] = {"debug", "info", "warning", "error", NULL};

static const struct arg_option append_options[] = {
    {"type", "TYPE", "what happened: com.example.build.finished", ARG_TEXT, 0, 0, NULL},
    {"source", "URI", "where it happened (default " SOURCE_DEFAULT ")", ARG_TEXT, 0, 0, NULL},
    {"id", "ID", "its name at the source; a second one of the same is left out (default a new one)",
     ARG_TEXT, 0, 0, NULL},
    {"subject", "TEXT", "what it is about", ARG_TEXT, 0, 0, NULL},
    {"correlation", "ID", "the id of what it belongs to", ARG_TEXT, 0, 0, NULL},
    {"causation", "ID", "the id of the event that led to it", ARG_TEXT, 0, 0, NULL},
    {"run", "RUN", "an event of this run", ARG_TEXT, 0, 0, NULL},
    {"task", "ID", "an event of this task", ARG_TEXT, 0, 0, NULL},
    {"tag", "TAG", "its tags, with commas between", ARG_TEXT, 0, 0, NULL},
    {"severity", "LEVEL", "debug, info, warning or error (default info)", ARG_CHOICE, 0, 0,
     severity_names},
    {"lines", NULL, "many: each line of FILE is an event, such as {\"type\": ..., \"data\": ...}",
     ARG_FLAG, 0, 0, NULL},
    {"no-spool", NULL, "fail when the server is away, and keep nothing", ARG_FLAG, 0, 0, NULL},
    {0},
};
static const struct arg_option flush_options[] = {
    {"wait", NULL, "go on trying until all are delivered, or until Ctrl-C", ARG_FLAG, 0, 0, NULL},
    {"timeout", "TIME", "with --wait: at most so long (30s, 5m)", ARG_TEXT, 0, 0, NULL},
    {"from", "KEY", "those that were kept for another address of this server", ARG_TEXT, 0, 0,
     NULL},
    {0},
};
static const struct arg_option spool_options[] = {
    {"forget", NULL, "remove the events that the server has refused", ARG_FLAG, 0, 0, NULL},
    {0},
};

const struct cli_command cli_event_commands[] = {
    {"event append", "put an event of your own into the log; its data is JSON, @FILE or -",
     "--type TYPE [--source URI] [--id ID] [--subject TEXT] [--correlation ID] [--causation ID] "
     "[--task ID | --run RUN] [--tag TAG] [--severity LEVEL] [--no-spool] [JSON | @FILE | -] | "
     "--lines [FILE | -]   [--json]",
     append_options, "drover event append --type com.example.deployed '{\"version\": \"1.4\"}'",
     "drover events", 0, 1, CLI_REMOTE | CLI_JSON, run_append},
    {"event flush", "deliver the events that were kept while the server was away",
     "[--wait [--timeout TIME]] [--from KEY] [--json]", flush_options, "drover event flush --wait",
     "drover event spool", 0, 0, CLI_REMOTE | CLI_JSON, run_flush},
    {"event spool", "show the events that wait on this machine, and those that were refused",
     "[KEY [--forget]] [--json]", spool_options, "drover event spool", "drover event spool", 0, 1,
     CLI_JSON, run_spool},
    {0},
};
