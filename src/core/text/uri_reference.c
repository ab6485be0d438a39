/*
 * uri_reference.c - see uri_reference.h.
 *
 *   scheme ":" "//" authority path "?" query "#" fragment
 */
#include "core/text/uri_reference.h"
#include "base/buf.h"
#include <string.h>

enum { URI_BYTES_MAX = 8192 };

struct uri {
    struct str scheme;    /* With its colon; empty: none. */
    struct str authority; /* With its slashes. */
    struct str path;
    struct str query; /* With its question mark. */
};

/* Takes off what stands before one of the stops. */
static struct str take(const char **at, const char *stops)
{
    struct str part = {*at, strcspn(*at, stops)};
    *at += part.len;
    return part;
}

static struct uri split(const char *text)
{
    struct uri uri = {0};
    size_t scheme = strcspn(text, ":/?#");
    if (scheme > 0 && text[scheme] == ':') {
        uri.scheme = (struct str){text, scheme + 1};
        text += scheme + 1;
    }
    if (text_starts(text, "//")) {
        const char *start = text;
        text += 2;
        uri.authority = (struct str){start, take(&text, "/?#").len + 2};
    }
    uri.path = take(&text, "?#");
    uri.query = take(&text, "#");
    return uri;
}

/* Without the last segment and its slash. */
static void drop_segment(struct buf *path)
{
    const char *text = buf_text(path);
    while (path->len > 0 && text[path->len - 1] != '/')
        buf_cut(path, path->len - 1);
    if (path->len > 0)
        buf_cut(path, path->len - 1);
}

/* Removes . and .. segments. */
static void add_normal(struct buf *to, struct str path)
{
    CLEANUP(buf_release) struct buf normal;
    buf_init(&normal, URI_BYTES_MAX);
    bool rooted = path.len > 0 && path.at[0] == '/';
    for (size_t i = rooted ? 1 : 0; i <= path.len;) {
        const char *end = memchr(path.at + i, '/', path.len - i);
        struct str segment = {path.at + i,
                              end != NULL ? (size_t)(end - path.at) - i : path.len - i};
        bool last = end == NULL, up = str_is(segment, "..");
        if (up)
            drop_segment(&normal);
        if (!up && !str_is(segment, ".")) {
            if (rooted || normal.len > 0 || i > 0)
                buf_adds(&normal, "/");
            buf_add(&normal, segment.at, segment.len);
        } else if (last) {
            buf_adds(&normal, "/");
        }
        i += segment.len + 1;
    }
    buf_add(to, buf_text(&normal), normal.len);
}

static void add_str(struct buf *to, struct str text)
{
    buf_add(to, text.at, text.len);
}

/* The directory of the base, and the path behind it. */
static void add_merged(struct buf *to, const struct uri *base, struct str path)
{
    CLEANUP(buf_release) struct buf merged;
    buf_init(&merged, URI_BYTES_MAX);
    const char *slash = base->path.len > 0 ? memrchr(base->path.at, '/', base->path.len) : NULL;
    if (slash != NULL)
        buf_add(&merged, base->path.at, (size_t)(slash - base->path.at) + 1);
    else if (base->authority.len > 0)
        buf_adds(&merged, "/");
    add_str(&merged, path);
    add_normal(to, buf_str(&merged));
}

const char *uri_resolve(const char *base_text, const char *reference, struct arena *arena)
{
    CLEANUP(buf_release) struct buf to;
    buf_init(&to, URI_BYTES_MAX);
    const struct uri base = split(base_text), given = split(reference);
    bool absolute = given.scheme.len > 0, same_host = !absolute && given.authority.len == 0;
    bool same_path = same_host && given.path.len == 0;
    add_str(&to, absolute ? given.scheme : base.scheme);
    add_str(&to, same_host ? base.authority : given.authority);
    if (same_path)
        add_str(&to, base.path);
    else if (!same_host || given.path.at[0] == '/')
        add_normal(&to, given.path);
    else
        add_merged(&to, &base, given.path);
    add_str(&to, same_path && given.query.len == 0 ? base.query : given.query);
    return arena_strdup(arena, buf_text(&to));
}

static int hex_value(char c)
{
    const char *digits = "0123456789abcdef", *at;
    if (c >= 'A' && c <= 'F')
        c = (char)(c - 'A' + 'a');
    at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

const char *uri_fragment(const char *reference, struct arena *arena)
{
    const char *hash = strchr(reference, '#');
    if (hash == NULL)
        return "";
    char *to = arena_strdup(arena, hash + 1), *end = to;
    for (const char *at = to; *at != '\0'; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex_value(at[1]), low = high < 0 ? -1 : hex_value(at[2]);
            if (low < 0 || high + low == 0)
                return NULL;
            c = (char)(high << 4 | low);
            at += 2;
        }
        *end++ = c;
    }
    *end = '\0';
    return to;
}
