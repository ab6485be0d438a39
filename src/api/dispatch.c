#include "api/dispatch.h"
#include "api/audit_calls.h"
#include "api/event_message.h"
#include "api/metrics.h"
#include "api/routes.h"
#include "api/run_gate.h"
#include "api/sse.h"
#include "api/throttle.h"
#include "api/webhooks.h"
#include "base/log.h"
#include "core/traceparent.h"
#include "store/artifacts.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

/* A body without a valid token for its route, or without a route that takes one, is not read
   beyond STRANGER_BODY_MAX.  A body of more than MEMORY_BODY_MAX goes through a file: memory for
   bodies that have not arrived yet is bounded by the number of connections. */
enum {
    STRANGER_BODY_MAX = 8 * 1024,
    MEMORY_BODY_MAX = 64 * 1024,
};

#define NO_SUCH_ROUTE_TEXT "nothing lives at this path"

static void match_route(enum http_method method, struct str path, struct route_match *ret_match)
{
    size_t count;
    const struct route *all = routes_all(&count);
    router_find(all, count, method, path, ret_match);
}

/* ---- Before the body ---- */

static enum rc no_large_body(const struct route_match *match, struct err *err)
{
    if (!match->allowed)
        return err_set(err, RC_NOT_FOUND, "NO_SUCH_ROUTE", NO_SUCH_ROUTE_TEXT);
    return err_set(err, RC_TOO_LARGE, "BODY_TOO_LARGE",
                   "this method of this path takes no body: at most %d bytes are read",
                   STRANGER_BODY_MAX);
}

/* The signature is of the body, so it is read before it is known whose it is.  All of them share
   one part of the spool. */
static void plan_signed(const struct http_head *head, struct http_body_plan *plan)
{
    plan->bytes_max = WEBHOOK_BODY_MAX;
    plan->spool = head->chunked || head->content_length > MEMORY_BODY_MAX;
    text_copy(plan->holder, sizeof plan->holder, "webhooks/");
}

enum rc dispatch_gate(void *ctx, const struct http_head *head, struct http_body_plan *plan,
                      struct err *err)
{
    struct api *api = ctx;
    bool large = head->chunked || head->content_length > STRANGER_BODY_MAX;
    plan->bytes_max = api->body_bytes_max;
    if (!large)
        return RC_OK;
    struct route_match match;
    match_route(head->method, head->path, &match);
    if (match.route != NULL && match.route->signed_body) {
        plan_signed(head, plan);
        return RC_OK;
    }
    struct identity who = {0};
    enum rc rc = auth_check(api->auth, head->authorization, &who, err);
    if (rc == RC_OK && match.route != NULL)
        rc = auth_route(&who, match.route, err);
    bool takes_body = match.route != NULL && match.route->body != BODY_IGNORED;
    if (rc == RC_OK && !takes_body)
        rc = no_large_body(&match, err);
    if (rc != RC_OK || who.role == ROLE_AGENT) {
        plan->bytes_max = STRANGER_BODY_MAX;
        return head->content_length > STRANGER_BODY_MAX ? rc : RC_OK;
    }
    if (match.route->body == BODY_BYTES)
        plan->bytes_max = ARTIFACT_BYTES_MAX;
    plan->spool = head->chunked || head->content_length > MEMORY_BODY_MAX;
    plan->admin = who.role == ROLE_ADMIN;
    text_copy(plan->holder, sizeof plan->holder, who.name);
    return RC_OK;
}

bool dispatch_claim(void *ctx, const struct http_head *head, struct caps_key *ret_key)
{
    struct api *api = ctx;
    struct identity who = {0};
    struct err err = {0};
    if (auth_check(api->auth, head->authorization, &who, &err) != RC_OK)
        return false;
    auth_caps_key(&who, ret_key);
    return true;
}

/* Health, workers and admins are served when other clients use all connections. */
bool dispatch_privileged(void *ctx, const struct http_head *head)
{
    struct api *api = ctx;
    struct route_match match;
    struct identity who = {0};
    struct err err = {0};
    match_route(head->method, head->path, &match);
    if (match.route != NULL && match.route->open && !match.route->signed_body)
        return true;
    return auth_check(api->auth, head->authorization, &who, &err) == RC_OK &&
           (who.role == ROLE_ADMIN || who.role == ROLE_WORKER);
}

/* ---- Queries ---- */

static enum rc check_not_stopping(const struct call *call, struct err *err)
{
    if (atomic_load(&call->api->stopping) == 0)
        return RC_OK;
    return err_set(err, RC_BUSY, "STOPPING", "the server is stopping");
}

static void run_query(struct pool_work *work, struct db *db)
{
    struct call *call = (struct call *)((char *)work - offsetof(struct call, work));
    struct err err = {0};
    enum rc rc = RC_OK;
    if (call->route->reads) {
        db_stop_on(db, &call->api->stopping);
        rc = check_not_stopping(call, &err);
    }
    if (rc == RC_OK && !call->route->open)
        rc = auth_agent(&call->who, call->route, call->vars[0], db, &call->http.arena, &err);
    if (rc == RC_OK)
        rc = call->route->query(call, db, &err);
    if (rc == RC_OK)
        rc = audit_calls_record(call, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
    db_stop_on(db, NULL);
    http_finish_later(&call->http);
}

static enum rc start_query(struct call *call, struct err *err)
{
    enum rc rc = call->route->prepare != NULL ? call->route->prepare(call, err) : RC_OK;
    if (rc != RC_OK)
        return rc;
    call->work = (struct pool_work){.run = run_query,
                                    .class = call->route->slow ? POOL_SLOW : POOL_QUICK,
                                    .owner = http_client(&call->http)};
    if (pool_post(call->api->pool, &call->work) == RC_OK)
        return RC_OK;
    return err_set(err, RC_BUSY, "TOO_MANY_QUERIES", "too many queries wait; try again");
}

/* ---- Commands ---- */

static void finish_command(struct loop_call *done)
{
    struct call *call = (struct call *)((char *)done - offsetof(struct call, done));
    struct command *command = call->command;
    if (command->rc == RC_OK) {
        call->route->answer(call, command);
    } else { /* The committer has logged the errors that need it. */
        struct problem problem = problem_of(command->rc, &command->err);
        problem.policy = command->explained;
        http_answer_problem(&call->http, &problem);
    }
    http_finish(&call->http);
}

/* On the committer's thread. */
static void on_command_done(struct command *command)
{
    struct call *call = command->owner;
    loop_post(call->api->loop, &call->done);
}

static enum rc start_command(struct call *call, struct err *err)
{
    enum rc rc = auth_agent_command(&call->who, call->route, call->vars[0], err);
    if (rc == RC_OK)
        rc = call->route->build(call, err);
    if (rc != RC_OK)
        return rc;
    struct command *command = call->command;
    assert(command != NULL);
    const char *trace = http_header(&call->http, "traceparent");
    if (traceparent_valid(trace))
        command->traceparent = arena_strdup(&command->arena, trace);
    command->actor = auth_actor(&call->who);
    command->bound_to = auth_bound_to(&call->who);
    command->principal = call->who.principal.text;
    command->owner = call;
    command->done = on_command_done;
    call->done.run = finish_command;
    if (committer_post(control_committer(call->api->control), command) == RC_OK)
        return RC_OK;
    return err_set(err, RC_BUSY, "TOO_MANY_COMMANDS", "too many commands wait; try again");
}

/* ---- The way in and out ---- */

static bool type_is(const char *type, const char *wanted)
{
    size_t len = strlen(wanted);
    return strncasecmp(type, wanted, len) == 0 && strchr("; \t", type[len]) != NULL;
}

static bool body_type_fits(struct call *call)
{
    const char *type = http_header(&call->http, "Content-Type");
    enum route_body body = call->route->body;
    if (body == BODY_EVENT)
        return event_message_mode(&call->http) != EVENT_MODE_NONE;
    if (type == NULL || http_body(&call->http).len == 0 || body == BODY_IGNORED ||
        body == BODY_BYTES)
        return true;
    if (type_is(type, "application/json") || type_is(type, "application/schema+json"))
        return true;
    if (body == BODY_SIGNED)
        return type_is(type, "application/x-www-form-urlencoded");
    return body == BODY_CONFIG &&
           (type_is(type, "application/yaml") || type_is(type, "application/x-yaml") ||
            type_is(type, "text/yaml"));
}

static const char *types_text(enum route_body body)
{
    switch (body) {
    case BODY_CONFIG:
        return "send application/json or application/yaml";
    case BODY_SIGNED:
        return "send application/json or application/x-www-form-urlencoded";
    case BODY_EVENT:
        return "send application/cloudevents+json (one event), application/cloudevents-batch+json "
               "(an array), or any type of data with the attributes as headers (ce-specversion, "
               "ce-id, ce-source, ce-type)";
    default:
        return "send application/json";
    }
}

static bool decode_vars(struct call *call, const struct route_match *match)
{
    for (int i = 0; i < ROUTE_VARS_MAX && match->vars[i].at != NULL; i++) {
        if (!url_decode(match->vars[i], false, &call->http.arena, &call->vars[i]))
            return false;
    }
    return true;
}

/* false: the answer holds the reason. */
static bool find_route(struct call *call)
{
    struct route_match match;
    match_route(call->http.method, str_of(call->http.path), &match);
    if (match.route != NULL) {
        call->route = match.route;
        if (decode_vars(call, &match))
            return true;
        call_fail_status(call, 400, "MALFORMED_PATH", "the path is not percent-encoded UTF-8");
    } else if (match.allowed) {
        char allow[ROUTE_ALLOW_BYTES];
        router_allow(match.allowed, allow);
        call_fail_status(call, 405, "METHOD_NOT_ALLOWED",
                         arena_printf(&call->http.arena, "this path takes %s", allow));
        http_answer_header(&call->http, "Allow", arena_strdup(&call->http.arena, allow));
    } else {
        call_fail_status(call, 404, "NO_SUCH_ROUTE", NO_SUCH_ROUTE_TEXT);
    }
    return false;
}

/* Before the token is looked at: a page of another site must not learn whether one is valid. */
static bool let_site(struct call *call)
{
    const struct site_names *names = &call->api->site;
    struct str host = str_of(http_header(&call->http, "Host"));
    const char *origin = http_header(&call->http, "Origin");
    if (!call->route->own_site || http_on_socket(&call->http))
        return true;
    if (!site_host_is_own(host, names)) {
        call_fail_status(call, 403, "FOREIGN_HOST",
                         "Host is not a name of this server: use its address, or add the name to "
                         "mcp.allowedHosts of the server's configuration");
        return false;
    }
    if (origin != NULL && !site_origin_is_own(str_of(origin), host, names)) {
        call_fail_status(call, 403, "FOREIGN_ORIGIN",
                         "pages of other sites may not call this: add the name of the site to "
                         "mcp.allowedHosts of the server's configuration");
        return false;
    }
    return true;
}

static bool let_in(struct call *call)
{
    if (call->route->open)
        return true;
    struct err err = {0};
    struct str header = str_of(http_header(&call->http, "Authorization"));
    enum rc rc = auth_check(call->api->auth, header, &call->who, &err);
    if (rc == RC_OK && http_on_socket(&call->http))
        rc = run_gate_check(&call->who, &err);
    if (rc == RC_OK)
        rc = auth_route(&call->who, call->route, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
    return rc == RC_OK;
}

static void answer_later(struct call *call, int64_t wait_us, const char *code, const char *detail)
{
    struct problem problem = {
        .status = problem_status(RC_LIMIT),
        .code = code,
        .detail = detail,
        .retry_after_ms = (wait_us - 1) / US_PER_MS + 1,
    };
    http_answer_problem(&call->http, &problem);
}

/* Deliveries have no token: they are counted by the address that they come from. */
static bool source_passes(struct call *call, int64_t now_us)
{
    struct api *api = call->api;
    if (api->webhooks.per_second == 0)
        return true;
    int64_t wait_us = throttle_source_us(api->throttle, &api->webhooks, http_holder(&call->http),
                                         now_us);
    if (wait_us > 0)
        answer_later(call, wait_us, "RATE_LIMITED",
                     "this address sends more than limits.webhooksPerSecond allows");
    return wait_us == 0;
}

/* Enforces the rates of calls and of bytes of events; the latter not for the admin. */
static bool let_pass(struct call *call)
{
    struct api *api = call->api;
    const struct route *route = call->route;
    int64_t now_us = clock_mono_us();
    if (route->open)
        return !route->signed_body || source_passes(call, now_us);
    int64_t wait_us = call->http.outer != NULL
                          ? throttle_inner_us(api->throttle, &call->who, route, now_us)
                          : throttle_wait_us(api->throttle, &call->who, route, now_us);
    if (wait_us > 0) {
        answer_later(call, wait_us, "RATE_LIMITED",
                     "you call this more often than the server's rates allow");
        return false;
    }
    if (!route->metered || api->event_bytes.per_second == 0 || call->who.role == ROLE_ADMIN)
        return true;
    wait_us = throttle_bytes_us(api->throttle, &api->event_bytes, &call->who,
                                (int64_t)http_body(&call->http).len, now_us);
    if (wait_us > 0)
        answer_later(call, wait_us, "EVENT_QUOTA",
                     arena_printf(&call->http.arena,
                                  "this token reports more bytes of events than it may: "
                                  "limits.eventBytesPerSecond is %lld",
                                  (long long)api->event_bytes.per_second));
    return wait_us == 0;
}

/* Enforces the client's limits of requests and streams.  Instant routes without a token are not
   counted. */
static bool let_hold(struct call *call)
{
    const struct route *route = call->route;
    struct caps_key key;
    struct err err = {0};
    if (route->kind == ROUTE_INSTANT && route->open)
        return true;
    if (!route->open)
        auth_caps_key(&call->who, &key);
    enum caps_use use = route->kind == ROUTE_STREAM ? CAPS_STREAMS : CAPS_REQUESTS;
    enum rc rc = http_charge(&call->http, route->open ? NULL : &key, use, &err);
    if (rc != RC_OK)
        call_fail(call, rc, &err);
    return rc == RC_OK;
}

static void start(struct call *call)
{
    struct err err = {0};
    enum rc rc = RC_OK;
    switch (call->route->kind) {
    case ROUTE_INSTANT:
        call->route->instant(call);
        http_finish(&call->http);
        return;
    case ROUTE_QUERY:
        rc = start_query(call, &err);
        break;
    case ROUTE_COMMAND:
        rc = start_command(call, &err);
        break;
    case ROUTE_STREAM:
    case ROUTE_WAIT:
        rc = call->route->stream(call, &err);
        break;
    }
    if (rc == RC_OK)
        return; /* It has another owner now. */
    call_fail(call, rc, &err);
    http_finish(&call->http);
}

void dispatch_handle(void *ctx, struct http_request *request)
{
    struct call *call = (struct call *)request;
    call->api = ctx;
    bool good = find_route(call) && let_site(call) && let_in(call) && let_pass(call) &&
                let_hold(call);
    if (good && !body_type_fits(call)) {
        call_fail_status(call, 415, "UNSUPPORTED_MEDIA_TYPE", types_text(call->route->body));
        good = false;
    }
    if (good)
        start(call);
    else
        http_finish(request);
}

void dispatch_inner(struct call *inner)
{
    struct err err = {0};
    assert(inner->http.outer != NULL);
    assert(inner->route->kind != ROUTE_STREAM);
    enum rc rc = auth_route(&inner->who, inner->route, &err);
    if (rc != RC_OK)
        call_fail(inner, rc, &err);
    if (rc == RC_OK && let_pass(inner))
        start(inner);
    else
        http_finish(&inner->http);
}

static bool lost_its_token(const struct http_request *request)
{
    const struct call *call = (const struct call *)request;
    return call->stream == NULL && !auth_alive(call->api->auth, &call->who);
}

static void end_lost(struct loop_call *posted)
{
    struct api *api = (struct api *)((char *)posted - offsetof(struct api, tokens_lost));
    atomic_store(&api->tokens_lost_posted, false);
    sse_end_lost(api->sse);
    if (api->http != NULL)
        http_close_watched(api->http, lost_its_token);
}

void dispatch_tokens_lost(void *ctx)
{
    struct api *api = ctx;
    if (atomic_exchange(&api->tokens_lost_posted, true))
        return;
    api->tokens_lost.run = end_lost;
    loop_post(api->loop, &api->tokens_lost);
}

void dispatch_finished(void *ctx, struct http_request *request)
{
    struct api *api = ctx;
    struct call *call = (struct call *)request;
    size_t count;
    const struct route *first = routes_all(&count);
    size_t route = call->route != NULL ? (size_t)(call->route - first) : count;
    metrics_count(api->metrics, route, request->answer.status);
    audit_calls_end(call);
    if (log_enabled(LOG_DEBUG))
        LOG(LOG_DEBUG, "request", LOG_STR("requestId", request->id),
            LOG_STR("method", http_method_name(request->method)),
            LOG_STR("route", call->route != NULL ? call->route->pattern : ""),
            LOG_INT("status", request->answer.status),
            LOG_INT("durationMs", (clock_mono_us() - request->started_us) / US_PER_MS));
    command_free(call->command);
}
