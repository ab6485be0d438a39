#include "api/audit_calls.h"
#include "api/audit_routes.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/watch/audit.h"
#include <assert.h>
#include <string.h>

enum { GATHERED_MAX = 64, FLUSH_MS = 1000 };
#define WINDOW_FIRST_US US_PER_MINUTE
#define WINDOW_MAX_US   US_PER_HOUR

/* Refusals of one kind, since the last row of them. */
struct gathered {
    bool used;
    char actor_type[16], actor_id[TOKEN_NAME_MAX + 1], token_id[ID_TEXT_BYTES], role[16];
    char action[64], code[HTTP_CODE_BYTES];
    const char *outcome;
    int64_t count;     /* Not in a row yet. */
    int64_t window_us; /* Between two rows. */
    int64_t due_us;    /* On the monotonic clock: the next row, or the end. */
    /* Of the last one. */
    char address[HTTP_PEER_BYTES], request_id[HTTP_REQUEST_ID_BYTES];
    char resource_type[32], resource_id[AUDIT_TEXT_MAX + 1];
};

struct audit_calls {
    struct api *api;
    const struct route *first;       /* The table of routes, */
    const struct audit_route **rows; /* and by their index what is recorded; NULL: nothing. */
    struct event *tick;
    struct gathered gathered[GATHERED_MAX + 1]; /* The last one: all that found no place. */
};

/* ---- routes ---- */

static const struct audit_route *row_of(const struct call *call, const struct route *route)
{
    const struct audit_calls *calls = call->api->audit;
    return calls != NULL && route != NULL ? calls->rows[route - calls->first] : NULL;
}

const char *audit_calls_action(const struct call *call)
{
    const struct audit_route *row = row_of(call, call->route);
    return row != NULL && !row->unrecorded ? row->action : NULL;
}

static void on_tick(void *arg)
{
    audit_calls_flush(arg, false);
}

struct audit_calls *audit_calls_new(struct api *api, const struct route *routes, size_t count)
{
    struct audit_calls *calls = mem_alloc(sizeof *calls);
    calls->api = api;
    calls->first = routes;
    calls->rows = mem_alloc(count * sizeof *calls->rows);
    for (size_t i = 0; i < count; i++)
        calls->rows[i] = audit_route_of(&routes[i]);
    if (api->loop != NULL)
        calls->tick = loop_every(api->loop, FLUSH_MS, on_tick, calls);
    return calls;
}

void audit_calls_free(struct audit_calls *calls)
{
    if (calls == NULL)
        return;
    loop_event_free(calls->tick);
    mem_free(calls->rows);
    mem_free(calls);
}

/* ---- what is done ---- */

static void fill(struct call *call, const char *action, struct arena *arena, struct audit_call *to)
{
    *to = (struct audit_call){
        .action = action,
        .resource_id = call->vars[0] != NULL ? arena_strdup(arena, call->vars[0]) : NULL,
        .role = role_name(call->who.role),
        .address = arena_strdup(arena, call->http.peer),
        .request_id = arena_strdup(arena, call->http.id),
    };
    if (!id_is_none(&call->who.token_id))
        to->token_id = arena_strdup(arena, call->who.token_id.text);
}

void audit_calls_attach(struct call *call)
{
    const char *action = audit_calls_action(call);
    if (action != NULL)
        audit_calls_as(call, action);
}

void audit_calls_as(struct call *call, const char *action)
{
    struct command *command = call->command;
    struct audit_call *audit = arena_alloc(&command->arena, sizeof *audit);
    fill(call, action, &command->arena, audit);
    command->audit = call->audit = audit;
}

void audit_calls_about(struct call *call, const char *resource_id, const char *details)
{
    if (call->audit == NULL)
        return;
    if (resource_id != NULL)
        call->audit->resource_id = resource_id;
    if (details != NULL)
        call->audit->details = details;
}

enum rc audit_calls_record(struct call *call, struct err *err)
{
    const char *action = audit_calls_action(call);
    bool tried = call->command != NULL;
    if (action == NULL || (tried && call->command->audited))
        return RC_OK;
    struct cmd_audit *cmd = cmd_audit_new();
    struct audit_call about;
    struct actor actor = auth_actor(&call->who);
    fill(call, action, &cmd->base.arena, &about);
    cmd->base.actor = actor;
    cmd->entry = (struct audit_entry){
        .actor_type = actor.type,
        .actor_id = actor.id,
        .token_id = about.token_id,
        .role = about.role,
        .address = about.address,
        .action = action,
        .resource_id = about.resource_id,
        .request_id = about.request_id,
    };
    enum rc rc = committer_call(control_committer(call->api->control), &cmd->base);
    if (rc != RC_OK && tried) { /* The forge has it already. */
        LOG(LOG_ERROR, "the audit log lacks an act at a forge", LOG_STR("action", action),
            LOG_STR("requestId", call->http.id), LOG_STR("error", cmd->base.err.text));
        rc = RC_OK;
    }
    if (rc != RC_OK)
        *err = cmd->base.err;
    command_free(&cmd->base);
    return rc;
}

/* ---- what is refused ---- */

static void on_written(struct command *command)
{
    const struct cmd_audit *cmd = (const struct cmd_audit *)command;
    if (command->rc != RC_OK)
        LOG(LOG_WARN, "the audit log lacks refused calls", LOG_STR("action", cmd->entry.action),
            LOG_STR("code", cmd->entry.code), LOG_INT("calls", cmd->entry.count),
            LOG_STR("error", command->err.text));
    command_free(command);
}

static const char *some(struct arena *arena, const char *text)
{
    return text[0] != '\0' ? arena_strdup(arena, text) : NULL;
}

/* false: the committer is full; what was gathered stays. */
static bool write_row(struct audit_calls *calls, struct gathered *one)
{
    struct cmd_audit *cmd = cmd_audit_new();
    struct arena *arena = &cmd->base.arena;
    cmd->entry = (struct audit_entry){
        .actor_type = arena_strdup(arena, one->actor_type),
        .actor_id = some(arena, one->actor_id),
        .token_id = some(arena, one->token_id),
        .role = some(arena, one->role),
        .address = some(arena, one->address),
        .action = arena_strdup(arena, one->action),
        .resource_type = some(arena, one->resource_type),
        .resource_id = some(arena, one->resource_id),
        .outcome = one->outcome,
        .code = some(arena, one->code),
        .count = one->count,
        .request_id = some(arena, one->request_id),
    };
    cmd->base.done = on_written;
    if (committer_post(control_committer(calls->api->control), &cmd->base) != RC_OK) {
        command_free(&cmd->base);
        return false;
    }
    one->count = 0;
    return true;
}

static struct gathered *place_for(struct audit_calls *calls, const struct gathered *wanted)
{
    struct gathered *vacant = NULL;
    for (size_t i = 0; i < GATHERED_MAX; i++) {
        struct gathered *one = &calls->gathered[i];
        if (!one->used && vacant == NULL)
            vacant = one;
        if (one->used && text_same(one->action, wanted->action) &&
            text_same(one->code, wanted->code) && text_same(one->actor_type, wanted->actor_type) &&
            text_same(one->actor_id, wanted->actor_id))
            return one;
    }
    return vacant != NULL ? vacant : &calls->gathered[GATHERED_MAX];
}

/* Into the place of its kind.  What is gathered there already keeps its count and its time. */
static void gather(struct audit_calls *calls, const struct gathered *wanted)
{
    struct gathered *one = place_for(calls, wanted);
    int64_t now_us = clock_mono_us();
    bool known = one->used;
    int64_t count = known ? one->count : 0;
    int64_t window_us = known ? one->window_us : WINDOW_FIRST_US;
    int64_t due_us = known ? one->due_us : now_us + window_us;
    if (one == &calls->gathered[GATHERED_MAX])
        *one = (struct gathered){
            .actor_type = "unknown", .action = "api.many", .outcome = wanted->outcome};
    else
        *one = *wanted;
    one->used = true;
    one->count = count + 1;
    one->window_us = window_us;
    one->due_us = due_us;
    if (!known)
        (void)write_row(calls, one);
}

void audit_calls_flush(struct audit_calls *calls, bool all)
{
    int64_t now_us = clock_mono_us();
    for (size_t i = 0; i < COUNT_OF(calls->gathered); i++) {
        struct gathered *one = &calls->gathered[i];
        if (!one->used || (!all && now_us < one->due_us))
            continue;
        if (one->count == 0) { /* It has ended. */
            one->used = false;
            continue;
        }
        if (!write_row(calls, one))
            continue;
        one->window_us = one->window_us < WINDOW_MAX_US / 2 ? one->window_us * 2 : WINDOW_MAX_US;
        one->due_us = now_us + one->window_us;
    }
}

static const char *outcome_of(int status)
{
    if (status == problem_status(RC_UNAUTHORIZED) || status == problem_status(RC_DENIED))
        return AUDIT_DENIED;
    return status >= 500 ? AUDIT_FAILED : AUDIT_REFUSED;
}

static void name_actor(const struct call *call, struct gathered *to)
{
    struct actor actor = {.type = "unknown", .id = NULL};
    if (call->who.role != ROLE_NOBODY) {
        actor = auth_actor(&call->who);
        text_copy(to->role, sizeof to->role, role_name(call->who.role));
        text_copy(to->token_id, sizeof to->token_id, call->who.token_id.text);
    }
    text_copy(to->actor_type, sizeof to->actor_type, actor.type);
    text_copy(to->actor_id, sizeof to->actor_id, actor.id);
}

/* Reads have no action of their own, and a client without a token is not of interest by what it
   wanted: else it could fill the places of all others. */
static void name_action(struct call *call, const struct route *route, struct gathered *to)
{
    const struct audit_route *row = row_of(call, route);
    if (call->who.role == ROLE_NOBODY) {
        text_copy(to->action, sizeof to->action, "token.check");
    } else if (row != NULL) {
        text_copy(to->action, sizeof to->action, row->action);
        text_copy(to->resource_id, sizeof to->resource_id,
                  audit_words(call->vars[0], &call->http.arena));
        return;
    } else {
        text_copy(to->action, sizeof to->action, "api.read");
    }
    text_copy(to->resource_type, sizeof to->resource_type, "route");
    text_copy(to->resource_id, sizeof to->resource_id, route->pattern);
}

void audit_calls_refused(struct call *call, const struct route *route,
                         const struct audit_refusal *refusal)
{
    const struct audit_route *row = row_of(call, route);
    const char *outcome = outcome_of(refusal->status);
    bool recorded = row != NULL && !row->unrecorded;
    if (call->api->audit == NULL || (!recorded && !text_same(outcome, AUDIT_DENIED)))
        return;
    struct gathered wanted = {.outcome = outcome};
    name_actor(call, &wanted);
    name_action(call, route, &wanted);
    text_copy(wanted.code, sizeof wanted.code, refusal->code);
    text_copy(wanted.address, sizeof wanted.address, call->http.peer);
    text_copy(wanted.request_id, sizeof wanted.request_id, call->http.id);
    gather(call->api->audit, &wanted);
}

void audit_calls_end(struct call *call)
{
    const struct http_answer *answer = &call->http.answer;
    bool audited = call->command != NULL && call->command->audited;
    if (answer->status >= 400 && call->route != NULL && !audited)
        audit_calls_refused(call, call->route,
                            &(struct audit_refusal){answer->status, answer->code});
}
