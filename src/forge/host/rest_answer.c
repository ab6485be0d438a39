/*
 * rest_answer.c - see rest_answer.h.
 *
 * A rate limit is told in one of three ways: by a number of requests that are left (primary), by
 * Retry-After, or in words alone (both secondary; GitHub's documentation says to wait a minute
 * then).
 */
#include "forge/host/rest_answer.h"
#include "base/clock.h"
#include "base/jw.h"
#include "core/text/prose.h"
#include "core/text/redact.h"
#include "net/url.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    SAID_MAX = 300,
    SAID_ERRORS_MAX = 3,
    SECONDARY_WAIT_MS = 60 * 1000,
    LIMIT_WAIT_MIN_MS = 1000,
    LIMIT_WAIT_MAX_MS = 2 * 3600 * 1000,
    RETRY_AFTER_MAX_S = 24 * 3600,
    CALLS_MAX = 1000 * 1000 * 1000,
};
#define CLOCK_SLACK_US (5 * US_PER_SECOND)
/* No forge counts in longer windows: such an end is in another unit, or none at all. */
#define WINDOW_US_MAX (25 * US_PER_HOUR)

/* ---- the rate limit ---- */

static int64_t number_in(const struct rest_raw *raw, const char *name, int64_t fallback)
{
    struct str value = name != NULL ? http_head_field(raw->head, name) : (struct str){NULL, 0};
    char digits[24] = "";
    int64_t number = 0;
    if (value.at == NULL || value.len >= sizeof digits)
        return fallback;
    memcpy(digits, value.at, value.len);
    return text_to_i64(digits, &number) && number >= 0 ? number : fallback;
}

/* So many calls; -1: not told, or more than there can be. */
static int64_t calls_in(const struct rest_raw *raw, const char *name)
{
    int64_t calls = number_in(raw, name, -1);
    return calls <= CALLS_MAX ? calls : -1;
}

static int64_t retry_after_ms(const struct rest_raw *raw)
{
    int64_t wait_s = number_in(raw, "Retry-After", 0);
    return (wait_s < RETRY_AFTER_MAX_S ? wait_s : RETRY_AFTER_MAX_S) * 1000;
}

static bool says_secondary(struct str body)
{
    static const char *const signs[] = {"secondary rate limit", "abuse detection",
                                        "temporarily blocked"};
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        if (body.len > 0 && memmem(body.at, body.len, signs[i], strlen(signs[i])) != NULL)
            return true;
    }
    return false;
}

/* Date: Sun, 06 Nov 1994 08:49:37 GMT */
static bool date_of(const struct rest_raw *raw, int64_t *ret_us)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct str date = http_head_field(raw->head, "Date");
    char text[32] = "", month[4] = "", iso[32];
    int day = 0, year = 0, hour = 0, minute = 0, second = 0;
    if (date.at == NULL || date.len >= sizeof text)
        return false;
    memcpy(text, date.at, date.len);
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute,
               &second) != 6)
        return false;
    const char *found = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (found == NULL || (found - months) % 3 != 0)
        return false;
    (void)snprintf(iso, sizeof iso, "%04d-%02d-%02dT%02d:%02d:%02dZ", year,
                   (int)(found - months) / 3 + 1, day, hour, minute, second);
    return time_parse(iso, ret_us);
}

/* The end of the window by our clock, where the forge's differs by more than an answer takes; -1:
   it tells none. */
static int64_t own_reset_us(const struct rest_raw *raw, int64_t now_us)
{
    int64_t date_us = 0, reset_s = number_in(raw, raw->request->dialect->reset, -1);
    if (reset_s < 0 || reset_s > INT64_MAX / (2 * US_PER_SECOND))
        return -1;
    int64_t reset_us = reset_s * US_PER_SECOND;
    if (reset_us > 0 && date_of(raw, &date_us)) {
        int64_t ahead_us = now_us - date_us;
        bool differs = ahead_us > CLOCK_SLACK_US || ahead_us < -CLOCK_SLACK_US;
        reset_us = differs && reset_us + ahead_us > 0 ? reset_us + ahead_us : reset_us;
    }
    return reset_us <= now_us + WINDOW_US_MAX ? reset_us : -1;
}

struct forge_limit_seen rest_limit_seen(const struct rest_raw *raw, struct arena *arena)
{
    const struct rest_dialect *dialect = raw->request->dialect;
    struct str resource = dialect->resource != NULL ? http_head_field(raw->head, dialect->resource)
                                                    : (struct str){NULL, 0};
    struct forge_limit_seen seen = {
        .host = raw->request->host,
        .resource = raw->request->resource != NULL ? raw->request->resource : "core",
        .limit = calls_in(raw, dialect->limit),
        .remaining = calls_in(raw, dialect->remaining),
    };
    if (resource.at != NULL && resource.len > 0 && resource.len < 64)
        seen.resource = str_dup(arena, resource);
    const struct clock clock = clock_real();
    int64_t now_us = clock_now_us(&clock);
    seen.reset_us = own_reset_us(raw, now_us);
    if (raw->status != 403 && raw->status != 429)
        return seen;
    seen.retry_ms = retry_after_ms(raw);
    seen.secondary = seen.remaining != 0 &&
                     (seen.retry_ms > 0 || raw->status == 429 || says_secondary(raw->body));
    if (seen.secondary && seen.retry_ms == 0)
        seen.retry_ms = SECONDARY_WAIT_MS;
    if (seen.remaining == 0 && seen.retry_ms == 0 && seen.reset_us <= now_us)
        seen.retry_ms = LIMIT_WAIT_MIN_MS; /* The window should be over, and is not. */
    return seen;
}

static int64_t until_reset_ms(const struct forge_limit_seen *seen)
{
    const struct clock clock = clock_real();
    int64_t wait_ms = seen->reset_us > 0 ? (seen->reset_us - clock_now_us(&clock)) / US_PER_MS : 0;
    if (wait_ms < LIMIT_WAIT_MIN_MS)
        return LIMIT_WAIT_MIN_MS;
    return wait_ms < LIMIT_WAIT_MAX_MS ? wait_ms : LIMIT_WAIT_MAX_MS;
}

static enum rc limited(const struct rest_raw *raw, const struct forge_limit_seen *seen,
                       const char *said, struct err *err)
{
    enum rc rc = err_set(err, RC_LIMIT, "FORGE_LIMIT", "%s limits its requests (%s): %.200s",
                         raw->request->dialect->name,
                         seen->secondary ? "secondary limit" : seen->resource,
                         text_empty(said) ? "none is left" : said);
    if (err != NULL)
        err->retry_ms = seen->retry_ms > 0 ? seen->retry_ms : until_reset_ms(seen);
    return rc;
}

/* ---- what the forge says ---- */

/* {"message"} or {"resource", "field", "code"} or a text. */
static void add_error(struct buf *to, const struct js *error)
{
    const char *text = js_str(error, js_get_str(error, "message", NULL));
    if (to->len > 0)
        buf_adds(to, "; ");
    if (text != NULL)
        buf_adds(to, text);
    else
        buf_addf(to, "%s %s", js_get_str(error, "field", js_get_str(error, "resource", "")),
                 js_get_str(error, "code", "is wrong"));
}

static void add_errors(struct buf *to, const struct js *errors)
{
    if (js_type(errors) == JS_STRING)
        add_error(to, errors);
    for (size_t i = 0; i < js_count(errors) && i < SAID_ERRORS_MAX; i++) {
        if (js_type(errors) == JS_ARRAY)
            add_error(to, js_at(errors, i));
    }
}

/* `message` is a text at GitHub and Gitea; at GitLab it may be a list or an object, too. */
static void add_message(struct buf *to, const struct js *document)
{
    const struct js *message = js_get(document, "message");
    if (js_type(message) == JS_OBJECT || js_type(message) == JS_ARRAY) {
        struct jw jw = jw_to(to);
        js_write(&jw, message);
        return;
    }
    const char *error = js_get_str(document, "error_description",
                                   js_get_str(document, "error", ""));
    buf_adds(to, js_str(message, error));
}

/* One line, without control characters and secrets. */
static const char *clean(const struct rest_raw *raw, const char *text, struct arena *arena)
{
    char *line = arena_strdup(arena, text);
    git_clean(line);
    git_redact(line);
    struct secrets *secrets = arena_alloc(arena, sizeof *secrets);
    secrets_init(secrets);
    if (raw->call->git.credential != NULL)
        secrets_add(secrets, "credential", raw->call->git.credential);
    return prose_line(arena, redact_dup(secrets, line, arena), SAID_MAX);
}

static const char *message_of(const struct rest_raw *raw, struct arena *arena)
{
    CLEANUP(js_freep) struct js *document = NULL;
    CLEANUP(buf_release) struct buf said;
    buf_init(&said, 4096);
    if (js_parse_lenient(raw->body.at, raw->body.len, &document, NULL) != RC_OK)
        return "";
    add_message(&said, document);
    add_errors(&said, js_get(document, "errors"));
    return text_utf8_valid(buf_text(&said), said.len) ? clean(raw, buf_text(&said), arena) : "";
}

static const struct meaning {
    int status;
    enum rc rc;
    const char *code;
} meanings[] = {
    {401, RC_UNAUTHORIZED, "FORGE_UNAUTHORIZED"},
    {403, RC_DENIED, "FORGE_DENIED"},
    {404, RC_NOT_FOUND, "FORGE_NOT_FOUND"},
    {405, RC_CONFLICT, "FORGE_CONFLICT"},
    {408, RC_UNREACHABLE, "FORGE_UNAVAILABLE"},
    {409, RC_CONFLICT, "FORGE_CONFLICT"},
    {410, RC_NOT_FOUND, "FORGE_NOT_FOUND"},
    {412, RC_CONFLICT, "FORGE_CONFLICT"},
    {413, RC_TOO_LARGE, "FORGE_TOO_LARGE"},
    {423, RC_CONFLICT, "FORGE_CONFLICT"},
    {451, RC_DENIED, "FORGE_DENIED"},
};

static struct meaning meaning_of(int status)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        if (meanings[i].status == status)
            return meanings[i];
    }
    if (status >= 500)
        return (struct meaning){status, RC_UNREACHABLE, "FORGE_UNAVAILABLE"};
    if (status >= 400)
        return (struct meaning){status, RC_INVALID, "FORGE_REFUSED"};
    return (struct meaning){status, RC_CORRUPT, "FORGE_MOVED"};
}

enum rc rest_refused(const struct rest_raw *raw, const struct forge_limit_seen *seen,
                     struct arena *arena, struct err *err)
{
    const struct rest_request *request = raw->request;
    const char *said = message_of(raw, arena);
    bool primary = (raw->status == 403 || raw->status == 429) && seen->remaining == 0;
    if (primary || seen->secondary)
        return limited(raw, seen, said, err);
    struct meaning meaning = meaning_of(raw->status);
    int path_len = (int)strcspn(request->path, "?");
    enum rc rc = err_set(err, meaning.rc, meaning.code, "%s answers %d to %s %.*s%s%s",
                         request->dialect->name, raw->status, request->method,
                         path_len < 120 ? path_len : 120, request->path, *said ? ": " : "", said);
    if (err != NULL && raw->status >= 500)
        err->retry_ms = retry_after_ms(raw);
    return rc;
}

/* ---- addresses ---- */

bool rest_place_split(struct str address, struct arena *arena, struct rest_place *ret_place)
{
    const char *text = str_dup(arena, address);
    const char *at = strstr(text, "://");
    if (at == NULL || (strncasecmp(text, "http:", 5) != 0 && strncasecmp(text, "https:", 6) != 0))
        return false;
    size_t server_len = (size_t)(at - text) + 3 + strcspn(at + 3, "/?#");
    const char *path = text + server_len;
    struct url url;
    const char *server = arena_strndup(arena, text, server_len);
    if (url_parse(server, &url, NULL) != RC_OK)
        return false;
    size_t path_len = strcspn(path, "#");
    ret_place->server = url_format(arena_alloc(arena, URL_TEXT_BYTES), &url);
    ret_place->path = arena_printf(arena, "%s%.*s", *path == '/' ? "" : "/", (int)path_len, path);
    return true;
}

/* The address in one entry of Link: <https://api.github.com/...?page=2>; rel="next" */
static bool next_address(struct str entry, struct str *ret_address)
{
    const char *open = memchr(entry.at, '<', entry.len);
    const char *end = entry.at + entry.len;
    const char *close = open != NULL ? memchr(open, '>', (size_t)(end - open)) : NULL;
    if (close == NULL || memmem(close, (size_t)(end - close), "rel=\"next\"", 10) == NULL)
        return false;
    *ret_address = (struct str){open + 1, (size_t)(close - open) - 1};
    return true;
}

static bool below_base(const struct rest_raw *raw, struct str address, struct arena *arena,
                       const char **ret_path)
{
    struct rest_place place, base;
    if (!rest_place_split(address, arena, &place) ||
        !rest_place_split(str_of(raw->request->base), arena, &base))
        return false;
    size_t prefix = text_same(base.path, "/") ? 0 : strlen(base.path);
    if (strncmp(place.path, base.path, prefix) != 0 || place.path[prefix] != '/')
        return false;
    *ret_path = place.path + prefix;
    return true;
}

bool rest_next_page(const struct rest_raw *raw, struct arena *arena, const char **ret_path)
{
    struct str link = http_head_field(raw->head, "Link"), address;
    *ret_path = NULL;
    while (link.len > 0) {
        const char *next = memmem(link.at + 1, link.len - 1, ", <", 3);
        size_t len = next != NULL ? (size_t)(next - link.at) : link.len;
        if (next_address((struct str){link.at, len}, &address))
            return below_base(raw, address, arena, ret_path);
        link = (struct str){link.at + len, link.len - len};
    }
    return true;
}
