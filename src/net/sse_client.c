#include "net/sse_client.h"
#include "base/clock.h"
#include <assert.h>
#include <string.h>
#include <time.h>

enum {
    IDLE_TIMEOUT_MS = 60 * 1000,
    TRIES_MAX = 10,
    BACKOFF_FIRST_MS = 250,
    BACKOFF_MAX_MS = 5000,
    HEALTHY_MS = 30 * 1000 /* A connection that lived so long starts the count of tries anew. */
};

void sse_parser_init(struct sse_parser *parser, sse_handler *on_event, void *ctx)
{
    *parser = (struct sse_parser){.on_event = on_event, .ctx = ctx};
    buf_init(&parser->line, SSE_EVENT_BYTES_MAX);
    buf_init(&parser->data, SSE_EVENT_BYTES_MAX);
}

void sse_parser_limit(struct sse_parser *parser, size_t event_bytes_max)
{
    parser->line.max_bytes = parser->data.max_bytes = event_bytes_max;
}

void sse_parser_release(struct sse_parser *parser)
{
    buf_release(&parser->line);
    buf_release(&parser->data);
}

static void event_clear(struct sse_parser *parser)
{
    buf_clear(&parser->data);
    parser->type[0] = '\0';
    parser->has_data = parser->has_id = false;
}

void sse_parser_restart(struct sse_parser *parser)
{
    buf_clear(&parser->line);
    event_clear(parser);
    parser->id[0] = '\0';
    parser->after_cr = false;
}

static bool hand_out(struct sse_parser *parser)
{
    bool more = true;
    if (parser->has_data) {
        struct sse_event event = {
            .type = parser->type[0] ? parser->type : "message",
            .id = parser->id,
            .has_id = parser->has_id,
            .data = buf_text(&parser->data),
        };
        more = parser->on_event(parser->ctx, &event);
    }
    event_clear(parser);
    return more;
}

static void take_field(struct sse_parser *parser, struct str name, const char *value)
{
    int64_t number = 0;
    if (str_is(name, "event")) {
        text_copy(parser->type, sizeof parser->type, value);
    } else if (str_is(name, "data")) {
        if (parser->has_data)
            buf_addc(&parser->data, '\n');
        buf_adds(&parser->data, value);
        parser->has_data = true;
    } else if (str_is(name, "id")) {
        text_copy(parser->id, sizeof parser->id, value);
        parser->has_id = true;
    } else if (str_is(name, "retry") && text_to_i64(value, &number) && number > 0) {
        parser->retry_ms = number;
    }
}

/* A whole line was received. */
static bool take_line(struct sse_parser *parser)
{
    const char *line = buf_text(&parser->line);
    bool more = true;
    if (*line == '\0') {
        more = hand_out(parser);
    } else if (*line != ':') {
        size_t len = strcspn(line, ":");
        const char *value = line[len] == ':' ? line + len + 1 : "";
        take_field(parser, (struct str){line, len}, *value == ' ' ? value + 1 : value);
    }
    buf_clear(&parser->line);
    return more;
}

bool sse_parser_feed(struct sse_parser *parser, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        char c = bytes.at[i];
        bool second = c == '\n' && parser->after_cr; /* Of a \r\n: the line has ended already. */
        parser->after_cr = c == '\r';
        if (second)
            continue;
        if (c != '\n' && c != '\r')
            buf_addc(&parser->line, c);
        else if (!take_line(parser))
            return false;
        if (parser->line.overflow || parser->data.overflow) {
            parser->too_large = true;
            return false;
        }
    }
    return true;
}

/* One stream over as many connections as are needed. */
struct session {
    const struct sse_follow *follow;
    struct sse_parser parser;
    char last_id[SSE_FIELD_BYTES_MAX];
    bool enough;
    bool progress; /* Something new since the last connection was made. */
};

static bool is_new(const char *id, const char *last_id)
{
    int64_t number = 0, last = 0;
    if (!text_to_i64(id, &number) || !text_to_i64(last_id, &last))
        return true;
    return number > last;
}

static bool take_event(void *ctx, const struct sse_event *event)
{
    struct session *session = ctx;
    if (event->has_id && !is_new(event->id, session->last_id))
        return true;
    if (event->has_id)
        text_copy(session->last_id, sizeof session->last_id, event->id);
    session->progress = true;
    session->enough = !session->follow->on_event(session->follow->ctx, event);
    return !session->enough;
}

static bool take_bytes(void *ctx, struct str bytes)
{
    struct session *session = ctx;
    return sse_parser_feed(&session->parser, bytes);
}

static void tick(void *ctx)
{
    const struct session *session = ctx;
    if (session->follow->on_tick != NULL)
        session->follow->on_tick(session->follow->ctx);
}

static bool stopped(const struct session *session)
{
    return session->follow->stop != NULL && *session->follow->stop;
}

/* One connection, to its end. */
static enum rc connect_once(struct session *session, struct http_client *client, struct err *err)
{
    const struct sse_follow *follow = session->follow;
    const struct http_field headers[] = {
        {"Accept", "text/event-stream"},
        {session->last_id[0] ? "Last-Event-ID" : NULL, session->last_id},
        {NULL, NULL},
    };
    struct http_stream stream = {
        .path = follow->path,
        .headers = headers,
        .idle_timeout_ms = follow->idle_timeout_ms > 0 ? follow->idle_timeout_ms : IDLE_TIMEOUT_MS,
        .stop = follow->stop,
        .on_bytes = take_bytes,
        .on_tick = tick,
        .ctx = session,
    };
    sse_parser_restart(&session->parser);
    enum rc rc = http_client_stream(client, &stream, err);
    if (session->parser.too_large)
        return err_set(err, RC_TOO_LARGE, "EVENT_TOO_LARGE", "an event is larger than %d bytes",
                       SSE_EVENT_BYTES_MAX);
    if (rc == RC_OK && !session->enough)
        return err_set(err, RC_UNREACHABLE, "STREAM_ENDED", "the server ended the stream");
    return rc;
}

static bool worth_another_try(enum rc rc)
{
    return rc == RC_UNREACHABLE || rc == RC_TIMEOUT || rc == RC_BUSY || rc == RC_LIMIT ||
           rc == RC_IO;
}

/* In small pieces, so that a stop is seen. */
static void pause_for(struct session *session, int64_t pause_ms)
{
    int64_t until_us = clock_mono_us() + pause_ms * US_PER_MS;
    while (!stopped(session) && clock_mono_us() < until_us) {
        const struct timespec piece = {.tv_nsec = 50 * US_PER_MS * 1000};
        (void)nanosleep(&piece, NULL);
        tick(session);
    }
}

static int64_t backoff_ms(const struct session *session, int tries)
{
    int64_t pause_ms = session->follow->first_backoff_ms;
    if (pause_ms <= 0)
        pause_ms = session->parser.retry_ms > 0 ? session->parser.retry_ms : BACKOFF_FIRST_MS;
    for (int i = 1; i < tries && pause_ms < BACKOFF_MAX_MS; i++)
        pause_ms *= 2;
    return pause_ms < BACKOFF_MAX_MS ? pause_ms : BACKOFF_MAX_MS;
}

static enum rc session_run(struct session *session, struct http_client *client, struct err *err)
{
    const struct sse_follow *follow = session->follow;
    int tries_max = follow->tries_max > 0 ? follow->tries_max : TRIES_MAX;
    for (int tries = 1;; tries++) {
        session->progress = false;
        int64_t since_us = clock_mono_us();
        enum rc rc = connect_once(session, client, err);
        if (rc == RC_OK || !worth_another_try(rc))
            return rc;
        if (session->progress || clock_mono_us() - since_us > HEALTHY_MS * US_PER_MS)
            tries = 1;
        if (tries >= tries_max)
            return rc;
        if (tries == 1 && follow->on_broken != NULL)
            follow->on_broken(follow->ctx, err);
        pause_for(session, backoff_ms(session, tries));
        if (stopped(session))
            return RC_CANCELLED;
    }
}

enum rc sse_follow(struct http_client *client, const struct sse_follow *follow, struct err *err)
{
    assert(follow->on_event != NULL);
    struct session session = {.follow = follow};
    struct err why = {0}; /* The caller may pass no err, on_broken needs one. */
    if (follow->last_id != NULL)
        text_copy(session.last_id, sizeof session.last_id, follow->last_id);
    sse_parser_init(&session.parser, take_event, &session);
    enum rc rc = session_run(&session, client, &why);
    sse_parser_release(&session.parser);
    if (rc != RC_OK && err != NULL)
        *err = why;
    return rc;
}
