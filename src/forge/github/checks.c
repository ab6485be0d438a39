/*
 * checks.c - checks of a commit at GitHub.
 *
 * GitHub has two kinds: check runs, which only Apps may write, and statuses, which tokens of people
 * may write as well.  drover's own check is a check run whose external_id names the run, or where
 * the credential may not write those, a status of the same name.
 */
#include "forge/github/checks.h"
#include "base/jw.h"
#include "core/text/prose.h"
#include "forge/github/api.h"
#include "net/url.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum {
    BODY_BYTES_MAX = 512 * 1024,
    SUMMARY_MAX = 60 * 1024, /* GitHub takes 65,535 characters. */
    SEEN_SUMMARY_MAX = 4096, /* Of other checks. */
    TITLE_MAX = 250,
    DESCRIPTION_MAX = 140, /* Of a status. */
};
#define OWN_PREFIX "drover:"
#define RUN_ID     "run:"
#define STATUS_ID  "status:"

/* ---- reading ---- */

/* REST has the names in lower case, GraphQL in upper case. */
static enum check_state run_state(const char *status, const char *conclusion)
{
    static const struct {
        const char *conclusion;
        enum check_state state;
    } table[] = {
        {"success", CHECK_PASSED},         {"neutral", CHECK_PASSED},
        {"skipped", CHECK_PASSED},         {"failure", CHECK_FAILED},
        {"timed_out", CHECK_TIMED_OUT},    {"cancelled", CHECK_CANCELLED},
        {"action_required", CHECK_BROKEN}, {"stale", CHECK_BROKEN},
        {"startup_failure", CHECK_BROKEN},
    };
    if (strcasecmp(status, "completed") != 0)
        return CHECK_PENDING;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (strcasecmp(conclusion, table[i].conclusion) == 0)
            return table[i].state;
    }
    return CHECK_BROKEN;
}

static enum check_state status_state(const char *state)
{
    if (strcasecmp(state, "success") == 0)
        return CHECK_PASSED;
    if (strcasecmp(state, "failure") == 0)
        return CHECK_FAILED;
    return strcasecmp(state, "error") == 0 ? CHECK_BROKEN : CHECK_PENDING;
}

static bool own_context(const char *context)
{
    return text_same(context, "drover") || text_starts(context, "drover/");
}

static const char *short_text(const char *text, struct arena *arena)
{
    return text_empty(text)
               ? NULL
               : arena_strndup(arena, text, prose_fit(text, strlen(text), SEEN_SUMMARY_MAX));
}

static struct check_view run_of_rest(const struct js *run, struct arena *arena)
{
    const struct js *output = js_get(run, "output");
    const char *title = js_get_str(output, "title", NULL);
    return (struct check_view){
        .id = arena_printf(arena, RUN_ID "%" PRId64, js_get_int(run, "id", 0)),
        .name = github_text(run, "name", "", arena),
        .state = run_state(js_get_str(run, "status", ""), js_get_str(run, "conclusion", "")),
        .url = github_text(run, "html_url", js_get_str(run, "details_url", NULL), arena),
        .summary = short_text(js_get_str(output, "summary", title), arena),
        .started_us = github_time(run, "started_at"),
        .ended_us = github_time(run, "completed_at"),
        .own = text_starts(js_get_str(run, "external_id", ""), OWN_PREFIX),
        .job = text_same(js_str(js_path(run, "app.slug"), ""), "github-actions"),
    };
}

static struct check_view status_of_rest(const struct js *status, struct arena *arena)
{
    const char *context = js_get_str(status, "context", "");
    enum check_state state = status_state(js_get_str(status, "state", ""));
    return (struct check_view){
        .id = arena_printf(arena, STATUS_ID "%s", context),
        .name = arena_strdup(arena, context),
        .state = state,
        .url = github_text(status, "target_url", NULL, arena),
        .summary = short_text(js_get_str(status, "description", NULL), arena),
        .started_us = github_time(status, "created_at"),
        .ended_us = state != CHECK_PENDING ? github_time(status, "updated_at") : 0,
        .own = own_context(context),
    };
}

/* The id of a check run: the number at the end of its address when the field does not hold it. */
static int64_t id_of_graphql(const struct js *node)
{
    const char *url = js_get_str(node, "url", ""), *slash = strrchr(url, '/');
    int64_t id = js_get_int(node, "databaseId", 0), tail = 0;
    bool has_tail = slash != NULL && text_to_i64(slash + 1, &tail) && tail > 0;
    return id > 0 || !has_tail ? id : tail;
}

static struct check_view run_of_graphql(const struct js *node, struct arena *arena)
{
    const char *title = js_get_str(node, "title", NULL);
    return (struct check_view){
        .id = arena_printf(arena, RUN_ID "%" PRId64, id_of_graphql(node)),
        .name = github_text(node, "name", "", arena),
        .state = run_state(js_get_str(node, "status", ""), js_get_str(node, "conclusion", "")),
        .url = github_text(node, "url", js_get_str(node, "detailsUrl", NULL), arena),
        .summary = short_text(js_get_str(node, "summary", title), arena),
        .started_us = github_time(node, "startedAt"),
        .ended_us = github_time(node, "completedAt"),
        .required = js_get_bool(node, "isRequired", false),
        .own = text_starts(js_get_str(node, "externalId", ""), OWN_PREFIX),
        .job = text_same(js_str(js_path(node, "checkSuite.app.slug"), ""), "github-actions"),
    };
}

static struct check_view status_of_graphql(const struct js *node, struct arena *arena)
{
    const char *context = js_get_str(node, "context", "");
    enum check_state state = status_state(js_get_str(node, "state", ""));
    return (struct check_view){
        .id = arena_printf(arena, STATUS_ID "%s", context),
        .name = arena_strdup(arena, context),
        .state = state,
        .url = github_text(node, "targetUrl", NULL, arena),
        .summary = short_text(js_get_str(node, "description", NULL), arena),
        .started_us = github_time(node, "createdAt"),
        .ended_us = state != CHECK_PENDING ? github_time(node, "createdAt") : 0,
        .required = js_get_bool(node, "isRequired", false),
        .own = own_context(context),
    };
}

bool github_check_of_graphql(const struct js *node, struct arena *arena,
                             struct check_view *ret_check)
{
    const char *type = js_get_str(node, "__typename", "");
    if (text_same(type, "CheckRun"))
        *ret_check = run_of_graphql(node, arena);
    else if (text_same(type, "StatusContext"))
        *ret_check = status_of_graphql(node, arena);
    else
        return false;
    return true;
}

struct gathering {
    struct check_view *checks;
    size_t count;
    struct arena *arena;
    struct check_view (*read)(const struct js *item, struct arena *arena);
};

static bool gather(void *ctx, const struct js *item)
{
    struct gathering *gathering = ctx;
    if (gathering->count == PR_CHECKS_MAX)
        return false;
    gathering->checks[gathering->count++] = gathering->read(item, gathering->arena);
    return true;
}

static enum rc of_commit(struct forge_call *call, const char *url, const char *commit,
                         struct arena *arena, struct check_view **ret_checks, size_t *ret_count,
                         struct err *err)
{
    struct github gh = {.call = call, .arena = arena, .err = err};
    struct gathering gathering = {
        .checks = arena_array(arena, PR_CHECKS_MAX, sizeof(struct check_view)),
        .arena = arena,
        .read = run_of_rest,
    };
    enum rc rc = github_open(&gh, url);
    if (rc == RC_OK && !git_hash_valid(commit))
        rc = err_set(err, RC_INVALID, "INVALID_FIELD", "%.64s is no commit", commit);
    if (rc != RC_OK)
        return rc;
    struct rest_request runs = github_request(
        &gh, "GET", arena_printf(arena, "/commits/%s/check-runs?per_page=100", commit));
    runs.items = "check_runs";
    rc = rest_pages(call, &runs, arena, gather, &gathering, NULL, err);
    struct rest_request statuses = github_request(
        &gh, "GET", arena_printf(arena, "/commits/%s/status?per_page=100", commit));
    statuses.items = "statuses";
    gathering.read = status_of_rest;
    if (rc == RC_OK)
        rc = rest_pages(call, &statuses, arena, gather, &gathering, NULL, err);
    if (rc != RC_OK)
        return rc;
    *ret_checks = gathering.checks;
    *ret_count = gathering.count;
    return RC_OK;
}

/* ---- a job of GitHub Actions ---- */

/* The number in "run:ID"; 0: it is none. */
static int64_t run_number(const struct check_view *check)
{
    int64_t id = 0;
    bool is_run = text_starts(check->id, RUN_ID) && text_to_i64(check->id + strlen(RUN_ID), &id);
    return is_run && id > 0 ? id : 0;
}

static enum rc log_of(struct forge_call *call, const char *url, const struct check_view *check,
                      struct buf *into, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    int64_t id = run_number(check);
    if (!check->job || id == 0)
        return err_set(err, RC_NOT_FOUND, "FORGE_NOT_FOUND", "the check %.100s has no log",
                       check->name);
    enum rc rc = github_open(&gh, url);
    if (rc != RC_OK)
        return rc;
    const struct rest_request request = github_request(
        &gh, "GET", arena_printf(&arena, "/actions/jobs/%" PRId64 "/logs", id));
    return rest_bytes(call, &request, into, err);
}

/* Run again already, as after a crash: that is what was wanted. */
static bool runs_already(enum rc rc, const struct err *err)
{
    return rc == RC_DENIED && strstr(err->text, "already running") != NULL;
}

static enum rc rerun(struct forge_call *call, const char *url, const struct check_view *check,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct err own = {0};
    struct github gh = {.call = call, .arena = &arena, .err = &own};
    int64_t id = run_number(check);
    if (id == 0)
        return err_set(err, RC_CONFLICT, "FORGE_CONFLICT",
                       "the check %.100s is a status: only what set it can run it again",
                       check->name);
    enum rc rc = github_open(&gh, url);
    if (rc == RC_OK) {
        const char *path = check->job
                               ? arena_printf(&arena, "/actions/jobs/%" PRId64 "/rerun", id)
                               : arena_printf(&arena, "/check-runs/%" PRId64 "/rerequest", id);
        const struct rest_request request = github_request(&gh, "POST", path);
        rc = github_do(&gh, &request);
    }
    if (runs_already(rc, &own))
        return RC_OK;
    if (rc != RC_OK && err != NULL)
        *err = own;
    return rc;
}

/* ---- drover's own ---- */

static const char *conclusion_of(enum check_state state)
{
    switch (state) {
    case CHECK_PASSED:
        return "success";
    case CHECK_FAILED:
        return "failure";
    case CHECK_TIMED_OUT:
        return "timed_out";
    case CHECK_CANCELLED:
        return "cancelled";
    case CHECK_PENDING:
    case CHECK_BROKEN:
        break;
    }
    return "action_required";
}

static const char *cut(const char *text, size_t max, struct arena *arena)
{
    const char *from = text != NULL ? text : "";
    return arena_strndup(arena, from, prose_fit(from, strlen(from), max));
}

/* `id`: of the check run that is changed; 0: a new one. */
static void write_run(struct jw *jw, const struct forge_check *check, int64_t id,
                      struct arena *arena)
{
    const char *title = text_empty(check->title) ? check->name : check->title;
    jw_begin(jw, '{');
    jw_kstr(jw, "name", check->name);
    if (id == 0)
        jw_kstr(jw, "head_sha", check->commit);
    jw_kstr(jw, "external_id", arena_printf(arena, OWN_PREFIX "%s", check->key));
    jw_optstr(jw, "details_url", check->url);
    jw_kstr(jw, "status", check->state == CHECK_PENDING ? "in_progress" : "completed");
    if (check->state != CHECK_PENDING)
        jw_kstr(jw, "conclusion", conclusion_of(check->state));
    jw_key(jw, "output");
    jw_begin(jw, '{');
    jw_kstr(jw, "title", cut(title, TITLE_MAX, arena));
    jw_kstr(jw, "summary", cut(check->summary, SUMMARY_MAX, arena));
    jw_end(jw, '}');
    jw_end(jw, '}');
}

struct own_run {
    const char *external_id;
    int64_t id; /* 0: not found */
};

static bool find_own(void *ctx, const struct js *run)
{
    struct own_run *own = ctx;
    if (text_same(js_get_str(run, "external_id", ""), own->external_id))
        own->id = js_get_int(run, "id", 0);
    return own->id == 0;
}

static enum rc put_run(const struct github *gh, const struct forge_check *check)
{
    struct own_run own = {.external_id = arena_printf(gh->arena, OWN_PREFIX "%s", check->key)};
    CLEANUP(buf_release) struct buf query, body;
    buf_init(&query, 1024);
    buf_init(&body, BODY_BYTES_MAX);
    buf_addf(&query, "/commits/%s/check-runs?filter=all&per_page=100&check_name=", check->commit);
    url_add_escaped(&query, check->name);
    struct rest_request list = github_request(gh, "GET", buf_text(&query));
    list.items = "check_runs";
    enum rc rc = rest_pages(gh->call, &list, gh->arena, find_own, &own, NULL, gh->err);
    if (rc != RC_OK)
        return rc;
    struct jw jw = jw_to(&body);
    write_run(&jw, check, own.id, gh->arena);
    struct rest_request put = own.id == 0
                                  ? github_request(gh, "POST", "/check-runs")
                                  : github_request(
                                        gh, "PATCH",
                                        arena_printf(gh->arena, "/check-runs/%" PRId64, own.id));
    put.body = buf_str(&body);
    return github_do(gh, &put);
}

struct own_status {
    const char *context, *state, *description;
    bool same; /* The newest of this context says the same. */
};

static bool find_status(void *ctx, const struct js *status)
{
    struct own_status *own = ctx;
    if (!text_same(js_get_str(status, "context", ""), own->context))
        return true;
    own->same = text_same(js_get_str(status, "state", ""), own->state) &&
                text_same(js_get_str(status, "description", ""), own->description);
    return false;
}

static const char *status_name(enum check_state state)
{
    if (state == CHECK_PENDING)
        return "pending";
    if (state == CHECK_PASSED)
        return "success";
    return state == CHECK_FAILED ? "failure" : "error";
}

/* The newest status of a context is the one that counts. */
static enum rc put_status(const struct github *gh, const struct forge_check *check)
{
    struct arena *arena = gh->arena;
    struct own_status own = {.context = check->name,
                             .state = status_name(check->state),
                             .description = prose_line(
                                 arena, check->title != NULL ? check->title : "", DESCRIPTION_MAX)};
    CLEANUP(buf_release) struct buf body;
    buf_init(&body, BODY_BYTES_MAX);
    struct rest_request list = github_request(
        gh, "GET", arena_printf(arena, "/commits/%s/status?per_page=100", check->commit));
    list.items = "statuses";
    enum rc rc = rest_pages(gh->call, &list, arena, find_status, &own, NULL, gh->err);
    if (rc != RC_OK || own.same)
        return rc;
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "state", own.state);
    jw_kstr(&jw, "context", own.context);
    jw_kstr(&jw, "description", own.description);
    jw_optstr(&jw, "target_url", check->url);
    jw_end(&jw, '}');
    struct rest_request put = github_request(gh, "POST",
                                             arena_printf(arena, "/statuses/%s", check->commit));
    put.body = buf_str(&body);
    return github_do(gh, &put);
}

/* Tokens of people cannot write check runs, and show by their first letters what they are. */
static bool is_personal(const char *token)
{
    return token != NULL && (text_starts(token, "ghp_") || text_starts(token, "github_pat_") ||
                             text_starts(token, "gho_") || text_starts(token, "ghu_"));
}

static enum rc put(struct forge_call *call, const char *url, const struct forge_check *check,
                   struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct github gh = {.call = call, .arena = &arena, .err = err};
    enum rc rc = github_open(&gh, url);
    if (rc == RC_OK && !git_hash_valid(check->commit))
        rc = err_set(err, RC_INVALID, "INVALID_FIELD", "%.64s is no commit", check->commit);
    if (rc != RC_OK)
        return rc;
    if (is_personal(call->git.credential))
        return put_status(&gh, check);
    rc = put_run(&gh, check);
    return rc == RC_DENIED ? put_status(&gh, check) : rc;
}

const struct check_ops checks_github = {
    .of_commit = of_commit,
    .log = log_of,
    .rerun = rerun,
    .put = put,
};
