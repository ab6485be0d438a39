#include "api/mcp/prompts.h"
#include "api/mcp/mcp_parts.h"
#include "api/mcp/resources.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

enum {
    TTL_MS = 3600000,
    TEXT_BYTES_MAX = 64 * 1024,
    ARGUMENT_BYTES_MAX = 8 * 1024,
    VALUES_MAX = 100,
    NAME_BYTES_MAX = 128,
};

struct prompts {
    struct js *tree;
};

enum rc prompts_new(struct prompts **ret_prompts, struct err *err)
{
    struct prompts *prompts = mem_alloc(sizeof *prompts);
    struct str text = mcp_text("prompts");
    enum rc rc = js_parse(text.at, text.len, &prompts->tree, err);
    if (rc == RC_OK)
        *ret_prompts = prompts;
    else
        prompts_free(prompts);
    return rc;
}

void prompts_free(struct prompts *prompts)
{
    if (prompts == NULL)
        return;
    js_free(prompts->tree);
    mem_free(prompts);
}

/* ---- Listing ---- */

void prompts_list(struct rpc *rpc)
{
    const char *name;
    const struct js *prompt;
    if (!mcp_no_cursor(rpc))
        return;
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "prompts");
    jw_begin(jw, '[');
    for (size_t it = 0; js_next(rpc->mcp->prompts->tree, &it, &name, &prompt);) {
        jw_begin(jw, '{');
        jw_kstr(jw, "name", name);
        jw_kstr(jw, "title", js_get_str(prompt, "title", name));
        jw_kstr(jw, "description", js_get_str(prompt, "description", name));
        jw_key(jw, "arguments");
        js_write(jw, js_get(prompt, "arguments"));
        jw_end(jw, '}');
    }
    if (rpc->mcp->extra != NULL)
        rpc->mcp->extra->list(rpc, jw, FIXTURE_PROMPTS);
    jw_end(jw, ']');
    rpc_cacheable(rpc, TTL_MS, true);
    rpc_done(rpc);
}

/* ---- Getting ---- */

/* NULL: all is there. */
static const char *find_missing(const struct js *prompt, const struct js *arguments)
{
    const struct js *wanted = js_get(prompt, "arguments");
    for (size_t i = 0; i < js_count(wanted); i++) {
        const char *name = js_get_str(js_at(wanted, i), "name", "");
        const char *value = js_get_str(arguments, name, NULL);
        if ((value == NULL && js_get_bool(js_at(wanted, i), "required", false)) ||
            (value != NULL && strlen(value) > ARGUMENT_BYTES_MAX))
            return name;
    }
    return NULL;
}

/* Replaces {{name}} and {{name|otherwise}}. */
static void fill_in(struct buf *to, const char *text, const struct js *arguments)
{
    const char *open;
    while ((open = strstr(text, "{{")) != NULL) {
        const char *close = strstr(open, "}}");
        if (close == NULL)
            break;
        char name[NAME_BYTES_MAX];
        size_t len = (size_t)(close - open - 2), bar = strcspn(open + 2, "|}");
        (void)snprintf(name, sizeof name, "%.*s", (int)bar, open + 2);
        const char *value = js_get_str(arguments, name, NULL);
        buf_add(to, text, (size_t)(open - text));
        if (value != NULL)
            buf_adds(to, value);
        else if (bar < len)
            buf_add(to, open + 2 + bar + 1, len - bar - 1);
        text = close + 2;
    }
    buf_adds(to, text);
}

void prompts_get(struct rpc *rpc)
{
    const char *name = rpc_param(rpc, "name");
    const struct js *arguments = js_get(rpc->message.params, "arguments");
    struct arena *arena = &rpc->call->http.arena;
    if (name != NULL && rpc->mcp->extra != NULL && rpc->mcp->extra->prompt(rpc, name))
        return;
    const struct js *prompt = name != NULL ? js_get(rpc->mcp->prompts->tree, name) : NULL;
    if (prompt == NULL) {
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 arena_printf(arena, "Unknown prompt: %.128s", name != NULL ? name : ""),
                 (struct str){0});
        return;
    }
    const char *missing = find_missing(prompt, arguments);
    if (missing != NULL) {
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 arena_printf(arena, "params.arguments.%s must be a text of at most %d bytes",
                              missing, ARGUMENT_BYTES_MAX),
                 (struct str){0});
        return;
    }
    CLEANUP(buf_release) struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    fill_in(&text, js_get_str(prompt, "text", ""), arguments);
    struct jw *jw = rpc_result(rpc);
    jw_kstr(jw, "description", js_get_str(prompt, "description", ""));
    jw_key(jw, "messages");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "role", "user");
    jw_key(jw, "content");
    jw_begin(jw, '{');
    jw_kstr(jw, "type", "text");
    jw_key(jw, "text");
    jw_strn(jw, buf_text(&text), text.len);
    jw_end(jw, '}');
    jw_end(jw, '}');
    jw_end(jw, ']');
    rpc_done(rpc);
}

/* ---- Completion ---- */

/* The listing that has the values of an argument, and the member that is the value. */
static const struct source {
    const char *argument, *pattern, *query, *member;
} sources[] = {
    {"repository", "/v1/repositories", "limit=200", "name"},
    {"queue", "/v1/queues", NULL, "name"},
    {"runId", "/v1/runs", "limit=200", "id"},
    {"taskId", "/v1/tasks", "limit=200", "id"},
};

static const struct source *source_of(const char *argument)
{
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        if (text_same(sources[i].argument, argument))
            return &sources[i];
    }
    return NULL;
}

static void write_values(struct rpc *rpc, const struct js *listing, const char *prefix)
{
    const struct source *source = rpc->subject;
    const struct js *items = js_get(listing, "items");
    size_t found = 0;
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "completion");
    jw_begin(jw, '{');
    jw_key(jw, "values");
    jw_begin(jw, '[');
    for (size_t i = 0; source != NULL && i < js_count(items) && found < VALUES_MAX; i++) {
        const char *value = js_get_str(js_at(items, i), source->member, "");
        if (!text_starts(value, prefix))
            continue;
        jw_str(jw, value);
        found++;
    }
    jw_end(jw, ']');
    jw_kbool(jw, "hasMore", found == VALUES_MAX || js_get_str(listing, "cursor", NULL) != NULL);
    jw_end(jw, '}');
    rpc_done(rpc);
}

static void then_values(struct rpc *rpc, struct http_request *inner)
{
    CLEANUP(js_freep) struct js *listing = rpc_answer_json(inner);
    CLEANUP(mem_freep) char *prefix = rpc->own;
    rpc->own = NULL;
    write_values(rpc, listing, prefix);
}

static bool ref_is_known(struct rpc *rpc, const struct js *ref)
{
    const char *type = js_get_str(ref, "type", ""), *name = js_get_str(ref, "name", "");
    const char *uri = js_get_str(ref, "uri", NULL), *vars[ROUTE_VARS_MAX];
    if (rpc->mcp->extra != NULL && rpc->mcp->extra->ref(rpc, ref))
        return true;
    if (text_same(type, "ref/prompt"))
        return js_get(rpc->mcp->prompts->tree, name) != NULL;
    if (!text_same(type, "ref/resource") || uri == NULL)
        return false;
    for (const struct resource_row *row = resources_rows(); row->uri != NULL; row++) {
        if (text_same(row->uri, uri))
            return true;
    }
    return resources_find(uri, &rpc->call->http.arena, vars) != NULL;
}

void prompts_complete(struct rpc *rpc)
{
    const struct js *argument = js_get(rpc->message.params, "argument");
    const char *name = js_get_str(argument, "name", NULL);
    const char *value = js_get_str(argument, "value", NULL);
    if (name == NULL || value == NULL || strlen(value) > ARGUMENT_BYTES_MAX ||
        !ref_is_known(rpc, js_get(rpc->message.params, "ref"))) {
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 "params needs a ref of a known prompt or resource, and an argument with name and "
                 "value",
                 (struct str){0});
        return;
    }
    const struct source *source = source_of(name);
    const struct route *route = source != NULL ? rpc_route(HTTP_GET, source->pattern) : NULL;
    rpc->subject = source;
    if (route == NULL) {
        write_values(rpc, NULL, value);
        return;
    }
    rpc->own = mem_strdup(value);
    rpc->own_free = mem_free;
    rpc_ask(rpc, &(struct rpc_ask){.route = route, .query = str_of(source->query)}, then_values);
}
