#include "api/mcp/resources.h"
#include "api/mcp/mcp_parts.h"
#include "base/fd.h"
#include "base/mem.h"
#include "core/mcp/base64.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LIST_TTL_MS = 10000, TEMPLATES_TTL_MS = 3600000, FILE_BYTES_MAX = 1024 * 1024 };
#define RUNS_PER_PAGE "50"
#define JSON          "application/json"

static const struct resource_row rows[] = {
    {"drover://queues", "queues", "Queues", "Every queue with the number of its jobs in each state",
     JSON, "/v1/queues", RESOURCE_STILL},
    {"drover://events/types", "event-types", "Event catalogue",
     "The types of events that drover records, with their severity", JSON, "/v1/events/types",
     RESOURCE_STILL},
    {"drover://repositories", "repositories", "Repositories",
     "Every repository that the server knows, for create_task", JSON, "/v1/repositories",
     RESOURCE_STILL},
    {"drover://queues/{queue}", "queue", "A queue", "One queue: its jobs by state, and its rules",
     JSON, "/v1/queues/{name}", RESOURCE_STILL},
    {"drover://tasks/{taskId}", "task", "A task", "A task with its status and its runs", JSON,
     "/v1/tasks/{id}", RESOURCE_OF_TASK},
    {"drover://runs/{runId}", "run", "A run", "A run: its step, its cost, its results", JSON,
     "/v1/runs/{id}", RESOURCE_OF_RUN},
    {"drover://runs/{runId}/timeline", "timeline", "A run's timeline",
     "What has happened in a run, in order", JSON, "/v1/runs/{id}/timeline", RESOURCE_OF_RUN},
    {"drover://runs/{runId}/artifacts", "artifacts", "A run's artifacts",
     "What a run has left: prompt, patch, logs, reports; each is read by its sha256", JSON,
     "/v1/runs/{id}/artifacts", RESOURCE_OF_RUN},
    {"drover://artifacts/{sha256}", "artifact", "An artifact", "The content of an artifact",
     "text/plain", "/v1/artifacts/{sha256}", RESOURCE_STILL},
    {0},
};

const struct resource_row *resources_rows(void)
{
    return rows;
}

const struct resource_row *resources_find(const char *uri, struct arena *arena,
                                          const char *vars[ROUTE_VARS_MAX])
{
    for (const struct resource_row *row = rows; row->uri != NULL; row++) {
        struct str values[MCP_URI_VARS_MAX];
        bool fits = mcp_uri_match(row->uri, uri, values);
        for (int i = 0; fits && i < ROUTE_VARS_MAX; i++) {
            vars[i] = NULL;
            if (values[i].at != NULL)
                fits = url_decode(values[i], false, arena, &vars[i]);
        }
        if (fits)
            return row;
    }
    return NULL;
}

/* ---- Lists ---- */

static bool may_read(const struct rpc *rpc, const struct resource_row *row)
{
    const struct route *route = rpc_route(HTTP_GET, row->pattern);
    return route != NULL && auth_route(&rpc->call->who, route, NULL) == RC_OK;
}

static void write_row(struct jw *jw, const struct resource_row *row, const char *key)
{
    jw_begin(jw, '{');
    jw_kstr(jw, key, row->uri);
    jw_kstr(jw, "name", row->name);
    jw_kstr(jw, "title", row->title);
    jw_kstr(jw, "description", row->description);
    jw_kstr(jw, "mimeType", row->mime);
    jw_end(jw, '}');
}

static bool is_template(const struct resource_row *row)
{
    return strchr(row->uri, '{') != NULL;
}

void resources_templates(struct rpc *rpc)
{
    if (!mcp_no_cursor(rpc))
        return;
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "resourceTemplates");
    jw_begin(jw, '[');
    for (const struct resource_row *row = rows; row->uri != NULL; row++) {
        if (is_template(row) && may_read(rpc, row))
            write_row(jw, row, "uriTemplate");
    }
    if (rpc->mcp->extra != NULL)
        rpc->mcp->extra->list(rpc, jw, FIXTURE_TEMPLATES);
    jw_end(jw, ']');
    rpc_cacheable(rpc, TEMPLATES_TTL_MS, false);
    rpc_done(rpc);
}

static void write_run(struct jw *jw, const struct js *run, struct arena *arena)
{
    const char *id = js_get_str(run, "id", "");
    jw_begin(jw, '{');
    jw_kstr(jw, "uri", arena_printf(arena, "drover://runs/%s/timeline", id));
    jw_kstr(jw, "name", arena_printf(arena, "timeline of run %.13s", id));
    jw_kstr(jw, "title",
            arena_printf(arena, "Run of %s: %s", js_get_str(run, "repository", "a repository"),
                         js_get_str(run, "status", "")));
    jw_kstr(jw, "description", "What has happened in the run, in order");
    jw_kstr(jw, "mimeType", JSON);
    jw_end(jw, '}');
}

/* first: also those without a variable. */
static void write_list(struct rpc *rpc, bool first, const struct js *runs)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "resources");
    jw_begin(jw, '[');
    for (const struct resource_row *row = rows; first && row->uri != NULL; row++) {
        if (!is_template(row) && may_read(rpc, row))
            write_row(jw, row, "uri");
    }
    if (first && rpc->mcp->extra != NULL)
        rpc->mcp->extra->list(rpc, jw, FIXTURE_RESOURCES);
    const struct js *items = js_get(runs, "items");
    for (size_t i = 0; i < js_count(items); i++)
        write_run(jw, js_at(items, i), &arena);
    jw_end(jw, ']');
    jw_optstr(jw, "nextCursor", js_get_str(runs, "cursor", NULL));
    rpc_cacheable(rpc, LIST_TTL_MS, false);
    rpc_done(rpc);
}

static void then_listed(struct rpc *rpc, struct http_request *inner)
{
    CLEANUP(js_freep) struct js *runs = rpc_answer_json(inner);
    bool first = rpc->subject == NULL;
    if (runs == NULL && !first) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.cursor is not one that this list has returned",
                 (struct str){0});
        return;
    }
    write_list(rpc, first, runs);
}

void resources_list(struct rpc *rpc)
{
    const struct route *route = rpc_route(HTTP_GET, "/v1/runs");
    const char *cursor = rpc_param(rpc, "cursor");
    CLEANUP(buf_release) struct buf query;
    buf_init(&query, MCP_URI_BYTES_MAX * 4);
    rpc_query_add(&query, "limit", RUNS_PER_PAGE);
    if (cursor != NULL && strlen(cursor) <= MCP_URI_BYTES_MAX)
        rpc_query_add(&query, "cursor", cursor);
    rpc->subject = cursor != NULL ? rows : NULL; /* Not the first page. */
    if (cursor == NULL && auth_route(&rpc->call->who, route, NULL) != RC_OK) {
        write_list(rpc, true, NULL);
        return;
    }
    rpc_ask(rpc, &(struct rpc_ask){.route = route, .query = buf_str(&query)}, then_listed);
}

/* ---- Reading ---- */

struct reading {
    char *uri;
    struct rpc *rpc;
    /* Of a file: read by a pool thread. */
    struct pool_work work;
    struct loop_call done;
    int fd;
    struct buf content;
    bool failed;
};

static void reading_free(void *own)
{
    struct reading *reading = own;
    if (reading == NULL)
        return;
    fd_close(reading->fd);
    buf_release(&reading->content);
    mem_free(reading->uri);
    mem_free(reading);
}

void resources_not_found(struct rpc *rpc, const char *uri)
{
    CLEANUP(buf_release) struct buf data;
    buf_init(&data, MCP_URI_BYTES_MAX * 8);
    struct jw jw = jw_to(&data);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "uri", uri);
    jw_end(&jw, '}');
    rpc_fail(rpc, rpc->era == MCP_MODERN ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND,
             "Resource not found", buf_str(&data));
}

static void write_blob(struct jw *jw, struct str content)
{
    CLEANUP(buf_release) struct buf coded;
    buf_init(&coded, content.len * 2 + 8);
    buf_addc(&coded, '"');
    base64_add(&coded, content);
    buf_addc(&coded, '"');
    jw_raw(jw, buf_str(&coded));
}

static void write_contents(struct rpc *rpc, const struct resource_row *row, struct str content)
{
    const struct reading *reading = rpc->own;
    bool text = text_utf8_valid(content.at, content.len);
    struct jw *jw = rpc_result(rpc);
    jw_key(jw, "contents");
    jw_begin(jw, '[');
    jw_begin(jw, '{');
    jw_kstr(jw, "uri", reading->uri);
    jw_kstr(jw, "mimeType", text ? row->mime : "application/octet-stream");
    jw_key(jw, text ? "text" : "blob");
    if (text)
        jw_strn(jw, content.at, content.len);
    else
        write_blob(jw, content);
    jw_end(jw, '}');
    jw_end(jw, ']');
    rpc_cacheable(rpc, 0, false);
    rpc_done(rpc);
}

/* On a pool thread. */
static void read_file(struct pool_work *work, struct db *db)
{
    (void)db;
    struct reading *reading = (struct reading *)((char *)work - offsetof(struct reading, work));
    char chunk[16 * 1024];
    ssize_t got;
    while ((got = read(reading->fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            reading->failed = true;
        if (got < 0 || reading->content.overflow)
            break;
        buf_add(&reading->content, chunk, (size_t)got);
    }
    loop_post(reading->rpc->call->api->loop, &reading->done);
}

static void on_read(struct loop_call *done)
{
    struct reading *reading = (struct reading *)((char *)done - offsetof(struct reading, done));
    struct rpc *rpc = reading->rpc;
    if (reading->failed)
        rpc_fail(rpc, MCP_INTERNAL_ERROR, "the artifact cannot be read", (struct str){0});
    else if (reading->content.overflow)
        rpc_fail(rpc, MCP_INVALID_PARAMS,
                 "the artifact is larger than 1 MiB: download it from /v1/artifacts/SHA256",
                 (struct str){0});
    else
        write_contents(rpc, rpc->subject, buf_str(&reading->content));
}

static void start_file(struct rpc *rpc, struct http_request *inner)
{
    struct reading *reading = rpc->own;
    reading->fd = inner->answer.file_fd;
    inner->answer.file_fd = -1;
    reading->rpc = rpc;
    reading->done.run = on_read;
    reading->work = (struct pool_work){.run = read_file, .class = POOL_SLOW};
    if (pool_post(rpc->call->api->pool, &reading->work) != RC_OK)
        rpc_fail(rpc, MCP_INTERNAL_ERROR, "too many queries wait; try again", (struct str){0});
}

static void then_read(struct rpc *rpc, struct http_request *inner)
{
    const struct reading *reading = rpc->own;
    int status = inner->answer.status;
    if (rpc_answer_ok(inner) && inner->answer.file_fd >= 0)
        start_file(rpc, inner);
    else if (rpc_answer_ok(inner))
        write_contents(rpc, rpc->subject, buf_str(&inner->answer.body));
    else if (status == 404 || status == 400)
        resources_not_found(rpc, reading->uri);
    else
        mcp_fail_problem(rpc, inner);
}

void resources_read(struct rpc *rpc)
{
    const char *uri = rpc_param(rpc, "uri");
    const char *vars[ROUTE_VARS_MAX] = {0};
    if (uri == NULL || strlen(uri) > MCP_URI_BYTES_MAX) {
        rpc_fail(rpc, MCP_INVALID_PARAMS, "params.uri must be a URI of at most 1024 bytes",
                 (struct str){0});
        return;
    }
    if (rpc->mcp->extra != NULL && rpc->mcp->extra->read(rpc, uri))
        return;
    const struct resource_row *row = resources_find(uri, &rpc->call->http.arena, vars);
    if (row == NULL) {
        resources_not_found(rpc, uri);
        return;
    }
    struct reading *reading = mem_alloc(sizeof *reading);
    reading->uri = mem_strdup(uri);
    reading->fd = -1;
    buf_init(&reading->content, FILE_BYTES_MAX);
    rpc->own = reading;
    rpc->own_free = reading_free;
    rpc->subject = row;
    struct rpc_ask ask = {.route = rpc_route(HTTP_GET, row->pattern), .vars = {vars[0], vars[1]}};
    rpc_ask(rpc, &ask, then_read);
}
