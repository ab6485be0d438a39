/*
 * sse.c - see sse.h for the states.
 *
 * A stream lives on the loop.  Two parts of it may be used by other threads: its page (a pool
 * thread reads the log into it) and its wake (the bus's sender has posted it to the mailbox).  A
 * stream whose client is gone is freed when both have returned.
 *
 * Memory: a stream holds at most one and a half windows of output and one event, however slow its
 * client is.  One that has more than half a window to send is paused; when its client has read
 * nothing for a tick its channel is given up, and it later reads the log again from where it
 * stopped.  A page of the log is a window long.  Channels hold references of envelopes that they
 * share: as long as all of these are within the bytes of all streams a channel may be longer than
 * a window.  To read the log again costs several times as much.
 */
#include "api/sse.h"
#include "api/event_params.h"
#include "api/event_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/event_types.h"
#include "store/events.h"
#include "store/runs.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

enum {
    PAGE_EVENTS = 64,
    TURN_EVENTS = 256,    /* Sent in one turn of the loop, so that others are served too. */
    TAKE_EVENTS = 32,     /* Taken from the channel at once. */
    RETURN_MS = 250,      /* After a stop clients come back from here on, */
    RETURN_STEP_MS = 2,   /* one after the other, */
    RETURN_MS_MAX = 5000, /* and by here at the latest. */
    WINDOW_BYTES_MIN = 4 * 1024,
    WINDOW_BYTES_MAX = 64 * 1024,
    CHANNEL_BYTES_MAX = 1024 * 1024,
    EVENT_BYTES_MAX = 4 * 1024 * 1024,
    TICK_MS = 1000,
    PING_TICKS = 15,
};

#define LOST_COMMENT ": the token is good no more\n\n"

enum stream_state { STREAM_OPENING, STREAM_READING, STREAM_LIVE, STREAM_PAUSED, STREAM_DEAD };

/* The filter of a stream.  Fixed once it is open. */
struct wish {
    bool of_run; /* With the events of its task. */
    struct id run_id, task_id;
    struct event_selector selector;
};

/* A piece of the log in wire form, filled by a pool thread. */
struct log_page {
    struct pool_work work;
    struct loop_call done;
    bool away;    /* Owned by the pool: not to be touched. */
    bool opening; /* Only checks that the run exists. */
    enum rc rc;
    struct err err;
    struct buf text; /* Empty but between a read and its write. */
    int64_t after_seq;
    int64_t until_seq; /* Where the tail was: later events are sent by the bus. */
    int64_t last_seq;  /* Of the last event that was examined. */
    bool full;         /* There may be more. */
    bool run_ended;    /* Before the page was read: it holds the run's last events. */
};

struct stream {
    struct call *call;
    struct sse *sse;
    enum stream_state state;
    int64_t last_seq; /* The last that was sent, or the one to start after. */
    struct wish wish;
    char *texts; /* Of its selector. */
    struct log_page page;
    struct subscription *subscription;
    bool moved; /* Its client has read something since the last tick. */
    struct loop_call wake;
    atomic_bool wake_posted;
    LIST_ENTRY(stream) all;
};
LIST_HEAD(stream_list, stream);

struct sse {
    struct api *api;
    struct stream_list streams;
    struct event *tick; /* At rest without streams. */
    int ticks;
    size_t window; /* Bytes. */
    size_t bytes;  /* Of all streams. */
    bool closed;
    atomic_int_fast64_t count;
};

static void go_on(struct stream *stream);

/* ---- The end ---- */

static void free_if_alone(struct stream *stream)
{
    if (stream->state != STREAM_DEAD || stream->page.away || atomic_load(&stream->wake_posted))
        return;
    buf_release(&stream->page.text);
    mem_free(stream->texts);
    mem_free(stream);
}

static void unsubscribe(struct stream *stream)
{
    if (stream->subscription != NULL)
        bus_unsubscribe(control_bus(stream->sse->api->control), stream->subscription);
    stream->subscription = NULL;
}

/* Nothing is sent any more; page and wake may still return to a dead stream. */
static void kill_stream(struct stream *stream)
{
    assert(stream->state != STREAM_DEAD);
    stream->state = STREAM_DEAD;
    unsubscribe(stream);
    LIST_REMOVE(stream, all);
    atomic_fetch_sub(&stream->sse->count, 1);
}

static void end_stream(struct stream *stream, const char *comment)
{
    struct http_request *request = &stream->call->http;
    http_stream_write(request, str_of(comment));
    kill_stream(stream);
    http_stream_end(request);
    free_if_alone(stream);
}

static void on_gone(struct http_request *request)
{
    struct stream *stream = ((struct call *)request)->stream;
    if (stream->state != STREAM_OPENING) /* Else the pool still reads the call: see on_page. */
        end_stream(stream, "");
}

static bool is_slow(const struct stream *stream)
{
    return http_stream_backlog(&stream->call->http) > stream->sse->window / 2;
}

/* Sends what is in the page, and frees its memory. */
static void send_text(struct stream *stream)
{
    struct buf *text = &stream->page.text;
    http_stream_write(&stream->call->http, buf_str(text));
    buf_release(text);
    buf_init(text, WINDOW_BYTES_MAX + EVENT_BYTES_MAX);
}

/* ---- From the log ---- */

/* False: the window was full before all were written; the rest is read again when this is sent. */
static bool write_page(struct stream *stream, const struct event *events, size_t count)
{
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, EVENT_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (stream->page.text.len >= stream->sse->window)
            return false;
        stream->page.last_seq = events[i].seq;
        if (event_text(&events[i], &json))
            envelope_frame(&stream->page.text, &events[i], buf_str(&json));
    }
    return true;
}

static enum rc look_at_run(struct stream *stream, struct db *db, struct arena *arena,
                           struct err *err)
{
    struct run_row run;
    enum rc rc = runs_get(db, &stream->wish.run_id, arena, &run, err);
    if (rc != RC_OK)
        return rc;
    stream->wish.task_id = run.task_id;
    stream->page.run_ended = run_is_terminal(run.status);
    return RC_OK;
}

static enum rc read_log(struct stream *stream, struct db *db, struct arena *arena, struct err *err)
{
    const struct wish *wish = &stream->wish;
    struct scan scan = {.rows_max = SCAN_ROWS_MAX};
    struct event_filter filter = {.after_seq = stream->page.after_seq,
                                  .run_id = wish->run_id,
                                  .with_task = wish->of_run,
                                  .selector = &wish->selector,
                                  .limit = PAGE_EVENTS,
                                  .scan = &scan};
    if (!wish->of_run)
        filter.task_id = wish->task_id;
    /* Of the whole log only settled events: the bus sends the rest.  The events of one run or
       task are committed in their order anyway. */
    if (id_is_none(&filter.run_id) && id_is_none(&filter.task_id))
        filter.until_seq = stream->page.until_seq;
    struct event *events = NULL;
    size_t count = 0;
    enum rc rc = events_list(db, &filter, arena, &events, &count, err);
    if (rc == RC_OK) {
        bool whole = write_page(stream, events, count);
        stream->page.full = !whole || count == PAGE_EVENTS || scan.end_seq > 0;
        if (whole && scan.end_seq > 0) /* None of those from the last one to here matches. */
            stream->page.last_seq = scan.end_seq;
    }
    return rc;
}

/* On a pool thread.  Whether the run has ended is read before the log is. */
static void fill_page(struct pool_work *work, struct db *db)
{
    struct stream *stream = (struct stream *)((char *)work - offsetof(struct stream, page.work));
    struct log_page *page = &stream->page;
    struct arena arena = {0};
    page->rc = RC_OK;
    if (page->opening)
        page->rc = auth_agent(&stream->call->who, stream->call->route, stream->call->vars[0], db,
                              &arena, &page->err);
    if (page->rc == RC_OK && stream->wish.of_run)
        page->rc = look_at_run(stream, db, &arena, &page->err);
    if (page->rc == RC_OK && !page->opening)
        page->rc = read_log(stream, db, &arena, &page->err);
    arena_release(&arena);
    loop_post(stream->sse->api->loop, &page->done);
}

static enum rc ask_for_page(struct stream *stream)
{
    struct log_page *page = &stream->page;
    assert(!page->away && page->text.len == 0);
    page->opening = stream->state == STREAM_OPENING;
    page->after_seq = page->last_seq = stream->last_seq;
    page->until_seq = control_tail_seq(stream->sse->api->control);
    page->full = false;
    page->work = (struct pool_work){.run = fill_page, .class = POOL_STREAM};
    enum rc rc = pool_post(stream->sse->api->pool, &page->work);
    page->away = rc == RC_OK;
    return rc;
}

/* ---- From the bus ---- */

/* Any thread: the sender's, mostly. */
static void post_wake(void *arg)
{
    struct stream *stream = arg;
    if (!atomic_exchange(&stream->wake_posted, true))
        loop_post(stream->sse->api->loop, &stream->wake);
}

static bool ends_a_run(const char *type)
{
    return text_same(type, EV_RUN_COMPLETED) || text_same(type, EV_RUN_FAILED) ||
           text_same(type, EV_RUN_CANCELLED) || text_same(type, EV_RUN_TIMED_OUT);
}

enum taken { TAKEN_ALL, TAKEN_SOME, TAKEN_LOST, TAKEN_END };

/* Is it the last event of the run? */
static bool write_live(struct stream *stream, const struct envelope *envelope, struct buf *text)
{
    if (envelope->seq <= stream->last_seq)
        return false;
    buf_add(text, envelope->frame.at, envelope->frame.len);
    stream->last_seq = envelope->seq;
    return stream->wish.of_run && ends_a_run(envelope->traits.type);
}

/* Moves what is in the channel into text.  Events are sent only when nothing was lost by the time
   they were taken: else something before them may be missing. */
static enum taken take_live(struct stream *stream, struct buf *text)
{
    struct envelope *envelopes[TAKE_EVENTS];
    for (int turn = 0; turn < TURN_EVENTS / TAKE_EVENTS && text->len < stream->sse->window;
         turn++) {
        const struct subscription_batch batch = {envelopes, TAKE_EVENTS,
                                                 stream->sse->window - text->len};
        int64_t lost = 0;
        bool end = false;
        size_t count = subscription_take_batch(stream->subscription, &batch, &lost);
        for (size_t i = 0; i < count; i++) {
            if (lost == 0 && !end)
                end = write_live(stream, envelopes[i], text);
            envelope_unref(envelopes[i]);
        }
        if (lost > 0 || end)
            return lost > 0 ? TAKEN_LOST : TAKEN_END;
        if (count == 0)
            return TAKEN_ALL;
    }
    return TAKEN_SOME;
}

static void go_live(struct stream *stream)
{
    assert(!stream->page.away && stream->page.text.len == 0);
    enum taken taken = take_live(stream, &stream->page.text);
    send_text(stream);
    if (taken == TAKEN_LOST || taken == TAKEN_END) {
        stream->state = STREAM_READING; /* After a run's end the log holds all the rest. */
        unsubscribe(stream);
        go_on(stream);
    } else if (is_slow(stream)) {
        stream->state = STREAM_PAUSED; /* With its channel, until the next tick. */
    } else if (taken == TAKEN_SOME) {
        post_wake(stream);
    }
}

static void on_wake(struct loop_call *call)
{
    struct stream *stream = (struct stream *)((char *)call - offsetof(struct stream, wake));
    atomic_store(&stream->wake_posted, false);
    if (stream->state == STREAM_LIVE)
        go_live(stream);
    else
        free_if_alone(stream);
}

/* ---- Between the states ---- */

/* Until it has drained, or the next tick.  A stream far behind does not need a channel. */
static void pause_stream(struct stream *stream)
{
    stream->state = STREAM_PAUSED;
    unsubscribe(stream);
}

static void go_on(struct stream *stream)
{
    if (stream->state == STREAM_LIVE)
        go_live(stream);
    else if (is_slow(stream) || ask_for_page(stream) != RC_OK)
        pause_stream(stream);
}

static void resume(struct stream *stream)
{
    if (stream->state != STREAM_PAUSED || is_slow(stream))
        return;
    stream->moved = true;
    stream->state = stream->subscription != NULL ? STREAM_LIVE : STREAM_READING;
    go_on(stream);
}

static void on_drained(struct http_request *request)
{
    resume(((struct call *)request)->stream);
}

static struct subscription *subscribe(struct stream *stream)
{
    const struct wish *wish = &stream->wish;
    struct subscription_options options = {
        .who = wish->of_run ? BUS_SSE_RUN : BUS_SSE_EVENTS,
        .filter = {.selector = wish->selector,
                   .task_id = wish->task_id,
                   .run_id = wish->run_id,
                   .with_task = wish->of_run},
        .bytes = {.max = CHANNEL_BYTES_MAX,
                  .fair = stream->sse->window,
                  .alive_max = stream->sse->bytes},
        .wake = post_wake,
        .ctx = stream,
    };
    return bus_subscribe(control_bus(stream->sse->api->control), &options);
}

/* Begins the answer.  A stream that starts from now on subscribes before it reads the end of the
   log: an event that is committed between is in both. */
static void begin(struct stream *stream)
{
    struct http_request *request = &stream->call->http;
    request->answer.content_type = "text/event-stream";
    http_answer_header(request, "Cache-Control", "no-store");
    http_answer_header(request, "X-Accel-Buffering", "no");
    http_stream_begin(request, on_drained);
    http_shed(request);
    http_stream_write(request, STR(": drover\n\n"));
    bool from_now = stream->last_seq < 0;
    if (from_now) {
        stream->last_seq = control_tail_seq(stream->sse->api->control);
        stream->subscription = subscribe(stream);
    }
    stream->state = from_now ? STREAM_LIVE : STREAM_READING;
    go_on(stream);
}

static void finish_opening(struct stream *stream)
{
    struct call *call = stream->call;
    if (stream->page.rc == RC_OK && !auth_alive(call->api->auth, &call->who))
        stream->page.rc = err_set(&stream->page.err, RC_UNAUTHORIZED, "TOKEN_UNKNOWN",
                                  "the token was revoked");
    if (stream->page.rc == RC_OK && !http_gone(&call->http) && !stream->sse->closed) {
        begin(stream);
        return;
    }
    if (stream->page.rc == RC_OK)
        stream->page.rc = err_set(&stream->page.err, RC_BUSY, "STOPPING", "the server is stopping");
    call_fail(call, stream->page.rc, &stream->page.err);
    kill_stream(stream);
    http_finish(&call->http);
    free_if_alone(stream);
}

static void finish_reading(struct stream *stream)
{
    const struct log_page *page = &stream->page;
    if (page->rc == RC_UNREACHABLE) {
        pause_stream(stream); /* Until the store is back, each tick retries. */
        return;
    }
    if (page->rc != RC_OK) {
        LOG(LOG_ERROR, "a stream cannot read the log", LOG_STR("requestId", stream->call->http.id),
            LOG_STR("error", page->err.text));
        end_stream(stream, ": the log cannot be read\n\n");
        return;
    }
    send_text(stream);
    stream->last_seq = page->last_seq;
    if (!page->full && page->run_ended) {
        end_stream(stream, ": the run has ended\n\n");
        return;
    }
    /* At the end of the log it subscribes and reads once more: an event that is committed between
       the two is in both. */
    if (!page->full && stream->subscription != NULL)
        stream->state = STREAM_LIVE;
    else if (!page->full && !is_slow(stream))
        stream->subscription = subscribe(stream);
    go_on(stream);
}

static void on_page(struct loop_call *call)
{
    struct stream *stream = (struct stream *)((char *)call - offsetof(struct stream, page.done));
    stream->page.away = false;
    if (stream->state == STREAM_DEAD)
        free_if_alone(stream);
    else if (stream->state == STREAM_OPENING)
        finish_opening(stream);
    else
        finish_reading(stream);
}

/* ---- Routes ---- */

/* Last-Event-ID as a header, or ?lastEventId=; *ret_seq is untouched without. */
static void read_place(struct call *call, struct params *params, int64_t *ret_seq)
{
    params_int(params, "lastEventId", &(struct param_range){0, INT64_MAX}, ret_seq);
    const char *header = http_header(&call->http, "Last-Event-ID");
    if (header != NULL && *header && (!text_to_i64(header, ret_seq) || *ret_seq < 0))
        params_fail(params, "Last-Event-ID", "Last-Event-ID must be an id that a stream has sent");
}

static struct stream *stream_new(struct call *call, const struct wish *wish, int64_t after_seq)
{
    struct sse *sse = call->api->sse;
    struct stream *stream = mem_alloc(sizeof *stream);
    stream->call = call;
    stream->sse = sse;
    stream->wish = *wish;
    stream->texts = mem_alloc(event_selector_bytes(&wish->selector) + 1);
    event_selector_pack(&stream->wish.selector, &wish->selector, stream->texts);
    stream->last_seq = after_seq;
    stream->page.done.run = on_page;
    stream->wake.run = on_wake;
    buf_init(&stream->page.text, WINDOW_BYTES_MAX + EVENT_BYTES_MAX);
    LIST_INSERT_HEAD(&sse->streams, stream, all);
    loop_pace(sse->tick, TICK_MS);
    atomic_fetch_add(&sse->count, 1);
    call->stream = stream;
    http_watch(&call->http, on_gone);
    return stream;
}

static enum rc refuse_closed(const struct call *call, struct err *err)
{
    if (!call->api->sse->closed)
        return RC_OK;
    return err_set(err, RC_BUSY, "STOPPING", "the server is stopping");
}

enum rc api_run_stream(struct call *call, struct err *err)
{
    struct params params;
    struct wish wish = {.of_run = true};
    int64_t after_seq = 0;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    read_place(call, &params, &after_seq);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = call_id(call, 0, &wish.run_id, err);
    if (rc == RC_OK)
        rc = refuse_closed(call, err);
    if (rc != RC_OK)
        return rc;
    struct stream *stream = stream_new(call, &wish, after_seq);
    if (ask_for_page(stream) != RC_OK) {
        call->http.on_gone = NULL;
        kill_stream(stream);
        free_if_alone(stream);
        return err_set(err, RC_BUSY, "TOO_MANY_QUERIES", "too many queries wait; try again");
    }
    return RC_OK;
}

enum rc api_event_stream(struct call *call, struct err *err)
{
    struct params params;
    struct wish wish = {0};
    int64_t after_seq = -1; /* From now on. */
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    read_place(call, &params, &after_seq);
    event_params_read(&params, &call->http.arena, &wish.selector);
    event_params_owner(&params, &wish.run_id, &wish.task_id);
    rc = params_end(&params);
    if (rc == RC_OK)
        rc = refuse_closed(call, err);
    if (rc != RC_OK)
        return rc;
    begin(stream_new(call, &wish, after_seq));
    return RC_OK;
}

/* ---- All of them ---- */

static void on_tick(void *arg)
{
    struct sse *sse = arg;
    if (LIST_EMPTY(&sse->streams))
        loop_pace(sse->tick, 0);
    bool ping = ++sse->ticks % PING_TICKS == 0;
    struct clock clock = control_clock(sse->api->control);
    int64_t now_us = clock_now_us(&clock);
    struct stream *stream, *next;
    for (stream = LIST_FIRST(&sse->streams); stream != NULL; stream = next) {
        next = LIST_NEXT(stream, all);
        struct http_request *request = &stream->call->http;
        int64_t expires_us = stream->call->who.expires_us;
        if (stream->state != STREAM_OPENING && expires_us != 0 && expires_us <= now_us) {
            end_stream(stream, LOST_COMMENT);
            continue;
        }
        if (ping && stream->state != STREAM_OPENING && http_stream_backlog(request) == 0)
            http_stream_write(request, STR(": ping\n\n"));
        if (stream->state == STREAM_PAUSED && is_slow(stream) && !stream->moved)
            unsubscribe(stream);
        stream->moved = false;
        resume(stream);
    }
}

void sse_end_lost(struct sse *sse)
{
    struct stream *stream, *next;
    for (stream = LIST_FIRST(&sse->streams); stream != NULL; stream = next) {
        next = LIST_NEXT(stream, all);
        if (!auth_alive(sse->api->auth, &stream->call->who) && stream->state != STREAM_OPENING)
            end_stream(stream, LOST_COMMENT);
    }
}

struct sse *sse_new(struct api *api, const struct sse_limits *limits)
{
    struct sse *sse = mem_alloc(sizeof *sse);
    sse->api = api;
    /* Half of a stream's share: buffers grow by doubling. */
    int64_t share = limits->bytes / limits->streams / 2;
    sse->window = share < WINDOW_BYTES_MIN   ? WINDOW_BYTES_MIN
                  : share > WINDOW_BYTES_MAX ? WINDOW_BYTES_MAX
                                             : (size_t)share;
    sse->bytes = (size_t)limits->bytes;
    LIST_INIT(&sse->streams);
    sse->tick = loop_every(api->loop, 0, on_tick, sse);
    return sse;
}

/* What has been published to it is sent: a channel holds a window of it at most. */
static void drain(struct stream *stream)
{
    while (stream->state == STREAM_LIVE && !is_slow(stream)) {
        enum taken taken = take_live(stream, &stream->page.text);
        send_text(stream);
        if (taken != TAKEN_SOME)
            return;
    }
}

/* Clients that return all at once would meet a server that has just started: each is told another
   time. */
void sse_close(struct sse *sse)
{
    char comment[64];
    int return_ms = RETURN_MS;
    sse->closed = true;
    struct stream *stream, *next;
    for (stream = LIST_FIRST(&sse->streams); stream != NULL; stream = next) {
        next = LIST_NEXT(stream, all);
        if (stream->state == STREAM_OPENING)
            continue;
        drain(stream);
        (void)snprintf(comment, sizeof comment, "retry: %d\n: the server is stopping\n\n",
                       return_ms);
        end_stream(stream, comment);
        return_ms = return_ms < RETURN_MS_MAX ? return_ms + RETURN_STEP_MS : RETURN_MS;
    }
}

void sse_free(struct sse *sse)
{
    if (sse == NULL)
        return;
    assert(LIST_EMPTY(&sse->streams));
    loop_event_free(sse->tick);
    mem_free(sse);
}

int64_t sse_count(const struct sse *sse)
{
    return atomic_load(&sse->count);
}
