#include "forge/github/api.h"
#include "base/clock.h"
#include "base/jw.h"
#include "core/text/prose.h"
#include "forge/port/mark.h"
#include "net/url.h"
#include <ctype.h>
#include <string.h>

enum { REPO_PART_MAX = 100, QUERY_BYTES_MAX = 256 * 1024 };

static const struct http_field headers[] = {
    {"Accept", "application/vnd.github+json"},
    {"X-GitHub-Api-Version", "2022-11-28"},
    {NULL, NULL},
};

const struct rest_dialect github_dialect = {
    .name = "GitHub",
    .headers = headers,
    .auth_header = "Authorization",
    .auth_prefix = "Bearer ",
    .limit = "X-RateLimit-Limit",
    .remaining = "X-RateLimit-Remaining",
    .reset = "X-RateLimit-Reset",
    .resource = "X-RateLimit-Resource",
};

/* ---- where it is ---- */

/* What an address of a repository names. */
struct parts {
    const char *scheme; /* https or http: of its API. */
    struct str host;    /* With the port, where the address is one of HTTP. */
    struct str owner, name;
};

static bool part_valid(struct str part)
{
    if (part.len == 0 || part.len > REPO_PART_MAX || str_is(part, ".") || str_is(part, ".."))
        return false;
    for (size_t i = 0; i < part.len; i++) {
        if (!isalnum((unsigned char)part.at[i]) && strchr("._-", part.at[i]) == NULL)
            return false;
    }
    return true;
}

/* owner/name, with .git and slashes at the end. */
static bool split_path(const char *path, struct parts *parts)
{
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    if (len > 4 && memcmp(path + len - 4, ".git", 4) == 0)
        len -= 4;
    const char *slash = memchr(path, '/', len);
    if (slash == NULL)
        return false;
    parts->owner = (struct str){path, (size_t)(slash - path)};
    parts->name = (struct str){slash + 1, len - parts->owner.len - 1};
    return part_valid(parts->owner) && part_valid(parts->name);
}

static struct str without_port(struct str host)
{
    const char *colon = memchr(host.at, ':', host.len);
    return colon != NULL ? (struct str){host.at, (size_t)(colon - host.at)} : host;
}

/* https://[user@]host[:port]/owner/name, ssh://... or user@host:owner/name */
static bool split_url(const char *url, struct parts *parts)
{
    bool ssh = text_starts(url, "ssh://"), plain = text_starts(url, "http://");
    bool scp = strstr(url, "://") == NULL;
    if (!ssh && !plain && !scp && !text_starts(url, "https://"))
        return false;
    const char *at = scp ? url : strstr(url, "://") + 3;
    size_t len = strcspn(at, scp ? ":/" : "/");
    const char *user = memchr(at, '@', len);
    const char *host = user != NULL ? user + 1 : at;
    if (at[len] == '\0' || (scp && at[len] != ':'))
        return false;
    parts->scheme = plain ? "http" : "https";
    parts->host = (struct str){host, len - (size_t)(host - at)};
    if (ssh)
        parts->host = without_port(parts->host);
    return parts->host.len > 0 && split_path(at + len + 1, parts);
}

static const char *api_of(const struct forge_call *call, const struct parts *parts,
                          struct arena *arena)
{
    size_t len = call->api != NULL ? strlen(call->api) : 0;
    while (len > 0 && call->api[len - 1] == '/')
        len--;
    if (len > 0)
        return arena_strndup(arena, call->api, len);
    if (str_is(parts->host, "github.com") || str_is(parts->host, "www.github.com") ||
        str_is(parts->host, "ssh.github.com"))
        return "https://api.github.com";
    return arena_printf(arena, "%s://%.*s/api/v3", parts->scheme, (int)parts->host.len,
                        parts->host.at);
}

enum rc github_place(const struct forge_call *call, const char *url, struct arena *arena,
                     struct host_repo *ret_repo, struct err *err)
{
    struct parts parts;
    struct host_repo repo = {0};
    if (!split_url(url, &parts))
        return err_set(err, RC_INVALID, "INVALID_URL",
                       "the address of a repository at GitHub is https://HOST/OWNER/NAME");
    repo.api = api_of(call, &parts, arena);
    const char *host = strstr(repo.api, "://");
    if (host == NULL)
        return err_set(err, RC_INVALID, "INVALID_URL", "api must be an address: https://HOST/...");
    host += 3;
    repo.host = arena_strndup(arena, host, strcspn(host, "/"));
    repo.path = arena_printf(arena, "%.*s/%.*s", (int)parts.owner.len, parts.owner.at,
                             (int)parts.name.len, parts.name.at);
    bool ssh = str_is(parts.host, "ssh.github.com");
    struct str web = ssh ? STR("github.com") : parts.host;
    repo.web = arena_printf(arena, "%s://%.*s/%s", parts.scheme, (int)web.len, web.at, repo.path);
    *ret_repo = repo;
    return RC_OK;
}

enum rc github_open(struct github *gh, const char *url)
{
    return github_place(gh->call, url, gh->arena, &gh->repo, gh->err);
}

const char *github_owner(const struct github *gh)
{
    return arena_strndup(gh->arena, gh->repo.path, strcspn(gh->repo.path, "/"));
}

const char *github_name(const struct github *gh)
{
    return strchr(gh->repo.path, '/') + 1;
}

/* ---- requests ---- */

struct rest_request github_request(const struct github *gh, const char *method, const char *path)
{
    return (struct rest_request){
        .dialect = &github_dialect,
        .base = gh->repo.api,
        .host = gh->repo.host,
        .method = method,
        .path = arena_printf(gh->arena, "/repos/%s%s", gh->repo.path, path),
    };
}

enum rc github_send(const struct github *gh, const struct rest_request *request,
                    struct rest_answer *ret_answer)
{
    return rest_call(gh->call, request, gh->arena, ret_answer, gh->err);
}

enum rc github_do(const struct github *gh, const struct rest_request *request)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    return github_send(gh, request, &answer);
}

/* What the first error of a GraphQL answer means. */
static const struct {
    const char *type;
    enum rc rc;
    const char *code;
} graphql_errors[] = {
    {"NOT_FOUND", RC_NOT_FOUND, "FORGE_NOT_FOUND"},
    {"FORBIDDEN", RC_DENIED, "FORGE_DENIED"},
    {"INSUFFICIENT_SCOPES", RC_DENIED, "FORGE_DENIED"},
    {"RATE_LIMITED", RC_LIMIT, "FORGE_LIMIT"},
    {"SERVICE_UNAVAILABLE", RC_UNREACHABLE, "FORGE_UNAVAILABLE"},
};

static enum rc graphql_failed(const struct github *gh, const struct js *errors, bool changes)
{
    const struct js *first = js_at(errors, 0);
    const char *type = js_get_str(first, "type", "");
    char *said = arena_strdup(gh->arena, js_get_str(first, "message", "no reason is given"));
    git_clean(said);
    git_redact(said);
    const char *line = prose_line(gh->arena, said, 300);
    enum rc rc = changes ? RC_CONFLICT : RC_CORRUPT;
    const char *code = changes ? "FORGE_CONFLICT" : "FORGE_HALF_ANSWER";
    for (size_t i = 0; i < COUNT_OF(graphql_errors); i++) {
        if (text_same(type, graphql_errors[i].type)) {
            rc = graphql_errors[i].rc;
            code = graphql_errors[i].code;
        }
    }
    rc = err_set(gh->err, rc, code, "GitHub (GraphQL): %s", line);
    if (rc == RC_LIMIT && gh->err != NULL)
        gh->err->retry_ms = 60 * 1000;
    return rc;
}

static const char *graphql_base(const struct github *gh)
{
    const char *api = gh->repo.api;
    size_t len = strlen(api);
    return text_ends(api, "/api/v3") ? arena_strndup(gh->arena, api, len - 3) : api;
}

/* Is there anything in it but nulls? */
static bool has_data(const struct js *document)
{
    const struct js *value;
    const char *key;
    for (size_t it = 0; js_next(js_get(document, "data"), &it, &key, &value);) {
        if (js_type(value) != JS_NULL)
            return true;
    }
    return false;
}

enum rc github_graphql(const struct github *gh, const struct github_query *query,
                       struct rest_answer *ret_answer)
{
    CLEANUP(buf_release) struct buf body;
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    buf_init(&body, QUERY_BYTES_MAX);
    struct jw jw = jw_to(&body);
    jw_begin(&jw, '{');
    jw_kstr(&jw, "query", query->text);
    jw_kraw(&jw, "variables", query->variables);
    jw_end(&jw, '}');
    if (body.overflow)
        return err_set(gh->err, RC_TOO_LARGE, "FORGE_TOO_LARGE", "the text is too large");
    const struct rest_request request = {.dialect = &github_dialect,
                                         .base = graphql_base(gh),
                                         .host = gh->repo.host,
                                         .method = "POST",
                                         .path = "/graphql",
                                         .body = buf_str(&body),
                                         .resource = "graphql",
                                         .repeatable = !query->changes};
    enum rc rc = github_send(gh, &request, &answer);
    if (rc != RC_OK)
        return rc;
    const struct js *errors = js_get(answer.document, "errors");
    bool data = has_data(answer.document);
    if (js_count(errors) > 0 && (!data || query->changes))
        return graphql_failed(gh, errors, query->changes);
    if (!data)
        return err_set(gh->err, RC_CORRUPT, "FORGE_HALF_ANSWER", "GitHub (GraphQL): no data came");
    *ret_answer = answer;
    answer.document = NULL; /* The caller's now. */
    return RC_OK;
}

/* ---- values ---- */

int64_t github_time(const struct js *object, const char *key)
{
    int64_t time_us = 0;
    return time_parse(js_get_str(object, key, ""), &time_us) ? time_us : 0;
}

const char *github_text(const struct js *object, const char *key, const char *fallback,
                        struct arena *arena)
{
    return arena_strdup(arena, js_get_str(object, key, fallback));
}

const char *github_login(const struct js *user, struct arena *arena)
{
    return github_text(user, "login", "ghost", arena);
}

const char *github_marked_body(const struct forge_comment *comment, struct arena *arena)
{
    size_t len = prose_fit(comment->body, strlen(comment->body), PR_COMMENT_MAX);
    return mark_add(arena, arena_strndup(arena, comment->body, len), comment->key);
}
