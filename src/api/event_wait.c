/*
 * event_wait.c - see event_wait.h for the states.
 *
 * A wait lives on the loop.  Two parts of it may be used by other threads: a pool thread fills its
 * text while it reads, and the bus's sender has posted its wake to the mailbox.  One that is
 * answered is freed when both have returned.
 */
#include "api/event_wait.h"
#include "api/event_params.h"
#include "api/event_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/events.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

enum {
    EVENTS_DEFAULT = 50,
    EVENTS_MAX = 100,
    TEXT_BYTES = 1024 * 1024, /* Of an answer; the event that passes it is the last. */
    EVENT_BYTES_MAX = 4 * 1024 * 1024,
    TEXT_BYTES_MAX = TEXT_BYTES + EVENT_BYTES_MAX,
    TICK_MS = 50,
    HERD = 16,            /* So many sources at once are read as soon as they are woken; */
    HERD_TICK_MS = 5,     /* of more each waits a moment, */
    HERD_US_EACH = 500,   /* on average half of this for each of them, */
    HERD_US_MAX = 100000, /* and this at most. */
};

enum wait_state { WAIT_READING, WAIT_WAITING, WAIT_DONE };

struct event_wait {
    struct call *call;
    struct event_waits *waits;
    enum wait_state state;
    bool gone; /* The client, while the pool has it. */
    struct event_filter filter;
    struct event_selector selector; /* filter points to it. */
    char *texts;                    /* Of the selector; or NULL. */
    int64_t until_us;               /* On the monotonic clock. */
    int64_t cursor;         /* No event that matches lies between filter.after_seq and here. */
    struct event_page page; /* Its text is empty but between a read and its answer. */
    const struct event_source *source; /* or NULL: the filter above */
    void *source_ctx;
    bool woken;     /* By the bus, while the source was read. */
    int64_t due_us; /* Woken with many others: it is read then; 0: it was not. */
    enum rc rc;
    struct err err;
    struct pool_work work;
    struct loop_call done; /* The pool is done. */
    struct subscription *subscription;
    struct loop_call wake;
    atomic_bool wake_posted;
    LIST_ENTRY(event_wait) all;
};
LIST_HEAD(event_wait_list, event_wait);

struct event_waits {
    struct api *api;
    struct event_wait_list list;
    struct event *tick; /* At rest without waits. */
    int64_t next_us;    /* No time is over before; INT64_MAX: none runs. */
    int64_t sources;    /* Waits that have one. */
    bool herd;          /* Some of them wait for their turn. */
    struct random random;
    bool closed;
    atomic_int_fast64_t count;
};

/* ---- the end ---- */

static void free_if_alone(struct event_wait *wait)
{
    if (wait->state != WAIT_DONE || atomic_load(&wait->wake_posted))
        return;
    buf_release(&wait->page.text);
    arena_release(&wait->page.arena);
    if (wait->source != NULL)
        wait->source->free(wait->source_ctx);
    mem_free(wait->texts);
    mem_free(wait);
}

static void unsubscribe(struct event_wait *wait)
{
    if (wait->subscription != NULL)
        bus_unsubscribe(control_bus(wait->waits->api->control), wait->subscription);
    wait->subscription = NULL;
}

/* The answer is there, or the client is gone. */
static void finish(struct event_wait *wait)
{
    assert(wait->state != WAIT_DONE);
    wait->state = WAIT_DONE;
    unsubscribe(wait);
    LIST_REMOVE(wait, all);
    wait->waits->sources -= wait->source != NULL;
    atomic_fetch_sub(&wait->waits->count, 1);
    wait->call->wait = NULL;
    wait->call->http.on_gone = NULL;
    http_finish(&wait->call->http);
    free_if_alone(wait);
}

static void answer(struct event_wait *wait)
{
    struct jw jw = call_answer(wait->call, 200);
    jw_begin(&jw, '{');
    jw_key(&jw, "events");
    jw_begin(&jw, '[');
    if (wait->page.text.len > 0)
        jw_raw(&jw, buf_str(&wait->page.text));
    jw_end(&jw, ']');
    if (wait->source != NULL)
        jw_kstr(&jw, "cursor", wait->page.cursor);
    else
        jw_kint(&jw, "cursor", wait->cursor);
    jw_end(&jw, '}');
    finish(wait);
}

static void on_gone(struct http_request *request)
{
    struct event_wait *wait = ((struct call *)request)->wait;
    if (wait->state == WAIT_READING)
        wait->gone = true; /* The pool uses it. */
    else
        finish(wait);
}

/* ---- the bus ---- */

static void post_wake(void *ctx)
{
    struct event_wait *wait = ctx;
    if (!atomic_exchange(&wait->wake_posted, true))
        loop_post(wait->waits->api->loop, &wait->wake);
}

static struct subscription *subscribe(struct event_wait *wait)
{
    const struct event_filter *filter = &wait->filter;
    struct subscription_options options = {
        .who = wait->source != NULL ? BUS_CONSUMER : BUS_WAIT,
        .filter = {.selector = wait->selector,
                   .task_id = filter->task_id,
                   .run_id = filter->run_id,
                   .after_seq = filter->after_seq},
        .wake = post_wake,
        .ctx = wait,
    };
    if (wait->source != NULL)
        memcpy(options.filter.selector.types, wait->page.types, sizeof wait->page.types);
    return bus_subscribe(control_bus(wait->waits->api->control), &options);
}

/* ---- from the log ---- */

static void add_event(struct buf *text, struct str json)
{
    if (text->len > 0)
        buf_adds(text, ",");
    buf_add(text, json.at, json.len);
}

bool event_page_full(const struct event_page *page)
{
    return page->text.len >= TEXT_BYTES;
}

void event_page_add(struct event_page *page, const struct event *event)
{
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, EVENT_BYTES_MAX);
    if (event_text(event, &json))
        add_event(&page->text, buf_str(&json));
}

static enum rc read_log(struct event_wait *wait, struct db *db, struct arena *arena)
{
    struct event_page *page = &wait->page;
    struct scan scan = {.rows_max = SCAN_ROWS_MAX};
    struct event *events = NULL;
    size_t count = 0, written = 0;
    wait->filter.scan = &scan;
    enum rc rc = events_list(db, &wait->filter, arena, &events, &count, &wait->err);
    wait->filter.scan = NULL;
    if (rc != RC_OK)
        return rc;
    for (; written < count && !event_page_full(page); written++) {
        event_page_add(page, &events[written]);
        wait->cursor = events[written].seq;
    }
    page->found = count > 0 || scan.end_seq > 0;
    if (written == count && (int64_t)count < wait->filter.limit) /* None of the rest matches. */
        wait->cursor = scan.end_seq > 0 ? scan.end_seq : wait->filter.until_seq;
    return RC_OK;
}

/* Subscribes before it reads, so that no event is missed between; which types the source wants is
   known after its first read. */
static enum rc read_source(struct event_wait *wait, struct db *db)
{
    struct event_page *page = &wait->page;
    bool again = true;
    enum rc rc = RC_OK;
    while (rc == RC_OK && again) {
        buf_clear(&page->text);
        arena_reset(&page->arena);
        page->found = page->unsettled = false;
        memset(page->types, 0, sizeof page->types);
        rc = wait->source->read(wait->source_ctx, wait->call, db, page, &wait->err);
        again = rc == RC_OK && !page->found && wait->subscription == NULL &&
                clock_mono_us() < wait->until_us;
        if (again)
            wait->subscription = subscribe(wait);
    }
    return rc;
}

/* On a pool thread. */
static void fill(struct pool_work *work, struct db *db)
{
    struct event_wait *wait = (struct event_wait *)((char *)work -
                                                    offsetof(struct event_wait, work));
    CLEANUP(arena_release) struct arena arena = {0};
    const struct call *call = wait->call;
    if (wait->source != NULL) {
        wait->rc = read_source(wait, db);
        loop_post(wait->waits->api->loop, &wait->done);
        return;
    }
    wait->rc = auth_agent(&call->who, call->route, wait->filter.run_id.text, db, &arena,
                          &wait->err);
    if (wait->rc == RC_OK && wait->filter.after_seq < wait->filter.until_seq)
        wait->rc = read_log(wait, db, &arena);
    loop_post(wait->waits->api->loop, &wait->done);
}

/* ---- waiting ---- */

static bool is_over(const struct event_wait *wait)
{
    return wait->waits->closed || clock_mono_us() >= wait->until_us;
}

/* The pool does it.  A full one is a reason to answer with none: the client asks again. */
static void read_again(struct event_wait *wait)
{
    envelope_unref(subscription_take(wait->subscription)); /* The next event wakes it again. */
    wait->woken = false;
    wait->due_us = 0;
    wait->state = WAIT_READING;
    if (pool_post(wait->waits->api->pool, &wait->work) == RC_OK)
        return;
    wait->state = WAIT_WAITING;
    wait->until_us = wait->waits->next_us = 0; /* The next tick does. */
}

/* The first that has come since it subscribed; the log had none before it. */
static bool take(struct event_wait *wait)
{
    if (wait->source != NULL)
        return false;
    struct envelope *envelope = subscription_take(wait->subscription);
    if (envelope == NULL)
        return false;
    add_event(&wait->page.text, envelope->json);
    wait->cursor = envelope->seq;
    envelope_unref(envelope);
    return true;
}

static void set_pace(struct event_waits *waits)
{
    loop_pace(waits->tick, waits->herd ? HERD_TICK_MS : TICK_MS);
}

/* One event wakes all that want it: many of them would ask the store at the same moment. */
static void read_soon(struct event_wait *wait)
{
    struct event_waits *waits = wait->waits;
    if (waits->sources <= HERD) {
        read_again(wait);
        return;
    }
    if (wait->due_us != 0)
        return;
    int64_t span_us = waits->sources * HERD_US_EACH;
    span_us = span_us < HERD_US_MAX ? span_us : HERD_US_MAX;
    wait->due_us = clock_mono_us() + (int64_t)random_below(&waits->random, (uint64_t)span_us);
    if (wait->due_us < waits->next_us)
        waits->next_us = wait->due_us;
    waits->herd = true;
    set_pace(waits);
}

/* What is there is answered; else its time runs.  A wake while it was read has been let pass. */
static void settle(struct event_wait *wait)
{
    wait->state = WAIT_WAITING;
    if (wait->page.found || take(wait) || is_over(wait)) {
        answer(wait);
        return;
    }
    if (wait->woken) {
        read_soon(wait);
        return;
    }
    http_shed(&wait->call->http);
    if (wait->page.unsettled)
        wait->waits->next_us = 0; /* Looks again at the next tick. */
    else if (wait->until_us < wait->waits->next_us)
        wait->waits->next_us = wait->until_us;
    set_pace(wait->waits);
}

static void on_read(struct loop_call *posted)
{
    struct event_wait *wait = (struct event_wait *)((char *)posted -
                                                    offsetof(struct event_wait, done));
    if (wait->rc != RC_OK && !wait->gone)
        call_fail(wait->call, wait->rc, &wait->err);
    if (wait->rc != RC_OK || wait->gone)
        finish(wait);
    else
        settle(wait);
}

static void on_wake(struct loop_call *posted)
{
    struct event_wait *wait = (struct event_wait *)((char *)posted -
                                                    offsetof(struct event_wait, wake));
    atomic_store(&wait->wake_posted, false);
    if (wait->state == WAIT_DONE)
        free_if_alone(wait);
    else if (wait->source != NULL && wait->state == WAIT_READING)
        wait->woken = true;
    else if (wait->source != NULL)
        read_soon(wait);
    else if (wait->state == WAIT_WAITING && take(wait))
        answer(wait);
}

/* Ends those whose time is over, and reads those whose turn it is. */
static void end_those_over(struct event_waits *waits)
{
    struct event_wait *wait, *next;
    int64_t now_us = clock_mono_us();
    waits->herd = false;
    waits->next_us = INT64_MAX;
    for (wait = LIST_FIRST(&waits->list); wait != NULL; wait = next) {
        next = LIST_NEXT(wait, all);
        bool waiting = wait->state == WAIT_WAITING;
        bool due = wait->due_us != 0 && wait->due_us <= now_us;
        if (waiting && is_over(wait)) {
            answer(wait);
        } else if (waiting && (wait->page.unsettled || due)) {
            read_again(wait);
        } else {
            int64_t next_us = waiting && wait->due_us != 0 ? wait->due_us : wait->until_us;
            waits->herd |= waiting && wait->due_us != 0;
            waits->next_us = next_us < waits->next_us ? next_us : waits->next_us;
        }
    }
    set_pace(waits);
}

static void on_tick(void *ctx)
{
    struct event_waits *waits = ctx;
    if (clock_mono_us() >= waits->next_us)
        end_those_over(waits);
    if (LIST_EMPTY(&waits->list))
        loop_pace(waits->tick, 0);
}

/* ---- the route ---- */

struct wish {
    struct event_filter filter;
    struct event_selector selector;
    int64_t after_seq; /* -1: from now on. */
    int64_t wait_ms;
};

static enum rc read_wish(struct call *call, struct wish *wish, struct err *err)
{
    struct params params;
    struct event_filter *filter = &wish->filter;
    enum rc rc = call_params(call, &params, err);
    if (rc != RC_OK)
        return rc;
    params_int(&params, "after", &(struct param_range){0, INT64_MAX}, &wish->after_seq);
    event_params_read(&params, &call->http.arena, &wish->selector);
    event_params_owner(&params, &filter->run_id, &filter->task_id);
    params_int(&params, "limit", &(struct param_range){1, EVENTS_MAX}, &filter->limit);
    params_int(&params, "waitMs", &(struct param_range){0, EVENT_WAIT_MS_MAX}, &wish->wait_ms);
    return params_end(&params);
}

/* The token of a run's agent waits for events of its own run, also where it names none. */
static enum rc bind_to_run(const struct identity *who, struct event_filter *filter, struct err *err)
{
    if (who->role != ROLE_AGENT)
        return RC_OK;
    bool own = id_is_none(&filter->run_id) || id_same(&filter->run_id, &who->run_id);
    if (!own || !id_is_none(&filter->task_id))
        return err_set(err, RC_DENIED, "NOT_YOUR_RUN",
                       "an agent's token waits for events of its own run only");
    filter->run_id = who->run_id;
    return RC_OK;
}

static struct event_wait *wait_new(struct call *call, int64_t wait_ms)
{
    struct event_waits *waits = call->api->waits;
    struct event_wait *wait = mem_alloc(sizeof *wait);
    wait->call = call;
    wait->waits = waits;
    wait->until_us = clock_mono_us() + wait_ms * US_PER_MS;
    wait->done.run = on_read;
    wait->wake.run = on_wake;
    wait->work = (struct pool_work){.run = fill, .class = POOL_STREAM};
    buf_init(&wait->page.text, TEXT_BYTES_MAX);
    LIST_INSERT_HEAD(&waits->list, wait, all);
    atomic_fetch_add(&waits->count, 1);
    call->wait = wait;
    http_watch(&call->http, on_gone);
    return wait;
}

static struct event_wait *wait_for(struct call *call, const struct wish *wish)
{
    struct event_wait *wait = wait_new(call, wish->wait_ms);
    struct control *control = call->api->control;
    wait->filter = wish->filter;
    wait->texts = mem_alloc(event_selector_bytes(&wish->selector) + 1);
    event_selector_pack(&wait->selector, &wish->selector, wait->texts);
    wait->filter.selector = &wait->selector;
    wait->cursor = wish->after_seq >= 0 ? wish->after_seq : control_tail_seq(control);
    wait->filter.after_seq = wait->cursor;
    wait->subscription = subscribe(wait);
    wait->filter.until_seq = control_tail_seq(control);
    return wait;
}

static void start_reading(struct event_wait *wait)
{
    if (pool_post(wait->waits->api->pool, &wait->work) == RC_OK)
        return;
    call_fail(
        wait->call, RC_BUSY,
        &(struct err){.code = "TOO_MANY_QUERIES", .text = "too many queries wait; try again"});
    finish(wait);
}

enum rc api_event_next(struct call *call, struct err *err)
{
    struct wish wish = {.filter = {.limit = EVENTS_DEFAULT}, .after_seq = -1};
    enum rc rc = read_wish(call, &wish, err);
    if (rc == RC_OK)
        rc = bind_to_run(&call->who, &wish.filter, err);
    if (rc != RC_OK)
        return rc;
    struct event_wait *wait = wait_for(call, &wish);
    bool nothing_to_read = wait->filter.after_seq >= wait->filter.until_seq;
    if (nothing_to_read && call->who.role != ROLE_AGENT) {
        settle(wait);
        return RC_OK;
    }
    start_reading(wait);
    return RC_OK;
}

void event_wait_on(struct call *call, const struct event_source *source, void *ctx, int64_t wait_ms)
{
    struct event_wait *wait = wait_new(call, wait_ms);
    wait->source = source;
    wait->source_ctx = ctx;
    wait->waits->sources++;
    start_reading(wait);
}

/* ---- all of them ---- */

struct event_waits *event_waits_new(struct api *api)
{
    struct event_waits *waits = mem_alloc(sizeof *waits);
    waits->api = api;
    waits->next_us = INT64_MAX;
    waits->random = random_from_os();
    LIST_INIT(&waits->list);
    waits->tick = loop_every(api->loop, 0, on_tick, waits);
    return waits;
}

void event_waits_close(struct event_waits *waits)
{
    waits->closed = true;
    end_those_over(waits);
}

int64_t event_waits_count(const struct event_waits *waits)
{
    return atomic_load(&waits->count);
}

void event_waits_free(struct event_waits *waits)
{
    if (waits == NULL)
        return;
    assert(LIST_EMPTY(&waits->list));
    loop_event_free(waits->tick);
    mem_free(waits);
}
