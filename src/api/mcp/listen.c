#include "api/mcp/listen.h"
#include "api/mcp/input.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/resources.h"
#include "api/mcp/session.h"
#include "api/mcp/tasks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "core/mcp/uri.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum {
    PING_US = 15000000,
    PARAMS_BYTES_MAX = 1024 * 1024 + 4096,
    BACKLOG_BYTES_MAX = 16 * 1024, /* Of a client that does not read; and one notification. */
};

/* One resource or task.  Its wake may be on its way to the loop when it is given up: it is freed
   when both have happened. */
struct watch {
    struct listener *listener; /* NULL: given up. */
    char *uri;                 /* Of a resource; NULL: a task. */
    struct id task_id;         /* Of a task. */
    struct subscription *subscription;
    struct loop_call wake;
    atomic_bool posted;
    bool known; /* It was read once: it is there, and the client may read it. */
    bool dirty;
};

struct listener {
    struct rpc *rpc;
    unsigned lists; /* LISTEN_* */
    size_t count;
    struct watch *watches[LISTEN_WATCHES_MAX];
    struct watch *checking; /* Opening: it is being read; NULL: none, or it was given up. */
    struct id telling;      /* The task that is being read for its notification. */
    bool open;              /* Acknowledged. */
    bool closing;           /* It ends as soon as nothing is asked for it. */
    bool again;             /* The server was too busy: the next tick tries again. */
    int64_t ping_us;
};

static void go_on(struct rpc *rpc);

/* ---- Watches ---- */

static struct bus *bus_of(const struct listener *listener)
{
    return control_bus(listener->rpc->call->api->control);
}

static void watch_free(struct watch *watch)
{
    mem_free(watch->uri);
    mem_free(watch);
}

static void give_up(struct listener *listener, struct watch *watch)
{
    size_t index = 0;
    while (listener->watches[index] != watch)
        index++;
    bus_unsubscribe(bus_of(listener), watch->subscription);
    watch->listener = NULL;
    if (listener->checking == watch)
        listener->checking = NULL;
    listener->watches[index] = listener->watches[--listener->count];
    if (!atomic_load(&watch->posted))
        watch_free(watch);
}

void listener_free(struct listener *listener)
{
    if (listener == NULL)
        return;
    struct session *session = listener->rpc->session;
    if (session != NULL && session->stream == listener->rpc)
        session->stream = NULL;
    while (listener->count > 0)
        give_up(listener, listener->watches[listener->count - 1]);
    atomic_fetch_sub(&listener->rpc->call->api->mcp_streams, 1);
    mem_free(listener);
}

static void on_wake(struct loop_call *call)
{
    struct watch *watch = (struct watch *)((char *)call - offsetof(struct watch, wake));
    struct envelope *envelope;
    atomic_store(&watch->posted, false);
    if (watch->listener == NULL) {
        watch_free(watch);
        return;
    }
    while ((envelope = subscription_take(watch->subscription)) != NULL)
        envelope_unref(envelope);
    watch->dirty = true;
    struct rpc *rpc = watch->listener->rpc;
    if (watch->listener->open && rpc->inner == NULL)
        go_on(rpc);
}

static void on_drained(struct rpc *rpc)
{
    if (rpc->listener->open && rpc->inner == NULL)
        go_on(rpc);
}

/* On the bus's thread. */
static void post_wake(void *arg)
{
    struct watch *watch = arg;
    if (!atomic_exchange(&watch->posted, true))
        loop_post(watch->listener->rpc->call->api->loop, &watch->wake);
}

/* That of a resource, or with uri NULL of a task; NULL: none. */
static struct watch *find_watch(const struct listener *listener, const char *uri,
                                const struct id *task_id)
{
    for (size_t i = 0; i < listener->count; i++) {
        struct watch *watch = listener->watches[i];
        bool same = uri != NULL ? text_same(watch->uri, uri)
                                : watch->uri == NULL && id_same(&watch->task_id, task_id);
        if (same)
            return watch;
    }
    return NULL;
}

static void mark_dirty(const struct listener *listener, const char *uri, const struct id *task_id)
{
    struct watch *watch = find_watch(listener, uri, task_id);
    if (watch != NULL)
        watch->dirty = true;
}

/* filter: whose events say that it has changed.  uri is copied.  One that it has already, or that
   is too many, is left out. */
static void add_watch(struct listener *listener, const char *uri, const struct bus_filter *filter)
{
    if (listener->count == LISTEN_WATCHES_MAX ||
        find_watch(listener, uri, &filter->task_id) != NULL)
        return;
    struct watch *watch = mem_alloc(sizeof *watch);
    watch->listener = listener;
    watch->uri = uri != NULL ? mem_strdup(uri) : NULL;
    watch->task_id = filter->task_id;
    watch->wake.run = on_wake;
    struct subscription_options options = {
        .who = BUS_MCP,
        .filter = *filter,
        .wake = post_wake,
        .ctx = watch,
    };
    listener->watches[listener->count++] = watch;
    watch->subscription = bus_subscribe(bus_of(listener), &options);
}

/* The events that a resource depends on.  false: it does not change, or there is none. */
static bool filter_of(const char *uri, struct arena *arena, struct bus_filter *ret_filter)
{
    const char *vars[ROUTE_VARS_MAX] = {0};
    const struct resource_row *row = resources_find(uri, arena, vars);
    struct id id;
    if (row == NULL || row->of == RESOURCE_STILL || !id_parse(vars[0], &id))
        return false;
    *ret_filter = (struct bus_filter){0};
    if (row->of == RESOURCE_OF_RUN)
        ret_filter->run_id = id;
    else
        ret_filter->task_id = id;
    return true;
}

/* ---- Sending ---- */

static void notify(struct rpc *rpc, const char *method, struct str members)
{
    CLEANUP(buf_release) struct buf params;
    buf_init(&params, PARAMS_BYTES_MAX);
    struct jw jw = jw_to(&params);
    jw_begin(&jw, '{');
    if (rpc->id != NULL) { /* A modern client's: its id names the subscription. */
        jw_key(&jw, "_meta");
        jw_begin(&jw, '{');
        jw_kraw(&jw, MCP_META_SUBSCRIPTION, str_of(rpc->id));
        jw_end(&jw, '}');
    }
    if (members.len > 0) {
        buf_adds(&params, rpc->id != NULL ? "," : "");
        buf_add(&params, members.at, members.len);
    }
    jw_end(&jw, '}');
    (void)rpc_notify(rpc, method, params.len > 2 ? buf_str(&params) : (struct str){0});
    rpc->listener->ping_us = clock_mono_us() + PING_US;
}

static void notify_updated(struct rpc *rpc, const char *uri)
{
    CLEANUP(buf_release) struct buf members;
    buf_init(&members, MCP_URI_BYTES_MAX * 8);
    struct jw jw = jw_to(&members);
    jw_kstr(&jw, "uri", uri);
    notify(rpc, "notifications/resources/updated", buf_str(&members));
}

static void end(struct rpc *rpc)
{
    if (rpc->id == NULL || http_gone(&rpc->call->http)) {
        rpc_drop(rpc);
        return;
    }
    CLEANUP(buf_release) struct buf meta;
    buf_init(&meta, 1024);
    buf_addf(&meta, "\"" MCP_META_SUBSCRIPTION "\":%s", rpc->id);
    rpc->meta = buf_str(&meta);
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

/* Too much is under way: what was to be read is read later. */
static bool is_busy(const struct http_request *inner)
{
    return inner->answer.status == 429 || inner->answer.status == 503;
}

static void try_later(struct rpc *rpc)
{
    rpc->listener->again = true;
    mcp_need_tick(rpc->mcp);
}

static void then_described(struct rpc *rpc, const struct http_request *inner, struct str members)
{
    struct listener *listener = rpc->listener;
    if (http_gone(&rpc->call->http)) {
        rpc_drop(rpc);
        return;
    }
    if (members.len == 0 && is_busy(inner)) {
        mark_dirty(listener, NULL, &listener->telling);
        try_later(rpc);
        return;
    }
    if (members.len > 0)
        notify(rpc, "notifications/tasks", members);
    else if (rpc->call->who.role == ROLE_AGENT) {
        end(rpc);
        return;
    }
    go_on(rpc);
}

/* The resource was read again: the token is still good for it. */
static void then_reread(struct rpc *rpc, struct http_request *inner)
{
    CLEANUP(mem_freep) char *uri = rpc->own;
    bool gone = http_gone(&rpc->call->http);
    rpc->own = NULL;
    if (!gone && is_busy(inner)) {
        mark_dirty(rpc->listener, uri, NULL);
        try_later(rpc);
        return;
    }
    if (gone || !rpc_answer_ok(inner)) {
        end(rpc);
        return;
    }
    notify_updated(rpc, uri);
    go_on(rpc);
}

static void ask_resource(struct rpc *rpc, const char *uri, rpc_then *then)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *vars[ROUTE_VARS_MAX] = {0};
    const struct resource_row *row = resources_find(uri, &arena, vars);
    assert(row != NULL);
    struct rpc_ask ask = {
        .route = rpc_route(HTTP_GET, row->pattern), .vars = {vars[0], vars[1]}, .keep = true};
    rpc_ask(rpc, &ask, then);
}

/* Sends for what is dirty, one after the other, as fast as the client reads: on_drained continues.
 */
static void go_on(struct rpc *rpc)
{
    struct listener *listener = rpc->listener;
    if (listener->closing || rpc->mcp->closed) {
        end(rpc);
        return;
    }
    for (size_t i = 0; i < listener->count; i++) {
        struct watch *watch = listener->watches[i];
        if (!watch->dirty)
            continue;
        if (http_stream_backlog(&rpc->call->http) > BACKLOG_BYTES_MAX)
            return;
        watch->dirty = false;
        if (watch->uri == NULL) {
            listener->telling = watch->task_id;
            mcp_tasks_describe(rpc, watch->task_id.text, then_described);
            return;
        }
        if (rpc->call->who.role == ROLE_AGENT) {
            rpc->own = mem_strdup(watch->uri);
            rpc->own_free = mem_free;
            ask_resource(rpc, watch->uri, then_reread);
            return;
        }
        notify_updated(rpc, watch->uri);
    }
}

/* ---- Opening ---- */

static void write_accepted(const struct listener *listener, struct jw *jw)
{
    static const struct {
        unsigned list;
        const char *name;
    } lists[] = {{LISTEN_TOOLS, "toolsListChanged"},
                 {LISTEN_PROMPTS, "promptsListChanged"},
                 {LISTEN_RESOURCES, "resourcesListChanged"}};
    jw_key(jw, "notifications");
    jw_begin(jw, '{');
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (listener->lists & lists[i].list)
            jw_kbool(jw, lists[i].name, true);
    }
    for (int tasks = 0; tasks < 2; tasks++) {
        size_t found = 0;
        for (size_t i = 0; i < listener->count; i++) {
            const struct watch *watch = listener->watches[i];
            if ((watch->uri == NULL) != (tasks == 1))
                continue;
            if (found++ == 0) {
                jw_key(jw, tasks ? "taskIds" : "resourceSubscriptions");
                jw_begin(jw, '[');
            }
            jw_str(jw, tasks ? watch->task_id.text : watch->uri);
        }
        if (found > 0)
            jw_end(jw, ']');
    }
    jw_end(jw, '}');
}

static void acknowledge(struct rpc *rpc)
{
    CLEANUP(buf_release) struct buf members;
    buf_init(&members, PARAMS_BYTES_MAX);
    struct jw jw = jw_to(&members);
    write_accepted(rpc->listener, &jw);
    notify(rpc, "notifications/subscriptions/acknowledged", buf_str(&members));
}

static void check_next(struct rpc *rpc);

static void then_checked(struct rpc *rpc, struct http_request *inner)
{
    struct listener *listener = rpc->listener;
    struct watch *watch = listener->checking; /* NULL: unsubscribed meanwhile. */
    listener->checking = NULL;
    if (http_gone(&rpc->call->http)) {
        rpc_drop(rpc);
        return;
    }
    if (watch != NULL && is_busy(inner)) {
        try_later(rpc);
        return;
    }
    if (watch != NULL && rpc_answer_ok(inner))
        watch->known = true;
    else if (watch != NULL)
        give_up(listener, watch);
    check_next(rpc);
}

static void on_gone(struct rpc *rpc)
{
    rpc_drop(rpc);
}

static void start(struct rpc *rpc)
{
    struct listener *listener = rpc->listener;
    (void)rpc_stream(rpc);
    rpc_shed(rpc);
    rpc_watch(rpc, on_gone);
    rpc->on_drained = on_drained;
    if (rpc->id != NULL)
        acknowledge(rpc);
    listener->open = true;
    mcp_need_tick(rpc->mcp);
    go_on(rpc);
}

/* Each is read once before it is listened to: is it there, and may the client read it? */
static void check_next(struct rpc *rpc)
{
    struct listener *listener = rpc->listener;
    size_t next = 0;
    while (next < listener->count && listener->watches[next]->known)
        next++;
    if (next == listener->count) {
        start(rpc);
        return;
    }
    struct watch *watch = listener->watches[next];
    listener->checking = watch;
    if (watch->uri != NULL) {
        ask_resource(rpc, watch->uri, then_checked);
        return;
    }
    struct rpc_ask ask = {.route = rpc_route(HTTP_GET, "/v1/tasks/{id}"),
                          .vars = {watch->task_id.text},
                          .keep = true};
    rpc_ask(rpc, &ask, then_checked);
}

/* false: refused, and answered. */
static bool listener_new(struct rpc *rpc)
{
    struct err err = {0};
    enum rc rc = RC_OK;
    if (rpc->mcp->closed)
        rc = err_set(&err, RC_BUSY, "STOPPING", "the server is stopping");
    else if (!rpc->takes_sse)
        rc = err_set(&err, RC_INVALID, "NO_STREAM", "send Accept: text/event-stream");
    else if (rpc->call->http.held_as != CAPS_STREAMS)
        rc = http_recharge(&rpc->call->http, CAPS_STREAMS, &err);
    if (rc != RC_OK) {
        struct problem problem = problem_of(rc, &err);
        problem.status = rc == RC_INVALID ? 406 : problem.status;
        rpc_problem(rpc, &problem);
        return false;
    }
    rpc->listener = mem_alloc(sizeof *rpc->listener);
    rpc->listener->rpc = rpc;
    atomic_fetch_add(&rpc->call->api->mcp_streams, 1);
    return true;
}

static void watch_uris(struct rpc *rpc, const struct js *uris)
{
    struct listener *listener = rpc->listener;
    for (size_t i = 0; i < js_count(uris) && listener->count < LISTEN_WATCHES_MAX; i++) {
        const char *uri = js_str(js_at(uris, i), "");
        struct bus_filter filter;
        if (strlen(uri) <= MCP_URI_BYTES_MAX && filter_of(uri, &rpc->call->http.arena, &filter))
            add_watch(listener, uri, &filter);
    }
}

static void watch_tasks(struct rpc *rpc, const struct js *ids)
{
    struct listener *listener = rpc->listener;
    for (size_t i = 0; i < js_count(ids) && listener->count < LISTEN_WATCHES_MAX; i++) {
        struct bus_filter filter = {0};
        if (id_parse(js_str(js_at(ids, i), ""), &filter.task_id))
            add_watch(listener, NULL, &filter);
    }
}

void listen_open(struct rpc *rpc)
{
    const struct js *wanted = js_get(rpc->message.params, "notifications");
    const struct js *tasks = js_get(wanted, "taskIds");
    if (js_type(wanted) != JS_OBJECT) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.notifications must be an object",
                 (struct str){0});
        return;
    }
    if (js_count(tasks) > 0 && !(rpc->client & CLIENT_TASKS)) {
        input_missing(rpc, CLIENT_TASKS);
        return;
    }
    if (!listener_new(rpc))
        return;
    if (rpc->mcp->extra != NULL) { /* Only there do lists change. */
        rpc->listener->lists |= js_get_bool(wanted, "toolsListChanged", false) ? LISTEN_TOOLS : 0;
        rpc->listener->lists |= js_get_bool(wanted, "promptsListChanged", false) ? LISTEN_PROMPTS
                                                                                 : 0;
    }
    watch_uris(rpc, js_get(wanted, "resourceSubscriptions"));
    watch_tasks(rpc, tasks);
    check_next(rpc);
}

/* ---- Legacy ---- */

static void then_subscribed(struct rpc *rpc, struct http_request *inner)
{
    CLEANUP(mem_freep) char *uri = rpc->own;
    struct bus_filter filter;
    struct rpc *stream = rpc->session->stream;
    rpc->own = NULL;
    if (!rpc_answer_ok(inner)) {
        resources_not_found(rpc, uri);
        return;
    }
    if (!session_subscribe(rpc->session, uri)) {
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 "this session has as many subscriptions as it may: unsubscribe from some",
                 (struct str){0});
        return;
    }
    CLEANUP(arena_release) struct arena arena = {0};
    if (stream != NULL && filter_of(uri, &arena, &filter))
        add_watch(stream->listener, uri, &filter);
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

/* Both need a session, since a subscription outlives its message. */
static const char *uri_of(struct rpc *rpc)
{
    const char *uri = rpc_param(rpc, "uri");
    if (uri != NULL && strlen(uri) <= MCP_URI_BYTES_MAX && rpc->session != NULL)
        return uri;
    rpc_fail(rpc, MCP_INVALID_PARAMS,
             "params.uri must be the URI of a resource, and the header Mcp-Session-Id that of a "
             "session",
             (struct str){0});
    return NULL;
}

void listen_subscribe(struct rpc *rpc)
{
    struct bus_filter filter;
    const char *uri = uri_of(rpc);
    if (uri == NULL)
        return;
    if (!filter_of(uri, &rpc->call->http.arena, &filter)) {
        bool known = rpc->mcp->extra != NULL && text_starts(uri, "test://");
        if (known && session_subscribe(rpc->session, uri)) {
            (void)rpc_result(rpc);
            rpc_done(rpc);
            return;
        }
        resources_not_found(rpc, uri);
        return;
    }
    rpc->own = mem_strdup(uri);
    rpc->own_free = mem_free;
    ask_resource(rpc, rpc->own, then_subscribed);
}

void listen_unsubscribe(struct rpc *rpc)
{
    const char *uri = uri_of(rpc);
    if (uri == NULL)
        return;
    const struct rpc *stream = rpc->session->stream;
    struct watch *watch = stream != NULL ? find_watch(stream->listener, uri, NULL) : NULL;
    (void)session_unsubscribe(rpc->session, uri);
    if (watch != NULL)
        give_up(stream->listener, watch);
    (void)rpc_result(rpc);
    rpc_done(rpc);
}

void listen_session(struct rpc *rpc)
{
    struct session *session = rpc->session;
    struct bus_filter filter;
    if (session->stream != NULL) {
        rpc_problem(rpc, &(struct problem){.status = 409,
                                           .code = "STREAM_OPEN",
                                           .detail = "this session has a stream: close it first"});
        return;
    }
    if (!listener_new(rpc))
        return;
    session->stream = rpc;
    if (rpc->mcp->extra != NULL)
        rpc->listener->lists = LISTEN_TOOLS | LISTEN_PROMPTS;
    for (size_t i = 0; i < session->uri_count; i++) {
        if (filter_of(session->uris[i], &rpc->call->http.arena, &filter))
            add_watch(rpc->listener, session->uris[i], &filter);
    }
    check_next(rpc);
}

/* ---- All of them ---- */

void listen_changed(struct rpc_list *rpcs, unsigned list)
{
    struct rpc *rpc;
    LIST_FOREACH(rpc, rpcs, all)
    {
        if (rpc->listener == NULL || !rpc->listener->open || !(rpc->listener->lists & list))
            continue;
        notify(rpc,
               list == LISTEN_TOOLS ? "notifications/tools/list_changed"
                                    : "notifications/prompts/list_changed",
               (struct str){0});
    }
}

void listen_tick(struct rpc_list *rpcs, int64_t now_us)
{
    struct clock clock = clock_real();
    int64_t wall_us = clock_now_us(&clock);
    struct rpc *rpc, *next;
    for (rpc = LIST_FIRST(rpcs); rpc != NULL; rpc = next) {
        next = LIST_NEXT(rpc, all);
        struct listener *listener = rpc->listener;
        if (listener == NULL || rpc->inner != NULL)
            continue;
        int64_t expires_us = rpc->call->who.expires_us;
        if (expires_us != 0 && expires_us <= wall_us) {
            end(rpc);
        } else if (listener->again) {
            listener->again = false;
            if (listener->open)
                go_on(rpc);
            else
                check_next(rpc);
        } else if (now_us >= listener->ping_us) {
            listener->ping_us = now_us + PING_US;
            if (http_stream_backlog(&rpc->call->http) == 0)
                http_stream_write(&rpc->call->http, STR(": ping\n\n"));
        }
    }
}

void listen_end(struct rpc *rpc)
{
    rpc->listener->closing = true;
    if (rpc->inner == NULL)
        end(rpc);
}

void listen_close(struct rpc_list *rpcs)
{
    struct rpc *rpc, *next;
    for (rpc = LIST_FIRST(rpcs); rpc != NULL; rpc = next) {
        next = LIST_NEXT(rpc, all);
        if (rpc->listener != NULL)
            listen_end(rpc);
    }
}
