/*
 * event_wait.c - see event_wait.h for the states.
 *
 * A wait lives on the loop.  Two parts of it may be used by other threads: a pool thread fills its
 * text while it reads, and the bus's sender has posted its wake to the mailbox.  One that is
 * answered is freed when both have returned.
 */
#include "api/event_wait.h"
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
    WAIT_MS_MAX = 30 * 1000,
    TICK_MS = 50,
};

enum wait_state { WAIT_READING, WAIT_WAITING, WAIT_DONE };

struct event_wait {
    struct call *call;
    struct event_waits *waits;
    enum wait_state state;
    bool gone; /* The client, while the pool has it. */
    struct event_filter filter;
    char *type_pattern; /* or NULL; filter points to it. */
    int64_t until_us;   /* On the monotonic clock. */
    int64_t cursor;     /* No event that matches lies between filter.after_seq and here. */
    struct buf text;    /* Events, joined by commas; empty but between a read and its answer. */
    bool found;         /* There are some, or more of the log is to be read: not to wait. */
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
    bool closed;
    atomic_int_fast64_t count;
};

/* ---- the end ---- */

static void free_if_alone(struct event_wait *wait)
{
    if (wait->state != WAIT_DONE || atomic_load(&wait->wake_posted))
        return;
    buf_release(&wait->text);
    mem_free(wait->type_pattern);
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
    if (wait->text.len > 0)
        jw_raw(&jw, buf_str(&wait->text));
    jw_end(&jw, ']');
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

/* ---- from the log ---- */

static void add_event(struct buf *text, struct str json)
{
    if (text->len > 0)
        buf_adds(text, ",");
    buf_add(text, json.at, json.len);
}

static enum rc read_log(struct event_wait *wait, struct db *db, struct arena *arena)
{
    CLEANUP(buf_release) struct buf json;
    buf_init(&json, EVENT_BYTES_MAX);
    struct scan scan = {.rows_max = SCAN_ROWS_MAX};
    struct event *events = NULL;
    size_t count = 0, written = 0;
    wait->filter.scan = &scan;
    enum rc rc = events_list(db, &wait->filter, arena, &events, &count, &wait->err);
    wait->filter.scan = NULL;
    if (rc != RC_OK)
        return rc;
    for (; written < count && wait->text.len < TEXT_BYTES; written++) {
        struct jw jw = jw_to(&json);
        buf_clear(&json);
        event_write(&jw, &events[written]);
        add_event(&wait->text, buf_str(&json));
        wait->cursor = events[written].seq;
    }
    wait->found = count > 0 || scan.end_seq > 0;
    if (written == count && (int64_t)count < wait->filter.limit) /* None of the rest matches. */
        wait->cursor = scan.end_seq > 0 ? scan.end_seq : wait->filter.until_seq;
    return RC_OK;
}

/* On a pool thread. */
static void fill(struct pool_work *work, struct db *db)
{
    struct event_wait *wait = (struct event_wait *)((char *)work -
                                                    offsetof(struct event_wait, work));
    CLEANUP(arena_release) struct arena arena = {0};
    const struct call *call = wait->call;
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

/* The first that has come since it subscribed; the log had none before it. */
static bool take(struct event_wait *wait)
{
    struct envelope *envelope = subscription_take(wait->subscription);
    if (envelope == NULL)
        return false;
    add_event(&wait->text, envelope->json);
    wait->cursor = envelope->seq;
    envelope_unref(envelope);
    return true;
}

/* What is there is answered; else its time runs.  A wake while it was read has been let pass. */
static void settle(struct event_wait *wait)
{
    wait->state = WAIT_WAITING;
    if (wait->found || take(wait) || is_over(wait)) {
        answer(wait);
        return;
    }
    http_shed(&wait->call->http);
    if (wait->until_us < wait->waits->next_us)
        wait->waits->next_us = wait->until_us;
    loop_pace(wait->waits->tick, TICK_MS);
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

static void post_wake(void *ctx)
{
    struct event_wait *wait = ctx;
    if (!atomic_exchange(&wait->wake_posted, true))
        loop_post(wait->waits->api->loop, &wait->wake);
}

static void on_wake(struct loop_call *posted)
{
    struct event_wait *wait = (struct event_wait *)((char *)posted -
                                                    offsetof(struct event_wait, wake));
    atomic_store(&wait->wake_posted, false);
    if (wait->state == WAIT_DONE)
        free_if_alone(wait);
    else if (wait->state == WAIT_WAITING && take(wait))
        answer(wait);
}

static void end_those_over(struct event_waits *waits)
{
    struct event_wait *wait, *next;
    waits->next_us = INT64_MAX;
    for (wait = LIST_FIRST(&waits->list); wait != NULL; wait = next) {
        next = LIST_NEXT(wait, all);
        if (wait->state == WAIT_WAITING && is_over(wait))
            answer(wait);
        else if (wait->until_us < waits->next_us)
            waits->next_us = wait->until_us;
    }
}

static void on_tick(void *ctx)
{
    struct event_waits *waits = ctx;
    if (LIST_EMPTY(&waits->list))
        loop_pace(waits->tick, 0);
    if (clock_mono_us() >= waits->next_us)
        end_those_over(waits);
}

/* ---- the route ---- */

struct wish {
    struct event_filter filter;
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
    params_text(&params, "type", EVENT_TYPE_MAX, &filter->type_pattern);
    params_id(&params, "runId", &filter->run_id);
    params_id(&params, "taskId", &filter->task_id);
    params_int(&params, "limit", &(struct param_range){1, EVENTS_MAX}, &filter->limit);
    params_int(&params, "waitMs", &(struct param_range){0, WAIT_MS_MAX}, &wish->wait_ms);
    if (!id_is_none(&filter->run_id) && !id_is_none(&filter->task_id))
        params_fail(&params, "taskId", "give runId or taskId, not both");
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

static struct subscription *subscribe(struct event_wait *wait)
{
    const struct event_filter *filter = &wait->filter;
    const struct subscription_options options = {
        .name = "wait",
        .filter = {.types = {filter->type_pattern},
                   .task_id = filter->task_id,
                   .run_id = filter->run_id,
                   .after_seq = filter->after_seq},
        .capacity = 1,
        .overflow = BUS_DROP_NEW,
        .wake = post_wake,
        .ctx = wait,
    };
    return bus_subscribe(control_bus(wait->waits->api->control), &options);
}

static struct event_wait *wait_new(struct call *call, const struct wish *wish)
{
    struct event_waits *waits = call->api->waits;
    struct event_wait *wait = mem_alloc(sizeof *wait);
    wait->call = call;
    wait->waits = waits;
    wait->filter = wish->filter;
    if (wish->filter.type_pattern != NULL)
        wait->filter.type_pattern = wait->type_pattern = mem_strdup(wish->filter.type_pattern);
    wait->until_us = clock_mono_us() + wish->wait_ms * US_PER_MS;
    wait->done.run = on_read;
    wait->wake.run = on_wake;
    wait->work = (struct pool_work){.run = fill, .class = POOL_STREAM};
    buf_init(&wait->text, TEXT_BYTES_MAX);
    wait->cursor = wish->after_seq >= 0 ? wish->after_seq : control_tail_seq(call->api->control);
    wait->filter.after_seq = wait->cursor;
    wait->subscription = subscribe(wait);
    wait->filter.until_seq = control_tail_seq(call->api->control);
    LIST_INSERT_HEAD(&waits->list, wait, all);
    atomic_fetch_add(&waits->count, 1);
    call->wait = wait;
    http_watch(&call->http, on_gone);
    return wait;
}

enum rc api_event_next(struct call *call, struct err *err)
{
    struct wish wish = {.filter = {.limit = EVENTS_DEFAULT}, .after_seq = -1};
    enum rc rc = read_wish(call, &wish, err);
    if (rc == RC_OK)
        rc = bind_to_run(&call->who, &wish.filter, err);
    if (rc != RC_OK)
        return rc;
    struct event_wait *wait = wait_new(call, &wish);
    bool nothing_to_read = wait->filter.after_seq >= wait->filter.until_seq;
    if (nothing_to_read && call->who.role != ROLE_AGENT) {
        settle(wait);
        return RC_OK;
    }
    if (pool_post(call->api->pool, &wait->work) == RC_OK)
        return RC_OK;
    call_fail(
        call, RC_BUSY,
        &(struct err){.code = "TOO_MANY_QUERIES", .text = "too many queries wait; try again"});
    finish(wait);
    return RC_OK;
}

/* ---- all of them ---- */

struct event_waits *event_waits_new(struct api *api)
{
    struct event_waits *waits = mem_alloc(sizeof *waits);
    waits->api = api;
    waits->next_us = INT64_MAX;
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
