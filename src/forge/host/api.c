#include "forge/host/api.h"
#include "base/clock.h"
#include "net/url.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096, PRS_FIRST = 16 };

/* ---- addresses ---- */

static enum rc no_address(const char *url, struct err *err)
{
    char shown[200];
    text_copy(shown, sizeof shown, url);
    git_redact(shown);
    return err_field(err, RC_INVALID, "INVALID_URL", "url",
                     "%s is no address of a repository at a server.", shown);
}

/* Without slashes around it and without ".git". */
static const char *clean_path(struct arena *arena, const char *path)
{
    path += strspn(path, "/");
    size_t len = strcspn(path, "?#");
    while (len > 0 && path[len - 1] == '/')
        len--;
    if (len > 4 && strncmp(path + len - 4, ".git", 4) == 0)
        len -= 4;
    return arena_strndup(arena, path, len);
}

enum rc host_address_parse(const char *url, struct arena *arena, struct host_address *ret_address,
                           struct err *err)
{
    const char *at = strstr(url, "://"), *rest = at != NULL ? at + 3 : url;
    bool http = git_over_http(url), scp = at == NULL;
    size_t authority = strcspn(rest, scp ? ":/" : "/?#");
    const char *user = memrchr(rest, '@', authority);
    const char *host = user != NULL ? user + 1 : rest;
    size_t host_len = authority - (size_t)(host - rest);
    const char *path = rest + authority;
    if ((scp && *path != ':') || (!scp && !http && !text_starts(url, "ssh://")) || host_len == 0 ||
        *path == '\0')
        return no_address(url, err);
    if (!http) /* The port is one of SSH. */
        host_len = strcspn(host, ":/") < host_len ? strcspn(host, ":/") : host_len;
    ret_address->server = arena_printf(
        arena, "%s://%.*s", text_starts(url, "http://") ? "http" : "https", (int)host_len, host);
    ret_address->path = clean_path(arena, scp ? path + 1 : path);
    return RC_OK;
}

enum rc host_place(const char *configured_api, const char *url, const char *suffix,
                   struct arena *arena, struct host_repo *ret_repo, struct err *err)
{
    struct host_address address;
    enum rc rc = host_address_parse(url, arena, &address, err);
    if (rc != RC_OK)
        return rc;
    const char *web = address.server, *path = address.path;
    char *api = configured_api != NULL ? arena_strdup(arena, configured_api)
                                       : arena_printf(arena, "%s%s", address.server, suffix);
    for (size_t len = strlen(api); len > 0 && api[len - 1] == '/'; len--)
        api[len - 1] = '\0';
    if (configured_api != NULL && text_ends(api, suffix)) {
        web = arena_strndup(arena, api, strlen(api) - strlen(suffix));
        const char *prefix = strchr(strstr(web, "://") != NULL ? strstr(web, "://") + 3 : web, '/');
        const char *below = prefix != NULL ? arena_printf(arena, "%s/", prefix + 1) : "/";
        if (below[0] != '/' && text_starts(path, below))
            path += strlen(below);
    }
    const char *host = strstr(api, "://");
    if (host == NULL || strchr(path, '/') == NULL)
        return no_address(url, err);
    host += 3;
    *ret_repo = (struct host_repo){.api = api,
                                   .host = arena_strndup(arena, host, strcspn(host, "/")),
                                   .path = path,
                                   .web = arena_printf(arena, "%s/%s", web, path)};
    return RC_OK;
}

const char *host_path(const struct host_api *api, const char *fmt, ...)
{
    char text[PATH_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return arena_printf(api->arena, "%s%s", api->root, text);
}

const char *host_escaped(struct arena *arena, const char *text)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, PATH_BYTES_MAX);
    url_add_escaped(&to, text);
    return arena_strdup(arena, buf_text(&to));
}

/* ---- requests ---- */

static struct rest_request request_of(const struct host_api *api, const char *method,
                                      const char *path)
{
    return (struct rest_request){.dialect = api->dialect,
                                 .base = api->repo->api,
                                 .host = api->repo->host,
                                 .method = method,
                                 .path = path};
}

enum rc host_get(const struct host_api *api, const char *path, struct rest_answer *ret_answer,
                 struct err *err)
{
    const struct rest_request request = request_of(api, "GET", path);
    return rest_call(api->call, &request, api->arena, ret_answer, err);
}

enum rc host_send(const struct host_api *api, const char *method, const char *path,
                  const struct buf *body, struct rest_answer *ret_answer, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer dropped = {0};
    struct rest_request request = request_of(api, method, path);
    if (body != NULL && body->overflow)
        return err_set(err, RC_TOO_LARGE, "TEXT_TOO_LARGE", "The text is too long for %s.",
                       api->dialect->name);
    if (body != NULL)
        request.body = buf_str(body);
    return rest_call(api->call, &request, api->arena, ret_answer != NULL ? ret_answer : &dropped,
                     err);
}

enum rc host_bytes(const struct host_api *api, const char *path, struct buf *into, struct err *err)
{
    struct rest_request request = request_of(api, "GET", path);
    request.accept = "text/plain";
    return rest_bytes(api->call, &request, into, err);
}

enum rc host_pages(const struct host_api *api, const struct host_list *list, bool *ret_cut,
                   struct err *err)
{
    struct rest_request request = request_of(api, "GET", list->path);
    request.items = list->items;
    return rest_pages(api->call, &request, api->arena, list->each, list->ctx, ret_cut, err);
}

struct jw host_body(struct buf *buf)
{
    buf_init(buf, HOST_BODY_MAX);
    struct jw jw = jw_to(buf);
    jw_begin(&jw, '{');
    return jw;
}

void host_body_end(struct jw *jw)
{
    jw_end(jw, '}');
}

/* ---- answers ---- */

const char *host_text(struct arena *arena, const struct js *object, const char *key)
{
    return arena_strdup(arena, js_get_str(object, key, NULL));
}

int64_t host_time(const struct js *object, const char *key)
{
    int64_t time_us = 0;
    const char *text = js_get_str(object, key, NULL);
    return text != NULL && time_parse(text, &time_us) && time_us > 0 ? time_us : 0;
}

void host_hash(const struct js *value, char to[GIT_HASH_BYTES])
{
    const char *text = js_str(value, "");
    text_copy(to, GIT_HASH_BYTES, git_hash_valid(text) ? text : "");
}

static const char *text_at(const struct js *items, size_t i, const char *key)
{
    const struct js *item = js_at(items, i);
    return key != NULL ? js_get_str(item, key, NULL) : js_str(item, NULL);
}

const char **host_texts(struct arena *arena, const struct js *items, const char *key)
{
    const char **texts = arena_array(arena, js_count(items) + 1, sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < js_count(items); i++) {
        const char *text = text_at(items, i, key);
        if (text != NULL)
            texts[count++] = arena_strdup(arena, text);
    }
    return texts;
}

struct str host_text_array(struct arena *arena, const struct js *items, const char *key, size_t max)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, HOST_BODY_MAX);
    struct jw jw = jw_to(&to);
    jw_begin(&jw, '[');
    for (size_t i = 0; i < js_count(items) && i < max; i++) {
        const char *text = text_at(items, i, key);
        if (text != NULL)
            jw_str(&jw, text);
    }
    jw_end(&jw, ']');
    return str_of(arena_strdup(arena, buf_text(&to)));
}

enum rc host_unreadable(const struct host_api *api, const char *what, struct err *err)
{
    return err_set(err, RC_CORRUPT, "FORGE_HALF_ANSWER", "What %s answers is no %s.",
                   api->dialect->name, what);
}

enum rc host_view_check(const struct host_api *api, const struct pr_view *view, const char *what,
                        struct err *err)
{
    bool whole = view->number > 0 && view->url != NULL && view->head != NULL &&
                 view->head_branch != NULL && view->target_branch != NULL && view->title != NULL;
    return whole && git_hash_valid(view->head) ? RC_OK : host_unreadable(api, what, err);
}

const char *host_title_without(const char *title, const char *const *signs)
{
    for (size_t i = 0; signs[i] != NULL;) {
        size_t len = strlen(signs[i]);
        title += strspn(title, " ");
        bool has = strncasecmp(title, signs[i], len) == 0;
        title += has ? len : 0;
        i = has ? 0 : i + 1;
    }
    return title;
}

enum rc host_pr_send(const struct host_api *api, const struct host_pr_form *form,
                     const char *method, const char *path, const struct buf *body,
                     struct host_pr *ret_pr, struct err *err)
{
    CLEANUP(rest_answer_release) struct rest_answer answer = {0};
    enum rc rc = host_send(api, method, path, body, &answer, err);
    if (rc != RC_OK)
        return rc;
    return form->read(answer.document, api->arena, ret_pr) ? RC_OK
                                                           : host_unreadable(api, form->what, err);
}

void host_prs_init(struct host_prs *prs, struct arena *arena, size_t max)
{
    *prs = (struct host_prs){.arena = arena, .max = max};
    prs->items = arena_array(arena, PRS_FIRST, sizeof *prs->items);
}

bool host_prs_add(struct host_prs *prs, const struct host_pr *pr)
{
    if (prs->count >= prs->max)
        return false;
    bool full = prs->count >= PRS_FIRST && (prs->count & (prs->count - 1)) == 0;
    if (full) { /* Its room is the next power of two. */
        struct host_pr *larger = arena_array(prs->arena, prs->count * 2, sizeof *larger);
        memcpy(larger, prs->items, prs->count * sizeof *larger);
        prs->items = larger;
    }
    prs->items[prs->count++] = *pr;
    return true;
}

void host_prs_open_first(struct host_prs *prs)
{
    struct host_pr *sorted = arena_array(prs->arena, prs->count + 1, sizeof *sorted);
    size_t count = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < prs->count; i++) {
            if (prs->items[i].open == (round == 0))
                sorted[count++] = prs->items[i];
        }
    }
    prs->items = sorted;
}
